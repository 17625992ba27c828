//! The agent on a real kernel: these tests need root.

mod faults;
pub(crate) mod gateway;
mod lifecycle;
mod players;
mod policies;
pub(crate) mod testnet;
