//! Client protocols: parsers and encoders without I/O.

pub mod convert;
pub mod http;
pub mod redirected;
pub mod socks5;
pub mod transparent;
