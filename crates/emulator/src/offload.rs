//! What an interface card does for a kernel, done by the emulator, so that one read brings up to 64 KB:
//! checksums, and TCP segments made of what is longer than one (TSO), or datagrams (USO).
//!
//! It does what Linux itself does where the device cannot (`tcp_gso_segment`): every segment has all options of
//! the whole. So each one carries the same DSS option, whose mapping covers all of them (RFC 8684, section 3.3.1).

use linux::tun::{PendingOffload, Split};
use wire::checksum::{Sum, checksum};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Congestion window reduced: said once, by the first segment (RFC 3168, section 6.1.2).
const CWR: u8 = 0x80;
/// End of stream, and push: said by the last.
const FIN_PSH: u8 = 0x09;

/// Calls `each` with every packet that goes over the wire, in order; `room` is used again and again. A packet
/// that does not look as it should goes as it is.
pub(crate) fn finish(
    unfinished: PendingOffload,
    packet: &mut [u8],
    room: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
) {
    match unfinished {
        PendingOffload { checksum: Some((start, _)), split: Some(split) } => {
            if split_packet(usize::from(start), split, packet, room, &mut each).is_none() {
                each(packet);
            }
        }
        PendingOffload { checksum: Some((start, offset)), split: None } => {
            sum_up(usize::from(start), usize::from(offset), packet);
            each(packet);
        }
        PendingOffload { checksum: None, .. } => each(packet),
    }
}

/// The sum over what is in its own place now, the pseudo header's, and all behind it.
fn sum_up(start: usize, offset: usize, packet: &mut [u8]) {
    let Some(summed) = packet.get_mut(start..) else { return };
    let sum = checksum(summed);
    if let Some(place) = summed.get_mut(offset..offset + 2) {
        place.copy_from_slice(&never_zero(sum).to_be_bytes());
    }
}

/// For UDP a zero would say that there is no checksum; for others the two are the same.
const fn never_zero(sum: u16) -> u16 {
    if sum == 0 { 0xffff } else { sum }
}

/// Makes packets of one whose transport header begins at `start`; `None` where it is too short for its headers.
fn split_packet(
    start: usize,
    split: Split,
    packet: &[u8],
    room: &mut Vec<u8>,
    each: &mut impl FnMut(&[u8]),
) -> Option<()> {
    let (size, head) = match split {
        Split::Tcp(size) => {
            let length = usize::from(packet.get(start + 12)? >> 4) * 4;
            (usize::from(size), start + Some(length).filter(|&length| length >= 20)?)
        }
        Split::Udp(size) => (usize::from(size), start + 8),
    };
    let (headers, payload) = packet.split_at_checked(head)?;
    let v4 = match headers.first()? >> 4 {
        4 if start >= 20 => true,
        6 if start >= 40 => false,
        _ => return None,
    };
    let identification = u16::from_be_bytes([headers[4], headers[5]]);
    let pieces = payload.chunks(size);
    let last = pieces.len().checked_sub(1)?;
    for (n, piece) in pieces.enumerate() {
        room.clear();
        room.extend_from_slice(headers);
        room.extend_from_slice(piece);
        let length = room.len();
        if v4 {
            room[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            room[4..6].copy_from_slice(&identification.wrapping_add(n as u16).to_be_bytes());
            room[10..12].fill(0);
            let sum = checksum(&room[..start]);
            room[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            room[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
        }
        let upper = length - start;
        let (protocol, place) = match split {
            Split::Tcp(_) => {
                let [a, b, c, d] = [4, 5, 6, 7].map(|at| headers[start + at]);
                let sequence = u32::from_be_bytes([a, b, c, d]).wrapping_add((n * size) as u32);
                room[start + 4..start + 8].copy_from_slice(&sequence.to_be_bytes());
                if n > 0 {
                    room[start + 13] &= !CWR;
                }
                if n < last {
                    room[start + 13] &= !FIN_PSH;
                }
                (TCP, start + 16)
            }
            Split::Udp(_) => {
                room[start + 4..start + 6].copy_from_slice(&(upper as u16).to_be_bytes());
                (UDP, start + 6)
            }
        };
        room[place..place + 2].fill(0);
        let mut sum = Sum::new();
        // The pseudo header: addresses, protocol, length.
        sum.add(if v4 { &room[12..20] } else { &room[8..40] });
        sum.add(&[0, protocol]);
        sum.add(&(upper as u32).to_be_bytes());
        sum.add(&room[start..]);
        let sum = sum.finish();
        let sum = if protocol == UDP { never_zero(sum) } else { sum };
        room[place..place + 2].copy_from_slice(&sum.to_be_bytes());
        each(room);
    }
    Some(())
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

    /// A datagram of UDP with its checksum.
    fn datagram(v6: bool, payload: &[u8]) -> Vec<u8> {
        let (source, destination) = addresses(v6);
        let length = 8 + payload.len();
        let mut upper =
            [&[0x13, 0x88, 0x9c, 0x40][..], &(length as u16).to_be_bytes(), &[0, 0], payload].concat();
        let mut sum = wire::checksum::pseudo_header(source, destination, UDP, length as u32).unwrap();
        sum.add(&upper);
        upper[6..8].copy_from_slice(&never_zero(sum.finish()).to_be_bytes());
        let mut out = Vec::new();
        ip::emit_header((source, destination), UDP, Ecn::NotEct, length, &mut out).unwrap();
        out.extend(upper);
        out
    }

    fn finished(unfinished: PendingOffload, mut packet: Vec<u8>) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        finish(unfinished, &mut packet, &mut Vec::new(), |packet| all.push(packet.to_vec()));
        all
    }

    /// With another identification in its IPv4 header, and the checksum that this makes.
    fn identified(mut packet: Vec<u8>, identification: u16) -> Vec<u8> {
        if packet[0] >> 4 == 4 {
            packet[4..6].copy_from_slice(&identification.to_be_bytes());
            packet[10..12].fill(0);
            let sum = checksum(&packet[..20]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }

    /// A segment of a data transfer over MPTCP, whose mapping covers `mapped` bytes.
    fn part(payload: &[u8], mapped: usize, flags: Flags, sequence: u32) -> Segment<Bytes> {
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
        fn segments_are_those_that_the_sender_could_have_sent_by_itself(
            v6: bool,
            payload in prop::collection::vec(any::<u8>(), 1..9000),
            size in 1u16..3000,
            sequence: u32,
            identification: u16,
            cwr: bool,
            fin: bool,
        ) {
            let at = |first: bool, last: bool| {
                let cwr = if first && cwr { Flags::CWR } else { Flags::ACK };
                let end = if last && fin { Flags::FIN } else { Flags::ACK };
                let push = if last { Flags::PSH } else { Flags::ACK };
                Flags::ACK.with(cwr).with(end).with(push)
            };
            let all = payload.len();
            let packet = part(&payload, all, at(true, true), sequence);
            let packet = identified(emitted(v6, &packet), identification);
            let start = if v6 { 40 } else { 20 };
            let unfinished = PendingOffload { checksum: Some((start, 16)), split: Some(Split::Tcp(size)) };
            let found = finished(unfinished, packet);
            let pieces: Vec<&[u8]> = payload.chunks(usize::from(size)).collect();
            prop_assert_eq!(found.len(), pieces.len());
            for (n, (found, piece)) in found.iter().zip(&pieces).enumerate() {
                let sequence = sequence.wrapping_add((n * usize::from(size)) as u32);
                let flags = at(n == 0, n + 1 == pieces.len());
                // The mapping is that of all of them.
                let wanted = emitted(v6, &part(piece, all, flags, sequence));
                prop_assert_eq!(found, &identified(wanted, identification.wrapping_add(n as u16)));
                let (source, destination) = addresses(v6);
                let datagram = ip::parse(found).unwrap();
                tcp::Packet::new(datagram.payload).unwrap().verify_checksum(source, destination).unwrap();
            }
        }

        #[test]
        fn datagrams_are_those_that_the_sender_could_have_sent_by_itself(
            v6: bool,
            payload in prop::collection::vec(any::<u8>(), 1..5000),
            size in 1u16..2000,
        ) {
            let start = if v6 { 40 } else { 20 };
            let unfinished = PendingOffload { checksum: Some((start, 6)), split: Some(Split::Udp(size)) };
            let found = finished(unfinished, datagram(v6, &payload));
            let wanted: Vec<_> = payload
                .chunks(usize::from(size))
                .enumerate()
                .map(|(n, piece)| identified(datagram(v6, piece), n as u16))
                .collect();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn a_checksum_that_was_left_is_the_one_that_a_whole_packet_has(v6: bool, payload in prop::collection::vec(any::<u8>(), 0..2000)) {
            let wanted = emitted(v6, &part(&payload, payload.len(), Flags::ACK, 9));
            let start: u16 = if v6 { 40 } else { 20 };
            let (source, destination) = addresses(v6);
            let length = wanted.len() as u32 - u32::from(start);
            let pseudo = !wire::checksum::pseudo_header(source, destination, TCP, length).unwrap().finish();
            let mut packet = wanted.clone();
            let place = usize::from(start) + 16;
            packet[place..place + 2].copy_from_slice(&pseudo.to_be_bytes());
            let unfinished = PendingOffload { checksum: Some((start, 16)), split: None };
            prop_assert_eq!(finished(unfinished, packet), [wanted]);
        }

        #[test]
        fn any_bytes_are_one_packet_or_several(
            packet in prop::collection::vec(any::<u8>(), 0..200),
            start in 0u16..220,
            offset in 0u16..220,
            split in prop::option::of((any::<bool>(), 1u16..100)),
        ) {
            let split = split.map(|(tcp, size)| if tcp { Split::Tcp(size) } else { Split::Udp(size) });
            let unfinished = PendingOffload { checksum: Some((start, offset)), split };
            prop_assert!(!finished(unfinished, packet).is_empty());
        }
    }
}
