//! Packets: what can be read can be written, and then means the same.

use std::net::{IpAddr, Ipv4Addr};
use wire::{WireError, ip};

/// Any bytes as a TCP segment.
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
                .expect("a checksum just written is right");
        }
        // Read without padding, options may pass 40 bytes with it; and the input may be longer than IP allows.
        Err(WireError::OptionsTooLong { .. } | WireError::TooLong { .. }) => assert!(written.is_empty()),
        Err(error) => panic!("{segment:?} was read and cannot be written: {error}"),
    }
}

/// Any bytes as an IPv4 packet, and what it carries as TCP.
pub fn ipv4(bytes: &[u8]) {
    use wire::{ipv4, tcp};
    let Ok(packet) = ipv4::Packet::new(bytes) else { return };
    let repr = ipv4::Repr::parse(&packet);
    assert_eq!(repr.is_ok(), ip::parse(bytes).is_ok());
    let Ok(repr) = repr else { return };
    let mut written = Vec::new();
    repr.emit(&mut written).expect("a header that was read can be written");
    written.resize(written.len() + repr.payload_len, 0);
    assert_eq!(ipv4::Packet::new(&written).and_then(|packet| ipv4::Repr::parse(&packet)), Ok(repr));
    if let Ok(datagram) = ip::parse(bytes) {
        _ = tcp::parse(datagram.payload);
    }
}

/// Any bytes as an IPv6 packet, and what it carries as TCP.
pub fn ipv6(bytes: &[u8]) {
    use wire::{ipv6, tcp};
    let Ok(packet) = ipv6::Packet::new(bytes) else { return };
    let repr = ipv6::Repr::parse(&packet);
    assert_eq!(repr.is_ok(), ip::parse(bytes).is_ok());
    let Ok(repr) = repr else { return };
    let mut written = Vec::new();
    repr.emit(&mut written).expect("a header that was read can be written");
    written.resize(written.len() + repr.payload_len, 0);
    assert_eq!(ipv6::Packet::new(&written).and_then(|packet| ipv6::Repr::parse(&packet)), Ok(repr));
    if let Ok(datagram) = ip::parse(bytes) {
        _ = tcp::parse(datagram.payload);
    }
}
