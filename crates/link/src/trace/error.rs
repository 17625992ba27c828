//! Errors in trace files.

use core::fmt;

/// An error in a trace file: its place, the expected and the found text.
///
/// Prints as `file:line: expected ..., found ...`. The hint is printed separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// File name as passed to [`Trace::parse`](crate::Trace::parse).
    pub file: String,
    /// Line, from 1; `None` if the error concerns the whole file.
    pub line: Option<usize>,
    /// Column, from 1, if known.
    pub column: Option<usize>,
    /// Description of valid input.
    pub expected: String,
    /// Description of the input.
    pub found: String,
    /// Advice on how to correct the file.
    pub hint: Box<str>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        write!(f, ": expected {}, found {}", self.expected, self.found)
    }
}

impl core::error::Error for TraceError {}

/// Returns an error about a line.
pub(super) fn line_error(file: &str, line: usize, expected: &str, found: String, hint: &str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        line: Some(line),
        column: None,
        expected: expected.to_owned(),
        found,
        hint: hint.into(),
    }
}

/// Returns the error about a file without entries.
pub(super) fn empty_trace(file: &str, hint: &str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        line: None,
        column: None,
        expected: "at least one entry".to_owned(),
        found: "an empty trace".to_owned(),
        hint: hint.into(),
    }
}

/// Returns the error about a trace with a rate of zero throughout.
pub(super) fn zero_trace(file: &str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        line: None,
        column: None,
        expected: "a rate above zero somewhere".to_owned(),
        found: "a trace that is zero throughout".to_owned(),
        hint: "a link on this trace would stand still for ever; use an outage for a link that is down".into(),
    }
}

/// Quotes the beginning of `text` in backticks, without control characters.
pub(super) fn quoted(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let start: String = text.chars().take(MAX_CHARS).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(MAX_CHARS).is_some() { format!("`{start}...`") } else { format!("`{start}`") }
}
