//! Addresses as the path managers take and give them (`MPTCP_PM_ADDR_ATTR_*`).

use super::ADDR;
use crate::netlink::{Attributes, GenericHeader, Malformed, Request};
use std::net::{IpAddr, SocketAddr};

const FAMILY: u16 = 1;
const ID: u16 = 2;
const ADDR4: u16 = 3;
const ADDR6: u16 = 4;
/// Alone among ports in the byte order of the machine.
const PORT: u16 = 5;
const FLAGS: u16 = 6;
const IF_IDX: u16 = 7;

/// What an endpoint is for (`MPTCP_PM_ADDR_FLAG_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// It is announced to the peer.
    pub signal: bool,
    /// Subflows are opened from it.
    pub subflow: bool,
    /// Its subflows are used only where no other is.
    pub backup: bool,
    /// Subflows are opened from it to every address of the peer.
    pub fullmesh: bool,
    /// The kernel made it of the address of a subflow.
    pub implicit: bool,
    /// Subflows to addresses that the peer announces are opened from it (Linux 6.18).
    pub laminar: bool,
}

impl Flags {
    /// From their bits; what is not known is passed over.
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

    /// As bits.
    pub fn bits(self) -> u32 {
        let all = [self.signal, self.subflow, self.backup, self.fullmesh, self.implicit, self.laminar];
        all.iter().enumerate().map(|(bit, set)| u32::from(*set) << bit).sum()
    }
}

/// An address that connections may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Its identifier on the wire, 1 to 255; 0 lets the kernel choose.
    pub id: u8,
    /// The address.
    pub address: IpAddr,
    /// The port, where it is not the connection's own; else 0. Only with `signal`.
    pub port: u16,
    /// The interface that subflows are bound to; 0 for none.
    pub device: u32,
    /// What it is for.
    pub flags: Flags,
}

impl Endpoint {
    /// One from which subflows are opened, over any interface.
    pub fn subflow(id: u8, address: IpAddr) -> Self {
        let flags = Flags { subflow: true, ..Flags::default() };
        Self { id, address, port: 0, device: 0, flags }
    }

    /// One that is announced to the peer.
    pub fn signal(id: u8, address: IpAddr) -> Self {
        let flags = Flags { signal: true, ..Flags::default() };
        Self { flags, ..Self::subflow(id, address) }
    }

    /// Reads what follows the header of the answer to `GET_ADDR`.
    ///
    /// # Errors
    /// Where it is cut off, malformed, or has no address.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        for attribute in GenericHeader::parse(payload)?.1 {
            let attribute = attribute?;
            if attribute.kind == ADDR {
                return Self::parse_address(attribute.nested());
            }
        }
        Err(Malformed("there is no endpoint in it"))
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
        let address = address.ok_or(Malformed("an endpoint has no address"))?;
        Ok(Self { id, address, port, device, flags })
    }
}

/// What of an address goes into a command; what is `None`, or a port or device of 0, is left out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AddressParts {
    pub(super) id: Option<u8>,
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
    pub(super) device: u32,
    pub(super) flags: Option<Flags>,
}

impl AddressParts {
    pub(super) fn new(address: IpAddr) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    pub(super) fn of_id(id: u8) -> Self {
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

impl From<SocketAddr> for AddressParts {
    fn from(address: SocketAddr) -> Self {
        Self { port: address.port(), ..Self::new(address.ip()) }
    }
}

impl From<&Endpoint> for AddressParts {
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
