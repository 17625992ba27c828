use super::endpoint::AddressAttributes;
use super::{ADDR, ConnectionEvent, Endpoint, Event, Flags, Limits, Reset, SubflowEvent};
use crate::netlink::{GenericHeader, Messages, Request};
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

fn payload(command: u8, fill: impl FnOnce(&mut Request)) -> Vec<u8> {
    let mut request = Request::new();
    fill(request.start_generic(32, 0, GenericHeader { command, version: 1 }));
    let bytes = request.finish(1).expect("short request").to_vec();
    Messages::new(&bytes).next().expect("one message").expect("well-formed message").payload.to_vec()
}

fn subflow(command: u8, one: &SubflowEvent) -> Vec<u8> {
    payload(command, |request| {
        request.u32(1, one.token).u8(3, one.local_id).u8(4, one.remote_id);
        for (kind, address) in [(5, one.local.ip()), (7, one.remote.ip())] {
            request.address(if address.is_ipv4() { kind } else { kind + 1 }, address);
        }
        request.be16(9, one.local.port()).be16(10, one.remote.port()).u8(11, one.backup.into());
        request.u32(15, one.device);
        if let Some(error) = one.error {
            request.u8(12, error);
        }
        if let Some(timeout) = one.timeout {
            request.u32(14, timeout);
        }
        if let Some(reset) = one.reset {
            request.u32(16, reset.reason).u32(17, reset.flags);
        }
    })
}

#[test]
fn event_without_mandatory_attributes_is_malformed() {
    for command in [1, 2, 3, 6, 7, 10, 11, 13, 15, 16] {
        assert!(Event::parse(&payload(command, |_| {})).is_err(), "{command}");
    }
    assert_eq!(Event::parse(&payload(99, |_| {})), Ok(Event::Unknown(99)));
    assert!(Event::parse(&[1, 1, 0]).is_err());
}

#[test]
fn server_side_attribute_and_flag_are_equivalent() {
    let one = |flags: u16, server: Option<u8>| {
        let bytes = payload(2, |request| {
            request.u32(1, 5).address(5, IpAddr::from([10, 0, 0, 1])).address(7, IpAddr::from([10, 0, 0, 2]));
            request.be16(9, 80).be16(10, 4000).u16(13, flags);
            if let Some(server) = server {
                request.u8(18, server);
            }
        });
        match Event::parse(&bytes) {
            Ok(Event::Established(ConnectionEvent { server, deny_join, .. })) => (server, deny_join),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(one(0, None), (false, false));
    assert_eq!(one(0, Some(1)), (true, false));
    assert_eq!(one(2, None), (true, false));
    assert_eq!(one(1, Some(0)), (false, true));
}

proptest! {
    #[test]
    fn endpoint_round_trips(id in 1u8.., address: IpAddr, port: u16, device: u32, bits in 0u32..64) {
        let built = Endpoint { id, address, port, device, flags: Flags::from_bits(bits) };
        prop_assert_eq!(built.flags.bits(), bits);
        let bytes = payload(1, |request| {
            request.nest(ADDR, |nest| AddressAttributes::from(&built).emit(nest));
        });
        prop_assert_eq!(Endpoint::parse(&bytes), Ok(built));
    }

    #[test]
    fn subflow_event_round_trips(
        token: u32, local: SocketAddr, remote: SocketAddr, ids: (u8, u8), backup: bool, device: u32,
        error in prop::option::of(1u8..), timeout: Option<u32>, reset: Option<(u32, u32)>,
    ) {
        let plain = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
        let one = SubflowEvent {
            token, local: plain(local), remote: plain(remote), local_id: ids.0, remote_id: ids.1, backup,
            device, error, timeout, reset: reset.map(|(reason, flags)| Reset { reason, flags }),
        };
        prop_assert_eq!(Event::parse(&subflow(10, &one)), Ok(Event::SubflowEstablished(one)));
        prop_assert_eq!(Event::parse(&subflow(11, &one)), Ok(Event::SubflowClosed(one)));
        prop_assert_eq!(Event::parse(&subflow(13, &one)), Ok(Event::Priority(one)));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (Event::parse(&bytes), Endpoint::parse(&bytes), Limits::parse(&bytes));
    }
}
