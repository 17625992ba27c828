//! IP networks in CIDR notation: `192.0.2.0/24`, `2001:db8::/32`, or one address.

use core::fmt;
use core::str::FromStr;
use std::net::IpAddr;

/// IP network: an address prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    prefix: u8,
}

impl Network {
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

    /// Whether the network covers at least half of an address family and thus restricts no client.
    pub const fn covers_half_or_more(&self) -> bool {
        self.prefix <= 1
    }

    fn mask(&self) -> u128 {
        let width = if self.first.is_ipv4() { 32 } else { 128 };
        // An IPv4 address uses the lowest 32 bits.
        let all = u128::MAX >> (128 - width);
        all & !all.checked_shr(u32::from(self.prefix)).unwrap_or(0)
    }
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
