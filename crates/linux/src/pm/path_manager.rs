//! Selection of the path manager for new connections.

use crate::{Error, sysctl};

/// Kernel path manager, driven by endpoints and limits.
pub const KERNEL: &str = "kernel";
/// Userspace path manager, driven by commands for each connection (Linux 5.19).
pub const USERSPACE: &str = "userspace";

/// Name of the selected path manager; `None` when the kernel does not report it.
pub fn current() -> Option<String> {
    // The setting was `pm_type` before Linux 6.15.
    sysctl::read("net.mptcp.path_manager").ok().or_else(|| {
        let kind = sysctl::read("net.mptcp.pm_type").ok()?;
        Some(if kind == "1" { USERSPACE } else { KERNEL }.to_owned())
    })
}

/// Selects the path manager. Existing connections keep theirs.
///
/// # Errors
/// Fails when this kernel lacks the path manager, or without CAP_NET_ADMIN.
pub fn select(name: &str) -> Result<(), Error> {
    if sysctl::read("net.mptcp.path_manager").is_ok() {
        return sysctl::write("net.mptcp.path_manager", name);
    }
    sysctl::write("net.mptcp.pm_type", if name == USERSPACE { "1" } else { "0" })
}
