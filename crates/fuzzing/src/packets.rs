//! Targets of packets: encoding and decoding are inverse.

use std::net::{IpAddr, Ipv4Addr};
use wire::{WireError, ip};

/// Fuzz target: a TCP segment.
pub fn tcp(bytes: &[u8]) {
    use wire::tcp;
    if let Ok(packet) = tcp::Packet::new(bytes) {
        packet.options().for_each(drop);
    }
    let Ok(segment) = tcp::parse(bytes) else { return };
    let local = IpAddr::from(Ipv4Addr::LOCALHOST);
    let mut written = Vec::new();
    match tcp::emit(&segment, local, local, &segment.payload, &mut written) {
        Ok(()) => {
            assert_eq!(written.len(), segment.wire_len());
            assert_eq!(tcp::parse(&written).as_ref(), Ok(&segment));
            tcp::Packet::new(&written)
                .and_then(|packet| packet.verify_checksum(local, local))
                .expect("an encoded checksum is correct");
        }
        // Padding may extend the options beyond 40 bytes, and the input may be longer than IP
        // allows.
        Err(WireError::OptionsTooLong { .. } | WireError::TooLong { .. }) => assert!(written.is_empty()),
        Err(error) => panic!("cannot encode {segment:?}: {error}"),
    }
}

/// Fuzz target: an IPv4 packet with a TCP segment.
pub fn ipv4(bytes: &[u8]) {
    use wire::{ipv4, tcp};
    let Ok(packet) = ipv4::Packet::new(bytes) else { return };
    let repr = ipv4::Repr::parse(&packet);
    assert_eq!(repr.is_ok(), ip::parse(bytes).is_ok());
    let Ok(repr) = repr else { return };
    let mut written = Vec::new();
    repr.emit(&mut written).expect("a decoded header can be encoded");
    written.resize(written.len() + repr.payload_len, 0);
    assert_eq!(ipv4::Packet::new(&written).and_then(|packet| ipv4::Repr::parse(&packet)), Ok(repr));
    if let Ok(datagram) = ip::parse(bytes) {
        _ = tcp::parse(datagram.payload);
    }
}

/// Fuzz target: an IPv6 packet with a TCP segment.
pub fn ipv6(bytes: &[u8]) {
    use wire::{ipv6, tcp};
    let Ok(packet) = ipv6::Packet::new(bytes) else { return };
    let repr = ipv6::Repr::parse(&packet);
    assert_eq!(repr.is_ok(), ip::parse(bytes).is_ok());
    let Ok(repr) = repr else { return };
    let mut written = Vec::new();
    repr.emit(&mut written).expect("a decoded header can be encoded");
    written.resize(written.len() + repr.payload_len, 0);
    assert_eq!(ipv6::Packet::new(&written).and_then(|packet| ipv6::Repr::parse(&packet)), Ok(repr));
    if let Ok(datagram) = ip::parse(bytes) {
        _ = tcp::parse(datagram.payload);
    }
}
