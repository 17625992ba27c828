//! A file that one process holds, found by its lock.
//!
//! The kernel names the holder of a record lock (fcntl(2), F_GETLK), so no number in a file is
//! trusted. Only the owner may open the file, so no other user can lock it. The lock ends with its
//! process.

use crate::Error;
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, fcntl_lock, fstat, open, stat, unlink};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{
    Flock, FlockType, Pid, PidfdFlags, Signal, fcntl_getlk, pidfd_open, pidfd_send_signal,
};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Attempts to lock a file that another process removes meanwhile.
const MAX_ATTEMPTS: usize = 16;

/// A held file, removed on drop. The kernel releases it however the process ends.
///
/// A process that holds a file must not open the same file a second time: closing that descriptor
/// would release the lock (fcntl(2)).
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    _file: File,
}

impl PidFile {
    /// Takes the file; `None` while another process holds it.
    ///
    /// # Errors
    /// Fails when the file cannot be created, is a link, or cannot be locked.
    pub fn take(path: &Path) -> Result<Option<Self>, Error> {
        let failed = |error: Errno| Error::system(format!("lock {}", path.display()), error);
        for _ in 0..MAX_ATTEMPTS {
            let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let private = Mode::RUSR | Mode::WUSR;
            let file = open(path, flags, private).map_err(failed)?;
            // An existing file may have been readable, and so lockable, by others.
            fchmod(&file, private).map_err(failed)?;
            match retry_on_intr(|| fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => {}
                Err(Errno::AGAIN | Errno::ACCESS) => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
            // The previous holder may have removed the file after it was opened here.
            let locked = fstat(&file).map_err(failed)?;
            if stat(path).is_ok_and(|at| (at.st_dev, at.st_ino) == (locked.st_dev, locked.st_ino)) {
                return Ok(Some(Self { path: path.to_owned(), _file: file.into() }));
            }
        }
        Err(failed(Errno::AGAIN))
    }

    /// Process that holds the file; `None` when none does.
    ///
    /// # Errors
    /// Fails when the file cannot be opened.
    pub fn holder(path: &Path) -> Result<Option<i32>, Error> {
        let failed = |error: Errno| Error::system(format!("read {}", path.display()), error);
        let file = match open(path, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let lock = fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).map_err(failed)?;
        Ok(lock.and_then(|lock| lock.pid).map(Pid::as_raw_pid))
    }

    /// Sends SIGTERM to the process that holds the file. Returns its number; `None` when none does.
    ///
    /// # Errors
    /// As [`Self::holder`]; also when the process belongs to another user.
    pub fn terminate_holder(path: &Path) -> Result<Option<i32>, Error> {
        let Some(process) = Self::holder(path)? else { return Ok(None) };
        let failed = |error: Errno| Error::system(format!("stop the process {process}"), error);
        let Some(pid) = Pid::from_raw(process) else { return Ok(None) };
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(Errno::SRCH) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        // The number may have been reused before it was opened; the lock tells.
        if Self::holder(path)? != Some(process) {
            return Ok(None);
        }
        match pidfd_send_signal(&handle, Signal::TERM) {
            Ok(()) | Err(Errno::SRCH) => Ok(Some(process)),
            Err(error) => Err(failed(error)),
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // While the lock is held, so that no other process has taken the file.
        let _ = unlink(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("tandem-pid-file-{name}-{}", std::process::id()))
    }

    #[test]
    fn file_is_private_and_removed_by_its_holder() {
        let path = path("private");
        assert_eq!(PidFile::holder(&path).unwrap(), None);
        let held = PidFile::take(&path).unwrap().unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "no other user may lock it");
        drop(held);
        assert!(!path.exists());
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(PidFile::take(&path).is_err(), "a link is not followed");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn kernel_names_the_holder_whatever_the_file_says() {
        let path = path("holder");
        // A number of another process, as an attacker or a killed holder leaves it.
        std::fs::write(&path, "1").unwrap();
        assert_eq!(PidFile::holder(&path).unwrap(), None);
        // A record lock of another process. `perl` is a part of every Debian.
        let script = "use Fcntl qw(F_SETLK F_WRLCK); open(F, '+<', $ARGV[0]); \
            $lock = pack('s s x![q] q q l x![q]', F_WRLCK, 0, 0, 0, 0); \
            fcntl(F, F_SETLK, $lock) or die; \
            $| = 1; print \"held\\n\"; sleep 60;";
        let mut child = Command::new("perl")
            .args(["-e", script])
            .arg(&path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("perl is installed");
        let mut line = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let process = i32::try_from(child.id()).unwrap();
        assert_eq!(PidFile::holder(&path).unwrap(), Some(process));
        assert!(PidFile::take(&path).unwrap().is_none());
        assert_eq!(PidFile::terminate_holder(&path).unwrap(), Some(process));
        child.wait().unwrap();
        assert_eq!(PidFile::holder(&path).unwrap(), None);
        std::fs::remove_file(&path).unwrap();
    }
}
