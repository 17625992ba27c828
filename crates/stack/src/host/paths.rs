//! Path manager of a client: a subflow over each usable interface of each open connection.

use crate::{ConnectionId, Interface, OpenSubflow, Stack, Tuple};
use mptcp::{Event, PathId, SubflowInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use units::{Duration, Instant};

/// Time after the failure of a subflow until it is opened again, as in the simulator.
const REJOIN_DELAY: Duration = Duration::from_secs(1);

/// A subflow at one moment.
#[derive(Debug, Clone, Copy)]
pub struct SubflowSample {
    /// Addresses and ports.
    pub tuple: Tuple,
    /// State of the subflow.
    pub info: SubflowInfo,
    /// This host has written more data to the connection than it has read.
    pub sends: bool,
}

/// Interfaces and their use, and the connections that this host has opened.
#[derive(Debug)]
pub(super) struct LocalPaths {
    paths: Vec<LocalPath>,
    clients: BTreeMap<ConnectionId, Client>,
    /// Time, connection and interface of subflows to be opened again.
    rejoins: Vec<(Instant, ConnectionId, usize)>,
}

#[derive(Debug)]
struct LocalPath {
    address: Option<IpAddr>,
    is_usable: bool,
    is_backup: bool,
}

/// A connection that this host has opened.
#[derive(Debug)]
struct Client {
    remote: SocketAddr,
    /// The only interface of the connection.
    only: Option<usize>,
    /// Interfaces that the peer refused for good, or that lost options (RFC 8684, section 3.6).
    refused: BTreeSet<usize>,
}

impl LocalPaths {
    pub(super) fn new(interfaces: &[Interface]) -> Self {
        let path = |interface: &Interface| LocalPath {
            address: interface.addresses.first().copied(),
            is_usable: false,
            is_backup: false,
        };
        Self { paths: interfaces.iter().map(path).collect(), clients: BTreeMap::new(), rejoins: Vec::new() }
    }

    pub(super) fn address(&self, interface: usize) -> Option<IpAddr> {
        self.paths.get(interface)?.address
    }

    /// Local address of a new connection.
    pub(super) fn first_usable(&self, only: Option<usize>) -> Option<IpAddr> {
        let mut paths = self.paths.iter().enumerate();
        paths.find(|&(i, path)| path.is_usable && only.is_none_or(|only| only == i))?.1.address
    }

    pub(super) fn add(&mut self, id: ConnectionId, remote: SocketAddr, only: Option<usize>) {
        self.clients.insert(id, Client { remote, only, refused: BTreeSet::new() });
    }

    pub(super) fn attach(&mut self, now: Instant, stack: &mut Stack, interface: usize) {
        self.paths[interface].is_usable = true;
        for (&id, client) in &self.clients {
            join(now, stack, id, client, interface, &self.paths[interface]);
        }
    }

    pub(super) fn detach(&mut self, stack: &mut Stack, interface: usize, reachable: bool) {
        self.paths[interface].is_usable = false;
        self.for_each_subflow(stack, interface, |stack, id, path| {
            stack.update(id, |endpoint| endpoint.remove(path, reachable));
        });
    }

    pub(super) fn set_backup(&mut self, stack: &mut Stack, interface: usize, backup: bool) {
        self.paths[interface].is_backup = backup;
        self.for_each_subflow(stack, interface, |stack, id, path| {
            stack.update(id, |endpoint| endpoint.set_priority(path, backup));
        });
    }

    fn for_each_subflow(
        &self,
        stack: &mut Stack,
        interface: usize,
        mut each: impl FnMut(&mut Stack, ConnectionId, PathId),
    ) {
        for &id in self.clients.keys() {
            let all: Vec<OpenSubflow> = stack.subflows(id).collect();
            for one in all.into_iter().filter(|one| one.interface == interface) {
                each(stack, id, one.path);
            }
        }
    }

    /// Handles an event of an endpoint.
    pub(super) fn on_event(&mut self, now: Instant, stack: &mut Stack, id: ConnectionId, event: &Event) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        match event {
            Event::Connected(_) => {
                for (interface, path) in self.paths.iter().enumerate() {
                    join(now, stack, id, client, interface, path);
                }
                let first = self.paths.iter().find(|path| path.address == stack.local_address(id));
                if first.is_some_and(|path| path.is_backup) {
                    stack.update(id, |endpoint| endpoint.set_priority(PathId(0), true));
                }
            }
            Event::SubflowDown(path, Some(_)) => {
                let address = stack.tuple(id, *path).map(|tuple| tuple.local.ip());
                let interface = self.paths.iter().position(|path| path.address == address);
                let Some(interface) = interface else { return };
                if stack.endpoint(id).is_some_and(|endpoint| endpoint.is_refused(*path)) {
                    client.refused.insert(interface);
                } else if self.paths[interface].is_usable {
                    self.rejoins.push((now + REJOIN_DELAY, id, interface));
                }
            }
            Event::Closed | Event::Failed(_) => {
                self.clients.remove(&id);
            }
            _ => {}
        }
    }

    /// Time of the next [`rejoin`](Self::rejoin).
    pub(super) fn next(&self) -> Option<Instant> {
        self.rejoins.iter().map(|&(at, ..)| at).min()
    }

    /// Opens the subflows again that are due.
    pub(super) fn rejoin(&mut self, now: Instant, stack: &mut Stack) {
        for (_, id, interface) in self.rejoins.extract_if(.., |&mut (at, ..)| at <= now) {
            if let Some(client) = self.clients.get(&id) {
                join(now, stack, id, client, interface, &self.paths[interface]);
            }
        }
    }
}

/// Opens a subflow over an interface, unless there is one or it was refused. The stack refuses it
/// while the connection cannot be joined.
fn join(
    now: Instant,
    stack: &mut Stack,
    id: ConnectionId,
    client: &Client,
    interface: usize,
    path: &LocalPath,
) {
    let Some(address) = path.address.filter(|_| path.is_usable) else { return };
    if client.only.is_some_and(|only| only != interface)
        || client.refused.contains(&interface)
        || stack.subflows(id).any(|one| one.interface == interface)
    {
        return;
    }
    _ = stack.join(now, id, address, client.remote, path.is_backup);
}
