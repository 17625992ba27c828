//! Plays a script against endpoints: time, timers and the path manager.
//!
//! The player stands for the host, with its sockets and its path manager, and for the peer, whose
//! packets the script has.

mod calls;
mod compare;
mod describe;
mod expect;
mod flow;
mod inbound;

use crate::applies::obstacle;
use crate::host::{Effect, Host};
use crate::script::{Action, Packet, Script, Step, When};
use crate::verdict::{Concession, Difference, Verdict};
use core::net::IpAddr;
use flow::{Connection, Flow, Sent};
use mptcp::{Config, Event, Mode, PathId, SubflowEnds};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use units::{Duration, Instant};

/// Timers and segments after which a script is given up.
const MAX_STEPS: u32 = 100_000;
/// Receive buffer, for which the window scale is 8, as in the scripts.
const RECEIVE_BUFFER: u64 = 16_000_000;
/// First local port of joins.
const JOIN_PORT: u16 = 50_000;
const SERVER_PORT: u16 = 443;
const LONGEST_SCRIPT: Duration = Duration::from_secs(10_000_000);
/// Longest wait for a packet at any time.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// Plays a script; `ipv6` chooses the addresses. It stops at the first difference.
pub fn play(script: &Script, ipv6: bool) -> Verdict {
    if let Some(reason) = obstacle(script) {
        return Verdict::DoesNotApply(reason);
    }
    let mut player = Player::new(script.tolerance, ipv6);
    for step in &script.steps {
        match player.run(step) {
            Ok(()) => {}
            Err(Stop::DoesNotApply(reason)) => return Verdict::DoesNotApply(reason),
            Err(Stop::Differs(message)) => return Verdict::Differs(Difference { line: step.line, message }),
        }
    }
    Verdict::Passes(player.concessions)
}

/// Why a script ends early.
#[derive(Debug)]
enum Stop {
    DoesNotApply(String),
    Differs(String),
}

fn does_not_apply<T>(reason: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::DoesNotApply(reason.into()))
}

fn differs<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Differs(message.into()))
}

/// A socket of the host.
#[derive(Debug, Clone, Copy)]
struct Socket {
    mptcp: bool,
    blocking: bool,
    listens: bool,
    /// Index of its connection.
    connection: Option<usize>,
}

struct Player {
    now: Instant,
    /// Time of the step before.
    previous: Instant,
    tolerance: Duration,
    host: Host,
    sockets: BTreeMap<i128, Socket>,
    connections: Vec<Connection>,
    /// Segments that no step has taken yet.
    sent: VecDeque<Sent>,
    /// Connection and subflow of the last packet.
    current: Option<(usize, usize)>,
    addresses: BTreeMap<String, IpAddr>,
    keys: BTreeMap<String, u64>,
    concessions: BTreeSet<Concession>,
    /// The last packet that the endpoint sent as expected.
    last: Option<Packet>,
    /// The last such packet with a DATA_FIN.
    data_fin: Option<Packet>,
    steps: u32,
}

impl Player {
    fn new(tolerance: Duration, ipv6: bool) -> Self {
        Self {
            now: Instant::ZERO,
            previous: Instant::ZERO,
            tolerance,
            host: Host::new(ipv6),
            sockets: BTreeMap::new(),
            connections: Vec::new(),
            sent: VecDeque::new(),
            current: None,
            addresses: BTreeMap::new(),
            keys: BTreeMap::new(),
            concessions: BTreeSet::new(),
            last: None,
            data_fin: None,
            steps: 0,
        }
    }

    fn run(&mut self, step: &Step) -> Result<(), Stop> {
        let (earliest, latest) = match step.when {
            When::At(at) => (Instant::ZERO + at, Instant::ZERO + at),
            When::After(wait) => (self.previous + wait, self.previous + wait),
            When::Between(from, to) | When::Blocking(from, to) => (self.previous + from, self.previous + to),
            When::Any => (Instant::ZERO, self.now + LONGEST_WAIT),
        };
        if earliest.max(self.now) > Instant::ZERO + LONGEST_SCRIPT {
            return does_not_apply("a script of more than ten million seconds");
        }
        if let Action::Outbound(packet) = &step.action {
            return self.expect(packet, (earliest, latest));
        }
        self.advance(earliest.max(self.now))?;
        self.previous = self.now;
        match &step.action {
            Action::Call(call) => self.call(call, latest),
            Action::Inbound(packet) => self.inject(packet),
            Action::Shell(command) => self.shell(command),
            Action::Outbound(_) => Ok(()),
        }
    }

    fn shell(&mut self, command: &str) -> Result<(), Stop> {
        match self.host.run(command).map_err(Stop::DoesNotApply)? {
            Effect::None => {}
            Effect::Inspects => {
                self.concessions.insert(Concession::Inspection);
            }
            Effect::Removed(id) => {
                for connection in &mut self.connections {
                    connection.end.withdraw(&[id]);
                }
            }
        }
        self.drain()
    }

    /// Settings of an endpoint on this host.
    fn config(&self, mptcp: bool) -> Config {
        Config {
            mptcp,
            checksum: self.host.checksum,
            max_subflows: self.host.subflows.saturating_add(1),
            max_addresses: self.host.add_addr_accepted,
            mptcp_syns: self.host.mptcp_syn_retries.saturating_add(1),
            close_timeout: Some(self.host.close_timeout),
            recv_buffer: RECEIVE_BUFFER,
            autotune: None,
            delayed_ack: Duration::ZERO,
            ..Config::linux()
        }
    }

    /// Time of the next timer.
    fn next_timer(&self) -> Option<Instant> {
        self.connections.iter().filter_map(|connection| connection.end.poll_timeout()).min()
    }

    /// Runs the timers up to `to`.
    fn advance(&mut self, to: Instant) -> Result<(), Stop> {
        while let Some(next) = self.next_timer().filter(|&next| next <= to) {
            self.now = self.now.max(next);
            let now = self.now;
            for connection in &mut self.connections {
                if connection.end.poll_timeout().is_some_and(|at| at <= now) {
                    connection.end.handle_timeout(now);
                }
            }
            self.count_step()?;
            self.drain()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    fn count_step(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return differs(format!(
                "the endpoint has not come to rest after {MAX_STEPS} timers and segments"
            ));
        }
        Ok(())
    }

    /// Collects the segments and events of all endpoints.
    fn drain(&mut self) -> Result<(), Stop> {
        for index in 0..self.connections.len() {
            loop {
                while let Some((path, segment)) = self.connections[index].end.poll_transmit(self.now) {
                    self.count_step()?;
                    let flow = usize::from(path.0);
                    self.connections[index].record(flow, &segment);
                    self.sent.push_back(Sent { at: self.now, connection: index, flow, segment });
                }
                let Some(event) = self.connections[index].end.poll_event() else { break };
                self.handle_event(index, &event);
            }
        }
        Ok(())
    }

    fn handle_event(&mut self, index: usize, event: &Event) {
        let connection = &mut self.connections[index];
        match *event {
            Event::SubflowUp(_) => connection.up = true,
            Event::Connected(Mode::Mptcp) => self.manage_paths(index),
            Event::Failed(failure) => connection.failure = Some(failure),
            Event::PeerClosed => connection.peer_closed = true,
            Event::AddressAdded(_, ip, port) => {
                let (local, port) = (connection.flows[0].local, port.unwrap_or(SERVER_PORT));
                let is_new = connection.flows.iter().all(|flow| flow.remote != ip);
                if is_new && self.host.reaches(ip) {
                    self.join(index, (local, 0), (ip, port), false);
                }
            }
            _ => {}
        }
    }

    /// Announces the addresses of the host, and opens subflows from them.
    fn manage_paths(&mut self, index: usize) {
        let remote = self.connections[index].flows[0].remote;
        for address in self.host.addresses.clone() {
            if address.signal {
                self.connections[index].end.announce(address.id, address.ip, None);
            }
            if address.subflow {
                self.join(index, (address.ip, address.id), (remote, SERVER_PORT), address.backup);
            }
        }
    }

    /// Opens a further subflow of a client.
    fn join(&mut self, index: usize, local: (IpAddr, u8), remote: (IpAddr, u16), backup: bool) {
        let now = self.now;
        let connection = &mut self.connections[index];
        let Ok(number) = u8::try_from(connection.flows.len()) else { return };
        let ends = SubflowEnds {
            local_port: JOIN_PORT + u16::from(number),
            remote_port: remote.1,
            address_id: local.1,
        };
        if connection.end.open_between(now, PathId(number), ends, backup) {
            connection.flows.push(Flow::new(number, local.0, remote.0));
        }
    }
}
