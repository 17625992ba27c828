//! Network interfaces of the device, and the local address of subflows on each.

use crate::config::InterfaceRule;
use linux::route::{Address, Change, Link, Scope};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant};

/// An interface that loses its carrier for less than this keeps its endpoints, as a roaming Wi-Fi
/// station does. One that is set down loses them at once: the kernel removes its routes, and opens no
/// subflow later for connections that began meanwhile, unless the endpoint is added anew.
const LINK_LOSS_GRACE: Duration = Duration::from_secs(1);

/// A managed interface; it keeps its position in the list while absent, unless its rule has a pattern
/// and a new interface takes the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedInterface {
    /// Interface name.
    pub name: String,
    /// Index of its rule.
    pub rule: usize,
    /// Interface index; `None` while absent.
    pub index: Option<u32>,
    /// Operationally up.
    pub running: bool,
    /// Time of the last loss of the carrier; `None` if the interface was set down.
    pub lost: Option<Instant>,
    /// Local addresses of subflows: at most one IPv4 and one IPv6 address.
    pub addresses: [Option<IpAddr>; 2],
}

impl ManagedInterface {
    /// An interface of rule `rule` that the host does not have.
    pub fn absent(name: &str, rule: usize) -> Self {
        Self { name: name.to_owned(), rule, index: None, running: false, lost: None, addresses: [None; 2] }
    }

    /// True when it has a link and an address.
    pub fn is_up(&self) -> bool {
        self.running && self.addresses.iter().any(Option::is_some)
    }

    /// True when it has a link or lost its carrier only a moment ago.
    pub fn is_attached(&self, now: Instant) -> bool {
        let lately = self.lost.is_some_and(|at| now.since(at) < LINK_LOSS_GRACE);
        self.index.is_some() && (self.running || lately)
    }

    /// Time at which [`Self::is_attached`] changes without an event.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        (!self.running).then_some(self.lost).flatten().map(|at| at + LINK_LOSS_GRACE).filter(|at| *at > now)
    }
}

/// Links and addresses of the host, and the managed interfaces.
#[derive(Debug, Default)]
pub struct Host {
    links: BTreeMap<u32, Link>,
    addresses: Vec<Address>,
    managed: Vec<ManagedInterface>,
}

impl Host {
    /// Manages from the start the interfaces that rules name without wildcards.
    pub fn new(rules: &[InterfaceRule]) -> Self {
        let names = rules.iter().filter_map(InterfaceRule::exact);
        let managed = names
            .filter_map(|name| first_match(rules, name).map(|rule| ManagedInterface::absent(name, rule)));
        Self { managed: managed.collect(), ..Self::default() }
    }

    /// Replaces all links and addresses.
    pub fn set(&mut self, links: Vec<Link>, addresses: Vec<Address>) {
        self.links = links.into_iter().map(|link| (link.index, link)).collect();
        self.addresses = addresses;
    }

    /// Applies a change. Returns false on [`Change::Overrun`]: everything must be listed again.
    pub fn apply(&mut self, change: Change) -> bool {
        match change {
            Change::Link(link) => {
                self.links.insert(link.index, link);
            }
            Change::LinkGone(link) => {
                self.links.remove(&link.index);
                self.addresses.retain(|address| address.index != link.index);
            }
            Change::Address(new) => {
                self.addresses.retain(|old| !is_same_address(old, &new));
                self.addresses.push(new);
            }
            Change::AddressGone(gone) => self.addresses.retain(|old| !is_same_address(old, &gone)),
            Change::Overrun => return false,
        }
        true
    }

    /// Updates the managed interfaces and their addresses. Returns true when one was added.
    pub fn update_managed(&mut self, now: Instant, rules: &[InterfaceRule]) -> bool {
        let is_present = |name: &str| self.links.values().any(|link| link.name == name);
        let mut has_new = false;
        for link in self.links.values() {
            if let Some(rule) = first_match(rules, &link.name)
                && !self.managed.iter().any(|one| one.name == link.name)
            {
                has_new = true;
                let new = ManagedInterface::absent(&link.name, rule);
                let is_pattern = rules[rule].exact().is_none();
                let gone =
                    |one: &&mut ManagedInterface| is_pattern && one.rule == rule && !is_present(&one.name);
                match self.managed.iter_mut().find(gone) {
                    Some(gone) => *gone = new,
                    None => self.managed.push(new),
                }
            }
        }
        for one in &mut self.managed {
            let link = self.links.values().find(|link| link.name == one.name);
            let running = link.is_some_and(|link| link.up && link.running);
            if !link.is_some_and(|link| link.up) {
                one.lost = None;
            } else if one.running && !running {
                one.lost = Some(now);
            }
            one.running = running;
            one.index = link.map(|link| link.index);
            let here: Vec<_> =
                self.addresses.iter().filter(|address| Some(address.index) == one.index).collect();
            one.addresses =
                [false, true].map(|six| select_address(&here, six, one.addresses[usize::from(six)]));
        }
        has_new
    }

    /// Indices of the rules that no interface follows at present.
    pub fn unmatched(&self, rules: &[InterfaceRule]) -> Vec<usize> {
        let followed: Vec<Option<usize>> =
            self.links.values().map(|link| first_match(rules, &link.name)).collect();
        (0..rules.len()).filter(|rule| !followed.contains(&Some(*rule))).collect()
    }

    /// Names of all links of the host, sorted.
    pub fn link_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.links.values().map(|link| &*link.name).collect();
        names.sort_unstable();
        names
    }

    /// Managed interfaces.
    pub fn managed(&self) -> &[ManagedInterface] {
        &self.managed
    }
}

/// Index of the rule that applies to an interface.
fn first_match(rules: &[InterfaceRule], name: &str) -> Option<usize> {
    rules.iter().position(|rule| rule.matches(name))
}

/// Whether both are one entry of the kernel. It may hold an IPv4 address with several prefix lengths,
/// for instance while a DHCP client changes the netmask.
fn is_same_address(one: &Address, other: &Address) -> bool {
    (one.index, one.address, one.prefix) == (other.index, other.address, other.prefix)
}

/// Local address of subflows: a preferred address before a deprecated one (RFC 4862), then the
/// previous one, then a temporary one (RFC 8981).
fn select_address(here: &[&Address], six: bool, before: Option<IpAddr>) -> Option<IpAddr> {
    let usable = here.iter().filter(|address| {
        address.address.is_ipv6() == six && address.scope == Scope::Global && !address.tentative
    });
    let best = usable
        .min_by_key(|address| (address.deprecated, Some(address.address) != before, !address.temporary));
    best.map(|address| address.address)
}

#[cfg(test)]
mod tests;
