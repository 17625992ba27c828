//! Captures of whole runs, decoded by `tshark`. Its analysis of Multipath TCP must agree with the
//! outcome of the simulator.
#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]
#![allow(clippy::disallowed_methods, reason = "tshark reads files")]

mod support;

use link::{Codel, Loss};
use mptcp::{EcnMode, SchedulerKind};
use policy::{Actuator, Emtcp};
use std::collections::BTreeSet;
use std::process::Command;
use support::{path, wifi_lte};
use tandem_sim::{Experiment, Hop, Outcome, run};
use traffic::{Direction, Kind};
use units::{Bytes, Instant, Probability};
use wire::{Span, capture, dss_checksum};

/// Wireshark preferences for the analysis of MPTCP.
const PREFERENCES: [&str; 3] = [
    "mptcp.analyze_mappings:true",
    "mptcp.relative_sequence_numbers:true",
    "mptcp.intersubflows_retransmission:true",
];

/// Length of the transfer: slow start and some seconds after it.
const TRANSFER_BYTES: u64 = 3_000_000;

/// An upload: the capture at the device sees every segment sent, including lost ones.
fn upload(seconds: u64) -> Experiment {
    let mut experiment = wifi_lte(Kind::File { size: Bytes::new(TRANSFER_BYTES) }, seconds);
    experiment.paths = vec![path("wifi", "huang2012.wifi", 8.0, 10), path("lte", "huang2012.lte", 8.0, 25)];
    experiment.traffic[0].direction = Direction::Up;
    experiment.capture = true;
    experiment
}

/// Adds an outage to both directions of a path, in seconds.
fn add_outage(experiment: &mut Experiment, path: usize, from: u64, to: u64) {
    let spec = &mut experiment.paths[path];
    for hop in [&mut spec.up, &mut spec.down] {
        let Hop::Link(link) = hop else { panic!("the paths are links") };
        link.outages.push((Instant::from_secs(from), Instant::from_secs(to)));
    }
}

/// Runs `tshark` on a capture and returns its standard output.
fn tshark(name: &str, capture: &[u8], arguments: &[&str]) -> String {
    let file = std::env::temp_dir().join(format!("tandem-{}-{}.pcapng", std::process::id(), name));
    std::fs::write(&file, capture).unwrap();
    let mut command = Command::new("tshark");
    // A single pass: tshark does not report reinjections in a two-pass analysis.
    command.args(["-n", "-r"]).arg(&file);
    for preference in PREFERENCES {
        command.args(["-o", preference]);
    }
    let output = command.args(arguments).output();
    std::fs::remove_file(&file).unwrap();
    let output = output.expect("cannot run `tshark` (Debian package: tshark)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A data segment as decoded by tshark.
#[derive(Debug)]
struct DataSegment {
    stream: u32,
    interface: String,
    /// Relative to the initial data sequence number: 1 for the first byte.
    dsn: u64,
    len: u64,
    /// tshark reports that another subflow has carried the data before.
    reinjected: bool,
}

/// Analysis of a capture by tshark.
struct Analysis {
    /// Subtypes of all MPTCP options.
    subtypes: BTreeSet<u8>,
    /// TCP streams that belong to an MPTCP connection.
    subflows: BTreeSet<u32>,
    /// MPTCP connections.
    connections: BTreeSet<u32>,
    data: Vec<DataSegment>,
}

/// Decodes the capture of a run. Fails if tshark reports an error in it.
fn analyse(name: &str, outcome: &Outcome) -> Analysis {
    let capture = outcome.capture.as_ref().unwrap();
    let wrong = "_ws.malformed || _ws.expert.severity == error || tcp.checksum.status == \"Bad\"";
    let wrong = tshark(name, capture, &["-Y", wrong]);
    assert_eq!(wrong, "", "{name}: malformed frames or expert errors");
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
    let text = tshark(name, capture, &arguments);
    let mut analysis = Analysis {
        subtypes: BTreeSet::new(),
        subflows: BTreeSet::new(),
        connections: BTreeSet::new(),
        data: Vec::new(),
    };
    let mut first_dsn = None;
    for line in text.lines() {
        let at: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| at[i].split(',').next().unwrap().parse::<u64>().ok();
        analysis.subtypes.extend(at[3].split(',').filter_map(|s| s.parse::<u8>().ok()));
        let stream = number(0).unwrap() as u32;
        if let Some(connection) = number(1) {
            analysis.subflows.insert(stream);
            analysis.connections.insert(connection as u32);
        }
        let len = number(4).unwrap();
        if len == 0 {
            continue;
        }
        // The first data segment of the client has its mapping in MP_CAPABLE.
        let dsn = if let (Some(dsn), Some(mapped)) = (number(5), number(6)) {
            assert_eq!(mapped, len, "{name}: mapping and payload have different lengths: {line}");
            let first = *first_dsn.get_or_insert_with(|| {
                let before: u64 = analysis.data.iter().map(|segment: &DataSegment| segment.len).sum();
                dsn.wrapping_sub(1 + before)
            });
            dsn.wrapping_sub(first)
        } else {
            assert!(at[3].split(',').any(|s| s == "0"), "{name}: data without a mapping: {line}");
            1
        };
        let interface = at[2].to_owned();
        analysis.data.push(DataSegment { stream, interface, dsn, len, reinjected: !at[8].is_empty() });
    }
    analysis
}

/// Compares the analysis of an upload with the outcome of the simulator.
fn compare(name: &str, experiment: &Experiment, outcome: &Outcome, analysis: &Analysis) {
    let connection = &outcome.connections[0];
    assert_eq!(connection.delivered_bytes, TRANSFER_BYTES, "{name}: {connection:?}");
    assert_eq!(analysis.connections.len(), 1, "{name}: connections");
    assert_eq!(analysis.subflows.len(), outcome.paths.len(), "{name}: subflows {:?}", analysis.subflows);
    for (path, spec) in outcome.paths.iter().zip(&experiment.paths) {
        let lengths = || analysis.data.iter().filter(|p| p.interface == path.name).map(|p| p.len);
        // The capture also sees the segments that a full queue drops, and those that wait in the queue
        // when the interface leaves.
        let unsent = lengths().sum::<u64>() - path.payload_up_bytes;
        let dropped = path.dropped_packets * lengths().max().unwrap_or(0);
        assert!(
            unsent <= dropped || spec.leave_at.is_some(),
            "{name}: {unsent} bytes were not sent: {path:?}"
        );
        assert!(unsent >= dropped * 9 / 10, "{name}: dropped segments count as sent: {path:?}");
    }
    // Subflows that have carried each byte of the stream, as bits.
    let mut carriers = vec![0_u32; TRANSFER_BYTES as usize + 1];
    for segment in &analysis.data {
        let span = segment.dsn as usize..(segment.dsn + segment.len) as usize;
        assert!(span.start >= 1 && span.end <= carriers.len(), "{name}: outside the stream: {segment:?}");
        let is_repeated = carriers[span.start] & !(1 << segment.stream) != 0;
        assert_eq!(segment.reinjected, is_repeated, "{name}: reinjection: {segment:?}");
        carriers[span].iter_mut().for_each(|bits| *bits |= 1 << segment.stream);
    }
    assert!(carriers[1..].iter().all(|&bits| bits != 0), "{name}: bytes without a mapping");
    let repeated: u64 = carriers[1..].iter().map(|bits| u64::from(bits.count_ones()) - 1).sum();
    assert_eq!(Some(repeated), connection.repeated_bytes, "{name}: bytes carried by several subflows");
}

/// Runs an experiment and compares its outcome with the analysis of its capture. Returns the option
/// subtypes and the number of bytes carried by several subflows.
fn run_and_compare(name: &str, experiment: &Experiment) -> (BTreeSet<u8>, u64) {
    let outcome = run(experiment);
    let analysis = analyse(name, &outcome);
    compare(name, experiment, &outcome, &analysis);
    (analysis.subtypes, outcome.connections[0].repeated_bytes.unwrap())
}

/// MPTCP option subtypes (RFC 8684, section 8).
const CAPABLE_JOIN_DSS: [u8; 3] = [0, 1, 2];
const REMOVE_ADDR: u8 = 4;
const MP_PRIO: u8 = 5;

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_clean_paths_carry_every_byte_once() {
    let (subtypes, repeated) = run_and_compare("clean", &upload(20));
    assert_eq!(subtypes, BTreeSet::from(CAPABLE_JOIN_DSS));
    assert_eq!(repeated, 0);
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_data_of_a_path_in_outage_is_reinjected() {
    let mut experiment = upload(30);
    experiment.paths[0] = path("wifi", "huang2012.wifi", 8.0, 60);
    experiment.paths.push(path("third", "huang2012.wifi", 8.0, 15));
    add_outage(&mut experiment, 2, 1, 4);
    let (_, repeated) = run_and_compare("dark", &experiment);
    assert!(repeated > 50_000, "{repeated}");
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_redundant_scheduler_sends_most_data_twice() {
    let mut experiment = upload(30);
    experiment.transport.config.scheduler = SchedulerKind::Redundant.into();
    let (_, repeated) = run_and_compare("redundant", &experiment);
    assert!(repeated > TRANSFER_BYTES * 9 / 10, "{repeated}");
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_lost_segments_are_retransmitted_or_reinjected() {
    let mut experiment = upload(60);
    for spec in &mut experiment.paths {
        let Hop::Link(link) = &mut spec.up else { panic!("the paths are links") };
        link.loss = Loss::Uniform(Probability::new(0.02).unwrap());
    }
    run_and_compare("loss", &experiment);
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_leaving_interface_sends_remove_addr_and_reinjects() {
    let mut experiment = upload(30);
    experiment.paths[0].leave_at = Some(Instant::from_secs(1));
    let (subtypes, repeated) = run_and_compare("leaves", &experiment);
    assert!(subtypes.contains(&REMOVE_ADDR) && repeated > 0, "{subtypes:?} {repeated}");
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_policy_sends_mp_prio() {
    let mut experiment = upload(30);
    experiment.device.policy = Emtcp { share: 0.5, actuator: Actuator::MpPrio }.into();
    let (subtypes, _) = run_and_compare("priority", &experiment);
    assert!(subtypes.contains(&MP_PRIO), "{subtypes:?}");
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_dss_checksums_match_the_stream() {
    let mut experiment = upload(20);
    experiment.transport.config.checksum = true;
    let outcome = run(&experiment);
    let analysis = analyse("checksum", &outcome);
    compare("checksum", &experiment, &outcome, &analysis);
    // tshark 4.0 has no field for the checksum of a DSS.
    let fields = ["tcp.options", "tcp.options.mptcp.rawdataseqno", "tcp.options.mptcp.subflowseqno"];
    let mut arguments = vec!["-Y", "tcp.len > 0 && tcp.options.mptcp.rawdataseqno", "-T", "fields"];
    for name in fields {
        arguments.extend(["-e", name]);
    }
    let text = tshark("checksum", outcome.capture.as_ref().unwrap(), &arguments);
    let mapped = analysis.data.iter().filter(|segment| segment.dsn > 1);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), mapped.clone().count());
    for (line, segment) in lines.into_iter().zip(mapped) {
        let [options, dsn, ssn] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let mut bytes = Vec::new();
        capture::filler(Span::new(segment.dsn - 1, segment.len as u32), &mut bytes);
        let (dsn, ssn) = (dsn.parse().unwrap(), ssn.parse().unwrap());
        let checksum = dss_checksum(dsn, ssn, segment.len as u16, &bytes);
        // The DSS is the last option, and the checksum is its last field.
        assert!(options.ends_with(&format!("{:04x}{checksum:04x}", segment.len)), "{line} {segment:?}");
    }
}

#[test]
#[ignore = "needs tshark"]
fn needs_tshark_ce_marks_are_captured_and_echoed() {
    let mut experiment = upload(20);
    experiment.traffic[0].direction = Direction::Down;
    experiment.transport.config.ecn = EcnMode::Request;
    for spec in &mut experiment.paths {
        let Hop::Link(link) = &mut spec.down else { panic!("the paths are links") };
        link.codel = Some(Codel { ecn: true, ..Codel::default() });
    }
    let outcome = run(&experiment);
    assert_eq!(outcome.connections[0].delivered_bytes, TRANSFER_BYTES);
    analyse("marks", &outcome);
    let capture = outcome.capture.as_ref().unwrap();
    let count = |path: &str, filter: &str| {
        let filter = format!("frame.interface_name == \"{path}\" && {filter}");
        tshark("marks", capture, &["-Y", &filter]).lines().count() as u64
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
