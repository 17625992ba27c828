//! Rules for the destinations of clients.
//!
//! Rules apply to resolved addresses, and the proxy connects to the checked address. A name that
//! resolves differently a moment later (DNS rebinding) has no effect.

use crate::destination::{Destination, Host, NameKind};
use crate::network::Network;
use crate::own_addresses::OwnAddresses;
use crate::special::{behind_nat64, embedded_ipv4, is_private, special_range};
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::net::{IpAddr, SocketAddr};

/// Port of SMTP: a range never includes it, so that no proxy relays mail by accident.
const SMTP_PORT: u16 = 25;

/// Rules for destination addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// Networks allowed although they are special-purpose or belong to this host.
    pub allow: Vec<Network>,
    /// Networks always denied, also embedded in IPv6 addresses; takes precedence over `allow`.
    pub deny: Vec<Network>,
    /// Allowed ports.
    pub ports: Ports,
    /// NAT64 prefixes of the network (RFC 6052): rules see the IPv4 address behind them.
    pub nat64: Vec<Network>,
    /// Allows private networks (RFC 1918, carrier-grade NAT and unique-local addresses), except the
    /// addresses of this host.
    pub private: bool,
}

/// Set of allowed ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(Vec<PortRange>);

/// Port, or range of ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRange(RangeInclusive<u16>);

/// Rejected destination, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub &'static str);

impl Rules {
    /// Checks a resolved destination.
    ///
    /// # Errors
    /// The rule that rejects the destination, or that it cannot be decided whether the address
    /// belongs to this host.
    pub fn check(&self, to: SocketAddr, own: &OwnAddresses) -> Result<(), Refused> {
        let address = to.ip().to_canonical();
        self.check_port(to.port())?;
        let embedded = || embedded_ipv4(address, &self.nat64).map(IpAddr::V4);
        let denied = |address| self.deny.iter().any(|network| network.contains(address));
        if denied(address) || embedded().any(denied) {
            return Err(Refused("denied network"));
        }
        if self.allow.iter().any(|network| network.contains(address)) {
            return Ok(());
        }
        if let Some(range) = self.special_range(address)
            && !(self.private && is_private(address))
        {
            return Err(Refused(range));
        }
        for one in core::iter::once(address).chain(embedded()) {
            match own.contains(one) {
                Some(false) => {}
                Some(true) => return Err(Refused("address of the proxy's own host")),
                None => return Err(Refused("the addresses of the proxy's own host are unknown")),
            }
        }
        Ok(())
    }

    /// Checks what is known of a destination whose name another proxy resolves: the port, and the
    /// addresses that follow from the name without a lookup.
    ///
    /// # Errors
    /// The rule that rejects the destination.
    pub fn check_unresolved(&self, to: &Destination, own: &OwnAddresses) -> Result<(), Refused> {
        self.check_port(to.port)?;
        let addresses = match &to.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => NameKind::of(name).addresses().unwrap_or_default(),
        };
        addresses.iter().try_for_each(|address| self.check(SocketAddr::new(*address, to.port), own))
    }

    /// Checks the port alone.
    ///
    /// # Errors
    /// The port is not allowed.
    pub fn check_port(&self, port: u16) -> Result<(), Refused> {
        if self.ports.contains(port) { Ok(()) } else { Err(Refused("port not allowed")) }
    }

    fn special_range(&self, address: IpAddr) -> Option<&'static str> {
        let mut behind = behind_nat64(address, &self.nat64).peekable();
        match behind.peek() {
            Some(_) => behind.find_map(|one| special_range(one.into())),
            None => special_range(address),
        }
    }
}

impl Ports {
    /// All ports, that of SMTP included.
    pub fn all() -> Self {
        Self(vec![PortRange(SMTP_PORT..=SMTP_PORT), PortRange(1..=u16::MAX)])
    }

    /// Whether a port is allowed. Port 25 has to be named by itself.
    pub fn contains(&self, port: u16) -> bool {
        self.0.iter().any(|PortRange(range)| {
            range.contains(&port) && (port != SMTP_PORT || range.start() == range.end())
        })
    }
}

/// Web ports, and ports above 1024.
impl Default for Ports {
    fn default() -> Self {
        Self(vec![PortRange(80..=80), PortRange(443..=443), PortRange(1025..=u16::MAX)])
    }
}

impl FromIterator<PortRange> for Ports {
    fn from_iter<T: IntoIterator<Item = PortRange>>(ranges: T) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl From<u16> for PortRange {
    fn from(port: u16) -> Self {
        Self(port..=port)
    }
}

/// A port such as `443`, or a range such as `8000-8100`.
impl FromStr for PortRange {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<u16>().ok()).flatten().filter(|&port| port > 0).ok_or(())
        };
        let range = port(first)?..=port(last)?;
        if range.is_empty() { Err(()) } else { Ok(Self(range)) }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> Vec<Network> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn at(address: &str, port: u16) -> SocketAddr {
        SocketAddr::new(address.parse().unwrap(), port)
    }

    fn own(addresses: &[&str]) -> OwnAddresses {
        OwnAddresses::of(networks(addresses))
    }

    #[test]
    fn deny_takes_precedence_over_allow() {
        let rules = Rules {
            allow: networks(&["10.1.0.0/16", "8.8.8.0/24"]),
            deny: networks(&["10.1.2.0/24", "9.9.9.9"]),
            ports: [80, 443].map(PortRange::from).into_iter().collect(),
            ..Rules::default()
        };
        let own = own(&["0.0.0.0/0"]);
        let check = |address, port| rules.check(at(address, port), &own);
        assert_eq!(check("10.1.1.1", 80), Ok(()));
        assert_eq!(check("::ffff:10.1.1.1", 80), Ok(()));
        assert_eq!(check("10.1.2.1", 80), Err(Refused("denied network")));
        assert_eq!(check("::ffff:10.1.2.1", 80), Err(Refused("denied network")));
        assert_eq!(check("10.2.0.1", 80), Err(Refused("private network (RFC 1918)")));
        assert_eq!(check("10.1.1.1", 25), Err(Refused("port not allowed")));
        assert_eq!(check("8.8.8.8", 443), Ok(()), "allowed although it is of this host");
        assert_eq!(check("8.8.4.4", 443), Err(Refused("address of the proxy's own host")));
        assert_eq!(rules.check(at("8.8.4.4", 443), &OwnAddresses::of(Vec::new())), Ok(()));
    }

    #[test]
    fn deny_rules_see_through_every_embedding() {
        let rules = Rules {
            allow: networks(&["64:ff9b:1::/48", "2001::/32", "::/96", "::ffff:0:0:0/96"]),
            deny: networks(&["8.8.8.0/24"]),
            nat64: networks(&["2001:db8:64::/96"]),
            ..Rules::default()
        };
        let own = own(&["9.9.9.9"]);
        for address in [
            "8.8.8.8",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::8.8.8.8",
            "64:ff9b:1:808:8:800::",
            "2002:808:808::1",
            "2001:0:808:808::1",
            "2001:0:101:101::f7f7:f7f7",
            "2606:4700::5efe:8.8.8.8",
            "2001:db8:64::8.8.8.8",
        ] {
            assert_eq!(rules.check(at(address, 443), &own), Err(Refused("denied network")), "{address}");
        }
        for address in ["64:ff9b::9.9.9.9", "2002:909:909::1", "2001:db8:64::9.9.9.9", "2606::5efe:9.9.9.9"] {
            let refused = Err(Refused("address of the proxy's own host"));
            assert_eq!(rules.check(at(address, 443), &own), refused, "{address}");
        }
        let inside = Err(Refused("private network (RFC 1918)"));
        assert_eq!(rules.check(at("2001:db8:64::10.0.0.1", 443), &own), inside);
        for address in ["2001:db8:64::1.1.1.1", "64:ff9b::1.1.1.1", "2606:4700::8.8.8.8"] {
            assert_eq!(rules.check(at(address, 443), &own), Ok(()), "{address}");
        }
    }

    #[test]
    fn local_nat64_prefix_is_classified_by_its_configured_length() {
        let rules = Rules {
            deny: networks(&["9.9.9.0/24"]),
            nat64: networks(&["64:ff9b:1::/96", "64:ff9b:1:2::/64"]),
            ..Rules::default()
        };
        let own = own(&["8.8.4.4"]);
        let check = |address| rules.check(at(address, 443), &own).map_err(|refused| refused.0);
        for address in ["64:ff9b:1::8.8.8.8", "64:ff9b:1:2:8:808:800:0"] {
            assert_eq!(check(address), Ok(()), "{address}");
        }
        assert_eq!(check("64:ff9b:1::10.0.0.1"), Err("private network (RFC 1918)"));
        assert_eq!(check("64:ff9b:1:2:a:0:100:0"), Err("private network (RFC 1918)"));
        assert_eq!(check("64:ff9b:1::8.8.4.4"), Err("address of the proxy's own host"));
        assert_eq!(check("64:ff9b:1::9.9.9.9"), Err("denied network"));
        // Each length counts for `deny`: /48 here.
        assert_eq!(check("64:ff9b:1:909:9:900::"), Err("denied network"));
        assert_eq!(check("64:ff9b:1:1::8.8.8.8"), Err("local NAT64 (64:ff9b:1::/48)"));
    }

    #[test]
    fn private_networks_can_be_allowed_without_this_host() {
        let rules = Rules { private: true, ..Rules::default() };
        let (none, all) = (OwnAddresses::of(Vec::new()), own(&["0.0.0.0/0", "::/0"]));
        for address in ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "8.8.8.8"] {
            assert_eq!(rules.check(at(address, 80), &none), Ok(()), "{address}");
            assert!(rules.check(at(address, 80), &all).is_err(), "{address}");
        }
        for address in ["127.0.0.1", "0.0.0.0", "169.254.169.254", "100.128.0.1", "224.0.0.1", "::1"] {
            let allowed = rules.check(at(address, 80), &none).is_ok();
            assert_eq!(allowed, address == "100.128.0.1", "{address}");
        }
    }

    #[test]
    fn destination_is_refused_while_own_addresses_are_unknown() {
        let unknown = OwnAddresses::default();
        let refused = Err(Refused("the addresses of the proxy's own host are unknown"));
        assert_eq!(Rules::default().check(at("8.8.8.8", 443), &unknown), refused);
        let rules = Rules { allow: networks(&["8.8.8.8"]), ..Rules::default() };
        assert_eq!(rules.check(at("8.8.8.8", 443), &unknown), Ok(()), "allowed in any case");
    }

    #[test]
    fn default_ports_are_those_of_the_web_and_above_1024() {
        let ports = Ports::default();
        for port in [80, 443, 1025, 8080, 65535] {
            assert!(ports.contains(port), "{port}");
        }
        for port in [1, 22, 25, 79, 81, 442, 444, 587, 1024] {
            assert!(!ports.contains(port), "{port}");
        }
        let of =
            |texts: &[&str]| texts.iter().map(|text| text.parse::<PortRange>().unwrap()).collect::<Ports>();
        assert!(of(&["1-65535"]).contains(22) && !of(&["1-65535"]).contains(25), "SMTP is not named");
        assert!(of(&["1-65535", "25"]).contains(25) && Ports::all().contains(25));
        for text in ["", "0", "65536", "2-1", "1-", "-1", "1-2-3", "a", "+1", " 1"] {
            assert_eq!(text.parse::<PortRange>(), Err(()), "{text}");
        }
    }

    #[test]
    fn unresolved_destination_is_checked_as_far_as_it_is_known() {
        let rules = Rules { deny: networks(&["8.8.8.0/24"]), ..Rules::default() };
        let own = own(&["9.9.9.9"]);
        let check = |text: &str| rules.check_unresolved(&text.parse().unwrap(), &own).map_err(|one| one.0);
        assert_eq!(check("example.org:443"), Ok(()), "the next proxy resolves it");
        assert_eq!(check("example.org:25"), Err("port not allowed"));
        assert_eq!(check("8.8.8.8:443"), Err("denied network"));
        assert_eq!(check("[64:ff9b::808:808]:443"), Err("denied network"));
        assert_eq!(check("0x08080808:443"), Err("denied network"));
        assert_eq!(check("10.1.2.3:443"), Err("private network (RFC 1918)"));
        assert_eq!(check("127.1:443"), Err("loopback"));
        assert_eq!(check("a.localhost:443"), Err("loopback"));
        assert_eq!(check("9.9.9.9:443"), Err("address of the proxy's own host"));
    }
}
