//! Packets of the client: proper segments as bytes, and ones with a defect below the options.

use bytes::Bytes;
use std::net::Ipv4Addr;
use wire::{Flags, Segment, ip, tcp};

/// Address of the host under attack.
pub(crate) const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Address of all hostile peers, which differ by their ports.
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Address that hostile servers announce.
pub(crate) const ANNOUNCED: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 3);
/// Port of the server under attack.
pub(crate) const PORT: u16 = 5201;
/// Offset of the checksum in a TCP header, and length of a header without options.
const CHECKSUM: usize = 16;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;

/// The bytes of a segment to the host under attack.
pub(crate) fn encode(segment: &Segment<Bytes>) -> Vec<u8> {
    encode_from(PEER, segment)
}

/// The bytes of a segment from one of the peer's addresses.
pub(crate) fn encode_from(address: Ipv4Addr, segment: &Segment<Bytes>) -> Vec<u8> {
    let (mut packet, ends) = (Vec::new(), (address.into(), VICTIM.into()));
    ip::emit_header(ends, ip::TCP, segment.ecn, segment.wire_len(), &mut packet)
        .and_then(|()| tcp::emit(segment, ends.0, ends.1, &segment.payload, &mut packet))
        .expect("the peer's segments fit a packet");
    packet
}

/// Changes the first MPTCP option of an encoded segment by `change`, and corrects the checksum.
pub(crate) fn with_option(mut packet: Vec<u8>, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    const MPTCP: u8 = 30;
    let end = IP_HEADER + usize::from(packet[IP_HEADER + 12] >> 4) * 4;
    let mut at = IP_HEADER + TCP_HEADER;
    while at + 1 < end && packet[at] != MPTCP {
        at += if packet[at] <= 1 { 1 } else { usize::from(packet[at + 1]).max(2) };
    }
    if at + 3 < end {
        change(&mut packet[at..end]);
    }
    packet[IP_HEADER + CHECKSUM..][..2].fill(0);
    let sum = checksum(&packet[IP_HEADER..]);
    packet[IP_HEADER + CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// TCP checksum of a segment with the checksum field 0 (RFC 9293, section 3.1).
fn checksum(segment: &[u8]) -> u16 {
    let mut bytes = [PEER.octets(), VICTIM.octets()].concat();
    bytes.extend([0, ip::TCP]);
    bytes.extend((segment.len() as u16).to_be_bytes());
    bytes.extend(segment);
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The packet with a wrong TCP checksum.
pub(crate) fn with_wrong_checksum(mut packet: Vec<u8>) -> Vec<u8> {
    packet[IP_HEADER + CHECKSUM] ^= 0x55;
    packet
}

/// A packet to a peer.
pub(crate) struct Received {
    /// It is for the announced address.
    pub(crate) to_announced: bool,
    /// Port of the peer.
    pub(crate) port: u16,
    /// `None` if it cannot be decoded, or has a wrong checksum.
    pub(crate) segment: Option<Segment<Bytes>>,
}

/// Decodes a packet; `None` if it is no TCP packet to a peer.
pub(crate) fn decode(packet: &[u8]) -> Option<Received> {
    let datagram = ip::parse(packet).ok()?;
    let (source, destination) = (datagram.source, datagram.destination);
    let to_announced = destination == ANNOUNCED;
    if datagram.protocol != ip::TCP || !(to_announced || destination == PEER) {
        return None;
    }
    let port = u16::from_be_bytes(*datagram.payload.get(2..)?.first_chunk()?);
    let segment = tcp::Packet::new(datagram.payload).and_then(|inner| {
        inner.verify_checksum(source, destination)?;
        inner.segment(Bytes::copy_from_slice(inner.payload()))
    });
    Some(Received { to_announced, port, segment: segment.ok() })
}

/// A segment of the peer between two ports, with no options.
pub(crate) fn segment((own, other): (u16, u16), [seq, ack]: [u32; 2], flags: Flags) -> Segment<Bytes> {
    Segment::new((own, other), seq, ack, flags, u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_checksum_of_an_answer_is_found() {
        let (mut packet, ends) = (Vec::new(), (VICTIM.into(), PEER.into()));
        let answer = segment((PORT, 1024), [1, 2], Flags::ACK);
        ip::emit_header(ends, ip::TCP, answer.ecn, answer.wire_len(), &mut packet).expect("IPv4");
        tcp::emit(&answer, ends.0, ends.1, &answer.payload, &mut packet).expect("it fits");
        assert!(decode(&packet).is_some_and(|received| received.segment.is_some()));
        let received = decode(&with_wrong_checksum(packet)).expect("a packet to the peer");
        assert!(received.port == 1024 && received.segment.is_none());
    }
}
