//! What `tandem capture` makes of a run's capture agrees with the kernel's own counters of each subflow.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use linux::namespace::Namespace;
use linux::socket::TcpInfo;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tandem_testbed::{Setup, run_with};

/// Sends for two seconds over paths that lose, then is silent: at the end the counters stand still.
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

/// Sends until the end, in both directions: the run is cut wherever it is.
fn busy() -> String {
    let bulk = "[[traffic]]\nkind = 'bulk'\ndirection = ";
    let paths = scenario("down").replace("'6s'", "'3s'");
    let (paths, _) = paths.split_once("[[traffic]]").unwrap();
    format!("{paths}{bulk}'down'\n{bulk}'up'\n")
}

/// The capture's reading of a run, and what the device's kernel counted of each subflow, by its address.
fn run(
    text: &str,
    offload: bool,
    connections: usize,
) -> Option<(capture::Summary, BTreeMap<SocketAddr, TcpInfo>)> {
    if Namespace::create().is_err() || !std::fs::exists("/dev/net/tun").unwrap_or(false) {
        eprintln!("skipped: this needs root and /dev/net/tun");
        return None;
    }
    let nothing = |_: &str| Err("no such file".to_owned());
    let mut experiment = scenario::Scenario::parse("counters", text, &nothing).unwrap().experiment;
    experiment.capture = true;
    let setup = Setup { offload, ..Setup::default() };
    let ran = run_with(&experiment, &setup, &Arc::default(), &mut |_| {}, None).unwrap();
    let summary = capture::analyse(ran.outcome.capture.as_deref().unwrap(), &mut |_| {}).unwrap();
    assert_eq!((summary.ended, &summary.notes), ("whole", &Vec::new()));
    let kernel: BTreeMap<_, _> = ran.subflows[0].iter().map(|one| (one.local, one.tcp)).collect();
    assert_eq!(summary.connections.len(), connections, "{:#?}", summary.connections);
    assert!(summary.connections.iter().all(|connection| connection.subflows.len() == 2));
    assert_eq!(kernel.len(), 2 * connections, "subflows of the device: {kernel:#?}");
    Some((summary, kernel))
}

#[test]
fn of_an_upload() {
    for offload in [true, false] {
        let Some((summary, kernel)) = run(&scenario("up"), offload, 1) else { return };
        for subflow in &summary.connections[0].subflows {
            let (up, tcp) = (&subflow.up, kernel[&subflow.client]);
            assert_eq!(up.payload_bytes, tcp.bytes_sent, "sent over {}", subflow.path);
            assert_eq!(up.retransmitted_bytes, tcp.bytes_retransmitted, "sent again over {}", subflow.path);
            let segments = u64::from(tcp.total_retransmitted);
            assert_eq!(up.retransmitted_segments, segments, "segments again over {}", subflow.path);
            assert_eq!(up.unmapped_bytes, 0);
            assert!(up.payload_bytes > 500_000, "{}: {up:?}", subflow.path);
            // Acknowledged is what was sent once, and the SYN.
            assert_eq!(up.payload_bytes - up.retransmitted_bytes, tcp.bytes_acked - 1, "{}", subflow.path);
        }
        let again: u64 =
            summary.connections[0].subflows.iter().map(|one| one.up.retransmitted_segments).sum();
        assert!(again > 0, "nothing was lost");
        assert_eq!(summary.connections[0].up.seen_near, Some("sender"));
    }
}

#[test]
fn of_a_download() {
    let Some((summary, kernel)) = run(&scenario("down"), true, 1) else { return };
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
fn of_a_run_that_is_cut_in_the_middle() {
    let Some((summary, kernel)) = run(&busy(), true, 2) else { return };
    for subflow in summary.connections.iter().flat_map(|connection| &connection.subflows) {
        let tcp = kernel[&subflow.client];
        assert_eq!(subflow.down.in_order_bytes, Some(tcp.bytes_received), "received: {subflow:?}");
        assert_eq!(subflow.up.acknowledged_bytes, Some(tcp.bytes_acked - 1), "acknowledged: {subflow:?}");
        assert!(tcp.bytes_received + tcp.bytes_acked > 100_000, "{tcp:?}");
    }
}
