//! Virtual queue: the estimated demand in, the received bytes out (Lindley 1952).
//!
//! The queue of the sender is out of sight for a receiving device. `docs/design/when-needed.md`
//! derives the slack and the rule by which the demand is learned.

use super::WhenNeeded;
use units::Duration;

/// Demand of the device's applications, and the bytes by which the received data lags behind it.
#[derive(Debug, Clone, Default)]
pub(super) struct VirtualQueue {
    demand: f64,
    bytes: f64,
    excess: Excess,
}

/// Data beyond the demand since the last time without any (Page's CUSUM test).
#[derive(Debug, Clone, Copy, Default)]
struct Excess {
    /// Bytes beyond the demand and its slack.
    bytes: f64,
    /// All bytes and seconds in which the excess has stood.
    total_bytes: f64,
    seconds: f64,
}

impl VirtualQueue {
    /// Records that `rate` bytes per second arrived for `span`. The demand rises to at most
    /// `max_demand`. In a shortage every missing byte counts; otherwise a rate may be lower than the
    /// demand by the slack.
    pub(super) fn advance(
        &mut self,
        rate: f64,
        span: Duration,
        parameters: &WhenNeeded,
        is_shortage: bool,
        max_demand: f64,
    ) {
        let seconds = span.as_secs_f64();
        let paid = (rate - self.demand).clamp(0.0, self.bytes / seconds);
        let limit = parameters.memory.as_secs_f64() * self.demand;
        let served = self.served_rate(parameters.slack);
        let expected = if is_shortage || rate < served { self.demand } else { served };
        self.bytes = (self.bytes + (expected - rate) * seconds).clamp(0.0, limit);
        if self.bytes > 0.0 {
            // Beyond the demand arrives what was demanded before.
            self.excess = Excess::default();
        } else {
            self.learn((rate - paid).min(max_demand.max(self.demand)), seconds, parameters);
        }
    }

    /// Follows a rate without a queue: slowly, and at once when the excess is longer than what a
    /// queue may have left.
    fn learn(&mut self, rate: f64, seconds: f64, parameters: &WhenNeeded) {
        let WhenNeeded { deadline, memory, slack, .. } = *parameters;
        let beyond = rate - (1.0 + slack) * self.demand;
        let Excess { bytes, total_bytes, seconds: past } = self.excess;
        self.excess = Excess {
            bytes: bytes + beyond * seconds,
            total_bytes: total_bytes + rate * seconds,
            seconds: past + seconds,
        };
        if self.excess.bytes <= 0.0 {
            self.excess = Excess::default();
        }
        let mean = self.excess.total_bytes / self.excess.seconds;
        // Only a rate beyond the demand confirms the excess: a single burst is no demand.
        if beyond > 0.0 && self.excess.bytes >= mean * deadline.as_secs_f64() {
            self.demand = mean;
            self.excess = Excess::default();
        } else {
            self.demand += (rate - self.demand) * (seconds / memory.as_secs_f64()).min(1.0);
        }
    }

    /// Sets the demand to `rate` bytes per second, all of which has arrived.
    pub(super) fn reset(&mut self, rate: f64) {
        *self = Self { demand: rate, bytes: 0.0, excess: Excess::default() };
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
