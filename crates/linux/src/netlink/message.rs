//! Netlink messages (netlink(7)).

use super::attribute::{HEADER as ATTRIBUTE_HEADER, NESTED};
use super::{Attributes, Malformed, read_array};
use std::net::IpAddr;

/// Message types and flags common to all families (`<linux/netlink.h>`).
pub mod kind {
    /// NLMSG_NOOP: ignored.
    pub const NOOP: u16 = 1;
    /// NLMSG_ERROR: acknowledgement or error.
    pub const ERROR: u16 = 2;
    /// NLMSG_DONE: end of a dump.
    pub const DONE: u16 = 3;
    /// NLM_F_REQUEST, set in every request.
    pub const REQUEST: u16 = 0x01;
    /// NLM_F_MULTI in a response: more messages follow, up to [`DONE`].
    pub const MULTI: u16 = 0x02;
    /// NLM_F_ACK: requests an acknowledgement.
    pub const ACK: u16 = 0x04;
    /// NLM_F_DUMP_INTR in a response: the listed objects changed during the dump.
    pub const DUMP_INTERRUPTED: u16 = 0x10;
    /// NLM_F_DUMP: requests all objects.
    pub const DUMP: u16 = 0x300;
    /// NLM_F_REPLACE: replaces an existing object.
    pub const REPLACE: u16 = 0x100;
    /// NLM_F_EXCL: fails when the object exists.
    pub const EXCLUSIVE: u16 = 0x200;
    /// NLM_F_CREATE: creates a missing object.
    pub const CREATE: u16 = 0x400;
    /// NLM_F_CAPPED in an acknowledgement: the request is not echoed.
    pub const CAPPED: u16 = 0x100;
    /// NLM_F_ACK_TLVS in an acknowledgement: attributes follow.
    pub const ACK_ATTRIBUTES: u16 = 0x200;
}

/// `struct nlmsghdr`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the message including this header, without padding.
    pub length: u32,
    /// Message type.
    pub kind: u16,
    /// Message flags, see [`kind`].
    pub flags: u16,
    /// Sequence number, copied from request to response; 0 in unsolicited messages.
    pub sequence: u32,
    /// Port ID of the requesting socket.
    pub port: u32,
}

impl Header {
    /// Length of the header in bytes.
    pub const LENGTH: usize = 16;

    fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            length: u32::from_ne_bytes(read_array(bytes, 0)?),
            kind: u16::from_ne_bytes(read_array(bytes, 4)?),
            flags: u16::from_ne_bytes(read_array(bytes, 6)?),
            sequence: u32::from_ne_bytes(read_array(bytes, 8)?),
            port: u32::from_ne_bytes(read_array(bytes, 12)?),
        })
    }
}

/// A message that borrows from its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Message header.
    pub header: Header,
    /// Bytes after the header.
    pub payload: &'a [u8],
}

/// Iterator over the messages of a datagram. Yields one `Err` for malformed input, then ends.
#[derive(Debug, Clone)]
pub struct Messages<'a> {
    bytes: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Iterates over the messages in `bytes`.
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
            return Some(Err(Malformed("truncated message header")));
        };
        let length = header.length as usize;
        if length < Header::LENGTH {
            return Some(Err(Malformed("message shorter than its header")));
        }
        let Some(payload) = bytes.get(Header::LENGTH..length) else {
            return Some(Err(Malformed("message longer than its datagram")));
        };
        self.bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Message { header, payload }))
    }
}

/// Acknowledgement or error, from [`kind::ERROR`] or [`kind::DONE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack<'a> {
    /// Positive error number; 0 for success.
    pub errno: i32,
    /// Message of the extended acknowledgement; may be empty.
    pub message: &'a str,
    /// Type of the attribute the kernel missed (NLMSGERR_ATTR_MISS_TYPE).
    pub missing_attribute: Option<u32>,
}

impl<'a> Ack<'a> {
    /// Parses a message of type `ERROR` or `DONE`.
    ///
    /// # Errors
    /// Fails when the error number is truncated. Malformed attributes after it are ignored.
    pub fn parse(message: &Message<'a>) -> Result<Self, Malformed> {
        const MESSAGE: u16 = 1;
        const MISSING: u16 = 5;
        let payload = message.payload;
        let done = message.header.kind == kind::DONE;
        let errno = match read_array(payload, 0) {
            Some(number) => i32::from_ne_bytes(number).saturating_neg(),
            None if done => 0,
            None => return Err(Malformed("truncated acknowledgement")),
        };
        let mut ack = Self { errno, message: "", missing_attribute: None };
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
                MISSING => ack.missing_attribute = attribute.u32().ok(),
                _ => {}
            }
        }
        Ok(ack)
    }
}

/// `struct genlmsghdr`, which follows the header of a generic netlink message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GenericHeader {
    /// Command or event number of the family.
    pub command: u8,
    /// Interface version of the family.
    pub version: u8,
}

impl GenericHeader {
    /// Length of the header in bytes.
    pub const LENGTH: usize = 4;

    /// Splits a payload into this header and the attributes behind it.
    ///
    /// # Errors
    /// Fails when the header is truncated.
    pub fn parse(payload: &[u8]) -> Result<(Self, Attributes<'_>), Malformed> {
        match payload {
            [command, version, _, _, rest @ ..] => {
                Ok((Self { command: *command, version: *version }, Attributes::new(rest)))
            }
            _ => Err(Malformed("truncated generic netlink header")),
        }
    }
}

/// Builder of a request; reuses its buffer.
#[derive(Debug, Clone, Default)]
pub struct Request {
    bytes: Vec<u8>,
    too_long: bool,
}

impl Request {
    /// Creates an empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a message of type `kind` and adds [`kind::REQUEST`] to `flags`. Discards the previous
    /// one.
    pub fn start(&mut self, kind: u16, flags: u16) -> &mut Self {
        self.bytes.clear();
        self.too_long = false;
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&(flags | kind::REQUEST).to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
        self
    }

    /// Starts a generic netlink command.
    pub fn start_generic(&mut self, family: u16, flags: u16, generic: GenericHeader) -> &mut Self {
        self.start(family, flags).raw(&[generic.command, generic.version, 0, 0])
    }

    /// Appends a family header, padded to 4 bytes.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.pad()
    }

    /// Appends an attribute.
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

    /// Appends a `u8`.
    pub fn u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.attribute(kind, &[value])
    }

    /// Appends a `u16`.
    pub fn u16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends a `u16` in network byte order, used for ports.
    pub fn be16(&mut self, kind: u16, value: u16) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    /// Appends a `u32`.
    pub fn u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_ne_bytes())
    }

    /// Appends zero-terminated text.
    pub fn text(&mut self, kind: u16, value: &str) -> &mut Self {
        let mut bytes = Vec::with_capacity(value.len() + 1);
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(0);
        self.attribute(kind, &bytes)
    }

    /// Appends an IPv4 or IPv6 address.
    pub fn address(&mut self, kind: u16, value: IpAddr) -> &mut Self {
        match value {
            IpAddr::V4(address) => self.attribute(kind, &address.octets()),
            IpAddr::V6(address) => self.attribute(kind, &address.octets()),
        }
    }

    /// Appends a nested attribute, filled by `fill`.
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

    /// Completes the message with its length and sequence number.
    ///
    /// # Errors
    /// Fails when an attribute exceeds 65,535 bytes, or no message was started.
    pub fn finish(&mut self, sequence: u32) -> Result<&[u8], Malformed> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        if self.too_long || self.bytes.len() < Header::LENGTH {
            return Err(Malformed("an attribute is too long, or no message was started"));
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
