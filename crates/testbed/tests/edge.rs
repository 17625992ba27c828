//! A server that speaks TCP alone, behind a proxy that speaks Multipath TCP.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use tandem_testbed::{Content, Edge, End, Error, Programs, Ran, Setup, emulate, run_with};
use units::{Bitrate, Duration};

const PATHS: &str = "\
    [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\ndown = { rate = '8Mbps', delay = '10ms' }\nup = { rate = '4Mbps', delay = '10ms' }\n\
    [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\ndown = { rate = '8Mbps', delay = '20ms' }\nup = { rate = '4Mbps', delay = '20ms' }\n";

fn edge() -> Edge {
    Edge {
        delay: Duration::from_micros(12_375),
        rate: Bitrate::from_mbps(1000.0),
        send_buffer: None,
        ahead: Edge::AHEAD,
    }
}

/// `None` where the system lacks what it takes.
fn through_a_proxy(traffic: &str) -> Option<Ran> {
    captured_through_a_proxy(traffic, None)
}

/// The same, with a capture where there is somewhere to write it.
fn captured_through_a_proxy(traffic: &str, capture: Option<&File>) -> Option<Ran> {
    behind(edge(), &format!("{traffic}\n{PATHS}"), capture)
}

/// A whole scenario, whose paths lead to this proxy.
fn behind(edge: Edge, text: &str, capture: Option<&File>) -> Option<Ran> {
    let nothing = |_: &str| Err("no such file".to_owned());
    let mut scenario = scenario::Scenario::parse("edge", text, &nothing).expect("it is valid");
    scenario.experiment.capture = capture.is_some();
    let setup = Setup { edge: Some(edge), until_done: true, ..Setup::default() };
    match run_with(&scenario.experiment, &setup, &Arc::default(), &mut |_| {}, capture) {
        Ok(ran) => Some(ran),
        Err(Error::System(linux::Error::Lacks { what, hint })) => {
            println!("skipped: {what}; {hint}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_video_from_a_server_without_multipath_comes_over_both_paths() {
    let Some(ran) = through_a_proxy(
        "seed = 1\nduration = '6s'\n[[traffic]]\nkind = 'video'\nmanifest = { bitrates = '4Mbps', duration = '4s', segment = '500ms' }\nbuffer = '10s'\n",
    ) else {
        return;
    };
    let connection = &ran.outcome.connections[0];
    assert!(!connection.failed && connection.completed_s.is_some(), "{connection:?}");
    assert!(ran.outcome.paths.iter().all(|path| path.payload_down_bytes > 0), "{:?}", ran.outcome.paths);
    let session = connection.video.as_ref().expect("it carries video");
    // It has come before it is played, and nobody waits for that; yet it is played to its end.
    assert_eq!((session.played, session.complete), (Duration::from_secs(4), true));
    // Both ways behind the proxy, and both over the nearer path, on any kernel.
    let least = Duration::from_micros(2 * (12_375 + 10_000));
    assert!(session.segments.iter().all(|s| s.first_byte.since(s.asked) >= least), "{session:?}");
    let proxy = ran.proxy.expect("there is one");
    assert_eq!((proxy.accepted_mptcp, proxy.tunnels), (1, 1), "{proxy:?}");
}

#[test]
fn a_file_is_the_same_behind_it() {
    let Some(ran) = through_a_proxy("seed = 1\nduration = '4s'\n[[traffic]]\nkind = 'file'\nsize = '2MB'\n")
    else {
        return;
    };
    let connection = &ran.outcome.connections[0];
    assert_eq!(connection.delivered_bytes, 2_000_000);
    assert!(connection.completed_s.is_some(), "{connection:?}");
}

#[test]
fn a_capture_read_while_it_is_written_has_the_split_that_was_counted() {
    for transport in ["'mptcp'", "'tcp'\npath = 'lte'"] {
        let traffic = format!(
            "seed = 1\nduration = '5s'\n[transport]\nprotocol = {transport}\n[[traffic]]\nkind = 'video'\nmanifest = {{ \
             bitrates = '4Mbps', duration = '3s', segment = '500ms' }}\nbuffer = '10s'\n"
        );
        let (reader, writer) = io::pipe().expect("a pipe");
        let writer = File::from(OwnedFd::from(writer));
        let reading = thread::spawn(move || capture::analyse(BufReader::new(reader), &mut |_| {}));
        let ran = captured_through_a_proxy(&traffic, Some(&writer));
        drop(writer);
        let read = reading.join().expect("no bytes make it panic");
        let Some(ran) = ran else { return };
        let summary = read.expect("it is a capture");
        for path in &ran.outcome.paths {
            let captured = summary.payload_down_bytes(&path.name);
            assert_eq!(captured, path.payload_down_bytes, "{transport}, {}", path.name);
        }
        let wifi = &ran.outcome.paths[0];
        assert_eq!(wifi.payload_down_bytes > 0, transport == "'mptcp'", "{wifi:?}");
        assert!(ran.outcome.paths[1].payload_down_bytes > 0);
    }
}

/// When a file has come over a Wi-Fi that weakens in mid-transfer and a steady LTE, in seconds, from a proxy that writes
/// so far ahead of its subflows.
fn over_wifi_that_weakens(ahead: Duration) -> Option<f64> {
    let text = "seed = 1\nduration = '30s'\n[[traffic]]\nkind = 'file'\nsize = '14MB'\n\
        [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\nup = { rate = '4Mbps', delay = '10ms' }\n\
        down = { rate = { steps = [['0s', '20Mbps'], ['3s', '1Mbps']] }, delay = '10ms', queue = '50ms' }\n\
        [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\nup = { rate = '4Mbps', delay = '20ms' }\n\
        down = { rate = '10Mbps', delay = '20ms', queue = '50ms' }\n\
        [transport]\npreset = 'linux'\n";
    let ran = behind(Edge { ahead, ..edge() }, text, None)?;
    let connection = &ran.outcome.connections[0];
    assert_eq!(connection.delivered_bytes, 14_000_000);
    Some(connection.completed_s.expect("it has come"))
}

#[test]
fn what_no_subflow_would_send_soon_does_not_wait_behind_a_link_that_weakens() {
    let [held, at_once] = thread::scope(|scope| {
        [Edge::AHEAD, Duration::ZERO]
            .map(|ahead| scope.spawn(move || over_wifi_that_weakens(ahead)))
            .map(|run| run.join().expect("no run panics"))
    });
    let (Some(held), Some(at_once)) = (held, at_once) else { return };
    println!("held back {held:.2} s, at once {at_once:.2} s");
    // Both links carry the rest in some 2.5 s after the first; a window's worth of Wi-Fi's is under way when it weakens.
    assert!(held < 0.8 * at_once, "held back {held:.2} s, at once {at_once:.2} s");
}

/// What a browser does: it asks the proxy, is answered, and does not end by itself.
const BROWSER: &str = "exec 3<>/dev/tcp/10.77.255.1/3128; \
    printf 'GET http://10.78.0.2/a HTTP/1.1\\r\\nHost: 10.78.0.2\\r\\n\\r\\n' >&3; exec sleep 1000";

#[test]
fn a_program_asks_for_content_behind_the_proxy_until_it_is_enough() {
    let nothing = |_: &str| Err("no such file".to_owned());
    let text = format!("seed = 1\nduration = '4s'\n[[traffic]]\nkind = 'file'\nsize = '2MB'\n{PATHS}");
    let scenario = scenario::Scenario::parse("edge", &text, &nothing).expect("it is valid");
    let (serves, serving) = mpsc::channel::<std::net::TcpListener>();
    let enough = Arc::<AtomicBool>::default();
    let told = Arc::clone(&enough);
    let server = thread::spawn(move || -> io::Result<Vec<u8>> {
        let Ok(listener) = serving.recv() else { return Ok(Vec::new()) };
        let (mut stream, _) = listener.accept()?;
        let mut asked = vec![0; 4096];
        let length = stream.read(&mut asked)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")?;
        asked.truncate(length);
        told.store(true, Ordering::Relaxed);
        Ok(asked)
    });
    let mut command = Command::new("bash");
    command.args(["-c", BROWSER]);
    let programs = Programs {
        command,
        server: None,
        multipath: true,
        limit: Some(Duration::from_secs(60)),
        behind: Some(Content { edge: edge(), serves }),
        offload: true,
        enough,
    };
    let emulated = match emulate(&scenario.experiment, programs, None, None) {
        Err(Error::System(linux::Error::Lacks { what, hint })) => {
            println!("skipped: {what}; {hint}");
            return;
        }
        emulated => emulated.expect("it runs"),
    };
    let asked = server.join().expect("it does not panic").expect("the proxy connects to it");
    assert!(asked.starts_with(b"GET /a HTTP/1.1\r\n"), "{:?}", String::from_utf8_lossy(&asked));
    assert_eq!(emulated.end, End::Enough);
    assert_eq!((emulated.multipath.asked, emulated.multipath.agreed), (1, 1));
}
