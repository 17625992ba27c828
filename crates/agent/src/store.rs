//! State directory with atomically replaced files.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Maximum length of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// State directory, locked by one agent at a time.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    _lock: File,
}

impl Store {
    /// Creates the directory if needed, and locks it.
    ///
    /// # Errors
    /// Fails when it cannot be created or written, or another agent holds the lock
    /// ([`io::ErrorKind::WouldBlock`]).
    pub fn lock(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut options = OpenOptions::new();
        let lock = options.create(true).truncate(false).write(true).mode(0o600).open(folder.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { folder: folder.to_owned(), _lock: lock })
    }

    /// Content of a file; `None` when there is none.
    ///
    /// # Errors
    /// Fails when it cannot be read, or is too long.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match File::open(self.folder.join(name)) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
                check_length(&bytes)?;
                Ok(Some(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a file atomically: readers see the old or the new content.
    ///
    /// # Errors
    /// Fails when it cannot be written, or would be too long to read.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        check_length(bytes)?;
        let (new, place) = (self.folder.join(format!("{name}.new")), self.folder.join(name));
        let mut options = OpenOptions::new();
        let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        // Without this, a power failure could leave the new name with an empty file.
        file.sync_data()?;
        fs::rename(new, place)
    }

    /// Removes a file if it exists.
    ///
    /// # Errors
    /// Fails when it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Renames an unreadable file, to keep it for inspection.
    pub fn rename_unreadable(&self, name: &str) {
        // On failure the file is overwritten later.
        let _ = fs::rename(self.folder.join(name), self.folder.join(format!("{name}.bad")));
    }
}

fn check_length(bytes: &[u8]) -> io::Result<()> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "more than 1 MiB"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_round_trip_and_directory_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er");
        let store = Store::lock(&path).unwrap();
        assert_eq!(store.read("a").unwrap(), None);
        for text in ["long enough", "short"] {
            store.write("a", text.as_bytes()).unwrap();
            assert_eq!(store.read("a").unwrap().as_deref(), Some(text.as_bytes()));
        }
        assert_eq!(Store::lock(&path).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        store.rename_unreadable("a");
        assert_eq!(store.read("a").unwrap(), None);
        assert_eq!(store.read("a.bad").unwrap().as_deref(), Some(&b"short"[..]));
        let long = vec![b' '; MAX_FILE_BYTES as usize + 1];
        store.write("a", b"old").unwrap();
        assert_eq!(store.write("a", &long).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(store.read("a").unwrap().as_deref(), Some(&b"old"[..]));
        fs::write(path.join("a"), &long).unwrap();
        assert_eq!(store.read("a").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        store.remove("a.bad").unwrap();
        store.remove("a.bad").unwrap();
        drop(store);
        Store::lock(&path).unwrap();
    }
}
