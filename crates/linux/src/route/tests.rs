use super::{
    Address, IFLA_IFNAME, Link, LinkStats, NEW_ADDRESS, NEW_LINK, NEW_ROUTE, RouteEntry, Scope, parse_stats,
};
use crate::netlink::{Messages, Request, kind};
use proptest::prelude::*;
use std::net::IpAddr;

fn payload(request: &mut Request) -> Vec<u8> {
    let bytes = request.finish(1).expect("short request").to_vec();
    Messages::new(&bytes).next().expect("one message").expect("well-formed message").payload.to_vec()
}

/// Each counter has a distinct value; all others of the structure are absent.
#[test]
fn counters_have_kernel_offsets() {
    let counters: Vec<u8> = (1..=25u64).flat_map(u64::to_ne_bytes).collect();
    let mut request = Request::new();
    request
        .start(92, 0)
        .raw(&[0; 4])
        .raw(&7u32.to_ne_bytes())
        .raw(&1u32.to_ne_bytes())
        .attribute(1, &counters);
    let expected =
        LinkStats { rx_packets: 1, tx_packets: 2, rx_bytes: 3, tx_bytes: 4, rx_dropped: 7, tx_dropped: 8 };
    assert_eq!(parse_stats(&payload(&mut request)), Ok((7, expected)));
}

#[test]
fn address_after_its_preferred_lifetime_is_deprecated() {
    let built = Address::new(7, "2001:db8::1".parse().unwrap(), 64);
    for (flags, deprecated) in [(0, false), (libc::IFA_F_DEPRECATED, true)] {
        let mut request = Request::new();
        built.emit(&mut request, NEW_ADDRESS, kind::ACK);
        request.u32(libc::IFA_FLAGS, flags);
        let parsed = Address::parse(&payload(&mut request));
        assert_eq!(parsed, Ok(Some(Address { deprecated, ..built })));
    }
}

#[test]
fn link_name_may_be_any_bytes() {
    let mut request = Request::new();
    request.start(NEW_LINK, 0).raw(&[0; 16]).attribute(IFLA_IFNAME, b"wl\xff0\0");
    assert_eq!(Link::parse(&payload(&mut request)).unwrap().name, "wl\u{fffd}0");
}

proptest! {
    #[test]
    fn address_round_trips(index: u32, address: IpAddr, prefix in 0u8..=32) {
        let built = Address::new(index, address, prefix);
        let mut request = Request::new();
        built.emit(&mut request, NEW_ADDRESS, kind::ACK);
        prop_assert_eq!(Address::parse(&payload(&mut request)), Ok(Some(built)));
    }

    #[test]
    fn route_round_trips(
        to: IpAddr, prefix in 1u8..=32, device in 1u32.., via: Option<IpAddr>, source: Option<IpAddr>,
        metric: u32,
    ) {
        let built = RouteEntry { to, prefix, device, via, source, metric };
        let mut request = Request::new();
        built.emit(&mut request, NEW_ROUTE, kind::ACK, libc::RT_TABLE_MAIN);
        prop_assert_eq!(RouteEntry::parse(&payload(&mut request)), Ok(Some(built)));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (Link::parse(&bytes), Address::parse(&bytes), RouteEntry::parse(&bytes), parse_stats(&bytes));
        let _ = super::parse_local_route(&bytes);
    }
}

#[test]
fn scope_number_round_trips() {
    for number in 0..=255u8 {
        assert_eq!(u8::from(Scope::from(number)), number);
    }
}
