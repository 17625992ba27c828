//! Links, addresses and routes of a namespace (rtnetlink(7)).
//!
//! | File | What it is |
//! |---|---|
//! | `wire` | messages to meanings and back, pure |
//! | `monitor` | what changes, as it changes |

mod monitor;
mod wire;

pub use monitor::{Change, Monitor};
pub use wire::{Address, Link, LinkStats, RouteEntry, Scope, parse_stats};

use crate::Error;
use crate::namespace::Namespace;
use crate::netlink::{Family, Malformed, Request, Socket, kind};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

/// Reads and changes links, addresses and routes of the namespace in which it was opened.
#[derive(Debug)]
pub struct Route {
    socket: Socket,
    request: Request,
}

impl Route {
    /// Opens it.
    ///
    /// # Errors
    /// Where the system gives no socket.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(Family::Route)?;
        socket.strict();
        Ok(Self { socket, request: Request::new() })
    }

    /// All links.
    ///
    /// # Errors
    /// Where the kernel refuses, or its answer cannot be read.
    pub fn links(&mut self) -> Result<Vec<Link>, Error> {
        wire::link(&mut self.request, wire::GET_LINK, kind::DUMP, 0);
        self.socket.list(&mut self.request, format_args!("list the links"), |message| {
            if message.header.kind == wire::NEW_LINK {
                Link::parse(message.payload).map(Some)
            } else {
                Ok(None)
            }
        })
    }

    /// The link called `name`.
    ///
    /// # Errors
    /// Where there is none ([`Error::Refused`], ENODEV).
    pub fn link(&mut self, name: &str) -> Result<Link, Error> {
        wire::link(&mut self.request, wire::GET_LINK, kind::ACK, 0).text(wire::IFLA_IFNAME, name);
        let mut link = None;
        let doing = format_args!("find the interface {name}");
        self.socket.ask(&mut self.request, doing, |message| {
            link = Some(Link::parse(message.payload)?);
            Ok(())
        })?;
        link.ok_or_else(|| Malformed("there is no link in it").answering(doing))
    }

    /// What went over the link of that index so far. Allocates nothing: made to be asked often.
    ///
    /// # Errors
    /// Where there is none ([`Error::Refused`], ENODEV).
    pub fn stats(&mut self, index: u32) -> Result<LinkStats, Error> {
        wire::stats(&mut self.request, index);
        let mut stats = None;
        let doing = format_args!("read the counters of interface {index}");
        self.socket.ask(&mut self.request, doing, |message| {
            stats = Some(parse_stats(message.payload)?.1);
            Ok(())
        })?;
        stats.ok_or_else(|| Malformed("there are no counters in it").answering(doing))
    }

    /// Sets a link up or down.
    ///
    /// # Errors
    /// Where there is no such link, or the caller may not.
    pub fn set_up(&mut self, index: u32, up: bool) -> Result<(), Error> {
        wire::link_up(&mut self.request, index, up);
        let state = if up { "up" } else { "down" };
        self.socket.act(&mut self.request, format_args!("set interface {index} {state}"))
    }

    /// Sets the largest packet, in bytes.
    ///
    /// # Errors
    /// Where there is no such link, it cannot, or the caller may not.
    pub fn set_mtu(&mut self, index: u32, mtu: u32) -> Result<(), Error> {
        wire::link(&mut self.request, wire::NEW_LINK, kind::ACK, index).u32(wire::IFLA_MTU, mtu);
        self.socket.act(&mut self.request, format_args!("set the MTU of interface {index} to {mtu}"))
    }

    /// Sets how many packets the link's queue holds (`txqueuelen`).
    ///
    /// # Errors
    /// Where there is no such link, or the caller may not.
    pub fn set_queue_length(&mut self, index: u32, packets: u32) -> Result<(), Error> {
        wire::link(&mut self.request, wire::NEW_LINK, kind::ACK, index).u32(wire::IFLA_TXQLEN, packets);
        let doing = format_args!("set the queue of interface {index} to {packets} packets");
        self.socket.act(&mut self.request, doing)
    }

    /// Makes a pair of virtual Ethernet devices: `name` here, `peer` in the namespace `there`. Both are
    /// down. They go when either is removed, or a namespace with one of them ends.
    ///
    /// # Errors
    /// Where a name is taken or too long, the kernel has no such devices, or the caller may not.
    pub fn add_veth(&mut self, name: &str, peer: &str, there: &Namespace) -> Result<(), Error> {
        wire::veth(&mut self.request, name, peer, there.as_fd().as_raw_fd());
        self.socket.act(&mut self.request, format_args!("make the devices {name} and {peer}"))
    }

    /// Removes a link that can be removed.
    ///
    /// # Errors
    /// Where there is no such link, it cannot be removed, or the caller may not.
    pub fn remove_link(&mut self, index: u32) -> Result<(), Error> {
        wire::link(&mut self.request, wire::DELETE_LINK, kind::ACK, index);
        self.socket.act(&mut self.request, format_args!("remove interface {index}"))
    }

    /// All addresses, IPv4 and IPv6.
    ///
    /// # Errors
    /// Where the kernel refuses, or its answer cannot be read.
    pub fn addresses(&mut self) -> Result<Vec<Address>, Error> {
        wire::addresses(&mut self.request);
        self.socket.list(&mut self.request, format_args!("list the addresses"), |message| {
            if message.header.kind == wire::NEW_ADDRESS { Address::parse(message.payload) } else { Ok(None) }
        })
    }

    /// Gives a link an address. An IPv6 address is usable at once: nobody is asked whether it is taken.
    ///
    /// # Errors
    /// Where it is there already ([`Error::Refused`], EEXIST), or the caller may not.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
        let address = Address::new(index, address, prefix);
        address.emit(&mut self.request, wire::NEW_ADDRESS, kind::ACK | kind::CREATE | kind::EXCLUSIVE);
        let doing = format_args!("give {}/{prefix} to interface {index}", address.address);
        self.socket.act(&mut self.request, doing)
    }

    /// Takes an address from a link.
    ///
    /// # Errors
    /// Where it is not there ([`Error::Refused`], EADDRNOTAVAIL), or the caller may not.
    pub fn remove_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
        let address = Address::new(index, address, prefix);
        address.emit(&mut self.request, wire::DELETE_ADDRESS, kind::ACK);
        let doing = format_args!("take {}/{prefix} from interface {index}", address.address);
        self.socket.act(&mut self.request, doing)
    }

    /// The unicast routes of the main table, IPv4 and IPv6.
    ///
    /// # Errors
    /// Where the kernel refuses, or its answer cannot be read.
    pub fn routes(&mut self) -> Result<Vec<RouteEntry>, Error> {
        wire::routes(&mut self.request);
        self.socket.list(&mut self.request, format_args!("list the routes"), |message| {
            if message.header.kind == wire::NEW_ROUTE { RouteEntry::parse(message.payload) } else { Ok(None) }
        })
    }

    /// Adds a route to the main table.
    ///
    /// # Errors
    /// Where it is there already ([`Error::Refused`], EEXIST), its gateway cannot be reached, the device
    /// is down, or the caller may not.
    pub fn add_route(&mut self, route: &RouteEntry) -> Result<(), Error> {
        route.emit(&mut self.request, wire::NEW_ROUTE, kind::ACK | kind::CREATE | kind::EXCLUSIVE);
        self.socket.act(&mut self.request, format_args!("add a route to {}/{}", route.to, route.prefix))
    }

    /// Removes a route from the main table.
    ///
    /// # Errors
    /// Where it is not there ([`Error::Refused`], ESRCH), or the caller may not.
    pub fn remove_route(&mut self, route: &RouteEntry) -> Result<(), Error> {
        route.emit(&mut self.request, wire::DELETE_ROUTE, kind::ACK);
        self.socket.act(&mut self.request, format_args!("remove the route to {}/{}", route.to, route.prefix))
    }
}
