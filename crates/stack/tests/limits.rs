//! Limits of connections, half-open connections and memory.

use crate::network::{CLIENT, Network, SERVER, address};
use bytes::Bytes;
use mptcp::{Config, Endpoint, Event, Failure, Mode, PathId};
use std::net::{IpAddr, SocketAddr};
use tandem_stack::{ConnectError, ConnectionId, Interface, Limits, Stack, StackEvent};
use units::{Instant, Seed};
use wire::{Dss, Flags, MptcpSignal, Segment, TimestampOption, ip, tcp};

const PORT: u16 = 5201;
const UNREAD_BYTES: u64 = 20_000;
/// Memory that counts for each piece beside its bytes.
const PIECE_OVERHEAD: u64 = 128;

/// A packet from a client that sends only SYNs.
fn syn(port: u16) -> Vec<u8> {
    segment(port, 1, Flags::SYN)
}

fn segment(port: u16, seq: u32, flags: Flags) -> Vec<u8> {
    packet(address(false, 0, CLIENT), &Segment::new((port, PORT), seq, 0, flags, 1000))
}

fn packet(from: IpAddr, segment: &Segment<Bytes>) -> Vec<u8> {
    let (to, mut packet) = (address(false, 0, SERVER), Vec::new());
    ip::emit_header((from, to), ip::TCP, segment.ecn, segment.wire_len(), &mut packet).expect("one family");
    tcp::emit(segment, from, to, &segment.payload, &mut packet).expect("it fits");
    packet
}

fn server(limits: Limits) -> Stack {
    let interfaces = vec![Interface { addresses: vec![address(false, 0, SERVER)], mtu: 1500 }];
    let mut stack = Stack::new(interfaces, limits, Seed::new(1));
    stack.listen(PORT, Config::default());
    stack
}

fn answers(stack: &mut Stack) -> usize {
    core::iter::from_fn(|| stack.poll_transmit(Instant::ZERO).map(drop)).count()
}

#[test]
fn newest_half_open_connections_stay() {
    let mut stack = server(Limits { half_open: 10, ..Limits::default() });
    for port in 1..=1000 {
        stack.receive(Instant::ZERO, 0, &syn(port), false);
        assert_eq!(answers(&mut stack), 1);
    }
    assert_eq!((stack.half_open(), stack.len()), (10, 10));
    assert_eq!(stack.statistics().half_open_dropped, 990);
    assert!(stack.poll_event().is_none(), "no application learns of them");
}

#[test]
fn connections_beyond_the_limit_are_ignored_or_refused() {
    let mut stack = server(Limits { connections: 5, ..Limits::default() });
    for port in 1..=10 {
        stack.receive(Instant::ZERO, 0, &syn(port), false);
    }
    assert_eq!((stack.len(), answers(&mut stack)), (5, 5));
    let remote = SocketAddr::new(address(false, 0, CLIENT), 9);
    let result = stack.connect(Instant::ZERO, address(false, 0, SERVER), remote, Config::default());
    assert_eq!(result, Err(ConnectError::Limit));
}

#[test]
fn connections_of_one_peer_leave_places_for_others() {
    let mut stack = server(Limits { connections: 10, per_peer: 3, ..Limits::default() });
    let peer = address(false, 0, CLIENT);
    for port in 1..=3 {
        open_tcp(&mut stack, port);
    }
    stack.receive(Instant::ZERO, 0, &syn(4), false);
    assert_eq!((stack.opened_by(peer), answers(&mut stack)), (3, 0), "the peer tries again later");
    let opening = Segment::new((5, PORT), 1, 0, Flags::SYN, 1000);
    stack.receive(Instant::ZERO, 0, &packet(address(false, 0, 7), &opening), false);
    assert_eq!((stack.len(), answers(&mut stack)), (4, 1));
    // An end of one of them makes room.
    stack.receive(Instant::ZERO, 0, &segment(2, 1, Flags::RST), false);
    answers(&mut stack);
    stack.receive(Instant::ZERO, 0, &syn(4), false);
    assert_eq!((stack.opened_by(peer), answers(&mut stack)), (3, 1));
}

#[test]
fn half_open_connection_of_a_peer_gives_way_to_its_next_one() {
    let mut stack = server(Limits { per_peer: 3, ..Limits::default() });
    open_tcp(&mut stack, 1);
    for port in 2..=100 {
        stack.receive(Instant::ZERO, 0, &syn(port), false);
        assert_eq!(answers(&mut stack), 1);
    }
    assert_eq!((stack.len(), stack.half_open(), stack.statistics().half_open_dropped), (3, 2, 97));
}

#[test]
fn port_of_an_ended_subflow_opens_a_new_connection() {
    let mut stack = server(Limits::default());
    stack.receive(Instant::ZERO, 0, &syn(7), false);
    assert_eq!((answers(&mut stack), stack.len()), (1, 1));
    stack.receive(Instant::ZERO, 0, &segment(7, 2, Flags::RST), false);
    stack.receive(Instant::ZERO, 0, &syn(7), false);
    assert_eq!(answers(&mut stack), 1, "a SYN/ACK");
}

/// Opens a connection from port 7 at sequence number 0, with timestamps if there is a `clock`, and closes it
/// from the server. It is in TIME-WAIT then.
fn server_in_time_wait(clock: Option<u32>) -> Stack {
    let mut stack = server(Limits::default());
    let mut from_client = |seq, ack, flags| {
        let mut segment = Segment::<Bytes>::new((7, PORT), seq, ack, flags, 1000);
        segment.timestamps = clock.map(|value| TimestampOption { value, echo: 0 });
        stack.receive(Instant::ZERO, 0, &packet(address(false, 0, CLIENT), &segment), false);
        let answer = stack.poll_transmit(Instant::ZERO).map(|transmit| transmit.packet.to_vec());
        while let Some((id, _)) = stack.poll_event() {
            stack.update(id, Endpoint::close);
        }
        answer
    };
    let answer = from_client(0, 0, Flags::SYN).expect("a SYN/ACK");
    let answer = tcp::parse(ip::parse(&answer).expect("a packet").payload).expect("a segment");
    let next = answer.seq.wrapping_add(1);
    from_client(1, next, Flags::ACK);
    from_client(1, next, Flags::ACK);
    from_client(1, next.wrapping_add(1), Flags::ACK.with(Flags::FIN));
    stack
}

#[test]
fn time_wait_gives_way_only_to_a_later_syn() {
    // The client's FIN was number 1.
    for (clocks, seq, is_accepted) in [
        (None, 2, true),
        (None, 1, false),
        (None, u32::MAX, false),
        (Some((1000, 1000)), 2, true),
        (Some((1000, 1000)), 1, false),
        (Some((1000, 1001)), 1, true),
        (Some((1000, 999)), 2, false),
    ] {
        let mut stack = server_in_time_wait(clocks.map(|(first, _)| first));
        answers(&mut stack);
        let mut syn = Segment::<Bytes>::new((7, PORT), seq, 0, Flags::SYN, 1000);
        syn.timestamps = clocks.map(|(_, value)| TimestampOption { value, echo: 0 });
        stack.receive(Instant::ZERO, 0, &packet(address(false, 0, CLIENT), &syn), false);
        let answer = stack.poll_transmit(Instant::ZERO).expect("an answer").packet.to_vec();
        let answer = tcp::parse(ip::parse(&answer).expect("a packet").payload).expect("a segment");
        assert_eq!(answer.flags.has(Flags::SYN), is_accepted, "{clocks:?} {seq}");
        assert_eq!(answer.ack, if is_accepted { seq.wrapping_add(1) } else { 2 }, "{clocks:?} {seq}");
        assert_eq!((stack.len(), stack.half_open()), (1, usize::from(is_accepted)));
    }
}

/// A server with unread data of a connection that has ended, and the connection.
fn server_with_unread_data(limits: Limits) -> (Network, ConnectionId) {
    let mut network = Network::new(false, 1, limits);
    network.stacks[SERVER].listen(PORT, Config::default());
    (network.to_write, network.reads) = ([UNREAD_BYTES, 0], false);
    connect(&mut network);
    network.run_until(Instant::from_secs(5));
    let id = *network.peers[SERVER].keys().next().expect("an accepted connection");
    assert!(network.stacks[SERVER].endpoint(id).is_some_and(Endpoint::is_closed));
    (network, id)
}

fn connect(network: &mut Network) {
    let remote = SocketAddr::new(address(false, 0, SERVER), PORT);
    let (now, local) = (network.now, address(false, 0, CLIENT));
    network.stacks[CLIENT].connect(now, local, remote, Config::default()).expect("room");
}

fn read_all(stack: &mut Stack, id: ConnectionId) -> u64 {
    core::iter::from_fn(|| stack.read(id, usize::MAX)).map(|piece| piece.len() as u64).sum()
}

#[test]
fn unread_data_of_an_ended_connection_is_not_lost_for_a_new_one() {
    let (mut network, id) = server_with_unread_data(Limits { connections: 1, ..Limits::default() });
    connect(&mut network);
    network.run_until(Instant::from_millis(5100));
    assert_eq!(read_all(&mut network.stacks[SERVER], id), UNREAD_BYTES);
    // Then it gives way.
    network.run_until(Instant::from_secs(20));
    assert!(network.peers[SERVER].len() == 2, "the client has tried again");
}

#[test]
fn forged_syn_does_not_discard_unread_data() {
    let (mut network, id) = server_with_unread_data(Limits::default());
    let tuple = network.stacks[SERVER].tuple(id, PathId(0)).expect("its first subflow");
    let now = network.now;
    network.stacks[SERVER].receive(now, 0, &syn(tuple.remote.port()), false);
    network.run_until(Instant::from_secs(6));
    assert_eq!(read_all(&mut network.stacks[SERVER], id), UNREAD_BYTES);
}

#[test]
fn foreign_addresses_and_wrong_checksums_are_dropped() {
    let mut stack = server(Limits::default());
    let mut wrong = syn(1);
    wrong[36] ^= 1;
    stack.receive(Instant::ZERO, 0, &wrong, false);
    assert_eq!((stack.statistics().invalid, stack.len()), (1, 0));
    stack.receive(Instant::ZERO, 0, &wrong, true);
    assert_eq!(stack.len(), 1, "the device has verified it");
    stack.receive(Instant::ZERO, 1, &syn(2), false);
    assert_eq!(stack.len(), 1, "another interface has the address");
}

#[test]
fn own_address_as_a_source_and_syn_with_fin_open_nothing() {
    let mut stack = server(Limits::default());
    let own = address(false, 0, SERVER);
    let syn = Segment::<Bytes>::new((1, PORT), 1, 0, Flags::SYN, 1000);
    stack.receive(Instant::ZERO, 0, &packet(own, &syn), false);
    stack.receive(Instant::ZERO, 0, &segment(2, 1, Flags::SYN.with(Flags::FIN)), false);
    assert_eq!(stack.len(), 0);
}

/// Opens a connection of Multipath TCP. Returns its first segment after the handshake, without data.
fn open_mptcp(stack: &mut Stack) -> Segment<Bytes> {
    let client = address(false, 0, CLIENT);
    let capable = |sender_key, receiver_key| {
        Some(MptcpSignal::Capable {
            version: 1,
            checksum: false,
            deny_join: false,
            hmac_sha256: true,
            extension: false,
            sender_key,
            receiver_key,
            data: None,
        })
    };
    let mut syn = Segment::<Bytes>::new((7, PORT), 0, 0, Flags::SYN, 1000);
    syn.signal = capable(None, None);
    stack.receive(Instant::ZERO, 0, &packet(client, &syn), false);
    let answer = stack.poll_transmit(Instant::ZERO).expect("a SYN/ACK").packet.to_vec();
    let answer = tcp::parse(ip::parse(&answer).expect("a packet").payload).expect("a segment");
    let Some(MptcpSignal::Capable { sender_key, .. }) = answer.signal else { panic!("{answer:?}") };
    let mut ack = Segment::<Bytes>::new((7, PORT), 1, answer.seq.wrapping_add(1), Flags::ACK, 1000);
    ack.signal = capable(Some(5), sender_key);
    stack.receive(Instant::ZERO, 0, &packet(client, &ack), false);
    (ack.signal, ack.dss) = (None, Some(Dss { data_ack: Some(0), ..Dss::default() }));
    ack
}

#[test]
fn data_without_a_mapping_counts_as_memory() {
    let mut stack = server(Limits::default());
    let client = address(false, 0, CLIENT);
    let mut ack = open_mptcp(&mut stack);
    // Beyond a gap of the subflow, so that no timer gives it up.
    (ack.seq, ack.payload) = (1001, Bytes::from(vec![0; 700]));
    stack.receive(Instant::ZERO, 0, &packet(client, &ack), false);
    answers(&mut stack);
    // The piece, and its range of the subflow.
    assert_eq!(stack.memory(), 700 + 2 * PIECE_OVERHEAD);
}

/// Opens a connection of plain TCP from a port of the client. Returns the client's next acknowledgement.
fn open_tcp(stack: &mut Stack, port: u16) -> (ConnectionId, u32) {
    stack.receive(Instant::ZERO, 0, &segment(port, 0, Flags::SYN), false);
    let answer = stack.poll_transmit(Instant::ZERO).expect("a SYN/ACK").packet.to_vec();
    let answer = tcp::parse(ip::parse(&answer).expect("a packet").payload).expect("a segment");
    let next = answer.seq.wrapping_add(1);
    stack.receive(Instant::ZERO, 0, &data(port, 1, next, 0), false);
    answers(stack);
    let mut accepted = None;
    while let Some((id, _)) = stack.poll_event() {
        accepted = Some(id);
    }
    (accepted.expect("an accepted connection"), next)
}

fn with_tcp_connection(memory: u64) -> (Stack, ConnectionId, u32) {
    let mut stack = server(Limits { memory, ..Limits::default() });
    let (id, next) = open_tcp(&mut stack, 7);
    (stack, id, next)
}

/// A packet with `len` bytes of data.
fn data(port: u16, seq: u32, ack: u32, len: usize) -> Vec<u8> {
    let mut segment = Segment::<Bytes>::new((port, PORT), seq, ack, Flags::ACK, 60_000);
    segment.payload = Bytes::from(vec![0; len]);
    packet(address(false, 0, CLIENT), &segment)
}

#[test]
fn data_that_fills_a_gap_is_accepted_without_memory() {
    let (mut stack, id, next) = with_tcp_connection(1000);
    for start in [1401, 701, 2101] {
        stack.receive(Instant::ZERO, 0, &data(7, start, next, 700), false);
        answers(&mut stack);
    }
    // Two pieces, in one range of the subflow.
    let held = 1400 + 3 * PIECE_OVERHEAD;
    assert_eq!((stack.memory(), stack.statistics().no_memory), (held, 1), "data beyond the gap is limited");
    stack.receive(Instant::ZERO, 0, &data(7, 1, next, 700), false);
    answers(&mut stack);
    let read: usize = core::iter::from_fn(|| stack.read(id, usize::MAX)).map(|piece| piece.len()).sum();
    assert_eq!(read, 2100);
}

#[test]
fn tiny_pieces_count_with_the_memory_that_they_take() {
    const LIMIT: u64 = 20_000;
    let (mut stack, _, next) = with_tcp_connection(LIMIT);
    for n in 0..1000 {
        stack.receive(Instant::ZERO, 0, &data(7, 2 + 2 * n, next, 1), false);
        answers(&mut stack);
    }
    let dropped = stack.statistics().no_memory;
    assert!(stack.memory() < LIMIT + 500 && dropped > 900, "{} {dropped}", stack.memory());
}

#[test]
fn acknowledgement_in_a_dropped_segment_releases_memory() {
    let (mut stack, id, next) = with_tcp_connection(1000);
    assert_eq!(stack.write(id, &Bytes::from(vec![0; 1200])), 1200);
    answers(&mut stack);
    assert_eq!(stack.memory(), 1200);
    stack.receive(Instant::ZERO, 0, &data(7, 701, next.wrapping_add(1200), 700), false);
    answers(&mut stack);
    assert_eq!((stack.memory(), stack.statistics().no_memory), (0, 1));
}

#[test]
fn data_dropped_for_lack_of_memory_is_acknowledged_and_is_no_sign_of_a_fallback() {
    let mut stack = server(Limits { memory: 400, ..Limits::default() });
    let client = address(false, 0, CLIENT);
    let mut segment = open_mptcp(&mut stack);
    answers(&mut stack);
    let (id, _) = stack.poll_event().expect("an accepted connection");
    (segment.seq, segment.payload) = (1001, Bytes::from(vec![0; 700]));
    stack.receive(Instant::ZERO, 0, &packet(client, &segment), false);
    answers(&mut stack);
    // The mapping of all this data came before.
    (segment.seq, segment.dss) = (1, None);
    for _ in 0..10 {
        stack.receive(Instant::ZERO, 0, &packet(client, &segment), false);
        assert_eq!(answers(&mut stack), 1);
    }
    assert_eq!(stack.statistics().no_memory, 10);
    let endpoint = stack.endpoint(id).expect("it is open");
    assert!(endpoint.mode() == Mode::Mptcp && endpoint.has_subflow(PathId(0)));
}

#[test]
fn dropped_data_is_no_duplicate_acknowledgement() {
    let (mut stack, id, next) = with_tcp_connection(1000);
    assert_eq!(stack.write(id, &Bytes::from(vec![0; 1200])), 1200);
    answers(&mut stack);
    for _ in 0..5 {
        stack.receive(Instant::ZERO, 0, &data(7, 701, next, 700), false);
        answers(&mut stack);
    }
    assert_eq!(stack.statistics().no_memory, 5);
    let subflow = stack.endpoint(id).and_then(|endpoint| endpoint.subflow(PathId(0)));
    assert_eq!(subflow.map(|subflow| subflow.retransmissions), Some(0));
}

#[test]
fn connection_can_write_again_when_another_releases_memory() {
    let (mut stack, first, next) = with_tcp_connection(1000);
    let (second, second_next) = open_tcp(&mut stack, 8);
    stack.receive(Instant::ZERO, 0, &data(7, 1, next, 600), false);
    stack.receive(Instant::ZERO, 0, &data(8, 1, second_next, 600), false);
    answers(&mut stack);
    assert_eq!(stack.write(second, &Bytes::from(vec![0; 100])), 0, "no memory");
    answers(&mut stack);
    while stack.poll_event().is_some() {}
    assert!(stack.read(first, usize::MAX).is_some());
    answers(&mut stack);
    assert_eq!(stack.poll_event(), Some((second, StackEvent::Writable)));
    assert_eq!(stack.write(second, &Bytes::from(vec![0; 100])), 100);
}

#[test]
fn memory_stays_near_its_limit_while_no_application_reads() {
    const LIMIT: u64 = 400_000;
    let mut network = Network::new(false, 1, Limits { memory: LIMIT, ..Limits::default() });
    network.stacks[SERVER].listen(PORT, Config::default());
    network.to_write = [300_000, 0];
    network.reads = false;
    for _ in 0..10 {
        let remote = SocketAddr::new(address(false, 0, SERVER), PORT);
        network.stacks[CLIENT]
            .connect(Instant::ZERO, address(false, 0, CLIENT), remote, Config::default())
            .unwrap();
    }
    network.run_until(Instant::from_secs(20));
    let held = network.stacks[SERVER].memory();
    assert!((LIMIT / 2..LIMIT + LIMIT / 10 + 10 * 1460).contains(&held), "{held}");
    let accepted = network.peers[SERVER].values();
    assert_eq!(accepted.filter(|peer| peer.events.contains(&StackEvent::Accepted(PORT))).count(), 10);
}

#[test]
fn join_beyond_the_limit_of_subflows_may_be_tried_again() {
    const PATHS: u16 = 32;
    let mut stack = server(Limits::default());
    open_mptcp(&mut stack);
    answers(&mut stack);
    let (id, _) = stack.poll_event().expect("an accepted connection");
    let token = stack.endpoint(id).expect("it is open").token();
    let mut answer = None;
    for port in 100..100 + PATHS {
        let mut join = Segment::<Bytes>::new((port, PORT), 0, 0, Flags::SYN, 1000);
        join.signal = Some(MptcpSignal::JoinSyn { backup: false, address_id: 1, token, nonce: 1 });
        stack.receive(Instant::ZERO, 0, &packet(address(false, 0, CLIENT), &join), false);
        answer = stack.poll_transmit(Instant::ZERO).map(|transmit| transmit.packet.to_vec());
    }
    let answer = answer.expect("a reset");
    let answer = tcp::parse(ip::parse(&answer).expect("a packet").payload).expect("a segment");
    assert!(answer.flags.has(Flags::RST));
    assert_eq!(answer.signal, Some(MptcpSignal::Reset { transient: true, reason: 2 }));
}

/// Handles the timers until `end`, and drops the packets.
fn run_until(stack: &mut Stack, end: Instant) {
    answers(stack);
    while let Some(at) = stack.poll_timeout().filter(|&at| at <= end) {
        stack.handle_timeout(at);
        while stack.poll_transmit(at).is_some() {}
    }
}

fn is_open(stack: &Stack, id: ConnectionId) -> bool {
    stack.endpoint(id).is_some_and(|endpoint| !endpoint.is_closed())
}

#[test]
fn abandoned_connection_ends_without_progress_of_its_peer() {
    let (mut stack, id, next) = with_tcp_connection(1 << 20);
    assert_eq!(stack.write(id, &Bytes::from(vec![0; 200])), 200);
    stack.abandon(Instant::ZERO, id);
    run_until(&mut stack, Instant::from_secs(50));
    // All but the FIN.
    stack.receive(Instant::from_secs(50), 0, &data(7, 1, next.wrapping_add(200), 0), false);
    run_until(&mut stack, Instant::from_secs(110));
    assert!(is_open(&stack, id), "the peer has acknowledged data");
    stack.receive(Instant::from_secs(110), 0, &data(7, 1, next.wrapping_add(201), 0), false);
    run_until(&mut stack, Instant::from_secs(125));
    assert!(!is_open(&stack, id), "the peer never closes");
    let failed = StackEvent::Endpoint(Event::Failed(Failure::Aborted));
    assert!(core::iter::from_fn(|| stack.poll_event()).any(|(of, event)| of == id && event == failed));
}

#[test]
fn data_for_an_abandoned_connection_resets_it() {
    let (mut stack, id, next) = with_tcp_connection(1 << 20);
    stack.abandon(Instant::ZERO, id);
    answers(&mut stack);
    stack.receive(Instant::ZERO, 0, &data(7, 1, next, 10), false);
    answers(&mut stack);
    assert!(!is_open(&stack, id) && stack.memory() == 0);
}

#[test]
fn data_after_a_read_that_took_all_is_reported() {
    let (mut stack, id, next) = with_tcp_connection(1 << 20);
    for seq in [1, 5] {
        stack.receive(Instant::ZERO, 0, &data(7, seq, next, 4), false);
        answers(&mut stack);
        assert_eq!(stack.poll_event(), Some((id, StackEvent::Readable)), "{seq}");
        assert_eq!(stack.read(id, 4).map(|piece| piece.len()), Some(4));
    }
}
