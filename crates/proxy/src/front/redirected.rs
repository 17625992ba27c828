//! Firewall rules that redirect the connections of this host and of its clients by NAT. The kernel
//! keeps the original destination for `SO_ORIGINAL_DST`.

use crate::network::Network;
use std::net::SocketAddr;

/// Destinations that are never redirected unless they are included: private and local networks,
/// which the server-side proxy refuses.
const LOCAL_NETWORKS: [&str; 7] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
    "fe80::/10",
];

/// Parameters of the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Port of the listener for redirected connections.
    pub port: u16,
    /// Firewall mark of the proxy's own connections.
    pub mark: u32,
    /// Address of the upstream proxy.
    pub upstream: SocketAddr,
    /// Interfaces with clients that are redirected too.
    pub forward: Vec<String>,
    /// Networks of these clients; further ones behind a router stay direct.
    pub clients: Vec<Network>,
    /// Destinations that are redirected although they are private.
    pub include: Vec<Network>,
    /// Further destinations that stay direct.
    pub exclude: Vec<Network>,
    /// Whether the proxy listens for IPv6 too.
    pub ipv6: bool,
}

impl Rules {
    /// Names of the table's chains.
    pub fn chains(&self) -> &'static [&'static str] {
        if self.forward.is_empty() { &["output"] } else { &["output", "prerouting"] }
    }

    /// Chains of the table, in nft(8) syntax and one line.
    pub fn to_chains(&self) -> String {
        let output = format!(
            "chain output {{ type nat hook output priority -100; policy accept; meta mark {} return; {}; }};",
            self.mark,
            self.redirections()
        );
        if self.forward.is_empty() {
            return output;
        }
        let names: Vec<String> = self.forward.iter().map(|name| format!("\"{name}\"")).collect();
        format!(
            "{output} chain prerouting {{ type nat hook prerouting priority -100; policy accept; \
             iifname != {{ {} }} return; {}; {}; }};",
            names.join(", "),
            self.exclude_other_sources(),
            self.redirections()
        )
    }

    /// Rules that leave connections direct unless they come from the networks of clients.
    fn exclude_other_sources(&self) -> String {
        let rules = by_family(&self.clients).map(|(family, networks)| match &networks[..] {
            // A set needs an element.
            [] => format!("meta protocol {family} return"),
            _ => format!("{family} saddr != {{ {} }} return", networks.join(", ")),
        });
        rules.join("; ")
    }

    /// Rules of both chains: exceptions, then the redirection.
    fn redirections(&self) -> String {
        let Self { port, upstream, .. } = self;
        let family = |ip: bool| if ip { "ip" } else { "ip6" };
        let mut rules = vec![
            "meta l4proto != tcp return".to_owned(),
            // NAT takes a connection that is older than connection tracking for a new one.
            "tcp flags & (fin|syn|rst|ack) != syn return".to_owned(),
            "fib daddr type local return".to_owned(),
            format!(
                "{} daddr {} tcp dport {} return",
                family(upstream.is_ipv4()),
                upstream.ip(),
                upstream.port()
            ),
        ];
        if !self.ipv6 {
            rules.push("meta nfproto ipv6 return".to_owned());
        }
        let destinations = |networks: &[Network], verdict: &str| {
            let given = by_family(networks).into_iter().filter(|(_, networks)| !networks.is_empty());
            let rule = |(family, networks): (&str, Vec<String>)| {
                format!("{family} daddr {{ {} }} {verdict}", networks.join(", "))
            };
            given.map(rule).collect::<Vec<_>>()
        };
        let local: Vec<Network> = LOCAL_NETWORKS.iter().filter_map(|text| text.parse().ok()).collect();
        rules.extend(destinations(&self.exclude, "return"));
        rules.extend(destinations(&self.include, &format!("meta l4proto tcp redirect to :{port}")));
        rules.extend(destinations(&local, "return"));
        rules.push(format!("meta l4proto tcp redirect to :{port}"));
        rules.join("; ")
    }
}

/// Networks of IPv4 and of IPv6, with the name of their family in rules.
fn by_family(networks: &[Network]) -> [(&'static str, Vec<String>); 2] {
    let (four, six): (Vec<&Network>, Vec<&Network>) =
        networks.iter().partition(|network| network.first().is_ipv4());
    [("ip", four), ("ip6", six)].map(|(family, of)| (family, of.iter().map(ToString::to_string).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_except_the_proxy_and_private_networks() {
        let rules = Rules {
            port: 3129,
            mark: 7,
            upstream: "203.0.113.5:1080".parse().unwrap(),
            forward: vec!["lan0".into()],
            clients: vec!["192.168.5.0/24".parse().unwrap()],
            include: vec!["10.9.0.0/16".parse().unwrap()],
            exclude: vec!["198.51.100.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
            ipv6: true,
        };
        insta::assert_snapshot!(rules.to_chains().replace("; ", ";\n"));
        let both = Rules { clients: vec!["fd00::/64".parse().unwrap(), rules.clients[0]], ..rules.clone() };
        let sources = "ip saddr != { 192.168.5.0/24 } return; ip6 saddr != { fd00::/64 } return;";
        assert!(both.to_chains().contains(sources), "{}", both.to_chains());
        let alone = Rules { forward: vec![], ipv6: false, ..rules };
        assert!(!alone.to_chains().contains("prerouting"));
        assert!(alone.to_chains().contains("meta nfproto ipv6 return"));
    }
}
