//! Netlink: the kernel's message interface for network configuration (netlink(7)).
//!
//! - `attribute`: type-length-value attributes
//! - `message`: headers, messages of a datagram, acknowledgements, request builder
//! - `generic`: lookup of generic netlink families
//! - `socket`: requests, dumps and multicast events
//!
//! Parsers do no I/O and accept any bytes: they return a value or [`Malformed`]. Numbers are in
//! native byte order, addresses and ports in network byte order.

mod attribute;
mod generic;
mod message;
mod socket;

pub use attribute::{Attribute, Attributes};
pub use generic::GenericFamily;
pub use message::{Ack, GenericHeader, Header, Message, Messages, Request, kind};
pub use socket::{Dump, Family, Received, Socket};

use crate::Error;
use std::fmt;

/// Malformed input, with a description of the defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

impl Malformed {
    /// Error of a request whose response is malformed.
    pub fn in_reply_to(self, doing: impl fmt::Display) -> Error {
        Error::Malformed { doing: doing.to_string(), detail: self.0.to_owned() }
    }
}

/// The `N` bytes at offset `at`; `None` beyond the end.
pub(crate) fn read_array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests;
