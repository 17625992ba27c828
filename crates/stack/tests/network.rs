//! Two stacks and a network with delay and loss between their interfaces, in virtual time.

use bytes::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tandem_stack::{ConnectionId, Interface, Limits, Stack, StackEvent};
use units::{Duration, Instant, Rng, Seed};

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// Address of an end on a path.
pub(crate) fn address(v6: bool, path: u8, end: usize) -> IpAddr {
    let host = end as u8 + 1;
    if v6 {
        Ipv6Addr::new(0xfd00, u16::from(path), 0, 0, 0, 0, 0, u16::from(host)).into()
    } else {
        Ipv4Addr::new(10, 0, path, host).into()
    }
}

/// An application that echoes nothing: it writes so much, and reads all.
#[derive(Debug, Default)]
pub(crate) struct Peer {
    pub(crate) to_write: u64,
    pub(crate) written: u64,
    pub(crate) read: Vec<u8>,
    pub(crate) events: Vec<StackEvent>,
}

pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) stacks: [Stack; 2],
    pub(crate) peers: [BTreeMap<ConnectionId, Peer>; 2],
    /// Bytes that each end writes to a connection before it closes it.
    pub(crate) to_write: [u64; 2],
    /// Applications read their data.
    pub(crate) reads: bool,
    pub(crate) loss: f64,
    delay: Duration,
    rng: Rng,
    in_flight: VecDeque<(Instant, usize, usize, Vec<u8>)>,
}

/// Byte of every stream at an offset.
pub(crate) fn byte_at(offset: u64) -> u8 {
    (offset.wrapping_mul(0x9e37_79b9) >> 16) as u8
}

impl Network {
    pub(crate) fn new(v6: bool, paths: u8, limits: Limits) -> Self {
        let interfaces = |end| {
            (0..paths).map(|path| Interface { addresses: vec![address(v6, path, end)], mtu: 1500 }).collect()
        };
        Self {
            now: Instant::ZERO,
            stacks: [CLIENT, SERVER].map(|end| {
                Stack::new(interfaces(end), limits, Seed::new(7).derive(["client", "server"][end]))
            }),
            peers: Default::default(),
            to_write: [0, 0],
            reads: true,
            loss: 0.0,
            delay: Duration::from_millis(5),
            rng: Seed::new(3).rng("network"),
            in_flight: VecDeque::new(),
        }
    }

    /// Sends, delivers and handles timers until `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        loop {
            self.drain();
            let timeouts = self.stacks.iter().filter_map(Stack::poll_timeout);
            let arrival = self.in_flight.front().map(|packet| packet.0);
            let Some(next) = timeouts.chain(arrival).min().filter(|&at| at <= end) else { break };
            self.now = self.now.max(next);
            while self.in_flight.front().is_some_and(|packet| packet.0 <= self.now) {
                let Some((_, to, interface, packet)) = self.in_flight.pop_front() else { break };
                self.stacks[to].receive(self.now, interface, &packet, false);
                self.drain();
            }
            for stack in &mut self.stacks {
                stack.handle_timeout(self.now);
            }
        }
        self.now = end;
    }

    fn drain(&mut self) {
        loop {
            let mut idle = true;
            for end in [CLIENT, SERVER] {
                while let Some(transmit) = self.stacks[end].poll_transmit(self.now) {
                    idle = false;
                    if self.rng.unit() >= self.loss {
                        let at = self.now + self.delay;
                        self.in_flight.push_back((at, 1 - end, transmit.interface, transmit.packet.to_vec()));
                    }
                }
                while let Some((id, event)) = self.stacks[end].poll_event() {
                    idle = false;
                    self.on_event(end, id, event);
                }
            }
            if idle {
                return;
            }
        }
    }

    fn on_event(&mut self, end: usize, id: ConnectionId, event: StackEvent) {
        let to_write = self.to_write[end];
        let peer = self.peers[end].entry(id).or_insert_with(|| Peer { to_write, ..Peer::default() });
        peer.events.push(event);
        let stack = &mut self.stacks[end];
        while self.reads
            && let Some(piece) = stack.read(id, usize::MAX)
        {
            peer.read.extend_from_slice(&piece);
        }
        while peer.written < peer.to_write {
            let len = (peer.to_write - peer.written).min(16_384);
            let data: Bytes = (peer.written..peer.written + len).map(byte_at).collect();
            let taken = stack.write(id, &data) as u64;
            peer.written += taken;
            if taken < len {
                return;
            }
        }
        stack.update(id, mptcp::Endpoint::close);
    }

    /// Checks that each connection of `end` received exactly the bytes of its peer.
    pub(crate) fn check_received(&self, end: usize, count: usize) {
        assert_eq!(self.peers[end].len(), count);
        for peer in self.peers[end].values() {
            assert_eq!(peer.read.len() as u64, self.to_write[1 - end], "{:?}", peer.events);
            assert!(peer.read.iter().enumerate().all(|(i, &byte)| byte == byte_at(i as u64)));
        }
    }
}
