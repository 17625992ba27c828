//! Attributes: a length, a type, a value, padded to four bytes (netlink(7), `struct nlattr`).

use super::{Malformed, fixed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length and type.
pub(super) const HEADER: usize = 4;
/// Set in the type where the value is attributes again.
pub(super) const NESTED: u16 = 0x8000;
/// What is left of the type without its two flags (nested, network byte order).
const TYPE_MASK: u16 = 0x3fff;

/// Attributes that lie one after another. The iterator gives `Err` once where they are malformed, and
/// ends there.
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Those in `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() {
            return None;
        }
        let (Some(length), Some(kind)) = (fixed(bytes, 0), fixed(bytes, 2)) else {
            return Some(Err(Malformed("an attribute's header is cut off")));
        };
        let length = u16::from_ne_bytes(length) as usize;
        if length < HEADER {
            return Some(Err(Malformed("an attribute is shorter than its header")));
        }
        let Some(value) = bytes.get(HEADER..length) else {
            return Some(Err(Malformed("an attribute is longer than what holds it")));
        };
        self.bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Attribute { kind: u16::from_ne_bytes(kind) & TYPE_MASK, value }))
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type, without flags.
    pub kind: u16,
    /// Its value, without padding.
    pub value: &'a [u8],
}

impl<'a> Attribute<'a> {
    fn exact<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        self.value.try_into().map_err(|_| Malformed("an attribute's length is not that of its type"))
    }

    /// A number of one byte.
    pub fn u8(&self) -> Result<u8, Malformed> {
        self.exact().map(u8::from_ne_bytes)
    }

    /// A number of two bytes.
    pub fn u16(&self) -> Result<u16, Malformed> {
        self.exact().map(u16::from_ne_bytes)
    }

    /// A number of two bytes in network byte order, as ports are.
    pub fn be16(&self) -> Result<u16, Malformed> {
        self.exact().map(u16::from_be_bytes)
    }

    /// A number of four bytes.
    pub fn u32(&self) -> Result<u32, Malformed> {
        self.exact().map(u32::from_ne_bytes)
    }

    /// A signed number of four bytes.
    pub fn i32(&self) -> Result<i32, Malformed> {
        self.exact().map(i32::from_ne_bytes)
    }

    /// A number of eight bytes.
    pub fn u64(&self) -> Result<u64, Malformed> {
        self.exact().map(u64::from_ne_bytes)
    }

    /// An IPv4 or IPv6 address, which the length tells apart.
    pub fn address(&self) -> Result<IpAddr, Malformed> {
        match self.value.len() {
            4 => Ok(IpAddr::V4(Ipv4Addr::from(self.exact::<4>()?))),
            16 => Ok(IpAddr::V6(Ipv6Addr::from(self.exact::<16>()?))),
            _ => Err(Malformed("an address is neither 4 nor 16 bytes long")),
        }
    }

    /// Text, up to its zero byte where there is one.
    pub fn text(&self) -> Result<&'a str, Malformed> {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        std::str::from_utf8(&self.value[..end]).map_err(|_| Malformed("a name is not UTF-8"))
    }

    /// The attributes in it.
    pub fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.value)
    }
}
