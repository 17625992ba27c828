//! What a policy asks for, done to the kernel.

use linux::Error;
use linux::pm::{Endpoint, Flags, PathManager};
use policy::Action;
use std::net::IpAddr;

/// An interface of the device and the endpoint that Multipath TCP has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `wlan0`.
    pub name: String,
    /// The kernel's number for it.
    pub index: u32,
    /// The address that subflows start from.
    pub address: IpAddr,
    /// The endpoint's number, from 1.
    pub id: u8,
    /// Subflows over it are backups (RFC 8684, section 3.2).
    pub backup: bool,
}

/// Numbers of one interface's endpoints lie so far apart: more than there are interfaces (Linux takes 8).
const NEXT_ID: u8 = 16;

/// The in-kernel path manager, held by endpoints: one for each interface that is to carry something.
#[derive(Debug)]
pub struct EndpointController {
    manager: PathManager,
    interfaces: Vec<Interface>,
    /// The interface has its endpoint.
    attached: Vec<bool>,
}

impl EndpointController {
    /// None of the interfaces has an endpoint yet.
    pub fn new(manager: PathManager, interfaces: Vec<Interface>) -> Self {
        let attached = vec![false; interfaces.len()];
        Self { manager, interfaces, attached }
    }

    /// The interfaces.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Whether an interface has its endpoint.
    pub fn is_attached(&self, path: usize) -> bool {
        self.attached[path]
    }

    /// Gives an interface its endpoint: open connections join over it, new ones may.
    ///
    /// # Errors
    /// What the kernel refuses.
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

    /// Takes an interface its endpoint: subflows over it end, and none is opened.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn detach(&mut self, path: usize) -> Result<(), Error> {
        if !self.attached[path] {
            return Ok(());
        }
        self.attached[path] = false;
        let interface = &self.interfaces[path];
        self.manager.remove(interface.id, interface.address)
    }

    /// An interface has another address now. Its endpoint follows: subflows from the old address end, and
    /// open connections join from the new one. It has another number too: the peer, who hears of the old
    /// one's end (REMOVE_ADDR; RFC 8684, section 3.4.2) over another path and maybe after the join, would
    /// else end the new subflow.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn set_address(&mut self, path: usize, address: IpAddr) -> Result<(), Error> {
        let attached = self.attached[path];
        self.detach(path)?;
        let interface = &mut self.interfaces[path];
        interface.address = address;
        interface.id = interface.id.checked_add(NEXT_ID).unwrap_or(interface.id % NEXT_ID);
        if attached { self.attach(path) } else { Ok(()) }
    }

    /// Marks an interface as backup, or as regular: MP_PRIO on every subflow over it (RFC 8684, section
    /// 3.3.8).
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn set_backup(&mut self, path: usize, backup: bool) -> Result<(), Error> {
        let interface = &mut self.interfaces[path];
        interface.backup = backup;
        if !self.attached[path] {
            return Ok(());
        }
        self.manager.set_backup(interface.id, backup)
    }

    /// Does what a policy asks for. Shares are for simulated senders: no device can tell a sender.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn act(&mut self, action: &Action) -> Result<(), Error> {
        match *action {
            Action::SetBackup { path, backup } => self.set_backup(path, backup),
            Action::Open { path } => self.attach(path),
            Action::Close { path } => self.detach(path),
            Action::Share { .. } => Ok(()),
        }
    }
}
