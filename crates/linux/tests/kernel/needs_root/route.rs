use crate::{in_new_namespace, new_namespace, run_in};
use std::net::IpAddr;
use std::time::Duration;
use tandem_linux::route::{Change, LocalNetworks, Monitor, Route, RouteEntry, Scope};
use tandem_linux::tun::Tun;

fn address(text: &str) -> IpAddr {
    text.parse().expect("valid address")
}

#[test]
#[ignore = "needs root"]
fn link_attributes_change() {
    in_new_namespace(|| {
        let mut route = Route::open()?;
        let _tun = Tun::create("wlan0")?;
        let names: Vec<_> = route.links()?.into_iter().map(|link| link.name).collect();
        assert!(names.contains(&"lo".to_owned()) && names.contains(&"wlan0".to_owned()), "{names:?}");
        let link = route.link("wlan0")?;
        assert_eq!((link.up, link.running, link.mtu, link.hardware), (false, false, 1500, 65534));
        route.set_up(link.index, true)?;
        route.set_mtu(link.index, 1400)?;
        route.set_queue_length(link.index, 77)?;
        let changed = route.link("wlan0")?;
        assert_eq!((changed.up, changed.running, changed.mtu), (true, true, 1400));
        route.set_up(link.index, false)?;
        assert!(!route.link("wlan0")?.up);
        route.remove_link(link.index)?;
        assert_eq!(route.link("wlan0").unwrap_err().errno(), Some(19));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn addresses_and_routes_are_added_and_removed() {
    in_new_namespace(|| {
        let mut route = Route::open()?;
        let _tun = Tun::create("tun0")?;
        let index = route.link("tun0")?.index;
        route.set_up(index, true)?;
        for (text, prefix) in [("10.1.0.2", 24), ("fd00:1::2", 64)] {
            route.add_address(index, address(text), prefix)?;
            let found = route.addresses()?.into_iter().find(|one| one.address == address(text)).unwrap();
            assert_eq!((found.index, found.prefix, found.scope), (index, prefix, Scope::Global));
            assert!(!found.tentative, "duplicate address detection is off");
            let again = route.add_address(index, address(text), prefix).unwrap_err();
            assert_eq!(again.errno(), Some(17), "{again}");
        }
        let to = |text, prefix, via: Option<&str>, source: Option<&str>, metric| RouteEntry {
            to: address(text),
            prefix,
            device: index,
            via: via.map(address),
            source: source.map(address),
            metric,
        };
        let entries = [
            to("10.9.0.1", 32, None, Some("10.1.0.2"), 50),
            to("0.0.0.0", 0, Some("10.1.0.1"), None, 100),
            to("10.8.0.0", 16, Some("fd00:1::1"), None, 7),
            to("fd00:9::", 64, Some("fd00:1::1"), Some("fd00:1::2"), 60),
            to("::", 0, None, None, 1024),
        ];
        for entry in &entries {
            route.add_route(entry)?;
            assert!(route.routes()?.contains(entry), "{entry:?} in {:?}", route.routes()?);
        }
        assert_eq!(route.add_route(&entries[0]).unwrap_err().errno(), Some(17));
        for entry in &entries {
            route.remove_route(entry)?;
            assert!(!route.routes()?.contains(entry), "{entry:?}");
        }
        assert_eq!(route.remove_route(&entries[0]).unwrap_err().errno(), Some(3));
        route.remove_address(index, address("10.1.0.2"), 24)?;
        route.remove_address(index, address("fd00:1::2"), 64)?;
        assert!(route.addresses()?.iter().all(|one| one.index != index || one.scope == Scope::Link));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn rejection_carries_kernel_message() {
    in_new_namespace(|| {
        let mut route = Route::open()?;
        let entry = RouteEntry {
            to: address("10.9.0.1"),
            prefix: 32,
            device: 1,
            via: Some(address("10.77.0.1")),
            source: None,
            metric: 0,
        };
        let error = route.add_route(&entry).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot add a route to 10.9.0.1/32: "), "{text}");
        assert!(text.contains("gateway"), "{text}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn link_counters_count_ip_packets() {
    in_new_namespace(|| {
        let mut route = Route::open()?;
        let before = route.stats(1)?;
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..10 {
            socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        }
        let after = route.stats(1)?;
        assert_eq!(after.tx_packets - before.tx_packets, 10);
        // Loopback counts IP packets, with IPv4 and UDP headers.
        assert_eq!(after.tx_bytes - before.tx_bytes, 10 * (20 + 8 + 1000));
        assert_eq!(after.rx_bytes, after.tx_bytes);
        assert_eq!(route.link("lo")?.stats, after, "RTM_GETLINK and RTM_GETSTATS agree");
        assert_eq!(route.stats(99).unwrap_err().errno(), Some(19));
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn monitor_reports_changes() {
    in_new_namespace(|| {
        let (mut route, mut monitor) = (Route::open()?, Monitor::open()?);
        assert_eq!(monitor.next(Duration::ZERO)?, None);
        let tun = Tun::create("lte0")?;
        let index = route.link("lte0")?.index;
        route.set_up(index, true)?;
        route.add_address(index, address("10.2.0.2"), 24)?;
        route.remove_address(index, address("10.2.0.2"), 24)?;
        route.set_up(index, false)?;
        drop(tun);
        let (mut log, mut up) = (Vec::new(), false);
        while let Some(change) = monitor.next(Duration::from_secs(5))? {
            match change {
                Change::Link(link) if link.index == index && link.up != up => {
                    up = link.up;
                    log.push(if up { "up" } else { "down" });
                }
                Change::Address(one) if one.address == address("10.2.0.2") => log.push("address"),
                Change::AddressGone(one) if one.address == address("10.2.0.2") => log.push("no address"),
                Change::LinkGone(link) if link.name == "lte0" => {
                    log.push("gone");
                    break;
                }
                Change::Overrun => panic!("few changes fit the buffer"),
                _ => {}
            }
        }
        assert_eq!(log, ["up", "address", "no address", "down", "gone"]);
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn local_networks_follow_addresses_and_local_routes() {
    in_new_namespace(|| {
        let (mut route, mut local) = (Route::open()?, LocalNetworks::open()?);
        let loopback = route.link("lo")?.index;
        local.drain()?;
        assert!(local.list()?.contains(&(address("127.0.0.0"), 8)));
        assert!(!local.drain()?, "a list changes nothing");
        let _tun = Tun::create("tun0")?;
        let index = route.link("tun0")?.index;
        route.set_up(index, true)?;
        // The second address in a network is a secondary one (IFA_F_SECONDARY).
        for text in ["10.1.0.2", "10.1.0.3"] {
            route.add_address(index, address(text), 24)?;
            assert!(local.drain()?, "{text}");
            assert!(local.list()?.contains(&(address(text), 32)), "{text}");
        }
        route.add_address(index, address("fd00:1::2"), 64)?;
        assert!(local.list()?.contains(&(address("fd00:1::2"), 128)));
        route.remove_address(index, address("10.1.0.3"), 24)?;
        assert!(local.drain()? && !local.list()?.contains(&(address("10.1.0.3"), 32)));
        route.deliver_locally(loopback)?;
        assert!(local.drain()?, "a route of type `local`");
        assert!(local.list()?.contains(&(address("0.0.0.0"), 0)));
        for _ in 0..2000 {
            route.add_address(index, address("10.1.0.9"), 24)?;
            route.remove_address(index, address("10.1.0.9"), 24)?;
        }
        assert!(local.drain()?, "an overrun counts as a change");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn monitor_reports_overrun() {
    in_new_namespace(|| {
        let (mut route, mut monitor) = (Route::open()?, Monitor::open()?);
        for _ in 0..2000 {
            route.set_mtu(1, 60_000)?;
            route.set_mtu(1, 65_536)?;
        }
        let mut overrun = false;
        while let Some(change) = monitor.next(Duration::ZERO)? {
            overrun |= change == Change::Overrun;
        }
        assert!(overrun);
        route.set_mtu(1, 60_000)?;
        let next = monitor.next(Duration::from_secs(5))?;
        assert!(matches!(next, Some(Change::Link(ref link)) if link.mtu == 60_000), "{next:?}");
        Ok(())
    });
}

#[test]
#[ignore = "needs root"]
fn veth_pair_spans_two_namespaces() {
    let (here, there) = (new_namespace(), new_namespace());
    run_in(&here, || {
        let mut route = Route::open()?;
        route.add_veth("a", "b", &there)?;
        let index = route.link("a")?.index;
        route.add_address(index, address("10.3.0.1"), 24)?;
        route.set_up(index, true)?;
        assert!(route.link("a")?.up && !route.link("a")?.running, "the peer is down");
        there.run(|| {
            let mut route = Route::open()?;
            let index = route.link("b")?.index;
            route.add_address(index, address("10.3.0.2"), 24)?;
            route.set_up(index, true)
        })?;
        crate::wait_until("the link is running", || Ok(route.link("a")?.running))
    });
}
