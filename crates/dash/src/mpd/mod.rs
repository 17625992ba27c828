//! Parser of MPEG-DASH manifests: an MPD of a static presentation (ISO/IEC 23009-1).

mod element;
mod reader;
mod times;

use crate::segments::Representation;
use core::fmt;
use reader::Reader;
use roxmltree::{Document, Node, ParsingOptions};
use url::Url;

/// Maximum number of XML nodes in the document.
const MAX_NODES: u32 = 2_000_000;

/// The video of a static presentation.
#[derive(Debug, Clone, PartialEq)]
pub struct Presentation {
    /// Representations by ascending bitrate, without duplicates; never empty. After
    /// [`complete`](Self::complete) all have the same number of segments.
    pub representations: Vec<Representation>,
    /// Text of the element `Title`.
    pub title: Option<String>,
}

/// Error in a manifest. Displays as `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpdError {
    /// Argument `name` of [`Presentation::parse`].
    pub file: String,
    /// Line and column, from 1.
    pub place: (u32, u32),
    /// The problem and the expected value.
    pub message: String,
}

impl fmt::Display for MpdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.place.0, self.place.1, self.message)
    }
}

impl core::error::Error for MpdError {}

/// Node at whose position an error is reported, and the error's message.
type NodeError<'a, 'i> = (Node<'a, 'i>, String);

impl Presentation {
    /// Parses an MPD. `name` appears in errors. Relative references are resolved against `base`,
    /// unless the document has absolute base URLs.
    pub fn parse(name: &str, text: &str, base: Option<&Url>) -> Result<Self, MpdError> {
        let wrong = |place, message| MpdError { file: name.to_owned(), place, message };
        // Document type definitions are rejected: no entity expansion.
        let options =
            ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(text, options)
            .map_err(|error| wrong((error.pos().row, error.pos().col), error.to_string()))?;
        Reader::new().presentation(document.root_element(), base).map_err(|(node, message)| {
            let place = document.text_pos_at(node.range().start);
            wrong((place.row, place.col), message)
        })
    }

    /// Cuts all representations to the same number of segments in each period. Encoders may produce
    /// one segment more in some of them.
    ///
    /// # Errors
    /// A representation has no segments in a period, or their numbers differ by more than one.
    pub fn complete(&mut self) -> Result<(), String> {
        let periods = self.representations.iter().map(|one| one.parts.len()).max().unwrap_or(0);
        for period in 0..periods {
            let parts = || self.representations.iter().filter_map(move |one| one.parts.get(period));
            let count = common_count(parts().map(|part| part.lengths.len()))?;
            for part in self.representations.iter_mut().filter_map(|one| one.parts.get_mut(period)) {
                part.lengths.truncate(count);
            }
        }
        Ok(())
    }
}

/// Number of segments that all representations have in a period.
fn common_count(counts: impl Iterator<Item = usize> + Clone) -> Result<usize, String> {
    let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
    if least == 0 {
        return Err("expected at least one segment of each bitrate, found none".to_owned());
    }
    if most - least > 1 {
        return Err(format!(
            "expected the same number of segments for each bitrate, found {least} and {most}"
        ));
    }
    Ok(least)
}
