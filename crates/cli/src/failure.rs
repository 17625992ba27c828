//! Failures of the program and their exit codes.

pub(crate) use experiments::files::reason;

use policy::PolicyError;
use scenario::Diagnostic;
use std::io;
use std::path::Path;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Invalid command line.
    Usage {
        /// Description of the problem.
        message: String,
        /// A suggestion for a correction.
        hint: String,
    },
    /// Problems of an input file.
    Input(Vec<Diagnostic>),
    /// An input file that cannot be read.
    Unreadable {
        /// Description of the problem.
        message: String,
        /// A suggestion for a correction.
        hint: String,
    },
    /// A valid scenario that the command cannot run.
    Unsupported {
        /// The unsupported property.
        message: String,
        /// An alternative; may be empty.
        hint: String,
    },
    /// The system lacks a privilege, a device or a kernel feature.
    MissingRequirement {
        /// The missing requirement.
        message: String,
        /// A way to meet it.
        hint: String,
    },
    /// Any other failure.
    Other {
        /// Description of the problem.
        message: String,
        /// A suggestion for a correction; may be empty.
        hint: String,
    },
    /// The user stopped the command by a signal.
    Interrupted {
        /// The fate of the results.
        message: String,
    },
    /// A program that cannot be started.
    CannotRun {
        /// The reason.
        message: String,
        /// Whether the program exists.
        found: bool,
    },
    /// A started program failed, and reported that itself.
    Program {
        /// Its exit code.
        code: u8,
    },
    /// Problems that have been reported.
    Reported {
        /// The exit code.
        code: u8,
    },
    /// The reader of the output closed the pipe.
    ClosedPipe,
}

impl Failure {
    /// The program's exit code.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Input(_) | Self::Unreadable { .. } | Self::Unsupported { .. } => 3,
            Self::MissingRequirement { .. } => 4,
            Self::Other { .. } => 1,
            // 128 and the number of SIGINT, as of a shell.
            Self::Interrupted { .. } => 130,
            // As in env(1) and shells.
            Self::CannotRun { found: false, .. } => 127,
            Self::CannotRun { found: true, .. } => 126,
            Self::Program { code } | Self::Reported { code } => *code,
            Self::ClosedPipe => 0,
        }
    }

    /// The failure as text, for a log of a program that continues.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Input(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            Self::Usage { message, .. }
            | Self::Unreadable { message, .. }
            | Self::Unsupported { message, .. }
            | Self::MissingRequirement { message, .. }
            | Self::Other { message, .. }
            | Self::Interrupted { message }
            | Self::CannotRun { message, .. } => message.clone(),
            Self::Program { .. } | Self::Reported { .. } | Self::ClosedPipe => String::new(),
        }
    }

    /// A command that a signal stopped; `fate` states when, and whether results were written.
    pub(crate) fn interrupted(fate: &str) -> Self {
        let separator = if fate.starts_with(';') { "" } else { " " };
        Self::Interrupted { message: format!("interrupted{separator}{fate}") }
    }

    /// A policy given by `option` that the scenario's device cannot follow.
    pub(crate) fn policy(option: &str, error: &PolicyError) -> Self {
        Self::Usage { message: format!("{option}: {error}"), hint: error.hint() }
    }

    /// A file or folder that could not be written.
    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        Self::Other {
            message: format!("cannot write {}: {}", path.display(), reason(error)),
            hint: "`--out DIR` chooses another directory".to_owned(),
        }
    }
}
