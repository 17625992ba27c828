//! Tests of the collector over loopback, with requests of players, browsers and attackers.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use tandem_collector::{Config, Store, run};
use tokio::sync::oneshot;

struct Collector {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    fn start(database: &Path, config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let store = Store::open(database).unwrap();
        let thread = std::thread::spawn(move || {
            run(listener, config, store, async {
                let _ = stopped.await;
            })
            .unwrap();
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Returns the status, the head in lower case, and the body.
    fn ask(&self, request: &str, fields: &[(&str, &str)], body: &[u8]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut head =
            format!("{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        let address = self.address.to_string();
        let host = [("Host", address.as_str())];
        let host = if fields.iter().any(|(name, _)| *name == "Host") { &[][..] } else { &host };
        for (name, value) in fields.iter().chain(host) {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        stream.write_all((head + "\r\n").as_bytes()).unwrap();
        // This write may fail: the collector closes without reading the body of a rejected head.
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_lowercase(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.ask(&format!("GET {path}"), &[], b"");
        (status, body)
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    fn post(&self, document: &Value) -> (u16, Value) {
        let (status, _, body) = self.ask(
            "POST /api/sessions",
            &[("Content-Type", "application/json; charset=utf-8")],
            document.to_string().as_bytes(),
        );
        (status, serde_json::from_str(&body).unwrap())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Example record of `docs/reference/session.md` with another id, start and label.
fn record(id: &str, start: &str, label: &str) -> Value {
    let text = include_str!("../../../docs/reference/session.md");
    let from = text.find("```json\n").unwrap() + 8;
    let mut record: Value =
        serde_json::from_str(&text[from..from + text[from..].find("```").unwrap()]).unwrap();
    record["id"] = json!(id);
    record["started_at"] = json!(start);
    record["label"] = json!(label);
    record
}

#[test]
fn a_record_is_stored_once_and_served_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("deep/sessions.db");
    let one = record("session-1", "2026-11-22T08:00:00.000Z", "bus & <b>");
    {
        let collector = Collector::start(&database, Config::default());
        assert_eq!(collector.post(&one), (201, json!({"id": "session-1", "url": "/sessions/session-1"})));
        assert_eq!(collector.post(&one).0, 200, "repeated record");
        let mut other = one.clone();
        other["rule"] = json!("another");
        assert_eq!(collector.post(&other).0, 409);
        assert_eq!(collector.post(&record("session-2", "2026-11-22T09:00:00.000Z", "walk")).0, 201);
        assert_eq!(collector.post(&record("session-3", "2026-11-22T09:00:00.000Z", "walk")).0, 201);
    }
    // A restarted collector finds all records.
    let collector = Collector::start(&database, Config::default());
    assert_eq!(collector.json("/api/sessions/session-1"), one);
    let ids = |path: &str| {
        let list = collector.json(path);
        let ids: Vec<String> = list["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap().into())
            .collect();
        (ids, list["next"].clone())
    };
    assert_eq!(
        ids("/api/sessions"),
        (["session-3", "session-2", "session-1"].map(String::from).to_vec(), Value::Null)
    );
    assert_eq!(ids("/api/sessions?limit=2").1, "session-2");
    assert_eq!(ids("/api/sessions?limit=2&before=session-2").0, ["session-1"]);
    assert_eq!(ids("/api/sessions?label=walk").0, ["session-3", "session-2"]);
    assert_eq!(
        collector.json("/api/sessions/session-1/p1203")["I23"]["stalling"],
        json!([[0.0, 0.25], [3.0, 1.0]])
    );
    assert!(collector.get("/api/sessions/session-1/csv").1.starts_with("segment,level,"));
    assert_eq!(collector.get("/api/sessions.csv").1.lines().count(), 4);
    let compared = collector.json("/api/compare?ids=session-1,session-3,none");
    assert_eq!(compared["labels"][1]["label"], "walk");
    assert_eq!(collector.json("/api/compare")["labels"][0]["sessions"], 2);

    for path in [
        "/sessions",
        "/sessions/session-1",
        "/compare",
        "/sessions?label=walk",
        "/compare?ids=session-1,session-2",
    ] {
        let (status, head, html) = collector.ask(&format!("GET {path}"), &[], b"");
        assert_eq!(status, 200, "{path}");
        assert!(html.starts_with("<!doctype html>") && !html.contains("<b>"), "{path}");
        assert!(head.contains("content-security-policy: default-src 'none'; script-src 'sha256-"), "{head}");
        assert!(head.contains("x-content-type-options: nosniff") && head.contains("x-frame-options: deny"));
    }
    assert!(collector.get("/sessions").1.contains("href=\"/sessions/session-3\""));
    assert!(collector.get("/sessions").1.contains("href=\"/sessions?label=bus%20%26%20%3Cb%3E\""));
    let (status, head, _) = collector.ask("GET /", &[], b"");
    assert!(status == 302 && head.contains("location: /sessions"));
    for path in ["/api/sessions/none", "/sessions/none", "/api/none", "/none", "/api/sessions/session-1/x"] {
        assert_eq!(collector.get(path).0, 404, "{path}");
    }
    let (status, head, body) = collector.ask("HEAD /api/sessions/session-1", &[], b"");
    assert!(status == 200 && body.is_empty() && !head.contains("content-length: 0"), "{head}");
}

#[test]
fn invalid_records_are_rejected_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    let good = record("session-1", "2026-11-22T08:00:00.000Z", "");
    let send = |kind: &str, body: &[u8]| collector.ask("POST /api/sessions", &[("Content-Type", kind)], body);
    assert_eq!(send("text/plain", good.to_string().as_bytes()).0, 415, "HTML forms can send it");
    assert_eq!(send("application/json", b"{").0, 400);
    let mut misspelt = good.clone();
    misspelt["lable"] = json!("x");
    let (status, answer) = collector.post(&misspelt);
    assert_eq!(status, 400);
    assert!(answer["problems"][0].as_str().unwrap().starts_with("unknown field `lable`"), "{answer}");
    let mut wrong = good.clone();
    wrong["kpis"]["stalls"] = json!(7);
    let (status, answer) = collector.post(&wrong);
    assert_eq!((status, &answer["problems"][0]), (422, &json!("kpis.stalls: is 7, but the list has 1")));
    assert_eq!(send("application/json", &vec![b' '; (4 << 20) + 1]).0, 413);
    assert_eq!(collector.ask("DELETE /api/sessions/session-1", &[], b"").0, 405);
    assert_eq!(collector.json("/api/sessions")["sessions"], json!([]));
    assert_eq!(collector.post(&good).0, 201, "valid record after rejected ones");
}

#[test]
fn unknown_host_names_origins_and_clients_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { origins: vec!["https://films.example".into()], ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let document = record("session-1", "2026-11-22T08:00:00.000Z", "").to_string();
    let post = |fields: &[(&str, &str)]| {
        let fields = [&[("Content-Type", "application/json")], fields].concat();
        collector.ask("POST /api/sessions", &fields, document.as_bytes())
    };
    // DNS rebinding: a foreign name that resolves to this host.
    assert_eq!(post(&[("Host", "evil.example")]).0, 421);
    assert_eq!(collector.ask("GET /api/sessions", &[("Host", "evil.example")], b"").0, 421);
    // A foreign origin.
    assert_eq!(post(&[("Origin", "https://evil.example")]).0, 403);
    let (status, head, _) = collector.ask("GET /api/sessions", &[("Origin", "https://evil.example")], b"");
    assert!(status == 200 && !head.contains("access-control-allow-origin"), "no page can read it: {head}");
    let (status, head, _) =
        collector.ask("OPTIONS /api/sessions", &[("Origin", "https://evil.example")], b"");
    assert!(status == 403 && !head.contains("access-control"), "{head}");
    // An allowed origin.
    let films = ("Origin", "https://films.example");
    let (status, head, _) = collector.ask("OPTIONS /api/sessions", &[films], b"");
    assert!(status == 204 && head.contains("access-control-allow-headers: authorization, content-type"));
    let (status, head, _) = post(&[films]);
    assert!(status == 201 && head.contains("access-control-allow-origin: https://films.example"), "{head}");
    // The collector's own page.
    let own = format!("http://{}", collector.address);
    assert_eq!(post(&[("Origin", &own)]).0, 200);

    let config = Config { token: Some("sesame".into()), ..Config::default() };
    assert!(config.check("0.0.0.0:80".parse().unwrap()).is_ok());
    assert!(Config::default().check("0.0.0.0:80".parse().unwrap()).is_err());
    assert!(Config::default().check("192.0.2.1:80".parse().unwrap()).is_err());
    assert!(Config::default().check("[::1]:80".parse().unwrap()).is_ok());
    let collector = Collector::start(&folder.path().join("t.db"), config);
    let ask = |fields: &[(&str, &str)]| collector.ask("GET /sessions", fields, b"");
    let (status, head, _) = ask(&[]);
    assert!(status == 401 && head.contains("www-authenticate: basic"), "{head}");
    assert_eq!(ask(&[("Authorization", "Bearer open")]).0, 401);
    assert_eq!(ask(&[("Authorization", "Bearer sesame")]).0, 200);
    // `me:sesame`: the token is the password of any user name.
    assert_eq!(ask(&[("Authorization", "Basic bWU6c2VzYW1l")]).0, 200);
}

#[test]
fn player_page_and_content_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let web = folder.path().join("web");
    std::fs::create_dir(&web).unwrap();
    std::fs::write(web.join("index.html"), "<!doctype html>player").unwrap();
    std::fs::write(folder.path().join("secret"), "no").unwrap();
    let content = player::content::Content { seed: 1, ..player::content::Content::default() };
    let config = Config { web: Some(web), content: Some(content), ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let (status, head, body) = collector.ask("GET /", &[], b"");
    assert_eq!((status, body.as_str()), (200, "<!doctype html>player"));
    assert!(head.contains("script-src 'self'") && !head.contains("access-control-allow-origin"), "{head}");
    assert!(collector.get("/sessions").1.contains("Play a video"));
    assert_eq!(collector.get("/../secret").0, 404);
    let (status, head, body) = collector.ask("GET /content/segments/0/3/50", &[], b"");
    assert!(status == 200 && head.contains("access-control-allow-origin: *"), "{head} {}", body.len());
}
