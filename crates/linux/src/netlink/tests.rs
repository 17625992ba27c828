use super::{Ack, Attribute, Attributes, GenericHeader, Header, Message, Messages, Request, kind};
use proptest::prelude::*;
use std::net::IpAddr;

/// Acknowledgement with NETLINK_CAP_ACK and NETLINK_EXT_ACK (netlink(7)).
#[test]
fn rejection_carries_kernel_message() {
    let mut bytes = Vec::new();
    let mut attribute = b"address not found\0".to_vec();
    attribute.resize(20, 0);
    bytes.extend_from_slice(&(16 + 4 + 16 + 24u32).to_ne_bytes());
    bytes.extend_from_slice(&kind::ERROR.to_ne_bytes());
    bytes.extend_from_slice(&(kind::CAPPED | kind::ACK_ATTRIBUTES).to_ne_bytes());
    bytes.extend_from_slice(&[1, 0, 0, 0, 9, 0, 0, 0]);
    bytes.extend_from_slice(&(-22i32).to_ne_bytes());
    bytes.extend_from_slice(&[0; 16]);
    bytes.extend_from_slice(&22u16.to_ne_bytes());
    bytes.extend_from_slice(&1u16.to_ne_bytes());
    bytes.extend_from_slice(&attribute);
    let message = Messages::new(&bytes).next().unwrap().unwrap();
    let ack = Ack::parse(&message).unwrap();
    assert_eq!((ack.errno, ack.message), (22, "address not found"));
}

#[test]
fn request_has_kernel_layout() {
    let mut request = Request::new();
    request.start_generic(0x20, kind::ACK, GenericHeader { command: 7, version: 1 });
    request.nest(1, |address| {
        address.u16(1, 2).u8(2, 5).u32(6, 4);
    });
    let expected: [u8; 48] = [
        48, 0, 0, 0, 0x20, 0, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0, // header
        7, 1, 0, 0, // generic header
        28, 0, 1, 0x80, // nested
        6, 0, 1, 0, 2, 0, 0, 0, // family
        5, 0, 2, 0, 5, 0, 0, 0, // identifier
        8, 0, 6, 0, 4, 0, 0, 0, // flags
    ];
    if cfg!(target_endian = "little") {
        assert_eq!(request.finish(9).unwrap(), expected);
    }
}

#[test]
fn truncated_input_yields_one_error() {
    let bytes = [8, 0, 1, 0, 1, 2, 3, 4, 9, 0, 2, 0, 1];
    let read: Vec<_> = Attributes::new(&bytes).map(|attribute| attribute.is_ok()).collect();
    if cfg!(target_endian = "little") {
        assert_eq!(read, [true, false]);
    }
    assert!(Messages::new(&[0; 15]).next().unwrap().is_err());
    assert!(Messages::new(&[0; 16]).next().unwrap().is_err());
    assert!(Messages::new(&[]).next().is_none());
}

#[test]
fn oversized_attribute_fails() {
    let mut request = Request::new();
    assert!(request.finish(1).is_err());
    request.start(16, 0).attribute(1, &vec![0; 65_532]);
    assert!(request.finish(1).is_err());
    request.start(16, 0).nest(1, |inner| {
        inner.attribute(1, &vec![0; 65_000]).attribute(2, &[0; 600]);
    });
    assert!(request.finish(1).is_err());
    request.start(16, 0);
    assert!(request.finish(1).is_ok());
}

#[test]
fn done_message_needs_no_error_number() {
    let header = Header { length: 16, kind: kind::DONE, flags: 0, sequence: 1, port: 1 };
    let ack = Ack::parse(&Message { header, payload: &[] }).unwrap();
    assert_eq!(ack.errno, 0);
    let error = Header { kind: kind::ERROR, ..header };
    assert!(Ack::parse(&Message { header: error, payload: &[0; 3] }).is_err());
}

proptest! {
    #[test]
    fn built_messages_parse_back(
        kind in 16u16.., flags: u16, sequence: u32,
        values in prop::collection::vec((0u16..0x4000, prop::collection::vec(any::<u8>(), 0..40)), 0..8),
        number: u32, port: u16, address: IpAddr, text in "[a-z]{0,20}",
    ) {
        let mut request = Request::new();
        request.start(kind, flags);
        for (kind, value) in &values {
            request.attribute(*kind, value);
        }
        request.nest(7, |inner| {
            inner.u32(1, number).be16(2, port).address(3, address).text(4, &text);
        });
        let bytes = request.finish(sequence).unwrap().to_vec();
        let messages: Vec<_> = Messages::new(&bytes).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(messages.len(), 1);
        let header = messages[0].header;
        prop_assert_eq!((header.kind, header.sequence, header.port), (kind, sequence, 0));
        prop_assert_eq!(header.flags, flags | kind::REQUEST);
        let all: Vec<_> = Attributes::new(messages[0].payload).collect::<Result<_, _>>().unwrap();
        let (nested, plain) = all.split_last().unwrap();
        let read: Vec<_> = plain.iter().map(|a: &Attribute<'_>| (a.kind, a.value.to_vec())).collect();
        prop_assert_eq!(read, values);
        let inner: Vec<_> = nested.nested().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(inner[0].u32(), Ok(number));
        prop_assert_eq!(inner[1].be16(), Ok(port));
        prop_assert_eq!(inner[2].address(), Ok(address));
        prop_assert_eq!(inner[3].text(), Ok(text.as_str()));
    }

    #[test]
    fn arbitrary_bytes_terminate(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for message in Messages::new(&bytes).flatten() {
            let _ = Ack::parse(&message);
        }
        let count = Attributes::new(&bytes).count();
        prop_assert!(count <= bytes.len() / 4 + 1);
    }
}
