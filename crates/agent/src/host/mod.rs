//! Which interfaces there are, and from which address of each subflows begin.

use crate::config::InterfaceRule;
use linux::route::{Address, Change, Link, Scope};
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant};

/// An interface that loses its link for less than this keeps its endpoints: a station that roams from one
/// access point to the next does.
const GRACE: Duration = Duration::from_secs(1);

/// An interface that is managed; it keeps its place even while it is away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagedInterface {
    /// Its name.
    pub name: String,
    /// Which rule it is managed by.
    pub rule: usize,
    /// The kernel's number for it, while it is there.
    pub index: Option<u32>,
    /// It is up, and what it is connected to is there.
    pub running: bool,
    /// When it last ceased to be.
    pub lost: Option<Instant>,
    /// The addresses that subflows begin from: at most one of IPv4 and one of IPv6.
    pub addresses: [Option<IpAddr>; 2],
}

impl ManagedInterface {
    /// It has a link and an address.
    pub fn is_up(&self) -> bool {
        self.running && self.addresses.iter().any(Option::is_some)
    }

    /// It is up, or was a moment ago.
    pub fn is_attached(&self, now: Instant) -> bool {
        let lately = self.lost.is_some_and(|at| now.since(at) < GRACE);
        self.index.is_some() && (self.running || lately)
    }

    /// When [`Self::is_attached`] changes by itself.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        (!self.running).then_some(self.lost).flatten().map(|at| at + GRACE).filter(|at| *at > now)
    }
}

/// The interfaces of a host, as far as they are managed.
#[derive(Debug, Default)]
pub struct Host {
    links: BTreeMap<u32, Link>,
    addresses: Vec<Address>,
    managed: Vec<ManagedInterface>,
}

impl Host {
    /// Those that the rules name are managed from the start, wherever they are.
    pub fn new(rules: &[InterfaceRule]) -> Self {
        let managed = rules.iter().enumerate().filter_map(|(rule, it)| {
            let name = it.exact()?.to_owned();
            Some(ManagedInterface {
                name,
                rule,
                index: None,
                running: false,
                lost: None,
                addresses: [None; 2],
            })
        });
        Self { managed: managed.collect(), ..Self::default() }
    }

    /// All links and addresses, as they are now.
    pub fn set(&mut self, links: Vec<Link>, addresses: Vec<Address>) {
        self.links = links.into_iter().map(|link| (link.index, link)).collect();
        self.addresses = addresses;
    }

    /// A change; false for [`Change::Overrun`], after which all must be asked for anew.
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
                self.addresses.retain(|old| !same(old, &new));
                self.addresses.push(new);
            }
            Change::AddressGone(gone) => self.addresses.retain(|old| !same(old, &gone)),
            Change::Overrun => return false,
        }
        true
    }

    /// Looks which interfaces are managed, by which address; true where one is that never was before.
    pub fn settle(&mut self, now: Instant, rules: &[InterfaceRule]) -> bool {
        let before = self.managed.len();
        for link in self.links.values() {
            let rule = rules.iter().position(|rule| rule.matches(&link.name));
            if let Some(rule) = rule
                && !self.managed.iter().any(|one| one.name == link.name)
            {
                let name = link.name.clone();
                let new = ManagedInterface {
                    name,
                    rule,
                    index: None,
                    running: false,
                    lost: None,
                    addresses: [None; 2],
                };
                self.managed.push(new);
            }
        }
        for one in &mut self.managed {
            let link = self.links.values().find(|link| link.name == one.name);
            let running = link.is_some_and(|link| link.up && link.running);
            if one.running && !running {
                one.lost = Some(now);
            }
            one.running = running;
            one.index = link.map(|link| link.index);
            let here: Vec<_> =
                self.addresses.iter().filter(|address| Some(address.index) == one.index).collect();
            one.addresses = [false, true].map(|six| choose(&here, six, one.addresses[usize::from(six)]));
        }
        self.managed.len() > before
    }

    /// Those that are managed. They keep their places.
    pub fn managed(&self) -> &[ManagedInterface] {
        &self.managed
    }
}

fn same(one: &Address, other: &Address) -> bool {
    one.index == other.index && one.address == other.address
}

/// The address that subflows begin from: the one that it was, while it is there; else a temporary one, from
/// which connections begin by themselves (RFC 8981), before one that stays.
fn choose(here: &[&Address], six: bool, before: Option<IpAddr>) -> Option<IpAddr> {
    let usable = |address: &&&Address| {
        address.address.is_ipv6() == six && address.scope == Scope::Global && !address.tentative
    };
    let mut usable: Vec<_> = here.iter().filter(usable).collect();
    if let Some(before) = before
        && usable.iter().any(|address| address.address == before)
    {
        return Some(before);
    }
    usable.sort_by_key(|address| !address.temporary);
    usable.first().map(|address| address.address)
}

#[cfg(test)]
mod tests;
