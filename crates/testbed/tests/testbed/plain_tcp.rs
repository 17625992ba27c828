//! Plain TCP over one path: retransmissions, RTT and congestion window are measured as with MPTCP.

use std::sync::Arc;
use tandem_testbed::run;

#[test]
#[ignore = "needs root"]
fn needs_root_retransmissions_of_plain_tcp_are_counted() {
    let text = "seed = 1\nduration = '2s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
        down = { rate = '10Mbps', delay = '10ms', queue = '10 packets' }\nup = { rate = '10Mbps', delay = '10ms' }\n\
        [transport]\nprotocol = 'tcp'\npath = 'wifi'\ncongestion = 'reno'\n[[traffic]]\nkind = 'bulk'\n";
    let scenario = crate::parse("plain", text);
    let ran = run(&scenario.experiment, &Arc::default(), &mut |_| {}).expect("the run succeeds");
    let path = &ran.outcome.paths[0];
    assert!(path.dropped_packets > 0, "the queue is short: {path:?}");
    // Each dropped packet is retransmitted at least once, except those of the last moments.
    assert!(path.retransmissions * 2 >= path.dropped_packets, "{path:?}");
    let column = |name: &str| ran.outcome.series.column(name).expect("the column exists").values.clone();
    assert!(column("wifi.srtt_ms").iter().any(|milliseconds| *milliseconds >= 20.0));
    assert!(column("wifi.cwnd_kb").iter().any(|kilobytes| *kilobytes > 0.0));
}
