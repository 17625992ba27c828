//! Packets of the client: proper segments as bytes, and ones with a defect below the options.

use bytes::Bytes;
use std::net::Ipv4Addr;
use wire::{Flags, Segment, ip, tcp};

/// Address of the server.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Address of all clients, which differ by their ports.
pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
/// Port of the server.
pub(crate) const PORT: u16 = 5201;
/// Offset of the checksum in a TCP header, and length of a header without options.
const CHECKSUM: usize = 16;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;

/// The bytes of a segment to the server.
pub(crate) fn encode(segment: &Segment<Bytes>) -> Vec<u8> {
    let mut packet = Vec::new();
    ip::emit_header((CLIENT.into(), SERVER.into()), ip::TCP, segment.ecn, segment.wire_len(), &mut packet)
        .and_then(|()| tcp::emit(segment, CLIENT.into(), SERVER.into(), &segment.payload, &mut packet))
        .expect("the client's segments fit a packet");
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
    let mut bytes = [CLIENT.octets(), SERVER.octets()].concat();
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

/// Decodes a packet of the server to a client; `None` for any other.
pub(crate) fn decode(packet: &[u8]) -> Option<Segment<Bytes>> {
    let datagram = ip::parse(packet).ok()?;
    let is_ours = datagram.protocol == ip::TCP && datagram.destination == CLIENT;
    is_ours.then(|| tcp::parse(datagram.payload).ok()).flatten()
}

/// A segment of the client at `port` with no options.
pub(crate) fn segment(port: u16, [seq, ack]: [u32; 2], flags: Flags) -> Segment<Bytes> {
    Segment::new((port, PORT), seq, ack, flags, u16::MAX)
}
