//! Requirements on the system.

use crate::Error;
use linux::pm::path_manager;
use linux::{process, sysctl};

/// Checks kernel support and privileges.
pub(crate) fn check_requirements(dry_run: bool) -> Result<(), Error> {
    check_kernel()?;
    if dry_run { Ok(()) } else { check_privilege() }
}

fn lacks(what: &str, hint: &str) -> Result<(), Error> {
    Err(Error::System(linux::Error::Lacks { what: what.to_owned(), hint: hint.to_owned() }))
}

/// Checks that this network namespace has Multipath TCP.
pub(crate) fn check_kernel() -> Result<(), Error> {
    let Ok(enabled) = sysctl::read("net.mptcp.enabled") else {
        return lacks(
            "this kernel has no Multipath TCP",
            "use Linux 5.6 or later, built with CONFIG_MPTCP (not the out-of-tree MPTCP kernel)",
        );
    };
    if enabled != "1" {
        return lacks(
            "Multipath TCP is disabled in this network namespace",
            "enable it: sysctl net.mptcp.enabled=1",
        );
    }
    Ok(())
}

/// Checks the privilege to change the network.
pub(crate) fn check_privilege() -> Result<(), Error> {
    if !process::has_net_admin()? {
        return lacks(
            "the agent needs CAP_NET_ADMIN to change the network",
            "run it as root, or as a service (`tandem agent unit` prints one); `--dry-run` changes nothing",
        );
    }
    Ok(())
}

/// Fails when another program uses the userspace path manager.
pub(crate) fn check_path_manager() -> Result<(), Error> {
    if path_manager::current().as_deref() != Some(path_manager::USERSPACE) {
        return Ok(());
    }
    Err(Error::System(linux::Error::Lacks {
        what: "another program controls connections here (the path manager is `userspace`)".to_owned(),
        hint: "stop that program (mptcpd?), then: sysctl net.mptcp.path_manager=kernel".to_owned(),
    }))
}
