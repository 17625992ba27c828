//! Endpoints and addresses in path manager messages (`MPTCP_PM_ADDR_ATTR_*`).

use super::ADDR;
use crate::netlink::{Attributes, GenericHeader, Malformed, Request};
use std::net::{IpAddr, SocketAddr};

const FAMILY: u16 = 1;
const ID: u16 = 2;
const ADDR4: u16 = 3;
const ADDR6: u16 = 4;
/// In native byte order, unlike other ports.
const PORT: u16 = 5;
const FLAGS: u16 = 6;
const IF_IDX: u16 = 7;

/// Endpoint flags (`MPTCP_PM_ADDR_FLAG_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// Announce the address to the peer (ADD_ADDR).
    pub signal: bool,
    /// Open subflows from the address.
    pub subflow: bool,
    /// Mark subflows from the address as backup.
    pub backup: bool,
    /// Open a subflow from the address to every address of the peer.
    pub fullmesh: bool,
    /// Created by the kernel for the local address of a subflow.
    pub implicit: bool,
    /// Open subflows from the address to addresses announced by the peer (Linux 6.18).
    pub laminar: bool,
}

impl Flags {
    /// Flags of a bit mask; unknown bits are ignored.
    pub fn from_bits(bits: u32) -> Self {
        let has = |bit: u32| bits & (1 << bit) != 0;
        Self {
            signal: has(0),
            subflow: has(1),
            backup: has(2),
            fullmesh: has(3),
            implicit: has(4),
            laminar: has(5),
        }
    }

    /// Bit mask of the flags.
    pub fn bits(self) -> u32 {
        let all = [self.signal, self.subflow, self.backup, self.fullmesh, self.implicit, self.laminar];
        all.iter().enumerate().map(|(bit, set)| u32::from(*set) << bit).sum()
    }
}

/// An MPTCP endpoint: a local address available to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Address ID on the wire, 1 to 255; 0 lets the kernel choose.
    pub id: u8,
    /// Local address.
    pub address: IpAddr,
    /// Port to announce and listen on; 0 uses the port of the connection. Requires `signal`.
    pub port: u16,
    /// Index of the interface that subflows are bound to; 0 for none.
    pub device: u32,
    /// Purpose of the endpoint.
    pub flags: Flags,
}

impl Endpoint {
    /// Endpoint that opens subflows, over any interface.
    pub fn subflow(id: u8, address: IpAddr) -> Self {
        let flags = Flags { subflow: true, ..Flags::default() };
        Self { id, address, port: 0, device: 0, flags }
    }

    /// Endpoint that is announced to the peer.
    pub fn signal(id: u8, address: IpAddr) -> Self {
        let flags = Flags { signal: true, ..Flags::default() };
        Self { flags, ..Self::subflow(id, address) }
    }

    /// Parses the payload of a response to `GET_ADDR`.
    ///
    /// # Errors
    /// Fails when it is truncated, malformed, or lacks an address.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        for attribute in GenericHeader::parse(payload)?.1 {
            let attribute = attribute?;
            if attribute.kind == ADDR {
                return Self::parse_address(attribute.nested());
            }
        }
        Err(Malformed("no endpoint in the response"))
    }

    fn parse_address(attributes: Attributes<'_>) -> Result<Self, Malformed> {
        let mut address = None;
        let (mut id, mut port, mut device, mut flags) = (0, 0, 0, Flags::default());
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                ID => id = attribute.u8()?,
                ADDR4 | ADDR6 => address = Some(attribute.address()?),
                PORT => port = attribute.u16()?,
                FLAGS => flags = Flags::from_bits(attribute.u32()?),
                IF_IDX => device = attribute.u32()?,
                _ => {}
            }
        }
        let address = address.ok_or(Malformed("endpoint without an address"))?;
        Ok(Self { id, address, port, device, flags })
    }
}

/// Address attributes of a command. `None`, port 0 and device 0 are omitted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AddressAttributes {
    pub(super) id: Option<u8>,
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
    pub(super) device: u32,
    pub(super) flags: Option<Flags>,
}

impl AddressAttributes {
    pub(super) fn new(address: IpAddr) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    pub(super) fn with_id(id: u8) -> Self {
        Self { id: Some(id), ..Self::default() }
    }

    pub(super) fn emit(&self, nest: &mut Request) {
        match self.address {
            Some(address @ IpAddr::V4(_)) => {
                nest.u16(FAMILY, libc::AF_INET as u16).address(ADDR4, address);
            }
            Some(address @ IpAddr::V6(_)) => {
                nest.u16(FAMILY, libc::AF_INET6 as u16).address(ADDR6, address);
            }
            None => {}
        }
        if let Some(id) = self.id {
            nest.u8(ID, id);
        }
        if self.port > 0 {
            nest.u16(PORT, self.port);
        }
        if let Some(flags) = self.flags {
            nest.u32(FLAGS, flags.bits());
        }
        if self.device > 0 {
            nest.u32(IF_IDX, self.device);
        }
    }
}

impl From<SocketAddr> for AddressAttributes {
    fn from(address: SocketAddr) -> Self {
        Self { port: address.port(), ..Self::new(address.ip()) }
    }
}

impl From<&Endpoint> for AddressAttributes {
    fn from(endpoint: &Endpoint) -> Self {
        Self {
            id: (endpoint.id > 0).then_some(endpoint.id),
            address: Some(endpoint.address),
            port: endpoint.port,
            device: endpoint.device,
            flags: Some(endpoint.flags),
        }
    }
}
