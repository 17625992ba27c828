//! What this process may do, and where it is.

use crate::Error;
use rustix::thread::{CapabilitySet, capabilities};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Whether the calling thread may change the network (CAP_NET_ADMIN).
///
/// # Errors
/// Where the kernel does not say.
pub fn may_administer_network() -> Result<bool, Error> {
    let sets = capabilities(None).map_err(|error| Error::system("read the capabilities", error))?;
    Ok(sets.effective.contains(CapabilitySet::NET_ADMIN))
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
