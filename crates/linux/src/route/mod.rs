//! Links, addresses and routes of a namespace (rtnetlink(7)).
//!
//! | File | Contents |
//! |---|---|
//! | `wire` | encoding and parsing, without I/O |
//! | `monitor` | notifications of changes |
//! | `local` | addresses that the kernel delivers to this host |

mod local;
mod monitor;
mod wire;

pub use local::LocalNetworks;
pub use monitor::{Change, Monitor};
pub use wire::{Address, Link, LinkStats, RouteEntry, Scope, parse_stats};

use crate::Error;
use crate::namespace::Namespace;
use crate::netlink::{Family, Malformed, Request, Socket, kind};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

/// rtnetlink socket for the namespace in which it was opened.
#[derive(Debug)]
pub struct Route {
    socket: Socket,
    request: Request,
}

impl Route {
    /// Opens the socket.
    ///
    /// # Errors
    /// Fails when the system provides no socket.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(Family::Route)?;
        socket.enable_strict_checking();
        Ok(Self { socket, request: Request::new() })
    }

    /// All links.
    ///
    /// # Errors
    /// Fails when the kernel rejects the request, or its response cannot be parsed.
    pub fn links(&mut self) -> Result<Vec<Link>, Error> {
        wire::link_message(&mut self.request, wire::GET_LINK, kind::DUMP, 0);
        self.socket.list(&mut self.request, format_args!("list the links"), |message| {
            if message.header.kind == wire::NEW_LINK {
                Link::parse(message.payload).map(Some)
            } else {
                Ok(None)
            }
        })
    }

    /// The link `name`.
    ///
    /// # Errors
    /// Fails when there is no such link ([`Error::Refused`], ENODEV).
    pub fn link(&mut self, name: &str) -> Result<Link, Error> {
        wire::link_message(&mut self.request, wire::GET_LINK, kind::ACK, 0).text(wire::IFLA_IFNAME, name);
        let mut link = None;
        let doing = format_args!("find the interface {name}");
        self.socket.transact(&mut self.request, doing, |message| {
            link = Some(Link::parse(message.payload)?);
            Ok(())
        })?;
        link.ok_or_else(|| Malformed("no link in the response").in_reply_to(doing))
    }

    /// Traffic counters of the link `index`. Does not allocate, so frequent polling is cheap.
    ///
    /// # Errors
    /// Fails when there is no such link ([`Error::Refused`], ENODEV).
    pub fn stats(&mut self, index: u32) -> Result<LinkStats, Error> {
        wire::stats_request(&mut self.request, index);
        let mut stats = None;
        let doing = format_args!("read the counters of interface {index}");
        self.socket.transact(&mut self.request, doing, |message| {
            stats = Some(parse_stats(message.payload)?.1);
            Ok(())
        })?;
        stats.ok_or_else(|| Malformed("no counters in the response").in_reply_to(doing))
    }

    /// Sets a link up or down.
    ///
    /// # Errors
    /// Fails when there is no such link, or without CAP_NET_ADMIN.
    pub fn set_up(&mut self, index: u32, up: bool) -> Result<(), Error> {
        wire::set_up_request(&mut self.request, index, up);
        let state = if up { "up" } else { "down" };
        self.socket.execute(&mut self.request, format_args!("set interface {index} {state}"))
    }

    /// Sets the MTU in bytes.
    ///
    /// # Errors
    /// Fails when there is no such link, or it does not support the MTU; or without CAP_NET_ADMIN.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> Result<(), Error> {
        wire::link_message(&mut self.request, wire::NEW_LINK, kind::ACK, index).u32(wire::IFLA_MTU, mtu);
        self.socket.execute(&mut self.request, format_args!("set the MTU of interface {index} to {mtu}"))
    }

    /// Sets the transmit queue length in packets (`txqueuelen`).
    ///
    /// # Errors
    /// Fails when there is no such link, or without CAP_NET_ADMIN.
    pub fn set_queue_length(&mut self, index: u32, packets: u32) -> Result<(), Error> {
        wire::link_message(&mut self.request, wire::NEW_LINK, kind::ACK, index)
            .u32(wire::IFLA_TXQLEN, packets);
        let doing = format_args!("set the transmit queue of interface {index} to {packets} packets");
        self.socket.execute(&mut self.request, doing)
    }

    /// Creates a pair of virtual Ethernet devices: `name` here, `peer` in the namespace `there`.
    /// Both start down. Both vanish when either is removed, or one of the namespaces ends.
    ///
    /// # Errors
    /// Fails when a name is taken or too long, or the kernel lacks veth; or without CAP_NET_ADMIN.
    pub fn add_veth(&mut self, name: &str, peer: &str, there: &Namespace) -> Result<(), Error> {
        wire::add_veth_request(&mut self.request, name, peer, there.as_fd().as_raw_fd());
        self.socket.execute(&mut self.request, format_args!("create the devices {name} and {peer}"))
    }

    /// Deletes a virtual link.
    ///
    /// # Errors
    /// Fails when there is no such link, or it cannot be deleted; or without CAP_NET_ADMIN.
    pub fn remove_link(&mut self, index: u32) -> Result<(), Error> {
        wire::link_message(&mut self.request, wire::DELETE_LINK, kind::ACK, index);
        self.socket.execute(&mut self.request, format_args!("remove interface {index}"))
    }

    /// All addresses, IPv4 and IPv6.
    ///
    /// # Errors
    /// Fails when the kernel rejects the request, or its response cannot be parsed.
    pub fn addresses(&mut self) -> Result<Vec<Address>, Error> {
        wire::list_addresses_request(&mut self.request);
        self.socket.list(&mut self.request, format_args!("list the addresses"), |message| {
            if message.header.kind == wire::NEW_ADDRESS { Address::parse(message.payload) } else { Ok(None) }
        })
    }

    /// Assigns an address to a link. An IPv6 address is usable at once, without duplicate address
    /// detection.
    ///
    /// # Errors
    /// Fails when the address is assigned already ([`Error::Refused`], EEXIST), or without
    /// CAP_NET_ADMIN.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
        let address = Address::new(index, address, prefix);
        address.emit(&mut self.request, wire::NEW_ADDRESS, kind::ACK | kind::CREATE | kind::EXCLUSIVE);
        let doing = format_args!("add {}/{prefix} to interface {index}", address.address);
        self.socket.execute(&mut self.request, doing)
    }

    /// Removes an address from a link.
    ///
    /// # Errors
    /// Fails when it is not assigned ([`Error::Refused`], EADDRNOTAVAIL), or without CAP_NET_ADMIN.
    pub fn remove_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
        let address = Address::new(index, address, prefix);
        address.emit(&mut self.request, wire::DELETE_ADDRESS, kind::ACK);
        let doing = format_args!("remove {}/{prefix} from interface {index}", address.address);
        self.socket.execute(&mut self.request, doing)
    }

    /// Networks of the table `local` whose packets the kernel delivers to this host, with their prefix
    /// lengths: addresses of interfaces, loopback, and anycast or routes of type `local` that were
    /// added by hand.
    ///
    /// # Errors
    /// Fails when the kernel rejects the request, or its response cannot be parsed.
    pub fn local_routes(&mut self) -> Result<Vec<(IpAddr, u8)>, Error> {
        wire::list_local_routes_request(&mut self.request);
        self.socket.list(&mut self.request, format_args!("list the local routes"), |message| {
            if message.header.kind == wire::NEW_ROUTE {
                wire::parse_local_route(message.payload)
            } else {
                Ok(None)
            }
        })
    }

    /// Unicast routes of the main table, IPv4 and IPv6.
    ///
    /// # Errors
    /// Fails when the kernel rejects the request, or its response cannot be parsed.
    pub fn routes(&mut self) -> Result<Vec<RouteEntry>, Error> {
        wire::list_routes_request(&mut self.request);
        self.socket.list(&mut self.request, format_args!("list the routes"), |message| {
            if message.header.kind == wire::NEW_ROUTE { RouteEntry::parse(message.payload) } else { Ok(None) }
        })
    }

    /// Adds a route to the main table.
    ///
    /// # Errors
    /// Fails when the route exists ([`Error::Refused`], EEXIST), its gateway is unreachable, or the
    /// device is down; or without CAP_NET_ADMIN.
    pub fn add_route(&mut self, route: &RouteEntry) -> Result<(), Error> {
        self.add_to_table(route, libc::RT_TABLE_MAIN)
    }

    /// Adds a route to the table `local`, which the kernel searches before the main table.
    ///
    /// # Errors
    /// As [`Self::add_route`].
    pub fn add_route_before_main(&mut self, route: &RouteEntry) -> Result<(), Error> {
        self.add_to_table(route, libc::RT_TABLE_LOCAL)
    }

    fn add_to_table(&mut self, route: &RouteEntry, table: u8) -> Result<(), Error> {
        route.emit(&mut self.request, wire::NEW_ROUTE, kind::ACK | kind::CREATE | kind::EXCLUSIVE, table);
        self.socket.execute(&mut self.request, format_args!("add a route to {}/{}", route.to, route.prefix))
    }

    /// Makes every IPv4 address without a more specific route in the table `local` an address of
    /// this host. `device` is the loopback device.
    ///
    /// # Errors
    /// Fails when the route exists ([`Error::Refused`], EEXIST), or without CAP_NET_ADMIN.
    pub fn deliver_locally(&mut self, device: u32) -> Result<(), Error> {
        wire::deliver_locally_request(&mut self.request, device);
        self.socket.execute(&mut self.request, format_args!("deliver all packets locally"))
    }

    /// Removes a route from the main table.
    ///
    /// # Errors
    /// Fails when there is no such route ([`Error::Refused`], ESRCH), or without CAP_NET_ADMIN.
    pub fn remove_route(&mut self, route: &RouteEntry) -> Result<(), Error> {
        route.emit(&mut self.request, wire::DELETE_ROUTE, kind::ACK, libc::RT_TABLE_MAIN);
        self.socket
            .execute(&mut self.request, format_args!("remove the route to {}/{}", route.to, route.prefix))
    }
}
