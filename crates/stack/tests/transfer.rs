//! Transfers between two stacks.

use crate::network::{CLIENT, Network, SERVER, address};
use mptcp::{Config, Event, Mode, PathId};
use std::net::{IpAddr, SocketAddr};
use tandem_stack::{ConnectError, ConnectionId, Limits, StackEvent};
use units::{Duration, Instant};

const PORT: u16 = 5201;

fn connect(network: &mut Network, v6: bool, config: Config) -> ConnectionId {
    let remote = SocketAddr::new(address(v6, 0, SERVER), PORT);
    let now = network.now;
    network.stacks[CLIENT].connect(now, address(v6, 0, CLIENT), remote, config).expect("a free port")
}

#[test]
fn data_arrives_in_both_directions_over_both_families() {
    for v6 in [false, true] {
        for checksum in [false, true] {
            let config = Config { checksum, ..Config::linux() };
            let mut network = Network::new(v6, 1, Limits::default());
            network.to_write = [300_000, 500_000];
            network.loss = 0.01;
            network.stacks[SERVER].listen(PORT, config.clone());
            let id = connect(&mut network, v6, config);
            network.run_until(Instant::from_secs(30));
            for end in [CLIENT, SERVER] {
                network.check_received(end, 1);
            }
            let events = &network.peers[CLIENT][&id].events;
            assert!(events.contains(&StackEvent::Endpoint(Event::Connected(Mode::Mptcp))));
            assert!(events.contains(&StackEvent::Endpoint(Event::Closed)));
        }
    }
}

#[test]
fn address_that_denies_joins_is_not_joined() {
    // Flag C of MP_CAPABLE (RFC 8684, section 3.1).
    let mut network = Network::new(false, 2, Limits::default());
    network.stacks[SERVER].listen(PORT, Config { deny_join: true, ..Config::default() });
    network.to_write = [0, 2_000_000];
    let id = connect(&mut network, false, Config::default());
    let announced = address(false, 1, SERVER);
    network.run_until(network.now + Duration::from_millis(30));
    let server = *network.peers[SERVER].keys().next().expect("the server's connection");
    network.stacks[SERVER].update(server, |endpoint| endpoint.announce(2, announced, None));
    network.run_until(network.now + Duration::from_millis(30));
    let now = network.now;
    let mut join = |remote: IpAddr| {
        let remote = SocketAddr::new(remote, PORT);
        network.stacks[CLIENT].join(now, id, address(false, 1, CLIENT), remote, false)
    };
    assert_eq!(join(address(false, 0, SERVER)), Err(ConnectError::Limit));
    assert_eq!(join(announced), Ok(PathId(1)));
}

#[test]
fn joins_find_their_connection_by_token() {
    for v6 in [false, true] {
        let mut network = Network::new(v6, 3, Limits::default());
        network.stacks[SERVER].listen(PORT, Config::default());
        network.to_write = [0, 2_000_000];
        let ids = [0, 1].map(|_| connect(&mut network, v6, Config::default()));
        network.run_until(network.now + Duration::from_millis(30));
        for id in ids {
            for path in 1..3 {
                let remote = SocketAddr::new(address(v6, path, SERVER), PORT);
                let local = address(v6, path, CLIENT);
                let now = network.now;
                assert_eq!(network.stacks[CLIENT].join(now, id, local, remote, false), Ok(PathId(path)));
            }
        }
        network.run_until(Instant::from_secs(20));
        network.check_received(CLIENT, 2);
        for peer in network.peers[SERVER].values() {
            for path in 1..3 {
                assert!(peer.events.contains(&StackEvent::Endpoint(Event::SubflowUp(PathId(path)))));
            }
        }
    }
}

#[test]
fn thousand_connections_transfer_at_once_and_leave_nothing() {
    let mut network = Network::new(false, 1, Limits::default());
    network.stacks[SERVER].listen(PORT, Config::default());
    network.to_write = [1000, 20_000];
    for _ in 0..1000 {
        connect(&mut network, false, Config::default());
    }
    network.run_until(Instant::from_secs(30));
    for end in [CLIENT, SERVER] {
        network.check_received(end, 1000);
    }
    network.run_until(Instant::from_secs(200));
    assert!(network.stacks.iter().all(|stack| stack.is_empty() && stack.memory() == 0));
    assert!(network.stacks.iter().all(|stack| stack.poll_timeout().is_none()));
}

#[test]
fn unknown_port_resets_the_connection() {
    let mut network = Network::new(false, 1, Limits::default());
    let id = connect(&mut network, false, Config::default());
    network.run_until(Instant::from_secs(1));
    let events = &network.peers[CLIENT][&id].events;
    assert!(
        events
            .iter()
            .any(|event| matches!(event, StackEvent::Endpoint(Event::Failed(mptcp::Failure::Reset(_)))))
    );
    assert_eq!(network.stacks[SERVER].statistics().refused, 1);
    assert!(network.stacks[CLIENT].is_empty());
}
