//! `tandem play` and `tandem serve`, over loopback.

use crate::support::{Place, output_of};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Four segments of 200 ms at 0.4 and 2 Mbit/s.
pub(crate) const SIZES: &str = r#"{"segment_duration_ms": 200, "bitrates_kbps": [400, 2000],
    "segment_sizes_bits": [[80000, 400000], [80000, 400000], [80000, 400000], [80000, 400000]]}"#;

/// A collector process that is killed at the end of the test.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Serving {
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Self {
        let arguments = [&["-q", "serve", "--listen", "127.0.0.1:0"], arguments].concat();
        Self::run(&mut place.command(&arguments))
    }

    /// Runs a command that starts a collector.
    pub(crate) fn run(command: &mut Command) -> Self {
        Self::of(command.stdout(Stdio::piped()).spawn().expect("it starts"))
    }

    /// A collector that has just been started, with a pipe as its output.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut line = String::new();
        let out = child.stdout.take().expect("it is a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says where it serves");
        let address = line
            .trim()
            .trim_start_matches("http://")
            .trim_start_matches("https://")
            .trim_end_matches('/')
            .to_owned();
        Self { child, address }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = request(&self.address, "GET", path, "").expect("an answer");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request; returns status and body, or `None` without a complete response.
pub(crate) fn request(address: &str, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(address).ok()?;
    for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        set(&stream, Some(Duration::from_secs(60))).ok()?;
    }
    let length = body.len();
    write!(
        stream,
        "{method} /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

#[test]
fn session_is_played_written_and_collected() {
    let place = Place::new();
    place.write("sizes.json", SIZES);
    let serving = Serving::start(&place, &["--sizes", "sizes.json", "--seed", "7"]);
    let (manifest, post) = (serving.url("content/manifest.mpd"), serving.url(""));
    let played = output_of(&mut place.command(&[
        "play",
        &manifest,
        "--rule",
        "throughput",
        "--label",
        "test",
        "--post",
        &post,
        "--out",
        "out",
        "--verify",
        "7",
        "--cmcd",
        "header",
    ]));
    assert_eq!(played.code, 0, "{}", played.err);
    assert!(played.out.contains("T_init") && played.out.contains("finished"), "{}", played.out);
    assert_eq!(place.list("out"), ["p1203.json", "report.html", "result.json", "runs.csv", "session.json"]);
    let record: Value = serde_json::from_str(&place.read("out/session.json")).expect("JSON");
    assert_eq!((&record["complete"], &record["video"]["kind"]), (&Value::from(true), &Value::from("dash")));
    let listed = serving.get("api/sessions");
    assert_eq!(listed["sessions"][0]["id"], record["id"]);
    assert_eq!(listed["sessions"][0]["label"], "test");
    assert_eq!(serving.get(&format!("api/sessions/{}", record["id"].as_str().expect("an id"))), record);

    // Two sessions by a local list of segment sizes, printed as JSON.
    let server = serving.url("content/");
    let twice = output_of(&mut place.command(&[
        "play",
        "sizes.json",
        "--server",
        &server,
        "--runs",
        "2",
        "--level",
        "1",
        "--format",
        "json",
    ]));
    assert_eq!(twice.code, 0, "{}", twice.err);
    let twice: Value = serde_json::from_str(&twice.out).expect("JSON");
    assert_eq!(twice["labels"][0]["sessions"], 2);
    assert_eq!(twice["sessions"][1]["kpis"]["mean_bitrate_kbps"], 2000.0);
}

#[test]
fn results_say_what_made_them_and_earlier_ones_of_other_settings_are_kept() {
    let place = Place::new();
    place.write("sizes.json", SIZES);
    let serving = Serving::start(&place, &["--sizes", "sizes.json", "--seed", "7"]);
    let server = serving.url("content/").replace("http://", "http://user:secret@");
    let play = |rule: &str| {
        let arguments = ["play", "sizes.json", "--server", &server, "--out", "out", "--rule", rule];
        let output = place.run(&arguments);
        assert_eq!(output.code, 0, "{}", output.err);
        let result: Value = serde_json::from_str(&place.read("out/result.json")).expect("JSON");
        (output.err, result["made_by"].clone())
    };
    let (_, made_by) = play("bola");
    assert_eq!((&made_by["command"], &made_by["settings"][0]), (&"play".into(), &"sizes.json".into()));
    assert!(made_by["settings"].as_array().expect("a list").contains(&"--rule bola".into()), "{made_by}");
    assert_eq!(made_by["files"][0]["file"], "sizes.json");
    assert!(!made_by.to_string().contains("secret"), "{made_by}");
    let id = made_by["id"].as_str().expect("an id").to_owned();
    let runs = place.read("out/runs.csv");
    assert!(runs.lines().skip(1).all(|line| line.ends_with(&id)) && runs.contains(",run_id"), "{runs}");

    let (note, other) = play("throughput");
    assert!(note.contains(&format!("earlier results of other settings are kept: out-{id}")), "{note}");
    assert_eq!(
        serde_json::from_str::<Value>(&place.read(&format!("out-{id}/result.json"))).unwrap()["made_by"],
        made_by
    );
    assert_ne!(other["id"], made_by["id"]);
    // A repetition replaces its results.
    assert!(!play("throughput").0.contains("earlier"));
}

#[test]
fn player_reports_its_state_to_the_agent_until_the_end() {
    let place = Place::new();
    place.write("sizes.json", SIZES);
    let serving = Serving::start(&place, &["--sizes", "sizes.json", "--seed", "7"]);
    let socket = place.path().join("agent.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
    let hearing = std::thread::spawn(move || {
        let mut heard: Vec<cmcd::State> = Vec::new();
        // The player reports the end of the download at the latest when it exits.
        while !heard.last().is_some_and(|state| state.done) {
            let (mut stream, _) = listener.accept().expect("somebody tells");
            let mut output = String::new();
            stream.read_to_string(&mut output).expect("it is text");
            heard.push(cmcd::State::of_request(output.as_bytes()).expect("CMCD"));
        }
        heard
    });
    let manifest = serving.url("content/manifest.mpd");
    let socket = socket.to_str().expect("it is text");
    let played = output_of(&mut place.command(&["play", &manifest, "--agent", socket]));
    assert_eq!(played.code, 0, "{}", played.err);
    let heard = hearing.join().expect("all was heard");
    let (first, last) = (&heard[0], &heard[heard.len() - 1]);
    assert!(first.urgent && first.buffer == Some(units::Duration::ZERO), "{first:?}");
    assert!(!last.urgent && last.missing == Some(units::Bytes::ZERO), "{last:?}");
    assert!(heard.iter().all(|state| state.session == first.session && state.session.is_some()));
    assert!(heard.iter().all(cmcd::State::is_of_a_buffer));
}

#[test]
fn unplayable_manifests_are_reported() {
    let place = Place::new();
    place.write("sizes.json", SIZES);
    place.write("wrong.mpd", "<MPD type=\"dynamic\"/>");
    let fails = |arguments: &[&str]| {
        let output = output_of(&mut place.command(&[&["play"], arguments].concat()));
        assert_eq!(output.out, "");
        (output.code, output.err)
    };
    let (code, err) = fails(&["none.json"]);
    assert!(code == 3 && err.contains("cannot read the manifest none.json: no such file"), "{err}");
    let (code, err) = fails(&["wrong.mpd"]);
    assert!(code == 3 && err.contains("wrong.mpd:1:1: expected a static presentation"), "{err}");
    let (code, err) = fails(&["sizes.json"]);
    assert!(code == 3 && err.contains("expected a server to ask for segments of these sizes"), "{err}");
    let (code, err) = fails(&["film.mp4", "--duration", "5s"]);
    assert!(code == 2 && err.contains("expected the URL of a file"), "{err}");
    let (code, err) = fails(&["x", "--proxy", "ftp://proxy"]);
    assert!(code == 2 && err.contains("expected such as http://127.0.0.1:3128"), "{err}");
}

/// A failed session has no score, and its record is written and posted.
#[test]
fn failed_session_is_recorded_and_posted() {
    let place = Place::new();
    place.write("sizes.json", SIZES);
    let serving = Serving::start(&place, &["--sizes", "sizes.json"]);
    let (manifest, post) = (serving.url("content/none.mpd"), serving.url(""));
    let play = |manifest: &str, more: &[&str]| {
        let arguments = [&["play", manifest, "--post", &post, "--device", "phone"], more].concat();
        output_of(place.command(&arguments).env("TZ", "Europe/Berlin"))
    };
    let played = play(&manifest, &["--out", "out"]);
    let reason = format!("HTTP 404 Not Found on {manifest}");
    assert!(
        played.code == 1 && played.err.contains(&format!("session 1 failed: {reason}")),
        "{}",
        played.err
    );
    assert!(played.out.contains("of 3.31") && played.out.contains("of 5.84"), "{}", played.out);
    let row = played.out.lines().find(|line| line.contains("failed")).expect("a row of the session");
    assert_eq!(row.matches('–').count(), 10, "a session without a picture has no KPI: {row}");
    let record: Value = serde_json::from_str(&place.read("out/session.json")).expect("JSON");
    assert_eq!(record["state"], "failed");
    assert_eq!(record["reason"]["message"], reason.as_str());
    assert_eq!(record["kpis"]["mok"]["mos"], Value::Null);
    assert_eq!((&record["device"], &record["zone"]), (&"phone".into(), &"Europe/Berlin".into()));
    let listed = serving.get("api/sessions");
    assert_eq!(
        (&listed["sessions"][0]["id"], &listed["sessions"][0]["state"]),
        (&record["id"], &"failed".into())
    );

    // A server that does not answer. The comparison counts the failures and has no mean.
    let gone = play("http://127.0.0.1:1/film.mpd", &["--retries", "0"]);
    assert!(gone.code == 1 && gone.err.contains("cannot connect to 127.0.0.1:1"), "{}", gone.err);
    let label = &serving.get("api/compare")["labels"][0];
    assert_eq!((&label["sessions"], &label["failed"]), (&2.into(), &2.into()));
    assert_eq!(label["kpis"]["mos"]["mean"], Value::Null);
    let csv = place.read("out/runs.csv");
    let header = "id,started,zone,label,player,device,rule,video,video duration (s),state,reason,\
                  session duration (s),played (s),T_init (s),";
    assert!(csv.starts_with(header), "{csv}");
    let id = record["id"].as_str().expect("an id");
    assert!(
        csv.contains(&format!("{id},")) && csv.contains(",Europe/Berlin,,tandem-play,phone,bola,"),
        "{csv}"
    );
}

/// The server's second manifest lacks the level of the first.
#[test]
fn records_of_earlier_runs_outlive_a_run_that_cannot_begin() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let manifest = format!("http://{}/sizes.json", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let second =
            r#"{"segment_duration_ms": 200, "bitrates_kbps": [400], "segment_sizes_bits": [[80000]]}"#;
        let mut manifests = [SIZES, second].into_iter();
        while let Ok((stream, _)) = listener.accept() {
            let mut line = String::new();
            let mut reader = BufReader::new(&stream);
            reader.read_line(&mut line).expect("a request");
            while reader.read_line(&mut String::new()).is_ok_and(|length| length > 2) {}
            let body = if line.starts_with("GET /sizes.json") {
                manifests.next().unwrap_or_default().as_bytes().to_vec()
            } else {
                vec![0; 50_000]
            };
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length";
            write!(&stream, "{head}: {}\r\n\r\n", body.len()).expect("a client");
            (&stream).write_all(&body).expect("a client");
        }
    });
    let place = Place::new();
    let played = place.run(&["play", &manifest, "--level", "1", "--runs", "3", "--out", "out"]);
    assert!(played.code == 1 && played.out.contains("finished"), "{}", played.err);
    let message = "session 2 did not begin: expected a level from 0 to 0, found 1";
    assert!(played.err.contains(message), "{}", played.err);
    let record: Value = serde_json::from_str(&place.read("out/session.json")).expect("JSON");
    assert_eq!(record["state"], "finished");
}

#[test]
fn serve_refuses_public_address_without_token() {
    let place = Place::new();
    let refused = output_of(place.command(&["serve", "--listen", "0.0.0.0:0"]).env_remove("TANDEM_TOKEN"));
    assert!(refused.code == 2 && refused.err.contains("no token is configured"), "{}", refused.err);
}

#[test]
fn serve_keeps_sessions_within_its_limits() {
    let place = Place::new();
    let example = include_str!("../../../../docs/reference/session.md");
    let example =
        example.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let id = "0193a6f2-7d1e-7c52-9a4e-5b8f0e6a1c3d";
    {
        let serving = Serving::start(&place, &["--database", "s.db"]);
        for name in ["session-1", "session-2", "session-3"] {
            let sent = request(&serving.address, "POST", "api/sessions", &example.replace(id, name));
            assert_eq!(sent.map(|(status, _)| status), Some(201));
        }
    }
    let limits = ["--keep", "30d", "--keep-sessions", "2", "--keep-size", "1GB"];
    let serving = Serving::start(&place, &[&["--database", "s.db"][..], &limits].concat());
    assert_eq!(serving.get("api/sessions")["sessions"].as_array().expect("a list").len(), 2);
    for (option, value, message) in [
        ("--keep", "30", "or days such as `30d`"),
        ("--keep", "5s", "expected at least a minute"),
        ("--max-size", "5kB", "expected at least 64KiB"),
    ] {
        let wrong = place.run(&["serve", option, value]);
        assert!(wrong.code == 2 && wrong.err.contains(message), "{}", wrong.err);
    }
}

#[cfg(unix)]
#[test]
fn sigterm_ends_serve_gracefully() {
    let place = Place::new();
    let mut serving = Serving::start(&place, &[]);
    assert_eq!(serving.get("api/sessions")["sessions"], Value::from(Vec::<Value>::new()));
    let pid = serving.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs").success());
    assert_eq!(serving.child.wait().expect("it ends").code(), Some(0));
}
