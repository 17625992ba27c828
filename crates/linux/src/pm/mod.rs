//! MPTCP path managers: which local addresses a connection uses, and how.
//!
//! Linux has two (`net.mptcp.path_manager`, before 6.15 `net.mptcp.pm_type`). The **kernel** path
//! manager applies endpoints and limits to all connections of a namespace. With the **userspace**
//! path manager a program controls each connection, identified by its token.
//!
//! `endpoint` and `event` encode and parse messages without I/O; `events` is the socket of events;
//! [`path_manager`] selects the path manager of new connections.

mod endpoint;
mod event;
mod events;
pub mod path_manager;

pub use endpoint::{Endpoint, Flags};
pub use event::{ConnectionEvent, Event, Reset, SubflowEvent};
pub use events::Events;

use crate::Error;
use crate::netlink::{Family, GenericFamily, GenericHeader, Malformed, Request, Socket, kind};
use endpoint::AddressAttributes;
use std::net::{IpAddr, SocketAddr};

const FAMILY: &str = "mptcp_pm";
const VERSION: u8 = 1;

/// Commands (`MPTCP_PM_CMD_*` of `<linux/mptcp_pm.h>`).
mod command {
    pub(super) const ADD_ADDR: u8 = 1;
    pub(super) const DEL_ADDR: u8 = 2;
    pub(super) const GET_ADDR: u8 = 3;
    pub(super) const FLUSH_ADDRS: u8 = 4;
    pub(super) const SET_LIMITS: u8 = 5;
    pub(super) const GET_LIMITS: u8 = 6;
    pub(super) const SET_FLAGS: u8 = 7;
    pub(super) const ANNOUNCE: u8 = 8;
    pub(super) const REMOVE: u8 = 9;
    pub(super) const SUBFLOW_CREATE: u8 = 10;
    pub(super) const SUBFLOW_DESTROY: u8 = 11;
}

/// Attributes of commands (`MPTCP_PM_ATTR_*`).
const ADDR: u16 = 1;
const RCV_ADD_ADDRS: u16 = 2;
const SUBFLOWS: u16 = 3;
const TOKEN: u16 = 4;
const LOC_ID: u16 = 5;
const ADDR_REMOTE: u16 = 6;

/// Per-connection limits of the kernel path manager; each at most 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Maximum number of additional subflows.
    pub subflows: u32,
    /// Maximum number of announced addresses of the peer to connect to.
    pub accepted_addresses: u32,
}

/// Subflows whose priority is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// All subflows of a kernel path manager endpoint, by address ID.
    Id(u8),
    /// All subflows of a kernel path manager endpoint, by address.
    Address(IpAddr),
    /// One subflow of a connection with the userspace path manager.
    Subflow {
        /// Local token of the connection.
        token: u32,
        /// Local end of the subflow; port 0 matches any.
        local: SocketAddr,
        /// Remote end of the subflow; port 0 matches any.
        remote: SocketAddr,
    },
}

impl From<u8> for Target {
    fn from(id: u8) -> Self {
        Self::Id(id)
    }
}

impl From<IpAddr> for Target {
    fn from(address: IpAddr) -> Self {
        Self::Address(address)
    }
}

/// Path manager commands (genetlink `mptcp_pm`) for the namespace in which it was opened.
#[derive(Debug)]
pub struct PathManager {
    socket: Socket,
    request: Request,
    family: u16,
}

impl PathManager {
    /// Opens the socket.
    ///
    /// # Errors
    /// Fails with [`Error::Lacks`] when the kernel has no MPTCP.
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(Family::Generic)?;
        let family = resolve_family(&mut socket)?.id;
        Ok(Self { socket, request: Request::new(), family })
    }

    fn start(&mut self, command: u8, flags: u16) -> &mut Request {
        self.request.start_generic(self.family, flags, GenericHeader { command, version: VERSION })
    }

    /// Adds an endpoint; for `id` 0 the kernel chooses an address ID. Existing connections use it
    /// at once, within the limits.
    ///
    /// # Errors
    /// Fails when the address or the address ID is taken, the flags conflict, or 8 endpoints exist;
    /// or without CAP_NET_ADMIN.
    pub fn add(&mut self, endpoint: &Endpoint) -> Result<(), Error> {
        let attributes = AddressAttributes::from(endpoint);
        self.start(command::ADD_ADDR, kind::ACK).nest(ADDR, |nest| attributes.emit(nest));
        self.socket.execute(&mut self.request, format_args!("add the MPTCP endpoint {}", endpoint.address))
    }

    /// Removes an endpoint and closes its subflows. The address matters only for address ID 0, the
    /// local address of a connection's first subflow.
    ///
    /// # Errors
    /// Fails when there is no such endpoint, or without CAP_NET_ADMIN.
    pub fn remove(&mut self, id: u8, address: IpAddr) -> Result<(), Error> {
        let attributes = AddressAttributes { id: Some(id), ..AddressAttributes::new(address) };
        self.start(command::DEL_ADDR, kind::ACK).nest(ADDR, |nest| attributes.emit(nest));
        self.socket.execute(&mut self.request, format_args!("remove MPTCP endpoint {id} ({address})"))
    }

    /// The endpoint with this address ID.
    ///
    /// # Errors
    /// Fails when there is no such endpoint, or without CAP_NET_ADMIN.
    pub fn endpoint(&mut self, id: u8) -> Result<Endpoint, Error> {
        self.start(command::GET_ADDR, kind::ACK).nest(ADDR, |nest| {
            AddressAttributes::with_id(id).emit(nest);
        });
        let doing = format_args!("read MPTCP endpoint {id}");
        let mut endpoint = None;
        self.socket.transact(&mut self.request, doing, |message| {
            endpoint = Some(Endpoint::parse(message.payload)?);
            Ok(())
        })?;
        endpoint.ok_or_else(|| Malformed("no endpoint in the response").in_reply_to(doing))
    }

    /// All endpoints.
    ///
    /// # Errors
    /// Fails without CAP_NET_ADMIN, or when the response cannot be parsed.
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>, Error> {
        self.start(command::GET_ADDR, kind::DUMP);
        let doing = format_args!("list the MPTCP endpoints");
        self.socket.list(&mut self.request, doing, |message| Endpoint::parse(message.payload).map(Some))
    }

    /// Local addresses of a connection with the userspace path manager (Linux 6.9).
    ///
    /// # Errors
    /// Fails when there is no such connection, or the kernel path manager controls it; or without
    /// CAP_NET_ADMIN.
    pub fn endpoints_of(&mut self, token: u32) -> Result<Vec<Endpoint>, Error> {
        self.start(command::GET_ADDR, kind::DUMP).u32(TOKEN, token);
        let doing = format_args!("list the addresses of MPTCP connection {token:08x}");
        self.socket.list(&mut self.request, doing, |message| Endpoint::parse(message.payload).map(Some))
    }

    /// Removes all endpoints and closes their subflows.
    ///
    /// # Errors
    /// Fails without CAP_NET_ADMIN.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.start(command::FLUSH_ADDRS, kind::ACK);
        self.socket.execute(&mut self.request, format_args!("remove all MPTCP endpoints"))
    }

    /// Limits of the kernel path manager.
    ///
    /// # Errors
    /// Fails when the response cannot be parsed.
    pub fn limits(&mut self) -> Result<Limits, Error> {
        self.start(command::GET_LIMITS, kind::ACK);
        let doing = format_args!("read the MPTCP limits");
        let mut limits = None;
        self.socket.transact(&mut self.request, doing, |message| {
            limits = Some(Limits::parse(message.payload)?);
            Ok(())
        })?;
        limits.ok_or_else(|| Malformed("no limits in the response").in_reply_to(doing))
    }

    /// Sets the limits of the kernel path manager. Existing connections keep their subflows.
    ///
    /// # Errors
    /// Fails when a limit exceeds 8, or without CAP_NET_ADMIN.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), Error> {
        self.start(command::SET_LIMITS, kind::ACK)
            .u32(RCV_ADD_ADDRS, limits.accepted_addresses)
            .u32(SUBFLOWS, limits.subflows);
        self.socket.execute(&mut self.request, format_args!("set the MPTCP limits"))
    }

    /// Marks subflows as backup or regular; the peer is informed with MP_PRIO. An endpoint applies
    /// the mark to later subflows too.
    ///
    /// # Errors
    /// Fails when there is no such endpoint or subflow, or without CAP_NET_ADMIN.
    pub fn set_backup(&mut self, target: impl Into<Target>, backup: bool) -> Result<(), Error> {
        let word = if backup { "backup" } else { "regular" };
        match target.into() {
            Target::Id(id) => {
                let endpoint = self.endpoint(id)?;
                self.set_endpoint_backup(&endpoint, backup)
            }
            Target::Address(address) => {
                let endpoint = self.endpoints()?.into_iter().find(|one| one.address == address);
                let endpoint = endpoint.ok_or_else(|| Error::System {
                    doing: format!("make {address} {word}"),
                    source: std::io::Error::new(std::io::ErrorKind::NotFound, "no endpoint has that address"),
                })?;
                self.set_endpoint_backup(&endpoint, backup)
            }
            Target::Subflow { token, local, remote } => {
                let local_attributes = AddressAttributes {
                    flags: Some(Flags { backup, ..Flags::default() }),
                    ..AddressAttributes::from(local)
                };
                self.start(command::SET_FLAGS, kind::ACK)
                    .u32(TOKEN, token)
                    .nest(ADDR, |nest| local_attributes.emit(nest))
                    .nest(ADDR_REMOTE, |nest| AddressAttributes::from(remote).emit(nest));
                let doing = format_args!("make the subflow from {local} to {remote} {word}");
                self.socket.execute(&mut self.request, doing)
            }
        }
    }

    fn set_endpoint_backup(&mut self, endpoint: &Endpoint, backup: bool) -> Result<(), Error> {
        // SET_FLAGS overwrites both mutable flags, so the other one is repeated.
        let flags = Flags { backup, fullmesh: endpoint.flags.fullmesh, ..Flags::default() };
        let attributes = AddressAttributes { flags: Some(flags), ..AddressAttributes::with_id(endpoint.id) };
        self.start(command::SET_FLAGS, kind::ACK).nest(ADDR, |nest| attributes.emit(nest));
        let word = if backup { "backup" } else { "regular" };
        self.socket.execute(&mut self.request, format_args!("make MPTCP endpoint {} {word}", endpoint.id))
    }

    /// Announces an address to the peer (ADD_ADDR) of a connection with the userspace path manager.
    /// Port 0 omits the port. The address ID must not be 0.
    ///
    /// # Errors
    /// Fails when there is no such connection, or the address ID is taken; or without
    /// CAP_NET_ADMIN.
    pub fn announce(&mut self, token: u32, id: u8, address: SocketAddr) -> Result<(), Error> {
        let attributes = AddressAttributes {
            id: Some(id),
            flags: Some(Flags { signal: true, ..Flags::default() }),
            ..AddressAttributes::from(address)
        };
        self.start(command::ANNOUNCE, kind::ACK).u32(TOKEN, token).nest(ADDR, |nest| attributes.emit(nest));
        let doing = format_args!("announce {address} to the peer of MPTCP connection {token:08x}");
        self.socket.execute(&mut self.request, doing)
    }

    /// Withdraws an address (REMOVE_ADDR) from a connection with the userspace path manager, and
    /// closes its subflows.
    ///
    /// # Errors
    /// Fails when there is no such connection or address ID, or without CAP_NET_ADMIN.
    pub fn withdraw(&mut self, token: u32, id: u8) -> Result<(), Error> {
        self.start(command::REMOVE, kind::ACK).u32(TOKEN, token).u8(LOC_ID, id);
        let doing = format_args!("withdraw address {id} from MPTCP connection {token:08x}");
        self.socket.execute(&mut self.request, doing)
    }

    /// Opens a subflow of a connection with the userspace path manager. It runs from the address of
    /// `local` to `remote`; address ID, device and backup flag of `local` apply.
    /// [`Event::SubflowEstablished`] reports success.
    ///
    /// # Errors
    /// Fails when there is no such connection, no route, or without CAP_NET_ADMIN.
    pub fn create_subflow(&mut self, token: u32, local: &Endpoint, remote: SocketAddr) -> Result<(), Error> {
        let attributes = AddressAttributes {
            flags: local.flags.backup.then_some(Flags { backup: true, ..Flags::default() }),
            ..AddressAttributes::from(local)
        };
        self.start(command::SUBFLOW_CREATE, kind::ACK)
            .u32(TOKEN, token)
            .nest(ADDR, |nest| attributes.emit(nest))
            .nest(ADDR_REMOTE, |nest| AddressAttributes::from(remote).emit(nest));
        let doing =
            format_args!("open a subflow of MPTCP connection {token:08x} from {} to {remote}", local.address);
        self.socket.execute(&mut self.request, doing)
    }

    /// Closes a subflow of a connection with the userspace path manager.
    ///
    /// # Errors
    /// Fails when there is no such connection or subflow, or without CAP_NET_ADMIN.
    pub fn destroy_subflow(
        &mut self,
        token: u32,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<(), Error> {
        self.start(command::SUBFLOW_DESTROY, kind::ACK)
            .u32(TOKEN, token)
            .nest(ADDR, |nest| AddressAttributes::from(local).emit(nest))
            .nest(ADDR_REMOTE, |nest| AddressAttributes::from(remote).emit(nest));
        let doing = format_args!("close the subflow from {local} to {remote}");
        self.socket.execute(&mut self.request, doing)
    }
}

impl Limits {
    /// Parses the payload of a response to `GET_LIMITS`.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let mut limits = Self::default();
        for attribute in GenericHeader::parse(payload)?.1 {
            let attribute = attribute?;
            match attribute.kind {
                RCV_ADD_ADDRS => limits.accepted_addresses = attribute.u32()?,
                SUBFLOWS => limits.subflows = attribute.u32()?,
                _ => {}
            }
        }
        Ok(limits)
    }
}

/// Resolves the genetlink family `mptcp_pm`; explains its absence.
fn resolve_family(socket: &mut Socket) -> Result<GenericFamily, Error> {
    GenericFamily::find(socket, FAMILY).map_err(|error| {
        if error.errno() != Some(libc::ENOENT) {
            return error;
        }
        Error::Lacks {
            what: "the kernel has no MPTCP (no netlink family mptcp_pm)".to_owned(),
            hint: "use Linux 5.6 or later, built with CONFIG_MPTCP".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests;
