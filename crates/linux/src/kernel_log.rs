//! Messages of the kernel (`/dev/kmsg`).

use crate::Error;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

const PATH: &str = "/dev/kmsg";
/// Longest record.
const RECORD_BYTES: usize = 8192;
/// Texts of messages about defects of the kernel.
const DEFECTS: [&str; 9] = [
    "WARNING: ",
    "BUG: ",
    "Oops",
    "general protection fault",
    "KASAN",
    "UBSAN",
    "refcount_t:",
    "INFO: task",
    "Kernel panic",
];

/// The kernel's log from a moment on.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
}

impl KernelLog {
    /// Opens the log at its end.
    ///
    /// # Errors
    /// Without the permission, or in a container without the device.
    pub fn open() -> Result<Self, Error> {
        let open = || {
            let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(PATH)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        open()
            .map(|file| Self { file })
            .map_err(|error: std::io::Error| Error::system(format!("open {PATH}"), error))
    }

    /// New messages about defects of the kernel: warnings, oopses, reports of its sanitizers.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn defects(&mut self) -> Result<Vec<String>, Error> {
        let (mut buffer, mut found) = (vec![0; RECORD_BYTES], Vec::new());
        loop {
            match self.file.read(&mut buffer) {
                Ok(0) => return Ok(found),
                Ok(len) => found.extend(defect(&String::from_utf8_lossy(&buffer[..len]))),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(found),
                // Newer messages have overwritten the next one (EPIPE).
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::system(format!("read {PATH}"), error)),
            }
        }
    }
}

/// The text of a record if it tells of a defect. A record is `PRIORITY,NUMBER,TIME,FLAGS;TEXT`.
fn defect(record: &str) -> Option<String> {
    let text = record.split_once(';')?.1.lines().next()?;
    DEFECTS.iter().any(|defect| text.contains(defect)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::defect;

    #[test]
    fn warnings_and_bugs_are_defects() {
        let record = "4,1234,567890,-;WARNING: CPU: 1 PID: 7 at net/mptcp/subflow.c:1\n SUBSYSTEM=x\n";
        assert_eq!(defect(record).as_deref(), Some("WARNING: CPU: 1 PID: 7 at net/mptcp/subflow.c:1"));
        assert!(defect("3,1,2,-;BUG: kernel NULL pointer dereference\n").is_some());
        assert_eq!(defect("6,1,2,-;tun: Universal TUN/TAP device driver\n"), None);
        assert_eq!(defect("no record"), None);
    }
}
