//! Firewall rules for transparent proxying. TPROXY of nftables redirects connections and keeps the
//! original destination as the socket's local address.

use std::fmt::Write;

/// Parameters of the firewall rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Port of the transparent listener.
    pub port: u16,
    /// Firewall mark of redirected packets, and number of their routing table.
    pub mark: u32,
    /// Client-side interfaces; any if empty.
    pub interfaces: Vec<String>,
    /// Server ports to redirect; any if empty.
    pub ports: Vec<u16>,
}

impl Rules {
    /// Shell commands that set up the redirection, with the commands to undo it. Only forwarded
    /// connections are redirected, not those to or from this host.
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
    fn rules_contain_port_mark_interfaces_and_ports() {
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
