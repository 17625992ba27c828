//! Connections that never asked for a proxy: TPROXY of nftables hands them over, and the address that they were
//! going to is the local address of their socket.

use std::fmt::Write;

/// What the rules are written for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// The port of the transparent listener.
    pub port: u16,
    /// The mark of packets that are handed over; and the number of the routing table that takes them in.
    pub mark: u32,
    /// The interfaces that clients are behind; any where it is empty.
    pub interfaces: Vec<String>,
    /// The ports of servers that connections to are handed over; any where it is empty.
    pub ports: Vec<u16>,
}

impl Rules {
    /// Commands of a shell that hand connections over, and how to take them back. Connections to addresses of
    /// the host itself, and those that the proxy opens, are left alone: they are not forwarded.
    pub fn to_script(&self) -> String {
        let Self { port, mark, .. } = self;
        let set = |items: Vec<String>| format!("{{ {} }}", items.join(", "));
        let quoted = |names: &[String]| set(names.iter().map(|name| format!("\"{name}\"")).collect());
        let mut only = String::new();
        if !self.interfaces.is_empty() {
            _ = write!(only, "iifname {} ", quoted(&self.interfaces));
        }
        _ = match &*self.ports {
            [] => write!(only, "meta l4proto tcp"),
            ports => write!(only, "tcp dport {}", set(ports.iter().map(u16::to_string).collect())),
        };
        format!(
            "\
# Hands TCP connections that this host forwards to the proxy's listener on port {port}.
# To take it back: nft delete table inet tandem_proxy; ip rule del fwmark {mark}; ip -6 rule del fwmark {mark}
nft -f - <<'END'
table inet tandem_proxy {{
\tchain prerouting {{
\t\ttype filter hook prerouting priority mangle; policy accept;
\t\tfib daddr type local accept
\t\tfib daddr type {{ broadcast, multicast }} accept
\t\tmeta l4proto tcp socket transparent 1 meta mark set {mark} accept
\t\t{only} meta nfproto ipv4 tproxy ip to :{port} meta mark set {mark} accept
\t\t{only} meta nfproto ipv6 tproxy ip6 to :{port} meta mark set {mark} accept
\t}}
}}
END
ip rule add fwmark {mark} lookup {mark}
ip route add local default dev lo table {mark}
ip -6 rule add fwmark {mark} lookup {mark}
ip -6 route add local default dev lo table {mark}
"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_name_port_mark_interfaces_and_ports() {
        let rules = Rules {
            port: 3129,
            mark: 7,
            interfaces: vec!["wlan0".into(), "eth1".into()],
            ports: vec![80, 443],
        };
        insta::assert_snapshot!(rules.to_script());
        let any = Rules { interfaces: vec![], ports: vec![], ..rules };
        assert!(any.to_script().contains("\t\tmeta l4proto tcp meta nfproto ipv4 tproxy ip to :3129"));
    }
}
