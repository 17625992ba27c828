//! A file with the number of the process that holds it, locked while that process runs.

use crate::Error;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A held file; the kernel releases it however the process ends.
#[derive(Debug)]
pub struct PidFile {
    _file: File,
}

impl PidFile {
    /// Takes the file; `None` while another process holds it.
    ///
    /// # Errors
    /// Fails when the file cannot be created or written.
    pub fn take(path: &Path) -> Result<Option<Self>, Error> {
        let doing = || format!("write {}", path.display());
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o644)
            .open(path)
            .map_err(|error| Error::system(doing(), error))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        let write = |file: &mut File| {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            write!(file, "{}", std::process::id())
        };
        write(&mut file).map_err(|error| Error::system(doing(), error))?;
        Ok(Some(Self { _file: file }))
    }

    /// Number of the process that holds the file; `None` when none does.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn holder(path: &Path) -> Result<Option<i32>, Error> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::system(format!("read {}", path.display()), error)),
        };
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return Ok(None);
        }
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|error| Error::system(format!("read {}", path.display()), error))?;
        Ok(text.trim().parse().ok())
    }
}

/// Sends SIGTERM to a process.
///
/// # Errors
/// Fails when there is no such process, or it belongs to another user.
pub fn terminate(process: i32) -> Result<(), Error> {
    let doing = || format!("stop the process {process}");
    let process = Pid::from_raw(process)
        .ok_or_else(|| Error::system(doing(), std::io::Error::from(ErrorKind::InvalidInput)))?;
    kill_process(process, Signal::TERM).map_err(|error| Error::system(doing(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_held_once() {
        let path = std::env::temp_dir().join(format!("tandem-pid-file-{}", std::process::id()));
        assert_eq!(PidFile::holder(&path).unwrap(), None);
        let held = PidFile::take(&path).unwrap();
        assert!(held.is_some() && PidFile::take(&path).unwrap().is_none());
        assert_eq!(PidFile::holder(&path).unwrap(), i32::try_from(std::process::id()).ok());
        drop(held);
        assert_eq!(PidFile::holder(&path).unwrap(), None);
        std::fs::remove_file(&path).unwrap();
    }
}
