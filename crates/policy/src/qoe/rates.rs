//! Receive rates of the preferred and of the cellular paths, measured while the player waits for
//! data.

use super::INTERVAL;
use units::Instant;

/// Received bytes between two observations.
#[derive(Debug, Clone, Default)]
struct ReceiveCounter {
    /// Time and counter of the last observation at which the player waited for data.
    previous: Option<(Instant, u64)>,
}

impl ReceiveCounter {
    /// Bytes and seconds since the last observation, if the player waited for data all that time.
    fn observe(&mut self, now: Instant, bytes: u64, waits: bool) -> Option<(f64, f64)> {
        let since =
            self.previous.map(|(then, before)| (bytes.saturating_sub(before) as f64, now.since(then)));
        // An extra observation, when a path comes or goes, is too short for a rate.
        if since.is_some_and(|(_, span)| span < INTERVAL / 2) {
            return None;
        }
        self.previous = waits.then_some((now, bytes));
        since.map(|(bytes, span)| (bytes, span.as_secs_f64()))
    }
}

/// Receive rate of the preferred paths, as two moving averages.
///
/// The short one follows a link that weakens at once; the long one does not trust a link that has
/// just recovered.
#[derive(Debug, Clone, Default)]
pub(super) struct PreferredRate {
    counter: ReceiveCounter,
    averages: Option<[f64; 2]>,
}

impl PreferredRate {
    /// Time constants of the averages, in seconds.
    const TIME_CONSTANTS_S: [f64; 2] = [0.5, 4.0];

    /// Updates the averages with the bytes received since the start.
    pub(super) fn observe(&mut self, now: Instant, bytes: u64, waits: bool) {
        let Some((bytes, seconds)) = self.counter.observe(now, bytes, waits) else { return };
        let rate = bytes / seconds;
        let averages = self.averages.get_or_insert([rate; 2]);
        for (average, constant) in averages.iter_mut().zip(Self::TIME_CONSTANTS_S) {
            *average += (rate - *average) * (seconds / (constant + seconds));
        }
    }

    /// The short and the long average in bytes per second; `None` before the first measurement.
    pub(super) fn averages(&self) -> Option<[f64; 2]> {
        self.averages
    }
}

/// Mean receive rate of the cellular paths since they last became regular.
///
/// The mean includes their start: congestion windows are small after an idle time.
#[derive(Debug, Clone, Default)]
pub(super) struct CellularRate {
    counter: ReceiveCounter,
    bytes: f64,
    seconds: f64,
    rate: Option<f64>,
}

impl CellularRate {
    /// Measurement time before the rate is used, in seconds.
    const MIN_MEASUREMENT_S: f64 = 0.4;

    /// Updates the rate with the bytes received since the start.
    pub(super) fn observe(&mut self, now: Instant, bytes: u64, waits: bool, regular: bool) {
        let since = self.counter.observe(now, bytes, waits);
        if !regular {
            (self.bytes, self.seconds) = (0.0, 0.0);
        } else if let Some((bytes, seconds)) = since {
            self.bytes += bytes;
            self.seconds += seconds;
            if self.seconds >= Self::MIN_MEASUREMENT_S {
                self.rate = Some(self.bytes / self.seconds);
            }
        }
    }

    /// The rate of this or of the last regular time, in bytes per second; `None` before the first.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate
    }
}
