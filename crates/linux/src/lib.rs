//! Interface to the Linux kernel; the only crate of the workspace with `unsafe` code.
//!
//! | Module | Contents |
//! |---|---|
//! | [`clock`] | monotonic time since a start instant |
//! | [`namespace`] | anonymous network namespaces |
//! | [`netlink`] | netlink messages, attributes and sockets |
//! | [`route`] | links, addresses and routes (rtnetlink) |
//! | [`pm`] | MPTCP path managers: endpoints, limits, priorities, events |
//! | [`socket`] | MPTCP and TCP sockets, `MPTCP_INFO` and `TCP_INFO` |
//! | [`diag`] | all TCP and MPTCP connections of a namespace (sock_diag) |
//! | [`process`] | capabilities, limits and identity of this process |
//! | [`program`] | a program in a namespace, optionally with MPTCP sockets |
//! | [`signal`] | signals read from a descriptor (signalfd) |
//! | [`mib`] | TCP and MPTCP counters |
//! | [`tun`] | TUN devices |
//! | [`sysctl`] | settings under `/proc/sys/net` |
//!
//! [`Error`] reports a missing privilege, device or kernel feature together with a remedy.

mod error;
mod option;
mod seccomp;

pub mod clock;
pub mod diag;
pub mod mib;
pub mod namespace;
pub mod netlink;
pub mod pm;
pub mod process;
pub mod program;
pub mod route;
pub mod signal;
pub mod socket;
pub mod sysctl;
pub mod tun;

pub use error::Error;
