//! What was served and when: the ground truth that a player's figures are held against.

use serde::Serialize;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One answer. Instants are milliseconds since the Unix epoch, as a browser's `performance.timeOrigin` is,
/// from one clock that never goes back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Who asked: address and port.
    pub peer: String,
    /// How.
    pub method: String,
    /// For what, with its query.
    pub path: String,
    /// The `Range` field.
    pub range: Option<String>,
    /// The fields of CMCD, joined with commas.
    pub cmcd: Option<String>,
    /// The answer's status.
    pub status: u16,
    /// Bytes of its body, as its header says.
    pub bytes: u64,
    /// When the request had been read.
    pub asked_ms: f64,
    /// When the kernel had taken the first of the answer.
    pub first_write_ms: Option<f64>,
    /// When it had taken the last so far.
    pub last_write_ms: Option<f64>,
    /// When the peer's kernel had acknowledged all of it, to the millisecond.
    pub acknowledged_ms: Option<f64>,
    /// The answer was written whole.
    pub complete: bool,
}

/// Where entries go: each as a line of JSON, or kept, or nowhere.
#[derive(Clone)]
pub struct Log {
    inner: Arc<Mutex<Inner>>,
    clock: Clock,
}

#[derive(Clone, Copy)]
struct Clock {
    start: Instant,
    unix_ms: f64,
}

struct Inner {
    sink: Option<Box<dyn Write + Send>>,
    kept: Option<Vec<Entry>>,
}

impl std::fmt::Debug for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Log {
    /// Keeps entries for [`entries`](Self::entries).
    pub fn kept() -> Self {
        Self::new(None, Some(Vec::new()))
    }

    /// Writes a line for each entry. A sink that fails is written to no more.
    pub fn lines(sink: impl Write + Send + 'static) -> Self {
        Self::new(Some(Box::new(sink)), None)
    }

    fn new(sink: Option<Box<dyn Write + Send>>, kept: Option<Vec<Entry>>) -> Self {
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3;
        let clock = Clock { start: Instant::now(), unix_ms };
        Self { inner: Arc::new(Mutex::new(Inner { sink, kept })), clock }
    }

    /// What was kept so far, in the order in which the answers ended.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().kept.clone().unwrap_or_default()
    }

    /// Milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> f64 {
        self.clock.unix_ms + self.clock.start.elapsed().as_secs_f64() * 1e3
    }

    pub(crate) fn push(&self, entry: Entry) {
        let mut inner = self.lock();
        if let (Some(sink), Ok(mut line)) = (&mut inner.sink, serde_json::to_string(&entry)) {
            line.push('\n');
            if sink.write_all(line.as_bytes()).and_then(|()| sink.flush()).is_err() {
                inner.sink = None;
            }
        }
        if let Some(kept) = &mut inner.kept {
            kept.push(entry);
        }
    }

    /// What another thread left when it panicked is whole: entries are pushed at once.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
