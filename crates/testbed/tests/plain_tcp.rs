//! Plain TCP over one path of the test bed: what it sent again is counted as with Multipath TCP.

use std::sync::Arc;
use tandem_testbed::{Error, run};

#[test]
fn what_plain_tcp_sends_again_is_counted() {
    let text = "seed = 1\nduration = '2s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
        down = { rate = '10Mbps', delay = '10ms', queue = '10 packets' }\nup = { rate = '10Mbps', delay = '10ms' }\n\
        [transport]\nprotocol = 'tcp'\npath = 'wifi'\ncongestion = 'reno'\n[[traffic]]\nkind = 'bulk'\n";
    let nothing = |_: &str| Err("no such file".to_owned());
    let scenario = scenario::Scenario::parse("plain", text, &nothing).expect("it is valid");
    let ran = match run(&scenario.experiment, &Arc::default(), &mut |_| {}) {
        Ok(ran) => ran,
        Err(Error::System(linux::Error::Lacks { what, hint })) => {
            println!("skipped: {what}; {hint}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let path = &ran.outcome.paths[0];
    assert!(path.dropped_packets > 0, "the queue is short: {path:?}");
    // Each at least once, but for those of the last moments.
    assert!(path.retransmissions * 2 >= path.dropped_packets, "{path:?}");
    let column = |name: &str| ran.outcome.series.column(name).expect("every path has it").values.clone();
    assert!(column("wifi.srtt_ms").iter().any(|milliseconds| *milliseconds >= 20.0));
    assert!(column("wifi.cwnd_kb").iter().any(|kilobytes| *kilobytes > 0.0));
}
