//! Per-connection control through the userspace path manager, for connections with rules.
//!
//! The kernel path manager only takes endpoints, which apply to all connections. A connection
//! created under the path manager `userspace` is controlled by a program: this module opens, marks
//! and closes its subflows by token. A connection keeps the path manager it was created with.

use crate::Error;
use linux::diag::{Diag, Filter};
use linux::pm::{ConnectionEvent, Endpoint, Event, Flags, PathManager, SubflowEvent, Target};
use linux::socket::TcpState;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use tracing::{debug, info};
use units::{Duration, Instant};

/// Time after which a requested subflow counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Delay before a rejected command is repeated; doubled after every rejection.
const RETRY: Duration = Duration::from_secs(1);
/// Limit of the doublings.
const RARELY: u32 = 6;

/// Intended use of one local address by a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChoice {
    /// Local address of the subflow.
    pub address: IpAddr,
    /// Index of its interface.
    pub device: u32,
    /// A subflow should exist.
    pub open: bool,
    /// The subflow should be a backup.
    pub backup: bool,
}

/// A change to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Open(PathChoice),
    Close(SocketAddr, SocketAddr),
    SetBackup(SocketAddr, SocketAddr, bool),
    /// The address has left the device.
    Withdraw(IpAddr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flow {
    local: SocketAddr,
    remote: SocketAddr,
    backup: bool,
}

/// A controlled connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Connection {
    remote: SocketAddr,
    flows: Vec<Flow>,
    /// Requested subflows: local address, backup flag, time of the request.
    asked: Vec<(IpAddr, bool, Instant)>,
    /// No subflow is requested before this time.
    not_before: Instant,
    refusals: u32,
}

impl Connection {
    fn new(remote: SocketAddr) -> Self {
        Self { remote, flows: Vec::new(), asked: Vec::new(), not_before: Instant::ZERO, refusals: 0 }
    }

    /// Changes that make the connection follow `choices`.
    fn orders(&self, now: Instant, ways: &[PathChoice]) -> Vec<Order> {
        let mut orders = Vec::new();
        let way = |address: IpAddr| ways.iter().find(|way| way.address == address);
        let stays = |flow: &Flow| way(flow.local.ip()).is_some_and(|way| way.open);
        // The last open subflow of a connection is never closed.
        let has_another = self.flows.iter().any(stays);
        for flow in &self.flows {
            match way(flow.local.ip()) {
                Some(way) if !way.open && has_another => orders.push(Order::Close(flow.local, flow.remote)),
                Some(way) if way.open && way.backup != flow.backup => {
                    orders.push(Order::SetBackup(flow.local, flow.remote, way.backup));
                }
                None if has_another => orders.push(Order::Withdraw(flow.local.ip())),
                _ => {}
            }
        }
        let six = self.remote.is_ipv6();
        let wanted =
            ways.iter().filter(|way| way.open && way.address.is_ipv6() == six && now >= self.not_before);
        for way in wanted {
            let there = self.flows.iter().any(|flow| flow.local.ip() == way.address);
            let asked =
                self.asked.iter().any(|(at, _, when)| *at == way.address && now.since(*when) < PATIENCE);
            if !there && !asked {
                orders.push(Order::Open(*way));
            }
        }
        orders
    }

    fn refused(&mut self, now: Instant) {
        self.not_before = now + RETRY * u64::from(1_u32 << self.refusals.min(RARELY));
        self.refusals += 1;
    }
}

/// All connections controlled individually.
#[derive(Debug)]
pub struct Connections {
    manager: PathManager,
    all: BTreeMap<u32, Connection>,
    /// Address ID of each local address in use.
    ids: BTreeMap<IpAddr, u8>,
}

impl Connections {
    /// Opens the path manager and adopts connections left by a killed agent.
    ///
    /// # Errors
    /// Fails when the kernel has no MPTCP or cannot list sockets.
    pub fn open(diag: &mut Diag) -> Result<Self, Error> {
        let mut connections =
            Self { manager: PathManager::open()?, all: BTreeMap::new(), ids: BTreeMap::new() };
        connections.find(diag)?;
        Ok(connections)
    }

    /// Lists all connections; needed because events can be lost.
    ///
    /// # Errors
    /// Fails when the kernel cannot list sockets.
    pub fn find(&mut self, diag: &mut Diag) -> Result<(), Error> {
        let mut all: BTreeMap<u32, Connection> = BTreeMap::new();
        let mut server = Vec::new();
        diag.for_each_subflow(&Filter::default(), |one| {
            if one.tcp.state != TcpState::Established {
                return;
            }
            // A subflow joined by the peer: this end is the server.
            if one.joined && one.remote_token == 0 {
                server.push(one.token);
            }
            let connection = all.entry(one.token).or_insert_with(|| Connection::new(one.remote));
            connection.flows.push(Flow { local: one.local, remote: one.remote, backup: one.backup });
        })?;
        all.retain(|token, _| self.all.contains_key(token) || self.is_ours(*token, &server));
        self.all = all;
        Ok(())
    }

    /// True for connections of the userspace path manager: the kernel lists local addresses only of
    /// these.
    fn is_ours(&mut self, token: u32, server: &[u32]) -> bool {
        !server.contains(&token) && self.manager.endpoints_of(token).is_ok()
    }

    /// Processes an event. Returns false when events were lost and connections must be listed
    /// again.
    pub fn take(&mut self, now: Instant, event: &Event) -> bool {
        match *event {
            Event::Established(ConnectionEvent { token, local, remote, server: false, .. })
                if !remote.ip().is_loopback() =>
            {
                let connection = self.all.entry(token).or_insert_with(|| Connection::new(remote));
                connection.flows = vec![Flow { local, remote, backup: false }];
            }
            Event::SubflowEstablished(SubflowEvent { token, local, remote, .. }) => {
                let Some(connection) = self.all.get_mut(&token) else { return true };
                let asked = connection.asked.iter().position(|(address, ..)| *address == local.ip());
                let backup = asked.is_some_and(|at| connection.asked.remove(at).1);
                connection.flows.push(Flow { local, remote, backup });
                connection.refusals = 0;
            }
            Event::SubflowClosed(SubflowEvent { token, local, .. }) => {
                let Some(connection) = self.all.get_mut(&token) else { return true };
                connection.flows.retain(|flow| flow.local != local);
                connection.refused(now);
            }
            Event::Closed { token } => {
                self.all.remove(&token);
            }
            Event::Overrun => return false,
            _ => {}
        }
        true
    }

    /// Makes every connection follow the choices for its remote address. Rejected commands are
    /// repeated later.
    pub fn hold<'a>(&mut self, now: Instant, ways: &dyn Fn(SocketAddr) -> &'a [PathChoice]) {
        let mut foreign = Vec::new();
        for (token, connection) in &mut self.all {
            for order in connection.orders(now, ways(connection.remote)) {
                let done = carry_out(&mut self.manager, &mut self.ids, *token, connection, order, now);
                let Err(error) = done else { continue };
                debug!("{error}");
                // The connection was created under the kernel path manager.
                if error.errno() == Some(22) && error.to_string().contains("userspace") {
                    foreign.push(*token);
                    break;
                }
                connection.refused(now);
            }
        }
        self.all.retain(|token, _| !foreign.contains(token));
    }
}

fn carry_out(
    manager: &mut PathManager,
    ids: &mut BTreeMap<IpAddr, u8>,
    token: u32,
    connection: &mut Connection,
    order: Order,
    now: Instant,
) -> Result<(), linux::Error> {
    let name = format!("{token:08x}");
    match order {
        Order::Open(way) => {
            // An address that returns gets a new ID: the peer may learn late of the old one's
            // removal.
            let next = (1..=u8::MAX).find(|id| !ids.values().any(|taken| taken == id)).unwrap_or(u8::MAX);
            let id = *ids.entry(way.address).or_insert(next);
            let flags = Flags { backup: way.backup, ..Flags::default() };
            let local = Endpoint { id, address: way.address, port: 0, device: way.device, flags };
            info!(connection = name, remote = %connection.remote, address = %way.address, backup = way.backup, "opened");
            connection.asked.retain(|(address, ..)| *address != way.address);
            connection.asked.push((way.address, way.backup, now));
            manager.create_subflow(token, &local, connection.remote)
        }
        Order::Close(local, remote) => {
            info!(connection = name, %remote, address = %local.ip(), "closed");
            manager.destroy_subflow(token, local, remote)?;
            connection.flows.retain(|flow| flow.local != local);
            Ok(())
        }
        Order::SetBackup(local, remote, backup) => {
            info!(connection = name, %remote, address = %local.ip(), backup, "MP_PRIO");
            // Recorded even if rejected: a closing subflow would be retried at every sample.
            for flow in connection.flows.iter_mut().filter(|flow| flow.local == local) {
                flow.backup = backup;
            }
            manager.set_backup(Target::Subflow { token, local, remote }, backup)
        }
        Order::Withdraw(address) => {
            connection.flows.retain(|flow| flow.local.ip() != address);
            let id = ids.remove(&address).unwrap_or(0);
            info!(connection = name, %address, "its address is gone: closed");
            manager.withdraw(token, id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, last, 2])
    }

    fn way(last: u8, open: bool, backup: bool) -> PathChoice {
        PathChoice { address: ip(last), device: u32::from(last), open, backup }
    }

    fn flow(last: u8, backup: bool) -> Flow {
        Flow { local: (ip(last), 1000).into(), remote: (ip(9), 443).into(), backup }
    }

    fn connection(flows: &[Flow]) -> Connection {
        Connection { flows: flows.to_vec(), ..Connection::new((ip(9), 443).into()) }
    }

    #[test]
    fn a_connection_is_made_to_use_what_it_is_to_use() {
        let now = Instant::ZERO + Duration::from_secs(9);
        let (wifi, lte) = (way(1, true, false), way(2, true, true));
        assert_eq!(connection(&[flow(1, false)]).orders(now, &[wifi, lte]), [Order::Open(lte)]);
        let both = connection(&[flow(1, false), flow(2, false)]);
        let Flow { local, remote, .. } = flow(2, false);
        assert_eq!(both.orders(now, &[wifi, lte]), [Order::SetBackup(local, remote, true)]);
        assert_eq!(both.orders(now, &[wifi, way(2, false, true)]), [Order::Close(local, remote)]);
        assert_eq!(both.orders(now, &[wifi]), [Order::Withdraw(ip(2))]);
        let held = connection(&[flow(1, false), flow(2, true)]);
        assert_eq!(held.orders(now, &[wifi, lte]), []);
    }

    #[test]
    fn the_last_subflow_is_not_closed_and_what_was_asked_for_is_waited_for() {
        let now = Instant::ZERO + Duration::from_secs(9);
        let never = way(2, false, true);
        let mut one = connection(&[flow(2, false)]);
        assert_eq!(one.orders(now, &[never]), [], "it is all there is");
        assert_eq!(one.orders(now, &[way(1, true, false), never]), [Order::Open(way(1, true, false))]);
        one.asked.push((ip(1), false, now));
        assert_eq!(one.orders(now, &[way(1, true, false), never]), []);
        assert_eq!(one.orders(now + PATIENCE, &[way(1, true, false), never]).len(), 1);
        let later = now + PATIENCE;
        one.refused(later);
        one.refused(later);
        assert_eq!(one.orders(later + RETRY, &[way(1, true, false)]), []);
        assert_eq!(one.orders(later + RETRY * 2, &[way(1, true, false)]).len(), 1);
    }

    #[test]
    fn an_address_of_another_family_is_not_used() {
        let six = PathChoice { address: "fd00::2".parse().unwrap(), ..way(3, true, false) };
        assert_eq!(connection(&[flow(1, false)]).orders(Instant::ZERO, &[way(1, true, false), six]), []);
    }
}
