//! IP networks in CIDR notation: `192.0.2.0/24`, `2001:db8::/32`, or one address.

use core::fmt;
use core::str::FromStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IP network: an address prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    prefix: u8,
}

impl Network {
    const ALL_V4: Self = Self { first: IpAddr::V4(Ipv4Addr::UNSPECIFIED), prefix: 0 };
    /// Global unicast addresses (RFC 4291, section 2.4).
    const PUBLIC_V6: Self = Self { first: IpAddr::V6(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0)), prefix: 3 };

    /// Network of the first `prefix` bits of `address`; `None` if the prefix is too long or host
    /// bits are set.
    pub fn new(address: IpAddr, prefix: u8) -> Option<Self> {
        let network = Self { first: address, prefix };
        let width = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= width && bits(address) & !network.mask() == 0).then_some(network)
    }

    /// Network of an address with its prefix length, as interfaces have them; `None` if it is too long.
    pub fn containing(address: IpAddr, prefix: u8) -> Option<Self> {
        let width: u8 = if address.is_ipv4() { 32 } else { 128 };
        let host_bits = u32::from(width.checked_sub(prefix)?);
        let clear = |bits: u128| bits.checked_shr(host_bits).unwrap_or(0).checked_shl(host_bits).unwrap_or(0);
        let first = match address {
            IpAddr::V4(four) => IpAddr::V4((clear(u128::from(u32::from(four))) as u32).into()),
            IpAddr::V6(six) => IpAddr::V6(clear(u128::from(six)).into()),
        };
        Self::new(first, prefix)
    }

    /// First address.
    pub const fn first(&self) -> IpAddr {
        self.first
    }

    /// Length of the prefix in bits.
    pub const fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Whether the network is one address.
    pub const fn is_host(&self) -> bool {
        self.prefix == if self.first.is_ipv4() { 32 } else { 128 }
    }

    /// Whether every address of `other` is in this network.
    pub fn covers(&self, other: &Self) -> bool {
        self.prefix <= other.prefix && self.contains(other.first)
    }

    /// Whether the network contains `address`. IPv4-mapped IPv6 addresses count as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.first.is_ipv4() == address.is_ipv4() && bits(address) & self.mask() == bits(self.first)
    }

    /// Share of the family's public addresses: of all of IPv4, of 2000::/3 of IPv6.
    fn share(&self) -> f64 {
        let public = if self.first.is_ipv4() { Self::ALL_V4 } else { Self::PUBLIC_V6 };
        if self.covers(&public) {
            1.0
        } else if public.covers(self) {
            f64::from(self.prefix - public.prefix).exp2().recip()
        } else {
            0.0
        }
    }

    fn mask(&self) -> u128 {
        let width = if self.first.is_ipv4() { 32 } else { 128 };
        // An IPv4 address uses the lowest 32 bits.
        let all = u128::MAX >> (128 - width);
        all & !all.checked_shr(u32::from(self.prefix)).unwrap_or(0)
    }
}

/// Whether a list of networks keeps most clients out: it covers less than half of the public addresses of
/// each family.
pub(crate) fn restrict_clients(networks: &[Network]) -> bool {
    // Networks are apart, or one covers the other.
    let is_covered = |nth: usize, one: &Network| {
        let mut others = networks.iter().enumerate();
        others.any(|(other, network)| network.covers(one) && (network != one || other < nth))
    };
    let apart = networks.iter().enumerate().filter(|(nth, one)| !is_covered(*nth, one)).map(|(_, one)| one);
    let (four, six): (Vec<&Network>, Vec<&Network>) = apart.partition(|one| one.first.is_ipv4());
    [four, six].iter().all(|family| family.iter().map(|network| network.share()).sum::<f64>() < 0.5)
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) if prefix.bytes().all(|byte| byte.is_ascii_digit()) => {
                (address, Some(prefix.parse().map_err(|_| NetworkError::Form)?))
            }
            Some(_) => return Err(NetworkError::Form),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Form)?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(width);
        if prefix > width {
            return Err(NetworkError::Prefix { width });
        }
        if let IpAddr::V6(six) = address
            && let (Some(four), 96..) = (six.to_ipv4_mapped(), prefix)
        {
            let network = Self::containing(four.into(), prefix - 96).ok_or(NetworkError::Form)?;
            return Err(NetworkError::Mapped { network });
        }
        Self::new(address, prefix).ok_or_else(|| {
            let host = Self { first: address, prefix };
            let first = bits(address) & host.mask();
            let first = match address {
                IpAddr::V4(_) => IpAddr::from((first as u32).to_be_bytes()),
                IpAddr::V6(_) => IpAddr::from(first.to_be_bytes()),
            };
            NetworkError::HostBits { network: Self { first, prefix }, address }
        })
    }
}

/// The reason why a text is not a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Not an address, or not an address with a prefix length.
    #[error("not a network")]
    Form,
    /// The prefix is longer than an address.
    #[error("the prefix has more than {width} bits")]
    Prefix {
        /// Length of an address in bits.
        width: u8,
    },
    /// IPv4-mapped IPv6 addresses: a rule for them matches nothing, as they count as IPv4.
    #[error("IPv4-mapped addresses count as IPv4, so this rule can never match")]
    Mapped {
        /// The same addresses as an IPv4 network.
        network: Network,
    },
    /// The address has bits beyond the prefix.
    #[error("`{address}` has bits set beyond the prefix of {} bits", network.prefix)]
    HostBits {
        /// The network that contains the address.
        network: Network,
        /// The address.
        address: IpAddr,
    },
}

impl NetworkError {
    /// A suggestion for a correction.
    pub fn hint(&self) -> String {
        match self {
            Self::Form => "for example `192.0.2.0/24`, `2001:db8::/32` or one address".to_owned(),
            Self::Prefix { width } => format!("use a prefix from 0 to {width}"),
            Self::Mapped { network } => format!("use `{network}`"),
            Self::HostBits { network, address } => {
                format!("`{network}` for the network, or `{address}` for this host alone")
            }
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(network: &str, address: &str) -> bool {
        network.parse::<Network>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn network_contains_addresses_with_its_prefix() {
        assert!(holds("192.0.2.0/24", "192.0.2.255") && !holds("192.0.2.0/24", "192.0.3.0"));
        assert!(holds("192.0.2.7", "192.0.2.7") && !holds("192.0.2.7", "192.0.2.6"));
        assert!(holds("0.0.0.0/0", "255.255.255.255") && !holds("0.0.0.0/0", "::1"));
        assert!(holds("2001:db8::/33", "2001:db8:7fff::1") && !holds("2001:db8::/33", "2001:db8:8000::"));
        assert!(holds("::/0", "ffff::") && holds("::1", "::1"));
        assert!(holds("10.0.0.0/8", "::ffff:10.1.2.3"), "IPv4 in IPv6 is IPv4");
        assert!(!holds("::/0", "::ffff:10.1.2.3"));
    }

    #[test]
    fn lists_of_half_of_the_public_addresses_restrict_nobody() {
        let restrict = |list: &str| {
            let networks: Vec<Network> = list.split(' ').map(|one| one.parse().unwrap()).collect();
            restrict_clients(&networks)
        };
        for list in [
            "0.0.0.0/0",
            "128.0.0.0/1",
            "10.0.0.0/8 0.0.0.0/2 64.0.0.0/2",
            "::/0",
            "::/1",
            "2000::/3",
            "2000::/4",
            "2000::/5 2800::/5 2001:db8::/32",
        ] {
            assert!(!restrict(list), "{list}");
        }
        for list in ["10.0.0.0/8", "0.0.0.0/2 0.0.0.0/2 0.0.0.0/3", "fc00::/7", "2000::/5 0.0.0.0/2"] {
            assert!(restrict(list), "{list}");
        }
    }

    #[test]
    fn invalid_networks_are_rejected() {
        for text in
            ["", "/", "10.0.0.0/33", "10.0.0.1/8", "::/129", "10.0.0.0/+8", "10.0.0.0/-1", "a/8", "10/8"]
        {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
        let hint = |text: &str| text.parse::<Network>().unwrap_err().hint();
        assert_eq!(hint("10.0.0.1/8"), "`10.0.0.0/8` for the network, or `10.0.0.1` for this host alone");
        assert_eq!(
            hint("2001:db8::1/32"),
            "`2001:db8::/32` for the network, or `2001:db8::1` for this host alone"
        );
        assert_eq!(hint("10.0.0.0/33"), "use a prefix from 0 to 32");
        assert_eq!(hint("::ffff:10.0.0.0/104"), "use `10.0.0.0/8`", "a rule that can never match");
        assert_eq!(hint("::ffff:10.1.2.3"), "use `10.1.2.3/32`");
    }

    #[test]
    fn network_covers_longer_prefixes_of_its_family() {
        let covers = |one: &str, other: &str| one.parse::<Network>().unwrap().covers(&other.parse().unwrap());
        assert!(covers("10.0.0.0/8", "10.0.0.0/8") && covers("10.0.0.0/8", "10.1.0.0/16"));
        assert!(!covers("10.1.0.0/16", "10.0.0.0/8") && !covers("10.0.0.0/8", "11.0.0.0/16"));
        assert!(!covers("0.0.0.0/0", "::/0") && !covers("::/0", "10.0.0.0/8"));
    }
}
