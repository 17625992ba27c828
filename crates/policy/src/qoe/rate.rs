//! Receive rate of some of the paths, measured while the player waits for data.

use super::INTERVAL;
use units::{Duration, Instant};

/// Moving average of a receive rate.
#[derive(Debug, Clone, Default)]
pub(super) struct ReceiveRate {
    /// Time and counter of the last observation, if the paths could show their rate since.
    previous: Option<(Instant, u64)>,
    mean: Option<f64>,
}

impl ReceiveRate {
    /// Time constant of the average: a segment is a burst, and shorter spans see its round trips.
    const TIME_CONSTANT: Duration = Duration::from_secs(1);

    /// Updates the average with the `bytes` received since the start. The span until the next
    /// observation `counts` if the player waits and may use the paths.
    pub(super) fn observe(&mut self, now: Instant, bytes: u64, counts: bool) {
        let since = self.previous.map(|(then, before)| (bytes.saturating_sub(before), now.since(then)));
        // An extra observation, when a path comes or goes, is too short for a rate.
        if since.is_some_and(|(_, span)| span < INTERVAL / 2) {
            return;
        }
        self.previous = counts.then_some((now, bytes));
        let Some((bytes, span)) = since else { return };
        let seconds = span.as_secs_f64();
        let rate = bytes as f64 / seconds;
        let part = seconds / (Self::TIME_CONSTANT.as_secs_f64() + seconds);
        self.mean = Some(self.mean.map_or(rate, |mean| mean + (rate - mean) * part));
    }

    /// The average in bytes per second; `None` before the first measurement.
    pub(super) fn mean(&self) -> Option<f64> {
        self.mean
    }
}
