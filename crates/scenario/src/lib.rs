//! The scenario file: what is to be simulated, as TOML that a person writes.
//!
//! [`Scenario::parse`] turns text into a [`sim::Experiment`], or says everything that is wrong with
//! it, each [`Diagnostic`] with file, line and column, what was expected and a hint. The file's shape
//! is described once, in `format/`, in the words of [`schema`]; reading, messages, [`json_schema`] and
//! [`docs_markdown`] all come from that description.
//!
//! The crate reads no file: traces and radio profiles that a scenario names come through [`Files`].

mod build;
mod docs;
mod format;
mod setting;

pub use docs::docs_markdown;
pub use schema::{Diagnostic, Place};
pub use setting::{Setting, SettingError};

use build::Generated;
use link::Rate;
use sim::{Experiment, Hop};
use units::Seed;

/// Where a scenario's traces and profiles come from.
pub trait Files {
    /// The text of the file at `path`, as the scenario writes it: relative to the scenario's folder.
    ///
    /// # Errors
    /// Says in a few words why it cannot be read, such as "no such file".
    fn read(&self, path: &str) -> Result<String, String>;
}

impl<F: Fn(&str) -> Result<String, String>> Files for F {
    fn read(&self, path: &str) -> Result<String, String> {
        self(path)
    }
}

/// A scenario that is right.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// One line that says what it shows; the file's name where it says nothing.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// The text that it was read from.
    pub source: String,
    /// What is to be simulated.
    pub experiment: Experiment,
    generated: Vec<Generated>,
}

impl Scenario {
    /// Reads the text of a scenario; `name` is what messages call the file.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the file.
    pub fn parse(name: &str, text: &str, files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        let built = schema::read(name, text, &format::SCENARIO, |root, problems| {
            build::build(root, problems, files)
        })?;
        let title = if built.title.trim().is_empty() { file_stem(name).to_owned() } else { built.title };
        Ok(Self {
            title,
            description: built.description,
            source: text.to_owned(),
            experiment: built.experiment,
            generated: built.generated,
        })
    }

    /// Like [`parse`](Self::parse), for what a file holds before anybody knows that it is text.
    ///
    /// # Errors
    /// As `parse`; and where the bytes are not UTF-8, the first place where they are not.
    pub fn parse_bytes(name: &str, bytes: &[u8], files: &dyn Files) -> Result<Self, Vec<Diagnostic>> {
        Self::parse(name, schema::utf8(name, bytes)?, files)
    }

    /// The experiment with another seed; channels that follow the seed are drawn anew.
    pub fn with_seed(&self, seed: Seed) -> Experiment {
        let mut experiment = self.experiment.clone();
        experiment.seed = seed;
        for drawn in &self.generated {
            let path = experiment.paths.get_mut(drawn.path);
            let hop = path.map(|path| if drawn.down { &mut path.down } else { &mut path.up });
            if let Some(Hop::Link(link)) = hop {
                link.rate = Rate::Trace(drawn.draw(seed, experiment.duration));
            }
        }
        experiment
    }
}

/// The JSON Schema (draft 2020-12) of a scenario file.
///
/// It covers single values. Rules about several keys, such as a path over a cell that does not
/// exist, are left to [`Scenario::parse`].
pub fn json_schema() -> serde_json::Value {
    schema::json_schema(&format::SCENARIO, "Tandem scenario")
}

/// The name without folders and without `.toml`.
fn file_stem(name: &str) -> &str {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.strip_suffix(".toml").unwrap_or(file)
}
