//! Hidden folders, in which results are written before they are renamed.
//!
//! A writer holds a lock on its folder (flock(2)), which the kernel releases when the process ends.
//! A folder without a lock belongs to a killed run.

use crate::failure::Failure;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Part of the name of a hidden folder, after that of the final one.
const HIDDEN_INFIX: &str = ".tandem-part-";

/// Beginning of the name of a folder that tests whether its parent is writable.
pub(crate) const PROBE_PREFIX: &str = ".tandem-probe-";

/// Folder of new results below the hidden one.
const CONTENT: &str = "new";

/// Folder of replaced results below the hidden one.
const OLD: &str = "old";

/// Maximum time to wait for the lock of a folder.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval between two attempts to lock a folder.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// A hidden folder with a lock. It is removed when it is dropped.
pub(crate) struct HiddenFolder {
    folder: TempDir,
    content: PathBuf,
    /// The open folder, which holds the lock.
    _lock: File,
}

impl HiddenFolder {
    /// Creates a hidden folder in `parent` for results called `name`.
    pub(crate) fn create(parent: &Path, name: &str) -> io::Result<Self> {
        loop {
            let folder =
                tempfile::Builder::new().prefix(&format!(".{name}{HIDDEN_INFIX}")).tempdir_in(parent)?;
            let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound && parent.exists();
            let lock = match File::open(folder.path()) {
                Err(error) if is_gone(&error) => continue,
                opened => opened?,
            };
            // A file system without locks is no obstacle: there no folder counts as abandoned.
            if flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
                continue;
            }
            let content = folder.path().join(CONTENT);
            match fs::create_dir(&content) {
                Ok(()) => return Ok(Self { folder, content, _lock: lock }),
                // Another process removed the folder before it was locked.
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The folder of the new results.
    pub(crate) fn content(&self) -> &Path {
        &self.content
    }

    /// Place for replaced results, which are removed with the hidden folder.
    pub(crate) fn old(&self) -> PathBuf {
        self.folder.path().join(OLD)
    }

    /// Keeps the folder and returns the place of the new results.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep().join(CONTENT)
    }
}

/// Waits up to ten seconds for a folder's exclusive lock, which lasts until the result is dropped, and
/// continues without it: some file systems have no locks, and a sweep keeps that of its own directory
/// for hours.
pub(crate) fn lock(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    let end = Instant::now() + LOCK_TIMEOUT;
    while flock(&folder, FlockOperation::NonBlockingLockExclusive) == Err(rustix::io::Errno::WOULDBLOCK) {
        if Instant::now() >= end {
            break;
        }
        thread::sleep(LOCK_INTERVAL);
    }
    Some(folder)
}

/// Removes folders that killed runs left in `parent` for results called `name`.
pub(crate) fn remove_abandoned(parent: &Path, name: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if final_name(&entry.file_name().to_string_lossy()) == Some(name) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

/// Removes all folders that killed runs left in `parent`, and returns their number.
pub(crate) fn remove_unfinished(parent: &Path) -> Result<u32, Failure> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Failure::write(parent, &error)),
    };
    let mut removed = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        if remove_if_abandoned(&path).map_err(|error| Failure::write(&path, &error))? {
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes a hidden folder without a lock, and returns true, unless it has the only copy of
/// earlier results. Other files and folders stay.
fn remove_if_abandoned(path: &Path) -> io::Result<bool> {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let is_hidden = name.starts_with(PROBE_PREFIX) || final_name(&name).is_some();
    if !is_hidden || !fs::symlink_metadata(path)?.is_dir() {
        return Ok(false);
    }
    let lock = match File::open(path) {
        Ok(lock) => lock,
        // Its run has just ended.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(false);
    }
    let has_target = final_name(&name).is_some_and(|name| path.with_file_name(name).exists());
    if path.join(OLD).exists() && !has_target {
        return Ok(false);
    }
    fs::remove_dir_all(path).map(|()| true)
}

/// Name of the results that a hidden folder is for.
fn final_name(hidden: &str) -> Option<&str> {
    hidden.strip_prefix('.')?.rsplit_once(HIDDEN_INFIX).map(|(name, _)| name)
}
