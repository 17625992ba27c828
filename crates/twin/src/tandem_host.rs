//! Tandem's endpoint under attack, in virtual time.

use crate::End;
use crate::linux_host::MAX_JOINS;
use crate::packet::{PEER, PORT, VICTIM};
use crate::victim::Victim;
use mptcp::PathId;
use mptcp::{Config, Endpoint, Event};
use stack::{ConnectionId, Interface, Limits, Stack, StackEvent};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use units::{Instant, Seed};

/// Time between looks at the timers.
const STEP: Duration = Duration::from_millis(1);

pub(crate) struct TandemHost {
    stack: Stack,
    now: Instant,
    config: Config,
    connections: BTreeMap<u16, Connection>,
    /// Packets that were not returned yet.
    sent: Vec<Vec<u8>>,
}

struct Connection {
    id: ConnectionId,
    read: Vec<u8>,
    end: End,
}

impl TandemHost {
    pub(crate) fn new(seed: Seed, checksum: bool) -> Self {
        let interface = Interface { addresses: vec![VICTIM.into()], mtu: 1500 };
        let mut stack = Stack::new(vec![interface], Limits::default(), seed);
        let config =
            Config { checksum, max_addresses: MAX_JOINS, max_subflows: 1 + MAX_JOINS, ..Config::linux() };
        stack.listen(PORT, Config { checksum, ..Config::linux() });
        Self { stack, config, now: Instant::ZERO, connections: BTreeMap::new(), sent: Vec::new() }
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
                StackEvent::Endpoint(Event::SubflowUp(PathId(0))) if connection.end == End::NotAccepted => {
                    connection.end = End::Open;
                }
                StackEvent::Endpoint(Event::AddressAdded(_, address, port)) => {
                    if let Some(first) = self.stack.tuple(id, PathId(0)) {
                        let remote = (address, port.unwrap_or(first.remote.port())).into();
                        _ = self.stack.join(self.now, id, VICTIM.into(), remote, false);
                    }
                }
                StackEvent::Endpoint(Event::PeerClosed) if connection.end == End::Open => {
                    connection.end = End::Eof;
                    self.stack.update(id, Endpoint::close);
                }
                StackEvent::Endpoint(Event::Failed(_))
                    if matches!(connection.end, End::Open | End::NotAccepted) =>
                {
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

impl Victim for TandemHost {
    type Error = Infallible;

    fn open(&mut self, ports: &[u16]) -> Result<(), Infallible> {
        for &port in ports {
            let remote = (PEER, port).into();
            if let Ok(id) = self.stack.connect(self.now, VICTIM.into(), remote, self.config.clone()) {
                self.connections.insert(port, Connection { id, read: Vec::new(), end: End::NotAccepted });
            }
        }
        self.transmit();
        Ok(())
    }

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
