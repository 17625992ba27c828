//! Any bytes as a TCP segment. What can be read can be written, and then means the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::net::{IpAddr, Ipv4Addr};
use wire::{WireError, tcp};

fuzz_target!(|bytes: &[u8]| {
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
});
