//! Programs of one's own over a scenario's links. Server and client are tests of this file that do nothing
//! when they are run as such.

use crate::support::{Place, Said};
use crate::testbed::{SMALL, as_nobody, can, host, said_ok};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What the server sends, in bytes.
const SIZE: usize = 2_000_000;
const PORT: u16 = 5000;

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

#[test]
#[ignore = "a program for the other tests"]
fn a_server() {
    let Ok(address) = std::env::var("TANDEM_SERVER") else { return };
    let listener = TcpListener::bind((address.as_str(), PORT)).unwrap();
    let bytes: Vec<u8> = (0..SIZE).map(byte).collect();
    for stream in listener.incoming() {
        // Whoever has seen enough is gone.
        let _ = stream.unwrap().write_all(&bytes);
    }
}

#[test]
#[ignore = "a program for the other tests"]
fn a_client() {
    let Ok(address) = std::env::var("TANDEM_SERVER") else { return };
    let mut bytes = Vec::new();
    TcpStream::connect((address.as_str(), PORT)).unwrap().read_to_end(&mut bytes).unwrap();
    assert!(bytes.len() == SIZE && bytes.iter().enumerate().all(|(at, &found)| found == byte(at)));
    println!("all of it came");
}

/// This very program, as server or as client.
fn part(name: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("/proc is mounted");
    [program.to_str().expect("its path is text"), "--ignored", "--nocapture", "--exact", name]
        .map(str::to_owned)
        .to_vec()
}

fn place() -> Place {
    let place = Place::new();
    place.write("small.toml", &format!("{SMALL}[[traffic]]\nkind = 'bulk'\n"));
    place
}

/// Downloads over the small scenario's links.
fn download(place: &Place, more: &[&str]) -> (Said, serde_json::Value) {
    let (server, client) = (part("emulate::a_server").join(" "), part("emulate::a_client"));
    let mut arguments = vec!["emulate", "small.toml", "--server", &server, "--out", "out"];
    arguments.extend(more);
    arguments.push("--");
    arguments.extend(client.iter().map(String::as_str));
    let said = place.run(&arguments);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("all of it came"), "{}", said.out);
    let result = serde_json::from_str(&place.read("out/result.json")).expect("JSON");
    (said, result)
}

fn down(result: &serde_json::Value, path: usize) -> usize {
    result["paths"][path]["payload_down_bytes"].as_u64().expect("a count") as usize
}

#[test]
fn programs_that_know_nothing_of_multipath_tcp_go_over_both_paths() {
    if !can() {
        return;
    }
    let place = place();
    let before = host();
    let (said, result) = download(&place, &["--pcap"]);
    for table in
        ["Paths", "Mean one-way delay of packets", "Energy, J", "Multipath TCP of the device", "Kernel"]
    {
        assert!(said.err.contains(table) && !said.out.contains(table), "{table}: {}", said.err);
    }
    let multipath = &result["kernel"]["multipath"];
    assert_eq!(*multipath, serde_json::json!({"asked": 1, "agreed": 1, "joined": 1}));
    assert!(down(&result, 0) > SIZE / 4 && down(&result, 1) > SIZE / 20, "{}", result["paths"]);
    assert!(down(&result, 0) + down(&result, 1) >= SIZE);
    // No packet is faster than its link: 5 ms over Wi-Fi, 20 ms over LTE, one of 1500 bytes at 20 Mbit/s.
    for (path, least) in [(0, 0.005), (1, 0.020)] {
        let delay = &result["kernel"]["delays_s"][path]["down"];
        let (mean, queued) = (delay["mean"].as_f64().unwrap(), delay["queued"].as_f64().unwrap());
        assert!(mean > least && (mean - queued - least).abs() < 1e-6, "{delay}");
    }
    assert!(result["duration_s"].as_f64().unwrap() > 0.5, "2 MB at 30 Mbit/s");
    assert_eq!(place.list("out"), ["capture.pcapng", "report.html", "result.json", "series.csv"]);
    assert_eq!(host(), before);
}

#[test]
fn sockets_are_left_as_they_are_where_that_is_asked_for_or_the_scenario_has_plain_tcp() {
    if !can() {
        return;
    }
    let place = place();
    let (_, result) = download(&place, &["--mptcp", "asked"]);
    assert_eq!(result["kernel"]["multipath"]["asked"], 0);
    assert!(down(&result, 0) >= SIZE && down(&result, 1) == 0, "{}", result["paths"]);

    let tcp = SMALL.replace("protocol = 'mptcp'", "protocol = 'tcp'\npath = 'lte'");
    place.write("small.toml", &format!("{tcp}[[traffic]]\nkind = 'bulk'\n"));
    let (_, result) = download(&place, &[]);
    assert_eq!(result["kernel"]["multipath"]["asked"], 0);
    assert!(down(&result, 1) >= SIZE && down(&result, 0) == 0, "{}", result["paths"]);
}

#[test]
fn the_policy_steers() {
    if !can() {
        return;
    }
    let (_, result) = download(&place(), &["--policy", "wifi-only"]);
    assert!(down(&result, 0) >= SIZE && down(&result, 1) == 0, "{}", result["paths"]);
    assert_eq!(result["device"]["policy"], "wifi-only");
}

#[test]
fn its_exit_code_is_the_programs() {
    if !can() {
        return;
    }
    let place = place();
    place.write("text", "no program");
    let run = |more: &[&str]| place.run(&[&["emulate", "small.toml", "-q"], more].concat());
    for (more, code) in [
        (&["--", "true"][..], 0),
        (&["--", "sh", "-c", "exit 7"], 7),
        (&["--", "sh", "-c", "kill -TERM $$"], 143),
        (&["--", "sh", "-c", "kill -KILL $$"], 137),
        (&["--duration", "300ms", "--", "sleep", "60"], 124),
        // It hears that it is to end, and does not want to.
        (&["--duration", "300ms", "--", "sh", "-c", "trap '' TERM; sleep 60; sleep 60"], 124),
    ] {
        let said = run(more);
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (code, "", ""), "{more:?}");
    }
    let said = run(&["--", "./no-such-program"]);
    assert_eq!(
        (said.code, said.err.as_str()),
        (127, "error: cannot run `./no-such-program`: no such file\n")
    );
    let said = run(&["--", "./text"]);
    assert_eq!((said.code, said.err.as_str()), (126, "error: cannot run `./text`: permission denied\n"));
    let said = run(&["--server", "exit 3", "--", "true"]);
    assert_eq!(said.code, 1);
    assert!(said.err.starts_with("error: the server's program ended with 3"), "{}", said.err);
}

#[test]
fn the_standard_streams_are_the_programs() {
    if !can() {
        return;
    }
    let place = place();
    let mut command =
        place.command(&["emulate", "small.toml", "-q", "--", "sh", "-c", "cat; echo aside >&2"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().unwrap().write_all(b"what was typed\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "what was typed\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "aside\n");
    // Processes and interfaces are those that are there.
    let said = place.run(&["emulate", "small.toml", "-q", "--", "sh", "-c", "echo $$; ls /sys/class/net"]);
    assert_eq!(said.out, "2\nlo\nlte\nwifi\n");
}

/// Starts a shell with `script`, and waits until it says that it is ready.
fn ready(place: &Place, more: &[&str], script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut arguments = vec!["emulate", "small.toml", "-q"];
    arguments.extend(more);
    arguments.extend(["--", "sh", "-c", script]);
    let mut child = place.command(&arguments).spawn().expect("the program starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it prints text");
    assert_eq!(line, "ready\n");
    (child, out)
}

fn send(signal: &str, child: &Child) {
    assert!(said_ok(Command::new("kill").arg(signal).arg(child.id().to_string())));
}

#[test]
fn signals_reach_the_program() {
    if !can() {
        return;
    }
    let place = place();
    for name in ["HUP", "INT", "QUIT", "TERM", "USR1"] {
        let script = format!("trap 'echo heard; exit 9' {name}; echo ready; while :; do sleep 0.05; done");
        let (mut child, mut out) = ready(&place, &[], &script);
        send(&format!("-{name}"), &child);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!((child.wait().unwrap().code(), rest.as_str()), (Some(9), "heard\n"), "{name}");
    }
}

/// How many processes have `mark` in their command line.
fn alive(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    processes
        .filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .count()
}

#[test]
fn however_it_ends_no_process_and_no_setting_is_left() {
    if !can() {
        return;
    }
    let place = place();
    let before = host();
    for (n, (signal, code)) in
        [("-INT", Some(130)), ("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)]
            .into_iter()
            .enumerate()
    {
        // Seconds that nobody else sleeps.
        let mark = format!("8{}{n}", std::process::id());
        let daemons = format!("setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark} &");
        let script = format!("{daemons} echo ready; wait");
        let (mut child, _out) = ready(&place, &["--server", &format!("{daemons} wait")], &script);
        assert!(alive(&mark) >= 6, "{} run", alive(&mark));
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        // The kernel ends them when we are gone, which takes it a moment.
        let begun = Instant::now();
        while alive(&mark) > 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(alive(&mark), 0, "{signal}");
        assert_eq!(host(), before, "{signal}");
    }
    assert_eq!(place.list(".").iter().filter(|name| name.contains("tandem")).count(), 0);
}

#[test]
fn without_the_privilege_it_says_what_is_missing() {
    if !can() {
        return;
    }
    let said = as_nobody(&["emulate", "small.toml", "--", "true"]);
    assert_eq!((said.code, said.out.as_str()), (4, ""), "{}", said.err);
    assert!(
        said.err.starts_with(
            "error: cannot create a network namespace: permission denied\n hint: this needs root"
        )
    );
}

#[test]
fn a_command_line_that_cannot_be_is_told_before_anything_is_run() {
    let place = place();
    for arguments in [
        &["emulate", "small.toml"][..],
        &["emulate", "small.toml", "--"],
        &["emulate", "small.toml", "--pcap", "--", "true"],
        &["emulate", "small.toml", "--mptcp", "some", "--", "true"],
    ] {
        let said = place.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}: {}", said.err);
    }
    let said = place.run(&["emulate", "none.toml", "--", "true"]);
    assert_eq!(said.code, 3, "{}", said.err);
}
