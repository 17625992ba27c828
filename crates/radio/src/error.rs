//! What can be wrong with a profile.

use core::ops::Range;
use thiserror::Error;
use units::UnitError;

/// What was wrong with the text of a profile, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name}:{line}:{column}: {problem}")]
pub struct ProfileError {
    /// What the text was called.
    pub name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters, from 1.
    pub column: usize,
    /// The same place in bytes, for a display that underlines it.
    pub span: Range<usize>,
    /// What was wrong.
    pub problem: Box<Problem>,
}

impl ProfileError {
    /// What to do about it, as one sentence, where something more can be said.
    pub fn hint(&self) -> Option<String> {
        match &*self.problem {
            Problem::Syntax { .. } | Problem::Value { .. } => None,
            Problem::UnknownKey { nearest: Some(nearest), .. } => Some(format!("did you mean `{nearest}`?")),
            Problem::UnknownKey { nearest: None, known, .. } => {
                Some(format!("known here: {}", known.join(", ")))
            }
            Problem::MissingKey { key, example } => Some(format!("add `{key} = {example}`")),
            Problem::Type { expected, .. } => Some(format!("write {expected}")),
            Problem::Quantity { expected, error, .. } => {
                Some(format!("write {}", error.expected().unwrap_or(expected)))
            }
        }
    }
}

/// The kinds of error in a profile. A key is written with its path: `tail[1].power`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// The text is not TOML.
    #[error("{message}")]
    Syntax {
        /// The parser's words.
        message: String,
    },
    /// A key that means nothing here.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
        /// The known key that is most like it, if one is.
        nearest: Option<&'static str>,
        /// Every key that is known at this place.
        known: &'static [&'static str],
    },
    /// A key that must be there is not.
    #[error("`{key}` is missing")]
    MissingKey {
        /// The key.
        key: String,
        /// A value that would do, as it is written.
        example: &'static str,
    },
    /// The value is of another type.
    #[error("`{key}` is {found}, not {expected}")]
    Type {
        /// The key.
        key: String,
        /// What is to be there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// The text is not a quantity of the right kind.
    #[error("`{key}`: {error}")]
    Quantity {
        /// The key.
        key: String,
        /// What is to be there.
        expected: &'static str,
        /// What is wrong with it.
        error: UnitError,
    },
    /// The value is of the right type, and cannot be.
    #[error("`{key}` is {found}: expected {expected}")]
    Value {
        /// The key.
        key: String,
        /// What is to be there.
        expected: String,
        /// What is there.
        found: String,
    },
}
