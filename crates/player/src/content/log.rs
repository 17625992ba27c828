//! Log of served content: ground truth for a player's figures.

use serde::Serialize;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One response. Instants are milliseconds since the Unix epoch, like a browser's
/// `performance.timeOrigin`, from a monotonic clock.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Client address and port.
    pub peer: String,
    /// Method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The `Range` field.
    pub range: Option<String>,
    /// The CMCD fields, joined with commas.
    pub cmcd: Option<String>,
    /// Response status.
    pub status: u16,
    /// Length of the body in the header.
    pub bytes: u64,
    /// Time at which the request was read.
    pub asked_ms: f64,
    /// Time at which the kernel took the first bytes of the response.
    pub first_write_ms: Option<f64>,
    /// Time at which it took the latest bytes.
    pub last_write_ms: Option<f64>,
    /// Time at which the peer's kernel had acknowledged everything, to the millisecond.
    pub acknowledged_ms: Option<f64>,
    /// True if the response was written completely.
    pub complete: bool,
}

/// Destination of entries: lines of JSON, memory, or none.
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

    /// Writes a line per entry. After an error the sink is not used again.
    pub fn lines(sink: impl Write + Send + 'static) -> Self {
        Self::new(Some(Box::new(sink)), None)
    }

    fn new(sink: Option<Box<dyn Write + Send>>, kept: Option<Vec<Entry>>) -> Self {
        let unix_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1e3;
        let clock = Clock { start: Instant::now(), unix_ms };
        Self { inner: Arc::new(Mutex::new(Inner { sink, kept })), clock }
    }

    /// Entries so far, in the order in which the responses ended.
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

    /// A panic in another thread leaves the list intact: entries are pushed at once.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
