//! Special-purpose ranges of addresses, and IPv4 addresses embedded in IPv6.

use crate::network::Network;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Prefix lengths of NAT64 (RFC 6052, section 2.2).
pub(crate) const NAT64_LENGTHS: [u8; 6] = [32, 40, 48, 56, 64, 96];

/// IPv4 addresses that a packet to `address` may reach over a translator or a tunnel.
///
/// `nat64` are the NAT64 prefixes of the network. Covers IPv4-mapped, IPv4-compatible,
/// IPv4-translated (RFC 2765), NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380; server
/// and client) and ISATAP (RFC 5214). Of a local NAT64 prefix (64:ff9b:1::/48) each length counts, also
/// beside one in `nat64`.
pub(crate) fn embedded_ipv4(address: IpAddr, nat64: &[Network]) -> impl Iterator<Item = Ipv4Addr> {
    let mut found = [None; 5];
    if let IpAddr::V6(address) = address {
        let octets = address.octets();
        let segments = address.segments();
        let last = Ipv4Addr::from(u128::from(address) as u32);
        match segments {
            [0, 0, 0, 0, 0, 0 | 0xffff, ..]
            | [0, 0, 0, 0, 0xffff, 0, ..]
            | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
                found[0] = Some(last);
            }
            [0x64, 0xff9b, 1, ..] => {
                found[..4].copy_from_slice(&[48, 56, 64, 96].map(|length| Some(translated(octets, length))));
            }
            [0x2002, high, low, ..] => found[0] = Some(joined(high, low)),
            [0x2001, 0, high, low, ..] => {
                found[0] = Some(joined(high, low));
                found[1] = Some(Ipv4Addr::from(!u32::from(last)));
            }
            _ => {}
        }
        if matches!(segments, [.., 0 | 0x200, 0x5efe, _, _]) {
            found[4] = Some(last);
        }
    }
    found.into_iter().flatten().chain(behind_nat64(address, nat64))
}

/// IPv4 addresses behind the NAT64 prefixes of the network that contain `address`.
pub(crate) fn behind_nat64(address: IpAddr, nat64: &[Network]) -> impl Iterator<Item = Ipv4Addr> {
    nat64.iter().filter_map(move |prefix| match address {
        IpAddr::V6(six) if prefix.contains(address) => Some(translated(six.octets(), prefix.prefix())),
        _ => None,
    })
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

/// IPv4 address behind a NAT64 prefix of `length` bits, which skips bits 64 to 71 (RFC 6052, section
/// 2.2).
fn translated(octets: [u8; 16], length: u8) -> Ipv4Addr {
    let mut address = [0; 4];
    let from = (usize::from(length) / 8..16).filter(|&at| at != 8 || length == 96);
    address.iter_mut().zip(from).for_each(|(to, at)| *to = octets[at]);
    address.into()
}

/// Whether an address belongs to a private network: RFC 1918, carrier-grade NAT or unique-local.
pub(crate) fn is_private(address: IpAddr) -> bool {
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
    // ISATAP (RFC 5214): classify the embedded IPv4 address.
    let isatap = || if matches!(rest, [0 | 0x200, 0x5efe, _, _]) { embedded(rest[2], rest[3]) } else { None };
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
        [0x2002, high, low, _] => embedded(high, low).or_else(isatap),
        // Includes Teredo (2001::/32): its user chooses the embedded IPv4 address.
        [0x2001, 0..=0x1ff, ..] => Some("IETF protocol assignments (2001::/23)"),
        [0x2001, 0xdb8, ..] => Some("documentation (2001:db8::/32)"),
        [0x3fff, 0..=0xfff, ..] => Some("documentation (3fff::/20)"),
        [0x2000..=0x3fff, ..] => isatap(),
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
        for isatap in ["2606:4700::5efe:", "2606:4700::200:5efe:", "2002:808:808::5efe:"] {
            assert!(special_range(ip(&format!("{isatap}10.0.0.1"))).is_some());
            assert_eq!(special_range(ip(&format!("{isatap}8.8.8.8"))), None);
        }
        // IPv4-compatible, Teredo and local NAT64 addresses are always special.
        for address in ["::8.8.8.8", "2001:0:808:808::", "64:ff9b:1::808:808"] {
            assert!(special_range(ip(address)).is_some(), "{address}");
        }
    }

    #[test]
    fn every_embedding_of_an_ipv4_address_is_found() {
        let nat64: Vec<Network> = ["2001:db8:1::/48", "2001:db8:2:2::/64", "2001:db8::/32"]
            .map(|one| one.parse().unwrap())
            .to_vec();
        let inside: Ipv4Addr = "10.1.2.3".parse().unwrap();
        for address in [
            "::10.1.2.3",
            "::ffff:10.1.2.3",
            "::ffff:0:10.1.2.3",
            "64:ff9b::10.1.2.3",
            "64:ff9b:1:a01:2:300::",
            "64:ff9b:1:00a:1:203::",
            "64:ff9b:1:0:a:102:300:0",
            "64:ff9b:1::10.1.2.3",
            "2002:a01:203::1",
            // Teredo: the server, then the client with inverted bits.
            "2001:0:a01:203:0:0:1:1",
            "2001:0:808:808:0:0:f5fe:fdfc",
            "2001:db8:ffff::5efe:10.1.2.3",
            "2606:4700::200:5efe:10.1.2.3",
            "2001:db8:1:a01:2:300::",
            "2001:db8:2:2:a:102:300:0",
        ] {
            let found: Vec<_> = embedded_ipv4(ip(address), &nat64).collect();
            assert!(found.contains(&inside), "{address}: {found:?}");
        }
        for address in ["10.1.2.3", "2606:4700::10.1.2.3", "2001:db9::a01:203"] {
            assert_eq!(embedded_ipv4(ip(address), &nat64).count(), 0, "{address}");
        }
    }

    #[test]
    fn every_one_of_nested_nat64_prefixes_counts() {
        let nat64 = NAT64_LENGTHS.map(|length| format!("2001:db8::/{length}").parse().unwrap());
        let found: Vec<_> = embedded_ipv4(ip("2001:db8::10.1.2.3"), &nat64).collect();
        assert_eq!(found.len(), NAT64_LENGTHS.len());
        assert!(found.contains(&"10.1.2.3".parse().unwrap()), "{found:?}");
    }

    /// The examples of RFC 6052, section 2.4.
    #[test]
    fn nat64_addresses_follow_the_examples_of_rfc_6052() {
        let examples = [
            (32, "2001:db8:c000:221::"),
            (40, "2001:db8:1c0:2:21::"),
            (48, "2001:db8:122:c000:2:2100::"),
            (56, "2001:db8:122:3c0:0:221::"),
            (64, "2001:db8:122:344:c0:2:2100::"),
            (96, "2001:db8:122:344::192.0.2.33"),
        ];
        for (length, text) in examples {
            let address: Ipv6Addr = text.parse().unwrap();
            assert_eq!(translated(address.octets(), length), Ipv4Addr::new(192, 0, 2, 33), "{text}");
        }
    }

    proptest! {
        #[test]
        fn mapped_address_is_classified_as_its_ipv4_address(bits: u32) {
            let inside = Ipv4Addr::from(bits);
            prop_assert_eq!(special_range(IpAddr::V6(inside.to_ipv6_mapped())), special_range(IpAddr::V4(inside)));
        }
    }
}
