//! Which path manager the connections have that begin from now on.

use crate::{Error, sysctl};

/// The one in the kernel, by endpoints and limits.
pub const KERNEL: &str = "kernel";
/// The one in userspace, by commands for each connection (Linux 5.19).
pub const USERSPACE: &str = "userspace";

/// Its name; `None` where the kernel does not tell.
pub fn current() -> Option<String> {
    // Renamed in Linux 6.15.
    sysctl::read("net.mptcp.path_manager").ok().or_else(|| {
        let kind = sysctl::read("net.mptcp.pm_type").ok()?;
        Some(if kind == "1" { USERSPACE } else { KERNEL }.to_owned())
    })
}

/// Chooses it. Connections that exist keep theirs.
///
/// # Errors
/// Where this kernel has no such path manager, or the caller may not.
pub fn select(name: &str) -> Result<(), Error> {
    if sysctl::read("net.mptcp.path_manager").is_ok() {
        return sysctl::write("net.mptcp.path_manager", name);
    }
    sysctl::write("net.mptcp.pm_type", if name == USERSPACE { "1" } else { "0" })
}
