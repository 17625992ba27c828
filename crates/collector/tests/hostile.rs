//! Clients that hold memory, connections or the database: bounds and fairness of the collector.

#![allow(clippy::unwrap_used, reason = "a missing value fails the test")]

mod support;

use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use support::{Collector, record, stored};
use tandem_collector::{Config, Filter, Now, Retention, Store};

/// Tests that measure memory or time run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

const NEIGHBOUR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));

/// Connects from an address of the loopback network.
fn connect_from(source: IpAddr, to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((source, 0).into()).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends a request from an address; returns the whole answer.
fn ask_from(source: IpAddr, to: SocketAddr, request: &str) -> String {
    let mut stream = connect_from(source, to);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

fn post_request(address: SocketAddr, id: &str) -> String {
    let body = record(id, "2026-11-22T08:00:00.000Z", "bus").to_string();
    let length = body.len();
    format!(
        "POST /api/sessions HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Stores sessions with a long reason each, so that a page of them is large.
fn fill(store: &Store, count: usize) {
    for number in 0..count {
        let mut document = record(&format!("session-{number:05}"), "2026-11-22T08:00:00.000Z", "bus");
        document["label"] = "old".repeat(60).into();
        stored(store, &document);
    }
}

#[test]
fn large_posts_that_stall_hold_bounded_memory_and_shut_nobody_out() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start(&folder.path().join("s.db"), Config::default());
    let before = resident_mib();
    let piece = vec![b' '; 3 << 20];
    let mut held = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(collector.address).unwrap();
        let head = format!(
            "POST /api/sessions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: 4194304\r\n\r\n",
            collector.address
        );
        stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
        // The write fails once the budget is used up: the collector answers 503 and closes.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&piece));
        held.push(stream);
    }
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 120, "300 posts of 3 MiB took {grown} MiB");
    // Small records pass beside them, of the same client and of others.
    for source in [IpAddr::from([127, 0, 0, 1]), NEIGHBOUR] {
        let id = format!("session-{source}");
        let answer = ask_from(source, collector.address, &post_request(collector.address, &id));
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    }
    drop(held);
}

#[test]
fn clients_that_never_read_hold_bounded_memory_and_shut_nobody_out() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("s.db");
    fill(&Store::open(&database).unwrap(), 1_000);
    std::fs::write(folder.path().join("big.bin"), vec![0; 16 << 20]).unwrap();
    let content = player::content::Content {
        directory: Some(folder.path().to_owned()),
        ..player::content::Content::default()
    };
    let collector = Collector::start(&database, Config { content: Some(content), ..Config::default() });
    let before = resident_mib();
    let mut held = Vec::new();
    for number in 0..600 {
        let path = ["/content/big.bin", "/sessions?limit=1000", "/api/sessions?limit=10000"][number % 3];
        let mut stream = TcpStream::connect(collector.address).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", collector.address);
        // All places are taken at the end: further connections of this client are closed.
        let _ = stream.write_all(request.as_bytes());
        held.push(stream);
    }
    let asked = Instant::now();
    let request = format!(
        "GET /api/sessions?limit=5 HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        collector.address
    );
    let answer = ask_from(NEIGHBOUR, collector.address, &request);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    thread::sleep(Duration::from_secs(2));
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 250, "600 clients that do not read took {grown} MiB");
    drop(held);
}

#[test]
fn slow_readers_of_lists_of_long_sessions_hold_bounded_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("s.db");
    let store = Store::open(&database).unwrap();
    for number in 0..250 {
        let mut document = record(&format!("session-{number:05}"), "2026-11-22T08:00:00.000Z", "bus");
        // JSON writes six bytes for each of these characters.
        document["video"]["content_id"] = Value::Null;
        document["video"]["url"] = "\u{1}".repeat(4_096).into();
        stored(&store, &document);
    }
    let collector = Collector::start(&database, Config::default());
    let before = resident_mib();
    let mut held = Vec::new();
    for number in 0..60 {
        let path = ["/api/sessions?limit=10000", "/api/sessions.csv"][number % 2];
        let mut stream = connect_from(NEIGHBOUR, collector.address);
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", collector.address);
        stream.write_all(request.as_bytes()).unwrap();
        held.push(stream);
    }
    for stream in &mut held {
        stream.read_exact(&mut [0; 1_000]).unwrap();
    }
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 60, "60 slow readers took {grown} MiB");
    drop(held);
    let list = collector.get("/api/sessions?limit=10000").1;
    assert!(list.len() > 250 * 24_000, "{} bytes", list.len());
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["sessions"].as_array().unwrap().len(), 250);
    assert_eq!(collector.json("/api/sessions?limit=249")["next"], "session-00001");
    assert_eq!(collector.get("/api/sessions.csv").1.lines().count(), 251);
}

#[test]
fn deletion_of_many_sessions_leaves_posts_and_reads_going() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("s.db");
    fill(&Store::open(&database).unwrap(), 2_000);
    let collector = Collector::start(&database, Config::default());
    let address = collector.address;
    let deletion = thread::spawn(move || {
        let request = format!(
            "DELETE /api/sessions?label={}&confirm=2000 HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n",
            "old".repeat(60)
        );
        ask_from(NEIGHBOUR, address, &request)
    });
    let mut posted = 0;
    let mut longest = Duration::ZERO;
    while !deletion.is_finished() {
        let asked = Instant::now();
        let id = format!("meanwhile-{posted}");
        let answer = ask_from(NEIGHBOUR, address, &post_request(address, &id));
        assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
        assert_eq!(collector.get(&format!("/sessions/{id}")).0, 200);
        longest = longest.max(asked.elapsed());
        posted += 1;
    }
    let answer = deletion.join().unwrap();
    assert!(answer.ends_with("{\"deleted\":2000}\n"), "{answer}");
    assert!(posted > 2 && longest < Duration::from_secs(2), "{posted} posts, at most {longest:?}");
    let left = collector.json("/api/sessions?limit=10000");
    assert_eq!(left["sessions"].as_array().unwrap().len(), posted, "posts during the deletion stay");
}

#[test]
fn database_of_maximum_size_refuses_records_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s.db")).unwrap();
    store.limit_size(512 << 10).unwrap();
    let collector = Collector::serve(store.clone(), Config::default());
    let post = |number: usize| {
        let id = format!("session-{number:05}");
        collector.post(&record(&id, "2026-11-22T08:00:00.000Z", "bus"))
    };
    let refused = (0..1_000).find(|number| post(*number).0 != 201).unwrap();
    let (status, answer) = post(refused);
    assert_eq!((status, &answer["error"]), (507, &Value::from("no space left")), "{answer}");
    assert!(refused > 50, "{refused} records of 4 KiB in 512 KiB");
    assert_eq!(collector.get("/sessions").0, 200, "reads go on");
    assert_eq!(collector.ask("DELETE /api/sessions/session-00000", &[], b"").0, 200);
    assert_eq!(collector.ask("DELETE /api/sessions/session-00001", &[], b"").0, 200);
    assert_eq!(post(refused).0, 201);
}

#[test]
fn oldest_sessions_beyond_a_size_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("s.db")).unwrap();
    fill(&store, 200);
    let bytes = store.bytes().unwrap();
    let limit = Retention { max_bytes: Some(bytes / 2), ..Retention::default() };
    let deleted = store.retain(limit, Now::read()).unwrap();
    assert!((80..130).contains(&deleted), "{deleted} of 200 sessions");
    assert!(store.bytes().unwrap() <= bytes / 2);
    let newest = store.list(1, None, &Filter::default()).unwrap();
    assert_eq!(newest[0].id, "session-00199");
    assert_eq!(store.retain(limit, Now::read()).unwrap(), 0);
}

#[test]
fn wrong_tokens_are_answered_slowly_and_delay_no_other_network() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let config = Config { token: Some("sesame".into()), ..Config::default() };
    let collector = Collector::start(&folder.path().join("s.db"), config);
    let address = collector.address;
    let ask = move |source: IpAddr, token: &str| {
        let request = format!(
            "GET /api/sessions HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\n\r\n"
        );
        ask_from(source, address, &request)
    };
    let asked = Instant::now();
    let guesses: Vec<_> =
        (0..40).map(|number| thread::spawn(move || ask(NEIGHBOUR, &number.to_string()))).collect();
    assert!(ask([127, 0, 0, 1].into(), "sesame").starts_with("HTTP/1.1 200"));
    assert!(guesses.iter().any(|guess| !guess.is_finished()), "before the end of the guesses");
    for guess in guesses {
        assert!(guess.join().unwrap().starts_with("HTTP/1.1 401"));
    }
    // Four at a time, a quarter of a second each.
    assert!(asked.elapsed() >= Duration::from_millis(2_500), "{:?}", asked.elapsed());
    assert!(ask(NEIGHBOUR, "sesame").starts_with("HTTP/1.1 200"));
}
