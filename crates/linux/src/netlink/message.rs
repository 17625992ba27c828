//! Messages: a header, then what its type says (netlink(7)).

use super::attribute::{HEADER as ATTRIBUTE_HEADER, NESTED};
use super::{Attributes, Malformed, fixed};
use std::net::IpAddr;

/// Types and flags of messages that all families share (`<linux/netlink.h>`).
pub mod kind {
    /// Nothing: to be passed over.
    pub const NOOP: u16 = 1;
    /// An acknowledgement, or why there is none.
    pub const ERROR: u16 = 2;
    /// The end of a dump.
    pub const DONE: u16 = 3;
    /// Set in every request.
    pub const REQUEST: u16 = 0x01;
    /// In an answer: more of it follows, up to [`DONE`].
    pub const MULTI: u16 = 0x02;
    /// Asks for an acknowledgement.
    pub const ACK: u16 = 0x04;
    /// In an answer: what it lists changed meanwhile.
    pub const DUMP_INTERRUPTED: u16 = 0x10;
    /// Asks for a list of all.
    pub const DUMP: u16 = 0x300;
    /// Replaces what exists.
    pub const REPLACE: u16 = 0x100;
    /// Refuses where it exists.
    pub const EXCLUSIVE: u16 = 0x200;
    /// Creates where it does not exist.
    pub const CREATE: u16 = 0x400;
    /// In an acknowledgement: the request is not repeated in it.
    pub const CAPPED: u16 = 0x100;
    /// In an acknowledgement: attributes follow.
    pub const ACK_ATTRIBUTES: u16 = 0x200;
}

/// What every message begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the message, with this header, without padding.
    pub length: u32,
    /// What it is.
    pub kind: u16,
    /// See [`kind`].
    pub flags: u16,
    /// Of the request, repeated in its answers; 0 in what nobody asked for.
    pub sequence: u32,
    /// The socket that asked.
    pub port: u32,
}

impl Header {
    /// Its length in bytes.
    pub const LENGTH: usize = 16;

    fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            length: u32::from_ne_bytes(fixed(bytes, 0)?),
            kind: u16::from_ne_bytes(fixed(bytes, 4)?),
            flags: u16::from_ne_bytes(fixed(bytes, 6)?),
            sequence: u32::from_ne_bytes(fixed(bytes, 8)?),
            port: u32::from_ne_bytes(fixed(bytes, 12)?),
        })
    }
}

/// A message where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its header.
    pub header: Header,
    /// What follows the header.
    pub payload: &'a [u8],
}

/// The messages of a datagram. The iterator gives `Err` once where they are malformed, and ends there.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    bytes: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Those in `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() {
            return None;
        }
        let Some(header) = Header::parse(bytes) else {
            return Some(Err(Malformed("a message's header is cut off")));
        };
        let length = header.length as usize;
        if length < Header::LENGTH {
            return Some(Err(Malformed("a message is shorter than its header")));
        }
        let Some(payload) = bytes.get(Header::LENGTH..length) else {
            return Some(Err(Malformed("a message is longer than its datagram")));
        };
        self.bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Message { header, payload }))
    }
}

/// An acknowledgement, or why there is none: of [`kind::ERROR`] and [`kind::DONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// The error's number, positive; 0 where all is well.
    pub errno: i32,
    /// The kernel's own words, or empty.
    pub message: &'a str,
    /// The type of the attribute that is missing, where that is the reason.
    pub missing: Option<u32>,
}

impl<'a> Ack<'a> {
    /// Reads it from a message of type `ERROR` or `DONE`.
    ///
    /// # Errors
    /// Where it is cut off. What follows the number is talk, and passed over where malformed.
    pub fn parse(message: &Message<'a>) -> Result<Self, Malformed> {
        const MESSAGE: u16 = 1;
        const MISSING: u16 = 5;
        let payload = message.payload;
        let done = message.header.kind == kind::DONE;
        let errno = match fixed(payload, 0) {
            Some(number) => i32::from_ne_bytes(number).saturating_neg(),
            None if done => 0,
            None => return Err(Malformed("an acknowledgement is cut off")),
        };
        let mut ack = Self { errno, message: "", missing: None };
        if message.header.flags & kind::ACK_ATTRIBUTES == 0 {
            return Ok(ack);
        }
        let mut at = 4;
        if !done {
            let request = payload.get(4..).and_then(Header::parse);
            let repeated = match request {
                Some(request) if message.header.flags & kind::CAPPED == 0 => request.length as usize,
                _ => Header::LENGTH,
            };
            at += repeated.checked_next_multiple_of(4).unwrap_or(usize::MAX - 4);
        }
        for attribute in Attributes::new(payload.get(at..).unwrap_or_default()).map_while(Result::ok) {
            match attribute.kind {
                MESSAGE => ack.message = attribute.text().unwrap_or_default(),
                MISSING => ack.missing = attribute.u32().ok(),
                _ => {}
            }
        }
        Ok(ack)
    }
}

/// What follows the header in a message of generic netlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenericHeader {
    /// The family's command, or its event.
    pub command: u8,
    /// Of the family's interface.
    pub version: u8,
}

impl GenericHeader {
    /// Its length in bytes.
    pub const LENGTH: usize = 4;

    /// Splits a payload into this and the attributes behind it.
    ///
    /// # Errors
    /// Where it is cut off.
    pub fn parse(payload: &[u8]) -> Result<(Self, Attributes<'_>), Malformed> {
        match payload {
            [command, version, _, _, rest @ ..] => {
                Ok((Self { command: *command, version: *version }, Attributes::new(rest)))
            }
            _ => Err(Malformed("a generic header is cut off")),
        }
    }
}

/// A message to send: built in a buffer that is used again.
#[derive(Debug, Clone, Default)]
pub struct Request {
    bytes: Vec<u8>,
    too_long: bool,
}

impl Request {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins anew: a message of type `kind` with `flags` ([`kind::REQUEST`] is added).
    pub fn start(&mut self, kind: u16, flags: u16) -> &mut Self {
        self.bytes.clear();
        self.too_long = false;
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&(flags | kind::REQUEST).to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
        self
    }

    /// Begins anew: a command of generic netlink.
    pub fn start_generic(&mut self, family: u16, flags: u16, generic: GenericHeader) -> &mut Self {
        self.start(family, flags).raw(&[generic.command, generic.version, 0, 0])
    }

    /// Adds a family's own header, padded to four bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad()
    }

    /// Adds an attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let Ok(length) = u16::try_from(ATTRIBUTE_HEADER + value.len()) else {
            self.too_long = true;
            return self;
        };
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad()
    }

    /// Adds a number of one byte.
    pub fn u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.attribute(kind, &[value])
    }

    /// Adds a number of two bytes.
    pub fn u16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds a number of two bytes in network byte order, as ports are.
    pub fn be16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// Adds a number of four bytes.
    pub fn u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Adds text with a zero byte behind it.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = Vec::with_capacity(value.len() + 1);
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Adds an address of 4 or 16 bytes.
    pub fn address(&mut self, kind: u16, value: IpAddr) -> &mut Self {
        match value {
            IpAddr::V4(address) => self.attribute(kind, &address.octets()),
            IpAddr::V6(address) => self.attribute(kind, &address.octets()),
        }
    }

    /// Adds an attribute of what `fill` adds.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&(kind | NESTED).to_ne_bytes());
        fill(self);
        match u16::try_from(self.bytes.len() - at) {
            Ok(length) => self.bytes[at..at + 2].copy_from_slice(&length.to_ne_bytes()),
            Err(_) => self.too_long = true,
        }
        self
    }

    /// The whole message, as it goes to the kernel.
    ///
    /// # Errors
    /// Where an attribute is longer than 65,535 bytes, or nothing was begun.
    pub fn finish(&mut self, sequence: u32) -> Result<&[u8], Malformed> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        if self.too_long || self.bytes.len() < Header::LENGTH {
            return Err(Malformed("an attribute is too long, or there is no message"));
        }
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        Ok(&self.bytes)
    }

    fn pad(&mut self) -> &mut Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }
}
