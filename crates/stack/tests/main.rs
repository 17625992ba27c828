//! Stacks in virtual time, and against the Linux kernel.

mod kernel;
mod limits;
mod network;
mod transfer;
