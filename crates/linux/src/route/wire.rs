//! rtnetlink messages: encoding and parsing (`<linux/rtnetlink.h>`, `<linux/if_link.h>`).

use crate::netlink::{Attributes, Malformed, Request, kind, read_array};
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

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Interface index, from 1.
    pub index: u32,
    /// Interface name, with U+FFFD in place of bytes that are not UTF-8.
    pub name: String,
    /// Administratively up (`IFF_UP`).
    pub up: bool,
    /// Operationally up (`IFF_RUNNING`; RFC 2863).
    pub running: bool,
    /// MTU in bytes.
    pub mtu: u32,
    /// Hardware type (`ARPHRD_*`): 1 for Ethernet and Wi-Fi, 772 for loopback, 65534 for TUN.
    pub hardware: u16,
    /// Traffic counters; zero when the message has none.
    pub stats: LinkStats,
}

/// Traffic counters since the interface was created. The kernel counts bytes as handed to the
/// interface: for a TUN device these are IP packets without a link header.
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
    /// Received packets that were dropped.
    pub rx_dropped: u64,
    /// Outgoing packets that were dropped.
    pub tx_dropped: u64,
}

impl LinkStats {
    /// Parses `struct rtnl_link_stats64`; kernels may append fields.
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let count = |nth: usize| {
            read_array(bytes, nth * 8).map(u64::from_ne_bytes).ok_or(Malformed("truncated counters"))
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
    /// Parses the payload of `RTM_NEWLINK` or `RTM_DELLINK` (`struct ifinfomsg`, attributes).
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let truncated = Malformed("truncated link");
        let flags = read_array(payload, 8).map(u32::from_ne_bytes).ok_or(truncated)?;
        let mut link = Self {
            index: read_array(payload, 4).map(u32::from_ne_bytes).ok_or(truncated)?,
            name: String::new(),
            up: flags & libc::IFF_UP as u32 != 0,
            running: flags & libc::IFF_RUNNING as u32 != 0,
            mtu: 0,
            hardware: read_array(payload, 2).map(u16::from_ne_bytes).ok_or(truncated)?,
            stats: LinkStats::default(),
        };
        for attribute in Attributes::new(payload.get(16..).ok_or(truncated)?) {
            let attribute = attribute?;
            match attribute.kind {
                IFLA_IFNAME => link.name = attribute.text_lossy().into_owned(),
                IFLA_MTU => link.mtu = attribute.u32()?,
                IFLA_STATS64 => link.stats = LinkStats::parse(attribute.value)?,
                _ => {}
            }
        }
        Ok(link)
    }
}

/// Parses the payload of `RTM_NEWSTATS`: link index and counters.
///
/// # Errors
/// Fails when it is truncated or malformed, or lacks counters.
pub fn parse_stats(payload: &[u8]) -> Result<(u32, LinkStats), Malformed> {
    let truncated = Malformed("truncated link counters");
    let index = read_array(payload, 4).map(u32::from_ne_bytes).ok_or(truncated)?;
    for attribute in Attributes::new(payload.get(12..).ok_or(truncated)?) {
        let attribute = attribute?;
        if attribute.kind == IFLA_STATS_LINK_64 {
            return Ok((index, LinkStats::parse(attribute.value)?));
        }
    }
    Err(Malformed("no counters in the response"))
}

/// Scope of an address (`RT_SCOPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Valid everywhere.
    Global,
    /// Valid on this link.
    Link,
    /// Valid on this host.
    Host,
    /// Another scope number.
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
    /// Index of the interface.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
    /// Prefix length.
    pub prefix: u8,
    /// Scope of the address.
    pub scope: Scope,
    /// Unusable: duplicate address detection is pending or has failed (IPv6).
    pub tentative: bool,
    /// Temporary address of the IPv6 privacy extensions (RFC 8981).
    pub temporary: bool,
    /// Its preferred lifetime is over: new connections should use another address (RFC 4862).
    pub deprecated: bool,
}

impl Address {
    /// Address that is usable at once.
    pub(super) fn new(index: u32, address: IpAddr, prefix: u8) -> Self {
        let scope = match address {
            IpAddr::V4(v4) if v4.is_loopback() => Scope::Host,
            IpAddr::V4(v4) if v4.is_link_local() => Scope::Link,
            _ => Scope::Global,
        };
        Self { index, address, prefix, scope, tentative: false, temporary: false, deprecated: false }
    }

    /// Parses the payload of `RTM_NEWADDR` or `RTM_DELADDR`; `None` for other families than IP.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let truncated = Malformed("truncated address");
        let [family, prefix, flags, scope] = read_array(payload, 0).ok_or(truncated)?;
        let index = read_array(payload, 4).map(u32::from_ne_bytes).ok_or(truncated)?;
        if family != INET && family != INET6 {
            return Ok(None);
        }
        let mut flags = flags as u32;
        let (mut local, mut peer) = (None, None);
        for attribute in Attributes::new(payload.get(8..).ok_or(truncated)?) {
            let attribute = attribute?;
            match attribute.kind {
                libc::IFA_LOCAL => local = Some(attribute.address()?),
                libc::IFA_ADDRESS => peer = Some(attribute.address()?),
                libc::IFA_FLAGS => flags = attribute.u32()?,
                _ => {}
            }
        }
        // On a point-to-point link IFA_ADDRESS is the peer's address.
        let address = local.or(peer).ok_or(Malformed("address message without an address"))?;
        if address.is_ipv4() != (family == INET) {
            return Err(Malformed("address does not match its family"));
        }
        let unverified = libc::IFA_F_TENTATIVE | libc::IFA_F_DADFAILED;
        Ok(Some(Self {
            index,
            address,
            prefix,
            scope: scope.into(),
            tentative: flags & unverified != 0 && flags & libc::IFA_F_OPTIMISTIC == 0,
            temporary: family == INET6 && flags & libc::IFA_F_TEMPORARY != 0,
            deprecated: flags & libc::IFA_F_DEPRECATED != 0,
        }))
    }

    pub(super) fn emit(&self, request: &mut Request, kind: u16, flags: u16) {
        let (family, flags_byte) = match self.address {
            IpAddr::V4(_) => (INET, 0),
            IpAddr::V6(_) => (INET6, libc::IFA_F_NODAD as u8),
        };
        request
            .start(kind, flags)
            .raw(&[family, self.prefix, flags_byte, self.scope.into()])
            .raw(&self.index.to_ne_bytes())
            .address(libc::IFA_LOCAL, self.address)
            .address(libc::IFA_ADDRESS, self.address);
    }
}

/// A unicast route of the main table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteEntry {
    /// Destination network or address.
    pub to: IpAddr,
    /// Prefix length; 0 for the default route.
    pub prefix: u8,
    /// Index of the outgoing interface.
    pub device: u32,
    /// Gateway, of either family; `None` for an on-link destination.
    pub via: Option<IpAddr>,
    /// Preferred source address.
    pub source: Option<IpAddr>,
    /// Metric; the lowest wins. IPv6 replaces 0 by 1024.
    pub metric: u32,
}

impl RouteEntry {
    /// Parses the payload of `RTM_NEWROUTE` or `RTM_DELROUTE`; `None` unless it is a unicast route
    /// of the main table over one interface.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let truncated = Malformed("truncated route");
        let [family, prefix, _, _, table, _, _, kind] = read_array(payload, 0).ok_or(truncated)?;
        let attributes = Attributes::new(payload.get(12..).ok_or(truncated)?);
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
            return Err(Malformed("route destination does not match its family"));
        }
        Ok((route.device != 0).then_some(route))
    }

    pub(super) fn emit(&self, request: &mut Request, kind: u16, flags: u16, table: u8) {
        let family = if self.to.is_ipv4() { INET } else { INET6 };
        let adding = kind == NEW_ROUTE;
        let scope = match self.via {
            _ if !adding => libc::RT_SCOPE_NOWHERE,
            Some(_) => libc::RT_SCOPE_UNIVERSE,
            None => libc::RT_SCOPE_LINK,
        };
        // RTPROT_UNSPEC deletes the route regardless of its origin.
        let protocol = if adding { libc::RTPROT_STATIC } else { libc::RTPROT_UNSPEC };
        request
            .start(kind, flags)
            .raw(&[family, self.prefix, 0, 0, table, protocol, scope, libc::RTN_UNICAST])
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

/// Route of the table `local` that delivers every IPv4 packet to this host, over its loopback `device`.
pub(super) fn deliver_locally_request(request: &mut Request, device: u32) {
    let (table, protocol, scope) = (libc::RT_TABLE_LOCAL, libc::RTPROT_STATIC, libc::RT_SCOPE_HOST);
    request
        .start(NEW_ROUTE, kind::ACK | kind::CREATE | kind::EXCLUSIVE)
        .raw(&[INET, 0, 0, 0, table, protocol, scope, libc::RTN_LOCAL])
        .raw(&[0; 4]);
    request.u32(libc::RTA_OIF, device);
}

pub(super) fn list_local_routes_request(request: &mut Request) {
    let header = [0, 0, 0, 0, libc::RT_TABLE_LOCAL, 0, 0, 0, 0, 0, 0, 0];
    request.start(libc::RTM_GETROUTE, kind::DUMP).raw(&header);
}

/// Network of a route of the table `local` that delivers packets to this host; `None` for others.
pub(super) fn parse_local_route(payload: &[u8]) -> Result<Option<(IpAddr, u8)>, Malformed> {
    let truncated = Malformed("truncated route");
    let [family, prefix, _, _, table, _, _, kind] = read_array(payload, 0).ok_or(truncated)?;
    let mut to = match family {
        INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return Ok(None),
    };
    if table != libc::RT_TABLE_LOCAL || !matches!(kind, libc::RTN_LOCAL | libc::RTN_ANYCAST) {
        return Ok(None);
    }
    for attribute in Attributes::new(payload.get(12..).ok_or(truncated)?) {
        let attribute = attribute?;
        if attribute.kind == libc::RTA_DST {
            to = attribute.address()?;
        }
    }
    Ok(Some((to, prefix)))
}

/// Starts a message about link `index`; 0 for all links, or for one named by an attribute.
pub(super) fn link_message(request: &mut Request, kind: u16, flags: u16, index: u32) -> &mut Request {
    link_flags(request.start(kind, flags), index, 0, 0)
}

pub(super) fn set_up_request(request: &mut Request, index: u32, up: bool) {
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

pub(super) fn add_veth_request(request: &mut Request, name: &str, peer: &str, there: RawFd) {
    const INFO_KIND: u16 = 1;
    const INFO_DATA: u16 = 2;
    const PEER: u16 = 1;
    link_message(request, NEW_LINK, kind::ACK | kind::CREATE | kind::EXCLUSIVE, 0)
        .text(IFLA_IFNAME, name)
        .nest(libc::IFLA_LINKINFO, |info| {
            info.text(INFO_KIND, "veth").nest(INFO_DATA, |data| {
                data.nest(PEER, |inner| {
                    link_flags(inner, 0, 0, 0)
                        .text(IFLA_IFNAME, peer)
                        .u32(libc::IFLA_NET_NS_FD, there as u32);
                });
            });
        });
}

pub(super) fn stats_request(request: &mut Request, index: u32) {
    // The filter bit of an attribute is its number minus one.
    let filter: u32 = 1 << (IFLA_STATS_LINK_64 - 1);
    request.start(GET_STATS, kind::ACK).raw(&[0; 4]).raw(&index.to_ne_bytes()).raw(&filter.to_ne_bytes());
}

pub(super) fn list_addresses_request(request: &mut Request) {
    request.start(libc::RTM_GETADDR, kind::DUMP).raw(&[0; 8]);
}

pub(super) fn list_routes_request(request: &mut Request) {
    request.start(libc::RTM_GETROUTE, kind::DUMP).raw(&[0; 12]);
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
