//! Captured packets of simulated segments: real headers, and filler as payload.

pub use crate::filler::filler;

use crate::error::WireError;
use crate::segment::Segment;
use crate::span::Span;
use crate::{ip, tcp};
use core::net::IpAddr;

/// Encodes `segment` as an IP packet with [`filler`] as payload, truncated to `snaplen` bytes.
/// Checksums cover the whole packet.
///
/// # Errors
/// As [`tcp::emit`] and [`ip::emit_header`].
pub fn packet(
    source: IpAddr,
    destination: IpAddr,
    segment: &Segment<Span>,
    snaplen: usize,
) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::with_capacity(packet_len(destination, segment));
    ip::emit_header((source, destination), ip::TCP, segment.ecn, segment.wire_len(), &mut out)?;
    let mut payload = Vec::new();
    filler(segment.payload, &mut payload);
    tcp::emit(segment, source, destination, &payload, &mut out)?;
    out.truncate(snaplen);
    Ok(out)
}

/// Length of the packet that [`packet`] encodes, before truncation.
pub fn packet_len(destination: IpAddr, segment: &Segment<Span>) -> usize {
    ip::header_len(destination) + segment.wire_len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ecn, Flags};
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn filled(offset: u64, len: u32) -> Vec<u8> {
        let mut out = Vec::new();
        filler(Span::new(offset, len), &mut out);
        out
    }

    #[test]
    fn truncated_packet_has_the_checksum_of_the_whole_packet() {
        let mut segment = Segment::new((1, 2), 3, 4, Flags::ACK, 5);
        segment.payload = Span::new(77, 1000);
        segment.ecn = Ecn::Ce;
        for (source, destination) in [
            (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv4Addr::BROADCAST)),
            (IpAddr::from(Ipv6Addr::LOCALHOST), IpAddr::from(Ipv6Addr::UNSPECIFIED)),
        ] {
            let whole = packet(source, destination, &segment, usize::MAX).unwrap();
            assert_eq!(whole.len(), packet_len(destination, &segment));
            let datagram = ip::parse(&whole).unwrap();
            assert_eq!((datagram.source, datagram.destination), (source, destination));
            assert_eq!(datagram.ecn, Ecn::Ce);
            let read = tcp::Packet::new(datagram.payload).unwrap();
            read.verify_checksum(source, destination).unwrap();
            assert_eq!(read.payload(), filled(77, 1000));
            assert_eq!(packet(source, destination, &segment, 96).unwrap(), whole[..96]);
        }
    }

    #[test]
    fn addresses_of_different_families_are_an_error() {
        let segment = Segment::new((1, 2), 3, 4, Flags::ACK, 5);
        let mixed = packet(Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), &segment, 96);
        assert!(matches!(mixed, Err(WireError::Unwritable { .. })));
    }
}
