//! Many connections of Tandem's stack, served by one thread.

use super::{CrowdSetup, Shared};
use crate::crowd::exchange::Exchange;
use crate::host::PORT;
use crate::network::{client_address, server_address, stack_interfaces};
use bytes::Bytes;
use linux::Error;
use linux::clock::Clock;
use linux::tun::Tun;
use mptcp::{Config, Endpoint, Event, Mode};
use stack::{ConnectionId, Driver, Entropy, Limits, Stack, StackEvent};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use units::Duration;

/// Longest wait for packets, in which the thread does not notice that all connections are open.
const MAX_WAIT: Duration = Duration::from_millis(5);

/// Sets up the stack, and returns the far ends of its devices.
pub(super) fn start(setup: CrowdSetup<'_>) -> Result<(Driver, Vec<Tun>), Error> {
    let interfaces = stack_interfaces(setup.host.v6, 1, setup.host.is_client);
    let mut stack = Stack::new(interfaces, Limits::default(), Entropy::System);
    if !setup.host.is_client {
        stack.listen(PORT, Config::linux());
    }
    Driver::wired("tandem", stack, Clock::start())
}

/// Opens or accepts the connections in a thread of their own.
pub(super) fn run(
    mut driver: Driver,
    setup: CrowdSetup<'_>,
    shared: &Shared,
) -> Result<JoinHandle<()>, Error> {
    let mut crowd = StackCrowd { shared: shared.clone(), exchanges: BTreeMap::new(), all_open: false };
    if setup.host.is_client {
        let remote = SocketAddr::new(server_address(setup.host.v6), PORT);
        for number in 0..setup.connections {
            let (now, local) = (driver.now(), client_address(setup.host.v6, 0));
            let connected = driver.stack().connect(now, local, remote, Config::linux());
            let id = connected.map_err(|error| Error::system("connect", io::Error::other(error)))?;
            crowd.exchanges.insert(id, (Exchange::client(number), false));
        }
    }
    Ok(std::thread::spawn(move || {
        while !crowd.shared.is_stopped() {
            if let Err(error) = driver.step(MAX_WAIT) {
                crowd.shared.fail(error.to_string());
                return;
            }
            crowd.step(driver.stack());
        }
    }))
}

struct StackCrowd {
    shared: Shared,
    /// Each with a flag: it was counted as finished.
    exchanges: BTreeMap<ConnectionId, (Exchange, bool)>,
    all_open: bool,
}

impl StackCrowd {
    fn step(&mut self, stack: &mut Stack) {
        while let Some((id, event)) = stack.poll_event() {
            match event {
                StackEvent::Accepted(_) => {
                    self.exchanges.insert(id, (Exchange::server(), false));
                    self.shared.count_open();
                }
                StackEvent::Endpoint(Event::Connected(Mode::Tcp)) => {
                    self.shared.fail("a connection uses plain TCP".to_owned());
                }
                StackEvent::Endpoint(Event::Failed(failure)) => self.shared.fail(format!("{failure:?}")),
                _ => {}
            }
            self.serve(stack, id, event == StackEvent::Endpoint(Event::PeerClosed));
        }
        if !self.all_open && self.shared.all_open() {
            self.all_open = true;
            let ids: Vec<ConnectionId> = self.exchanges.keys().copied().collect();
            for id in ids {
                self.serve(stack, id, false);
            }
        }
    }

    fn serve(&mut self, stack: &mut Stack, id: ConnectionId, ends: bool) {
        let Some((exchange, is_counted)) = self.exchanges.get_mut(&id) else { return };
        while let Some(piece) = stack.read(id, usize::MAX) {
            exchange.receive(&piece);
        }
        if ends {
            exchange.on_end();
        }
        loop {
            let pending = exchange.pending(self.all_open);
            let taken = if pending.is_empty() { 0 } else { stack.write(id, &Bytes::from(pending)) };
            if taken == 0 {
                break;
            }
            exchange.on_sent(taken);
        }
        if exchange.closes() {
            stack.update(id, Endpoint::close);
        }
        if !*is_counted {
            *is_counted = self.shared.count_finished(exchange);
        }
    }
}
