//! Another reader's opinion of whole runs: `tshark` decodes their captures without a complaint, and its
//! analysis of Multipath TCP agrees with what the simulator says that it did.
//! Skipped, with a message, where `tshark` is not installed.
#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]
#![allow(clippy::disallowed_methods, reason = "tshark reads files")]

mod support;

use link::{Codel, Loss};
use mptcp::{EcnMode, SchedulerKind};
use policy::{Actuator, PolicyConfig};
use std::collections::BTreeSet;
use std::process::Command;
use support::{path, wifi_lte};
use tandem_sim::{Experiment, Hop, Outcome, run};
use traffic::{Direction, Kind};
use units::{Bytes, Instant, Probability};
use wire::{Span, capture, dss_checksum};

/// What tshark is to look for (Wireshark's preferences for MPTCP).
const PREFERENCES: [&str; 3] = [
    "mptcp.analyze_mappings:true",
    "mptcp.relative_sequence_numbers:true",
    "mptcp.intersubflows_retransmission:true",
];

/// The stream of each run: bytes enough for slow start and some seconds after it.
const BYTES: u64 = 3_000_000;

/// The device's own sending, so that the capture sees each segment that was sent, lost or not.
fn upload(seconds: u64) -> Experiment {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(BYTES) }, seconds);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 10), path("lte", "huang2012.lte", 8.0, 25)];
    experiment.traffic[0].direction = Direction::Up;
    experiment.capture = true;
    experiment
}

fn dark(experiment: &mut Experiment, path: usize, from: u64, to: u64) {
    let spec = &mut experiment.paths[path];
    for hop in [&mut spec.up, &mut spec.down] {
        let Hop::Link(link) = hop else { panic!("the paths are links") };
        link.outages.push((Instant::from_secs(from), Instant::from_secs(to)));
    }
}

fn tshark(name: &str, capture: &[u8], arguments: &[&str]) -> Option<String> {
    let file = std::env::temp_dir().join(format!("tandem-{}-{}.pcapng", std::process::id(), name));
    std::fs::write(&file, capture).unwrap();
    let mut command = Command::new("tshark");
    // Once through the file: in a second pass tshark tells no reinjections.
    command.args(["-n", "-r"]).arg(&file);
    for preference in PREFERENCES {
        command.args(["-o", preference]);
    }
    let output = command.args(arguments).output();
    std::fs::remove_file(&file).unwrap();
    let Ok(output) = output else {
        eprintln!("skipped: `tshark` is not installed (Debian package: tshark)");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A segment with data of the stream, as tshark reads it.
#[derive(Debug)]
struct Piece {
    stream: u32,
    interface: String,
    /// From the initial data sequence number on: 1 is the first byte.
    dsn: u64,
    len: u64,
    /// tshark says that another subflow has carried it before.
    reinjected: bool,
}

/// What tshark makes of a capture.
struct Reading {
    /// MPTCP option subtypes that occur.
    subtypes: BTreeSet<u8>,
    /// TCP streams that belong to an MPTCP connection, and the connections.
    subflows: BTreeSet<u32>,
    connections: BTreeSet<u32>,
    pieces: Vec<Piece>,
}

fn read(name: &str, outcome: &Outcome) -> Option<Reading> {
    let capture = outcome.capture.as_ref().unwrap();
    let wrong = "_ws.malformed || _ws.expert.severity == error || tcp.checksum.status == \"Bad\"";
    let wrong = tshark(name, capture, &["-Y", wrong])?;
    assert_eq!(wrong, "", "{name}: malformed frames or expert's errors");
    let names = [
        "tcp.stream",
        "mptcp.stream",
        "frame.interface_name",
        "tcp.options.mptcp.subtype",
        "tcp.len",
        "tcp.options.mptcp.rawdataseqno",
        "tcp.options.mptcp.datalvllen",
        "tcp.options.mptcp.sendkey",
        "mptcp.reinjection_of",
    ];
    let mut arguments = vec!["-T", "fields"];
    for name in names {
        arguments.extend(["-e", name]);
    }
    let text = tshark(name, capture, &arguments)?;
    let mut reading = Reading {
        subtypes: BTreeSet::new(),
        subflows: BTreeSet::new(),
        connections: BTreeSet::new(),
        pieces: Vec::new(),
    };
    let mut first_dsn = None;
    for line in text.lines() {
        let at: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| at[i].split(',').next().unwrap().parse::<u64>().ok();
        reading.subtypes.extend(at[3].split(',').filter_map(|s| s.parse::<u8>().ok()));
        let stream = number(0).unwrap() as u32;
        if let Some(connection) = number(1) {
            reading.subflows.insert(stream);
            reading.connections.insert(connection as u32);
        }
        let len = number(4).unwrap();
        if len == 0 {
            continue;
        }
        // The client's first data has its mapping in MP_CAPABLE: it starts where the stream does.
        let dsn = if let (Some(dsn), Some(mapped)) = (number(5), number(6)) {
            assert_eq!(mapped, len, "{name}: each segment is mapped by itself: {line}");
            let first = *first_dsn.get_or_insert_with(|| {
                let before: u64 = reading.pieces.iter().map(|p: &Piece| p.len).sum();
                dsn.wrapping_sub(1 + before)
            });
            dsn.wrapping_sub(first)
        } else {
            assert!(at[3].split(',').any(|s| s == "0"), "{name}: data without a mapping: {line}");
            1
        };
        let interface = at[2].to_owned();
        reading.pieces.push(Piece { stream, interface, dsn, len, reinjected: !at[8].is_empty() });
    }
    Some(reading)
}

/// Holds a reading against the simulator's own record of an upload.
fn agree(name: &str, outcome: &Outcome, reading: &Reading) {
    let connection = &outcome.connections[0];
    assert_eq!(connection.delivered_bytes, BYTES, "{name}: {connection:?}");
    assert_eq!(reading.connections.len(), 1, "{name}: connections");
    assert_eq!(reading.subflows.len(), outcome.paths.len(), "{name}: subflows {:?}", reading.subflows);
    for path in &outcome.paths {
        let seen: u64 = reading.pieces.iter().filter(|p| p.interface == path.name).map(|p| p.len).sum();
        assert_eq!(seen, path.payload_up_bytes, "{name}: payload over {}", path.name);
    }
    // Which subflows have carried each byte of the stream, as bits.
    let mut carriers = vec![0_u32; BYTES as usize + 1];
    for piece in &reading.pieces {
        let span = piece.dsn as usize..(piece.dsn + piece.len) as usize;
        assert!(span.start >= 1 && span.end <= carriers.len(), "{name}: beyond the stream: {piece:?}");
        let others = carriers[span.start] & !(1 << piece.stream) != 0;
        assert_eq!(piece.reinjected, others, "{name}: carried by another before? {piece:?}");
        carriers[span].iter_mut().for_each(|bits| *bits |= 1 << piece.stream);
    }
    assert!(carriers[1..].iter().all(|&bits| bits != 0), "{name}: bytes without a mapping");
    let repeated: u64 = carriers[1..].iter().map(|bits| u64::from(bits.count_ones()) - 1).sum();
    assert_eq!(Some(repeated), connection.repeated_bytes, "{name}: bytes over several subflows");
}

/// Runs, reads, compares; gives the option subtypes that occurred and the bytes that went over several
/// subflows.
fn checked(name: &str, experiment: &Experiment) -> Option<(BTreeSet<u8>, u64)> {
    let outcome = run(experiment);
    let reading = read(name, &outcome)?;
    agree(name, &outcome, &reading);
    Some((reading.subtypes, outcome.connections[0].repeated_bytes.unwrap()))
}

/// MPTCP option subtypes (RFC 8684, section 8).
const CAPABLE_JOIN_DSS: [u8; 3] = [0, 1, 2];
const REMOVE_ADDR: u8 = 4;
const MP_PRIO: u8 = 5;

#[test]
fn two_clean_paths_share_the_stream_without_a_copy() {
    let Some((subtypes, repeated)) = checked("clean", &upload(20)) else { return };
    assert_eq!(subtypes, BTreeSet::from(CAPABLE_JOIN_DSS));
    assert_eq!(repeated, 0);
}

#[test]
fn what_a_dark_path_held_is_reinjected_over_both_others() {
    let mut experiment = upload(30);
    experiment.paths[0] = path("wifi", "huang2012.wifi", 8.0, 60);
    experiment.paths.push(path("third", "huang2012.wifi", 8.0, 15));
    dark(&mut experiment, 2, 1, 4);
    let Some((_, repeated)) = checked("dark", &experiment) else { return };
    assert!(repeated > 50_000, "{repeated}");
}

#[test]
fn the_redundant_scheduler_sends_nearly_all_of_it_twice() {
    let mut experiment = upload(30);
    experiment.transport.config.scheduler = SchedulerKind::Redundant;
    let Some((_, repeated)) = checked("redundant", &experiment) else { return };
    assert!(repeated > BYTES * 9 / 10, "{repeated}");
}

#[test]
fn losses_are_mended_within_a_subflow_or_beside_it() {
    let mut experiment = upload(60);
    for spec in &mut experiment.paths {
        let Hop::Link(link) = &mut spec.up else { panic!("the paths are links") };
        link.loss = Loss::Uniform(Probability::new(0.02).unwrap());
    }
    checked("loss", &experiment);
}

#[test]
fn an_interface_that_leaves_is_told_and_what_it_held_is_reinjected() {
    let mut experiment = upload(30);
    experiment.paths[0].leave_at = Some(Instant::from_secs(1));
    let Some((subtypes, repeated)) = checked("leaves", &experiment) else { return };
    assert!(subtypes.contains(&REMOVE_ADDR) && repeated > 0, "{subtypes:?} {repeated}");
}

#[test]
fn a_policy_that_asks_for_backups_is_understood() {
    let mut experiment = upload(30);
    experiment.device.policy = PolicyConfig::Emtcp { share: 0.5, actuator: Actuator::MpPrio };
    let Some((subtypes, _)) = checked("priority", &experiment) else { return };
    assert!(subtypes.contains(&MP_PRIO), "{subtypes:?}");
}

#[test]
fn checksums_over_data_are_those_of_the_stream() {
    let mut experiment = upload(20);
    experiment.transport.config.checksum = true;
    let outcome = run(&experiment);
    let Some(reading) = read("checksum", &outcome) else { return };
    agree("checksum", &outcome, &reading);
    // tshark 4.0 does not show the checksum of a DSS by itself.
    let fields = ["tcp.options", "tcp.options.mptcp.rawdataseqno", "tcp.options.mptcp.subflowseqno"];
    let mut arguments = vec!["-Y", "tcp.len > 0 && tcp.options.mptcp.rawdataseqno", "-T", "fields"];
    for name in fields {
        arguments.extend(["-e", name]);
    }
    let text = tshark("checksum", outcome.capture.as_ref().unwrap(), &arguments).unwrap();
    let mapped = reading.pieces.iter().filter(|piece| piece.dsn > 1);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), mapped.clone().count());
    for (line, piece) in lines.into_iter().zip(mapped) {
        let [options, dsn, ssn] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let mut bytes = Vec::new();
        capture::filler(Span::new(piece.dsn - 1, piece.len as u32), &mut bytes);
        let (dsn, ssn) = (dsn.parse().unwrap(), ssn.parse().unwrap());
        let checksum = dss_checksum(dsn, ssn, piece.len as u16, &bytes);
        // The DSS is the last option, and the checksum its last field.
        assert!(options.ends_with(&format!("{:04x}{checksum:04x}", piece.len)), "{line} {piece:?}");
    }
}

#[test]
fn each_packet_that_a_queue_marks_is_read_as_marked_and_echoed() {
    let mut experiment = upload(20);
    experiment.traffic[0].direction = Direction::Down;
    experiment.transport.config.ecn = EcnMode::Request;
    for spec in &mut experiment.paths {
        let Hop::Link(link) = &mut spec.down else { panic!("the paths are links") };
        link.codel = Some(Codel { ecn: true, ..Codel::default() });
    }
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, BYTES);
    let Some(_) = read("marks", &outcome) else { return };
    let capture = outcome.capture.as_ref().unwrap();
    let count = |path: &str, filter: &str| {
        let filter = format!("frame.interface_name == \"{path}\" && {filter}");
        tshark("marks", capture, &["-Y", &filter]).unwrap().lines().count() as u64
    };
    for path in &outcome.paths {
        let marked = count(&path.name, "ip.dsfield.ecn == 3");
        assert_eq!(marked, path.marked_packets, "{}", path.name);
        assert!(marked > 0, "{}", path.name);
        let up = "tcp.dstport == 443 && tcp.flags.syn == 0";
        assert!(count(&path.name, &format!("{up} && tcp.flags.ece == 1")) > 0);
        let down = "tcp.srcport == 443 && tcp.flags.syn == 0";
        assert!((1..=marked).contains(&count(&path.name, &format!("{down} && tcp.flags.cwr == 1"))));
    }
}
