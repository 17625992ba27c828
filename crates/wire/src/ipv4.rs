//! IPv4 (RFC 791). Options are skipped. Fragments are an error: they have no transport header.

use crate::checksum::checksum;
use crate::error::WireError;
use crate::reader::{array_at, u16_at};
use core::net::Ipv4Addr;

/// Length of a header without options.
pub const HEADER_LEN: usize = 20;
/// Default time to live of a host (RFC 1700).
pub const DEFAULT_HOP_LIMIT: u8 = 64;

const TOTAL_LEN: usize = 2;
const IDENTIFICATION: usize = 4;
const FRAGMENT: usize = 6;
const CHECKSUM: usize = 10;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// An IPv4 packet, decoded on access.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    header_len: usize,
}

impl<'a> Packet<'a> {
    /// Wraps `bytes`, which start with an IPv4 header. Bytes after the end of the packet are
    /// ignored.
    ///
    /// # Errors
    /// If the version is not 4, a length is invalid, or the packet is truncated.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        let available = bytes.len();
        if available < HEADER_LEN {
            let what = "IPv4 header";
            return Err(WireError::Truncated { what, offset: 0, needed: HEADER_LEN, available });
        }
        let version = bytes[0] >> 4;
        if version != 4 {
            let (what, found) = ("IP version", u64::from(version));
            return Err(WireError::Value { what, offset: 0, found, expected: "4" });
        }
        let header_len = usize::from(bytes[0] & 0x0f) * 4;
        if header_len < HEADER_LEN {
            let (what, expected) = ("IPv4 header", "20 to 60");
            return Err(WireError::Length { what, offset: 0, found: header_len, expected });
        }
        let total = usize::from(u16_at(bytes, TOTAL_LEN));
        if total < header_len {
            let (what, expected) = ("IPv4 packet", "at least that of its header");
            return Err(WireError::Length { what, offset: TOTAL_LEN, found: total, expected });
        }
        let Some(bytes) = bytes.get(..total) else {
            return Err(WireError::Truncated { what: "IPv4 packet", offset: 0, needed: total, available });
        };
        Ok(Self { bytes, header_len })
    }
    /// Length of the header with its options: 20 to 60 bytes.
    pub fn header_len(&self) -> usize {
        self.header_len
    }
    /// Type of service: DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        self.bytes[1]
    }
    /// Identification.
    pub fn identification(&self) -> u16 {
        u16_at(self.bytes, IDENTIFICATION)
    }
    /// Flag DF: the packet must not be fragmented.
    pub fn dont_fragment(&self) -> bool {
        u16_at(self.bytes, FRAGMENT) & DONT_FRAGMENT != 0
    }
    /// True if the packet is a fragment.
    pub fn is_fragment(&self) -> bool {
        u16_at(self.bytes, FRAGMENT) & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0
    }
    /// Time to live, in hops.
    pub fn hop_limit(&self) -> u8 {
        self.bytes[8]
    }
    /// Protocol number of the payload.
    pub fn protocol(&self) -> u8 {
        self.bytes[9]
    }
    /// Header checksum field.
    pub fn checksum(&self) -> u16 {
        u16_at(self.bytes, CHECKSUM)
    }
    /// True if the header checksum is correct.
    pub fn checksum_ok(&self) -> bool {
        checksum(&self.bytes[..self.header_len]) == 0
    }
    /// Source address.
    pub fn source(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 12).into()
    }
    /// Destination address.
    pub fn destination(&self) -> Ipv4Addr {
        array_at::<4>(self.bytes, 16).into()
    }
    /// Payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header_len..]
    }
}

/// Decoded IPv4 header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Time to live, in hops.
    pub hop_limit: u8,
    /// DSCP (upper six bits) and ECN.
    pub traffic_class: u8,
    /// Identification; unused in a packet that is not fragmented (RFC 6864).
    pub identification: u16,
    /// Flag DF: the packet must not be fragmented.
    pub dont_fragment: bool,
    /// Length of the payload, in bytes.
    pub payload_len: usize,
}

impl Repr {
    /// Header with the defaults of a host: hop limit 64, flag DF.
    pub fn new(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload_len: usize) -> Self {
        Self {
            source,
            destination,
            protocol,
            hop_limit: DEFAULT_HOP_LIMIT,
            traffic_class: 0,
            identification: 0,
            dont_fragment: true,
            payload_len,
        }
    }
    /// Decodes a header.
    ///
    /// # Errors
    /// If the checksum is wrong or the packet is a fragment.
    pub fn parse(packet: &Packet<'_>) -> Result<Self, WireError> {
        if !packet.checksum_ok() {
            let (what, found) = ("IPv4 header checksum", packet.checksum());
            return Err(WireError::Checksum { what, offset: CHECKSUM, found });
        }
        if packet.is_fragment() {
            return Err(WireError::Value {
                what: "IPv4 fragment field",
                offset: FRAGMENT,
                found: u64::from(u16_at(packet.bytes, FRAGMENT)),
                expected: "a whole packet: no offset, no more fragments",
            });
        }
        Ok(Self {
            source: packet.source(),
            destination: packet.destination(),
            protocol: packet.protocol(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            identification: packet.identification(),
            dont_fragment: packet.dont_fragment(),
            payload_len: packet.payload().len(),
        })
    }
    /// Appends the header, 20 bytes.
    ///
    /// # Errors
    /// If header and payload exceed 65,535 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let max = usize::from(u16::MAX) - HEADER_LEN;
        if self.payload_len > max {
            return Err(WireError::TooLong { what: "IPv4 payload", len: self.payload_len, max });
        }
        let start = out.len();
        out.extend([0x45, self.traffic_class]);
        out.extend(((HEADER_LEN + self.payload_len) as u16).to_be_bytes());
        out.extend(self.identification.to_be_bytes());
        out.extend((if self.dont_fragment { DONT_FRAGMENT } else { 0 }).to_be_bytes());
        out.extend([self.hop_limit, self.protocol, 0, 0]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        let checksum = checksum(&out[start..]);
        out[start + CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
        Ok(())
    }
}
