//! A capture of a simulated run agrees with the simulator's own counters.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use sim::Outcome;
use tandem_capture::{Carried, Summary, analyse};

/// Most packets that a queue holds.
const QUEUE_PACKETS: u64 = 60;

/// Two paths; `more` are additional scenario keys of a test.
fn run(direction: &str, transport: &str, wifi: &str, kind: &str) -> (Outcome, Summary) {
    let text = format!(
        "title = 'x'\nseed = 3\nduration = '12s'\n[device]\nname = 'x'\n[transport]\n{transport}\n\
         [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n{wifi}\n\
         down = {{ rate = '8Mbps', delay = '12ms', queue = '60 packets' }}\n\
         up = {{ rate = '8Mbps', delay = '12ms', queue = '60 packets' }}\n\
         [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n\
         down = {{ rate = '6Mbps', delay = '40ms', queue = '80ms', loss = 0.005 }}\n\
         up = {{ rate = '6Mbps', delay = '40ms', queue = '80ms', loss = 0.005 }}\n\
         [[traffic]]\n{kind}\ndirection = '{direction}'\n"
    );
    simulate(&text)
}

/// Runs a scenario, and analyses its capture.
fn simulate(text: &str) -> (Outcome, Summary) {
    let nothing = |_: &str| Err("no such file".to_owned());
    let scenario = scenario::Scenario::parse("capture", text, &nothing);
    let mut experiment = scenario.unwrap_or_else(|found| panic!("{found:#?}")).experiment;
    experiment.capture = true;
    let outcome = sim::run(&experiment);
    let summary = analyse(outcome.capture.as_deref().unwrap(), &mut |_| {}).unwrap();
    (outcome, summary)
}

fn carried<'a>(summary: &'a Summary, path: &str, up: bool) -> &'a Carried {
    let [connection] = &summary.connections[..] else { panic!("{} connections", summary.connections.len()) };
    let subflow = connection.subflows.iter().find(|subflow| subflow.path == path).unwrap();
    if up { &subflow.up } else { &subflow.down }
}

/// The device sends: its capture has every segment, even lost ones and those that its queue drops or
/// still holds at the end, which it has not sent.
fn agree_on_an_upload(outcome: &Outcome, summary: &Summary) {
    let connection = &outcome.connections[0];
    let mut reinjected = 0;
    for path in &outcome.paths {
        let carried = carried(summary, &path.name, true);
        let unsent = carried.payload_bytes - path.payload_up_bytes;
        let unsent_segments = path.dropped_packets + QUEUE_PACKETS;
        assert!(unsent <= unsent_segments * 1448, "payload of {}: {unsent}", path.name);
        assert!(
            path.dropped_packets == 0 || unsent >= path.dropped_packets * 1000,
            "{}: {unsent}",
            path.name
        );
        assert_eq!(carried.retransmitted_segments, path.retransmissions, "retransmitted over {}", path.name);
        let with_headers = carried.wire_bytes - path.wire_up_bytes;
        assert!(
            (unsent..=unsent + 100 * unsent_segments).contains(&with_headers),
            "headers of {}",
            path.name
        );
        assert_eq!((carried.repeated_bytes, carried.unmapped_bytes), (0, 0));
        assert_eq!(carried.late_segments, 0, "nothing is out of order at its sender");
        assert_eq!(
            carried.payload_bytes,
            carried.new_bytes + carried.reinjected_bytes + carried.retransmitted_bytes,
            "each byte is of one kind"
        );
        reinjected += carried.reinjected_bytes;
    }
    assert_eq!(Some(reinjected), connection.repeated_bytes);
    let data = &summary.connections[0].up;
    assert!(data.bytes >= connection.delivered_bytes);
    assert_eq!(data.seen_near, Some("sender"));
    assert_eq!((summary.ended, summary.notes.len()), ("whole", 0), "{:?}", summary.notes);
}

#[test]
fn upload_over_two_paths_agrees() {
    let (outcome, summary) = run("up", "", "", "kind = 'bulk'");
    agree_on_an_upload(&outcome, &summary);
    assert!(outcome.paths.iter().all(|path| path.retransmissions > 0), "nothing was lost");
}

#[test]
fn data_on_a_silent_path_is_reinjected() {
    let (outcome, summary) = run("up", "", "leave_at = '4s'", "kind = 'bulk'");
    agree_on_an_upload(&outcome, &summary);
    assert!(carried(&summary, "lte", true).reinjected_bytes > 0);
}

#[test]
fn redundant_scheduler_sends_everything_twice() {
    let (outcome, summary) = run("up", "scheduler = 'redundant'", "", "kind = 'file'\nsize = '2MB'");
    agree_on_an_upload(&outcome, &summary);
    let twice: u64 = ["wifi", "lte"].iter().map(|path| carried(&summary, path, true).reinjected_bytes).sum();
    assert!(twice > 500_000, "{twice}");
    assert_eq!(summary.connections[0].up.bytes, 2_000_000);
    assert!(summary.connections[0].up.finished_s.is_some());
}

#[test]
fn download_agrees_with_its_receiver() {
    for transport in
        ["", "scheduler = 'round-robin'\ncongestion = 'reno'", "protocol = 'mptcp-rec'", "checksum = true"]
    {
        let (outcome, summary) = run("down", transport, "", "kind = 'bulk'");
        let connection = &outcome.connections[0];
        let data = &summary.connections[0].down;
        for path in &outcome.paths {
            let carried = carried(&summary, &path.name, false);
            assert_eq!(carried.payload_bytes, path.payload_down_bytes, "{transport}: over {}", path.name);
            assert_eq!(carried.wire_bytes, path.wire_down_bytes, "{transport}: over {}", path.name);
        }
        assert_eq!(data.seen_near, Some("receiver"));
        assert_eq!(Some(data.peak_out_of_order_bytes), connection.peak_out_of_order_bytes, "{transport}");
        // Data beyond a gap at the end has arrived and is not delivered.
        assert!(data.bytes >= connection.delivered_bytes, "{transport}");
        assert!(data.bytes - connection.delivered_bytes <= data.peak_out_of_order_bytes, "{transport}");
    }
}

#[test]
fn handshake_and_round_trips_agree() {
    let (_, summary) = run("down", "", "", "kind = 'cbr'\nrate = '1Mbps'");
    let subflows = &summary.connections[0].subflows;
    for (subflow, rtt) in subflows.iter().zip([24.0, 80.0]) {
        let handshake = subflow.handshake.unwrap();
        assert_eq!(handshake.syns, 1);
        // The links add the transmission time of a segment, and an echo comes with data: up to 2
        // ms.
        let times = [handshake.total_ms.unwrap(), handshake.answer_ms.unwrap(), subflow.rtt.unwrap().min_ms];
        for (ms, sending) in times.into_iter().zip([0.5, 0.5, 2.5]) {
            assert!(ms > rtt && ms < rtt + sending, "{ms} ms over {}", subflow.path);
        }
        assert_eq!((subflow.rtt.unwrap().by, subflow.rtt.unwrap().to), ("timestamps", "server"));
    }
    assert_eq!(subflows.iter().map(|s| s.joined_by).collect::<Vec<_>>(), ["mp_capable", "token"]);
}

#[test]
fn round_trip_to_the_near_end_is_not_shown() {
    let (_, summary) = run("down", "timestamps = false", "", "kind = 'bulk'");
    assert_eq!(summary.connections[0].down.seen_near, Some("receiver"));
    for subflow in &summary.connections[0].subflows {
        assert!(subflow.rtt.is_none_or(|rtt| rtt.to == "server"), "{:?}", subflow.rtt);
    }
}

#[test]
fn pauses_of_the_sender_are_no_round_trips() {
    let kind = "kind = 'on-off'\nrate = '2Mbps'\non = '100ms'\noff = '900ms'";
    let (_, summary) = run("down", "", "", kind);
    for (subflow, rtt) in summary.connections[0].subflows.iter().zip([24.0, 80.0]) {
        let measured = subflow.rtt.unwrap();
        assert!(measured.median_ms < 2.0 * rtt, "{}: {measured:?}", subflow.path);
        assert!(measured.p95_ms < 4.0 * rtt, "{}: {measured:?}", subflow.path);
    }
}

#[test]
fn subflows_without_beginning_are_joined_by_their_data() {
    let (outcome, whole) = run("down", "", "", "kind = 'bulk'");
    let bytes = outcome.capture.as_deref().unwrap();
    // The section and the interfaces, then the packets after the first thousands.
    let mut blocks = Vec::new();
    let mut at = 0;
    while let Some(len) = bytes.get(at + 4..at + 8) {
        let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
        blocks.push(&bytes[at..at + len]);
        at += len;
    }
    let later = [&blocks[..3], &blocks[3003..]].concat().concat();
    let summary = analyse(&later[..], &mut |_| {}).unwrap();
    let [connection] = &summary.connections[..] else { panic!("{:#?}", summary.connections) };
    assert_eq!(connection.beginning, "missing");
    let joined: Vec<_> = connection.subflows.iter().map(|subflow| subflow.joined_by).collect();
    assert_eq!(joined, ["alone", "data"]);
    let new = |summary: &Summary| summary.connections[0].down.bytes;
    assert!(new(&summary) > new(&whole) / 2 && new(&summary) < new(&whole));
    for subflow in &connection.subflows {
        assert_eq!(subflow.server.port(), 443);
        assert_eq!(subflow.down.payload_bytes, subflow.down.new_bytes + subflow.down.retransmitted_bytes);
    }
}

/// Median of the sender's smoothed round-trip times over a path, in ms.
fn median_srtt(outcome: &Outcome, path: &str) -> f64 {
    let name = format!("{path}.srtt_ms");
    let column = outcome.series.columns.iter().find(|column| column.name == name).unwrap();
    let mut values: Vec<f64> = column.values.iter().copied().filter(|ms| *ms > 0.0).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn losses_in_long_queues_are_no_retransmissions_at_the_receiver() {
    let (outcome, summary) = simulate(
        "title = 'x'\nduration = '4s'\n[device]\nname = 'x'\n\
         [[path]]\nname = 'wifi'\nradio = 'aro.wifi'\n\
         down = { rate = '100Mbps', delay = '15ms', queue = '1000 packets' }\n\
         up = { rate = '20Mbps', delay = '15ms' }\n\
         [[path]]\nname = 'lte'\nradio = 'aro.lte'\n\
         down = { rate = '50Mbps', delay = '30ms', queue = '1000 packets' }\n\
         up = { rate = '20Mbps', delay = '30ms' }\n\
         [transport]\nrecv_buffer = '16MB'\nsend_buffer = '16MB'\n[[traffic]]\nkind = 'bulk'\n",
    );
    for path in &outcome.paths {
        let carried = carried(&summary, &path.name, false);
        assert!(path.retransmissions > 500, "{}: {} losses", path.name, path.retransmissions);
        assert_eq!((carried.retransmitted_bytes, carried.reinjected_bytes), (0, 0), "{}", path.name);
        assert_eq!(carried.new_bytes, path.payload_down_bytes, "{}", path.name);
        let subflow = summary.connections[0].subflows.iter().find(|one| one.path == path.name).unwrap();
        let (measured, srtt) = (subflow.rtt.unwrap().median_ms, median_srtt(&outcome, &path.name));
        assert!((measured / srtt - 1.0).abs() < 0.1, "{}: {measured} ms, {srtt} ms", path.name);
    }
    let peak = Some(summary.connections[0].down.peak_out_of_order_bytes);
    assert_eq!(peak, outcome.connections[0].peak_out_of_order_bytes);
    assert!(summary.notes.is_empty(), "{:?}", summary.notes);
}

#[test]
fn round_trips_of_a_long_queue_are_measured() {
    for timestamps in [true, false] {
        let (outcome, summary) = simulate(&format!(
            "title = 'x'\nduration = '20s'\n[device]\nname = 'x'\n\
             [[path]]\nname = 'lte'\nradio = 'aro.lte'\n\
             down = {{ rate = '20Mbps', delay = '30ms' }}\n\
             up = {{ rate = '20Mbps', delay = '30ms', queue = '2500 packets' }}\n\
             [transport]\ntimestamps = {timestamps}\nrecv_buffer = '16MB'\nsend_buffer = '16MB'\n\
             [[traffic]]\nkind = 'bulk'\ndirection = 'up'\n"
        ));
        let measured = summary.connections[0].subflows[0].rtt.unwrap();
        let srtt = median_srtt(&outcome, "lte");
        assert!(srtt > 600.0, "{srtt} ms");
        assert!((measured.median_ms / srtt - 1.0).abs() < 0.1, "{measured:?}, {srtt} ms");
    }
}
