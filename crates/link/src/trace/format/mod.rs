//! Trace formats: one format per file. To add one, write its file and append it to
//! [`TraceFormat::REGISTRY`].
//!
//! Names and summaries in scenario files, in the JSON Schema, in the generated documentation and
//! in hints are read from the registry.

mod json;
mod lines;
mod mahimahi;
mod second_bytes;
mod seconds_mbps;

use super::error::{empty_trace, quoted};
use super::{Trace, TraceError};
use core::fmt;
use core::str::FromStr;
use lines::entries;
use std::sync::LazyLock;

/// A format of trace files: its name, how it is detected and how it is parsed.
///
/// A crate outside this one declares a `static` of this type and passes it to [`Trace::parse`].
/// Its parser builds the trace by [`Trace::from_opportunities`] or [`Trace::from_rates`]. Formats
/// are equal if their names are.
#[derive(Debug, Clone, Copy)]
pub struct TraceFormat {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line of documentation, which starts with a lower-case letter.
    pub summary: &'static str,
    /// File extensions, in lower case and without the dot, that identify the format.
    pub extensions: &'static [&'static str],
    /// Form of the first entry, for the error about a file of unknown format.
    pub first_entry: &'static str,
    /// Returns true if a line may be the first entry. At most one registered format accepts a
    /// line.
    pub accepts: fn(line: &str) -> bool,
    /// Parses a text without byte order mark. The first argument is the file name for errors.
    pub parse: fn(file: &str, text: &str) -> Result<Trace, TraceError>,
}

impl TraceFormat {
    /// The registered formats, in the order in which documentation lists them.
    pub const REGISTRY: &[Self] =
        &[mahimahi::FORMAT, second_bytes::FORMAT, seconds_mbps::FORMAT, json::FORMAT];

    /// Returns the registered format with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::REGISTRY.iter().find(|format| format.name == name)
    }

    /// Detects the format by the file extension, or else by the first entry.
    pub(super) fn detect(file: &str, text: &str) -> Result<&'static Self, TraceError> {
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        let by_extension = |format: &&Self| format.extensions.contains(&extension.as_str());
        if let Some(format) = Self::REGISTRY.iter().find(by_extension) {
            return Ok(format);
        }
        let Some((number, line)) = entries(text).next() else {
            return Err(empty_trace(file, &FORMATS_HINT));
        };
        Self::REGISTRY.iter().find(|format| (format.accepts)(line)).ok_or_else(|| TraceError {
            file: file.to_owned(),
            line: Some(number),
            column: None,
            expected: joined(Self::REGISTRY.iter().map(|format| format.first_entry), "or"),
            found: quoted(line),
            hint: &NAME_HINT,
        })
    }
}

static FORMATS_HINT: LazyLock<String> =
    LazyLock::new(|| format!("a trace is in one of the formats {}", registered_names("and")));

static NAME_HINT: LazyLock<String> = LazyLock::new(|| format!("name the format: {}", registered_names("or")));

fn registered_names(conjunction: &str) -> String {
    joined(TraceFormat::REGISTRY.iter().map(|format| format.name), conjunction)
}

/// Joins words by commas, and the last two by a conjunction: `a, b or c`.
fn joined(words: impl Iterator<Item = &'static str>, conjunction: &str) -> String {
    let words: Vec<&str> = words.collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} {conjunction} {last}", first.join(", ")),
        words => words.concat(),
    }
}

impl PartialEq for TraceFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TraceFormat {}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for &'static TraceFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        TraceFormat::named(name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// No [`TraceFormat`] has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a trace format; there are {names}", names = registered_names("and"))]
pub struct UnknownFormat(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_extension_or_first_line() {
        let detected = |file, text| TraceFormat::detect(file, text).unwrap().name;
        assert_eq!(detected("a.json", "oops"), "json");
        assert_eq!(detected("a.CSV", "second,bytes\n"), "second-bytes");
        assert_eq!(detected("a.down", "\n# c\n12\n"), "mahimahi");
        assert_eq!(detected("a", "1,2"), "second-bytes");
        assert_eq!(detected("a", "1.5\t2"), "seconds-mbps");
        assert_eq!(detected("a", " [{"), "json");
        assert_eq!(detected("a", "[1,2]"), "json");
        assert_eq!(TraceFormat::detect("a", "\n").unwrap_err().line, None);
    }

    #[test]
    fn error_for_an_unknown_format_lists_the_registered_ones() {
        for text in ["hello", "1 2 3"] {
            let error = TraceFormat::detect("a", text).unwrap_err();
            assert_eq!(error.line, Some(1));
            let entries = "a number, `second,bytes_per_second`, `seconds Mbps` or a JSON list";
            assert_eq!(error.expected, entries);
            assert_eq!(error.hint, "name the format: mahimahi, second-bytes, seconds-mbps or json");
        }
        let unknown = "pcap".parse::<&TraceFormat>().unwrap_err().to_string();
        let formats = "there are mahimahi, second-bytes, seconds-mbps and json";
        assert_eq!(unknown, format!("`pcap` is not a trace format; {formats}"));
    }

    #[test]
    fn at_most_one_format_accepts_a_line() {
        for line in ["1", "1.5", "1,2", "1, 2", "1 2", "1\t2", "[", "[1, 2", "{\"a\": 1, \"b\": 2}", "x", ""]
        {
            let accepting = TraceFormat::REGISTRY.iter().filter(|format| (format.accepts)(line)).count();
            assert!(accepting <= 1, "{line}: {accepting} formats");
        }
    }
}
