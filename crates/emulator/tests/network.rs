//! Tests of [`Network`] in virtual time: delays, counters, losses, middleboxes and offloading.

#![allow(clippy::unwrap_used, reason = "an unexpected `None` or error fails the test")]

use linux::tun::{PendingOffload, Split};
use proptest::prelude::*;
use radio::{Direction, State};
use scenario::Scenario;
use sim::Experiment;
use tandem_emulator::Network;
use units::{Duration, Instant};
use wire::{Ecn, Flags, ip, tcp};

fn experiment(paths: &str) -> Experiment {
    let text = format!(
        "title = 'x'\nseed = 3\nduration = '60s'\n[device]\nname = 'x'\n{paths}\n[[traffic]]\nkind = 'bulk'\n"
    );
    Scenario::parse("test", &text, &|_: &str| Err("no files here".to_owned())).unwrap().experiment
}

const WIFI: &str = "[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
    down = { rate = '2Mbps', delay = '5ms' }\nup = { rate = '1Mbps', delay = '7ms' }\n";

/// IP packet with a TCP segment whose sequence number is `number`, from the server if `down`. Its
/// payload has `payload` bytes, at least 4, and starts with `number`.
fn packet(number: u32, payload: usize, down: bool) -> Vec<u8> {
    let (server, device) = ("10.77.255.1".parse().unwrap(), "10.77.0.2".parse().unwrap());
    let (from, to) = if down { (server, device) } else { (device, server) };
    let mut segment = wire::Segment::new((5001, 40000), number, 0, Flags::ACK, 1000);
    let mut bytes = vec![7; payload.max(4)];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    segment.payload = bytes::Bytes::from(bytes);
    segment.ecn = Ecn::Ect0;
    let mut out = Vec::new();
    ip::emit_header((from, to), ip::TCP, segment.ecn, segment.wire_len(), &mut out).unwrap();
    tcp::emit(&segment, from, to, &segment.payload, &mut out).unwrap();
    out
}

/// Time, path, direction (true: down) and packet of each delivery until `until`, polled at the
/// times of [`Network::next`].
fn drain(network: &mut Network, until: Instant) -> Vec<(Instant, usize, bool, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(at) = network.next().filter(|&at| at <= until) {
        while let Some(delivery) = network.poll(at) {
            all.push((at, delivery.path, delivery.down, delivery.packet));
        }
    }
    all
}

#[test]
fn packet_arrives_after_serialization_and_propagation_delay() {
    let mut network = Network::new(&experiment(WIFI));
    let down = packet(1, 960, true);
    assert_eq!(down.len(), 1000);
    assert!(network.send(Instant::ZERO, 0, true, &down));
    assert!(network.send(Instant::ZERO, 0, true, &down));
    assert!(network.send(Instant::ZERO, 0, false, &packet(2, 85, false)));
    let arrived = drain(&mut network, Instant::from_secs(1));
    let times: Vec<_> = arrived.iter().map(|(at, _, down, _)| (at.as_millis(), *down)).collect();
    // 1000 bytes take 4 ms at 2 Mbit/s; 125 take 1 ms at 1 Mbit/s.
    assert_eq!(times, [(8, false), (9, true), (13, true)]);
    assert!(arrived.iter().filter(|a| a.2).all(|a| a.3 == down), "the packets are unchanged");
    let counts = &network.paths()[0];
    assert_eq!((counts.wire_down, counts.payload_down), (2000, 1920));
    assert_eq!((counts.wire_up, counts.payload_up), (125, 85));
    assert!(counts.meters[0].bytes(radio::Direction::Down) == 2000);
    assert_eq!(network.segments(), 3);
}

#[test]
fn tracked_mp_prio_records_its_arrival_and_the_payload_sent_after_it() {
    let mut network = Network::new(&experiment(WIFI));
    network.send(Instant::ZERO, 0, false, &mp_prio());
    drain(&mut network, Instant::from_millis(100));
    assert_eq!(network.paths()[0].priority, None, "tracking was not requested");
    let at = Instant::from_millis(100);
    network.track_priority(0);
    network.send(at, 0, true, &packet(1, 960, true));
    network.send(at, 0, false, &packet(2, 45, false));
    drain(&mut network, at + Duration::from_millis(9));
    assert_eq!(network.paths()[0].priority.unwrap().received_at, None, "the segment had no MP_PRIO");
    let at = Instant::from_millis(110);
    network.send(at, 0, false, &mp_prio());
    drain(&mut network, at + Duration::from_millis(20));
    let received_at = network.paths()[0].priority.unwrap().received_at.unwrap();
    // 44 bytes take 352 us at 1 Mbit/s; the propagation delay is 7 ms.
    assert_eq!(received_at, at + Duration::from_micros(352) + Duration::from_millis(7));
    let sent = Instant::from_millis(140);
    network.send(sent, 0, true, &packet(3, 960, true));
    network.send(sent, 0, false, &mp_prio());
    drain(&mut network, Instant::from_secs(1));
    let counts = &network.paths()[0];
    let tracked = counts.priority.unwrap();
    assert_eq!(
        (tracked.received_at, tracked.sent_since),
        (Some(received_at), 1000),
        "only the first change and the payload after it count"
    );
    assert_eq!(counts.last_payload_sent, sent);
    assert_eq!(counts.last_payload_down, sent + Duration::from_millis(4 + 5));
}

/// A pure ACK with MP_PRIO, 44 bytes long.
fn mp_prio() -> Vec<u8> {
    let (device, server) = ("10.77.0.2".parse().unwrap(), "10.77.255.1".parse().unwrap());
    let mut segment = wire::Segment::new((40000, 5001), 1, 1, Flags::ACK, 1000);
    segment.signal = Some(wire::MptcpSignal::Priority { backup: true, address_id: None });
    segment.payload = bytes::Bytes::new();
    let mut out = Vec::new();
    ip::emit_header((device, server), ip::TCP, Ecn::NotEct, segment.wire_len(), &mut out).unwrap();
    tcp::emit(&segment, device, server, &segment.payload, &mut out).unwrap();
    assert_eq!(out.len(), 44);
    out
}

#[test]
fn network_loses_the_same_packets_as_the_simulated_link() {
    let experiment = experiment(&WIFI.replace("delay = '5ms'", "delay = '5ms', loss = 0.2"));
    let mut network = Network::new(&experiment);
    let sim::Hop::Link(config) = &experiment.paths[0].down else { panic!("a link") };
    let mut link = link::Link::new(config, experiment.seed.derive("wifi").derive("down"));
    let mut expected = Vec::new();
    for number in 0..500 {
        let now = Instant::from_millis(u64::from(number) * 5);
        network.send(now, 0, true, &packet(number, 960, true));
        link.push(now, 1000, number);
    }
    while let Some(at) = link.next() {
        expected.extend(link.poll(at));
    }
    let arrived: Vec<u32> = drain(&mut network, Instant::MAX)
        .iter()
        .map(|(_, _, _, packet)| u32::from_be_bytes(packet[40..44].try_into().unwrap()))
        .collect();
    assert!(arrived.len() < 450);
    assert_eq!(arrived, expected);
}

#[test]
fn upload_counts_when_it_leaves_the_queue() {
    let mut network = Network::new(&experiment(WIFI));
    // 8 ms each over 1 Mbit/s.
    for number in 0..50 {
        assert!(network.send(Instant::ZERO, 0, false, &packet(number, 960, false)));
    }
    network.advance(Instant::from_millis(100));
    assert_eq!((network.paths()[0].wire_up, network.paths()[0].payload_up), (13_000, 13 * 960));
    let meter = &network.paths()[0].meters[0];
    assert_eq!((meter.bytes(Direction::Up), meter.state()), (13_000, State::Active));
    network.advance(Instant::from_secs(1));
    assert_eq!(network.paths()[0].wire_up, 50_000);
    // The interface goes down: packets in its queue are never sent.
    for number in 0..50 {
        network.send(Instant::from_secs(1), 0, false, &packet(number, 960, false));
    }
    network.set_present(Instant::from_millis(1100), 0, false);
    network.advance(Instant::from_secs(2));
    assert_eq!(network.paths()[0].wire_up, 63_000);
}

#[test]
fn removed_interface_neither_sends_nor_receives() {
    let mut network = Network::new(&experiment(WIFI));
    network.send(Instant::ZERO, 0, true, &packet(1, 960, true));
    network.set_present(Instant::ZERO, 0, false);
    assert!(!network.send(Instant::ZERO, 0, false, &packet(2, 960, false)));
    assert!(drain(&mut network, Instant::from_secs(1)).is_empty());
    assert_eq!((network.paths()[0].wire_up, network.paths()[0].wire_down), (0, 0));
    network.set_present(Instant::from_secs(1), 0, true);
    network.send(Instant::from_secs(2), 0, true, &packet(3, 960, true));
    assert_eq!(drain(&mut network, Instant::from_secs(3)).len(), 1);
}

#[test]
fn codel_marks_packets_and_keeps_checksums_valid() {
    let paths = WIFI
        .replace("delay = '5ms'", "delay = '5ms', queue = { codel = { ecn = true }, limit = '500 packets' }");
    let mut network = Network::new(&experiment(&paths));
    for number in 0..400 {
        network.send(Instant::from_millis(u64::from(number) * 3), 0, true, &packet(number, 960, true));
    }
    let marked = drain(&mut network, Instant::MAX)
        .iter()
        .filter(|(_, _, _, packet)| {
            // `ip::parse` verifies the header checksum.
            let datagram = ip::parse(packet).unwrap();
            let tcp = tcp::Packet::new(datagram.payload).unwrap();
            tcp.verify_checksum(datagram.source, datagram.destination).unwrap();
            datagram.ecn == Ecn::Ce
        })
        .count();
    assert!(marked > 3, "{marked}");
    assert_eq!(network.totals(0, 0).stats[0].marked, marked as u64);
}

#[test]
fn middlebox_splits_segments() {
    let paths = format!("{WIFI}[[path.middlebox]]\nkind = 'split'\nmss = 300\n");
    let mut network = Network::new(&experiment(&paths));
    network.send(Instant::ZERO, 0, true, &packet(10, 960, true));
    network.send(Instant::ZERO, 0, false, &packet(20, 700, false));
    let arrived = drain(&mut network, Instant::from_secs(1));
    let lengths = |down| {
        let sizes = arrived.iter().filter(move |a| a.2 == down).map(|a| a.3.len() - 40);
        sizes.collect::<Vec<_>>()
    };
    assert_eq!((lengths(true), lengths(false)), (vec![300, 300, 300, 60], vec![300, 300, 100]));
    for (.., packet) in &arrived {
        let datagram = ip::parse(packet).unwrap();
        let tcp = tcp::Packet::new(datagram.payload).unwrap();
        tcp.verify_checksum(datagram.source, datagram.destination).unwrap();
    }
}

#[test]
fn background_uses_link_and_radio_but_is_not_delivered() {
    let paths = format!(
        "{WIFI}[[traffic]]\nkind = 'vbr'\nprotocol = 'udp'\npath = 'wifi'\nrate = '1Mbps'\nspread = 0.0\n"
    );
    let mut network = Network::new(&experiment(&paths));
    assert!(drain(&mut network, Instant::from_secs(10)).is_empty());
    // Mean over the 10 s.
    let mean_mbps = network.paths()[0].wire_down as f64 * 8e-7;
    assert!((0.9..1.1).contains(&mean_mbps), "{mean_mbps} Mbit/s");
    assert!(network.background()[0].next().is_some());
    network.advance(Instant::ZERO + Duration::from_secs(10));
    assert!(network.paths()[0].meters[0].energy().as_joules() > 1.0);
}

#[test]
fn background_ends_at_twice_the_duration() {
    let paths = format!(
        "{WIFI}[[traffic]]\nkind = 'vbr'\nprotocol = 'udp'\npath = 'wifi'\nrate = '1kbps'\nspread = 0.0\n"
    );
    let mut network = Network::new(&experiment(&paths));
    drain(&mut network, Instant::from_secs(600));
    assert_eq!(network.background()[0].next(), None);
    assert!((1_000..30_000).contains(&network.paths()[0].wire_down), "{:?}", network.paths()[0]);
}

/// Bursts of a host: the time since the previous burst in microseconds, and the payload bytes.
fn bursts() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec((0u64..20_000, 1usize..30_000), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The link loses and reorders packets at random. Its queue is limited in packets or in bytes.
    #[test]
    fn offloaded_packet_is_delivered_like_separate_segments(
        bursts in bursts(),
        queue in prop::sample::select(vec!["'20 packets'", "'30kB'", "'1MB'"]),
        rate in prop::sample::select(vec!["2Mbps", "50Mbps", "1Gbps"]),
        size in 100u16..1400,
    ) {
        let down = format!(
            "down = {{ rate = '{rate}', delay = '5ms', loss = 0.1, queue = {queue}, \
             reorder = {{ chance = 0.2, by = '3ms' }} }}"
        );
        let paths = WIFI.replace("down = { rate = '2Mbps', delay = '5ms' }", &down);
        let experiment = experiment(&paths);
        let (mut offloaded, mut separate) = (Network::new(&experiment), Network::new(&experiment));
        let (server, device) = ("10.77.255.1".parse().unwrap(), "10.77.0.2".parse().unwrap());
        let emit = |sequence: u32, payload: &[u8], last: bool| {
            let flags = if last { Flags::ACK.with(Flags::PSH) } else { Flags::ACK };
            let mut segment = wire::Segment::new((5001, 40000), sequence, 0, flags, 1000);
            segment.payload = bytes::Bytes::copy_from_slice(payload);
            let mut out = Vec::new();
            ip::emit_header((server, device), ip::TCP, segment.ecn, segment.wire_len(), &mut out).unwrap();
            tcp::emit(&segment, server, device, &segment.payload, &mut out).unwrap();
            out
        };
        let (mut now, mut sequence) = (Instant::ZERO, 0);
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        for (wait, length) in bursts {
            now += Duration::from_micros(wait);
            found.extend(drain(&mut offloaded, now));
            wanted.extend(drain(&mut separate, now));
            let payload: Vec<u8> = (0..length).map(|at| (at % 253) as u8).collect();
            // The TCP header starts at byte 20, and its checksum field is at offset 16.
            let pending = PendingOffload { checksum: Some((20, 16)), split: Some(Split::Tcp(size)) };
            let mut large = emit(sequence, &payload, true);
            let packets = offloaded.send_offloaded(now, 0, true, (pending, &mut large));
            let pieces: Vec<_> = payload.chunks(usize::from(size)).collect();
            prop_assert_eq!(packets, pieces.len());
            for (n, piece) in pieces.iter().enumerate() {
                let at = sequence + (n * usize::from(size)) as u32;
                separate.send(now, 0, true, &emit(at, piece, n + 1 == pieces.len()));
            }
            sequence += length as u32;
        }
        found.extend(drain(&mut offloaded, Instant::MAX));
        wanted.extend(drain(&mut separate, Instant::MAX));
        // The IPv4 identification, and with it the header checksum, may differ.
        let compared = |all: Vec<(Instant, usize, bool, Vec<u8>)>| {
            let plain = |(at, path, down, mut packet): (Instant, usize, bool, Vec<u8>)| {
                ip::parse(&packet).unwrap();
                packet[4..6].fill(0);
                packet[10..12].fill(0);
                (at, path, down, packet)
            };
            all.into_iter().map(plain).collect::<Vec<_>>()
        };
        prop_assert_eq!(compared(found), compared(wanted));
        let (offloaded, separate) = (offloaded.totals(0, 0), separate.totals(0, 0));
        prop_assert_eq!(offloaded.stats, separate.stats);
        prop_assert_eq!(
            (offloaded.wire_down, offloaded.payload_down),
            (separate.wire_down, separate.payload_down)
        );
    }
}
