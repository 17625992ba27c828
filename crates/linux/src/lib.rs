//! What Tandem asks of Linux, and the only crate that makes system calls.
//!
//! | Module | What it is |
//! |---|---|
//! | [`clock`] | time since a start, as the sans-IO machines want it |
//! | [`namespace`] | network namespaces that vanish with the process |
//! | [`netlink`] | messages and attributes, and the socket that carries them |
//! | [`route`] | links, addresses and routes: read, changed, watched |
//! | [`pm`] | the path managers of MPTCP: endpoints, limits, priorities, events |
//! | [`socket`] | MPTCP and TCP sockets, and what the kernel knows of their connections |
//! | [`diag`] | every connection and subflow of a namespace, whichever process has it |
//! | [`process`] | what this process may do, and where it is |
//! | [`program`] | any program in a namespace, with all that it starts; its sockets made MPTCP |
//! | [`signal`] | signals, read like a file |
//! | [`mib`] | counters of TCP and MPTCP |
//! | [`tun`] | TUN devices: packets in, packets out |
//! | [`sysctl`] | settings under `/proc/sys/net`, put back as they were |
//!
//! Everything that can fail says in its [`Error`] what the system lacks and how to get it.

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
