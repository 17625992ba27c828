//! From the first byte of a frame to its TCP header, for any link type and truncation.

use crate::reader::Frame;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::pcapng::Direction;
use wire::{ip, tcp};

// Link types (<https://www.tcpdump.org/linktypes.html>).
const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const RAW: u16 = 101;
/// Written by some systems for raw IP.
const RAW_OTHERS: [u16; 2] = [12, 14];
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

// Ethertypes.
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// VLAN tags: 802.1Q, 802.1ad, and its predecessor.
const TYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MAX_TAGS: usize = 4;

/// Packet type of Linux cooked captures: outgoing.
const SLL_OUTGOING: u16 = 4;

// Extension headers of IPv6 (RFC 8200, section 4).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
const MAX_EXTENSIONS: usize = 16;

/// Address and port in comparable form: IPv4 as mapped IPv6 (`::ffff:a.b.c.d`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct End {
    pub(crate) address: u128,
    pub(crate) port: u16,
}

impl End {
    pub(crate) fn ip(self) -> IpAddr {
        Ipv6Addr::from(self.address).to_canonical()
    }
}

/// A TCP segment in its frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tcp<'a> {
    pub(crate) source: End,
    pub(crate) destination: End,
    pub(crate) header: tcp::Packet<'a>,
    /// Payload length by the IP header, regardless of truncation.
    pub(crate) payload_len: u32,
    /// Length of the IP packet.
    pub(crate) wire_len: u32,
    /// Kernel's interface index, if every packet has one (cooked captures).
    pub(crate) index: Option<u32>,
    pub(crate) direction: Option<Direction>,
}

/// Reason for ignoring a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skipped {
    /// Unknown link type.
    Link,
    /// Not IP, or not TCP.
    Protocol,
    /// IP fragment: the TCP header and its lengths are apart.
    Fragment,
    /// Truncated before the end of the TCP header.
    Cut,
    /// Invalid lengths.
    Malformed,
}

pub(crate) fn tcp<'a>(frame: &Frame<'a>) -> Result<Tcp<'a>, Skipped> {
    let bytes = frame.bytes;
    let mut direction = frame.direction;
    let mut index = None;
    let mut cooked = |kind: u16| match kind {
        SLL_OUTGOING => direction = direction.or(Some(Direction::Outbound)),
        0 => direction = direction.or(Some(Direction::Inbound)),
        _ => {}
    };
    let at = match frame.link_type {
        ETHERNET => behind_ethertype(bytes, 12)?,
        RAW | IPV4 | IPV6 => 0,
        other if RAW_OTHERS.contains(&other) => 0,
        // Address family numbers differ between systems; the IP header has its version.
        NULL | LOOP => 4,
        LINUX_SLL => {
            cooked(u16_at(bytes, 0)?);
            behind_ethertype(bytes, 14)?
        }
        LINUX_SLL2 => {
            internet(u16_at(bytes, 0)?)?;
            let number = bytes.get(4..8).and_then(|four| four.first_chunk::<4>()).ok_or(Skipped::Cut)?;
            index = Some(u32::from_be_bytes(*number));
            cooked(u16::from(*bytes.get(10).ok_or(Skipped::Cut)?));
            20
        }
        _ => return Err(Skipped::Link),
    };
    let packet = bytes.get(at..).ok_or(Skipped::Cut)?;
    // Length on the wire, for packets without a length in the IP header.
    let original = (frame.original_len as usize).saturating_sub(at);
    let (source, destination, header_at, len) = match packet.first().ok_or(Skipped::Cut)? >> 4 {
        4 => ipv4(packet, original)?,
        6 => ipv6(packet, original)?,
        _ => return Err(Skipped::Protocol),
    };
    let kept = packet.get(header_at..len.min(packet.len())).ok_or(Skipped::Cut)?;
    let header = tcp::Packet::new(kept).map_err(|error| match error {
        wire::WireError::Truncated { .. } if len > packet.len() => Skipped::Cut,
        _ => Skipped::Malformed,
    })?;
    Ok(Tcp {
        source: End { address: source, port: header.source() },
        destination: End { address: destination, port: header.destination() },
        header,
        payload_len: (len - header_at).saturating_sub(header.header_len()) as u32,
        wire_len: len as u32,
        index,
        direction,
    })
}

/// Start of the IP packet behind the ethertype at `at`, or behind the VLAN tags there.
fn behind_ethertype(bytes: &[u8], mut at: usize) -> Result<usize, Skipped> {
    for _ in 0..=MAX_TAGS {
        let kind = u16_at(bytes, at)?;
        if !TYPE_VLAN.contains(&kind) {
            internet(kind)?;
            return Ok(at + 2);
        }
        at += 4;
    }
    Err(Skipped::Protocol)
}

fn internet(kind: u16) -> Result<(), Skipped> {
    if kind == TYPE_IPV4 || kind == TYPE_IPV6 { Ok(()) } else { Err(Skipped::Protocol) }
}

/// Addresses, start of the payload, end of the packet.
type Located = (u128, u128, usize, usize);

fn ipv4(packet: &[u8], original: usize) -> Result<Located, Skipped> {
    let header = packet.get(..20).ok_or(Skipped::Cut)?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    if header[9] != ip::TCP {
        return Err(Skipped::Protocol);
    }
    // Offset, or more fragments.
    if u16_at(header, 6)? & 0x3fff != 0 {
        return Err(Skipped::Fragment);
    }
    // 0 for packets captured before segmentation offload.
    let len = match usize::from(u16_at(header, 2)?) {
        0 => original,
        len => len,
    };
    if header_len < 20 || len < header_len + tcp::HEADER_LEN {
        return Err(Skipped::Malformed);
    }
    let address = |at: usize| {
        let octets = header.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
        u128::from(Ipv4Addr::from(octets).to_ipv6_mapped())
    };
    Ok((address(12), address(16), header_len, len))
}

fn ipv6(packet: &[u8], original: usize) -> Result<Located, Skipped> {
    let header = packet.get(..40).ok_or(Skipped::Cut)?;
    let len = match usize::from(u16_at(header, 4)?) {
        0 => original,
        len => 40 + len,
    };
    let address = |at: usize| {
        header
            .get(at..)
            .and_then(|rest| rest.first_chunk::<16>())
            .map_or(0, |octets| u128::from_be_bytes(*octets))
    };
    let (mut protocol, mut at) = (header[6], 40);
    for _ in 0..MAX_EXTENSIONS {
        match protocol {
            ip::TCP if len < at + tcp::HEADER_LEN => return Err(Skipped::Malformed),
            ip::TCP => return Ok((address(8), address(24), at, len)),
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => {
                let extension = packet.get(at..at + 2).ok_or(Skipped::Cut)?;
                protocol = extension[0];
                at += 8 + usize::from(extension[1]) * 8;
            }
            FRAGMENT => return Err(Skipped::Fragment),
            _ => return Err(Skipped::Protocol),
        }
    }
    Err(Skipped::Malformed)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Skipped> {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map(|two| u16::from_be_bytes(*two))
        .ok_or(Skipped::Cut)
}
