//! The agent on a real kernel: these tests need root.

mod faults;
mod gateway;
mod lifecycle;
mod players;
mod policies;
mod testnet;
