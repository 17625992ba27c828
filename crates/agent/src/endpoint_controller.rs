//! Applies the actions of a policy to the endpoints of the kernel path manager.

use linux::Error;
use linux::pm::{Endpoint, Flags, PathManager};
use policy::Action;
use std::net::IpAddr;

/// An interface and its MPTCP endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Interface name, such as `wlan0`.
    pub name: String,
    /// Interface index.
    pub index: u32,
    /// Local address of its subflows.
    pub address: IpAddr,
    /// Address ID of the endpoint, from 1.
    pub id: u8,
    /// Its subflows are backups (RFC 8684, section 3.2).
    pub backup: bool,
}

/// Distance between successive address IDs of one interface; exceeds the number of interfaces
/// (Linux takes 8 endpoints).
const ADDRESS_ID_STEP: u8 = 16;

/// Controls one endpoint per interface through the kernel path manager.
#[derive(Debug)]
pub struct EndpointController {
    manager: PathManager,
    interfaces: Vec<Interface>,
    /// Whether each interface has its endpoint.
    attached: Vec<bool>,
}

impl EndpointController {
    /// Creates a controller without endpoints.
    pub fn new(manager: PathManager, interfaces: Vec<Interface>) -> Self {
        let attached = vec![false; interfaces.len()];
        Self { manager, interfaces, attached }
    }

    /// All interfaces.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// True when the interface has its endpoint.
    pub fn is_attached(&self, path: usize) -> bool {
        self.attached[path]
    }

    /// Adds the endpoint of an interface: open connections join over it, new ones may.
    ///
    /// # Errors
    /// Fails when the kernel rejects the endpoint.
    pub fn attach(&mut self, path: usize) -> Result<(), Error> {
        if self.attached[path] {
            return Ok(());
        }
        let interface = &self.interfaces[path];
        self.manager.add(&Endpoint {
            id: interface.id,
            address: interface.address,
            port: 0,
            device: interface.index,
            flags: Flags { subflow: true, backup: interface.backup, ..Flags::default() },
        })?;
        self.attached[path] = true;
        Ok(())
    }

    /// Removes the endpoint of an interface: its subflows are closed, and none is opened.
    ///
    /// # Errors
    /// Fails when the kernel rejects the removal.
    pub fn detach(&mut self, path: usize) -> Result<(), Error> {
        if !self.attached[path] {
            return Ok(());
        }
        self.attached[path] = false;
        let interface = &self.interfaces[path];
        self.manager.remove(interface.id, interface.address)
    }

    /// Moves the endpoint of an interface to a new address: subflows from the old address are
    /// closed, and open connections join from the new one.
    ///
    /// The endpoint also gets a new address ID. The peer may learn of the removal (REMOVE_ADDR; RFC
    /// 8684, section 3.4.2) after the join, and would close the new subflow if it had the same ID.
    ///
    /// # Errors
    /// Fails when the kernel rejects a change.
    pub fn set_address(&mut self, path: usize, address: IpAddr) -> Result<(), Error> {
        let attached = self.attached[path];
        self.detach(path)?;
        let interface = &mut self.interfaces[path];
        interface.address = address;
        interface.id = interface.id.checked_add(ADDRESS_ID_STEP).unwrap_or(interface.id % ADDRESS_ID_STEP);
        if attached { self.attach(path) } else { Ok(()) }
    }

    /// Marks an interface as backup or regular, by MP_PRIO on each of its subflows (RFC 8684,
    /// section 3.3.8).
    ///
    /// # Errors
    /// Fails when the kernel rejects the change.
    pub fn set_backup(&mut self, path: usize, backup: bool) -> Result<(), Error> {
        let interface = &mut self.interfaces[path];
        interface.backup = backup;
        if !self.attached[path] {
            return Ok(());
        }
        self.manager.set_backup(interface.id, backup)
    }

    /// Applies an action. `Action::Share` and `Action::Offload` are ignored: a device does not control
    /// its sender.
    ///
    /// # Errors
    /// Fails when the kernel rejects a change.
    pub fn apply(&mut self, action: &Action) -> Result<(), Error> {
        match *action {
            Action::SetBackup { path, backup } => self.set_backup(path, backup),
            Action::Open { path } => self.attach(path),
            Action::Close { path } => self.detach(path),
            Action::Share { .. } | Action::Offload { .. } => Ok(()),
        }
    }
}
