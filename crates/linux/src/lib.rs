//! Interface to the Linux kernel; the only crate of the workspace with `unsafe` code.
//!
//! [`namespace`], [`program`] and [`tun`] build emulated networks. [`route`], [`pm`] and [`diag`]
//! speak [`netlink`]. [`socket`] opens MPTCP and TCP sockets and reads their statistics. [`faults`]
//! lets system calls of a program under test fail.
//!
//! [`Error`] reports a missing privilege, device or kernel feature together with a remedy.

mod error;
mod option;
mod seccomp;

pub mod clock;
pub mod diag;
pub mod faults;
pub mod kernel_log;
pub mod mib;
pub mod namespace;
pub mod netlink;
pub mod nft;
pub mod pid_file;
pub mod pm;
pub mod process;
pub mod program;
pub mod route;
pub mod signal;
pub mod socket;
pub mod sysctl;
pub mod tun;
pub mod unix_socket;

pub use error::Error;
