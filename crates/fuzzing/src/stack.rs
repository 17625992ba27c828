//! Target of the network stack: hostile packets to a host with listeners and connections.

use crate::Dice;
use mptcp::{Config, Endpoint};
use stack::{Interface, Limits, Stack};
use std::net::{IpAddr, SocketAddr};
use units::{Duration, Instant, Seed};
use wire::{Ecn, ip};

const PORT: u16 = 443;
const LIMITS: Limits = Limits {
    connections: 16,
    per_peer: 5,
    half_open: 4,
    memory: 100_000,
    orphan_timeout: Duration::from_secs(60),
    read_ahead: 0,
};
/// Beyond its limit of memory a stack may hold a window for each connection.
const MAX_MEMORY: u64 = LIMITS.memory + (LIMITS.connections as u64) * 70_000;

fn address(v6: bool, path: u8, host: u8) -> IpAddr {
    if v6 {
        IpAddr::from([0xfd00, 0, 0, u16::from(path), 0, 0, 0, u16::from(host)])
    } else {
        IpAddr::from([10, 0, path, host])
    }
}

fn host(host: u8, seed: u64) -> Stack {
    let interface = |path| Interface {
        addresses: vec![address(false, path, host), address(true, path, host)],
        mtu: 1500,
    };
    let mut stack = Stack::new(vec![interface(0), interface(1)], LIMITS, Seed::new(seed));
    stack.listen(PORT, Config { recv_buffer: 65_536, send_buffer: 65_536, ..Config::linux() });
    stack
}

/// Fuzz target: two stacks, and packets between them that are lost, changed, repeated and forged.
pub fn stack(bytes: &[u8]) {
    let mut dice = Dice::from_bytes(bytes);
    let mut hosts = [host(1, 1), host(2, 2)];
    let mut now = Instant::ZERO;
    let mut known: Vec<Vec<u8>> = Vec::new();
    for _ in 0..400 {
        if dice.is_done() {
            break;
        }
        let end = dice.below(2) as usize;
        match dice.below(8) {
            0 => connect(now, &mut hosts, end, &mut dice),
            1 => now += Duration::from_millis(dice.below(2000)),
            2 if !known.is_empty() => {
                // An old packet, changed in some bytes, with a valid checksum or without.
                let i = dice.below(known.len() as u64) as usize;
                let mut packet = known[i].clone();
                for _ in 0..dice.below(4) {
                    let at = dice.below(packet.len().max(1) as u64) as usize;
                    if let Some(byte) = packet.get_mut(at) {
                        *byte = dice.below(256) as u8;
                    }
                }
                let interface = dice.below(3) as usize;
                hosts[end].receive(now, interface, &packet, dice.below(4) > 0);
            }
            3 => {
                let packet = forge(&mut dice);
                hosts[end].receive(now, 0, &packet, true);
            }
            4 => apply(now, &mut hosts[end], &mut dice),
            _ => {}
        }
        exchange(now, &mut hosts, &mut known, &mut dice);
        for host in &mut hosts {
            host.handle_timeout(now);
            assert!(host.len() <= LIMITS.connections && host.half_open() <= LIMITS.half_open);
            for (v6, path, other) in
                [(false, 0, 1), (false, 1, 1), (false, 0, 2), (false, 1, 2), (true, 0, 1), (true, 1, 1)]
            {
                assert!(host.opened_by(address(v6, path, other)) <= LIMITS.per_peer);
            }
            assert!(host.memory() <= MAX_MEMORY, "{} bytes held", host.memory());
        }
    }
}

fn connect(now: Instant, hosts: &mut [Stack; 2], end: usize, dice: &mut Dice<'_>) {
    let (v6, path) = (dice.below(2) == 1, dice.below(2) as u8);
    let remote = SocketAddr::new(address(v6, path, 2 - end as u8), PORT);
    _ = hosts[end].connect(now, address(v6, path, 1 + end as u8), remote, Config::linux());
}

/// A TCP segment of random bytes from a plausible address.
fn forge(dice: &mut Dice<'_>) -> Vec<u8> {
    let (v6, len) = (dice.below(2) == 1, 20 + dice.below(80) as usize);
    let mut packet = Vec::new();
    let (from, to) = (address(v6, 0, 2), address(v6, 0, 1));
    if ip::emit_header((from, to), ip::TCP, Ecn::NotEct, len, &mut packet).is_ok() {
        packet.extend((0..len).map(|_| dice.below(256) as u8));
    }
    packet
}

/// Calls of an application on one of the connections.
fn apply(now: Instant, host: &mut Stack, dice: &mut Dice<'_>) {
    while let Some((id, _)) = host.poll_event() {
        match dice.below(6) {
            0 => _ = host.write(id, &bytes::Bytes::from(vec![1; dice.below(20_000) as usize])),
            1 => while host.read(id, 1000).is_some() {},
            2 => _ = host.update(id, Endpoint::close),
            3 if dice.below(2) == 0 => host.release(id),
            3 => host.abandon(now, id),
            4 => {
                let (local, remote) = (address(false, 1, 1), SocketAddr::new(address(false, 1, 2), PORT));
                _ = host.join(now, id, local, remote, false);
            }
            _ => _ = host.update(id, |endpoint| endpoint.check().expect("the invariants hold")),
        }
    }
}

/// Delivers the packets of both hosts, of which some are lost.
fn exchange(now: Instant, hosts: &mut [Stack; 2], known: &mut Vec<Vec<u8>>, dice: &mut Dice<'_>) {
    for _ in 0..50 {
        let mut idle = true;
        for end in [0, 1] {
            let mut packets = Vec::new();
            while let Some(transmit) = hosts[end].poll_transmit(now) {
                packets.push((transmit.interface, transmit.packet.to_vec()));
            }
            for (interface, packet) in packets {
                idle = false;
                if dice.below(16) != 1 {
                    hosts[1 - end].receive(now, interface, &packet, false);
                }
                if known.len() < 64 {
                    known.push(packet);
                }
            }
        }
        if idle {
            break;
        }
    }
}
