//! The access log: a line of JSON for each connection of a client, and for each request of HTTP.
//!
//! What could be a secret is not in it: no path, no query, no field, no credential but its name.

use crate::counters::Counters;
use linux::socket::{self, MptcpInfo, SubflowInfo};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::TcpStream;

/// How many lines may wait to be written; more are lost, and counted.
const WAITING: usize = 4096;

/// A line of the log.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Line<'a> {
    /// `connection` or `request`.
    pub(crate) event: &'static str,
    /// When it ended, in seconds since 1970.
    pub(crate) time: f64,
    pub(crate) client: String,
    /// What the client spoke: `http`, `socks5`, `convert` or `transparent`.
    pub(crate) front: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) destination: Option<String>,
    /// The address that was connected to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// How it ended.
    pub(crate) outcome: &'a str,
    pub(crate) seconds: f64,
    /// From the client, to the client.
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    /// Of a connection: `mptcp` or `tcp`, and what each subflow carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) subflows: Vec<Subflow>,
}

/// What a subflow of a client's connection carried, as seen from the proxy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Subflow {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    pub(crate) rtt_ms: f64,
}

/// What is known of a client's MPTCP connection. It is looked at more than once, as the kernel forgets subflows
/// that have ended.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    pub(crate) is_mptcp: bool,
    seen: BTreeMap<u32, Subflow>,
}

impl Paths {
    pub(crate) fn of(is_mptcp: bool) -> Self {
        Self { is_mptcp, seen: BTreeMap::new() }
    }

    /// Looks at the connection as it is now.
    pub(crate) fn look(&mut self, stream: &TcpStream) {
        if !self.is_mptcp {
            return;
        }
        for one in socket::full_info(stream).unwrap_or_default() {
            self.note(&one);
        }
    }

    fn note(&mut self, one: &SubflowInfo) {
        let seen = Subflow {
            local: one.local,
            remote: one.remote,
            bytes_up: one.tcp.bytes_received,
            bytes_down: one.tcp.bytes_sent.saturating_sub(one.tcp.bytes_retransmitted),
            rtt_ms: f64::from(one.tcp.srtt_us) / 1e3,
        };
        // One that ends tells less and less.
        let before = self.seen.entry(one.id).or_insert_with(|| seen.clone());
        if seen.bytes_up + seen.bytes_down >= before.bytes_up + before.bytes_down {
            *before = seen;
        }
    }

    pub(crate) fn into_subflows(self) -> Vec<Subflow> {
        self.seen.into_values().collect()
    }
}

/// Whether a connection speaks MPTCP.
pub(crate) fn is_mptcp(stream: &TcpStream) -> bool {
    matches!(socket::mptcp_info(stream), Ok(Some(MptcpInfo { fallback: false, .. })))
}

/// The log; written by a thread of its own, so that no disk holds a connection up.
#[derive(Debug)]
pub(crate) struct Log {
    lines: Mutex<SyncSender<Message>>,
}

enum Message {
    Line(String),
    /// Another file from now on.
    File(File),
}

impl Log {
    /// Appends to the file at `path`; `-` is the standard output.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let out: Box<dyn Write + Send> =
            if path == Path::new("-") { Box::new(io::stdout()) } else { Box::new(append(path)?) };
        let (lines, hear) = sync_channel(WAITING);
        thread::Builder::new().name("access log".to_owned()).spawn(move || write(&hear, out))?;
        Ok(Self { lines: Mutex::new(lines) })
    }

    /// Opens the file again, which somebody has moved away.
    pub(crate) fn reopen(&self, path: &Path) -> io::Result<()> {
        if path != Path::new("-") {
            self.send(Message::File(append(path)?));
        }
        Ok(())
    }

    /// Writes a line, soon.
    pub(crate) fn line(&self, line: &Line<'_>, counters: &Counters) {
        let lost = match serde_json::to_string(line) {
            Ok(text) => !self.send(Message::Line(text)),
            Err(_) => true,
        };
        if lost {
            Counters::count(&counters.log_lost);
        }
    }

    fn send(&self, message: Message) -> bool {
        self.lines.lock().is_ok_and(|lines| lines.try_send(message).is_ok())
    }
}

fn append(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().append(true).create(true).mode(0o640).open(path)
}

fn write(hear: &Receiver<Message>, mut out: Box<dyn Write + Send>) {
    while let Ok(message) = hear.recv() {
        match message {
            Message::Line(text) => _ = writeln!(out, "{text}"),
            Message::File(file) => out = Box::new(file),
        }
        _ = out.flush();
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Seconds, to a microsecond.
pub(crate) fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
