//! Path manager events (`enum mptcp_event_type` of `<linux/mptcp_pm.h>`).

use crate::netlink::{GenericHeader, Malformed};
use std::net::{IpAddr, SocketAddr};

/// Event attributes (`enum mptcp_event_attr`).
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

/// A path manager event. Tokens are local. IPv4-mapped IPv6 is reported as IPv4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A connection was created; it cannot have additional subflows yet.
    Created(ConnectionEvent),
    /// A connection is fully established and can have additional subflows.
    Established(ConnectionEvent),
    /// A connection was closed.
    Closed {
        /// Token of the connection.
        token: u32,
    },
    /// The peer announced an address (ADD_ADDR).
    Announced {
        /// Token of the connection.
        token: u32,
        /// Address ID assigned by the peer.
        id: u8,
        /// Announced address.
        address: IpAddr,
        /// Announced port, or the peer's port of the first subflow.
        port: Option<u16>,
    },
    /// The peer withdrew an address (REMOVE_ADDR).
    Removed {
        /// Token of the connection.
        token: u32,
        /// Address ID assigned by the peer.
        id: u8,
    },
    /// An additional subflow was established.
    SubflowEstablished(SubflowEvent),
    /// A subflow was closed.
    SubflowClosed(SubflowEvent),
    /// The peer changed the priority of a subflow (MP_PRIO). Local changes are not reported.
    Priority(SubflowEvent),
    /// An MPTCP socket listens: of a program, or of an endpoint with a port.
    ListenerCreated(SocketAddr),
    /// An MPTCP socket stopped listening.
    ListenerClosed(SocketAddr),
    /// An event number unknown to this crate.
    Unknown(u8),
    /// Events were lost: connections and subflows must be listed again.
    Overrun,
}

/// A new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionEvent {
    /// Token of the connection.
    pub token: u32,
    /// Local address of the first subflow.
    pub local: SocketAddr,
    /// Remote address of the first subflow.
    pub remote: SocketAddr,
    /// True on the side that accepted the connection.
    pub server: bool,
    /// The peer accepts no joins to this address (RFC 8684, section 3.1, flag C).
    pub deny_join: bool,
}

/// A change of one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowEvent {
    /// Token of the connection.
    pub token: u32,
    /// Local address.
    pub local: SocketAddr,
    /// Remote address.
    pub remote: SocketAddr,
    /// Address ID of the local address; 0 for the first subflow.
    pub local_id: u8,
    /// Address ID of the remote address, assigned by the peer.
    pub remote_id: u8,
    /// The peer marked the subflow as backup. `diag` reports this end's own mark.
    pub backup: bool,
    /// Index of the interface it is bound to; 0 for none.
    pub device: u32,
    /// Error number that closed it, such as 110 (ETIMEDOUT).
    pub error: Option<u8>,
    /// Timeout in milliseconds; not reported by kernels up to 6.18.
    pub timeout: Option<u32>,
    /// Reset received from the peer (MP_TCPRST).
    pub reset: Option<Reset>,
}

/// Reason of a subflow reset (RFC 8684, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    /// 0 unspecified, 1 MPTCP-specific error, 2 lack of resources, 3 prohibited, 4 too much
    /// outstanding data, 5 unacceptable performance, 6 middlebox interference.
    pub reason: u32,
    /// Bit 0: the condition is transient and the subflow may be opened again.
    pub flags: u32,
}

/// All event attributes.
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
    /// Parses the payload of a message of the group `mptcp_pm_events`.
    ///
    /// # Errors
    /// Fails when it is truncated or malformed, or lacks a mandatory attribute of its event type.
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
                address: fields.destination.ok_or(Malformed("announcement without an address"))?,
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

    /// Token of the connection the event belongs to.
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
        self.token.ok_or(Malformed("event without a token"))
    }

    fn remote_id(&self) -> Result<u8, Malformed> {
        self.remote_id.ok_or(Malformed("event without an address ID of the peer"))
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
        _ => Err(Malformed("event without an address or a port")),
    }
}
