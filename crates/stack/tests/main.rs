//! Stacks in virtual time, and against the Linux kernel.

mod host;
mod kernel;
mod limits;
mod network;
mod transfer;
