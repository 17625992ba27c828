//! The same conversation in every file format gives the same result; damage costs no more than the
//! damaged part.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde_json::Value;
use tandem_capture::{ReadError, Summary, analyse};
use units::{Duration, Instant, Seed};
use wire::pcapng::{Direction, Writer};
use wire::{Dss, Flags, Mapping, MptcpSignal, Segment, Span, TimestampOption, capture};

/// Key 1 has token cd266215 and initial DSN 19ec509083d00a50, key 2 cd04a475 and 886540e5dce77f70.
const KEYS: [u64; 2] = [1, 2];
/// Addresses of the client.
const ADDRESSES: [&str; 2] = ["198.51.100.10", "198.51.100.11"];
const INITIAL: [u64; 2] = [0x19ec_5090_83d0_0a50, 0x8865_40e5_dce7_7f70];

/// A packet of the conversation: time, subflow, sending end, and bytes.
#[derive(Clone)]
struct Packet {
    at: Instant,
    subflow: usize,
    down: bool,
    bytes: Vec<u8>,
}

fn addresses(v6: bool, subflow: usize) -> [IpAddr; 2] {
    if v6 {
        let device = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 10 + subflow as u16);
        [device.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1).into()]
    } else {
        [Ipv4Addr::new(198, 51, 100, 10 + subflow as u8).into(), Ipv4Addr::new(192, 0, 2, 1).into()]
    }
}

/// Two subflows. The server sends 5 kB over each, one segment twice, and 1 kB of the first
/// subflow's data over the second.
fn conversation(v6: bool) -> Vec<Packet> {
    let mut all = Vec::new();
    let mut millis = 100;
    let mut say = |subflow: usize, down: bool, mut segment: Segment<Span>, len: u32| {
        millis += 10;
        let ports = [50_000 + subflow as u16, 443];
        [segment.source, segment.destination] = if down { [ports[1], ports[0]] } else { ports };
        segment.payload = Span::new(0, len);
        segment.timestamps = Some(TimestampOption { value: millis, echo: millis - 10 });
        let [client, server] = addresses(v6, subflow);
        let [from, to] = if down { [server, client] } else { [client, server] };
        let bytes = capture::packet(from, to, &segment, usize::MAX).unwrap();
        let at = Instant::from_nanos(1_700_000_000_000_000_000 + u64::from(millis) * 1_000_000);
        all.push(Packet { at, subflow, down, bytes });
    };
    let segment = |seq: u32, ack: u32, flags| Segment::new((0, 0), seq, ack, flags, 1000);
    let capable = |sender_key, receiver_key| MptcpSignal::Capable {
        version: 1,
        checksum: false,
        deny_join: false,
        hmac_sha256: true,
        extension: false,
        sender_key,
        receiver_key,
        data: None,
    };
    let with = |mut segment: Segment<Span>, signal| {
        segment.signal = Some(signal);
        segment
    };
    say(0, false, with(segment(100, 0, Flags::SYN), capable(None, None)), 0);
    say(0, true, with(segment(900, 101, Flags::SYN_ACK), capable(Some(KEYS[1]), None)), 0);
    say(0, false, with(segment(101, 901, Flags::ACK), capable(Some(KEYS[0]), Some(KEYS[1]))), 0);
    let token = 0xcd04_a475;
    let join = MptcpSignal::JoinSyn { backup: false, address_id: 1, token, nonce: 7 };
    say(1, false, with(segment(u32::MAX - 1, 0, Flags::SYN), join), 0);
    let answer = MptcpSignal::JoinSynAck { backup: false, address_id: 0, hmac: 8, nonce: 9 };
    say(1, true, with(segment(4_294_967_000, u32::MAX, Flags::SYN_ACK), answer), 0);
    say(
        1,
        false,
        with(segment(u32::MAX, 4_294_967_001, Flags::ACK), MptcpSignal::JoinAck { hmac: [1; 20] }),
        0,
    );
    let isn = [900, 4_294_967_000_u32];
    let mut data = |subflow: usize, ssn: u32, dsn: u64| {
        let mut one = segment(isn[subflow].wrapping_add(ssn), 101, Flags::ACK);
        let dsn = INITIAL[1].wrapping_add(dsn);
        one.dss =
            Some(Dss { mapping: Some(Mapping { dsn, ssn, len: 1000, checksum: None }), ..Dss::default() });
        say(subflow, true, one, 1000);
    };
    for i in 0..5 {
        data(0, 1 + 1000 * i, 1 + 2000 * u64::from(i));
        data(1, 1 + 1000 * i, 1001 + 2000 * u64::from(i));
    }
    data(0, 1 + 4000, 1 + 8000);
    data(1, 1 + 5000, 1 + 2000);
    let backup = MptcpSignal::Priority { backup: true, address_id: None };
    say(1, false, with(segment(u32::MAX, isn[1].wrapping_add(6001), Flags::ACK), backup), 0);
    all
}

/// Results that do not depend on the file: everything except its format, length and interfaces.
fn core(summary: &Summary) -> Value {
    let mut json = summary.to_json();
    let object = json.as_object_mut().unwrap();
    for key in ["format", "file_bytes", "interfaces"] {
        object.remove(key);
    }
    for connection in object["connections"].as_array_mut().unwrap() {
        for subflow in connection["subflows"].as_array_mut().unwrap() {
            for key in ["interface", "path"] {
                subflow.as_object_mut().unwrap().remove(key);
            }
        }
    }
    json
}

fn read(bytes: &[u8]) -> Summary {
    analyse(bytes, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn pcap(magic: [u8; 4], link_type: u32, packets: &[Packet], snaplen: usize, head: &[u8]) -> Vec<u8> {
    let big = magic[0] == 0xa1;
    let nanos = magic.contains(&0x3c);
    let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let half = |number: u16| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let mut out = magic.to_vec();
    out.extend([half(2), half(4)].concat());
    out.extend([word(0), word(0), word(snaplen as u32), word(link_type)].concat());
    for packet in packets {
        let bytes = [head, &packet.bytes].concat();
        let kept = &bytes[..bytes.len().min(snaplen)];
        let (seconds, rest) = (packet.at.as_nanos() / 1_000_000_000, packet.at.as_nanos() % 1_000_000_000);
        let rest = if nanos { rest } else { rest / 1000 };
        for number in [seconds as u32, rest as u32, kept.len() as u32, bytes.len() as u32] {
            out.extend(word(number));
        }
        out.extend(kept);
    }
    out
}

const MAGICS: [[u8; 4]; 4] =
    [[0xa1, 0xb2, 0xc3, 0xd4], [0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x4d, 0x3c, 0xb2, 0xa1]];

fn pcapng(packets: &[Packet]) -> Vec<u8> {
    let mut writer = Writer::new("test");
    let interfaces = [writer.interface("wifi", "", 0), writer.interface("lte", "", 0)];
    for packet in packets {
        let direction = if packet.down { Direction::Inbound } else { Direction::Outbound };
        writer.packet(interfaces[packet.subflow], packet.at, direction, packet.bytes.len(), &packet.bytes);
    }
    writer.into_bytes()
}

#[test]
fn conversation_is_analysed_correctly() {
    let summary = read(&pcapng(&conversation(false)));
    let [connection] = &summary.connections[..] else { panic!("{:#?}", summary.connections) };
    assert_eq!(connection.tokens, [Some("cd266215".to_owned()), Some("cd04a475".to_owned())]);
    assert_eq!((connection.down.bytes, connection.up.bytes), (10_000, 0));
    assert_eq!(connection.down.seen_near, Some("receiver"));
    let [wifi, lte] = &connection.subflows[..] else { panic!("{:#?}", connection.subflows) };
    assert_eq!(
        (&*wifi.path, wifi.joined_by, &*lte.path, lte.joined_by),
        ("wifi", "mp_capable", "lte", "token")
    );
    let told = |carried: &tandem_capture::Carried| {
        [
            carried.data_segments,
            carried.payload_bytes,
            carried.new_bytes,
            carried.reinjected_bytes,
            carried.retransmitted_segments,
            carried.late_segments,
        ]
    };
    assert_eq!(told(&wifi.down), [6, 6000, 5000, 0, 1, 0]);
    assert_eq!(told(&lte.down), [6, 6000, 5000, 1000, 0, 0]);
    assert_eq!(wifi.handshake.unwrap().total_ms, Some(20.0));
    assert!(wifi.rtt.is_none(), "only the near end echoed timestamps: {:?}", wifi.rtt);
    let [event] = &summary.events[..] else { panic!("{:?}", summary.events) };
    assert_eq!((event.subflow, event.from, event.option, &*event.detail), (2, "client", "MP_PRIO", "backup"));
    assert_eq!((summary.ended, summary.notes.len()), ("whole", 0));
}

/// The conversation, each packet written to the interfaces that `places` gives for its number.
fn at_places(names: [&str; 2], places: impl Fn(usize) -> Vec<usize>) -> Summary {
    let mut writer = Writer::new("test");
    let interfaces = names.map(|name| writer.interface(name, "", 0));
    for (i, packet) in conversation(false).iter().enumerate() {
        let direction = if packet.down { Direction::Inbound } else { Direction::Outbound };
        for place in places(i) {
            writer.packet(interfaces[place], packet.at, direction, packet.bytes.len(), &packet.bytes);
        }
    }
    read(&writer.into_bytes())
}

#[test]
fn packets_on_two_interfaces_count_once() {
    let once = at_places(["br0", "eth0"], |_| vec![0]);
    for names in [["br0", "eth0"], ["", ""]] {
        let twice = at_places(names, |_| vec![0, 1]);
        let [connection] = &twice.connections[..] else { panic!("{:#?}", twice.connections) };
        for (subflow, expected) in connection.subflows.iter().zip(&once.connections[0].subflows) {
            assert_eq!(subflow.down, expected.down, "{names:?}");
            assert!(subflow.seen_elsewhere > 8, "{names:?}");
        }
    }
}

#[test]
fn stream_that_moves_to_another_interface_is_counted_on() {
    let once = at_places(["eth0", "eth1"], |_| vec![0]);
    let moved = at_places(["eth0", "eth1"], |i| vec![usize::from(i >= 10)]);
    let bytes = |summary: &Summary| summary.connections[0].down.bytes;
    assert_eq!((bytes(&moved), bytes(&once)), (10_000, 10_000));
}

#[test]
fn every_signal_of_a_segment_is_an_event() {
    let mut packets = conversation(false);
    let last = packets.last_mut().unwrap();
    // MP_TCPRST behind the segment's MP_PRIO and other options.
    let end = 20 + usize::from(last.bytes[32] >> 4) * 4;
    last.bytes.splice(end..end, [30, 4, 0x80, 3]);
    last.bytes[32] += 1 << 4;
    last.bytes[3] += 4;
    let told = read(&pcapng(&packets));
    let options: Vec<_> = told.events.iter().map(|event| event.option).collect();
    assert_eq!(options, ["MP_PRIO", "MP_TCPRST"]);
}

#[test]
fn reopened_subflow_keeps_the_name_of_its_path() {
    let mut packets = conversation(false);
    let mut again: Vec<Packet> = packets.iter().filter(|packet| packet.subflow == 1).cloned().collect();
    for packet in &mut again {
        let port = if packet.down { 22 } else { 20 };
        packet.bytes[port..port + 2].copy_from_slice(&50_099_u16.to_be_bytes());
        packet.at += Duration::from_secs(1);
    }
    packets.extend(again);
    let files = [(pcapng(&packets), ["wifi", "lte"]), (pcap(MAGICS[1], 101, &packets, 100, &[]), ADDRESSES)];
    for (file, [first, second]) in files {
        let summary = read(&file);
        let paths: Vec<&str> = summary.connections[0].subflows.iter().map(|one| &*one.path).collect();
        assert_eq!(paths, [first, second, second]);
        let columns: Vec<String> = summary.series.columns().map(|(name, _)| name).collect();
        let name = format!("connection1.{second}-3.down.payload_bytes");
        assert!(columns.contains(&name), "{columns:?}");
        let page = summary.page("x").to_html();
        assert!(page.contains(&format!("{second}-3")), "the lines of charts have different names");
    }
}

#[test]
fn pcap_and_pcapng_formats_agree() {
    for v6 in [false, true] {
        let packets = conversation(v6);
        let files: Vec<Summary> =
            MAGICS.iter().map(|magic| read(&pcap(*magic, 101, &packets, 65_535, &[]))).collect();
        for file in &files[1..] {
            assert_eq!(core(file), core(&files[0]));
        }
        assert_eq!((files[0].format, files[0].packets, files[0].connections.len()), ("pcap", 19, 1));
        let ng = read(&pcapng(&packets));
        assert_eq!(without_place(core(&ng)), without_place(core(&files[0])));
    }
}

/// Removes results that depend on the place of capture: only pcapng records the direction of a
/// packet.
fn without_place(mut json: Value) -> Value {
    let connection = &mut json["connections"][0];
    for direction in ["up", "down"] {
        connection[direction].as_object_mut().unwrap().remove("seen_near").unwrap();
    }
    for subflow in connection["subflows"].as_array_mut().unwrap() {
        subflow.as_object_mut().unwrap().remove("rtt").unwrap();
    }
    json
}

#[test]
fn truncated_packets_give_the_same_result() {
    let packets = conversation(false);
    let whole = read(&pcap(MAGICS[1], 101, &packets, 65_535, &[]));
    // IP and TCP headers, the latter with up to 40 bytes of options.
    let cut = read(&pcap(MAGICS[1], 101, &packets, 100, &[]));
    assert_eq!(core(&whole), core(&cut));
    let shorter = read(&pcap(MAGICS[1], 101, &packets, 50, &[]));
    assert!(
        shorter.notes.iter().any(|note| note.contains("cut within their headers")),
        "{:?}",
        shorter.notes
    );
}

#[test]
fn every_link_type_gives_the_same_result() {
    for v6 in [false, true] {
        let packets = conversation(v6);
        let expected = core(&read(&pcap(MAGICS[1], 101, &packets, 65_535, &[])));
        let ethertype: [u8; 2] = if v6 { [0x86, 0xdd] } else { [0x08, 0x00] };
        let ethernet = [&[2; 12], &ethertype[..]].concat();
        let vlan = [&[2; 12], &[0x88, 0xa8, 0, 5, 0x81, 0x00, 0, 7][..], &ethertype].concat();
        // Neither outgoing nor incoming.
        let cooked = [&[0, 3, 0, 1, 0, 6][..], &[0; 8], &ethertype].concat();
        let cooked_vlan = [&cooked[..14], &[0x81, 0x00, 0, 7], &ethertype].concat();
        let cooked2 = [&ethertype[..], &[0, 0, 0, 0, 0, 4, 0, 1, 3, 6], &[0; 8]].concat();
        let raw = if v6 { 229 } else { 228 };
        let heads: [(u32, &[u8]); 9] = [
            (1, &ethernet),
            (1, &vlan),
            (raw, &[]),
            (12, &[]),
            (0, &[2, 0, 0, 0]),
            (108, &[0, 0, 0, 30]),
            (113, &cooked),
            (113, &cooked_vlan),
            (276, &cooked2),
        ];
        for (link_type, head) in heads {
            let told = read(&pcap(MAGICS[1], link_type, &packets, 65_535, head));
            assert_eq!(core(&told), expected, "link type {link_type}");
            let interface = &told.connections[0].subflows[0].interface;
            assert_eq!(interface == "interface 4", link_type == 276, "{interface}");
        }
    }
}

/// A pcapng block in this byte order.
fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
    let len = word(body.len() as u32 + 12);
    [&word(kind)[..], &len, body, &len].concat()
}

#[test]
fn pcapng_sections_byte_orders_clocks_and_unknown_blocks_are_read() {
    let packets = conversation(false);
    let expected = core(&read(&pcap(MAGICS[0], 101, &packets, 65_535, &[])));
    let mut out = Vec::new();
    // Each packet in its own section, with alternating byte orders and clocks: microseconds by
    // default, milliseconds from an offset, and 2^-16 seconds.
    for (i, packet) in packets.iter().enumerate() {
        let big = i % 2 == 0;
        let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
        let half = |number: u16| if big { number.to_be_bytes() } else { number.to_le_bytes() };
        let order = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
        out.extend(block(big, 0x0a0d_0d0a, &order));
        out.extend(block(big, 0x0bad_0000 + i as u32, &[7; 24]));
        let (options, units): (Vec<u8>, u64) = if i % 3 == 0 {
            (Vec::new(), packet.at.as_nanos() / 1000)
        } else {
            let offset: i64 = 1_600_000_000;
            let eight = if big { offset.to_be_bytes() } else { offset.to_le_bytes() };
            let options = [&half(9)[..], &half(1), &[3, 0, 0, 0], &half(14), &half(8), &eight].concat();
            (options, packet.at.as_nanos() / 1_000_000 - 1_600_000_000_000)
        };
        out.extend(block(big, 1, &[&half(101)[..], &half(0), &word(0), &options].concat()));
        let mut body = [word(0), word((units >> 32) as u32), word(units as u32)].concat();
        body.extend([word(packet.bytes.len() as u32), word(packet.bytes.len() as u32)].concat());
        body.extend(&packet.bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        out.extend(block(big, 6, &body));
    }
    let told = read(&out);
    assert_eq!((told.ended, told.packets), ("whole", 19));
    assert_eq!(core(&told), expected);
}

#[test]
fn file_truncated_anywhere_is_read_up_to_that_place() {
    let packets = conversation(false);
    for file in [pcapng(&packets), pcap(MAGICS[2], 101, &packets, 100, &[])] {
        let mut most = 0;
        for len in 0..=file.len() {
            match analyse(&file[..len], &mut |_| {}) {
                Ok(told) => {
                    assert!(told.packets >= most, "fewer packets of more bytes");
                    most = told.packets;
                    if told.ended == "cut" {
                        assert!(told.notes[0].contains("ends in the middle of the record at byte"));
                    } else {
                        assert_eq!(told.ended, "whole", "{:?}", told.notes);
                    }
                    _ = (told.tables(), told.series_csv());
                }
                Err(ReadError::NotACapture { offset: 0, .. }) => assert!(len < 4),
                Err(ReadError::Header { .. }) => assert!(len < 28),
                Err(error) => panic!("{len} bytes: {error}"),
            }
        }
        assert_eq!(most, 19);
    }
}

#[test]
fn damage_ends_reading_and_is_reported_with_its_offset() {
    let packets = conversation(false);
    let mut file = pcapng(&packets);
    let at = file.len() - 4;
    file[at] ^= 1;
    let told = read(&file);
    assert_eq!((told.ended, told.packets), ("damaged", 18));
    assert!(told.notes[0].starts_with("the file is damaged at byte "), "{:?}", told.notes);
    let mut file = pcap(MAGICS[1], 101, &packets, 65_535, &[]);
    file[24 + 11] = 0x7f;
    let told = read(&file);
    assert_eq!((told.ended, told.packets), ("damaged", 0));
}

#[test]
fn other_files_are_rejected_with_their_first_bytes() {
    let refused = |bytes: &[u8]| analyse(bytes, &mut |_| {}).map(|_| ()).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            refused(b""),
            refused(b"\x1f\x8b\x08\x00rest"),
            refused(b"GET / HTTP/1.1"),
            refused(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]),
            refused(&[&[0xd4, 0xc3, 0xb2, 0xa1, 9, 0][..], &[0; 30]].concat()),
            refused(&[&[0x0a, 0x0d, 0x0d, 0x0a][..], &[0; 30]].concat()),
        ]
        .join("\n")
    );
}

#[test]
fn block_longer_than_the_buffer_is_skipped() {
    let packets = conversation(false);
    let mut file = pcapng(&packets[..10]);
    file.extend(block(false, 0x0bad, &vec![9; 3_000_000]));
    // A packet with far more captured bytes than any header has.
    let long = [&packets[10].bytes[..], &vec![0; 1_000_000]].concat();
    let units = packets[10].at.as_nanos();
    let numbers = [0, (units >> 32) as u32, units as u32, long.len() as u32, long.len() as u32];
    let body = [&numbers.map(u32::to_le_bytes).concat()[..], &long].concat();
    file.extend(block(
        false,
        6,
        &[&body[..], &vec![0; body.len().next_multiple_of(4) - body.len()]].concat(),
    ));
    let rest = pcapng(&packets[11..]);
    file.extend(&rest);
    let told = read(&file);
    assert_eq!((told.ended, told.packets), ("whole", 19));
    assert_eq!(core(&told), core(&read(&pcapng(&packets))));
}

#[test]
fn arbitrary_bytes_never_panic() {
    let packets = conversation(false);
    let files = [
        pcapng(&packets),
        pcap(MAGICS[1], 101, &packets, 100, &[]),
        pcap(MAGICS[0], 276, &packets, 90, &[0; 20]),
    ];
    for seed in 0..3000 {
        let mut rng = Seed::new(seed).rng("capture");
        let mut file = files[rng.below(3) as usize].clone();
        for _ in 0..=rng.below(8) {
            let at = rng.below(file.len() as u64) as usize;
            file[at] = rng.bits() as u8;
        }
        if let Ok(told) = analyse(&file[..], &mut |_| {}) {
            _ = (told.tables(), told.to_json(), told.series_csv(), told.page("x").to_html());
        }
    }
}

/// A SYN as a packet, from any address and port.
fn syn(source: u32, port: u16, signal: Option<MptcpSignal>, flags: Flags) -> Packet {
    let mut segment = Segment::new((port, 443), 1, 1, flags, 1000);
    segment.signal = signal;
    let server = Ipv4Addr::new(192, 0, 2, 1).into();
    let bytes = capture::packet(Ipv4Addr::from(source).into(), server, &segment, usize::MAX).unwrap();
    Packet { at: Instant::ZERO, subflow: 0, down: false, bytes }
}

#[test]
fn floods_fill_bounded_tables_and_are_reported() {
    let flood: Vec<Packet> = (0..51_000).map(|i| syn(i, 5000, None, Flags::SYN)).collect();
    let told = read(&pcap(MAGICS[1], 101, &flood, 100, &[]));
    assert_eq!((told.segments, told.tcp.len(), told.connections.len()), (51_000, 1000, 0));
    assert!(told.notes.iter().any(|note| note.starts_with("1000 segments of flows beyond the first 50000")));
    // Each with its own keys, like the third segment of a handshake, followed by signals.
    let both = |i: u32| MptcpSignal::Capable {
        version: 1,
        checksum: false,
        deny_join: false,
        hmac_sha256: true,
        extension: false,
        sender_key: Some(u64::from(i)),
        receiver_key: Some(!u64::from(i)),
        data: None,
    };
    let mut flood: Vec<Packet> = (0..2100).map(|i| syn(i, 5000, Some(both(i)), Flags::ACK)).collect();
    let backup = MptcpSignal::Priority { backup: true, address_id: None };
    flood.extend((0..2010).map(|_| syn(0, 5000, Some(backup), Flags::ACK)));
    let told = read(&pcap(MAGICS[1], 101, &flood, 100, &[]));
    assert_eq!((told.connections.len(), told.tcp.len(), told.events.len()), (2000, 100, 2000));
    let expected = [
        "100 segments of subflows beyond the first 2000, counted as plain TCP",
        "10 events beyond the first 2000, left out",
    ];
    assert_eq!(told.notes, expected);
}

#[test]
fn ports_reused_beyond_the_limit_add_nothing_to_the_earlier_connection() {
    let mut flood: Vec<Packet> = (0..50_000).map(|i| syn(i, 5000, None, Flags::SYN)).collect();
    let again = |seq: u32, flags: Flags, len: u32| {
        let mut segment: Segment<Span> = Segment::new((5000, 443), seq, 1, flags, 1000);
        segment.payload = Span::new(0, len);
        let server = Ipv4Addr::new(192, 0, 2, 1).into();
        let bytes = capture::packet(Ipv4Addr::from(7).into(), server, &segment, usize::MAX).unwrap();
        Packet { at: Instant::ZERO, subflow: 0, down: false, bytes }
    };
    flood.extend([again(9000, Flags::SYN, 0), again(9001, Flags::ACK, 100)]);
    let told = read(&pcap(MAGICS[1], 101, &flood, 200, &[]));
    assert!(told.notes.iter().any(|note| note.starts_with("2 segments of flows beyond the first 50000")));
    assert!(told.tcp.iter().all(|flow| flow.up_bytes + flow.down_bytes == 0));
}

#[test]
fn gaps_beyond_the_limit_are_reported() {
    let with_gaps = |segments: u32| -> Vec<Packet> {
        let one = |i: u32| {
            let mut segment: Segment<Span> = Segment::new((443, 5000), 2 * i, 1, Flags::ACK, 1000);
            segment.payload = Span::new(0, 1);
            let [client, server] = addresses(false, 0);
            let bytes = capture::packet(server, client, &segment, usize::MAX).unwrap();
            Packet { at: Instant::ZERO, subflow: 0, down: true, bytes }
        };
        (0..segments).chain([0]).map(one).collect()
    };
    let told = |segments| read(&pcap(MAGICS[1], 101, &with_gaps(segments), 100, &[]));
    let few = told(1000);
    assert_eq!((few.tcp[0].retransmitted_segments, few.notes.len()), (1, 0));
    let many = told(66_000);
    assert_eq!(many.tcp[0].retransmitted_segments, 0, "its first transmission is forgotten");
    let note =
        "463 bytes in gaps beyond the ranges that are remembered: not missing, and older data counts as new";
    assert_eq!(many.notes, [note]);
}
