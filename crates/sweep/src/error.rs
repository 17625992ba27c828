//! Errors of sweeps.

use scenario::{Diagnostic, Setting};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The reason why a sweep cannot be described, run or merged.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The scenario is invalid, alone or with settings of the sweep.
    #[error("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Scenario {
        /// Name of the scenario, or of the policy's file that has the problems.
        name: String,
        /// The settings that were applied; empty for the scenario alone.
        settings: Vec<Setting>,
        /// The text with the settings applied.
        text: String,
        /// Every problem of that text.
        problems: Vec<Diagnostic>,
    },
    /// An impossible design, a broken document, or a directory that cannot hold the sweep.
    #[error("{message}")]
    Invalid {
        /// The problem.
        message: String,
        /// A suggestion for a correction.
        hint: String,
    },
    /// A part that lacks, or has too many, runs.
    #[error("run {index} of the sweep is in no part")]
    Missing {
        /// Index of the first missing run.
        index: u64,
    },
    /// A file cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Bytes that are not Parquet, or cannot be encoded.
    #[error("invalid Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// Columns that do not fit the sweep.
    #[error("invalid columns: {0}")]
    Arrow(#[from] arrow_schema::ArrowError),
}

impl SweepError {
    pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), hint: hint.into() }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { action: "write", path, source }
    }

    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { action: "read", path, source }
    }

    /// A suggestion for a correction; may be empty.
    pub fn hint(&self) -> String {
        match self {
            Self::Invalid { hint, .. } => hint.clone(),
            Self::Missing { .. } => "run the batches that are missing, then merge again".to_owned(),
            Self::Scenario { problems, .. } => {
                problems.iter().find_map(|problem| problem.hint.clone()).unwrap_or_default()
            }
            _ => String::new(),
        }
    }
}
