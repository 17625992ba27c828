//! The device's interfaces on the kernel: their routes and their endpoints.

use crate::topology::{Reach, SERVER, next_address};
use agent::EndpointController;
use linux::Error;
use linux::route::{Route, RouteEntry};
use std::net::Ipv4Addr;

/// Interfaces of the device, which has a namespace.
#[derive(Debug)]
pub(crate) struct KernelPaths {
    pub(crate) reach: Reach,
    pub(crate) endpoints: EndpointController,
    pub(crate) route: Route,
    /// Index of each path's interface on the device.
    pub(crate) indices: Vec<u32>,
    /// Whether each interface is up.
    pub(crate) is_up: Vec<bool>,
    /// Whether the policy has closed each path.
    pub(crate) is_closed: Vec<bool>,
    /// The only path of a scenario with plain TCP.
    pub(crate) tcp_path: Option<usize>,
}

impl KernelPaths {
    /// Brings an interface of the device up.
    pub(crate) fn bring_up(&mut self, path: usize) -> Result<(), Error> {
        self.route.set_up(self.indices[path], true)?;
        self.is_up[path] = true;
        self.attach(path)
    }

    /// Takes an interface of the device down.
    pub(crate) fn take_down(&mut self, path: usize) -> Result<(), Error> {
        self.is_up[path] = false;
        // The interface goes down before its endpoint, so that no REMOVE_ADDR or FIN leaves over
        // it.
        self.route.set_up(self.indices[path], false)?;
        self.endpoints.detach(path)
    }

    /// Replaces the address of an interface of the device.
    pub(crate) fn change_address(&mut self, path: usize) -> Result<(), Error> {
        let old = self.endpoints.interfaces()[path].address;
        let new = next_address(old);
        // With the old address, the kernel removes the route that has it as source.
        self.route.remove_address(self.indices[path], old, 32)?;
        self.route.add_address(self.indices[path], new, 32)?;
        if self.is_up[path] && !self.is_closed[path] {
            self.route.add_route(&RouteEntry { source: Some(new), ..self.route_entry(path) })?;
        }
        self.endpoints.set_address(path, new)
    }

    /// Opens a path that the policy had closed.
    pub(crate) fn open_path(&mut self, path: usize) -> Result<(), Error> {
        self.is_closed[path] = false;
        if self.is_up[path] { self.attach(path) } else { Ok(()) }
    }

    /// Closes a path for the policy: its subflows end, and no connection begins there. A policy may
    /// repeat the action.
    pub(crate) fn close_path(&mut self, path: usize) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_closed[path], true) {
            return Ok(());
        }
        self.endpoints.detach(path)?;
        if self.is_up[path] { self.route.remove_route(&self.route_entry(path)) } else { Ok(()) }
    }

    /// True while the path's interface is up.
    pub(crate) fn is_up(&self, path: usize) -> bool {
        self.is_up[path]
    }

    /// Name of a path's interface.
    pub(crate) fn interface(&self, path: usize) -> &str {
        &self.endpoints.interfaces()[path].name
    }

    /// Adds the route and the endpoint of a path that is up, unless the policy has closed it.
    fn attach(&mut self, path: usize) -> Result<(), Error> {
        if self.is_closed[path] {
            return Ok(());
        }
        match self.route.add_route(&self.route_entry(path)) {
            // The route exists already.
            Err(error) if error.errno() == Some(rustix::io::Errno::EXIST.raw_os_error()) => {}
            other => other?,
        }
        self.endpoints.attach(path)
    }

    fn route_entry(&self, path: usize) -> RouteEntry {
        let (to, prefix) = match self.reach {
            Reach::Server => (SERVER, 32),
            Reach::Everything => (Ipv4Addr::UNSPECIFIED.into(), 0),
        };
        RouteEntry {
            to,
            prefix,
            device: self.indices[path],
            via: None,
            source: Some(self.endpoints.interfaces()[path].address),
            metric: if self.tcp_path == Some(path) { 99 } else { 100 + path as u32 },
        }
    }
}
