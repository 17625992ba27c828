//! Capabilities, limits and identity of this process.

use crate::{Error, option};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::sync::OnceLock;

/// Limit of open files before [`raise_open_file_limit`] has raised it.
static INHERITED_OPEN_FILE_LIMIT: OnceLock<Rlimit> = OnceLock::new();

/// True when the calling thread has CAP_NET_ADMIN.
///
/// # Errors
/// Fails when the capabilities cannot be read.
pub fn has_net_admin() -> Result<bool, Error> {
    let sets = capabilities(None).map_err(|error| Error::system("read the capabilities", error))?;
    Ok(sets.effective.contains(CapabilitySet::NET_ADMIN))
}

/// Current limit of open files (RLIMIT_NOFILE).
pub fn open_file_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the limit of open files to at least `least`, or as far as permitted. Child processes
/// inherit the limit, except a [`Program`](crate::program::Program).
pub fn raise_open_file_limit(least: u64) {
    INHERITED_OPEN_FILE_LIMIT.get_or_init(|| getrlimit(Resource::Nofile));
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = maximum.map_or(least, |maximum| maximum.max(least));
    let set = |number| setrlimit(Resource::Nofile, Rlimit { current: Some(number), maximum: Some(number) });
    // Raising the hard limit needs CAP_SYS_RESOURCE. Without it the soft limit is raised to the
    // hard one.
    if set(all).is_err() {
        _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Sets the limit of open files to the inherited one. Async-signal-safe.
pub(crate) fn restore_open_file_limit() -> io::Result<()> {
    let Some(limit) = INHERITED_OPEN_FILE_LIMIT.get() else { return Ok(()) };
    setrlimit(Resource::Nofile, *limit).map_err(Into::into)
}

/// Random identifier of the current boot.
///
/// # Errors
/// Fails when `/proc` is not mounted.
pub fn boot_id() -> Result<String, Error> {
    let path = "/proc/sys/kernel/random/boot_id";
    let text = fs::read_to_string(path).map_err(|error| Error::system(format!("read {path}"), error))?;
    Ok(text.trim_end().to_owned())
}

/// Cookie of the calling thread's network namespace, unique since boot; `None` before Linux 5.14.
pub fn network_namespace_cookie() -> Option<u64> {
    let socket = UnixDatagram::unbound().ok()?;
    let mut value = [0; 8];
    // SAFETY: the option is a number.
    #[allow(unsafe_code)]
    let length = unsafe { option::get(&socket, libc::SOL_SOCKET, libc::SO_NETNS_COOKIE, &mut value) };
    length.is_ok_and(|length| length == value.len()).then(|| u64::from_ne_bytes(value))
}

/// Inode number of the calling thread's network namespace; unique while the namespace exists.
///
/// # Errors
/// Fails when `/proc` is not mounted.
pub fn network_namespace() -> Result<u64, Error> {
    let path = "/proc/thread-self/ns/net";
    let meta = fs::metadata(path).map_err(|error| Error::system(format!("stat {path}"), error))?;
    Ok(meta.ino())
}
