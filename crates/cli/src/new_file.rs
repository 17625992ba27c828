//! New files for the user, which never replace others.

use crate::failure::{Failure, reason};
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Beginning of the name of a file that is being written.
const TEMPORARY_PREFIX: &str = ".tandem-new-";

/// Permissions of a new file, before the umask.
const MODE: u32 = 0o666;

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
/// If one of the files exists with another content, or cannot be written; then none of them is left.
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
    for (i, file) in new.iter().enumerate() {
        write(file).inspect_err(|_| {
            for written in &new[..i] {
                let _ = fs::remove_file(&written.path);
            }
        })?;
    }
    Ok(new.iter().map(|file| file.path.as_path()).collect())
}

/// Writes the file as a whole: it is written under a temporary name and renamed.
fn write(file: &NewFile) -> Result<(), Failure> {
    let failure = |error: &std::io::Error| Failure::Other {
        message: format!("cannot write {}: {}", file.path.display(), reason(error)),
        hint: "name another file or directory".to_owned(),
    };
    let folder = file.path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|error| failure(&error))?;
    let mut out = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder)
        .map_err(|error| failure(&error))?;
    out.write_all(file.text.as_bytes()).map_err(|error| failure(&error))?;
    match out.persist_noclobber(&file.path) {
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(exists(&file.path)),
        // Some file systems cannot rename without replacing.
        Err(error) if !file.path.exists() => {
            error.file.persist(&file.path).map(drop).map_err(|error| failure(&error.error))
        }
        Err(error) => Err(failure(&error.error)),
        Ok(_) => Ok(()),
    }
}

fn exists(path: &Path) -> Failure {
    Failure::Other {
        message: format!("{} exists and is not replaced", path.display()),
        hint: "remove it, or name another file or directory".to_owned(),
    }
}
