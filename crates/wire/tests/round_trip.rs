//! Encoding and decoding are inverse, and decoding never panics.
#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

mod common;

use bytes::Bytes;
use common::{addresses, any_segment, carrying, segment};
use proptest::prelude::*;
use tandem_wire::{WireError, capture, ip, ipv4, ipv6, tcp};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn decoding_restores_an_encoded_segment(segment in segment(), (source, destination) in addresses()) {
        let mut payload = Vec::new();
        capture::filler(segment.payload, &mut payload);
        let mut bytes = vec![0xee; 3];
        tcp::emit(&segment, source, destination, &payload, &mut bytes).unwrap();
        let bytes = Bytes::from(bytes).slice(3..);
        prop_assert_eq!(bytes.len(), segment.wire_len());
        let packet = tcp::Packet::new(&bytes).unwrap();
        packet.verify_checksum(source, destination).unwrap();
        prop_assert_eq!(packet.header_len(), tcp::HEADER_LEN + segment.options_len());
        let expected = carrying(&segment, Bytes::from(payload));
        prop_assert_eq!(&tcp::parse(&bytes).unwrap(), &expected);
        prop_assert_eq!(tcp::parse_shared(&bytes).unwrap(), expected);
    }

    #[test]
    fn a_flipped_bit_fails_the_checksum(segment in segment(), (source, destination) in addresses(), at in any::<prop::sample::Index>()) {
        let mut bytes = capture::packet(source, destination, &segment, usize::MAX).unwrap();
        let start = ip::header_len(destination);
        let bit = at.index((bytes.len() - start) * 8);
        bytes[start + bit / 8] ^= 1 << (bit % 8);
        if let Ok(packet) = tcp::Packet::new(&bytes[start..]) {
            let verified = packet.verify_checksum(source, destination);
            prop_assert!(matches!(verified, Err(WireError::Checksum { .. })), "{:?}", verified);
        }
    }

    #[test]
    fn too_long_options_are_an_error_and_write_nothing(segment in any_segment(), (source, destination) in addresses()) {
        let mut out = vec![1, 2, 3];
        let payload = vec![0; segment.payload.len as usize];
        let emitted = tcp::emit(&segment, source, destination, &payload, &mut out);
        let needed = segment.options_len();
        if needed > tcp::MAX_OPTIONS_LEN {
            prop_assert_eq!(emitted, Err(WireError::OptionsTooLong { needed }));
            prop_assert_eq!(out, [1, 2, 3]);
        } else {
            prop_assert_eq!(emitted, Ok(()));
        }
    }

    #[test]
    fn random_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120), version in 0u8..3) {
        _ = tcp::parse(&bytes);
        // Sets a valid version and length in some inputs, because most random bytes fail the first
        // check.
        if let Some(first) = bytes.first_mut() {
            *first = [0x45, 0x60, *first][usize::from(version)];
        }
        _ = ip::parse(&bytes);
        if bytes.len() >= 60 {
            let rest = bytes.len() as u16;
            match version {
                0 => bytes[2..4].copy_from_slice(&rest.to_be_bytes()),
                _ => bytes[4..6].copy_from_slice(&(rest - 40).to_be_bytes()),
            }
            _ = ip::parse(&bytes);
        }
    }

    #[test]
    fn random_options_never_panic(options in prop::collection::vec(prop_oneof![3 => 0u8..=32, 1 => any::<u8>()], 0..=10)) {
        let mut bytes = [0; 20].to_vec();
        for option in options {
            bytes.extend([30, 4 + option % 9, option << 4, option]);
        }
        bytes[12] = ((bytes.len() / 4) as u8) << 4;
        _ = tcp::parse(&bytes);
    }

    #[test]
    fn truncated_and_damaged_packets_never_panic(
        segment in segment(),
        (source, destination) in addresses(),
        at in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = capture::packet(source, destination, &segment, usize::MAX).unwrap();
        for len in 0..bytes.len() {
            prop_assert!(ip::parse(&bytes[..len]).is_err());
        }
        let start = ip::header_len(destination);
        let header_len = start + tcp::HEADER_LEN + segment.options_len();
        for len in start..bytes.len() {
            let parsed = tcp::parse(&bytes[start..len]);
            prop_assert_eq!(parsed.is_ok(), len >= header_len);
        }
        let at = at.index(bytes.len());
        bytes[at] = value;
        _ = tcp::parse(&bytes[start..]);
        if let Ok(datagram) = ip::parse(&bytes) {
            _ = tcp::parse(datagram.payload);
        }
    }

    #[test]
    fn decoding_restores_an_encoded_ipv4_header(
        (source, destination) in any::<([u8; 4], [u8; 4])>(),
        (protocol, hop_limit, traffic_class, identification, dont_fragment) in any::<(u8, u8, u8, u16, bool)>(),
        payload in prop::collection::vec(any::<u8>(), 0..50),
        padding in 0usize..20,
    ) {
        let repr = ipv4::Repr {
            source: source.into(),
            destination: destination.into(),
            protocol,
            hop_limit,
            traffic_class,
            identification,
            dont_fragment,
            payload_len: payload.len(),
        };
        let mut bytes = Vec::new();
        repr.emit(&mut bytes).unwrap();
        bytes.extend(&payload);
        bytes.resize(bytes.len() + padding, 0);
        let packet = ipv4::Packet::new(&bytes).unwrap();
        prop_assert_eq!(packet.payload(), payload);
        prop_assert_eq!(ipv4::Repr::parse(&packet), Ok(repr));
    }

    #[test]
    fn decoding_restores_an_encoded_ipv6_header(
        (source, destination) in any::<([u8; 16], [u8; 16])>(),
        (protocol, hop_limit, traffic_class) in (200u8.., any::<u8>(), any::<u8>()),
        flow_label in 0u32..1 << 20,
        payload in prop::collection::vec(any::<u8>(), 0..50),
        padding in 0usize..20,
    ) {
        let repr = ipv6::Repr {
            source: source.into(),
            destination: destination.into(),
            protocol,
            hop_limit,
            traffic_class,
            flow_label,
            payload_len: payload.len(),
        };
        let mut bytes = Vec::new();
        repr.emit(&mut bytes).unwrap();
        bytes.extend(&payload);
        bytes.resize(bytes.len() + padding, 0);
        let packet = ipv6::Packet::new(&bytes).unwrap();
        prop_assert_eq!(packet.upper_layer(), Ok((protocol, payload.as_slice())));
        prop_assert_eq!(ipv6::Repr::parse(&packet), Ok(repr));
    }
}
