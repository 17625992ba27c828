//! State of a host: its driver, and the sockets of its connections.

use super::paths::{LocalPaths, SubflowSample};
use super::sender_rules::SenderRules;
use super::{Observer, connect_error};
use crate::{ConnectionId, Driver, OpenSubflow, StackEvent};
use mptcp::{Config, Event, Failure, Mode};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar};
use units::{Duration, Instant};

/// Number of the backlog of connections to ports without a listener of their own.
pub(super) const EVERY_PORT: u16 = 0;
/// Most connections of a listener that wait to be accepted; further ones are reset.
const BACKLOG: usize = 128;

/// A connection as its socket sees it.
#[derive(Debug, Default)]
pub(super) struct SocketState {
    /// `None` before the handshake is complete.
    pub(super) mode: Option<Mode>,
    /// The peer sends no more data.
    pub(super) has_end: bool,
    /// Both ends have closed.
    pub(super) is_closed: bool,
    pub(super) failure: Option<Failure>,
    /// The application sends no more data.
    pub(super) is_write_closed: bool,
    /// Bytes read by the application.
    pub(super) read: u64,
    /// Notified of every event.
    pub(super) changed: Arc<Condvar>,
}

impl SocketState {
    /// The error of a connection that has failed.
    pub(super) fn error(&self) -> Option<io::Error> {
        let kind = match self.failure? {
            Failure::Reset(_) | Failure::FastClose => ErrorKind::ConnectionReset,
            Failure::TimedOut => ErrorKind::TimedOut,
            Failure::Aborted => ErrorKind::ConnectionAborted,
            _ => ErrorKind::BrokenPipe,
        };
        Some(kind.into())
    }
}

/// Connections that wait to be accepted.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) waiting: VecDeque<ConnectionId>,
    pub(super) changed: Arc<Condvar>,
}

pub(super) struct State {
    pub(super) driver: Driver,
    pub(super) paths: LocalPaths,
    pub(super) rules: SenderRules,
    pub(super) sockets: BTreeMap<ConnectionId, SocketState>,
    pub(super) backlogs: BTreeMap<u16, Backlog>,
    pub(super) priorities_heard: u64,
    observer: Option<Observer>,
    /// Time at which the thread wakes up by itself.
    wakes_at: Instant,
    /// The thread has ended, perhaps in the middle of a change.
    pub(super) has_ended: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("driver", &self.driver)
            .field("sockets", &self.sockets)
            .finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn new(driver: Driver, paths: LocalPaths, observer: Option<Observer>) -> Self {
        Self {
            driver,
            paths,
            rules: SenderRules::default(),
            sockets: BTreeMap::new(),
            backlogs: BTreeMap::new(),
            priorities_heard: 0,
            observer,
            wakes_at: Instant::ZERO,
            has_ended: false,
        }
    }

    /// Handles all due packets and timers. Returns the time until the next timer; zero if more
    /// packets may wait.
    pub(super) fn step(&mut self) -> Duration {
        let read = self.driver.poll();
        let now = self.driver.now();
        if self.paths.next().is_some_and(|at| at <= now) {
            self.paths.rejoin(now, self.driver.stack());
        }
        self.settle();
        if read > 0 {
            return Duration::ZERO;
        }
        self.wakes_at = self.next_timeout();
        self.wakes_at.since(self.driver.now())
    }

    fn next_timeout(&self) -> Instant {
        self.driver.next_timeout().into_iter().chain(self.paths.next()).min().unwrap_or(Instant::MAX)
    }

    /// Sends what there is to send, and handles all events. Returns true if a timer is due before
    /// the thread wakes up by itself.
    pub(super) fn settle(&mut self) -> bool {
        loop {
            self.driver.transmit();
            let Some((id, event)) = self.driver.stack().poll_event() else { break };
            self.on_event(id, event);
        }
        self.next_timeout() < self.wakes_at
    }

    fn on_event(&mut self, id: ConnectionId, event: StackEvent) {
        match event {
            StackEvent::Accepted(port) => {
                let port = if self.backlogs.contains_key(&port) { port } else { EVERY_PORT };
                let Some(backlog) = self.backlogs.get_mut(&port) else {
                    return self.driver.stack().release(id);
                };
                if backlog.waiting.len() >= BACKLOG {
                    return self.driver.stack().release(id);
                }
                backlog.waiting.push_back(id);
                backlog.changed.notify_all();
                self.sockets.insert(id, SocketState::default());
            }
            StackEvent::Readable | StackEvent::Writable => {}
            StackEvent::Endpoint(event) => self.on_endpoint_event(id, &event),
        }
        if let Some(socket) = self.sockets.get(&id) {
            socket.changed.notify_all();
        }
    }

    fn on_endpoint_event(&mut self, id: ConnectionId, event: &Event) {
        if let Some(observer) = &mut self.observer {
            observer(id, event);
        }
        let now = self.driver.now();
        self.paths.on_event(now, self.driver.stack(), id, event);
        if matches!(event, Event::Connected(_) | Event::SubflowUp(_)) {
            self.rules.apply(self.driver.stack(), id);
        }
        self.priorities_heard += u64::from(matches!(event, Event::Priority(..)));
        if matches!(event, Event::Failed(_)) {
            self.forget_unaccepted(id);
        }
        let Some(socket) = self.sockets.get_mut(&id) else { return };
        match event {
            Event::Connected(mode) => socket.mode = Some(*mode),
            Event::PeerClosed => socket.has_end = true,
            Event::Closed => socket.is_closed = true,
            Event::Failed(failure) => socket.failure = Some(*failure),
            _ => {}
        }
    }

    pub(super) fn connect(
        &mut self,
        now: Instant,
        interface: Option<usize>,
        remote: SocketAddr,
        config: Arc<Config>,
    ) -> io::Result<ConnectionId> {
        if self.has_ended {
            return Err(ErrorKind::ConnectionAborted.into());
        }
        let local = self.paths.first_usable(interface).ok_or(ErrorKind::NetworkUnreachable)?;
        let id = self.driver.stack().connect(now, local, remote, config).map_err(connect_error)?;
        self.paths.add(id, remote, interface);
        self.sockets.insert(id, SocketState::default());
        Ok(id)
    }

    /// Ends the use of a socket, as `close` does on Linux: written data is still delivered, and
    /// data that was not read resets the connection.
    pub(super) fn close(&mut self, id: ConnectionId) {
        self.sockets.remove(&id);
        if !self.has_ended {
            let now = self.driver.now();
            self.driver.stack().abandon(now, id);
        }
    }

    /// Releases a connection that has failed before it was accepted.
    fn forget_unaccepted(&mut self, id: ConnectionId) {
        for backlog in self.backlogs.values_mut() {
            if let Some(at) = backlog.waiting.iter().position(|&waiting| waiting == id) {
                backlog.waiting.remove(at);
                self.sockets.remove(&id);
                self.driver.stack().release(id);
                return;
            }
        }
    }

    pub(super) fn subflows(&mut self) -> Vec<SubflowSample> {
        let mut all = Vec::new();
        let stack = self.driver.stack();
        for (&id, socket) in &self.sockets {
            let Some(endpoint) = stack.endpoint(id) else { continue };
            let sends = endpoint.written() > socket.read;
            let sample = |one: OpenSubflow| {
                Some(SubflowSample { tuple: one.tuple, info: endpoint.subflow(one.path)?, sends })
            };
            all.extend(stack.subflows(id).filter_map(sample));
        }
        all
    }

    /// The thread has ended: all connections fail.
    pub(super) fn fail(&mut self) {
        self.has_ended = true;
        for socket in self.sockets.values_mut() {
            socket.failure.get_or_insert(Failure::Aborted);
            socket.changed.notify_all();
        }
    }
}
