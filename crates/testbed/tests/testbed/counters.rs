//! The analysis of a run's capture agrees with the kernel's counters of each subflow.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use linux::socket::TcpInfo;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tandem_testbed::{Setup, run_with};

/// Sends for two seconds over lossy paths, then pauses: the counters are stable at the end.
fn scenario(direction: &str) -> String {
    format!(
        "title = 'x'\nseed = 1\nduration = '6s'\n[device]\nname = 'x'\n\
         [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
         down = {{ rate = '10Mbps', delay = '5ms', loss = 0.01 }}\n\
         up = {{ rate = '10Mbps', delay = '5ms', loss = 0.01 }}\n\
         [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n\
         down = {{ rate = '8Mbps', delay = '30ms', queue = '40 packets' }}\n\
         up = {{ rate = '8Mbps', delay = '30ms', queue = '40 packets' }}\n\
         [[traffic]]\nkind = 'on-off'\nrate = '14Mbps'\non = '2s'\noff = '60s'\ndirection = '{direction}'\n"
    )
}

/// Sends in both directions until the end, which cuts the connections with data in flight.
fn busy_scenario() -> String {
    let bulk = "[[traffic]]\nkind = 'bulk'\ndirection = ";
    let paths = scenario("down").replace("'6s'", "'3s'");
    let (paths, _) = paths.split_once("[[traffic]]").unwrap();
    format!("{paths}{bulk}'down'\n{bulk}'up'\n")
}

/// Runs a scenario. Returns the analysis of its capture, and the device's counters of each subflow
/// by local address.
fn run(text: &str, offload: bool, connections: usize) -> (capture::Summary, BTreeMap<SocketAddr, TcpInfo>) {
    let mut experiment = crate::parse("counters", text).experiment;
    experiment.capture = true;
    let setup = Setup { offload, ..Setup::default() };
    let ran = run_with(&experiment, &setup, &Arc::default(), &mut |_| {}, None).unwrap();
    let summary = capture::analyse(ran.outcome.capture.as_deref().unwrap(), &mut |_| {}).unwrap();
    assert_eq!((summary.ended, &summary.notes), ("whole", &Vec::new()));
    let kernel: BTreeMap<_, _> = ran.subflows[0].iter().map(|one| (one.local, one.tcp)).collect();
    assert_eq!(summary.connections.len(), connections, "{:#?}", summary.connections);
    assert!(summary.connections.iter().all(|connection| connection.subflows.len() == 2));
    assert_eq!(kernel.len(), 2 * connections, "subflows of the device: {kernel:#?}");
    (summary, kernel)
}

#[test]
#[ignore = "needs root"]
fn needs_root_capture_of_an_upload_agrees_with_kernel() {
    for offload in [true, false] {
        let (summary, kernel) = run(&scenario("up"), offload, 1);
        for subflow in &summary.connections[0].subflows {
            let (up, tcp) = (&subflow.up, kernel[&subflow.client]);
            assert_eq!(up.payload_bytes, tcp.bytes_sent, "sent over {}", subflow.path);
            assert_eq!(
                up.retransmitted_bytes, tcp.bytes_retransmitted,
                "retransmitted over {}",
                subflow.path
            );
            let segments = u64::from(tcp.total_retransmitted);
            assert_eq!(up.retransmitted_segments, segments, "retransmitted segments over {}", subflow.path);
            assert_eq!(up.unmapped_bytes, 0);
            assert!(up.payload_bytes > 500_000, "{}: {up:?}", subflow.path);
            // The peer acknowledges each payload byte once, and the SYN as one byte.
            assert_eq!(up.payload_bytes - up.retransmitted_bytes, tcp.bytes_acked - 1, "{}", subflow.path);
        }
        let retransmitted: u64 =
            summary.connections[0].subflows.iter().map(|one| one.up.retransmitted_segments).sum();
        assert!(retransmitted > 0, "the paths lose packets");
        assert_eq!(summary.connections[0].up.seen_near, Some("sender"));
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_capture_of_a_download_agrees_with_kernel() {
    let (summary, kernel) = run(&scenario("down"), true, 1);
    for subflow in &summary.connections[0].subflows {
        let (down, tcp) = (&subflow.down, kernel[&subflow.client]);
        let once = down.payload_bytes - down.retransmitted_bytes;
        assert_eq!(once, tcp.bytes_received, "received over {}", subflow.path);
        assert_eq!(down.unmapped_bytes, 0);
        assert!(once > 500_000, "{}: {down:?}", subflow.path);
        let rtt = subflow.rtt.unwrap();
        assert_eq!((rtt.to, rtt.by), ("server", "timestamps"));
        assert!(rtt.min_ms >= if subflow.path == "wifi" { 10.0 } else { 60.0 }, "{rtt:?}");
    }
    assert_eq!(summary.connections[0].down.seen_near, Some("receiver"));
    assert_eq!(summary.connections[0].down.missing_bytes, 0);
}

#[test]
#[ignore = "needs root"]
fn needs_root_capture_of_an_interrupted_run_agrees_with_kernel() {
    let (summary, kernel) = run(&busy_scenario(), true, 2);
    for subflow in summary.connections.iter().flat_map(|connection| &connection.subflows) {
        let tcp = kernel[&subflow.client];
        assert_eq!(subflow.down.in_order_bytes, Some(tcp.bytes_received), "received: {subflow:?}");
        assert_eq!(subflow.up.acknowledged_bytes, Some(tcp.bytes_acked - 1), "acknowledged: {subflow:?}");
        assert!(tcp.bytes_received + tcp.bytes_acked > 100_000, "{tcp:?}");
    }
}
