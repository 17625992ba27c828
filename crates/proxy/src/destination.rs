//! Destinations of clients: host and port. The rules for them are in `rules`.

pub use crate::rules::{PortRange, Ports, Refused, Rules};
pub use crate::special::special_range;

use core::fmt;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

    /// Name that the certificate of the host has to contain (RFC 9110, section 4.3.4).
    pub fn certificate_name(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Address(address) => address.to_string(),
        }
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

/// Meaning of a name for resolution, before any lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// A name for DNS.
    Dns,
    /// IPv4 address in the notation of inet_aton(3), such as `127.1` or `0x7f000001`.
    Numeric(Ipv4Addr),
    /// `localhost` or a name under it (RFC 6761, section 6.3).
    Localhost,
    /// Ends in a number and is no address: never a name of DNS.
    Invalid,
}

impl NameKind {
    /// Classifies a lowercase name.
    pub fn of(name: &str) -> Self {
        let name = name.strip_suffix('.').unwrap_or(name);
        let last = name.rsplit('.').next().unwrap_or_default();
        if last == "localhost" {
            return Self::Localhost;
        }
        // As in the URL standard: no top-level domain is a number.
        if !last.bytes().all(|byte| byte.is_ascii_digit()) && inet_aton_part(last).is_none() {
            return Self::Dns;
        }
        inet_aton(name).map_or(Self::Invalid, Self::Numeric)
    }

    /// Addresses that follow without a lookup; `None` for a name of DNS.
    pub fn addresses(self) -> Option<Vec<IpAddr>> {
        match self {
            Self::Dns => None,
            Self::Numeric(address) => Some(vec![address.into()]),
            Self::Localhost => Some(vec![Ipv6Addr::LOCALHOST.into(), Ipv4Addr::LOCALHOST.into()]),
            Self::Invalid => Some(Vec::new()),
        }
    }
}

/// One part of an address in the notation of inet_aton(3): decimal, octal or hexadecimal.
fn inet_aton_part(part: &str) -> Option<u32> {
    let (digits, radix) = match part.strip_prefix("0x") {
        Some("") => return Some(0),
        Some(digits) => (digits, 16),
        None if part.len() > 1 && part.starts_with('0') => (&part[1..], 8),
        None => (part, 10),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    is_number.then(|| u32::from_str_radix(digits, radix).ok()).flatten()
}

fn inet_aton(name: &str) -> Option<Ipv4Addr> {
    let parts = name.split('.').map(inet_aton_part).collect::<Option<Vec<u32>>>()?;
    let (last, first) = parts.split_last()?;
    // The last part fills the remaining bytes.
    let rest_bits = 32_u32.checked_sub(8 * u32::try_from(first.len()).ok()?).filter(|&bits| bits > 0)?;
    if u64::from(*last) >> rest_bits > 0 || first.iter().any(|&part| part > 255) {
        return None;
    }
    let high = first.iter().enumerate().fold(0, |bits, (nth, part)| bits | part << (24 - 8 * nth));
    Some(Ipv4Addr::from(high | last))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numeric_names_are_addresses_and_never_looked_up() {
        for (name, address) in [
            ("127.1", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("127.0.0.1.", "127.0.0.1"),
            ("10.1.2.0x3", "10.1.2.3"),
            ("1.2.772", "1.2.3.4"),
        ] {
            assert_eq!(NameKind::of(name), NameKind::Numeric(address.parse().unwrap()), "{name}");
        }
        for name in ["256.0.0.1", "1.2.3.4.5", "1.2.3.256", "4294967296", "a.0x1", "08", "example.1", "a.09"]
        {
            assert_eq!(NameKind::of(name), NameKind::Invalid, "{name}");
        }
        for name in ["localhost", "localhost.", "a.localhost"] {
            assert_eq!(NameKind::of(name), NameKind::Localhost, "{name}");
        }
        for name in ["example.org", "0x7f.example", "a", "1.2.3.a", "localhost.example", "xlocalhost"] {
            assert_eq!(NameKind::of(name), NameKind::Dns, "{name}");
        }
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
    }
}
