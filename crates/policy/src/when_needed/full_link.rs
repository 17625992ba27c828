//! Detection of a full link from round-trip times.

use units::Duration;

/// Time for which the round-trip time of the preferred paths has exceeded its minimum.
///
/// A full link hides the demand that it does not carry from byte counters.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FullLink {
    minimum: Option<Duration>,
    last: Option<Duration>,
    full_for: Duration,
}

impl FullLink {
    /// Records the shortest round-trip time of the preferred paths that carry data. A link is full
    /// while it exceeds the minimum by `queueing`.
    pub(super) fn record(&mut self, round_trip: Option<Duration>, span: Duration, queueing: Duration) {
        let Some(round_trip) = round_trip else {
            self.full_for = Duration::ZERO;
            return;
        };
        let minimum = self.minimum.map_or(round_trip, |minimum| minimum.min(round_trip));
        self.minimum = Some(minimum);
        // An unchanged value was not measured again, as after a timeout (Karn's algorithm).
        if self.last.replace(round_trip) != Some(round_trip) {
            let full = round_trip > minimum + queueing;
            self.full_for = if full { self.full_for + span } else { Duration::ZERO };
        }
    }

    /// Time for which the link has been full.
    pub(super) fn full_for(&self) -> Duration {
        self.full_for
    }

    /// Measures the time anew. `relearn`: the path was not full but has become longer, so its last
    /// round-trip time is the minimum.
    pub(super) fn restart(&mut self, relearn: bool) {
        self.full_for = Duration::ZERO;
        if relearn {
            self.minimum = self.last;
        }
    }
}
