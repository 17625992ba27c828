//! A collector on loopback, and a client.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use tandem_collector::{Config, Store, run};
use tokio::sync::oneshot;

pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    pub(crate) fn start(database: &Path, config: Config) -> Self {
        Self::serve(Store::open(database).unwrap(), config)
    }

    pub(crate) fn serve(store: Store, config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            run(listener, config, store, async {
                let _ = stopped.await;
            })
            .unwrap();
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    /// Returns the status, the head in lower case, and the body.
    pub(crate) fn ask(&self, request: &str, fields: &[(&str, &str)], body: &[u8]) -> (u16, String, String) {
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
        let head = head.to_lowercase();
        let is_chunked = head.contains("transfer-encoding: chunked");
        let body = if is_chunked { joined(body) } else { body.to_owned() };
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head, body)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.ask(&format!("GET {path}"), &[], b"");
        (status, body)
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    pub(crate) fn post(&self, document: &Value) -> (u16, Value) {
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
pub(crate) fn record(id: &str, start: &str, label: &str) -> Value {
    let text = include_str!("../../../../docs/reference/session.md");
    let from = text.find("```json\n").unwrap() + 8;
    let mut record: Value =
        serde_json::from_str(&text[from..from + text[from..].find("```").unwrap()]).unwrap();
    record["id"] = json!(id);
    record["started_at"] = json!(start);
    record["label"] = json!(label);
    record
}

/// Stores a record without HTTP.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn stored(store: &Store, document: &Value) {
    let text = document.to_string();
    store.keep(&playback::Record::parse(text.as_bytes()).unwrap(), &text).unwrap();
}

/// Joins the chunks of a body (RFC 9112, section 7.1).
fn joined(mut body: &str) -> String {
    let mut whole = String::new();
    loop {
        let (size, rest) = body.split_once("\r\n").unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return whole;
        }
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
}
