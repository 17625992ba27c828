use super::*;
use radio::InterfaceKind;

fn rule(pattern: &str) -> InterfaceRule {
    InterfaceRule { pattern: pattern.to_owned(), kind: InterfaceKind::Wifi, profile: None, allowance: None }
}

fn link(index: u32, name: &str, running: bool) -> Link {
    let stats = linux::route::LinkStats::default();
    Link { index, name: name.to_owned(), up: true, running, mtu: 1500, hardware: 1, stats }
}

fn address(index: u32, text: &str, temporary: bool) -> Address {
    let address: IpAddr = text.parse().unwrap();
    Address {
        index,
        address,
        prefix: 24,
        scope: Scope::Global,
        tentative: false,
        temporary,
        deprecated: false,
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn interface_keeps_position_while_absent() {
    let rules = [rule("wlan*"), rule("lte0")];
    let mut host = Host::new(&rules);
    assert_eq!(host.managed().len(), 1, "the rule without wildcards");
    host.set(vec![link(1, "lo", true), link(2, "wlan0", true)], vec![address(2, "10.0.0.2", false)]);
    assert!(host.update_managed(Instant::ZERO, &rules));
    let wlan = host.managed()[1].clone();
    assert_eq!((wlan.rule, wlan.index, wlan.is_up()), (0, Some(2), true));
    assert_eq!(wlan.addresses, [Some(ip("10.0.0.2")), None]);

    host.apply(Change::LinkGone(link(2, "wlan0", false)));
    assert!(!host.update_managed(Instant::from_secs(1), &rules));
    let away = &host.managed()[1];
    assert_eq!((away.index, away.is_up(), away.is_attached(Instant::from_secs(1))), (None, false, false));
    assert_eq!(away.addresses, [None, None]);

    host.apply(Change::Link(link(5, "wlan0", true)));
    host.apply(Change::Address(address(5, "10.9.0.7", false)));
    assert!(!host.update_managed(Instant::from_secs(2), &rules), "known interface");
    let back = &host.managed()[1];
    assert_eq!((back.index, back.is_up(), back.addresses), (Some(5), true, [Some(ip("10.9.0.7")), None]));
    assert!(!host.apply(Change::Overrun));
}

#[test]
fn brief_link_loss_keeps_endpoints() {
    let rules = [rule("wlan0")];
    let mut host = Host::new(&rules);
    host.set(vec![link(2, "wlan0", true)], vec![address(2, "10.0.0.2", false)]);
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].next_change(Instant::ZERO), None);
    host.apply(Change::Link(link(2, "wlan0", false)));
    let lost = Instant::from_secs(10);
    host.update_managed(lost, &rules);
    let one = &host.managed()[0];
    assert!(!one.is_up(), "the policy sees the loss at once");
    assert_eq!(one.next_change(lost), Some(lost + LINK_LOSS_GRACE));
    assert!(one.is_attached(lost) && !one.is_attached(lost + LINK_LOSS_GRACE));
    assert_eq!(one.next_change(lost + LINK_LOSS_GRACE), None);
}

#[test]
fn interface_set_down_loses_its_endpoints_at_once() {
    let rules = [rule("wlan0")];
    let mut host = Host::new(&rules);
    host.set(vec![link(2, "wlan0", true)], vec![address(2, "10.0.0.2", false)]);
    host.update_managed(Instant::ZERO, &rules);
    host.apply(Change::Link(link(2, "wlan0", false)));
    let lost = Instant::from_secs(10);
    host.update_managed(lost, &rules);
    assert!(host.managed()[0].is_attached(lost), "the carrier is lost");
    host.apply(Change::Link(Link { up: false, ..link(2, "wlan0", false) }));
    host.update_managed(lost, &rules);
    assert!(!host.managed()[0].is_attached(lost));
    assert_eq!(host.managed()[0].next_change(lost), None);
}

#[test]
fn temporary_address_is_preferred_and_kept() {
    let rules = [rule("wlan0")];
    let mut host = Host::new(&rules);
    let unsure = Address { tentative: true, ..address(2, "2001:db8::3", true) };
    let local = Address { scope: Scope::Link, ..address(2, "fe80::1", false) };
    host.set(
        vec![link(2, "wlan0", true)],
        vec![local, address(2, "2001:db8::1", false), unsure, address(9, "10.0.0.9", false)],
    );
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, Some(ip("2001:db8::1"))]);
    // The address stays while it exists, since subflows use it.
    host.apply(Change::Address(address(2, "2001:db8::3", true)));
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, Some(ip("2001:db8::1"))]);
    host.apply(Change::AddressGone(address(2, "2001:db8::1", false)));
    host.apply(Change::Address(address(2, "2001:db8::4", false)));
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, Some(ip("2001:db8::3"))], "temporary address preferred");
}

#[test]
fn deprecated_address_gives_way_to_a_preferred_one() {
    let rules = [rule("wlan0")];
    let mut host = Host::new(&rules);
    let old = Address { deprecated: true, ..address(2, "2001:db8::1", true) };
    host.set(vec![link(2, "wlan0", true)], vec![address(2, "2001:db8::1", true)]);
    host.update_managed(Instant::ZERO, &rules);
    host.apply(Change::Address(old));
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, Some(ip("2001:db8::1"))], "there is no other");
    host.apply(Change::Address(address(2, "2001:db8::2", false)));
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, Some(ip("2001:db8::2"))]);
    let mut host = Host::new(&rules);
    host.set(vec![link(2, "wlan0", true)], vec![old, address(2, "2001:db8::2", false)]);
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, Some(ip("2001:db8::2"))]);
}

#[test]
fn address_survives_a_change_of_its_netmask() {
    let rules = [rule("wlan0")];
    let mut host = Host::new(&rules);
    let before = address(2, "10.0.0.5", false);
    let after = Address { prefix: 16, ..before };
    host.set(vec![link(2, "wlan0", true)], vec![before]);
    host.apply(Change::Address(after));
    host.apply(Change::AddressGone(before));
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [Some(ip("10.0.0.5")), None]);
    host.apply(Change::Address(after));
    host.apply(Change::AddressGone(after));
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(host.managed()[0].addresses, [None, None]);
}

#[test]
fn new_interface_takes_the_place_of_an_absent_one_of_its_pattern() {
    let rules = [rule("enx*"), rule("wlan*"), rule("lte0")];
    let mut host = Host::new(&rules);
    host.set(vec![link(1, "enx0", true), link(2, "wlan0", true), link(3, "lte0", true)], Vec::new());
    host.update_managed(Instant::ZERO, &rules);
    let names = |host: &Host| host.managed().iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&host), ["lte0", "enx0", "wlan0"]);
    for gone in [link(1, "enx0", false), link(2, "wlan0", false), link(3, "lte0", false)] {
        host.apply(Change::LinkGone(gone));
    }
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(names(&host), ["lte0", "enx0", "wlan0"], "absent");
    for index in 4..9 {
        host.apply(Change::Link(link(index, &format!("enx{index}"), true)));
        assert!(host.update_managed(Instant::ZERO, &rules));
        assert_eq!(names(&host), ["lte0", &format!("enx{index}"), "wlan0"]);
        host.apply(Change::LinkGone(link(index, "", false)));
    }
    host.set(vec![link(9, "enx9", true), link(10, "enx10", true), link(11, "lte0", true)], Vec::new());
    host.update_managed(Instant::ZERO, &rules);
    assert_eq!(names(&host), ["lte0", "enx9", "wlan0", "enx10"]);
}

#[test]
fn first_matching_rule_applies_to_exact_names() {
    let rules = [rule("w*"), rule("wwan0"), rule("lte0")];
    let mut host = Host::new(&rules);
    host.set(vec![link(2, "wwan0", true), link(3, "lte0", true)], Vec::new());
    host.update_managed(Instant::ZERO, &rules);
    let followed: Vec<_> = host.managed().iter().map(|one| (&*one.name, one.rule)).collect();
    assert_eq!(followed, [("wwan0", 0), ("lte0", 2)]);
    assert_eq!(host.unmatched(&rules), [1]);
}

#[test]
fn pattern_without_interface_is_unmatched() {
    let rules = [rule("wlan*"), rule("wwan0"), rule("wlan0")];
    let mut host = Host::new(&rules);
    host.set(vec![link(1, "lo", true), link(2, "wlan0", true)], Vec::new());
    assert_eq!(host.unmatched(&rules), [1, 2], "the first matching rule applies");
    assert_eq!(host.link_names(), ["lo", "wlan0"]);
    host.apply(Change::Link(link(3, "wwan0", false)));
    assert_eq!(host.unmatched(&rules), [2]);
}
