//! Limit of log entries that clients cause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::warn;

/// Entries per interval.
const MAX_ENTRIES: u32 = 10;
/// Length of an interval.
const INTERVAL: Duration = Duration::from_secs(10);

/// Limits of the kinds of entries, so that a stranger's refusals hide no other kind.
#[derive(Debug, Default)]
pub(crate) struct LogLimits {
    /// Failed accepts.
    pub(crate) accept: LogLimit,
    /// Refused destinations, loops, and failures of the upstream proxy.
    pub(crate) connect: LogLimit,
    /// Clients that wait after failed logins.
    pub(crate) lock_out: LogLimit,
    /// Failed TLS handshakes.
    pub(crate) tls: LogLimit,
    /// Clients whose address is not allowed.
    pub(crate) address: LogLimit,
}

/// Admits [`MAX_ENTRIES`] per [`INTERVAL`], and reports the number of those left out.
#[derive(Debug, Default)]
pub(crate) struct LogLimit {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    admitted: u32,
    left_out: u64,
}

impl LogLimit {
    /// Whether one more entry may be logged now.
    pub(crate) fn admit(&self) -> bool {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.since.is_none_or(|since| now.duration_since(since) >= INTERVAL) {
            if state.left_out > 0 {
                warn!("{} more refusals were not logged", state.left_out);
            }
            *state = State { since: Some(now), ..State::default() };
        }
        let admitted = state.admitted < MAX_ENTRIES;
        if admitted {
            state.admitted += 1;
        } else {
            state.left_out += 1;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_admits_ten_entries() {
        let (limit, start) = (LogLimit::default(), Instant::now());
        let admitted = (0..100).filter(|_| limit.admit_at(start)).count();
        assert_eq!(admitted, 10);
        assert!(limit.admit_at(start + INTERVAL));
    }
}
