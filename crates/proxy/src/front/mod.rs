//! What clients speak: each front end reads bytes and says what is wanted, and does no I/O.

pub mod convert;
pub mod http;
pub mod socks5;
pub mod transparent;
