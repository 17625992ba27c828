//! New files for the user, which never replace others.

use crate::failure::{Failure, reason};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file to write.
#[derive(Debug, Clone)]
pub(crate) struct NewFile {
    path: PathBuf,
    text: String,
}

impl NewFile {
    pub(crate) fn new(path: PathBuf, text: impl Into<String>) -> Self {
        Self { path, text: text.into() }
    }
}

/// Writes files and returns the paths of the new ones. A file with the same content stays.
///
/// # Errors
/// If one of the files exists with another content; then no file is written.
pub(crate) fn write_new(files: &[NewFile]) -> Result<Vec<&Path>, Failure> {
    let mut new = Vec::new();
    for file in files {
        match fs::read(&file.path) {
            Ok(bytes) if bytes == file.text.as_bytes() => {}
            Ok(_) => return Err(exists(&file.path)),
            Err(_) if new.iter().any(|other: &&NewFile| other.path == file.path) => {}
            Err(_) => new.push(file),
        }
    }
    for file in &new {
        write(file)?;
    }
    Ok(new.iter().map(|file| file.path.as_path()).collect())
}

fn write(file: &NewFile) -> Result<(), Failure> {
    let failure = |error: &std::io::Error| Failure::Other {
        message: format!("cannot write {}: {}", file.path.display(), reason(error)),
        hint: "name another file or directory".to_owned(),
    };
    if let Some(folder) = file.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| failure(&error))?;
    }
    let mut out = fs::File::create_new(&file.path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(&file.path),
        _ => failure(&error),
    })?;
    out.write_all(file.text.as_bytes()).map_err(|error| failure(&error))
}

fn exists(path: &Path) -> Failure {
    Failure::Other {
        message: format!("{} exists and is not replaced", path.display()),
        hint: "remove it, or name another file or directory".to_owned(),
    }
}
