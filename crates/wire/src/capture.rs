//! Packets for a capture of what never was bytes: headers in full, payload made up.

use crate::{Payload, Segment, Span, WireError, ip, tcp};
use core::net::IpAddr;

/// Bytes of one line of filler.
const LINE: usize = 16;

/// The IP packet that `segment` would be on a wire, cut to its first `snaplen` bytes. Checksums are
/// those of the whole packet; its payload is [`filler`].
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
    ip::emit_header(source, destination, ip::TCP, segment.wire_len(), &mut out)?;
    let mut payload = Vec::new();
    filler(segment.payload, &mut payload);
    tcp::emit(segment, source, destination, &payload, &mut out)?;
    out.truncate(snaplen);
    Ok(out)
}

/// Bytes of the whole packet that [`packet`] renders, before it is cut.
pub fn packet_len(destination: IpAddr, segment: &Segment<Span>) -> usize {
    ip::header_len(destination) + segment.wire_len()
}

/// Appends the bytes that stand for a piece of a stream. They depend on the offset alone: lines of
/// 16 bytes, each its own offset in 15 hexadecimal digits and a line feed, so that a stream followed
/// in a capture shows where each of its bytes belongs.
pub fn filler(span: Span, out: &mut Vec<u8>) {
    let (mut at, mut left) = (span.offset, span.len());
    out.reserve(left);
    while left > 0 {
        let within = (at % LINE as u64) as usize;
        let line = line(at - within as u64);
        let take = left.min(LINE - within);
        out.extend(&line[within..within + take]);
        at = at.wrapping_add(take as u64);
        left -= take;
    }
}

fn line(offset: u64) -> [u8; LINE] {
    let mut line = [b'\n'; LINE];
    let mut rest = offset;
    for digit in line[..LINE - 1].iter_mut().rev() {
        *digit = b"0123456789abcdef"[(rest & 0xf) as usize];
        rest >>= 4;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn filled(offset: u64, len: u32) -> Vec<u8> {
        let mut out = Vec::new();
        filler(Span { offset, len }, &mut out);
        out
    }

    #[test]
    fn filler_says_where_it_belongs() {
        assert_eq!(filled(0, 20), b"000000000000000\n0000");
        assert_eq!(filled(0x12_340e, 4), b"0\n00");
        assert_eq!(filled(0x12_3400, 16), b"000000000123400\n");
    }

    #[test]
    fn filler_of_a_piece_is_a_piece_of_the_filler() {
        let whole = filled(0, 300);
        for from in 0..=64 {
            for to in from..=100 {
                assert_eq!(filled(from as u64, (to - from) as u32), &whole[from..to]);
            }
        }
    }

    #[test]
    fn a_packet_is_cut_at_snaplen_and_still_carries_the_whole_ones_checksum() {
        let mut segment = Segment::new(1, 2, 3, 4, Flags::ACK, 5);
        segment.payload = Span { offset: 77, len: 1000 };
        for (source, destination) in [
            (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv4Addr::BROADCAST)),
            (IpAddr::from(Ipv6Addr::LOCALHOST), IpAddr::from(Ipv6Addr::UNSPECIFIED)),
        ] {
            let whole = packet(source, destination, &segment, usize::MAX).unwrap();
            assert_eq!(whole.len(), packet_len(destination, &segment));
            let datagram = ip::parse(&whole).unwrap();
            assert_eq!((datagram.source, datagram.destination), (source, destination));
            let read = tcp::Packet::new(datagram.payload).unwrap();
            read.verify_checksum(source, destination).unwrap();
            assert_eq!(read.payload(), filled(77, 1000));
            assert_eq!(packet(source, destination, &segment, 96).unwrap(), whole[..96]);
        }
    }

    #[test]
    fn addresses_of_two_families_are_an_error() {
        let segment = Segment::new(1, 2, 3, 4, Flags::ACK, 5);
        let mixed = packet(Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), &segment, 96);
        assert!(matches!(mixed, Err(WireError::Unwritable { .. })));
    }
}
