//! Destinations of clients, and the rules for them.
//!
//! Rules apply to resolved addresses, and the proxy connects to the checked address. A name that
//! resolves differently a moment later (DNS rebinding) has no effect.

use crate::network::Network;
use core::fmt;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Host name or address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// Lowercase name of letters, digits, `-`, `_` and `.`, of at most 253 bytes.
    Name(String),
    /// IP address.
    Address(IpAddr),
}

/// Host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

impl Host {
    /// Parses a name or an address; an IPv6 address needs brackets.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(text).ok()?;
        if let Some(inside) = text.strip_prefix('[') {
            return Some(Self::Address(IpAddr::V6(inside.strip_suffix(']')?.parse().ok()?)));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(IpAddr::V4(address)));
        }
        Self::name(text)
    }

    /// Parses a name.
    pub fn name(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_name = !text.is_empty() && text.len() <= 253 && text.bytes().all(fits);
        let labels = text.strip_suffix('.').unwrap_or(text);
        let whole = labels.split('.').all(|label| !label.is_empty() && label.len() <= 63);
        (is_name && whole).then(|| Self::Name(text.to_ascii_lowercase()))
    }
}

impl Destination {
    /// Parses `HOST:PORT`, or `HOST` if there is a default port.
    pub fn parse(text: &[u8], default_port: Option<u16>) -> Option<Self> {
        let bracket = text.iter().rposition(|&byte| byte == b']').unwrap_or(0);
        match text[bracket..].iter().position(|&byte| byte == b':') {
            Some(colon) => {
                let (host, port) = text.split_at(bracket + colon);
                Some(Self { host: Host::parse(host)?, port: port_number(&port[1..])? })
            }
            None => Some(Self { host: Host::parse(text)?, port: default_port? }),
        }
    }

    /// Whether it is on this host by its address, or by the name `localhost`.
    pub(crate) fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Address(address) => address.to_canonical().is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }

    /// Form for a request target or `Host`: omits the port if it is the default.
    pub fn authority(&self, default_port: u16) -> String {
        if self.port == default_port { self.host.to_string() } else { self.to_string() }
    }
}

fn port_number(text: &[u8]) -> Option<u16> {
    if text.is_empty() || text.len() > 5 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = text.iter().fold(0u32, |number, &digit| number * 10 + u32::from(digit - b'0'));
    u16::try_from(number).ok().filter(|&port| port != 0)
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl FromStr for Destination {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::parse(text.as_bytes(), None).ok_or(())
    }
}

/// Rules for destination addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// Networks allowed although they are special-purpose or belong to this host.
    pub allow: Vec<Network>,
    /// Networks always denied; takes precedence over `allow`.
    pub deny: Vec<Network>,
    /// Allowed ports; all if empty.
    pub ports: Vec<u16>,
    /// Allows private networks (RFC 1918, carrier-grade NAT and unique-local addresses), except the
    /// addresses of this host.
    pub private: bool,
}

/// Rejected destination, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub &'static str);

impl Rules {
    /// Checks a destination address. `is_local_address` returns whether the address belongs to this
    /// host.
    ///
    /// # Errors
    /// The rule that rejects the address.
    pub fn check(
        &self,
        address: IpAddr,
        port: u16,
        is_local_address: impl FnOnce() -> bool,
    ) -> Result<(), Refused> {
        let address = address.to_canonical();
        if !self.ports.is_empty() && !self.ports.contains(&port) {
            return Err(Refused("port not allowed"));
        }
        if self.deny.iter().any(|network| network.contains(address)) {
            return Err(Refused("denied network"));
        }
        if self.allow.iter().any(|network| network.contains(address)) {
            return Ok(());
        }
        match special_range(address) {
            Some(range) if !(self.private && is_private(address)) => Err(Refused(range)),
            _ if is_local_address() => Err(Refused("address of the proxy's own host")),
            _ => Ok(()),
        }
    }

    /// Checks a destination address for the host of the calling thread.
    ///
    /// # Errors
    /// The rule that rejects the address.
    pub fn check_from_here(&self, to: SocketAddr) -> Result<(), Refused> {
        self.check(to.ip(), to.port(), || is_local_address(to.ip()))
    }
}

/// Whether an address belongs to this host: the route to it then uses it as the source.
fn is_local_address(address: IpAddr) -> bool {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let source = || {
        // Connecting a UDP socket sends nothing; it only selects a route.
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    source().is_ok_and(|source| source.ip() == address)
}

/// Addresses of private networks.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            address.is_private() || matches!(address.octets(), [100, second, ..] if second & 0xc0 == 64)
        }
        IpAddr::V6(address) => address.segments()[0] & 0xfe00 == 0xfc00,
    }
}

/// Special-purpose range of an address (RFC 6890 and its registries; RFC 4291, section 2.4); `None`
/// for public addresses. Embedded IPv4 addresses are classified by themselves.
pub fn special_range(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "this network (0.0.0.0/8)",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "private network (RFC 1918)",
        [100, 64..=127, ..] => "carrier-grade NAT (100.64.0.0/10)",
        [127, ..] => "loopback",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] => "IETF protocol assignments (192.0.0.0/24)",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "documentation (RFC 5737)",
        [192, 88, 99, _] => "6to4 relays (192.88.99.0/24)",
        [198, 18..=19, ..] => "benchmarking (198.18.0.0/15)",
        [224..=239, ..] => "multicast",
        [240..=255, ..] => "reserved (240.0.0.0/4)",
        _ => return None,
    })
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    let [a, b, c, d, rest @ ..] = address.segments();
    let embedded = |high: u16, low: u16| special_v4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match [a, b, c, d] {
        [0, 0, 0, 0] if address.is_loopback() => Some("loopback"),
        // IPv4-compatible and unspecified. IPv4-mapped addresses were canonicalized before.
        [0, 0, 0, 0] => Some("reserved (::/64)"),
        // NAT64 (RFC 6052): classify the embedded IPv4 address.
        [0x64, 0xff9b, 0, 0] if rest[..2] == [0, 0] => embedded(rest[2], rest[3]),
        [0x64, 0xff9b, 1, _] => Some("local NAT64 (64:ff9b:1::/48)"),
        [0xfc00..=0xfdff, ..] => Some("unique-local (fc00::/7)"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("site-local (fec0::/10)"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        // 6to4 (RFC 3056): classify the embedded IPv4 address.
        [0x2002, high, low, _] => embedded(high, low),
        // Includes Teredo (2001::/32), whose embedded IPv4 address is chosen by its user.
        [0x2001, 0..=0x1ff, ..] => Some("IETF protocol assignments (2001::/23)"),
        [0x2001, 0xdb8, ..] => Some("documentation (2001:db8::/32)"),
        [0x3fff, 0..=0xfff, ..] => Some("documentation (3fff::/20)"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved (not in 2000::/3)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn special_ranges_are_rejected_up_to_their_bounds() {
        let ranges = [
            ("0.0.0.0", "0.255.255.255"),
            ("10.0.0.0", "10.255.255.255"),
            ("100.64.0.0", "100.127.255.255"),
            ("127.0.0.0", "127.255.255.255"),
            ("169.254.0.0", "169.254.255.255"),
            ("172.16.0.0", "172.31.255.255"),
            ("192.0.0.0", "192.0.0.255"),
            ("192.0.2.0", "192.0.2.255"),
            ("192.88.99.0", "192.88.99.255"),
            ("192.168.0.0", "192.168.255.255"),
            ("198.18.0.0", "198.19.255.255"),
            ("198.51.100.0", "198.51.100.255"),
            ("203.0.113.0", "203.0.113.255"),
            ("224.0.0.0", "255.255.255.255"),
            ("::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ];
        for (first, last) in ranges {
            assert!(
                special_range(ip(first)).is_some() && special_range(ip(last)).is_some(),
                "{first} to {last}"
            );
        }
        let public = [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7::1",
            "2001:db9::1",
            "2606:4700::1111",
            "3ffe::1",
            "3fff:1000::",
        ];
        for address in public {
            assert_eq!(special_range(ip(address)), None, "{address}");
        }
    }

    #[test]
    fn embedded_ipv4_addresses_are_classified_by_themselves() {
        for prefix in ["::ffff:", "64:ff9b::"] {
            for inside in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1"] {
                assert!(special_range(ip(&format!("{prefix}{inside}"))).is_some(), "{prefix}{inside}");
            }
            assert_eq!(special_range(ip(&format!("{prefix}8.8.8.8"))), None);
        }
        assert!(special_range(ip("2002:7f00:1::")).is_some() && special_range(ip("2002:a00:1::1")).is_some());
        assert!(special_range(ip("2002:c0a8:101::1")).is_some());
        assert_eq!(special_range(ip("2002:808:808::1")), None);
        // IPv4-compatible, Teredo and local NAT64 addresses are always special.
        for address in ["::8.8.8.8", "2001:0:808:808::", "64:ff9b:1::808:808"] {
            assert!(special_range(ip(address)).is_some(), "{address}");
        }
    }

    #[test]
    fn deny_takes_precedence_over_allow() {
        let networks = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let rules = Rules {
            allow: networks(&["10.1.0.0/16", "8.8.8.0/24"]),
            deny: networks(&["10.1.2.0/24", "9.9.9.9"]),
            ports: vec![80, 443],
            private: false,
        };
        let check = |address, port| rules.check(ip(address), port, || true);
        assert_eq!(check("10.1.1.1", 80), Ok(()));
        assert_eq!(check("::ffff:10.1.1.1", 80), Ok(()));
        assert_eq!(check("10.1.2.1", 80), Err(Refused("denied network")));
        assert_eq!(check("::ffff:10.1.2.1", 80), Err(Refused("denied network")));
        assert_eq!(check("10.2.0.1", 80), Err(Refused("private network (RFC 1918)")));
        assert_eq!(check("10.1.1.1", 25), Err(Refused("port not allowed")));
        assert_eq!(check("8.8.8.8", 443), Ok(()), "allowed although it is of this host");
        assert_eq!(check("8.8.4.4", 443), Err(Refused("address of the proxy's own host")));
        assert_eq!(rules.check(ip("8.8.4.4"), 443, || false), Ok(()));
    }

    #[test]
    fn private_networks_can_be_allowed_without_this_host() {
        let rules = Rules { private: true, ..Rules::default() };
        for address in ["10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "8.8.8.8"] {
            assert_eq!(rules.check(ip(address), 80, || false), Ok(()), "{address}");
            assert!(rules.check(ip(address), 80, || true).is_err(), "{address}");
        }
        for address in ["127.0.0.1", "0.0.0.0", "169.254.169.254", "100.128.0.1", "224.0.0.1", "::1"] {
            let allowed = rules.check(ip(address), 80, || false).is_ok();
            assert_eq!(allowed, address == "100.128.0.1", "{address}");
        }
    }

    #[test]
    fn local_addresses_are_detected() {
        assert!(is_local_address("127.0.0.1".parse().unwrap()));
        assert!(!is_local_address("255.255.255.255".parse().unwrap()));
    }

    #[test]
    fn destinations_are_parsed_strictly() {
        let read = |text: &str| text.parse::<Destination>().map(|one| one.to_string());
        assert_eq!(read("Example.ORG:443"), Ok("example.org:443".to_owned()));
        assert_eq!(read("[2001:DB8::1]:80"), Ok("[2001:db8::1]:80".to_owned()));
        assert_eq!(read("192.0.2.1:1"), Ok("192.0.2.1:1".to_owned()));
        let bad = [
            "",
            ":80",
            "a",
            "a:",
            "a:0",
            "a:65536",
            "a:+80",
            "a:80 ",
            " a:80",
            "a b:80",
            "a:080000",
            "u@a:80",
            "::1:80",
            "[::1",
            "[::1]",
            "[::1]x:80",
            "[::1%lo]:80",
            "a..b:80",
            ".:80",
            "a/b:80",
            "a%2e:80",
            "ä:80",
            "a\0:80",
            "[fe80::1%25eth0]:80",
            "a:80:80",
        ];
        for text in bad {
            assert_eq!(read(text), Err(()), "{text}");
        }
        assert_eq!(read(&format!("{}:80", "a".repeat(64))), Err(()));
        assert_eq!(Destination::parse(b"a", Some(80)).unwrap().authority(80), "a");
    }

    proptest! {
        #[test]
        fn destinations_round_trip(text in "[a-z0-9.:\\[\\]-]{0,20}") {
            if let Ok(one) = text.parse::<Destination>() {
                prop_assert_eq!(one.to_string().parse::<Destination>(), Ok(one));
            }
        }

        #[test]
        fn mapped_address_is_classified_as_its_ipv4_address(bits: u32) {
            let inside = Ipv4Addr::from(bits);
            prop_assert_eq!(special_range(IpAddr::V6(inside.to_ipv6_mapped())), special_range(IpAddr::V4(inside)));
        }
    }
}
