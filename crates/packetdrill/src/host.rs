//! The host below the endpoint: limits, addresses and settings that a script's shell lines change.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::Duration;

/// Limits that the scripts of the suite set: `ip mptcp limits`.
const SUITE_LIMIT: u8 = 8;
/// Offset of the local addresses from the peer's in the test networks.
const LOCAL_HOST: u8 = 101;

/// An address of this host: `ip mptcp endpoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) id: u8,
    pub(crate) ip: IpAddr,
    /// Announce it to the peer.
    pub(crate) signal: bool,
    /// Open a subflow from it.
    pub(crate) subflow: bool,
    pub(crate) backup: bool,
}

/// Result of a shell command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// It inspects Linux and was not run.
    Inspects,
    /// An address was removed.
    Removed(u8),
}

/// State of the host.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) ipv6: bool,
    pub(crate) addresses: Vec<Address>,
    /// Further subflows.
    pub(crate) subflows: u8,
    pub(crate) add_addr_accepted: u8,
    pub(crate) checksum: bool,
    pub(crate) close_timeout: Duration,
    /// SYNs with MP_CAPABLE after the first.
    pub(crate) mptcp_syn_retries: u32,
}

impl Host {
    /// Defaults of Linux.
    pub(crate) fn new(ipv6: bool) -> Self {
        Self {
            ipv6,
            addresses: Vec::new(),
            subflows: 2,
            add_addr_accepted: 0,
            checksum: false,
            close_timeout: Duration::from_secs(60),
            mptcp_syn_retries: 2,
        }
    }

    /// Local address number `n`.
    pub(crate) fn local(&self, n: u8) -> IpAddr {
        self.address(LOCAL_HOST.saturating_add(n))
    }

    /// Address number `n` of the peer.
    pub(crate) fn remote(&self, n: u8) -> IpAddr {
        self.address(1_u8.saturating_add(n))
    }

    /// There is a route: the address is one of the peer's in the test network.
    pub(crate) fn reaches(&self, ip: IpAddr) -> bool {
        (0..SUITE_LIMIT).any(|n| self.remote(n) == ip)
    }

    fn address(&self, host: u8) -> IpAddr {
        if self.ipv6 {
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, u16::from(host)).into()
        } else {
            Ipv4Addr::new(192, 0, 2, host).into()
        }
    }

    /// Runs a shell command. An error is the line that is not known.
    pub(crate) fn run(&mut self, command: &str) -> Result<Effect, String> {
        let mut effect = Effect::None;
        for line in command.lines() {
            let line = line.split('#').next().unwrap_or("").trim();
            match self.run_line(line).ok_or_else(|| format!("shell command \"{line}\""))? {
                Effect::None => {}
                other => effect = other,
            }
        }
        Ok(effect)
    }

    fn run_line(&mut self, line: &str) -> Option<Effect> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some((&program, arguments)) = words.split_first() else { return Some(Effect::None) };
        match program {
            "../common/defaults.sh" | "true" | "ethtool" | "nstat" => {}
            "../common/client.sh" => self.set_up(0, false, false, false),
            "../common/server.sh" => self.set_up(1, true, false, false),
            "../common/multi-ep.sh" => self.multi_endpoint(arguments)?,
            "test" | "ss" | "!" => return Some(Effect::Inspects),
            "sysctl" => self.sysctl(arguments.last()?)?,
            "ip" => {
                let arguments = if arguments.first() == Some(&"-6") { &arguments[1..] } else { arguments };
                match arguments {
                    ["mptcp", "endpoint", rest @ ..] => return self.endpoint(rest),
                    ["mptcp", "limits", "set", rest @ ..] => self.limits(rest)?,
                    ["link" | "addr", ..] => {}
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(Effect::None)
    }

    /// Sets the limits of the suite, and `count` further addresses.
    fn set_up(&mut self, count: u8, signal: bool, subflow: bool, backup: bool) {
        (self.subflows, self.add_addr_accepted) = (SUITE_LIMIT, SUITE_LIMIT);
        self.addresses.clear();
        for id in 1..=count {
            let ip = self.local(id);
            self.addresses.push(Address { id, ip, signal, subflow, backup });
        }
    }

    /// `-e COUNT -m signal|subflow -b`.
    fn multi_endpoint(&mut self, arguments: &[&str]) -> Option<()> {
        let (mut count, mut modes) = (1, Vec::new());
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            match argument {
                "-e" => count = rest.next()?.parse().ok()?,
                "-m" => modes.push(*rest.next()?),
                "-b" => modes.push("backup"),
                _ => return None,
            }
        }
        let has = |mode| modes.contains(&mode);
        let signal = has("signal") || !has("subflow");
        self.set_up(count, signal, has("subflow"), has("backup"));
        Some(())
    }

    fn endpoint(&mut self, arguments: &[&str]) -> Option<Effect> {
        match arguments {
            ["flush"] => self.addresses.clear(),
            ["add", ip, rest @ ..] => {
                let next =
                    self.addresses.iter().map(|address| address.id).max().unwrap_or(0).saturating_add(1);
                let id = match rest.iter().position(|&word| word == "id") {
                    Some(at) => rest.get(at + 1)?.parse().ok()?,
                    None => next,
                };
                let has = |word| rest.contains(&word);
                let (signal, subflow, backup) = (has("signal"), has("subflow"), has("backup"));
                self.addresses.push(Address { id, ip: ip.parse().ok()?, signal, subflow, backup });
            }
            ["delete", "id", id] => {
                let id = id.parse().ok()?;
                self.addresses.retain(|address| address.id != id);
                return Some(Effect::Removed(id));
            }
            _ => return None,
        }
        Some(Effect::None)
    }

    fn limits(&mut self, arguments: &[&str]) -> Option<()> {
        for pair in arguments.chunks(2) {
            match pair {
                ["subflows" | "subflow", number] => self.subflows = number.parse().ok()?,
                ["add_addr_accepted", number] => self.add_addr_accepted = number.parse().ok()?,
                _ => return None,
            }
        }
        Some(())
    }

    fn sysctl(&mut self, setting: &str) -> Option<()> {
        let (name, value) = setting.split_once('=')?;
        match name {
            "net.mptcp.close_timeout" => {
                self.close_timeout = Duration::from_secs(value.parse::<u32>().ok()?.into());
            }
            "net.mptcp.syn_retrans_before_tcp_fallback" => self.mptcp_syn_retries = value.parse().ok()?,
            "net.mptcp.checksum_enabled" => self.checksum = value == "1",
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_lines_set_limits_addresses_and_settings() {
        let mut host = Host::new(false);
        assert_eq!(host.run("../common/multi-ep.sh -e 2 -m subflow"), Ok(Effect::None));
        assert!(host.addresses.len() == 2 && host.addresses.iter().all(|a| a.subflow && !a.signal));
        assert_eq!((host.subflows, host.add_addr_accepted), (8, 8));
        host.run("ip mptcp endpoint flush\nip mptcp endpoint add 198.51.100.2 id 7 signal").unwrap();
        assert!(host.addresses.len() == 1 && host.addresses[0].id == 7 && host.addresses[0].signal);
        assert_eq!(host.run("ip mptcp endpoint delete id 7"), Ok(Effect::Removed(7)));
        host.run("sysctl -q net.mptcp.close_timeout=1").unwrap();
        assert_eq!(host.close_timeout, Duration::from_secs(1));
        assert_eq!(host.run("ss -Mn | grep -q LAST-ACK"), Ok(Effect::Inspects));
        assert!(host.run("reboot").is_err() && host.run("ip mptcp endpoint add x").is_err());
    }
}
