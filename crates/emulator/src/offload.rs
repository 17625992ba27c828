//! Offload work of a network card: fills in checksums and segments TCP (TSO) and UDP (USO)
//! packets, so that one read from a device returns up to 64 KB.
//!
//! Segmentation follows the kernel's own fallback (`tcp_gso_segment`): every segment repeats all
//! options. Each therefore carries the same DSS option with a mapping of all segments (RFC
//! 8684, section 3.3.1).

use linux::tun::{PendingOffload, Split};
use wire::checksum::{Sum, checksum};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// CWR flag, kept on the first segment only (RFC 3168, section 6.1.2).
const CWR: u8 = 0x80;
/// FIN and PSH flags, kept on the last segment only.
const FIN_PSH: u8 = 0x09;

/// Completes the pending offload of `packet` and calls `emit` with each resulting packet, in
/// order. `buffer` is scratch space. A malformed packet is emitted unchanged.
pub(crate) fn complete_offload(
    pending: PendingOffload,
    packet: &mut [u8],
    buffer: &mut Vec<u8>,
    mut emit: impl FnMut(&[u8]),
) {
    let Some((start, offset)) = pending.checksum else { return emit(packet) };
    let Some(split) = pending.split else {
        fill_checksum(usize::from(start), usize::from(offset), packet);
        return emit(packet);
    };
    match LargePacket::parse(usize::from(start), split, packet) {
        Some(large) => large.segment(buffer, emit),
        None => emit(packet),
    }
}

/// Computes the checksum from `start` to the end. The field already holds the sum of the pseudo
/// header.
fn fill_checksum(start: usize, offset: usize, packet: &mut [u8]) {
    let Some(summed) = packet.get_mut(start..) else { return };
    let sum = checksum(summed);
    if let Some(field) = summed.get_mut(offset..offset + 2) {
        field.copy_from_slice(&nonzero_checksum(sum).to_be_bytes());
    }
}

/// Replaces zero, which means "no checksum" in UDP, by its ones' complement equivalent.
const fn nonzero_checksum(sum: u16) -> u16 {
    if sum == 0 { 0xffff } else { sum }
}

/// A packet longer than the MTU, to be segmented.
struct LargePacket<'a> {
    /// IP and transport headers.
    headers: &'a [u8],
    payload: &'a [u8],
    ipv4: bool,
    /// Offset of the transport header.
    transport: usize,
    protocol: u8,
    /// Payload bytes per segment.
    segment_size: usize,
}

impl<'a> LargePacket<'a> {
    /// Parses a packet with a transport header at offset `transport`; `None` without payload or
    /// when the headers are truncated.
    fn parse(transport: usize, split: Split, packet: &'a [u8]) -> Option<Self> {
        let (protocol, segment_size, header_len) = match split {
            Split::Tcp(size) => {
                let length = usize::from(packet.get(transport + 12)? >> 4) * 4;
                (TCP, size, Some(length).filter(|&length| length >= 20)?)
            }
            Split::Udp(size) => (UDP, size, 8),
        };
        let (headers, payload) = packet.split_at_checked(transport + header_len)?;
        let ipv4 = match headers.first()? >> 4 {
            4 if transport >= 20 => true,
            6 if transport >= 40 => false,
            _ => return None,
        };
        let segment_size = usize::from(segment_size);
        let large = Self { headers, payload, ipv4, transport, protocol, segment_size };
        (!payload.is_empty()).then_some(large)
    }

    fn segment(&self, buffer: &mut Vec<u8>, mut emit: impl FnMut(&[u8])) {
        let payloads = self.payload.chunks(self.segment_size);
        let last = payloads.len() - 1;
        for (index, payload) in payloads.enumerate() {
            buffer.clear();
            buffer.extend_from_slice(self.headers);
            buffer.extend_from_slice(payload);
            self.update_ip_header(index, buffer);
            if self.protocol == TCP {
                self.update_tcp_header(index, index == last, buffer);
            } else {
                let length = (buffer.len() - self.transport) as u16;
                buffer[self.transport + 4..self.transport + 6].copy_from_slice(&length.to_be_bytes());
            }
            self.update_transport_checksum(buffer);
            emit(buffer);
        }
    }

    /// Sets the length and, for IPv4, the identification and the header checksum.
    fn update_ip_header(&self, index: usize, segment: &mut [u8]) {
        let length = segment.len();
        if !self.ipv4 {
            segment[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
            return;
        }
        let identification = u16::from_be_bytes([self.headers[4], self.headers[5]]);
        segment[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        segment[4..6].copy_from_slice(&identification.wrapping_add(index as u16).to_be_bytes());
        segment[10..12].fill(0);
        let sum = checksum(&segment[..self.transport]);
        segment[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Sets the sequence number and clears flags that belong to another segment.
    fn update_tcp_header(&self, index: usize, last: bool, segment: &mut [u8]) {
        let header = &mut segment[self.transport..];
        let sequence = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let sequence = sequence.wrapping_add((index * self.segment_size) as u32);
        header[4..8].copy_from_slice(&sequence.to_be_bytes());
        if index > 0 {
            header[13] &= !CWR;
        }
        if !last {
            header[13] &= !FIN_PSH;
        }
    }

    /// Computes the transport checksum over pseudo header, header and payload.
    fn update_transport_checksum(&self, segment: &mut [u8]) {
        let field = self.transport + if self.protocol == TCP { 16 } else { 6 };
        segment[field..field + 2].fill(0);
        let mut sum = Sum::new();
        sum.add(if self.ipv4 { &segment[12..20] } else { &segment[8..40] });
        sum.add(&[0, self.protocol]);
        sum.add(&((segment.len() - self.transport) as u32).to_be_bytes());
        sum.add(&segment[self.transport..]);
        let sum = sum.finish();
        let sum = if self.protocol == UDP { nonzero_checksum(sum) } else { sum };
        segment[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use core::net::IpAddr;
    use proptest::prelude::*;
    use wire::{Dss, Ecn, Flags, Mapping, Segment, TimestampOption, ip, tcp};

    fn addresses(v6: bool) -> (IpAddr, IpAddr) {
        if v6 {
            ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap())
        } else {
            ("192.0.2.1".parse().unwrap(), "198.51.100.7".parse().unwrap())
        }
    }

    fn emitted(v6: bool, segment: &Segment<Bytes>) -> Vec<u8> {
        let (source, destination) = addresses(v6);
        let mut out = Vec::new();
        crate::packet::emit(source, destination, segment, &mut out).unwrap();
        out
    }

    /// A UDP datagram with a valid checksum.
    fn datagram(v6: bool, payload: &[u8]) -> Vec<u8> {
        let (source, destination) = addresses(v6);
        let length = 8 + payload.len();
        let mut upper =
            [&[0x13, 0x88, 0x9c, 0x40][..], &(length as u16).to_be_bytes(), &[0, 0], payload].concat();
        let mut sum = wire::checksum::pseudo_header(source, destination, UDP, length as u32).unwrap();
        sum.add(&upper);
        upper[6..8].copy_from_slice(&nonzero_checksum(sum.finish()).to_be_bytes());
        let mut out = Vec::new();
        ip::emit_header((source, destination), UDP, Ecn::NotEct, length, &mut out).unwrap();
        out.extend(upper);
        out
    }

    fn completed(pending: PendingOffload, mut packet: Vec<u8>) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        complete_offload(pending, &mut packet, &mut Vec::new(), |packet| all.push(packet.to_vec()));
        all
    }

    /// Sets the identification of an IPv4 header and updates its checksum.
    fn with_identification(mut packet: Vec<u8>, identification: u16) -> Vec<u8> {
        if packet[0] >> 4 == 4 {
            packet[4..6].copy_from_slice(&identification.to_be_bytes());
            packet[10..12].fill(0);
            let sum = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    /// An MPTCP data segment with a mapping of `mapped` bytes.
    fn data_segment(payload: &[u8], mapped: usize, flags: Flags, sequence: u32) -> Segment<Bytes> {
        let mut segment = Segment::new((5001, 40000), sequence, 7, flags, 100);
        segment.timestamps = Some(TimestampOption { value: 1, echo: 2 });
        let mapping = Mapping { dsn: 1 << 40, ssn: 77, len: mapped as u16, checksum: None };
        segment.dss = Some(Dss { data_ack: Some(3), mapping: Some(mapping), ..Dss::default() });
        segment.payload = Bytes::copy_from_slice(payload);
        segment.ecn = Ecn::Ect0;
        segment
    }

    proptest! {
        #[test]
        fn tcp_segments_equal_those_sent_without_offload(
            v6: bool,
            payload in prop::collection::vec(any::<u8>(), 1..9000),
            size in 1u16..3000,
            sequence: u32,
            identification: u16,
            cwr: bool,
            fin: bool,
        ) {
            let flags = |first: bool, last: bool| {
                let cwr = if first && cwr { Flags::CWR } else { Flags::ACK };
                let end = if last && fin { Flags::FIN } else { Flags::ACK };
                let push = if last { Flags::PSH } else { Flags::ACK };
                Flags::ACK.with(cwr).with(end).with(push)
            };
            let all = payload.len();
            let packet = data_segment(&payload, all, flags(true, true), sequence);
            let packet = with_identification(emitted(v6, &packet), identification);
            let start = if v6 { 40 } else { 20 };
            let pending = PendingOffload { checksum: Some((start, 16)), split: Some(Split::Tcp(size)) };
            let found = completed(pending, packet);
            let pieces: Vec<&[u8]> = payload.chunks(usize::from(size)).collect();
            prop_assert_eq!(found.len(), pieces.len());
            for (n, (found, piece)) in found.iter().zip(&pieces).enumerate() {
                let sequence = sequence.wrapping_add((n * usize::from(size)) as u32);
                let flags = flags(n == 0, n + 1 == pieces.len());
                // Every segment repeats the mapping of the whole packet.
                let wanted = emitted(v6, &data_segment(piece, all, flags, sequence));
                prop_assert_eq!(found, &with_identification(wanted, identification.wrapping_add(n as u16)));
                let (source, destination) = addresses(v6);
                let datagram = ip::parse(found).unwrap();
                tcp::Packet::new(datagram.payload).unwrap().verify_checksum(source, destination).unwrap();
            }
        }

        #[test]
        fn udp_datagrams_equal_those_sent_without_offload(
            v6: bool,
            payload in prop::collection::vec(any::<u8>(), 1..5000),
            size in 1u16..2000,
        ) {
            let start = if v6 { 40 } else { 20 };
            let pending = PendingOffload { checksum: Some((start, 6)), split: Some(Split::Udp(size)) };
            let found = completed(pending, datagram(v6, &payload));
            let wanted: Vec<_> = payload
                .chunks(usize::from(size))
                .enumerate()
                .map(|(n, piece)| with_identification(datagram(v6, piece), n as u16))
                .collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn filled_checksum_equals_the_full_checksum(
            v6: bool,
            payload in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let wanted = emitted(v6, &data_segment(&payload, payload.len(), Flags::ACK, 9));
            let start: u16 = if v6 { 40 } else { 20 };
            let (source, destination) = addresses(v6);
            let length = wanted.len() as u32 - u32::from(start);
            let pseudo = !wire::checksum::pseudo_header(source, destination, TCP, length).unwrap().finish();
            let mut packet = wanted.clone();
            let field = usize::from(start) + 16;
            packet[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());
            let pending = PendingOffload { checksum: Some((start, 16)), split: None };
            prop_assert_eq!(completed(pending, packet), [wanted]);
        }

        #[test]
        fn arbitrary_bytes_yield_at_least_one_packet(
            packet in prop::collection::vec(any::<u8>(), 0..200),
            start in 0u16..220,
            offset in 0u16..220,
            split in prop::option::of((any::<bool>(), 1u16..100)),
        ) {
            let split = split.map(|(tcp, size)| if tcp { Split::Tcp(size) } else { Split::Udp(size) });
            let pending = PendingOffload { checksum: Some((start, offset)), split };
            prop_assert!(!completed(pending, packet).is_empty());
        }
    }
}
