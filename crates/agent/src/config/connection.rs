//! Selection of connections by their remote end.

use std::net::{IpAddr, SocketAddr};

/// Remote end of a connection: a network, a port, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Network address and prefix length.
    network: Option<(IpAddr, u8)>,
    port: Option<u16>,
}

impl Remote {
    /// True when `remote` is in the network and has the port.
    pub fn matches(&self, remote: SocketAddr) -> bool {
        let inside = self.network.is_none_or(|(network, prefix)| {
            let (network, six) = bits(network);
            let (address, also_six) = bits(remote.ip().to_canonical());
            let width = if six { 128 } else { 32 };
            // A shift by the full width is `None`: prefix 0 matches all addresses.
            let differs = (network ^ address).checked_shr(width - u32::from(prefix)).unwrap_or(0);
            six == also_six && differs == 0
        });
        inside && self.port.is_none_or(|port| port == remote.port())
    }
}

fn bits(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(four) => (u128::from(u32::from(four)), false),
        IpAddr::V6(six) => (u128::from(six), true),
    }
}

impl std::str::FromStr for Remote {
    type Err = ();

    /// Parses `203.0.113.0/24:443`, `203.0.113.7`, `[2001:db8::/32]:443`, `2001:db8::/32` or
    /// `:443`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (network, port) = if let Some(rest) = text.strip_prefix('[') {
            let (network, port) = rest.split_once(']').ok_or(())?;
            (network, if port.is_empty() { None } else { Some(port.strip_prefix(':').ok_or(())?) })
        } else if text.bytes().filter(|byte| *byte == b':').count() == 1 {
            let (network, port) = text.split_once(':').ok_or(())?;
            (network, Some(port))
        } else {
            (text, None)
        };
        let port =
            port.map(|port| port.parse::<u16>().ok().filter(|port| *port > 0).ok_or(())).transpose()?;
        let network = if network.is_empty() {
            None
        } else {
            let (address, prefix) = network.split_once('/').map_or((network, None), |(a, p)| (a, Some(p)));
            let address: IpAddr = address.parse().map_err(|_| ())?;
            let most = if address.is_ipv6() { 128 } else { 32 };
            let prefix = prefix.map_or(Ok(most), |prefix| prefix.parse::<u8>().map_err(|_| ()))?;
            if prefix > most {
                return Err(());
            }
            Some((address, prefix))
        };
        if network.is_none() && port.is_none() { Err(()) } else { Ok(Self { network, port }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn network_and_port_select_connections() {
        for (text, matching, others) in [
            ("203.0.113.0/24:443", &["203.0.113.9:443"][..], &["203.0.113.9:80", "203.0.114.9:443"][..]),
            ("203.0.113.7", &["203.0.113.7:1", "[::ffff:203.0.113.7]:2"], &["203.0.113.6:1", "[::1]:1"]),
            (":443", &["1.2.3.4:443", "[2001:db8::1]:443"], &["1.2.3.4:444"]),
            ("[2001:db8::/32]:443", &["[2001:db8:7::1]:443"], &["[2001:db9::1]:443", "32.1.13.184:443"]),
            ("2001:db8::/32", &["[2001:db8::1]:5"], &["[::1]:5"]),
            ("0.0.0.0/0", &["1.2.3.4:5", "255.0.0.1:6"], &["[::1]:5"]),
            ("::/0", &["[::1]:5"], &["1.2.3.4:5"]),
        ] {
            let remote: Remote = text.parse().unwrap();
            let matches = |address: &&str| remote.matches(address.parse().unwrap());
            assert!(matching.iter().all(matches), "{text}");
            assert!(!others.iter().any(matches), "{text}");
        }
        for wrong in
            ["", ":", ":0", ":70000", "1.2.3.4/33", "1.2.3", "[::1", "[::1]443", "::1/129", "host:443"]
        {
            assert!(wrong.parse::<Remote>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in ".{0,40}", ip: [u8; 4], port: u16) {
            if let Ok(remote) = text.parse::<Remote>() {
                let _ = remote.matches((ip, port).into());
            }
        }
    }
}
