//! IP packets of either version, as read from and written to a TUN device.

use crate::error::WireError;
use crate::{ipv4, ipv6};
use core::net::IpAddr;

pub use crate::ipv4::DEFAULT_HOP_LIMIT;

/// Protocol number of TCP.
pub const TCP: u8 = 6;

/// ECN field of the IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct = 0,
    /// ECN-capable transport, codepoint ECT(1) (RFC 9331: scalable congestion control).
    Ect1 = 1,
    /// ECN-capable transport, codepoint ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Decodes the lower two bits of a traffic class.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
    /// Lower two bits of the traffic class.
    pub const fn bits(self) -> u8 {
        self as u8
    }
    /// True if a queue may mark the packet with CE instead of dropping it.
    pub const fn can_be_marked(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// The fields of an IP packet of either version that the transport layer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol number of the payload, such as [`TCP`].
    pub protocol: u8,
    /// ECN field.
    pub ecn: Ecn,
    /// Payload, without bytes after the end of the packet.
    pub payload: &'a [u8],
}

/// Decodes an IP packet of either version.
///
/// # Errors
/// As [`ipv4::Repr::parse`] and [`ipv6::Repr::parse`], and if the version is neither 4 nor 6.
pub fn parse(bytes: &[u8]) -> Result<Datagram<'_>, WireError> {
    let Some(first) = bytes.first() else {
        return Err(WireError::Truncated { what: "IP header", offset: 0, needed: 1, available: 0 });
    };
    match first >> 4 {
        4 => {
            let packet = ipv4::Packet::new(bytes)?;
            let repr = ipv4::Repr::parse(&packet)?;
            Ok(Datagram {
                source: repr.source.into(),
                destination: repr.destination.into(),
                protocol: repr.protocol,
                ecn: Ecn::from_bits(repr.traffic_class),
                payload: packet.payload(),
            })
        }
        6 => {
            let packet = ipv6::Packet::new(bytes)?;
            let repr = ipv6::Repr::parse(&packet)?;
            Ok(Datagram {
                source: repr.source.into(),
                destination: repr.destination.into(),
                protocol: repr.protocol,
                ecn: Ecn::from_bits(repr.traffic_class),
                payload: packet.upper_layer()?.1,
            })
        }
        version => Err(WireError::Value {
            what: "IP version",
            offset: 0,
            found: u64::from(version),
            expected: "4 or 6",
        }),
    }
}

/// Length of the header that [`emit_header`] writes for `destination`.
pub fn header_len(destination: IpAddr) -> usize {
    if destination.is_ipv4() { ipv4::HEADER_LEN } else { ipv6::HEADER_LEN }
}

/// Appends the header of a packet with `payload_len` bytes of `protocol`, from the first to the
/// second address.
///
/// # Errors
/// If the payload is too long, or the addresses are of different families.
pub fn emit_header(
    addresses: (IpAddr, IpAddr),
    protocol: u8,
    ecn: Ecn,
    payload_len: usize,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    match addresses {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let header = ipv4::Repr::new(source, destination, protocol, payload_len);
            ipv4::Repr { traffic_class: ecn.bits(), ..header }.emit(out)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let header = ipv6::Repr::new(source, destination, protocol, payload_len);
            ipv6::Repr { traffic_class: ecn.bits(), ..header }.emit(out)
        }
        _ => Err(WireError::Unwritable { what: "IP header", expected: "two addresses of the same family" }),
    }
}
