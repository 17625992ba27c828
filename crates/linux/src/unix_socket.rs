//! UNIX listening sockets at a path.
//!
//! A killed process leaves its socket behind, so the next start replaces it. Only a socket at which
//! nobody listens is replaced: never a regular file, nor the socket of a running process.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open as open_file};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use thiserror::Error as Derive;

/// Length of the accept queue.
const BACKLOG: i32 = 128;
/// Attempts to lock the directory, and the pause between them.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Reason why a path cannot be listened at.
#[derive(Debug, Derive)]
pub enum BindError {
    /// A process listens there, or another type of socket is in use.
    #[error("another process listens at {}", .0.display())]
    InUse(PathBuf),
    /// The path exists, and is not a socket.
    #[error("cannot listen at {}: a file that is no socket has this name", .0.display())]
    NotASocket(PathBuf),
    /// A system call failed.
    #[error("cannot listen at {}: {source}", path.display())]
    System {
        /// Path of the socket.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
}

impl BindError {
    /// Suggested remedy; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::InUse(_) => "stop that process, or choose another path",
            Self::NotASocket(_) => "move the file away, or choose another path",
            Self::System { .. } => "",
        }
    }
}

/// Listening socket and its path, which is removed on drop.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// Path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another process may have replaced the socket, for instance after an unlink by hand.
        let is_own = |file: &Metadata| (file.dev(), file.ino()) == (self.device, self.inode);
        if fs::symlink_metadata(&self.path).is_ok_and(|file| is_own(&file)) {
            _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path` with the permissions `mode`, and creates its directory if needed. Replaces a
/// socket at which nobody listens. The listener is non-blocking.
///
/// # Errors
/// A process listens there, the path is not a socket, or the system rejects it.
pub fn listen_at(path: &Path, mode: u32) -> Result<(UnixListener, SocketFile), BindError> {
    let failed = |source: io::Error| BindError::System { path: path.to_owned(), source };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let _lock = lock(folder);
    remove_stale(path)?;
    let socket = open().map_err(failed)?;
    let address = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
    bind(&socket, &address).map_err(|error| match error {
        Errno::ADDRINUSE => BindError::InUse(path.to_owned()),
        error => failed(error.into()),
    })?;
    // Before `listen`, so that nobody connects with the permissions of the umask.
    let file = set_socket_mode(path, mode)?;
    let file = SocketFile { path: path.to_owned(), device: file.dev(), inode: file.ino() };
    listen(&socket, BACKLOG).map_err(|error| failed(error.into()))?;
    Ok((UnixListener::from(socket), file))
}

/// Sets the permissions of a socket, and never those of another file: a user who can write the
/// directory may have put a link in place of the socket.
fn set_socket_mode(path: &Path, mode: u32) -> Result<Metadata, BindError> {
    let failed = |source: io::Error| BindError::System { path: path.to_owned(), source };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(open_file(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?);
    let found = file.metadata().map_err(failed)?;
    if !found.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    // fchmod(2) rejects a descriptor that was opened with O_PATH.
    let by_descriptor = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::set_permissions(by_descriptor, fs::Permissions::from_mode(mode)).map_err(failed)?;
    Ok(found)
}

/// Removes a socket at which nobody listens; a path that does not exist is no error.
///
/// # Errors
/// A process listens there, the path is not a socket, or the system rejects it.
pub fn remove_stale(path: &Path) -> Result<(), BindError> {
    let failed = |source: io::Error| BindError::System { path: path.to_owned(), source };
    if !is_stale(path)? {
        return Ok(());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Whether `path` is a socket at which nobody listens; false if it does not exist.
///
/// # Errors
/// A process listens there, the path is not a socket, or the system rejects the check.
pub fn is_stale(path: &Path) -> Result<bool, BindError> {
    let failed = |source: io::Error| BindError::System { path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Ok(file) if !file.file_type().is_socket() => return Err(BindError::NotASocket(path.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error)),
    }
    let socket = open().map_err(failed)?;
    let address = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
    match connect(&socket, &address) {
        Err(Errno::CONNREFUSED) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        // A full accept queue (EAGAIN) and another socket type (EPROTOTYPE) are in use as well.
        Ok(()) | Err(Errno::AGAIN | Errno::PROTOTYPE) => Err(BindError::InUse(path.to_owned())),
        Err(error) => Err(failed(error.into())),
    }
}

/// Opens a non-blocking stream socket: a blocking `connect` waits while the accept queue is full.
fn open() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Locks the directory against a simultaneous start. Any user who can read the directory could hold
/// the lock, so a start does not wait for it without end.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..LOCK_ATTEMPTS {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(file),
            Err(Errno::AGAIN | Errno::INTR) => sleep(LOCK_RETRY_INTERVAL),
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tandem-socket-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn stale_socket_is_replaced_and_a_used_one_is_not() {
        let folder = folder("stale");
        let path = folder.join("sub/one.sock");
        let (listener, file) = listen_at(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        assert!(matches!(listen_at(&path, 0o660), Err(BindError::InUse(_))));
        assert!(matches!(remove_stale(&path), Err(BindError::InUse(_))));
        // A killed process leaves its socket.
        drop(listener);
        std::mem::forget(file);
        // A program that another test starts has the listener too, until its `exec`.
        let is_unused = |_| {
            sleep(LOCK_RETRY_INTERVAL);
            is_stale(&path).is_ok_and(|stale| stale)
        };
        assert!((0..500).any(is_unused));
        let (listener, file) = listen_at(&path, 0o600).unwrap();
        UnixStream::connect(&path).unwrap();
        drop((listener, file));
        assert!(!path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_and_foreign_sockets_are_never_removed() {
        let folder = folder("files");
        let (text, link, packets) = (folder.join("text"), folder.join("link"), folder.join("packets"));
        fs::write(&text, "precious").unwrap();
        std::os::unix::fs::symlink(&text, &link).unwrap();
        for path in [&text, &link, &folder] {
            let error = listen_at(path, 0o660).unwrap_err();
            assert!(matches!(error, BindError::NotASocket(_)), "{error}");
            assert!(remove_stale(path).is_err());
        }
        assert_eq!(fs::read_to_string(&link).unwrap(), "precious");
        let _other = UnixDatagram::bind(&packets).unwrap();
        assert!(matches!(listen_at(&packets, 0o660), Err(BindError::InUse(_))));
        assert!(packets.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn link_in_place_of_a_socket_leaves_its_target_unchanged() {
        let folder = folder("swapped");
        let (target, link) = (folder.join("target"), folder.join("link"));
        let _other = UnixDatagram::bind(&target).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(matches!(set_socket_mode(&link, 0o666), Err(BindError::NotASocket(_))));
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o600);
        set_socket_mode(&target, 0o660).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().mode() & 0o777, 0o660);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn full_accept_queue_counts_as_in_use() {
        let folder = folder("full");
        let path = folder.join("one.sock");
        let (_listener, _file) = listen_at(&path, 0o660).unwrap();
        let mut waiting = Vec::new();
        loop {
            let socket = open().unwrap();
            if connect(&socket, &SocketAddrUnix::new(&path).unwrap()) == Err(Errno::AGAIN) {
                break;
            }
            waiting.push(socket);
        }
        assert!(matches!(is_stale(&path), Err(BindError::InUse(_))));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn replaced_socket_is_not_removed_on_drop() {
        let folder = folder("replaced");
        let path = folder.join("one.sock");
        let (_listener, file) = listen_at(&path, 0o660).unwrap();
        fs::remove_file(&path).unwrap();
        // A placeholder keeps the file system from giving the same inode number again.
        fs::write(folder.join("placeholder"), "").unwrap();
        let (_listener, _other) = listen_at(&path, 0o660).unwrap();
        drop(file);
        assert!(path.exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
