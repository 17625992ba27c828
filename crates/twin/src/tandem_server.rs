//! Tandem's endpoint as the server, in virtual time.

use crate::End;
use crate::packet::{PORT, SERVER};
use crate::server::Server;
use mptcp::PathId;
use mptcp::{Config, Endpoint, Event};
use stack::{ConnectionId, Interface, Limits, Stack, StackEvent};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use units::{Instant, Seed};

/// Time between looks at the timers.
const STEP: Duration = Duration::from_millis(1);

pub(crate) struct TandemServer {
    stack: Stack,
    now: Instant,
    connections: BTreeMap<u16, Connection>,
    /// Packets that were not returned yet.
    sent: Vec<Vec<u8>>,
}

struct Connection {
    id: ConnectionId,
    read: Vec<u8>,
    end: End,
}

impl TandemServer {
    pub(crate) fn new(seed: Seed, checksum: bool) -> Self {
        let interface = Interface { addresses: vec![SERVER.into()], mtu: 1500 };
        let mut stack = Stack::new(vec![interface], Limits::default(), seed);
        stack.listen(PORT, Config { checksum, ..Config::linux() });
        Self { stack, now: Instant::ZERO, connections: BTreeMap::new(), sent: Vec::new() }
    }

    fn run_application(&mut self) {
        while let Some((id, event)) = self.stack.poll_event() {
            if let StackEvent::Accepted(_) = event
                && let Some(tuple) = self.stack.tuple(id, PathId(0))
            {
                let connection = Connection { id, read: Vec::new(), end: End::Open };
                self.connections.insert(tuple.remote.port(), connection);
            }
            let Some(connection) = self.connections.values_mut().find(|one| one.id == id) else { continue };
            while let Some(piece) = self.stack.read(id, usize::MAX) {
                connection.read.extend_from_slice(&piece);
            }
            match event {
                StackEvent::Endpoint(Event::PeerClosed) if connection.end == End::Open => {
                    connection.end = End::Eof;
                    self.stack.update(id, Endpoint::close);
                }
                StackEvent::Endpoint(Event::Failed(_)) if connection.end == End::Open => {
                    connection.end = End::Failed;
                    self.stack.release(id);
                }
                _ => {}
            }
        }
    }

    fn transmit(&mut self) {
        loop {
            while let Some(transmit) = self.stack.poll_transmit(self.now) {
                self.sent.push(transmit.packet.to_vec());
            }
            if !self.stack.has_event() {
                return;
            }
            self.run_application();
        }
    }
}

impl Server for TandemServer {
    type Error = Infallible;

    fn send(&mut self, packet: &[u8]) -> Result<(), Infallible> {
        self.stack.receive(self.now, 0, packet, false);
        self.transmit();
        Ok(())
    }

    fn wait(&mut self, time: Duration) -> Result<Vec<Vec<u8>>, Infallible> {
        let end = self.now + units::Duration::from_nanos(time.as_nanos() as u64);
        while self.now < end {
            self.now = (self.now + units::Duration::from_nanos(STEP.as_nanos() as u64)).min(end);
            self.stack.handle_timeout(self.now);
            self.transmit();
        }
        Ok(std::mem::take(&mut self.sent))
    }

    fn application(&self, port: u16) -> (&[u8], End) {
        self.connections.get(&port).map_or((&[], End::NotAccepted), |one| (&one.read, one.end))
    }
}
