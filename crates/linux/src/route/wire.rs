//! Messages of rtnetlink(7), to meanings and back (`<linux/rtnetlink.h>`, `<linux/if_link.h>`).

use crate::netlink::{Attributes, Malformed, Request, fixed, kind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::RawFd;

pub(super) const NEW_LINK: u16 = libc::RTM_NEWLINK;
pub(super) const DELETE_LINK: u16 = libc::RTM_DELLINK;
pub(super) const GET_LINK: u16 = libc::RTM_GETLINK;
pub(super) const NEW_ADDRESS: u16 = libc::RTM_NEWADDR;
pub(super) const DELETE_ADDRESS: u16 = libc::RTM_DELADDR;
pub(super) const NEW_ROUTE: u16 = libc::RTM_NEWROUTE;
pub(super) const DELETE_ROUTE: u16 = libc::RTM_DELROUTE;
const GET_STATS: u16 = 94;

pub(super) const IFLA_IFNAME: u16 = libc::IFLA_IFNAME;
pub(super) const IFLA_MTU: u16 = libc::IFLA_MTU;
pub(super) const IFLA_TXQLEN: u16 = libc::IFLA_TXQLEN;
const IFLA_STATS64: u16 = 23;
const IFLA_STATS_LINK_64: u16 = 1;

const INET: u8 = libc::AF_INET as u8;
const INET6: u8 = libc::AF_INET6 as u8;

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number, from 1 on.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Set up by whoever administers it (`IFF_UP`).
    pub up: bool,
    /// Up, and what it is connected to is there (`IFF_RUNNING`, the operational state of RFC 2863).
    pub running: bool,
    /// The largest packet in bytes.
    pub mtu: u32,
    /// The kind of hardware (`ARPHRD_*`): 1 for Ethernet and Wi-Fi, 772 for loopback, 65534 for TUN.
    pub hardware: u16,
    /// What went over it so far; zero where the message says nothing of it.
    pub stats: LinkStats,
}

/// What went over an interface since it was made. The kernel counts what the interface is handed: for a
/// TUN device, IP packets without any header before them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets received and then dropped.
    pub rx_dropped: u64,
    /// Packets that were to be sent and were dropped.
    pub tx_dropped: u64,
}

impl LinkStats {
    /// From `struct rtnl_link_stats64`, whatever its length.
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let count = |nth: usize| {
            fixed(bytes, nth * 8).map(u64::from_ne_bytes).ok_or(Malformed("the counters are cut off"))
        };
        Ok(Self {
            rx_packets: count(0)?,
            tx_packets: count(1)?,
            rx_bytes: count(2)?,
            tx_bytes: count(3)?,
            rx_dropped: count(6)?,
            tx_dropped: count(7)?,
        })
    }
}

impl Link {
    /// Reads what follows the header of `RTM_NEWLINK` and `RTM_DELLINK` (`struct ifinfomsg` and
    /// attributes).
    ///
    /// # Errors
    /// Where it is cut off or malformed.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let cut = Malformed("a link is cut off");
        let flags = fixed(payload, 8).map(u32::from_ne_bytes).ok_or(cut)?;
        let mut link = Self {
            index: fixed(payload, 4).map(u32::from_ne_bytes).ok_or(cut)?,
            name: String::new(),
            up: flags & libc::IFF_UP as u32 != 0,
            running: flags & libc::IFF_RUNNING as u32 != 0,
            mtu: 0,
            hardware: fixed(payload, 2).map(u16::from_ne_bytes).ok_or(cut)?,
            stats: LinkStats::default(),
        };
        for attribute in Attributes::new(payload.get(16..).ok_or(cut)?) {
            let attribute = attribute?;
            match attribute.kind {
                IFLA_IFNAME => attribute.text()?.clone_into(&mut link.name),
                IFLA_MTU => link.mtu = attribute.u32()?,
                IFLA_STATS64 => link.stats = LinkStats::parse(attribute.value)?,
                _ => {}
            }
        }
        Ok(link)
    }
}

/// Reads what follows the header of `RTM_NEWSTATS`: of which link, and what.
///
/// # Errors
/// Where it is cut off or malformed, or has no counters.
pub fn parse_stats(payload: &[u8]) -> Result<(u32, LinkStats), Malformed> {
    let cut = Malformed("the counters of a link are cut off");
    let index = fixed(payload, 4).map(u32::from_ne_bytes).ok_or(cut)?;
    for attribute in Attributes::new(payload.get(12..).ok_or(cut)?) {
        let attribute = attribute?;
        if attribute.kind == IFLA_STATS_LINK_64 {
            return Ok((index, LinkStats::parse(attribute.value)?));
        }
    }
    Err(Malformed("there are no counters in it"))
}

/// How far an address is known (`RT_SCOPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Global,
    /// On the link alone.
    Link,
    /// On this host alone.
    Host,
    /// Another number.
    Other(u8),
}

impl From<u8> for Scope {
    fn from(number: u8) -> Self {
        match number {
            libc::RT_SCOPE_UNIVERSE => Self::Global,
            libc::RT_SCOPE_LINK => Self::Link,
            libc::RT_SCOPE_HOST => Self::Host,
            other => Self::Other(other),
        }
    }
}

impl From<Scope> for u8 {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Global => libc::RT_SCOPE_UNIVERSE,
            Scope::Link => libc::RT_SCOPE_LINK,
            Scope::Host => libc::RT_SCOPE_HOST,
            Scope::Other(number) => number,
        }
    }
}

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The interface.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
    /// How many of its bits are the network's.
    pub prefix: u8,
    /// How far it is known.
    pub scope: Scope,
    /// Not to be used: it is not yet sure, or sure not to be, that nobody else has it (IPv6).
    pub tentative: bool,
    /// Made up for a while and then replaced (IPv6 privacy extensions, RFC 8981).
    pub temporary: bool,
}

impl Address {
    /// One that can be used at once.
    pub(super) fn new(index: u32, address: IpAddr, prefix: u8) -> Self {
        let scope = match address {
            IpAddr::V4(v4) if v4.is_loopback() => Scope::Host,
            IpAddr::V4(v4) if v4.is_link_local() => Scope::Link,
            _ => Scope::Global,
        };
        Self { index, address, prefix, scope, tentative: false, temporary: false }
    }

    /// Reads what follows the header of `RTM_NEWADDR` and `RTM_DELADDR`; `None` where it is not of IP.
    ///
    /// # Errors
    /// Where it is cut off or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let cut = Malformed("an address is cut off");
        let [family, prefix, flags, scope] = fixed(payload, 0).ok_or(cut)?;
        let index = fixed(payload, 4).map(u32::from_ne_bytes).ok_or(cut)?;
        if family != INET && family != INET6 {
            return Ok(None);
        }
        let mut flags = flags as u32;
        let (mut local, mut peer) = (None, None);
        for attribute in Attributes::new(payload.get(8..).ok_or(cut)?) {
            let attribute = attribute?;
            match attribute.kind {
                libc::IFA_LOCAL => local = Some(attribute.address()?),
                libc::IFA_ADDRESS => peer = Some(attribute.address()?),
                libc::IFA_FLAGS => flags = attribute.u32()?,
                _ => {}
            }
        }
        // On a point-to-point link IFA_ADDRESS is the other end's.
        let address = local.or(peer).ok_or(Malformed("an address message has no address"))?;
        if address.is_ipv4() != (family == INET) {
            return Err(Malformed("an address is not of its family"));
        }
        let unsure = libc::IFA_F_TENTATIVE | libc::IFA_F_DADFAILED;
        Ok(Some(Self {
            index,
            address,
            prefix,
            scope: scope.into(),
            tentative: flags & unsure != 0 && flags & libc::IFA_F_OPTIMISTIC == 0,
            temporary: family == INET6 && flags & libc::IFA_F_TEMPORARY != 0,
        }))
    }

    pub(super) fn emit(&self, request: &mut Request, kind: u16, flags: u16) {
        let (family, mark) = match self.address {
            IpAddr::V4(_) => (INET, 0),
            IpAddr::V6(_) => (INET6, libc::IFA_F_NODAD as u8),
        };
        request
            .start(kind, flags)
            .raw(&[family, self.prefix, mark, self.scope.into()])
            .raw(&self.index.to_ne_bytes())
            .address(libc::IFA_LOCAL, self.address)
            .address(libc::IFA_ADDRESS, self.address);
    }
}

/// A unicast route of the main table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteEntry {
    /// Where to: a network or an address.
    pub to: IpAddr,
    /// How many of its bits are the network's; 0 for the default route.
    pub prefix: u8,
    /// Over which interface.
    pub device: u32,
    /// Over which router, of either family; `None` where `to` is on the link.
    pub via: Option<IpAddr>,
    /// The address that connections over it begin from, where they do not say.
    pub source: Option<IpAddr>,
    /// The lowest is preferred. IPv6 makes 1024 of 0.
    pub metric: u32,
}

impl RouteEntry {
    /// Reads what follows the header of `RTM_NEWROUTE` and `RTM_DELROUTE`; `None` where it is not a
    /// unicast route of the main table over one interface.
    ///
    /// # Errors
    /// Where it is cut off or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let cut = Malformed("a route is cut off");
        let [family, prefix, _, _, table, _, _, kind] = fixed(payload, 0).ok_or(cut)?;
        let attributes = Attributes::new(payload.get(12..).ok_or(cut)?);
        let any = match family {
            INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            _ => return Ok(None),
        };
        if kind != libc::RTN_UNICAST || table != libc::RT_TABLE_MAIN {
            return Ok(None);
        }
        let mut route = Self { to: any, prefix, device: 0, via: None, source: None, metric: 0 };
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                libc::RTA_DST => route.to = attribute.address()?,
                libc::RTA_OIF => route.device = attribute.u32()?,
                libc::RTA_GATEWAY => route.via = Some(attribute.address()?),
                libc::RTA_VIA => {
                    let address = attribute.value.get(2..).unwrap_or_default();
                    let inner = crate::netlink::Attribute { kind: 0, value: address };
                    route.via = Some(inner.address()?);
                }
                libc::RTA_PREFSRC => route.source = Some(attribute.address()?),
                libc::RTA_PRIORITY => route.metric = attribute.u32()?,
                _ => {}
            }
        }
        if route.to.is_ipv4() != any.is_ipv4() {
            return Err(Malformed("a route's address is not of its family"));
        }
        Ok((route.device != 0).then_some(route))
    }

    pub(super) fn emit(&self, request: &mut Request, kind: u16, flags: u16) {
        let family = if self.to.is_ipv4() { INET } else { INET6 };
        let adding = kind == NEW_ROUTE;
        let scope = match self.via {
            _ if !adding => libc::RT_SCOPE_NOWHERE,
            Some(_) => libc::RT_SCOPE_UNIVERSE,
            None => libc::RT_SCOPE_LINK,
        };
        // Where it is removed, whoever made it.
        let protocol = if adding { libc::RTPROT_STATIC } else { libc::RTPROT_UNSPEC };
        request
            .start(kind, flags)
            .raw(&[family, self.prefix, 0, 0, libc::RT_TABLE_MAIN, protocol, scope, libc::RTN_UNICAST])
            .raw(&[0; 4]);
        if self.prefix > 0 {
            request.address(libc::RTA_DST, self.to);
        }
        request.u32(libc::RTA_OIF, self.device);
        match self.via {
            Some(via) if via.is_ipv4() == self.to.is_ipv4() => {
                request.address(libc::RTA_GATEWAY, via);
            }
            Some(IpAddr::V6(via)) => {
                let mut value = [0; 18];
                value[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                value[2..].copy_from_slice(&via.octets());
                request.attribute(libc::RTA_VIA, &value);
            }
            Some(IpAddr::V4(via)) => {
                let mut value = [0; 6];
                value[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                value[2..].copy_from_slice(&via.octets());
                request.attribute(libc::RTA_VIA, &value);
            }
            None => {}
        }
        if let Some(source) = self.source {
            request.address(libc::RTA_PREFSRC, source);
        }
        if self.metric > 0 {
            request.u32(libc::RTA_PRIORITY, self.metric);
        }
    }
}

/// A message about the link `index`; 0 for all, or for one that is named by an attribute.
pub(super) fn link(request: &mut Request, kind: u16, flags: u16, index: u32) -> &mut Request {
    link_flags(request.start(kind, flags), index, 0, 0)
}

pub(super) fn link_up(request: &mut Request, index: u32, up: bool) {
    let flag = libc::IFF_UP as u32;
    link_flags(request.start(NEW_LINK, kind::ACK), index, if up { flag } else { 0 }, flag);
}

fn link_flags(request: &mut Request, index: u32, flags: u32, change: u32) -> &mut Request {
    let words = [0, index, flags, change];
    for word in words {
        request.raw(&word.to_ne_bytes());
    }
    request
}

pub(super) fn veth(request: &mut Request, name: &str, peer: &str, there: RawFd) {
    const INFO_KIND: u16 = 1;
    const INFO_DATA: u16 = 2;
    const PEER: u16 = 1;
    link(request, NEW_LINK, kind::ACK | kind::CREATE | kind::EXCLUSIVE, 0).text(IFLA_IFNAME, name).nest(
        libc::IFLA_LINKINFO,
        |info| {
            info.text(INFO_KIND, "veth").nest(INFO_DATA, |data| {
                data.nest(PEER, |inner| {
                    link_flags(inner, 0, 0, 0)
                        .text(IFLA_IFNAME, peer)
                        .u32(libc::IFLA_NET_NS_FD, there as u32);
                });
            });
        },
    );
}

pub(super) fn stats(request: &mut Request, index: u32) {
    // The bit of an attribute is its number less one.
    let filter: u32 = 1 << (IFLA_STATS_LINK_64 - 1);
    request.start(GET_STATS, kind::ACK).raw(&[0; 4]).raw(&index.to_ne_bytes()).raw(&filter.to_ne_bytes());
}

pub(super) fn addresses(request: &mut Request) {
    request.start(libc::RTM_GETADDR, kind::DUMP).raw(&[0; 8]);
}

pub(super) fn routes(request: &mut Request) {
    request.start(libc::RTM_GETROUTE, kind::DUMP).raw(&[0; 12]);
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
