//! What this process may do, and where it is.

use crate::Error;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Whether the calling thread may change the network (CAP_NET_ADMIN).
///
/// # Errors
/// Where the kernel does not say.
pub fn has_net_admin() -> Result<bool, Error> {
    let sets = capabilities(None).map_err(|error| Error::system("read the capabilities", error))?;
    Ok(sets.effective.contains(CapabilitySet::NET_ADMIN))
}

/// How many files this process may have open.
pub fn open_file_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Lets this process have at least so many files open, or as many as it may allow itself; programs that it starts
/// have that too.
pub fn raise_open_file_limit(least: u64) {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = maximum.map_or(least, |maximum| maximum.max(least));
    let set = |number| setrlimit(Resource::Nofile, Rlimit { current: Some(number), maximum: Some(number) });
    // Beyond its own maximum only with CAP_SYS_RESOURCE; where even that is refused, it stays as it was.
    if set(all).is_err() {
        _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// What tells this boot from all others.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn boot_id() -> Result<String, Error> {
    let path = "/proc/sys/kernel/random/boot_id";
    let text = fs::read_to_string(path).map_err(|error| Error::system(format!("read {path}"), error))?;
    Ok(text.trim_end().to_owned())
}

/// The number of the network namespace that the calling thread is in.
///
/// # Errors
/// Where `/proc` is not mounted.
pub fn network_namespace() -> Result<u64, Error> {
    let path = "/proc/thread-self/ns/net";
    let meta = fs::metadata(path).map_err(|error| Error::system(format!("look at {path}"), error))?;
    Ok(meta.ino())
}
