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
    /// Destinations that are redirected although they are private.
    pub include: Vec<Network>,
    /// Further destinations that stay direct.
    pub exclude: Vec<Network>,
    /// Whether the proxy listens for IPv6 too.
    pub ipv6: bool,
}

impl Rules {
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
             iifname != {{ {} }} return; {}; }};",
            names.join(", "),
            self.redirections()
        )
    }

    /// Rules of both chains: exceptions, then the redirection.
    fn redirections(&self) -> String {
        let Self { port, upstream, .. } = self;
        let family = |ip: bool| if ip { "ip" } else { "ip6" };
        let mut rules = vec![
            "meta l4proto != tcp return".to_owned(),
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
        let networks = |networks: &[String], verdict: &str| {
            let (four, six): (Vec<_>, Vec<_>) = networks.iter().cloned().partition(|one| !one.contains(':'));
            let rule = |name, networks: Vec<String>| {
                (!networks.is_empty())
                    .then(|| format!("{name} daddr {{ {} }} {verdict}", networks.join(", ")))
            };
            [rule("ip", four), rule("ip6", six)].into_iter().flatten().collect::<Vec<_>>()
        };
        let text = |networks: &[Network]| networks.iter().map(ToString::to_string).collect::<Vec<_>>();
        let local: Vec<String> = LOCAL_NETWORKS.iter().map(|&network| network.to_owned()).collect();
        rules.extend(networks(&text(&self.exclude), "return"));
        rules.extend(networks(&text(&self.include), &format!("meta l4proto tcp redirect to :{port}")));
        rules.extend(networks(&local, "return"));
        rules.push(format!("meta l4proto tcp redirect to :{port}"));
        rules.join("; ")
    }
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
            include: vec!["10.9.0.0/16".parse().unwrap()],
            exclude: vec!["198.51.100.0/24".parse().unwrap(), "2001:db8::/32".parse().unwrap()],
            ipv6: true,
        };
        insta::assert_snapshot!(rules.to_chains().replace("; ", ";\n"));
        let alone = Rules { forward: vec![], ipv6: false, ..rules };
        assert!(!alone.to_chains().contains("prerouting"));
        assert!(alone.to_chains().contains("meta nfproto ipv6 return"));
    }
}
