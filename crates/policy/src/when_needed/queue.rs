//! Detection of a standing queue from round-trip times.

use units::Duration;

/// Detects that the round-trip time of the preferred paths stays above its minimum: the link is
/// full.
///
/// A full link shows a demand that was never met, which byte counters cannot show.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueDetector {
    /// Minimum and last round-trip time, in seconds.
    minimum: Option<f64>,
    last: Option<f64>,
    standing_s: f64,
}

impl QueueDetector {
    /// Time over which the minimum is forgotten, in seconds: a route may become longer.
    const MINIMUM_MEMORY_S: f64 = 100.0;

    /// Records the shortest round-trip time of the preferred paths that carry data. `threshold` is
    /// the increase over the minimum that counts as a queue.
    pub(super) fn record(&mut self, round_trip: Option<Duration>, span: f64, threshold: Duration) {
        let Some(round_trip) = round_trip.map(Duration::as_secs_f64) else {
            self.standing_s = 0.0;
            return;
        };
        let decayed = self.minimum.map(|minimum| minimum * (1.0 + span / Self::MINIMUM_MEMORY_S));
        let minimum = decayed.map_or(round_trip, |minimum| minimum.min(round_trip));
        self.minimum = Some(minimum);
        // An unchanged value was not measured again, as after a timeout (Karn's algorithm).
        let measured = self.last.replace(round_trip) != Some(round_trip);
        let stands = measured && round_trip > minimum + threshold.as_secs_f64();
        self.standing_s = if stands { self.standing_s + span } else { 0.0 };
    }

    /// Time for which the queue has been standing, in seconds; 0 without one.
    pub(super) fn standing_s(&self) -> f64 {
        self.standing_s
    }

    /// Starts to measure the time anew.
    pub(super) fn reset(&mut self) {
        self.standing_s = 0.0;
    }
}
