//! What can be wrong with a profile's text.

use thiserror::Error;

/// What was wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {}

/// What was wrong with the text of a profile, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name}:{line}:{column}")]
pub struct ProfileError {
    /// What the text was called.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// What was wrong.
    pub problem: Problem,
}
