//! `tandem emulate`: programs over the links of a scenario.
//!
//! `a_server` and `a_client` are the programs: ignored tests that the other tests start in the
//! namespaces. Without the variable TANDEM_SERVER they return at once.

use crate::support::{Output, Place, output_of, tandem_path};
use crate::testbed::{SMALL, as_nobody, host_state, succeeds};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Bytes sent by the server.
const SIZE: usize = 2_000_000;
const PORT: u16 = 5000;

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

#[test]
#[ignore = "helper program of other tests"]
fn a_server() {
    let Ok(address) = std::env::var("TANDEM_SERVER") else { return };
    let listener = TcpListener::bind((address.as_str(), PORT)).unwrap();
    let bytes: Vec<u8> = (0..SIZE).map(byte).collect();
    for stream in listener.incoming() {
        // A client may have closed the connection.
        let _ = stream.unwrap().write_all(&bytes);
    }
}

#[test]
#[ignore = "helper program of other tests"]
fn a_late_server() {
    // A program that looks up its own name has such a socket before it listens.
    let _lookup = UdpSocket::bind("0.0.0.0:0").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    a_server();
}

#[test]
#[ignore = "helper program of other tests"]
fn a_client() {
    let Ok(address) = std::env::var("TANDEM_SERVER") else { return };
    let mut bytes = Vec::new();
    TcpStream::connect((address.as_str(), PORT)).unwrap().read_to_end(&mut bytes).unwrap();
    assert!(bytes.len() == SIZE && bytes.iter().enumerate().all(|(at, &found)| found == byte(at)));
    println!("all of it came");
}

/// The command line that starts a test of this binary, as server or client.
pub(crate) fn part(name: &str) -> Vec<String> {
    let program = std::env::current_exe().expect("/proc is mounted");
    [program.to_str().expect("its path is text"), "--ignored", "--nocapture", "--exact", name]
        .map(str::to_owned)
        .to_vec()
}

fn place() -> Place {
    let place = Place::new();
    // The kernel has all settings of this preset, so there are no warnings.
    place.write("small.toml", &format!("{SMALL}preset = 'linux'\n[[traffic]]\nkind = 'bulk'\n"));
    place
}

/// Downloads the server's bytes over the links of the small scenario.
fn download(place: &Place, more: &[&str]) -> (Output, serde_json::Value) {
    let (server, client) = (part("emulate::a_server").join(" "), part("emulate::a_client"));
    let mut arguments = vec!["emulate", "small.toml", "--server", &server, "--out", "out"];
    arguments.extend(more);
    arguments.push("--");
    arguments.extend(client.iter().map(String::as_str));
    let output = place.run(&arguments);
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.out.contains("all of it came"), "{}", output.out);
    let result = serde_json::from_str(&place.read("out/result.json")).expect("JSON");
    (output, result)
}

fn down(result: &serde_json::Value, path: usize) -> usize {
    result["paths"][path]["payload_down_bytes"].as_u64().expect("a count") as usize
}

#[test]
#[ignore = "needs root"]
fn needs_root_unmodified_programs_use_both_paths() {
    let place = place();
    let before = host_state();
    let (output, result) = download(&place, &["--pcap"]);
    for table in
        ["Paths", "Mean one-way delay of packets", "Energy, J", "Multipath TCP of the device", "Kernel"]
    {
        assert!(output.err.contains(table) && !output.out.contains(table), "{table}: {}", output.err);
    }
    let multipath = &result["kernel"]["multipath"];
    assert_eq!(*multipath, serde_json::json!({"asked": 1, "agreed": 1, "joined": 1}));
    assert!(down(&result, 0) > SIZE / 4 && down(&result, 1) > SIZE / 20, "{}", result["paths"]);
    assert!(down(&result, 0) + down(&result, 1) >= SIZE);
    // Minimum delays of the links: 5 ms over Wi-Fi, 20 ms over LTE.
    for (path, least) in [(0, 0.005), (1, 0.020)] {
        let delay = &result["kernel"]["delays_s"][path]["down"];
        let (mean, queued) = (delay["mean"].as_f64().unwrap(), delay["queued"].as_f64().unwrap());
        assert!(mean > least && (mean - queued - least).abs() < 1e-6, "{delay}");
    }
    assert!(result["duration_s"].as_f64().unwrap() > 0.5, "2 MB at 30 Mbit/s");
    assert_eq!(place.list("out"), ["capture.pcapng", "report.html", "result.json", "series.csv"]);
    assert_eq!(host_state(), before);
}

#[test]
#[ignore = "needs root"]
fn needs_root_command_waits_for_a_server_that_has_a_datagram_socket_first() {
    let server = part("emulate::a_late_server").join(" ");
    let mut arguments = vec!["emulate", "small.toml", "--server", &server, "--"];
    let client = part("emulate::a_client");
    arguments.extend(client.iter().map(String::as_str));
    let output = place().run(&arguments);
    assert_eq!(output.code, 0, "{}{}", output.out, output.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_sockets_stay_tcp_on_request_and_in_tcp_scenarios() {
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
#[ignore = "needs root"]
fn needs_root_unchanged_sockets_have_the_congestion_control_of_the_scenario() {
    let place = place();
    let tcp = SMALL.replace("protocol = 'mptcp'", "protocol = 'tcp'\npath = 'lte'");
    place.write("tcp.toml", &format!("{tcp}[[traffic]]\nkind = 'bulk'\n"));
    let server =
        format!("cat /proc/sys/net/ipv4/tcp_congestion_control; {}", part("emulate::a_server").join(" "));
    let client = format!("exec 3<>/dev/tcp/10.77.255.1/{PORT}; ss -Htin dst 10.77.255.1");
    for (scenario, sockets) in [("small.toml", "asked"), ("tcp.toml", "all")] {
        let options = ["--mptcp", sockets, "--set", "transport.congestion=reno", "--server", &server];
        let output =
            place.run(&[&["emulate", scenario][..], &options, &["--", "bash", "-c", &client]].concat());
        assert_eq!(output.code, 0, "{}", output.err);
        assert!(output.out.contains(" reno "), "{sockets}: {}", output.out);
        assert!(output.err.contains("reno\n"), "{sockets}: {}", output.err);
    }
    let options = ["--mptcp", "asked", "--set", "transport.congestion=olia"];
    let output = place.run(&[&["emulate", "small.toml"][..], &options, &["--", "true"]].concat());
    assert!(output.err.contains("the congestion control `olia` has no effect"), "{}", output.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_stack_of_tandem_serves_an_unmodified_program_with_its_scheduler() {
    let more = ["--server-stack", "tandem", "--set", "transport.scheduler=redundant"];
    let (output, result) = download(&place(), &more);
    assert!(!output.err.contains("no effect"), "{}", output.err);
    assert_eq!(result["kernel"]["stacks"]["server"], "tandem");
    assert_eq!(result["kernel"]["multipath"]["agreed"], 1, "{}", result["kernel"]);
    // Both paths carry most of the data.
    assert!(down(&result, 0) + down(&result, 1) > SIZE * 5 / 4, "{}", result["paths"]);
}

#[test]
fn stack_of_tandem_needs_a_server_and_has_no_uplink() {
    let place = place();
    let run = |more: &[&str]| {
        let first = ["emulate", "small.toml", "--server-stack", "tandem"];
        place.run(&[&first, more, &["--", "true"]].concat())
    };
    let output = run(&[]);
    assert_eq!(output.code, 2, "{}", output.err);
    assert!(output.err.contains("--server"), "{}", output.err);
    let output = run(&["--server", "true", "--uplink"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("no relay to the real network"), "{}", output.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_policy_steers_programs() {
    let (_, result) = download(&place(), &["--policy", "wifi-only"]);
    assert!(down(&result, 0) >= SIZE && down(&result, 1) == 0, "{}", result["paths"]);
    assert_eq!(result["device"]["policy"], "wifi-only");
}

#[test]
#[ignore = "needs root"]
fn needs_root_exit_code_is_that_of_the_program() {
    let place = place();
    place.write("text", "no program");
    let run = |more: &[&str]| place.run(&[&["emulate", "small.toml", "-q"], more].concat());
    for (more, code) in [
        (&["--", "true"][..], 0),
        (&["--", "sh", "-c", "exit 7"], 7),
        (&["--", "sh", "-c", "kill -TERM $$"], 143),
        (&["--", "sh", "-c", "kill -KILL $$"], 137),
        (&["--duration", "300ms", "--", "sleep", "60"], 124),
        // A program that ignores SIGTERM.
        (&["--duration", "300ms", "--", "sh", "-c", "trap '' TERM; sleep 60; sleep 60"], 124),
    ] {
        let output = run(more);
        assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (code, "", ""), "{more:?}");
    }
    let output = run(&["--", "./no-such-program"]);
    assert_eq!(
        (output.code, output.err.as_str()),
        (127, "error: cannot run `./no-such-program`: no such file\n")
    );
    let output = run(&["--", "./text"]);
    assert_eq!((output.code, output.err.as_str()), (126, "error: cannot run `./text`: permission denied\n"));
    let output = run(&["--server", "exit 3", "--", "true"]);
    assert_eq!(output.code, 1);
    assert!(output.err.starts_with("error: the server's program ended with 3"), "{}", output.err);
}

#[test]
#[ignore = "needs root"]
fn needs_root_standard_streams_belong_to_the_program() {
    let place = place();
    let mut command =
        place.command(&["emulate", "small.toml", "-q", "--", "sh", "-c", "cat; echo aside >&2"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().unwrap().write_all(b"what was typed\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "what was typed\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "aside\n");
    // The program sees the PID namespace and the interfaces of the device.
    let output = place.run(&["emulate", "small.toml", "-q", "--", "sh", "-c", "echo $$; ls /sys/class/net"]);
    assert_eq!(output.out, "2\nlo\nlte\nwifi\n");
}

#[test]
#[ignore = "needs root"]
fn needs_root_programs_have_the_inherited_limit_of_open_files() {
    let tandem = tandem_path().display();
    let limits = "ulimit -Sn; ulimit -Hn";
    let script =
        format!("ulimit -Sn 500; ulimit -Hn 1000; exec {tandem} emulate small.toml -q -- sh -c '{limits}'");
    let place = place();
    let output = output_of(Command::new("sh").args(["-c", &script]).current_dir(place.path()));
    assert_eq!((output.code, output.out.as_str()), (0, "500\n1000\n"), "{}", output.err);
}

/// Starts a shell with `script` and waits until it prints "ready".
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
    assert!(succeeds(Command::new("kill").arg(signal).arg(child.id().to_string())));
}

#[test]
#[ignore = "needs root"]
fn needs_root_signals_are_forwarded_to_the_program() {
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

#[test]
#[ignore = "needs root"]
fn needs_root_ctrl_c_reaches_a_program_in_a_process_group_of_its_own_once() {
    let place = place();
    let script = "n=0; trap 'n=$((n + 1))' INT; echo ready; sleep 1; sleep 1; echo heard $n; exit 9";
    place.write("script", script);
    for prefix in ["", "setsid "] {
        let tandem = tandem_path().display();
        // A shell that runs this test in the background lets it ignore SIGINT.
        let line =
            format!("exec env --default-signal=INT {tandem} emulate small.toml -q -- {prefix}sh script");
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(place.path());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script(1) is installed");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("it prints text");
        assert_eq!(line, "ready\r\n");
        let mut keyboard = child.stdin.take().expect("a pipe");
        keyboard.write_all(b"\x03").expect("the terminal is open");
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(9), "{prefix}: {rest}");
        assert!(rest.contains("heard 1\r\n"), "{prefix}: {rest}");
    }
}

/// Number of processes with `mark` in their command line.
fn count_processes(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    processes
        .filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .count()
}

#[test]
#[ignore = "needs root"]
fn needs_root_no_process_and_no_setting_is_left_after_signals() {
    let place = place();
    let before = host_state();
    for (n, (signal, code)) in
        [("-INT", Some(130)), ("-TERM", Some(143)), ("-HUP", Some(129)), ("-KILL", None)]
            .into_iter()
            .enumerate()
    {
        // A sleep time that identifies the processes of this test.
        let mark = format!("8{}{n}", std::process::id());
        let daemons = format!("setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark} &");
        let script = format!("{daemons} echo ready; wait");
        let server = format!("{daemons} {}", part("emulate::a_server").join(" "));
        let (mut child, _out) = ready(&place, &["--server", &server], &script);
        assert!(count_processes(&mark) >= 6, "{} run", count_processes(&mark));
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), code, "{signal}");
        // The kernel ends them shortly after the program.
        let begun = Instant::now();
        while count_processes(&mark) > 0 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(count_processes(&mark), 0, "{signal}");
        assert_eq!(host_state(), before, "{signal}");
    }
    assert_eq!(place.list(".").iter().filter(|name| name.contains("tandem")).count(), 0);
}

#[test]
#[ignore = "needs root"]
fn needs_root_emulate_without_privileges_names_the_requirement() {
    let output = as_nobody(&["emulate", "small.toml", "--", "true"]);
    assert_eq!((output.code, output.out.as_str()), (4, ""), "{}", output.err);
    assert!(
        output.err.starts_with(
            "error: cannot create a network namespace: permission denied\n hint: this needs root"
        )
    );
}

#[test]
fn generated_channel_is_as_long_as_the_command_may_run() {
    let model = SMALL.replacen("rate = '20Mbps', delay", "model = 'lte-driving', delay", 1);
    assert_ne!(model, SMALL, "a path has a channel model");
    let place = place();
    place.write("model.toml", &format!("{model}[[traffic]]\nkind = 'bulk'\n"));
    // A scenario checks its duration, so the longer one must be a part of it.
    let long = |file: &str| place.run(&["emulate", file, "--duration", "600000s", "--", "true"]);
    let output = long("model.toml");
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("rows"), "{}", output.err);
    // Without a model it has no effect.
    assert_ne!(long("small.toml").code, 3);
    // A shorter one leaves the scenario as it is, also where a path joins later.
    let late = SMALL.replace("name = 'lte'", "name = 'lte'\njoin_at = '2s'");
    place.write("late.toml", &format!("{late}[[traffic]]\nkind = 'bulk'\n"));
    let output = place.run(&["emulate", "late.toml", "--duration", "1s", "--", "true"]);
    assert_ne!(output.code, 3, "{}", output.err);
}

#[test]
fn invalid_command_line_is_refused_before_anything_runs() {
    let place = place();
    for arguments in [
        &["emulate", "small.toml"][..],
        &["emulate", "small.toml", "--"],
        &["emulate", "small.toml", "--pcap", "--", "true"],
        &["emulate", "small.toml", "--mptcp", "some", "--", "true"],
    ] {
        let output = place.run(arguments);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{arguments:?}: {}", output.err);
    }
    let output = place.run(&["emulate", "none.toml", "--", "true"]);
    assert_eq!(output.code, 3, "{}", output.err);
}
