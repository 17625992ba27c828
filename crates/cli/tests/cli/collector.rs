//! `tandem serve` under load, kills and a full disk, and its systemd unit.

use crate::play::{Serving, request};
use crate::support::{Place, service_reports, tandem_path};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Threads that post records.
const SENDERS: u32 = 16;

/// Example record of the reference, with another id.
pub(crate) fn example(id: &str) -> String {
    let text = include_str!("../../../../docs/reference/session.md");
    let example =
        text.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    example.replace("0193a6f2-7d1e-7c52-9a4e-5b8f0e6a1c3d", id)
}

fn variable(name: &str, default: u32) -> u32 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Posts records at a rate to a collector that is killed and started again; all acknowledged ones
/// are there. The long form: `TANDEM_KILLS=20 cargo test -p tandem-cli --test cli
/// collector::acknowledged -- --nocapture`, with `TANDEM_POSTS_PER_S` (500) and `TANDEM_ROUND_MS`.
#[test]
fn acknowledged_sessions_survive_sigkill_under_load() {
    let kills = variable("TANDEM_KILLS", 3);
    let rate = variable("TANDEM_POSTS_PER_S", 500);
    let round = Duration::from_millis(variable("TANDEM_ROUND_MS", 1_000).into());
    let place = Place::new();
    let mut acknowledged = BTreeSet::new();
    let mut longest = Duration::ZERO;
    for kill in 0..kills {
        let mut serving = Serving::start(&place, &["--database", "sessions.db"]);
        let over = AtomicBool::new(false);
        let (done, seen) = mpsc::channel();
        let begun = Instant::now();
        thread::scope(|scope| {
            for sender in 0..SENDERS {
                let (address, over, done) = (serving.address.clone(), &over, done.clone());
                scope.spawn(move || {
                    for count in 0.. {
                        let due = Duration::from_secs(1) * (count * SENDERS + sender) / rate;
                        thread::sleep(due.saturating_sub(begun.elapsed()));
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                        let (name, asked) = (format!("session-{kill}-{sender}-{count}"), Instant::now());
                        if let Some((201, _)) = request(&address, "POST", "api/sessions", &example(&name)) {
                            let _ = done.send((name, asked.elapsed()));
                        }
                    }
                });
            }
            // Another moment within the commits each time.
            thread::sleep(round + Duration::from_micros(u64::from(kill) * 377));
            serving.child.kill().expect("it is ours");
            serving.child.wait().expect("it ends");
            over.store(true, Ordering::Relaxed);
        });
        drop(done);
        for (name, took) in seen {
            acknowledged.insert(name);
            longest = longest.max(took);
        }
    }
    let stored = stored_ids(&Serving::start(&place, &["--database", "sessions.db"]));
    let lost: Vec<_> = acknowledged.difference(&stored).collect();
    let per_s = acknowledged.len() as f64 / (round * kills).as_secs_f64();
    println!(
        "{} records acknowledged at {per_s:.0} a second, at most after {longest:?}; {kills} kills, {} lost",
        acknowledged.len(),
        lost.len()
    );
    assert!(acknowledged.len() >= 60, "{} records", acknowledged.len());
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}

/// Ids of all stored sessions.
pub(crate) fn stored_ids(serving: &Serving) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let mut before = String::new();
    loop {
        let list = serving.get(&format!("api/sessions?limit=50{before}"));
        let sessions = list["sessions"].as_array().expect("a list").iter();
        ids.extend(sessions.map(|one| one["id"].as_str().expect("an id").to_owned()));
        let Some(next) = list["next"].as_str() else { return ids };
        before = format!("&before={next}");
    }
}

/// A collector with its database on a file system of 3 MiB that a file fills.
#[test]
#[ignore = "needs root"]
fn needs_root_full_disk_refuses_records_until_there_is_room() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("disk")).expect("a directory");
    let script = "mount -t tmpfs -o size=3m none disk && head -c 1500000 /dev/zero >disk/filler &&
        exec \"$0\" -q serve --listen 127.0.0.1:0 --database disk/s.db";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(tandem_path()).current_dir(place.path());
    let serving = Serving::run(&mut command);
    let post = |id: &str| {
        let (status, body) =
            request(&serving.address, "POST", "api/sessions", &example(id)).expect("an answer");
        (status, serde_json::from_str::<Value>(&body).expect("JSON"))
    };
    let mut acknowledged = Vec::new();
    let refusal = loop {
        let id = format!("session-{}", acknowledged.len());
        match post(&id) {
            (201, _) => acknowledged.push(id),
            other => break other,
        }
    };
    assert_eq!((refusal.0, &refusal.1["error"]), (507, &Value::from("no space left")), "{}", refusal.1);
    assert!(acknowledged.len() > 20, "{} records", acknowledged.len());
    for number in 0..20 {
        assert_eq!(post(&format!("refused-{number}")).0, 507);
    }
    assert_eq!(serving.get("api/sessions?limit=1")["sessions"].as_array().expect("a list").len(), 1);
    // The mount is in the namespace of the collector.
    let disk = format!("/proc/{}/root{}", serving.child.id(), place.path().join("disk/filler").display());
    std::fs::remove_file(disk).expect("the filler is there");
    assert_eq!(post("with-room").0, 201);
    acknowledged.push("with-room".to_owned());
    let stored = stored_ids(&serving);
    assert!(acknowledged.iter().all(|id| stored.contains(id)) && stored.len() == acknowledged.len());
}

#[test]
fn start_at_a_used_address_leaves_the_log_and_the_sessions() {
    let place = Place::new();
    place.write("log", "{\"earlier\":1}\n");
    let serving = Serving::start(&place, &["--database", "s.db", "--log", "log"]);
    for number in 0..5 {
        let id = format!("session-{number}");
        let sent = request(&serving.address, "POST", "api/sessions", &example(&id));
        assert_eq!(sent.map(|(status, _)| status), Some(201));
    }
    let options = ["--database", "s.db", "--log", "log", "--keep-sessions", "1"];
    let second = place.run(&[&["serve", "--listen", &serving.address], &options[..]].concat());
    assert!(second.code == 1 && second.err.contains("Address already in use"), "{}", second.err);
    assert_eq!(stored_ids(&serving).len(), 5);
    assert!(place.read("log").starts_with("{\"earlier\":1}\n"), "{}", place.read("log"));
}

#[test]
fn collector_reports_its_state_to_the_service_manager() {
    let place = Place::new();
    let path = place.path().join("notify.sock");
    let report = service_reports(&path);
    let mut command = place.command(&["-q", "serve", "--listen", "127.0.0.1:0"]);
    let serving = Serving::run(command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "400000"));
    assert_eq!([report(), report(), report()], ["READY=1", "WATCHDOG=1", "WATCHDOG=1"]);
    assert!(Command::new("kill").arg(serving.child.id().to_string()).status().is_ok_and(|it| it.success()));
    while report() != "STOPPING=1" {}
}

#[test]
fn json_log_of_the_collector_has_a_document_in_each_line() {
    let place = Place::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
    let serving = Serving::of(child);
    let mut line = String::new();
    while !line.contains("sessions: ") {
        line.clear();
        assert!(log.read_line(&mut line).expect("a pipe") > 0, "the log has the address");
        let entry: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(entry["timestamp"].is_string() && entry["level"] == "INFO", "{line}");
    }
    drop(serving);
}

#[test]
fn unit_carries_every_option_with_absolute_paths() {
    let place = Place::new();
    place.write("token", "sesame\n");
    let unit = place.done(&[
        "serve",
        "unit",
        "--listen",
        "192.0.2.1:8090",
        "--content",
        "films",
        "--allow-host",
        "films.example.org",
        "--allow-origin",
        "https://example.org",
        "--keep",
        "30d",
        "--keep-sessions",
        "100",
        "--keep-size",
        "2GB",
        "--max-size",
        "4GB",
        "--token-file",
        "token",
        "--private-content",
        "--mptcp",
        "--log-format",
        "json",
    ]);
    let here = place.path().canonicalize().expect("it is there");
    let here = here.display();
    let command = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let expected = format!(
        " serve --database /var/lib/tandem-serve/sessions.db --listen 192.0.2.1:8090 --keep 2592000s \
         --keep-sessions 100 --keep-size 2000000000B --max-size 4000000000B --log-format json \
         --content {here}/films --allow-host films.example.org --allow-origin https://example.org \
         --private-content --mptcp --token-file %d/token-file $TANDEM_SERVE_OPTIONS"
    );
    assert!(command.ends_with(&expected), "{command}");
    let credential = format!("LoadCredential=token-file:{here}/token");
    assert!(unit.lines().any(|line| line == credential), "{unit}");
    let command = command.replace("%d/token-file", &format!("{here}/token"));
    // The program reads its own command line. systemd expands the variable, here to nothing.
    let command = command.trim_end_matches(" $TANDEM_SERVE_OPTIONS");
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let checked = place.run(&arguments);
    assert!(checked.code == 3 && checked.err.contains("is not a directory"), "{}", checked.err);
}
