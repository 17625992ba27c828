//! Netlink, the way to ask the kernel about its network and to change it.
//!
//! | File | What it is |
//! |---|---|
//! | `attribute` | type-length-value attributes: read where they lie, and written |
//! | `message` | headers, messages in a datagram, acknowledgements, the generic header |
//! | `generic` | families that are called by name |
//! | `socket` | requests with their answers, dumps, and what the kernel tells unasked |
//!
//! The first two are pure, and so is whatever is called `parse`: any bytes give either a meaning or [`Malformed`]. Numbers are in the byte
//! order of the machine, as netlink wants them (netlink(7)), but for addresses and ports.

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

/// Bytes that do not mean what they should: says what is wrong with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

impl Malformed {
    /// The error of a request whose answer is this.
    pub fn answering(self, doing: impl fmt::Display) -> Error {
        Error::Malformed { doing: doing.to_string(), detail: self.0.to_owned() }
    }
}

/// The first `N` bytes from `at` on, where there are as many.
pub(crate) fn fixed<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests;
