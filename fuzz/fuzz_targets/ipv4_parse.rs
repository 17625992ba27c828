//! Any bytes as an IPv4 packet, and what it carries as TCP.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{ip, ipv4, tcp};

fuzz_target!(|bytes: &[u8]| {
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
});
