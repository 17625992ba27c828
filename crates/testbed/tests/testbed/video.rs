//! Video on the kernel: the same requests, bytes and record as in simulation.

use abr::{Session, Video};
use std::sync::Arc;
use tandem_testbed::{Outcome, run};
use units::Duration;

const SCENARIO: &str = "seed = 1\nduration = '6s'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '8Mbps', delay = '10ms' }\nup = { rate = '4Mbps', delay = '10ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '8Mbps', delay = '20ms' }\nup = { rate = '4Mbps', delay = '20ms' }\n\
    [[traffic]]\nkind = 'video'\nmanifest = { bitrates = '4Mbps', duration = '4s', segment = '500ms' }\nbuffer = '10s'\nwait = '20ms'\n";

fn scenario(text: &str) -> scenario::Scenario {
    crate::parse("video", text)
}

fn run_on_kernel(text: &str) -> Outcome {
    run(&scenario(text).experiment, &Arc::default(), &mut |_| {}).expect("the run succeeds").outcome
}

fn session(outcome: &Outcome) -> &Session {
    outcome.connections[0].video.as_ref().expect("the connection carries video")
}

#[test]
#[ignore = "needs root"]
fn needs_root_video_is_fetched_and_played_as_in_simulation() {
    let outcome = run_on_kernel(SCENARIO);
    let simulated = sim::run(&scenario(SCENARIO).experiment);
    let (real, expected) = (session(&outcome), session(&simulated));
    assert!(!outcome.connections[0].failed, "{:?}", outcome.connections[0]);
    let sizes = |session: &Session| session.segments.iter().map(|s| (s.level, s.size)).collect::<Vec<_>>();
    assert_eq!(sizes(real), sizes(expected));
    assert_eq!(real.segments.len(), 8);
    assert_eq!(real.played, Duration::from_secs(4));
    let bytes: u64 = real.segments.iter().map(|s| (s.size + Video::RESPONSE_HEADER).get()).sum();
    for outcome in [&outcome, &simulated] {
        let connection = &outcome.connections[0];
        assert_eq!((connection.delivered_bytes, connection.offered_bytes), (bytes, bytes));
        assert!(connection.completed_s.is_some());
    }
    // A response takes at least the server's wait and one RTT of the shorter path.
    assert!(real.segments.iter().all(|s| s.first_byte.since(s.asked) >= Duration::from_millis(40)));
    let stalled = real.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length());
    assert_eq!(real.initial.length + stalled + real.played, real.end.since(real.start));
    let columns =
        |outcome: &Outcome| outcome.series.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    assert_eq!(columns(&outcome), columns(&simulated));
    assert!(columns(&outcome).contains(&"connection1.buffer_s".to_owned()));
    assert!(outcome.paths.iter().all(|path| path.payload_down_bytes > 0), "{:?}", outcome.paths);
}

#[test]
#[ignore = "needs root"]
fn needs_root_viewer_leaving_early_has_a_record() {
    let text = SCENARIO.replace("wait = '20ms'", "start = '500ms'\nstop = '2s'").replace("'6s'", "'3s'");
    let text = text.replace("'10s'", "'1s'");
    let outcome = run_on_kernel(&text);
    let session = session(&outcome);
    assert!(!session.complete && !session.segments.is_empty() && session.segments.len() < 8);
    assert_eq!(session.end.since(session.start), Duration::from_millis(1_500));
    assert!(!outcome.connections[0].failed, "{:?}", outcome.connections[0]);
}

#[test]
#[ignore = "needs root"]
fn needs_root_viewer_leaving_during_a_response_is_no_failure() {
    // At 1 Mbit/s a response is always pending.
    let text = SCENARIO.replace("wait = '20ms'", "stop = '1500ms'").replace("'8Mbps'", "'1Mbps'");
    let text = text.replace("'6s'", "'3s'");
    let outcome = run_on_kernel(&text);
    let simulated = sim::run(&scenario(&text).experiment);
    for outcome in [&outcome, &simulated] {
        let session = session(outcome);
        assert!(!session.complete && session.segments.len() < 2, "{session:?}");
        assert_eq!(session.end.since(session.start), Duration::from_millis(1_500));
        assert!(!outcome.connections[0].failed, "{:?}", outcome.connections[0]);
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_policy_qoe_uses_the_player_state() {
    let device = "[device]\npolicy = { name = 'qoe', margin = '3s', rescue = '1s' }\n[[path]]\nname = 'wifi'";
    let text = SCENARIO.replace("[[path]]\nname = 'wifi'", device).replacen("'8Mbps'", "'40Mbps'", 1);
    let text = text.replace("duration = '4s'", "duration = '10s'").replace("'6s'", "'12s'");
    // BOLA would keep a smaller buffer.
    let text = text + "rule = 'throughput'\n";
    let outcome = run_on_kernel(&text);
    let simulated = sim::run(&scenario(&text).experiment);
    for outcome in [&outcome, &simulated] {
        assert!(session(outcome).complete, "{:?}", session(outcome));
        let column = |name| &outcome.series.columns.iter().find(|one| one.name == name).unwrap().values;
        let filled = column("connection1.buffer_s").iter().position(|&buffer| buffer >= 3.0).unwrap();
        // LTE carries data until the buffer holds the margin. What was under way by then arrives within
        // half a second.
        let bytes = |rows: &[f64]| rows.iter().sum::<f64>() * outcome.series.interval_s * 1e6 / 8.0;
        let (before, after) = column("lte.rate_down_mbps").split_at(filled + 5);
        let (before, after) = (bytes(before), bytes(after));
        assert!(before > 100_000.0, "{before} bytes over LTE while the buffer filled");
        assert!(after < 20_000.0, "{after} bytes over LTE with a full buffer");
    }
}
