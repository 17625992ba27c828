//! Watch over the certificates of a daemon.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tracing::{info, warn};

/// Certificates and keys of a daemon, to reload them when they are renewed.
pub(in crate::command) struct Certificates {
    files: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
    next_look: Instant,
    /// Reason why the last change could not be applied.
    failure: Option<String>,
}

/// Inode, size and time of modification of a file.
type Stamp = (u64, u64, SystemTime);

fn stamp(file: &Path) -> Option<Stamp> {
    let file = fs::metadata(file).ok()?;
    Some((file.ino(), file.len(), file.modified().ok()?))
}

impl Certificates {
    const INTERVAL: Duration = Duration::from_secs(5);

    /// Reads a configuration and watches the `files` of it. `read` notes each of them before it reads it,
    /// so that a file that is replaced meanwhile counts as changed.
    pub(in crate::command) fn of_configuration<T, E>(
        read: impl FnOnce(&dyn Fn(&Path)) -> Result<T, E>,
        files: impl FnOnce(&T) -> Vec<PathBuf>,
    ) -> Result<(T, Self), E> {
        let noted = RefCell::new(BTreeMap::new());
        let configuration = read(&|file| {
            noted.borrow_mut().entry(file.to_owned()).or_insert_with(|| stamp(file));
        })?;
        let (files, noted) = (files(&configuration), noted.into_inner());
        let seen = files.iter().map(|file| noted.get(file).copied().flatten()).collect();
        Ok((configuration, Self::new(files, seen)))
    }

    /// Watches files, whose content is to be read after this call.
    pub(in crate::command) fn of(files: Vec<PathBuf>) -> Self {
        let seen = Self::stamps(&files);
        Self::new(files, seen)
    }

    fn new(files: Vec<PathBuf>, seen: Vec<Option<Stamp>>) -> Self {
        Self { files, seen, next_look: Instant::now() + Self::INTERVAL, failure: None }
    }

    fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
        files.iter().map(|file| stamp(file)).collect()
    }

    /// Whether a file is another one than before, or the last change is still to be applied. A file that
    /// is missing may be about to be renamed.
    pub(in crate::command) fn have_changed(&mut self) -> bool {
        if self.files.is_empty() || Instant::now() < self.next_look {
            return false;
        }
        self.next_look = Instant::now() + Self::INTERVAL;
        let now = Self::stamps(&self.files);
        if now.iter().any(Option::is_none) {
            return false;
        }
        if now != self.seen {
            info!("a certificate or key has changed");
            self.seen = now;
            self.failure = None;
            return true;
        }
        self.failure.is_some()
    }

    /// Notes that the files have been read and applied.
    pub(in crate::command) fn note_success(&mut self) {
        self.failure = None;
    }

    /// Logs why the files could not be applied. If they `have_changed`, this is reported again until they
    /// are applied, and the same reason is logged once.
    pub(in crate::command) fn note_failure(&mut self, have_changed: bool, why: String) {
        if !have_changed {
            warn!("{why}");
        } else if self.failure.as_ref() != Some(&why) {
            warn!("{why}\ntrying again every {} s", Self::INTERVAL.as_secs());
            self.failure = Some(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn change_is_reported_until_it_is_applied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proxy.key");
        fs::write(&path, "old").unwrap();
        let mut certificates = Certificates::of(vec![path.clone()]);
        let has_changed = |certificates: &mut Certificates| {
            certificates.next_look = Instant::now();
            certificates.have_changed()
        };
        certificates.note_failure(false, "somebody edits the configuration".to_owned());
        assert!(!has_changed(&mut certificates));
        fs::write(&path, "renewed").unwrap();
        for _ in 0..2 {
            assert!(has_changed(&mut certificates));
            certificates.note_failure(true, "others than its owner can read it".to_owned());
        }
        fs::remove_file(&path).unwrap();
        assert!(!has_changed(&mut certificates));
        fs::write(&path, "renewed").unwrap();
        assert!(has_changed(&mut certificates));
        certificates.note_success();
        assert!(!has_changed(&mut certificates));
    }

    #[test]
    fn file_that_is_replaced_while_it_is_read_counts_as_changed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, kept, new] = ["crl.pem", "ca.pem", "new"].map(|name| folder.path().join(name));
        fs::write(&path, "old").unwrap();
        fs::write(&kept, "kept").unwrap();
        let files = vec![kept.clone(), path.clone()];
        for (text, is_replaced) in [("old", true), ("renewed", false)] {
            let read = |note: &dyn Fn(&Path)| {
                for file in &files {
                    note(file);
                }
                let text = fs::read_to_string(&path)?;
                if is_replaced {
                    fs::write(&new, "renewed")?;
                    fs::rename(&new, &path)?;
                }
                io::Result::Ok(text)
            };
            let (read, mut certificates) = Certificates::of_configuration(read, |_| files.clone()).unwrap();
            assert_eq!(read, text);
            for has_changed in [is_replaced, false] {
                certificates.next_look = Instant::now();
                assert_eq!(certificates.have_changed(), has_changed);
            }
        }
    }
}
