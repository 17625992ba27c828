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
use tracing::{debug, info, warn};
use units::{Duration, Instant};

/// Time after which a requested subflow counts as failed.
const JOIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay before a rejected command is repeated; doubled after every rejection.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Limit of the doublings.
const MAX_RETRY_DOUBLINGS: u32 = 6;

/// Maximum number of connections controlled individually; bounds memory and the length of a sample.
const MAX_CONNECTIONS: usize = 16_384;

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
enum Command {
    Open(PathChoice),
    Close(SocketAddr, SocketAddr),
    SetBackup(SocketAddr, SocketAddr, bool),
    /// The address with this ID has left the device.
    Withdraw(IpAddr, u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Subflow {
    local: SocketAddr,
    remote: SocketAddr,
    backup: bool,
}

/// A controlled connection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Connection {
    remote: SocketAddr,
    subflows: Vec<Subflow>,
    /// Requested subflows: local address, backup flag, time of the request.
    requested: Vec<(IpAddr, bool, Instant)>,
    /// No subflow is requested before this time.
    not_before: Instant,
    rejections: u32,
    /// ID of each local address in use; that of the first subflow has 0.
    ids: BTreeMap<IpAddr, u8>,
    newest_id: u8,
}

impl Connection {
    fn new(remote: SocketAddr) -> Self {
        Self {
            remote,
            subflows: Vec::new(),
            requested: Vec::new(),
            not_before: Instant::ZERO,
            rejections: 0,
            ids: BTreeMap::new(),
            newest_id: 0,
        }
    }

    /// ID for a subflow to open from a local address. An address that returns gets a new one: the
    /// peer may learn late of the old one's removal.
    fn id_to_open(&mut self, address: IpAddr) -> u8 {
        if let Some(id) = self.ids.get(&address).filter(|id| **id > 0) {
            return *id;
        }
        let is_free = |id: &u8| *id > 0 && !self.ids.values().any(|taken| taken == id);
        let mut following = (1..=u8::MAX).map(|step| self.newest_id.wrapping_add(step));
        self.newest_id = following.find(is_free).unwrap_or(u8::MAX);
        self.ids.insert(address, self.newest_id);
        self.newest_id
    }

    /// Takes over what the kernel does not list.
    fn keep_state_of(&mut self, known: &Self) {
        self.requested.clone_from(&known.requested);
        (self.not_before, self.rejections) = (known.not_before, known.rejections);
        self.newest_id = known.newest_id;
        for (address, id) in &known.ids {
            self.ids.entry(*address).or_insert(*id);
        }
    }

    /// Changes that make the connection follow `choices`.
    fn commands(&self, now: Instant, choices: &[PathChoice]) -> Vec<Command> {
        let mut commands = Vec::new();
        let choice = |address: IpAddr| choices.iter().find(|choice| choice.address == address);
        let stays = |subflow: &Subflow| choice(subflow.local.ip()).is_some_and(|choice| choice.open);
        // The last open subflow of a connection is never closed.
        let has_another = self.subflows.iter().any(stays);
        for subflow in &self.subflows {
            match choice(subflow.local.ip()) {
                Some(choice) if !choice.open && has_another => {
                    commands.push(Command::Close(subflow.local, subflow.remote));
                }
                Some(choice) if choice.open && choice.backup != subflow.backup => {
                    commands.push(Command::SetBackup(subflow.local, subflow.remote, choice.backup));
                }
                None if has_another => {
                    // A withdrawal closes all subflows of its address.
                    let removal = self.removal_of(subflow);
                    if !commands.contains(&removal) {
                        commands.push(removal);
                    }
                }
                _ => {}
            }
        }
        let six = self.remote.is_ipv6();
        let wanted = choices
            .iter()
            .filter(|choice| choice.open && choice.address.is_ipv6() == six && now >= self.not_before);
        for choice in wanted {
            let there = self.subflows.iter().any(|subflow| subflow.local.ip() == choice.address);
            let requested = self
                .requested
                .iter()
                .any(|(at, _, when)| *at == choice.address && now.since(*when) < JOIN_TIMEOUT);
            if !there && !requested {
                commands.push(Command::Open(*choice));
            }
        }
        commands
    }

    /// Command for a subflow whose address has left the device.
    fn removal_of(&self, subflow: &Subflow) -> Command {
        match self.ids.get(&subflow.local.ip()) {
            Some(id) => Command::Withdraw(subflow.local.ip(), *id),
            // The peer would close the subflows of another address.
            None => Command::Close(subflow.local, subflow.remote),
        }
    }

    fn on_rejection(&mut self, now: Instant) {
        self.not_before =
            now + FIRST_RETRY_DELAY * u64::from(1_u32 << self.rejections.min(MAX_RETRY_DOUBLINGS));
        self.rejections += 1;
    }
}

/// All connections controlled individually.
#[derive(Debug)]
pub struct Connections {
    manager: PathManager,
    all: BTreeMap<u32, Connection>,
    /// There was a connection beyond [`MAX_CONNECTIONS`].
    has_excess: bool,
}

impl Connections {
    /// Opens the path manager and adopts connections left by a killed agent.
    ///
    /// # Errors
    /// Fails when the kernel has no MPTCP or cannot list sockets.
    pub fn open(diag: &mut Diag) -> Result<Self, Error> {
        let mut connections = Self { manager: PathManager::open()?, all: BTreeMap::new(), has_excess: false };
        connections.list(diag)?;
        Ok(connections)
    }

    /// True without a controlled connection.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Lists all connections; needed because events can be lost.
    ///
    /// # Errors
    /// Fails when the kernel cannot list sockets.
    pub fn list(&mut self, diag: &mut Diag) -> Result<(), Error> {
        let mut all: BTreeMap<u32, Connection> = BTreeMap::new();
        let mut has_excess = false;
        diag.for_each_subflow(&Filter::default(), |one| {
            // A server cannot join to the port of its client, and loopback has one path.
            let is_steered = one.initiated && !one.remote.ip().is_loopback();
            if !is_steered || one.tcp.state != TcpState::Established {
                return;
            }
            if all.len() >= MAX_CONNECTIONS && !all.contains_key(&one.token) {
                has_excess = true;
                return;
            }
            let connection = all.entry(one.token).or_insert_with(|| Connection::new(one.remote));
            // 0 is the ID of the first subflow's address, and of an unknown one.
            if !one.joined || one.local_id > 0 {
                connection.ids.insert(one.local.ip(), one.local_id);
                connection.newest_id = connection.newest_id.max(one.local_id);
            }
            connection.subflows.push(Subflow { local: one.local, remote: one.remote, backup: one.backup });
        })?;
        all.retain(|token, connection| {
            // The kernel lists local addresses only of connections with the userspace path manager.
            let listed = self.manager.endpoints_of(*token).ok();
            let known = self.all.get(token);
            if let Some(known) = known {
                connection.keep_state_of(known);
            }
            for endpoint in listed.iter().flatten() {
                connection.ids.insert(endpoint.address, endpoint.id);
                connection.newest_id = connection.newest_id.max(endpoint.id);
            }
            known.is_some() || listed.is_some()
        });
        self.all = all;
        if has_excess {
            self.note_excess();
        }
        Ok(())
    }

    /// Processes an event. Returns false when events were lost and connections must be listed
    /// again.
    pub fn process_event(&mut self, now: Instant, event: &Event) -> bool {
        match *event {
            Event::Established(ConnectionEvent { token, local, remote, server: false, .. })
                if !remote.ip().is_loopback() =>
            {
                if self.all.len() >= MAX_CONNECTIONS && !self.all.contains_key(&token) {
                    self.note_excess();
                    return true;
                }
                let connection = self.all.entry(token).or_insert_with(|| Connection::new(remote));
                connection.subflows = vec![Subflow { local, remote, backup: false }];
                connection.ids = BTreeMap::from([(local.ip(), 0)]);
            }
            Event::SubflowEstablished(SubflowEvent { token, local, remote, local_id, .. }) => {
                let Some(connection) = self.all.get_mut(&token) else { return true };
                if local_id > 0 {
                    connection.ids.entry(local.ip()).or_insert(local_id);
                }
                let requested = connection.requested.iter().position(|(address, ..)| *address == local.ip());
                let backup = requested.is_some_and(|at| connection.requested.remove(at).1);
                connection.subflows.push(Subflow { local, remote, backup });
                connection.rejections = 0;
            }
            Event::SubflowClosed(SubflowEvent { token, local, .. }) => {
                let Some(connection) = self.all.get_mut(&token) else { return true };
                connection.subflows.retain(|subflow| subflow.local != local);
                connection.on_rejection(now);
            }
            Event::Closed { token } => {
                self.all.remove(&token);
            }
            Event::Overrun => return false,
            _ => {}
        }
        true
    }

    /// Warns of the first connection beyond the limit.
    fn note_excess(&mut self) {
        if !std::mem::replace(&mut self.has_excess, true) {
            warn!("more than {MAX_CONNECTIONS} connections: the rules do not apply to further ones");
        }
    }

    /// Makes every connection follow the choices for its remote address. Rejected commands are
    /// repeated later.
    pub fn apply<'a>(&mut self, now: Instant, choices: &dyn Fn(SocketAddr) -> &'a [PathChoice]) {
        let mut kernel_managed = Vec::new();
        let mut executor = Executor { manager: &mut self.manager, now };
        for (token, connection) in &mut self.all {
            for command in connection.commands(now, choices(connection.remote)) {
                let Err(error) = executor.execute(*token, connection, command) else { continue };
                debug!("{error}");
                // The connection was created under the kernel path manager.
                if error.errno() == Some(22) && error.to_string().contains("userspace") {
                    kernel_managed.push(*token);
                    break;
                }
                connection.on_rejection(now);
            }
        }
        self.all.retain(|token, _| !kernel_managed.contains(token));
    }
}

/// Carries out commands through the userspace path manager.
struct Executor<'a> {
    manager: &'a mut PathManager,
    now: Instant,
}

impl Executor<'_> {
    fn execute(
        &mut self,
        token: u32,
        connection: &mut Connection,
        command: Command,
    ) -> Result<(), linux::Error> {
        let name = format!("{token:08x}");
        match command {
            Command::Open(choice) => {
                let id = connection.id_to_open(choice.address);
                let flags = Flags { backup: choice.backup, ..Flags::default() };
                let local = Endpoint { id, address: choice.address, port: 0, device: choice.device, flags };
                info!(connection = name, remote = %connection.remote, address = %choice.address, backup = choice.backup, "subflow requested");
                connection.requested.retain(|(address, ..)| *address != choice.address);
                connection.requested.push((choice.address, choice.backup, self.now));
                self.manager.create_subflow(token, &local, connection.remote)
            }
            Command::Close(local, remote) => {
                info!(connection = name, %remote, address = %local.ip(), "subflow closed");
                self.manager.destroy_subflow(token, local, remote)?;
                connection.subflows.retain(|subflow| subflow.local != local);
                Ok(())
            }
            Command::SetBackup(local, remote, backup) => {
                info!(connection = name, %remote, address = %local.ip(), backup, "backup flag changed (MP_PRIO)");
                // Recorded even if rejected: a closing subflow would be retried at every sample.
                for subflow in connection.subflows.iter_mut().filter(|subflow| subflow.local == local) {
                    subflow.backup = backup;
                }
                self.manager.set_backup(Target::Subflow { token, local, remote }, backup)
            }
            Command::Withdraw(address, id) => {
                connection.subflows.retain(|subflow| subflow.local.ip() != address);
                connection.ids.remove(&address);
                info!(connection = name, %address, "address removed: subflows closed");
                self.manager.withdraw(token, id)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::namespace::Namespace;
    use linux::pm::path_manager;
    use linux::route::Route;
    use linux::socket::{self, Options, Protocol};
    use linux::tun::Tun;
    use std::net::TcpStream;

    /// Opens a connection between two ends of this host and returns its client and server.
    fn connect_to_self(address: IpAddr) -> Result<(TcpStream, TcpStream), Error> {
        let listener = socket::listen((address, 0).into(), Protocol::Mptcp, &Options::default())?;
        let port = listener.local_addr().expect("it listens").port();
        let client = socket::connect((address, port).into(), Protocol::Mptcp, &Options::default())?;
        Ok((client, listener.accept().expect("it is connected").0))
    }

    fn list_both_ends() -> Result<(), Error> {
        let (mut route, _tun) = (Route::open()?, Tun::create("wlan0")?);
        for name in ["lo", "wlan0"] {
            let index = route.link(name)?.index;
            route.set_up(index, true)?;
            if name == "wlan0" {
                route.add_address(index, ip(1), 32)?;
            }
        }
        path_manager::select(path_manager::USERSPACE)?;
        let _outgoing_and_incoming = connect_to_self(ip(1))?;
        let _loopback = connect_to_self([127, 0, 0, 1].into())?;
        let mut diag = Diag::open()?;
        assert_eq!(diag.subflows()?.len(), 4);
        let client = diag.subflows()?.into_iter().find(|one| one.initiated && one.local.ip() == ip(1));
        let tokens: Vec<u32> = Connections::open(&mut diag)?.all.into_keys().collect();
        assert_eq!(tokens, [client.expect("a client").token]);
        Ok(())
    }

    #[test]
    #[ignore = "needs root"]
    fn needs_root_listing_adopts_no_incoming_and_no_loopback_connection() {
        Namespace::create().expect("a network namespace").run(list_both_ends).expect("the kernel lists them");
    }

    #[test]
    #[ignore = "needs root"]
    fn needs_root_connections_beyond_the_limit_take_no_memory() {
        let add_many = || {
            let mut connections = Connections::open(&mut Diag::open()?)?;
            let (local, remote) = ((ip(1), 1000).into(), (ip(9), 443).into());
            for token in 0..MAX_CONNECTIONS as u32 + 9 {
                let new = ConnectionEvent { token, local, remote, server: false, deny_join: false };
                assert!(connections.process_event(Instant::ZERO, &Event::Established(new)));
            }
            assert_eq!((connections.all.len(), connections.has_excess), (MAX_CONNECTIONS, true));
            Ok::<_, Error>(())
        };
        Namespace::create().expect("a network namespace").run(add_many).expect("the kernel has MPTCP");
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([10, 0, last, 2])
    }

    fn choice(last: u8, open: bool, backup: bool) -> PathChoice {
        PathChoice { address: ip(last), device: u32::from(last), open, backup }
    }

    fn subflow(last: u8, backup: bool) -> Subflow {
        Subflow { local: (ip(last), 1000).into(), remote: (ip(9), 443).into(), backup }
    }

    fn connection(subflows: &[Subflow]) -> Connection {
        Connection { subflows: subflows.to_vec(), ..Connection::new((ip(9), 443).into()) }
    }

    #[test]
    fn commands_make_connection_follow_choices() {
        let now = Instant::ZERO + Duration::from_secs(9);
        let (wifi, lte) = (choice(1, true, false), choice(2, true, true));
        assert_eq!(connection(&[subflow(1, false)]).commands(now, &[wifi, lte]), [Command::Open(lte)]);
        let both = connection(&[subflow(1, false), subflow(2, false)]);
        let Subflow { local, remote, .. } = subflow(2, false);
        assert_eq!(both.commands(now, &[wifi, lte]), [Command::SetBackup(local, remote, true)]);
        assert_eq!(both.commands(now, &[wifi, choice(2, false, true)]), [Command::Close(local, remote)]);
        assert_eq!(both.commands(now, &[wifi]), [Command::Close(local, remote)], "its ID is unknown");
        let held = connection(&[subflow(1, false), subflow(2, true)]);
        assert_eq!(held.commands(now, &[wifi, lte]), []);
    }

    #[test]
    fn lost_address_with_two_subflows_is_withdrawn_once() {
        // A join timed out, and a second one began; both were established.
        let second = Subflow { local: (ip(2), 1001).into(), ..subflow(2, false) };
        let mut all = connection(&[subflow(1, false), subflow(2, false), second]);
        all.ids = BTreeMap::from([(ip(1), 0), (ip(2), 1)]);
        let wifi = choice(1, true, false);
        assert_eq!(all.commands(Instant::ZERO, &[wifi]), [Command::Withdraw(ip(2), 1)]);
    }

    #[test]
    fn last_subflow_stays_and_pending_requests_are_not_repeated() {
        let now = Instant::ZERO + Duration::from_secs(9);
        let never = choice(2, false, true);
        let mut one = connection(&[subflow(2, false)]);
        assert_eq!(one.commands(now, &[never]), [], "the only subflow");
        assert_eq!(
            one.commands(now, &[choice(1, true, false), never]),
            [Command::Open(choice(1, true, false))]
        );
        one.requested.push((ip(1), false, now));
        assert_eq!(one.commands(now, &[choice(1, true, false), never]), []);
        assert_eq!(one.commands(now + JOIN_TIMEOUT, &[choice(1, true, false), never]).len(), 1);
        let later = now + JOIN_TIMEOUT;
        one.on_rejection(later);
        one.on_rejection(later);
        assert_eq!(one.commands(later + FIRST_RETRY_DELAY, &[choice(1, true, false)]), []);
        assert_eq!(one.commands(later + FIRST_RETRY_DELAY * 2, &[choice(1, true, false)]).len(), 1);
    }

    #[test]
    fn ids_belong_to_one_connection_and_are_not_used_again_at_once() {
        let mut one = connection(&[subflow(1, false)]);
        one.ids.insert(ip(1), 0);
        assert_eq!(one.id_to_open(ip(2)), 1);
        assert_eq!(one.id_to_open(ip(2)), 1, "a repeated request");
        assert_eq!(one.id_to_open(ip(1)), 2, "0 is the first subflow's");
        one.ids.remove(&ip(2));
        assert_eq!(one.id_to_open(ip(2)), 3, "it returned");
        one.newest_id = u8::MAX;
        assert_eq!(one.id_to_open(ip(4)), 1);
        assert_eq!(one.id_to_open(ip(5)), 4, "2 and 3 are taken");
    }

    #[test]
    fn address_of_other_family_is_unused() {
        let six = PathChoice { address: "fd00::2".parse().unwrap(), ..choice(3, true, false) };
        assert_eq!(
            connection(&[subflow(1, false)]).commands(Instant::ZERO, &[choice(1, true, false), six]),
            []
        );
    }
}
