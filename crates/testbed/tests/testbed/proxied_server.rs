//! A server that supports only TCP, behind a proxy that supports Multipath TCP.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use tandem_testbed::{
    End, KernelRun, Programs, ProxiedContent, ProxySetup, Setup, StackKind, emulate, run_with,
};
use units::{Bitrate, Duration};

const PATHS: &str = "\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '8Mbps', delay = '10ms' }\nup = { rate = '4Mbps', delay = '10ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '8Mbps', delay = '20ms' }\nup = { rate = '4Mbps', delay = '20ms' }\n";

fn proxy_setup() -> ProxySetup {
    ProxySetup {
        delay: Duration::from_micros(12_375),
        rate: Bitrate::from_mbps(1000.0),
        send_buffer: None,
        ahead: ProxySetup::DEFAULT_AHEAD,
    }
}

/// Runs traffic over [`PATHS`] through the proxy. Writes the packets to `capture`.
fn run_traffic(traffic: &str, capture: Option<&File>) -> KernelRun {
    run_scenario(proxy_setup(), &format!("{traffic}\n{PATHS}"), capture)
}

/// Runs a scenario with a proxy between its paths and the server.
fn run_scenario(proxy: ProxySetup, text: &str, capture: Option<&File>) -> KernelRun {
    let mut scenario = crate::parse("proxied", text);
    scenario.experiment.capture = capture.is_some();
    let setup = Setup { proxy: Some(proxy), until_done: true, ..Setup::default() };
    let ran = run_with(&scenario.experiment, &setup, &Arc::default(), &mut |_| {}, capture);
    ran.expect("the run succeeds")
}

#[test]
#[ignore = "needs root"]
fn needs_root_video_of_a_tcp_server_arrives_over_both_paths() {
    let ran = run_traffic(
        "seed = 1\nduration = '6s'\n[[traffic]]\nkind = 'video'\nmanifest = { bitrates = '4Mbps', duration = '4s', segment = '500ms' }\nbuffer = '10s'\n",
        None,
    );
    let connection = &ran.outcome.connections[0];
    assert!(!connection.failed && connection.completed_s.is_some(), "{connection:?}");
    assert!(ran.outcome.paths.iter().all(|path| path.payload_down_bytes > 0), "{:?}", ran.outcome.paths);
    let session = connection.video.as_ref().expect("the connection carries video");
    // The run ends when the video has arrived; the record covers the complete playback.
    assert_eq!((session.played, session.complete), (Duration::from_secs(4), true));
    // RTT of the link behind the proxy plus that of the shorter path.
    let min_delay = Duration::from_micros(2 * (12_375 + 10_000));
    assert!(session.segments.iter().all(|s| s.first_byte.since(s.asked) >= min_delay), "{session:?}");
    let proxy = ran.proxy.expect("the run has a proxy");
    assert_eq!((proxy.accepted_mptcp, proxy.tunnels), (1, 1), "{proxy:?}");
}

#[test]
#[ignore = "needs root"]
fn needs_root_file_of_a_tcp_server_arrives_intact() {
    let traffic = "seed = 1\nduration = '4s'\n[[traffic]]\nkind = 'file'\nsize = '2MB'\n";
    let ran = run_traffic(traffic, None);
    let connection = &ran.outcome.connections[0];
    assert_eq!(connection.delivered_bytes, 2_000_000);
    assert!(connection.completed_s.is_some(), "{connection:?}");
}

#[test]
#[ignore = "needs root"]
fn needs_root_capture_read_during_the_run_agrees_with_path_counters() {
    for transport in ["'mptcp'", "'tcp'\npath = 'lte'"] {
        let traffic = format!(
            "seed = 1\nduration = '5s'\n[transport]\nprotocol = {transport}\n[[traffic]]\nkind = 'video'\nmanifest = {{ \
             bitrates = '4Mbps', duration = '3s', segment = '500ms' }}\nbuffer = '10s'\n"
        );
        let (reader, writer) = io::pipe().expect("a pipe");
        let writer = File::from(OwnedFd::from(writer));
        let reading = thread::spawn(move || capture::analyse(BufReader::new(reader), &mut |_| {}));
        let ran = run_traffic(&traffic, Some(&writer));
        drop(writer);
        let summary = reading.join().expect("the analysis does not panic").expect("the capture is valid");
        for path in &ran.outcome.paths {
            let captured = summary.payload_down_bytes(&path.name);
            assert_eq!(captured, path.payload_down_bytes, "{transport}, {}", path.name);
        }
        let wifi = &ran.outcome.paths[0];
        assert_eq!(wifi.payload_down_bytes > 0, transport == "'mptcp'", "{wifi:?}");
        assert!(ran.outcome.paths[1].payload_down_bytes > 0);
    }
}

/// Completion time in seconds of a file over steady LTE and a Wi-Fi whose rate drops during the
/// transfer. `ahead` is the write-ahead of the proxy.
fn completion_over_weakening_wifi(ahead: Duration) -> f64 {
    let text = "seed = 1\nduration = '30s'\n[[traffic]]\nkind = 'file'\nsize = '14MB'\n\
        [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\nup = { rate = '4Mbps', delay = '10ms' }\n\
        down = { rate = { steps = [['0s', '20Mbps'], ['3s', '1Mbps']] }, delay = '10ms', queue = '50ms' }\n\
        [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\nup = { rate = '4Mbps', delay = '20ms' }\n\
        down = { rate = '10Mbps', delay = '20ms', queue = '50ms' }\n\
        [transport]\npreset = 'linux'\n";
    let ran = run_scenario(ProxySetup { ahead, ..proxy_setup() }, text, None);
    let connection = &ran.outcome.connections[0];
    assert_eq!(connection.delivered_bytes, 14_000_000);
    connection.completed_s.expect("the file is complete")
}

#[test]
#[ignore = "needs root"]
fn needs_root_limited_write_ahead_completes_sooner_over_a_weakening_path() {
    let [limited, unlimited] = thread::scope(|scope| {
        [ProxySetup::DEFAULT_AHEAD, Duration::ZERO]
            .map(|ahead| scope.spawn(move || completion_over_weakening_wifi(ahead)))
            .map(|run| run.join().expect("no run panics"))
    });
    println!("limited {limited:.2} s, unlimited {unlimited:.2} s");
    // Without a limit, data queued for Wi-Fi before its rate drops delays the file's end.
    assert!(limited < 0.8 * unlimited, "limited {limited:.2} s, unlimited {unlimited:.2} s");
}

/// Bash commands that act as a browser: one request to the proxy, then no exit.
const BROWSER_COMMANDS: &str = "exec 3<>/dev/tcp/10.77.255.1/3128; \
    printf 'GET http://10.78.0.2/a HTTP/1.1\\r\\nHost: 10.78.0.2\\r\\n\\r\\n' >&3; exec sleep 1000";

#[test]
#[ignore = "needs root"]
fn needs_root_program_fetches_proxied_content_until_caller_is_finished() {
    let text = format!("seed = 1\nduration = '4s'\n[[traffic]]\nkind = 'file'\nsize = '2MB'\n{PATHS}");
    let scenario = crate::parse("proxied", &text);
    let (listener, serving) = mpsc::channel::<std::net::TcpListener>();
    let finished = Arc::<AtomicBool>::default();
    let response_sent = Arc::clone(&finished);
    let server = thread::spawn(move || -> io::Result<Vec<u8>> {
        let Ok(listener) = serving.recv() else { return Ok(Vec::new()) };
        let (mut stream, _) = listener.accept()?;
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")?;
        request.truncate(length);
        response_sent.store(true, Ordering::Relaxed);
        Ok(request)
    });
    let mut command = Command::new("bash");
    command.args(["-c", BROWSER_COMMANDS]);
    let programs = Programs {
        command,
        server: None,
        server_stack: StackKind::Linux,
        multipath: true,
        limit: Some(Duration::from_secs(60)),
        proxied: Some(ProxiedContent { setup: proxy_setup(), listener }),
        uplink: false,
        offload: true,
        finished,
    };
    let emulated = emulate(&scenario.experiment, programs, None, None).expect("the run succeeds");
    let request = server.join().expect("the server does not panic").expect("the proxy connects");
    assert!(request.starts_with(b"GET /a HTTP/1.1\r\n"), "{:?}", String::from_utf8_lossy(&request));
    assert_eq!(emulated.end, End::Finished);
    assert_eq!((emulated.multipath.requested, emulated.multipath.accepted), (1, 1));
}
