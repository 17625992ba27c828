//! The path managers of MPTCP: which addresses connections may use, and how.
//!
//! There are two (`net.mptcp.path_manager`, or `net.mptcp.pm_type` before Linux 6.15). The one in the
//! **kernel** follows endpoints and limits that hold for all connections of a namespace. With the one in
//! **userspace** a program decides for each connection, which it calls by its token.
//!
//! | File | What it is |
//! |---|---|
//! | `endpoint` | addresses and endpoints, to bytes and back, pure |
//! | `event` | what the kernel tells of connections, from bytes, pure |
//! | `events` | the socket on which it tells |
//! | [`path_manager`] | which of the two new connections have |

mod endpoint;
mod event;
mod events;
pub mod path_manager;

pub use endpoint::{Endpoint, Flags};
pub use event::{ConnectionEvent, Event, Reset, SubflowEvent};
pub use events::Events;

use crate::Error;
use crate::netlink::{Family, GenericFamily, GenericHeader, Malformed, Request, Socket, kind};
use endpoint::AddressParts;
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

/// How much the path manager of the kernel does for a connection; each at most 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// How many subflows a connection may have beside its first.
    pub subflows: u32,
    /// How many addresses that the peer announces are followed.
    pub accepted_addresses: u32,
}

/// Whose priority to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// An endpoint of the kernel's path manager by its identifier, and so every subflow from it.
    Id(u8),
    /// An endpoint of the kernel's path manager by its address.
    Address(IpAddr),
    /// A subflow of a connection that is managed from userspace.
    Subflow {
        /// The connection, by its local token.
        token: u32,
        /// Where the subflow begins; port 0 stands for any.
        local: SocketAddr,
        /// Where it ends; port 0 stands for any.
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

/// Speaks to the path managers of the namespace in which it was opened.
#[derive(Debug)]
pub struct PathManager {
    socket: Socket,
    request: Request,
    family: u16,
}

impl PathManager {
    /// Opens it.
    ///
    /// # Errors
    /// [`Error::Lacks`] where the kernel has no MPTCP.
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(Family::Generic)?;
        let family = find(&mut socket)?.id;
        Ok(Self { socket, request: Request::new(), family })
    }

    fn start(&mut self, command: u8, flags: u16) -> &mut Request {
        self.request.start_generic(self.family, flags, GenericHeader { command, version: VERSION })
    }

    /// Adds an endpoint; with `id` 0 the kernel gives it one. Connections that exist use it at once where
    /// the limits allow.
    ///
    /// # Errors
    /// Where the address or the identifier is taken, the flags do not go together, there are 8 already,
    /// or the caller may not.
    pub fn add(&mut self, endpoint: &Endpoint) -> Result<(), Error> {
        let parts = AddressParts::from(endpoint);
        self.start(command::ADD_ADDR, kind::ACK).nest(ADDR, |nest| parts.emit(nest));
        self.socket.act(&mut self.request, format_args!("add the MPTCP endpoint {}", endpoint.address))
    }

    /// Removes an endpoint, and with it its subflows. The address counts only for identifier 0, which
    /// stands for the address that a connection's first subflow began from.
    ///
    /// # Errors
    /// Where there is none, or the caller may not.
    pub fn remove(&mut self, id: u8, address: IpAddr) -> Result<(), Error> {
        let parts = AddressParts { id: Some(id), ..AddressParts::new(address) };
        self.start(command::DEL_ADDR, kind::ACK).nest(ADDR, |nest| parts.emit(nest));
        self.socket.act(&mut self.request, format_args!("remove MPTCP endpoint {id} ({address})"))
    }

    /// The endpoint of that identifier.
    ///
    /// # Errors
    /// Where there is none, or the caller may not.
    pub fn endpoint(&mut self, id: u8) -> Result<Endpoint, Error> {
        self.start(command::GET_ADDR, kind::ACK).nest(ADDR, |nest| {
            AddressParts::of_id(id).emit(nest);
        });
        let doing = format_args!("read MPTCP endpoint {id}");
        let mut endpoint = None;
        self.socket.ask(&mut self.request, doing, |message| {
            endpoint = Some(Endpoint::parse(message.payload)?);
            Ok(())
        })?;
        endpoint.ok_or_else(|| Malformed("there is no endpoint in it").answering(doing))
    }

    /// All endpoints.
    ///
    /// # Errors
    /// Where the caller may not, or the answer cannot be read.
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>, Error> {
        self.start(command::GET_ADDR, kind::DUMP);
        let doing = format_args!("list the MPTCP endpoints");
        self.socket.list(&mut self.request, doing, |message| Endpoint::parse(message.payload).map(Some))
    }

    /// The local addresses of a connection that is managed from userspace (Linux 6.9).
    ///
    /// # Errors
    /// Where there is no such connection, it is managed by the kernel, or the caller may not.
    pub fn endpoints_of(&mut self, token: u32) -> Result<Vec<Endpoint>, Error> {
        self.start(command::GET_ADDR, kind::DUMP).u32(TOKEN, token);
        let doing = format_args!("list the addresses of MPTCP connection {token:08x}");
        self.socket.list(&mut self.request, doing, |message| Endpoint::parse(message.payload).map(Some))
    }

    /// Removes all endpoints, and their subflows.
    ///
    /// # Errors
    /// Where the caller may not.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.start(command::FLUSH_ADDRS, kind::ACK);
        self.socket.act(&mut self.request, format_args!("remove all MPTCP endpoints"))
    }

    /// The limits of the kernel's path manager.
    ///
    /// # Errors
    /// Where the answer cannot be read.
    pub fn limits(&mut self) -> Result<Limits, Error> {
        self.start(command::GET_LIMITS, kind::ACK);
        let doing = format_args!("read the MPTCP limits");
        let mut limits = None;
        self.socket.ask(&mut self.request, doing, |message| {
            limits = Some(Limits::parse(message.payload)?);
            Ok(())
        })?;
        limits.ok_or_else(|| Malformed("there are no limits in it").answering(doing))
    }

    /// Sets the limits of the kernel's path manager. Connections that exist keep the subflows they have.
    ///
    /// # Errors
    /// Where one is above 8, or the caller may not.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), Error> {
        self.start(command::SET_LIMITS, kind::ACK)
            .u32(RCV_ADD_ADDRS, limits.accepted_addresses)
            .u32(SUBFLOWS, limits.subflows);
        self.socket.act(&mut self.request, format_args!("set the MPTCP limits"))
    }

    /// Makes subflows a backup, or no longer: the peer is told so with MP_PRIO. An endpoint keeps it for
    /// later subflows.
    ///
    /// # Errors
    /// Where there is no such endpoint or subflow, or the caller may not.
    pub fn set_backup(&mut self, target: impl Into<Target>, backup: bool) -> Result<(), Error> {
        let word = if backup { "a backup" } else { "no backup" };
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
                let local_parts = AddressParts {
                    flags: Some(Flags { backup, ..Flags::default() }),
                    ..AddressParts::from(local)
                };
                self.start(command::SET_FLAGS, kind::ACK)
                    .u32(TOKEN, token)
                    .nest(ADDR, |nest| local_parts.emit(nest))
                    .nest(ADDR_REMOTE, |nest| AddressParts::from(remote).emit(nest));
                let doing = format_args!("make the subflow from {local} to {remote} {word}");
                self.socket.act(&mut self.request, doing)
            }
        }
    }

    fn set_endpoint_backup(&mut self, endpoint: &Endpoint, backup: bool) -> Result<(), Error> {
        // The kernel sets both flags that can change to what is given: what is not meant is repeated.
        let flags = Flags { backup, fullmesh: endpoint.flags.fullmesh, ..Flags::default() };
        let parts = AddressParts { flags: Some(flags), ..AddressParts::of_id(endpoint.id) };
        self.start(command::SET_FLAGS, kind::ACK).nest(ADDR, |nest| parts.emit(nest));
        let word = if backup { "a backup" } else { "no backup" };
        self.socket.act(&mut self.request, format_args!("make MPTCP endpoint {} {word}", endpoint.id))
    }

    /// Announces an address to the peer of a connection that is managed from userspace (ADD_ADDR). Port 0
    /// announces none. The identifier must not be 0.
    ///
    /// # Errors
    /// Where there is no such connection, the identifier is taken, or the caller may not.
    pub fn announce(&mut self, token: u32, id: u8, address: SocketAddr) -> Result<(), Error> {
        let parts = AddressParts {
            id: Some(id),
            flags: Some(Flags { signal: true, ..Flags::default() }),
            ..AddressParts::from(address)
        };
        self.start(command::ANNOUNCE, kind::ACK).u32(TOKEN, token).nest(ADDR, |nest| parts.emit(nest));
        let doing = format_args!("announce {address} to the peer of MPTCP connection {token:08x}");
        self.socket.act(&mut self.request, doing)
    }

    /// Takes back what was announced, or tells the peer that a local address is gone (REMOVE_ADDR), and
    /// closes its subflows; of a connection that is managed from userspace.
    ///
    /// # Errors
    /// Where there is no such connection or identifier, or the caller may not.
    pub fn withdraw(&mut self, token: u32, id: u8) -> Result<(), Error> {
        self.start(command::REMOVE, kind::ACK).u32(TOKEN, token).u8(LOC_ID, id);
        let doing = format_args!("withdraw address {id} from MPTCP connection {token:08x}");
        self.socket.act(&mut self.request, doing)
    }

    /// Opens a subflow of a connection that is managed from userspace, from the address of `local` (its
    /// identifier, device and backup flag count too) to `remote`. That it is established, an event tells.
    ///
    /// # Errors
    /// Where there is no such connection, there is no way, or the caller may not.
    pub fn create_subflow(&mut self, token: u32, local: &Endpoint, remote: SocketAddr) -> Result<(), Error> {
        let parts = AddressParts {
            flags: local.flags.backup.then_some(Flags { backup: true, ..Flags::default() }),
            ..AddressParts::from(local)
        };
        self.start(command::SUBFLOW_CREATE, kind::ACK)
            .u32(TOKEN, token)
            .nest(ADDR, |nest| parts.emit(nest))
            .nest(ADDR_REMOTE, |nest| AddressParts::from(remote).emit(nest));
        let doing =
            format_args!("open a subflow of MPTCP connection {token:08x} from {} to {remote}", local.address);
        self.socket.act(&mut self.request, doing)
    }

    /// Closes a subflow of a connection that is managed from userspace.
    ///
    /// # Errors
    /// Where there is no such connection or subflow, or the caller may not.
    pub fn destroy_subflow(
        &mut self,
        token: u32,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<(), Error> {
        self.start(command::SUBFLOW_DESTROY, kind::ACK)
            .u32(TOKEN, token)
            .nest(ADDR, |nest| AddressParts::from(local).emit(nest))
            .nest(ADDR_REMOTE, |nest| AddressParts::from(remote).emit(nest));
        let doing = format_args!("close the subflow from {local} to {remote}");
        self.socket.act(&mut self.request, doing)
    }
}

impl Limits {
    /// Reads what follows the header of the answer to `GET_LIMITS`.
    ///
    /// # Errors
    /// Where it is cut off or malformed.
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

/// The family, or what the kernel lacks.
fn find(socket: &mut Socket) -> Result<GenericFamily, Error> {
    GenericFamily::find(socket, FAMILY).map_err(|error| {
        if error.errno() != Some(libc::ENOENT) {
            return error;
        }
        Error::Lacks {
            what: "the kernel has no MPTCP (no netlink family mptcp_pm)".to_owned(),
            hint: "it needs Linux 5.6 or later, built with CONFIG_MPTCP".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests;
