//! Every combination of the kernel and Tandem's stack at the two ends of a run.

use crate::{helper, server};
use linux::socket::{self, Options, Protocol};
use scenario::Scenario;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tandem_testbed::{
    EmulatedRun, End, Error, Fault, KernelRun, Programs, Setup, StackKind, Stacks, emulate, run_with,
};
use units::Instant;

const LINKS: &str = "title = 'stacks'\nseed = 1\nduration = '6s'\nsample = '500ms'\n[device]\nname = 'phone'\n\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '20Mbps', delay = '5ms' }\n\
    up = { rate = '20Mbps', delay = '5ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '10Mbps', delay = '20ms' }\n\
    up = { rate = '10Mbps', delay = '20ms' }\n";
const FILES: &str = "[[traffic]]\nkind = 'file'\nsize = '2MB'\n\
    [[traffic]]\nkind = 'file'\nsize = '500kB'\ndirection = 'up'\nstart = '300ms'\n";

fn scenario(text: &str) -> Scenario {
    crate::parse("stacks", text)
}

fn combinations() -> [Stacks; 4] {
    let (linux, tandem) = (StackKind::Linux, StackKind::Tandem);
    [(linux, linux), (linux, tandem), (tandem, linux), (tandem, tandem)]
        .map(|(device, server)| Stacks { device, server })
}

fn run(text: &str, stacks: Stacks) -> KernelRun {
    let setup = Setup { stacks: Some(stacks), until_done: true, ..Setup::default() };
    let ran = run_with(&scenario(text).experiment, &setup, &Arc::default(), &mut |_| {}, None);
    ran.unwrap_or_else(|error| panic!("{stacks}: {error}"))
}

#[test]
#[ignore = "needs root"]
fn needs_root_files_arrive_over_both_paths_between_all_stacks() {
    for stacks in combinations() {
        let ran = run(&format!("{LINKS}[transport]\nprotocol = 'mptcp'\n{FILES}"), stacks);
        for (connection, size) in ran.outcome.connections.iter().zip([2_000_000, 500_000]) {
            assert_eq!(connection.protocol, "mptcp", "{stacks}");
            assert_eq!(connection.delivered_bytes, size, "{stacks}");
            assert!(connection.completed_s.is_some(), "{stacks}: {connection:?}");
        }
        let down = |path: usize| ran.outcome.paths[path].payload_down_bytes;
        assert!(down(0) > 500_000 && down(1) > 100_000, "{stacks}: {} and {}", down(0), down(1));
        assert_eq!(ran.stacks, stacks);
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_plain_tcp_uses_one_path_between_all_stacks() {
    for stacks in combinations() {
        let ran = run(&format!("{LINKS}[transport]\nprotocol = 'tcp'\npath = 'lte'\n{FILES}"), stacks);
        for connection in &ran.outcome.connections {
            assert_eq!(connection.protocol, "tcp", "{stacks}");
            assert!(connection.completed_s.is_some(), "{stacks}: {connection:?}");
        }
        assert_eq!(ran.outcome.paths[0].payload_down_bytes, 0, "{stacks}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_policy_closes_a_closed_path_again_on_all_stacks() {
    for stacks in combinations() {
        let text = LINKS
            .replace("name = 'phone'\n", "name = 'phone'\npolicy = 'wifi-only'\n")
            .replace("'huang2012.wifi'\n", "'huang2012.wifi'\nleave_at = '1s'\n")
            .replace("'huang2012.lte'\n", "'huang2012.lte'\njoin_at = '500ms'\n");
        let file = "[transport]\nprotocol = 'mptcp'\n[[traffic]]\nkind = 'file'\nsize = '1MB'\n";
        let ran = run(&(text + file), stacks);
        assert_eq!(ran.outcome.connections[0].delivered_bytes, 1_000_000, "{stacks}");
        assert_eq!(ran.outcome.paths[1].payload_down_bytes, 0, "{stacks}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_emtcp_divides_the_data_of_tandems_stack() {
    for stacks in combinations().into_iter().filter(|stacks| stacks.server == StackKind::Tandem) {
        let policy = "name = 'phone'\npolicy = { name = 'emtcp', share = 1 }\n";
        let file = "[transport]\nprotocol = 'mptcp'\n[[traffic]]\nkind = 'file'\nsize = '6MB'\n";
        let ran = run(&(LINKS.replace("name = 'phone'\n", policy) + file), stacks);
        let down = |path: usize| ran.outcome.paths[path].payload_down_bytes as f64;
        let lte = down(1) / (down(0) + down(1));
        // It has no share, and carries a third without the policy.
        assert!(lte < 0.02, "{stacks}: {lte}");
    }
}

#[test]
#[ignore = "needs root"]
fn needs_root_policy_and_video_act_on_all_stacks() {
    for stacks in combinations() {
        let text = LINKS.replace("name = 'phone'\n", "name = 'phone'\npolicy = 'wifi-only'\n");
        let video = "[transport]\nprotocol = 'mptcp'\n[[traffic]]\nkind = 'video'\nmanifest = \
                     { bitrates = '4Mbps', duration = '2s', segment = '500ms' }\n";
        let ran = run(&(text + video), stacks);
        let connection = &ran.outcome.connections[0];
        assert!(connection.completed_s.is_some(), "{stacks}: {connection:?}");
        assert_eq!(connection.video.as_ref().map(|session| session.segments.len()), Some(4), "{stacks}");
        assert_eq!(ran.outcome.paths[1].payload_down_bytes, 0, "{stacks}");
    }
}

#[test]
fn combinations_that_cannot_run_are_refused_before_anything_starts() {
    let refused = |text: &str, setup: Setup| {
        let ran = run_with(&scenario(text).experiment, &setup, &Arc::default(), &mut |_| {}, None);
        match ran {
            Err(Error::Unsupported { reason, .. }) => reason,
            other => panic!("{other:?}"),
        }
    };
    let tandem = Setup { stacks: Some(Stacks::TANDEM), ..Setup::default() };
    let rec = format!("{LINKS}[transport]\nprotocol = 'mptcp-rec'\n[[traffic]]\nkind = 'bulk'\n");
    let reason = refused(&rec, Setup { stacks: Some(Stacks::default()), ..Setup::default() });
    assert!(reason.contains("MPTCP-rec"), "{reason}");
    let mptcp = format!("{LINKS}[transport]\nprotocol = 'mptcp'\n{FILES}");
    let change = (Instant::from_secs(1), Fault::AddressChange { path: 0 });
    let reason = refused(&mptcp, Setup { faults: vec![change], ..tandem });
    assert!(reason.contains("device=tandem"), "{reason}");
}

/// Runs two helper programs, with Tandem's stack at the server.
fn emulate_parts(client: &str, server: Command) -> EmulatedRun {
    let text = format!("{LINKS}[transport]\nprotocol = 'mptcp'\n{FILES}");
    let programs = Programs {
        command: helper(client),
        server: Some(server),
        server_stack: StackKind::Tandem,
        multipath: true,
        limit: None,
        proxied: None,
        uplink: false,
        offload: true,
        finished: Arc::default(),
    };
    emulate(&scenario(&text).experiment, programs, None, None).expect("the run succeeds")
}

#[test]
#[ignore = "helper program of other tests"]
fn a_server_that_waits_for_a_request() {
    let Some(address) = server() else { return };
    let listener = std::net::TcpListener::bind(address).expect("a free port");
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let ended = stream.read(&mut [0]).map_err(|error| error.kind());
    let result = std::env::var("TANDEM_TEST_RESULT").expect("set by the test");
    std::fs::write(result, format!("{ended:?}")).expect("a writable folder");
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client_that_resets() {
    let Some(address) = server() else { return };
    let stream = TcpStream::connect(address).expect("the stack accepts");
    std::thread::sleep(Duration::from_millis(500));
    socket::abort(&stream).expect("connected");
    std::thread::sleep(Duration::from_millis(1500));
}

#[test]
#[ignore = "needs root"]
fn needs_root_reset_of_the_device_reaches_the_program_behind_the_stack() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = folder.path().join("result");
    let mut server = helper("stacks::a_server_that_waits_for_a_request");
    server.env("TANDEM_TEST_RESULT", &result);
    assert_eq!(emulate_parts("stacks::a_client_that_resets", server).end, End::Exited(0));
    let ended = std::fs::read_to_string(result).expect("the server's read has ended");
    assert_eq!(ended, format!("{:?}", Err::<usize, _>(ErrorKind::ConnectionReset)));
}

#[test]
#[ignore = "helper program of other tests"]
fn a_server_that_accepts_nothing() {
    let Some(address) = server() else { return };
    let options = Options { backlog: Some(0), ..Options::default() };
    let _listener = socket::listen(address, Protocol::Tcp, &options).expect("a free port");
    let _udp = std::net::UdpSocket::bind(address).expect("a free port");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client_with_many_connections() {
    let Some(address) = server() else { return };
    let all: Vec<TcpStream> = (0..4).filter_map(|_| TcpStream::connect(address).ok()).collect();
    // The kernel has repeated the SYNs of the relay after 1 and 3 s; the next ones follow after 7 s.
    std::thread::sleep(Duration::from_millis(3500));
    drop(all);
}

#[test]
#[ignore = "needs root"]
fn needs_root_run_ends_in_time_while_the_program_behind_the_stack_accepts_nothing() {
    let begun = std::time::Instant::now();
    let run = emulate_parts(
        "stacks::a_client_with_many_connections",
        helper("stacks::a_server_that_accepts_nothing"),
    );
    let seconds = begun.elapsed().as_secs_f64() - run.duration.as_secs_f64();
    assert_eq!(run.end, End::Exited(0));
    assert!(seconds < 2.5, "{seconds} s beyond the run");
    assert!(run.server_lacks_udp && run.lost_packets == 0);
}
