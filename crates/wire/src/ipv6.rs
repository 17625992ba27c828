//! IPv6 (RFC 8200). Hop-by-hop and destination options are skipped; routing, fragment and security
//! headers are an error.

use crate::error::WireError;
use crate::ipv4::DEFAULT_HOP_LIMIT;
use crate::reader::{array_at, u16_at, u32_at};
use core::net::Ipv6Addr;

/// Length of a header without extension headers.
pub const HEADER_LEN: usize = 40;

const NEXT_HEADER: usize = 6;
const MAX_FLOW_LABEL: u32 = 0xf_ffff;

// Extension headers (RFC 8200, section 4; RFC 7045, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ENCAPSULATING_SECURITY: u8 = 50;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// An IPv6 packet, decoded on access.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    bytes: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Wraps `bytes`, which start with an IPv6 header. Bytes after the end of the packet are
    /// ignored.
    ///
    /// # Errors
    /// If the version is not 6 or the packet is truncated.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let available = bytes.len();
        if available < HEADER_LEN {
            let what = "IPv6 header";
            return Err(WireError::Truncated { what, offset: 0, needed: HEADER_LEN, available });
        }
        let version = bytes[0] >> 4;
        if version != 6 {
            let (what, found) = ("IP version", u64::from(version));
            return Err(WireError::Value { what, offset: 0, found, expected: "6" });
        }
        let needed = HEADER_LEN + usize::from(u16_at(bytes, 4));
        let Some(bytes) = bytes.get(..needed) else {
            return Err(WireError::Truncated { what: "IPv6 packet", offset: 0, needed, available });
        };
        Ok(Self { bytes })
    }
    /// DSCP (upper six bits) and ECN.
    pub fn traffic_class(&self) -> u8 {
        (u16_at(self.bytes, 0) >> 4) as u8
    }
    /// Flow label, 20 bits.
    pub fn flow_label(&self) -> u32 {
        u32_at(self.bytes, 0) & MAX_FLOW_LABEL
    }
    /// Number of the next header: an extension header, or the protocol of the payload.
    pub fn next_header(&self) -> u8 {
        self.bytes[NEXT_HEADER]
    }
    /// Hop limit.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[7]
    }
    /// Source address.
    pub fn source(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 8).into()
    }
    /// Destination address.
    pub fn destination(&self) -> Ipv6Addr {
        array_at::<16>(self.bytes, 24).into()
    }
    /// Payload, including extension headers.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[HEADER_LEN..]
    }
    /// Protocol number and payload after the extension headers.
    ///
    /// # Errors
    /// If an extension header is truncated or unsupported.
    pub fn upper_layer(&self) -> Result<(u8, &'a [u8]), WireError> {
        let (mut protocol, mut number_at, mut at) = (self.next_header(), NEXT_HEADER, HEADER_LEN);
        loop {
            let rest = &self.bytes[at..];
            match protocol {
                HOP_BY_HOP | DESTINATION_OPTIONS => {
                    let needed = rest.get(1).map_or(8, |units| 8 + usize::from(*units) * 8);
                    if rest.len() < needed {
                        let (what, available) = ("IPv6 extension header", rest.len());
                        return Err(WireError::Truncated { what, offset: at, needed, available });
                    }
                    protocol = rest[0];
                    number_at = at;
                    at += needed;
                }
                ROUTING
                | FRAGMENT
                | ENCAPSULATING_SECURITY
                | AUTHENTICATION
                | MOBILITY
                | HOST_IDENTITY
                | SHIM6 => {
                    return Err(WireError::Value {
                        what: "IPv6 next header",
                        offset: number_at,
                        found: u64::from(protocol),
                        expected: "no extension but hop-by-hop (0) and destination options (60)",
                    });
                }
                _ => return Ok((protocol, rest)),
            }
        }
    }
}

/// Decoded IPv6 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// Protocol number of the payload, after any extension headers.
    pub protocol: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// DSCP (upper six bits) and ECN.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Length of the payload after any extension headers, in bytes.
    pub payload_len: usize,
}

impl Repr {
    /// Header with the defaults of a host: hop limit 64, no flow label.
    pub fn new(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8, payload_len: usize) -> Self {
        Self {
            source,
            destination,
            protocol,
            hop_limit: DEFAULT_HOP_LIMIT,
            traffic_class: 0,
            flow_label: 0,
            payload_len,
        }
    }
    /// Decodes a header and skips extension headers.
    ///
    /// # Errors
    /// As [`Packet::upper_layer`].
    pub fn parse(packet: &Packet<'_>) -> Result<Self, WireError> {
        let (protocol, payload) = packet.upper_layer()?;
        Ok(Self {
            source: packet.source(),
            destination: packet.destination(),
            protocol,
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
            payload_len: payload.len(),
        })
    }
    /// Appends the header, 40 bytes, without extension headers.
    ///
    /// # Errors
    /// If the payload exceeds 65,535 bytes or the flow label 20 bits.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let max = usize::from(u16::MAX);
        if self.payload_len > max {
            return Err(WireError::TooLong { what: "IPv6 payload", len: self.payload_len, max });
        }
        if self.flow_label > MAX_FLOW_LABEL {
            return Err(WireError::Unwritable { what: "IPv6 flow label", expected: "20 bits" });
        }
        out.extend((6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label).to_be_bytes());
        out.extend((self.payload_len as u16).to_be_bytes());
        out.extend([self.protocol, self.hop_limit]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        Ok(())
    }
}
