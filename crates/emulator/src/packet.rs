//! Accessors for raw IP packets: payload length, ECN marking, and conversion from and to segments.

use bytes::Bytes;
use core::net::{IpAddr, SocketAddr};
use wire::{Ecn, MptcpSignal, Segment, WireError, ip, tcp};

const UDP: u8 = 17;
const UDP_HEADER_BYTES: usize = 8;

/// Packet that may begin a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowPacket {
    /// TCP segment with SYN and without ACK.
    Syn {
        /// Destination.
        to: SocketAddr,
    },
    /// UDP datagram.
    Datagram {
        /// Source.
        from: SocketAddr,
        /// Destination.
        to: SocketAddr,
    },
}

/// Addresses of an IPv4 packet that may begin a flow; `None` for other packets, and for fragments
/// without a transport header.
#[inline]
pub(crate) fn flow_packet(packet: &[u8]) -> Option<FlowPacket> {
    const FLAGS_SYN_ACK: u8 = 0x12;
    const FLAG_SYN: u8 = 0x02;
    const FRAGMENT_OFFSET: u16 = 0x1fff;
    let (protocol, inner) = transport(packet)?;
    let is_segment = protocol == ip::TCP;
    if packet[0] >> 4 != 4 || !(is_segment || protocol == UDP) {
        return None;
    }
    if is_segment && inner.get(13)? & FLAGS_SYN_ACK != FLAG_SYN {
        return None;
    }
    if u16::from_be_bytes([packet[6], packet[7]]) & FRAGMENT_OFFSET != 0 {
        return None;
    }
    let end = |address: usize, port: usize| {
        let octets: [u8; 4] = packet.get(address..address + 4)?.try_into().ok()?;
        let port = u16::from_be_bytes(inner.get(port..port + 2)?.try_into().ok()?);
        Some(SocketAddr::from((octets, port)))
    };
    let (from, to) = (end(12, 0)?, end(16, 2)?);
    Some(if is_segment { FlowPacket::Syn { to } } else { FlowPacket::Datagram { from, to } })
}

/// Payload bytes of a TCP or UDP packet; 0 for other or malformed packets.
#[inline]
pub(crate) fn payload_len(packet: &[u8]) -> u32 {
    let Some((protocol, inner)) = transport(packet) else { return 0 };
    let headers = match protocol {
        ip::TCP => inner.get(12).map_or(usize::MAX, |byte| usize::from(byte >> 4) * 4),
        UDP => UDP_HEADER_BYTES,
        _ => usize::MAX,
    };
    inner.len().saturating_sub(headers) as u32
}

/// Returns true for a TCP segment.
#[inline]
pub(crate) fn is_tcp(packet: &[u8]) -> bool {
    transport(packet).is_some_and(|(protocol, _)| protocol == ip::TCP)
}

/// Protocol number and payload of the IP header. IPv6 extension headers are not skipped.
#[inline]
fn transport(packet: &[u8]) -> Option<(u8, &[u8])> {
    match packet.first()? >> 4 {
        4 => {
            let header = usize::from(packet[0] & 0x0f) * 4;
            let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
            Some((*packet.get(9)?, packet.get(header..total.min(packet.len()))?))
        }
        6 => Some((*packet.get(6)?, packet.get(40..)?)),
        _ => None,
    }
}

/// Sets the CE codepoint (RFC 3168, section 5). Returns false for a packet that is not
/// ECN-capable.
pub(crate) fn mark(packet: &mut [u8]) -> bool {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => {
            if !Ecn::from_bits(packet[1]).can_be_marked() {
                return false;
            }
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= Ecn::Ce.bits();
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            // Incremental update of the header checksum (RFC 1624).
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            let sum = !ones_complement_add(ones_complement_add(!sum, !before), after);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            true
        }
        Some(6) if packet.len() >= 40 => {
            let bits = (packet[1] >> 4) & 3;
            let capable = Ecn::from_bits(bits).can_be_marked();
            if capable {
                packet[1] |= Ecn::Ce.bits() << 4;
            }
            capable
        }
        _ => false,
    }
}

/// Ones' complement sum.
const fn ones_complement_add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + carry as u16
}

/// Parses a TCP segment; returns its source, its destination and the segment. `None` for other
/// packets.
pub(crate) fn segment(packet: &[u8]) -> Option<(IpAddr, IpAddr, Segment<Bytes>)> {
    let datagram = ip::parse(packet).ok().filter(|datagram| datagram.protocol == ip::TCP)?;
    let mut segment = tcp::parse(datagram.payload).ok()?;
    segment.ecn = datagram.ecn;
    Some((datagram.source, datagram.destination, segment))
}

/// Returns true for a segment with MP_PRIO (RFC 8684, section 3.3.8).
pub(crate) fn has_mp_prio(packet: &[u8]) -> bool {
    let signal = segment(packet).and_then(|(_, _, segment)| segment.signal);
    matches!(signal, Some(MptcpSignal::Priority { .. }))
}

/// Writes a segment as an IP packet into `out`, replacing its contents.
pub(crate) fn emit(
    source: IpAddr,
    destination: IpAddr,
    segment: &Segment<Bytes>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    out.clear();
    ip::emit_header((source, destination), ip::TCP, segment.ecn, segment.wire_len(), out)?;
    tcp::emit(segment, source, destination, &segment.payload, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Flags;

    fn packet(v6: bool, ecn: Ecn) -> Vec<u8> {
        let mut segment = Segment::new((5001, 40000), 1, 2, Flags::ACK, 100);
        segment.payload = Bytes::from_static(b"thirteen byte");
        segment.ecn = ecn;
        let (a, b): (IpAddr, IpAddr) = if v6 {
            ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap())
        } else {
            ("192.0.2.1".parse().unwrap(), "198.51.100.7".parse().unwrap())
        };
        let mut out = Vec::new();
        emit(a, b, &segment, &mut out).unwrap();
        out
    }

    #[test]
    fn payload_len_excludes_ip_and_tcp_headers() {
        for v6 in [false, true] {
            let packet = packet(v6, Ecn::NotEct);
            assert_eq!(payload_len(&packet), 13);
            assert!(is_tcp(&packet));
            let (_, _, segment) = segment(&packet).unwrap();
            assert_eq!(&segment.payload[..], b"thirteen byte");
        }
    }

    #[test]
    fn ce_mark_changes_only_the_ecn_bits_and_keeps_the_checksum_valid() {
        for v6 in [false, true] {
            let mut marked = packet(v6, Ecn::Ect0);
            assert!(mark(&mut marked));
            let datagram = ip::parse(&marked).unwrap();
            assert_eq!(datagram.ecn, Ecn::Ce);
            assert_eq!(datagram.payload, ip::parse(&packet(v6, Ecn::Ect0)).unwrap().payload);
            let mut plain = packet(v6, Ecn::NotEct);
            assert!(!mark(&mut plain));
            assert_eq!(plain, packet(v6, Ecn::NotEct));
        }
    }

    #[test]
    fn only_first_segments_and_datagrams_begin_a_flow() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let tcp = |flags: Flags| {
            let segment = Segment::new((5001, 443), 1, 2, flags, 100);
            let mut out = Vec::new();
            emit("192.0.2.1".parse().unwrap(), "198.51.100.7".parse().unwrap(), &segment, &mut out).unwrap();
            out
        };
        let syn = tcp(Flags::SYN);
        assert_eq!(flow_packet(&syn), Some(FlowPacket::Syn { to: at("198.51.100.7:443") }));
        assert_eq!(flow_packet(&tcp(Flags::SYN_ACK)), None);
        assert_eq!(flow_packet(&tcp(Flags::ACK)), None);
        let mut datagram = syn.clone();
        datagram[9] = UDP;
        let expected = FlowPacket::Datagram { from: at("192.0.2.1:5001"), to: at("198.51.100.7:443") };
        assert_eq!(flow_packet(&datagram), Some(expected));
        // A fragment has no ports.
        datagram[7] = 1;
        assert_eq!(flow_packet(&datagram), None);
    }

    #[test]
    fn truncated_packets_do_not_panic() {
        for v6 in [false, true] {
            let whole = packet(v6, Ecn::Ect0);
            for length in 0..whole.len() {
                let mut cut = whole[..length].to_vec();
                let _ = (payload_len(&cut), is_tcp(&cut), segment(&cut), flow_packet(&cut), mark(&mut cut));
            }
        }
    }
}
