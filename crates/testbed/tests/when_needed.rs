//! The policy `when-needed` on the real kernel: a stream loses nothing, and LTE carries what Wi-Fi could not.

use policy::PolicyConfig;
use std::sync::Arc;
use tandem_testbed::{Error, Ran, run};
use units::Duration;

/// The stream's rate, in Mbit/s.
const STREAM: f64 = 5.0;
/// On the wire: headers of IP, TCP and MPTCP beside 1400 bytes, and acknowledgements, rounded up.
const ON_THE_WIRE: f64 = STREAM * 1.06;
/// What Wi-Fi carries: from that second on, so many Mbit/s. It weakens, is well again, dies without a word, comes
/// back as a trickle, and is well.
const WIFI: [(f64, f64); 6] = [(0.0, 20.0), (2.0, 3.0), (4.0, 20.0), (5.0, 0.0), (6.5, 0.7), (7.5, 20.0)];
/// Seconds.
const END: f64 = 10.0;
/// The stated margin: each time LTE goes on it may carry the whole stream for so many seconds more. A look of the
/// policy, a round trip of 60 ms, and what the scheduler gives a path before MP_PRIO is heard.
const MARGIN_S: f64 = 0.2;

fn scenario() -> String {
    let steps = WIFI.map(|(from, rate)| format!("['{from}s', '{rate}Mbps']")).join(", ");
    format!(
        "seed = 1\nduration = '{END}s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
         down = {{ rate = {{ steps = [{steps}] }}, delay = '5ms', queue = '200 packets' }}\n\
         up = {{ rate = '10Mbps', delay = '5ms' }}\n[[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n\
         down = {{ rate = '30Mbps', delay = '25ms', queue = '1MB' }}\nup = {{ rate = '10Mbps', delay = '25ms' }}\n\
         [transport]\npreset = 'linux'\n\
         [[traffic]]\nkind = 'cbr'\nrate = '{STREAM}Mbps'\npacket = '1400B'\non_full = 'drop'\n"
    )
}

/// What Wi-Fi cannot carry of the stream, whoever decides, in megabytes.
fn needed_mb() -> f64 {
    let ends = WIFI.iter().skip(1).map(|step| step.0).chain([END]);
    let lacks = |(step, end): (&(f64, f64), f64)| (ON_THE_WIRE - step.1).max(0.0) * (end - step.0) / 8.0;
    WIFI.iter().zip(ends).map(lacks).sum()
}

fn run_with_policy(policy: &str) -> Result<Ran, Error> {
    let nothing = |_: &str| Err("no such file".to_owned());
    let scenario = scenario::Scenario::parse("when-needed", &scenario(), &nothing).expect("it is valid");
    let mut experiment = scenario.experiment;
    experiment.device.policy = policy.parse::<PolicyConfig>().expect("a policy");
    run(&experiment, &Arc::default(), &mut |_| {})
}

/// Down over LTE, headers and all, in megabytes.
fn lte_mb(ran: &Ran) -> f64 {
    ran.outcome.paths[1].wire_down_bytes as f64 * 1e-6
}

#[test]
fn a_stream_loses_nothing_and_lte_carries_what_wifi_cannot() {
    let runs = std::thread::scope(|scope| {
        ["none", "when-needed"]
            .map(|policy| scope.spawn(move || run_with_policy(policy)))
            .map(std::thread::ScopedJoinHandle::join)
    });
    let runs: Result<Vec<Ran>, Error> = runs.into_iter().map(|run| run.expect("no run panics")).collect();
    let runs = match runs {
        Ok(runs) => runs,
        Err(Error::System(linux::Error::Lacks { what, hint })) => {
            println!("skipped: {what}; {hint}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let [plain, ran] = &runs[..] else { panic!("two runs") };
    let times_on = ran.outcome.device.policy_changes.div_ceil(2);
    let margin = times_on as f64 * MARGIN_S * ON_THE_WIRE / 8.0;
    let told = format!(
        "Wi-Fi lacks {:.2} MB; LTE carried {:.2} MB, on {times_on} times (margin {margin:.2} MB); under plain MPTCP {:.2} MB",
        needed_mb(),
        lte_mb(ran),
        lte_mb(plain),
    );
    println!("{told}");
    for ran in &runs {
        let connection = &ran.outcome.connections[0];
        assert!(!connection.failed);
        assert_eq!(connection.dropped_bytes, 0, "{told}");
        // What is under way at the end, with Wi-Fi well for seconds: less than a quarter of a second of it.
        let under_way = connection.offered_bytes - connection.delivered_bytes;
        assert!(
            Duration::from_millis(250)
                > units::Bitrate::from_mbps(STREAM).time_for(units::Bytes::new(under_way)),
            "{under_way} bytes: {told}"
        );
    }
    assert!(times_on >= 2, "{told}");
    assert!(lte_mb(ran) > 0.1 * needed_mb(), "{told}");
    assert!(lte_mb(ran) <= needed_mb() + margin, "{told}");
}
