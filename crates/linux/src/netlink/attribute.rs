//! Netlink attributes: length, type, value, padded to 4 bytes (netlink(7), `struct nlattr`).

use super::{Malformed, read_array};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length of an attribute header: length and type.
pub(super) const HEADER: usize = 4;
/// NLA_F_NESTED: the value consists of attributes.
pub(super) const NESTED: u16 = 0x8000;
/// NLA_TYPE_MASK: the type without the flags NLA_F_NESTED and NLA_F_NET_BYTEORDER.
const TYPE_MASK: u16 = 0x3fff;

/// Iterator over consecutive attributes. Yields one `Err` for malformed input, then ends.
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Iterates over the attributes in `bytes`.
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
        let (Some(length), Some(kind)) = (read_array(bytes, 0), read_array(bytes, 2)) else {
            return Some(Err(Malformed("truncated attribute header")));
        };
        let length = u16::from_ne_bytes(length) as usize;
        if length < HEADER {
            return Some(Err(Malformed("attribute shorter than its header")));
        }
        let Some(value) = bytes.get(HEADER..length) else {
            return Some(Err(Malformed("attribute longer than its container")));
        };
        self.bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(Ok(Attribute { kind: u16::from_ne_bytes(kind) & TYPE_MASK, value }))
    }
}

/// A netlink attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Type, without flags.
    pub kind: u16,
    /// Value, without padding.
    pub value: &'a [u8],
}

impl<'a> Attribute<'a> {
    fn exact<const N: usize>(&self) -> Result<[u8; N], Malformed> {
        self.value.try_into().map_err(|_| Malformed("attribute length does not fit its type"))
    }

    /// Value as `u8`.
    pub fn u8(&self) -> Result<u8, Malformed> {
        self.exact().map(u8::from_ne_bytes)
    }

    /// Value as `u16`.
    pub fn u16(&self) -> Result<u16, Malformed> {
        self.exact().map(u16::from_ne_bytes)
    }

    /// Value as `u16` in network byte order, used for ports.
    pub fn be16(&self) -> Result<u16, Malformed> {
        self.exact().map(u16::from_be_bytes)
    }

    /// Value as `u32`.
    pub fn u32(&self) -> Result<u32, Malformed> {
        self.exact().map(u32::from_ne_bytes)
    }

    /// Value as `i32`.
    pub fn i32(&self) -> Result<i32, Malformed> {
        self.exact().map(i32::from_ne_bytes)
    }

    /// Value as `u64`.
    pub fn u64(&self) -> Result<u64, Malformed> {
        self.exact().map(u64::from_ne_bytes)
    }

    /// Value as an IPv4 or IPv6 address, depending on its length.
    pub fn address(&self) -> Result<IpAddr, Malformed> {
        match self.value.len() {
            4 => Ok(IpAddr::V4(Ipv4Addr::from(self.exact::<4>()?))),
            16 => Ok(IpAddr::V6(Ipv6Addr::from(self.exact::<16>()?))),
            _ => Err(Malformed("address length is neither 4 nor 16")),
        }
    }

    /// Value as text, up to the terminating zero byte if there is one.
    pub fn text(&self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.until_zero()).map_err(|_| Malformed("text is not UTF-8"))
    }

    /// Value as [`Self::text`], with U+FFFD in place of bytes that are not UTF-8.
    pub fn text_lossy(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.until_zero())
    }

    fn until_zero(&self) -> &'a [u8] {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        &self.value[..end]
    }

    /// Nested attributes.
    pub fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.value)
    }
}
