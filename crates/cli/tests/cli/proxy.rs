//! `tandem proxy`: start, status, reload, kill and shutdown.

use crate::support::{Place, output_of, tandem};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A running proxy and its folder.
pub(crate) struct Running {
    child: Child,
    pub(crate) place: Place,
}

const CONFIG: &str = "[[listen]]\naddress = '127.0.0.1:0'\nprotocol = 'tcp'\n\
    [destinations]\nallow = ['127.0.0.0/8']\n[timeouts]\ndrain = '10s'\n";

pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < Duration::from_secs(20), "timeout: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn begin(place: Place) -> Running {
    running(place, &[])
}

/// Starts the proxy, by `command` if it is not empty, and waits until it answers.
pub(crate) fn running(place: Place, command: &[&str]) -> Running {
    let mut program = match command {
        [] => place.command(&["proxy", "--config", "proxy.toml"]),
        [name, arguments @ ..] => {
            let mut program = Command::new(name);
            program.args(arguments).current_dir(place.path()).stdin(Stdio::null()).stderr(Stdio::piped());
            program
        }
    };
    Running::answering(program.spawn().expect("the program starts"), place)
}

pub(crate) fn configured(more: &str) -> Place {
    let place = Place::new();
    let socket = place.path().join("proxy.sock");
    place.write("proxy.toml", &format!("{CONFIG}{more}[status]\nsocket = '{}'\n", socket.display()));
    place
}

impl Running {
    /// Waits until the proxy answers.
    pub(crate) fn answering(child: Child, place: Place) -> Self {
        let running = Self { child, place };
        until("it answers", || running.status().is_some());
        running
    }

    pub(crate) fn status(&self) -> Option<Value> {
        let told = self.place.run(&["proxy", "status", "--config", "proxy.toml", "--format", "json"]);
        (told.code == 0).then(|| serde_json::from_str(&told.out).expect("it is JSON"))
    }

    pub(crate) fn tunnel(&self, to: std::net::SocketAddr) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        write!(stream, "CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n\r\n")
            .expect("it listens");
        let mut first = [0; 12];
        stream.read_exact(&mut first).expect("it answers");
        (stream, String::from_utf8_lossy(&first).into_owned())
    }

    /// Process number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Address of the first listener.
    pub(crate) fn address(&self) -> String {
        let status = self.status().expect("it answers");
        status["listening"][0]["address"].as_str().expect("it listens").to_owned()
    }

    /// A counter of the status.
    pub(crate) fn totals(&self, name: &str) -> u64 {
        self.status().expect("it answers")["totals"][name].as_u64().expect("a number")
    }

    /// Waits for the end, which must be a success; returns the log if it is a pipe.
    pub(crate) fn await_end(&mut self) -> String {
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0));
        let mut log = String::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            pipe.read_to_string(&mut log).expect("text");
        }
        log
    }

    /// Resident memory of the proxy (`VmRSS`).
    pub(crate) fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel tells it");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(done.expect("there is a kill").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn proxy_reloads_on_sighup_and_drains_on_sigterm() {
    let mut running = begin(configured(""));
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("an address");
    let (going, first) = running.tunnel(to);
    assert_eq!(first, "HTTP/1.1 200");
    let text = running.place.read("proxy.toml");
    running.place.write("proxy.toml", &text.replace("allow = ['127.0.0.0/8']", "allow = []"));
    running.signal("HUP");
    until("the new rules count", || running.tunnel(to).1 == "HTTP/1.1 403");
    running.place.write("proxy.toml", &text.replace("allow", "alow"));
    running.signal("HUP");
    thread::sleep(Duration::from_millis(300));
    running.place.write("proxy.toml", &format!("workers = 3\n{text}"));
    assert_eq!(running.tunnel(to).1, "HTTP/1.1 403", "what is wrong changes nothing");
    running.signal("HUP");
    until("the first rules count", || running.tunnel(to).1 == "HTTP/1.1 200");
    running.signal("TERM");
    until("it takes nothing new", || running.status().is_none_or(|status| status["draining"] == true));
    drop((going, server));
    assert_eq!(running.child.wait().expect("it ends").code(), Some(0));
    let mut log = String::new();
    running.child.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
    assert!(log.contains("unknown key `alow`") && log.contains("configuration reloaded\n"), "{log}");
    assert!(log.contains("configuration reloaded, except for keys that need a restart: workers\n"), "{log}");
    assert!(running.status().is_none());
}

/// As `timeout` sends them: one to the program, one to its process group.
#[test]
fn two_signals_at_once_are_one_request_and_a_later_one_ends_at_once() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("an address");
    for (later, code) in [(false, 0), (true, 143)] {
        let mut running = begin(configured(""));
        let (going, _) = running.tunnel(to);
        // Two different signals, because pending ones of one kind are delivered once.
        let both = format!("kill -s INT {0}; kill -s TERM {0}", running.id());
        assert!(Command::new("sh").args(["-c", &both]).status().expect("there is a shell").success());
        until("it drains", || running.status().is_none_or(|status| status["draining"] == true));
        if later {
            until("a later signal ends it", || {
                thread::sleep(Duration::from_millis(350));
                running.signal("TERM");
                running.child.try_wait().expect("it is our child").is_some()
            });
        } else {
            drop(going);
        }
        assert_eq!(running.child.wait().expect("it ends").code(), Some(code));
    }
}

#[test]
fn refusal_of_the_upstream_is_answered_and_logged_with_its_reason() {
    let far = begin(configured(""));
    let at = far.status().expect("it answers")["listening"][0]["address"].as_str().expect("text").to_owned();
    let upstream = format!("[upstream]\naddress = '{at}'\nprotocol = 'tcp'\n");
    // Both proxies have rules, and only the first proxy allows the destination.
    let place = configured(&upstream);
    let text = place.read("proxy.toml").replace("['127.0.0.0/8']", "['127.0.0.0/8', '10.1.0.0/16']");
    place.write("proxy.toml", &text);
    let mut near = begin(place);
    let (mut stream, first) = near.tunnel("10.1.2.3:80".parse().expect("an address"));
    let mut rest = String::new();
    stream.read_to_string(&mut rest).expect("text");
    assert_eq!(first, "HTTP/1.1 403");
    let reason = "the upstream proxy refused: destination refused: private network (RFC 1918)";
    assert!(rest.contains(&format!("\r\n\r\n{reason}\nrequest id: ")), "{rest}");
    near.signal("TERM");
    assert_eq!(near.child.wait().expect("it ends").code(), Some(0));
    let mut log = String::new();
    near.child.stderr.take().expect("a pipe").read_to_string(&mut log).expect("text");
    let line = log.lines().find(|line| line.contains(reason)).unwrap_or_else(|| panic!("{log}"));
    assert!(line.contains("WARN") && line.contains("destination=10.1.2.3:80"), "{line}");
}

#[test]
fn rules_hold_at_a_proxy_with_an_upstream() {
    let near = begin(configured("[upstream]\naddress = '127.0.0.1:1'\nprotocol = 'tcp'\n"));
    for to in ["10.1.2.3:8080", "127.0.0.1:25"] {
        assert_eq!(near.tunnel(to.parse().expect("an address")).1, "HTTP/1.1 403", "{to}");
    }
    assert_eq!(near.status().expect("it answers")["totals"]["refused_destinations"], 2);
    let place = configured("[clients]\nallow = ['::ffff:192.0.2.1']\n");
    let told = place.run(&["proxy", "--config", "proxy.toml"]);
    assert!(told.code == 3 && told.err.contains("this rule can never match"), "{}", told.err);
}

/// The program under a limit of open files.
pub(crate) fn with_open_files(place: &Place, limit: u32) -> Command {
    let mut command = Command::new("sh");
    let program = place.command(&["proxy", "--config", "proxy.toml"]);
    let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(program.get_program()).args(program.get_args());
    command.current_dir(place.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

#[test]
fn low_limit_of_open_files_is_served_as_far_as_it_goes_or_refused() {
    // Otherwise one client gets a tenth of the places.
    let place = configured("[limits]\nper_client = 10000\n");
    let told = with_open_files(&place, 24).output().expect("sh runs");
    let log = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(4), "{log}");
    assert!(log.contains("may open only 24 files") && log.contains("ulimit -n"), "{log}");

    let child = with_open_files(&place, 96).spawn().expect("sh runs");
    let running = Running { child, place };
    until("it answers", || running.status().is_some());
    let most = running.status().expect("it answers")["most_connections"].as_u64().expect("a number");
    assert!((1..40).contains(&most), "{most}");
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = server.local_addr().expect("an address");
    let tunnels: Vec<_> = (0..most).map(|_| running.tunnel(to)).collect();
    assert!(tunnels.iter().all(|(_, first)| first == "HTTP/1.1 200"), "all places are served at once");
}

#[test]
fn killed_proxy_does_not_hinder_the_next() {
    let mut running = begin(configured(""));
    running.child.kill().expect("it runs");
    running.child.wait().expect("it ends");
    let place = std::mem::replace(&mut running.place, Place::new());
    assert!(place.path().join("proxy.sock").exists());
    let again = begin(place);
    assert!(again.status().is_some());
    let told = again.place.run(&["proxy", "--config", "proxy.toml"]);
    assert_eq!(told.code, 1);
    assert!(told.err.contains("another proxy is already running"), "{}", told.err);
}

#[test]
fn open_proxy_is_refused() {
    let told = output_of(tandem().args(["proxy", "--listen", "0.0.0.0:0"]));
    assert_eq!(told.code, 1);
    assert!(told.err.contains("would be an open proxy") && told.err.contains("allow"), "{}", told.err);
    let place = configured("[clients]\nusers = 'users'\n");
    place.write("users", "ann:secret\n");
    let told = place.run(&["proxy", "--config", "proxy.toml"]);
    assert_eq!(told.code, 3);
    assert!(
        told.err.contains("others than its owner can read it") && !told.err.contains("secret\n"),
        "{}",
        told.err
    );
}

#[test]
fn example_config_and_rules_are_printed() {
    let place = Place::new();
    place.write("proxy.toml", &place.done(&["proxy", "example-config"]));
    let rules = place.done(&["proxy", "rules", "--port", "3129", "--interface", "wlan0", "--to", "443"]);
    assert!(
        rules.contains("iifname { \"wlan0\" } tcp dport { 443 } meta nfproto ipv4 tproxy ip to :3129"),
        "{rules}"
    );
    let told = place.run(&["proxy", "status", "--socket", "nowhere.sock"]);
    assert_eq!(told.code, 1);
    assert!(told.err.contains("no proxy answers at nowhere.sock"), "{}", told.err);
}

#[test]
fn check_reports_listeners_and_upstream_without_listening() {
    let place = configured("[upstream]\naddress = '127.0.0.1:9'\nprotocol = 'tcp'\n");
    let told = place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    assert_eq!((told.code, &*told.err), (0, ""));
    insta::assert_snapshot!("proxy_check", told.out);
    assert!(!place.path().join("proxy.sock").exists());
    let place = configured("[upstream]\naddress = 'no-such-host.invalid:9'\nprotocol = 'tcp'\n");
    let told = place.run(&["proxy", "--config", "proxy.toml", "--check"]);
    assert!(told.code == 1 && told.err.contains("no-such-host.invalid:9 does not resolve"), "{}", told.err);
    place.write("wrong.toml", "[[listen]]\naddress = '0.0.0.0:1080'\n");
    assert_eq!(place.run(&["proxy", "--config", "wrong.toml", "--check"]).code, 3);
}

#[test]
fn units_run_the_program_without_privileges() {
    let place = Place::new();
    let units = [
        (place.done(&["proxy", "unit", "--config", "/etc/x.toml"]), " proxy --config /etc/x.toml\n", ""),
        (
            place.done(&["serve", "unit"]),
            " serve --database /var/lib/tandem-serve/sessions.db $TANDEM_SERVE_OPTIONS\n",
            "",
        ),
        (
            place.done(&["gateway", "unit", "--upstream", "p.example:1080", "--interface", "wlan0=wifi"]),
            " gateway up --upstream p.example:1080 --interface wlan0=wifi --policy none --port 3129 --log info\n",
            "CAP_NET_ADMIN",
        ),
    ];
    for (unit, command, capability) in units {
        assert!(unit.contains(command), "{unit}");
        for line in [
            "DynamicUser=yes",
            "NoNewPrivileges=yes",
            "ProtectSystem=strict",
            &format!("CapabilityBoundingSet={capability}"),
        ] {
            assert!(unit.lines().any(|own| own == line), "{line} in {unit}");
        }
    }
}

#[test]
fn status_explains_every_column_on_request() {
    let running = begin(configured(""));
    let told = running.place.run(&["proxy", "status", "--config", "proxy.toml", "--explain"]);
    for part in ["meaning", "protocol of clients", "Client connections accepted."] {
        assert!(told.out.contains(part), "{part} in {}", told.out);
    }
}
