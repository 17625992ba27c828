//! Programs of the user in the namespaces, with the kernel at both ends.

use crate::{helper, server};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use tandem_testbed::{EmulatedRun, End, Programs, StackKind, emulate};
use units::Duration;

/// Runs two programs over one path of 8 Mbit/s with this loss. They use plain TCP.
fn run(loss: f64, command: Command, limit: Option<Duration>) -> EmulatedRun {
    let text = format!(
        "seed = 1\nduration = '9s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
         down = {{ rate = '8Mbps', delay = '5ms' }}\nup = {{ rate = '8Mbps', delay = '5ms', loss = {loss} }}\n\
         [[traffic]]\nkind = 'bulk'\n"
    );
    let programs = Programs {
        command,
        server: Some(helper("emulated::a_server_that_reads")),
        server_stack: StackKind::Linux,
        multipath: false,
        limit,
        proxied: None,
        uplink: false,
        offload: true,
        finished: Arc::default(),
    };
    emulate(&crate::parse("emulated", &text).experiment, programs, None, None).expect("the run succeeds")
}

#[test]
#[ignore = "helper program of other tests"]
fn a_server_that_reads() {
    let Some(address) = server() else { return };
    let listener = TcpListener::bind(address).expect("a free port");
    let (mut stream, _) = listener.accept().expect("a connection");
    // Until the end of the run, which may reset the connection.
    _ = std::io::copy(&mut stream, &mut std::io::sink());
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client_that_writes() {
    let Some(address) = server() else { return };
    let mut stream = TcpStream::connect(address).expect("the server listens");
    _ = std::io::copy(&mut std::io::repeat(0), &mut stream);
}

#[test]
#[ignore = "needs root"]
fn needs_root_traffic_after_the_limit_does_not_count() {
    let client = helper("emulated::a_client_that_writes");
    let mut ignores_sigterm = Command::new("sh");
    ignores_sigterm.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(client.get_program());
    ignores_sigterm.args(client.get_args());
    let run = run(0.0, ignores_sigterm, Some(Duration::from_secs(1)));
    assert_eq!(run.end, End::TimedOut);
    let path = &run.outcome.paths[0];
    assert!(path.rate_up_mbps > 0.5 && path.rate_up_mbps < 8.0, "{path:?}");
}

#[test]
#[ignore = "needs root"]
fn needs_root_retransmissions_of_plain_tcp_count_beside_multipath() {
    let client = helper("emulated::a_client_that_writes");
    let run = run(0.05, client, Some(Duration::from_secs(2)));
    let path = &run.outcome.paths[0];
    assert!(path.lost_packets > 5 && path.retransmissions > path.lost_packets / 2, "{path:?}");
}
