//! Virtual queue: the estimated demand in, the received bytes out (Lindley 1952).
//!
//! The queue of the sender is out of sight for a receiving device. `docs/design/when-needed.md`
//! derives the slack and the rule by which the demand is learned.

use units::Duration;

/// Demand of the device's applications, and the bytes by which the received data lags behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct VirtualQueue {
    /// Rates of the last observations without a lag, in bytes per second, as a ring.
    samples: [f64; Self::SAMPLES],
    next: usize,
    demand: f64,
    bytes: f64,
}

impl VirtualQueue {
    /// Samples of the median: one second, so that half a second of a new rate shows a demand.
    const SAMPLES: usize = 10;

    /// Records that `rate` bytes per second arrived for `span`. A rate may be lower than the demand
    /// by the part `slack`. The demand decays with the time constant `memory`, and rises to at most
    /// `max_demand`.
    pub(super) fn advance(
        &mut self,
        rate: f64,
        span: Duration,
        slack: f64,
        memory: Duration,
        max_demand: f64,
    ) {
        let seconds = span.as_secs_f64();
        let paid = (rate - self.demand).clamp(0.0, self.bytes / seconds);
        let limit = memory.as_secs_f64() * self.demand;
        // A shortage counts in full; otherwise the slack absorbs the variation of a stream.
        let served = self.served_rate(slack);
        let expected = if rate < served { self.demand } else { served };
        self.bytes = (self.bytes + (expected - rate) * seconds).clamp(0.0, limit);
        if self.bytes == 0.0 {
            self.samples[self.next] = rate - paid;
            self.next = (self.next + 1) % Self::SAMPLES;
            let median = self.median().min(max_demand.max(self.demand));
            let part = if median > self.demand { 1.0 } else { (seconds / memory.as_secs_f64()).min(1.0) };
            self.demand += (median - self.demand) * part;
        }
    }

    fn median(&self) -> f64 {
        let mut sorted = self.samples;
        sorted.sort_unstable_by(f64::total_cmp);
        f64::midpoint(sorted[Self::SAMPLES / 2 - 1], sorted[Self::SAMPLES / 2])
    }

    /// Sets the demand to `rate` bytes per second, all of which has arrived.
    pub(super) fn reset(&mut self, rate: f64) {
        *self = Self { samples: [rate; Self::SAMPLES], next: 0, demand: rate, bytes: 0.0 };
    }

    /// Estimated demand, in bytes per second.
    pub(super) fn demand(&self) -> f64 {
        self.demand
    }

    /// Rate below which the queue grows, in bytes per second.
    pub(super) fn served_rate(&self, slack: f64) -> f64 {
        (1.0 - slack) * self.demand
    }

    /// Demanded bytes that have not arrived.
    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }
}
