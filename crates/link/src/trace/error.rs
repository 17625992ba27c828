//! What is wrong with a trace.

use core::fmt;

/// Where a trace is wrong, and what would be right.
///
/// Prints as `file:line: expected …, found …`; the hint is for the program to print beneath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// The name that was given to the loader.
    pub file: String,
    /// The line, from 1; `None` where the file as a whole is wrong.
    pub line: Option<usize>,
    /// The column, from 1, where it is known.
    pub column: Option<usize>,
    /// What would have been right.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// What to do about it.
    pub hint: &'static str,
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

/// As much of `text` as an error message bears, in backticks.
pub(super) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let short: String = text.chars().take(MOST).map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("`{short}...`") } else { format!("`{short}`") }
}
