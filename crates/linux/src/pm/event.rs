//! What the kernel tells of connections (`enum mptcp_event_type` of `<linux/mptcp_pm.h>`).

use crate::netlink::{GenericHeader, Malformed};
use std::net::{IpAddr, SocketAddr};

/// Attributes (`enum mptcp_event_attr`).
mod attr {
    pub(super) const TOKEN: u16 = 1;
    pub(super) const LOC_ID: u16 = 3;
    pub(super) const REM_ID: u16 = 4;
    pub(super) const SADDR4: u16 = 5;
    pub(super) const SADDR6: u16 = 6;
    pub(super) const DADDR4: u16 = 7;
    pub(super) const DADDR6: u16 = 8;
    pub(super) const SPORT: u16 = 9;
    pub(super) const DPORT: u16 = 10;
    pub(super) const BACKUP: u16 = 11;
    pub(super) const ERROR: u16 = 12;
    pub(super) const FLAGS: u16 = 13;
    pub(super) const TIMEOUT: u16 = 14;
    pub(super) const IF_IDX: u16 = 15;
    pub(super) const RESET_REASON: u16 = 16;
    pub(super) const RESET_FLAGS: u16 = 17;
    pub(super) const SERVER_SIDE: u16 = 18;
}

const DENY_JOIN_ID0: u16 = 1 << 0;
const SERVER_SIDE: u16 = 1 << 1;

/// An event. Tokens are local ones. IPv4 over an IPv6 socket is told as IPv4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A connection has begun; it cannot have more subflows yet.
    Created(ConnectionEvent),
    /// A connection can have more subflows.
    Established(ConnectionEvent),
    /// A connection has ended.
    Closed {
        /// Which.
        token: u32,
    },
    /// The peer announces an address (ADD_ADDR).
    Announced {
        /// Of which connection.
        token: u32,
        /// The peer's identifier of the address.
        id: u8,
        /// The address.
        address: IpAddr,
        /// The port that is announced with it, or the peer's port of the first subflow.
        port: Option<u16>,
    },
    /// The peer takes an address back (REMOVE_ADDR).
    Removed {
        /// Of which connection.
        token: u32,
        /// The peer's identifier of the address.
        id: u8,
    },
    /// A subflow beside the first is established.
    SubflowEstablished(SubflowEvent),
    /// A subflow has ended.
    SubflowClosed(SubflowEvent),
    /// The peer changed a subflow's priority (MP_PRIO). Of a change by this end nothing is told.
    Priority(SubflowEvent),
    /// An MPTCP socket listens, of a program or of an endpoint that has a port.
    ListenerCreated(SocketAddr),
    /// It does so no longer.
    ListenerClosed(SocketAddr),
    /// One that is not known here, by its number.
    Unknown(u8),
    /// There was more to tell than there was room for: connections and subflows must be asked for anew.
    Overrun,
}

/// A connection's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionEvent {
    /// Which.
    pub token: u32,
    /// This end of its first subflow.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// This end was connected to.
    pub server: bool,
    /// The peer wants no more subflows to this address (RFC 8684, section 3.1, flag C).
    pub deny_join: bool,
}

/// What happened to a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowEvent {
    /// Of which connection.
    pub token: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The identifier of the local address; 0 for that of the first subflow.
    pub local_id: u8,
    /// The peer's identifier of the remote address.
    pub remote_id: u8,
    /// The peer wants it used only where no other is. What this end wants, `diag` tells.
    pub backup: bool,
    /// The interface that it is bound to; 0 for none.
    pub device: u32,
    /// The number of the error that ended it, such as 110 (ETIMEDOUT).
    pub error: Option<u8>,
    /// In milliseconds; no kernel up to 6.18 tells it.
    pub timeout: Option<u32>,
    /// The peer's reason for resetting it (MP_TCPRST).
    pub reset: Option<Reset>,
}

/// Why a subflow was reset (RFC 8684, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// 0 unspecified, 1 MPTCP-specific, 2 lack of resources, 3 prohibited, 4 too much data outstanding,
    /// 5 unacceptable performance, 6 middlebox.
    pub reason: u32,
    /// Bit 0: it may be tried again at once.
    pub flags: u32,
}

/// All that an event may say.
#[derive(Default)]
struct Fields {
    token: Option<u32>,
    local_id: Option<u8>,
    remote_id: Option<u8>,
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    backup: bool,
    error: Option<u8>,
    flags: u16,
    timeout: Option<u32>,
    device: u32,
    reset_reason: Option<u32>,
    reset_flags: Option<u32>,
    server: bool,
}

impl Event {
    /// Reads what follows the header of a message of the group `mptcp_pm_events`.
    ///
    /// # Errors
    /// Where it is cut off or malformed, or lacks what an event of its kind always says.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (header, attributes) = GenericHeader::parse(payload)?;
        let mut fields = Fields::default();
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                attr::TOKEN => fields.token = Some(attribute.u32()?),
                attr::LOC_ID => fields.local_id = Some(attribute.u8()?),
                attr::REM_ID => fields.remote_id = Some(attribute.u8()?),
                attr::SADDR4 | attr::SADDR6 => fields.source = Some(attribute.address()?.to_canonical()),
                attr::DADDR4 | attr::DADDR6 => fields.destination = Some(attribute.address()?.to_canonical()),
                attr::SPORT => fields.source_port = Some(attribute.be16()?),
                attr::DPORT => fields.destination_port = Some(attribute.be16()?),
                attr::BACKUP => fields.backup = attribute.u8()? != 0,
                attr::ERROR => fields.error = Some(attribute.u8()?),
                attr::FLAGS => fields.flags = attribute.u16()?,
                attr::TIMEOUT => fields.timeout = Some(attribute.u32()?),
                attr::IF_IDX => fields.device = attribute.u32()?,
                attr::RESET_REASON => fields.reset_reason = Some(attribute.u32()?),
                attr::RESET_FLAGS => fields.reset_flags = Some(attribute.u32()?),
                attr::SERVER_SIDE => fields.server = attribute.u8()? != 0,
                _ => {}
            }
        }
        Ok(match header.command {
            1 => Self::Created(fields.connection()?),
            2 => Self::Established(fields.connection()?),
            3 => Self::Closed { token: fields.token()? },
            6 => Self::Announced {
                token: fields.token()?,
                id: fields.remote_id()?,
                address: fields.destination.ok_or(Malformed("an announcement has no address"))?,
                port: fields.destination_port,
            },
            7 => Self::Removed { token: fields.token()?, id: fields.remote_id()? },
            10 => Self::SubflowEstablished(fields.subflow()?),
            11 => Self::SubflowClosed(fields.subflow()?),
            13 => Self::Priority(fields.subflow()?),
            15 => Self::ListenerCreated(fields.local()?),
            16 => Self::ListenerClosed(fields.local()?),
            other => Self::Unknown(other),
        })
    }

    /// Of which connection it is, by its token.
    pub fn token(&self) -> Option<u32> {
        match self {
            Self::Created(one) | Self::Established(one) => Some(one.token),
            Self::Closed { token } | Self::Announced { token, .. } | Self::Removed { token, .. } => {
                Some(*token)
            }
            Self::SubflowEstablished(one) | Self::SubflowClosed(one) | Self::Priority(one) => Some(one.token),
            Self::ListenerCreated(_) | Self::ListenerClosed(_) | Self::Unknown(_) | Self::Overrun => None,
        }
    }
}

impl Fields {
    fn token(&self) -> Result<u32, Malformed> {
        self.token.ok_or(Malformed("an event has no token"))
    }

    fn remote_id(&self) -> Result<u8, Malformed> {
        self.remote_id.ok_or(Malformed("an event has no identifier of the peer's address"))
    }

    fn local(&self) -> Result<SocketAddr, Malformed> {
        address(self.source, self.source_port)
    }

    fn remote(&self) -> Result<SocketAddr, Malformed> {
        address(self.destination, self.destination_port)
    }

    fn connection(&self) -> Result<ConnectionEvent, Malformed> {
        Ok(ConnectionEvent {
            token: self.token()?,
            local: self.local()?,
            remote: self.remote()?,
            server: self.server || self.flags & SERVER_SIDE != 0,
            deny_join: self.flags & DENY_JOIN_ID0 != 0,
        })
    }

    fn subflow(&self) -> Result<SubflowEvent, Malformed> {
        let reset = self.reset_reason.map(|reason| Reset { reason, flags: self.reset_flags.unwrap_or(0) });
        Ok(SubflowEvent {
            token: self.token()?,
            local: self.local()?,
            remote: self.remote()?,
            local_id: self.local_id.unwrap_or(0),
            remote_id: self.remote_id.unwrap_or(0),
            backup: self.backup,
            device: self.device,
            error: self.error.filter(|error| *error != 0),
            timeout: self.timeout,
            reset,
        })
    }
}

fn address(ip: Option<IpAddr>, port: Option<u16>) -> Result<SocketAddr, Malformed> {
    match (ip, port) {
        (Some(ip), Some(port)) => Ok(SocketAddr::new(ip, port)),
        _ => Err(Malformed("an event lacks an address or a port")),
    }
}
