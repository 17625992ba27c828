//! The policy `when-needed` on the real kernel: a stream loses no data, and LTE carries only the
//! part that exceeds the rate of Wi-Fi.

use policy::PolicyConfig;
use std::sync::Arc;
use tandem_testbed::{KernelRun, run};
use units::Duration;

/// Rate of the stream in Mbit/s.
const STREAM_MBPS: f64 = 5.0;
/// Rate of the stream on the wire in Mbit/s, rounded up: IP, TCP and MPTCP headers for each 1400
/// bytes, and acknowledgements.
const WIRE_MBPS: f64 = STREAM_MBPS * 1.06;
/// Start in seconds and rate in Mbit/s of each phase of Wi-Fi: good, weak, good, silent, very
/// weak, good.
const WIFI_PHASES: [(f64, f64); 6] =
    [(0.0, 20.0), (2.0, 3.0), (4.0, 20.0), (5.0, 0.0), (6.5, 0.7), (7.5, 20.0)];
/// Duration of the run in seconds.
const DURATION_S: f64 = 10.0;
/// Tolerance per activation of LTE, in seconds: LTE may carry the whole stream for this time,
/// beyond the excess. It covers an interval of the policy (50 ms), an RTT over LTE (50 ms without
/// a queue), and the data that the scheduler assigns to LTE before the server receives MP_PRIO.
const MARGIN_S: f64 = 0.2;

fn scenario() -> String {
    let steps = WIFI_PHASES.map(|(from, rate)| format!("['{from}s', '{rate}Mbps']")).join(", ");
    format!(
        "seed = 1\nduration = '{DURATION_S}s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
         down = {{ rate = {{ steps = [{steps}] }}, delay = '5ms', queue = '200 packets' }}\n\
         up = {{ rate = '10Mbps', delay = '5ms' }}\n[[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n\
         down = {{ rate = '30Mbps', delay = '25ms', queue = '1MB' }}\nup = {{ rate = '10Mbps', delay = '25ms' }}\n\
         [transport]\npreset = 'linux'\n\
         [[traffic]]\nkind = 'cbr'\nrate = '{STREAM_MBPS}Mbps'\npacket = '1400B'\non_full = 'drop'\n"
    )
}

/// The part of the stream that exceeds the rate of Wi-Fi, in megabytes.
fn needed_mb() -> f64 {
    let ends = WIFI_PHASES.iter().skip(1).map(|phase| phase.0).chain([DURATION_S]);
    let excess = |(phase, end): (&(f64, f64), f64)| (WIRE_MBPS - phase.1).max(0.0) * (end - phase.0) / 8.0;
    WIFI_PHASES.iter().zip(ends).map(excess).sum()
}

fn run_with_policy(policy: &str) -> KernelRun {
    let scenario = crate::parse("when-needed", &scenario());
    let mut experiment = scenario.experiment;
    experiment.device.policy = policy.parse::<PolicyConfig>().expect("the policy is valid");
    run(&experiment, &Arc::default(), &mut |_| {}).expect("the run succeeds")
}

/// Bytes received over LTE with headers, in megabytes.
fn lte_mb(run: &KernelRun) -> f64 {
    run.outcome.paths[1].wire_down_bytes as f64 * 1e-6
}

#[test]
#[ignore = "needs root"]
fn needs_root_stream_is_complete_and_lte_carries_only_the_excess_over_wifi() {
    let runs = std::thread::scope(|scope| {
        ["none", "when-needed"]
            .map(|policy| scope.spawn(move || run_with_policy(policy)))
            .map(std::thread::ScopedJoinHandle::join)
    });
    let runs = runs.map(|run| run.expect("no run panics"));
    let [without_policy, with_policy] = &runs;
    // Each activation is two changes: LTE becomes regular, and then backup again.
    let activations = with_policy.outcome.device.policy_changes.div_ceil(2);
    let margin = activations as f64 * MARGIN_S * WIRE_MBPS / 8.0;
    let summary = format!(
        "excess over Wi-Fi {:.2} MB; LTE carried {:.2} MB in {activations} activations (margin {margin:.2} MB), \
         without a policy {:.2} MB",
        needed_mb(),
        lte_mb(with_policy),
        lte_mb(without_policy),
    );
    println!("{summary}");
    for run in &runs {
        let connection = &run.outcome.connections[0];
        assert!(!connection.failed);
        assert_eq!(connection.dropped_bytes, 0, "{summary}");
        // Wi-Fi is good in the last 2.5 s: less than 250 ms of the stream is in flight at the
        // end.
        let in_flight = connection.offered_bytes - connection.delivered_bytes;
        assert!(
            Duration::from_millis(250)
                > units::Bitrate::from_mbps(STREAM_MBPS).time_for(units::Bytes::new(in_flight)),
            "{in_flight} bytes: {summary}"
        );
    }
    assert!(activations >= 2, "{summary}");
    assert!(lte_mb(with_policy) > 0.1 * needed_mb(), "{summary}");
    assert!(lte_mb(with_policy) <= needed_mb() + margin, "{summary}");
}
