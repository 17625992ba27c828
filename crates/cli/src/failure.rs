//! What ends the program early, and with which exit code.

use scenario::Diagnostic;
use std::io;
use std::path::Path;

/// Why a command did not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for what cannot be.
    Usage {
        /// What is wrong.
        message: String,
        /// What would be right.
        hint: String,
    },
    /// A file that was read is wrong: everything that is wrong with it.
    Input(Vec<Diagnostic>),
    /// A file that was to be read is not there, or cannot be read.
    Unreadable {
        /// What is wrong.
        message: String,
        /// What would be right.
        hint: String,
    },
    /// The system lacks something: a privilege, a device, a part of the kernel.
    Lacks {
        /// What is missing.
        message: String,
        /// How to get it.
        hint: String,
    },
    /// Anything else.
    Other {
        /// What is wrong.
        message: String,
        /// What would be right; may be empty.
        hint: String,
    },
    /// A program that we were to run cannot be run.
    NotRun {
        /// Why not.
        message: String,
        /// There is such a program.
        found: bool,
    },
    /// A program that we ran has ended so, and has said itself what there was to say.
    Program {
        /// Its exit code.
        code: u8,
    },
    /// Whoever read our output has seen enough.
    ClosedPipe,
}

impl Failure {
    /// The program's exit code.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Input(_) | Self::Unreadable { .. } => 3,
            Self::Lacks { .. } => 4,
            Self::Other { .. } => 1,
            // As env(1) and shells have it.
            Self::NotRun { found: false, .. } => 127,
            Self::NotRun { found: true, .. } => 126,
            Self::Program { code } => *code,
            Self::ClosedPipe => 0,
        }
    }

    /// All of it, where the program goes on and it is only told.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Self::Input(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            Self::Usage { message, .. }
            | Self::Unreadable { message, .. }
            | Self::Lacks { message, .. }
            | Self::Other { message, .. }
            | Self::NotRun { message, .. } => message.clone(),
            Self::Program { .. } | Self::ClosedPipe => String::new(),
        }
    }

    /// A file or folder that could not be written.
    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        Self::Other {
            message: format!("cannot write {}: {}", path.display(), reason(error)),
            hint: "`--out DIR` writes elsewhere".to_owned(),
        }
    }
}

/// An error of the system in words, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is not a directory".to_owned(),
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}
