//! Demand of the device's applications, estimated from byte counters.

use units::Duration;

/// The estimated demand, and the backlog: the bytes by which the received data lags behind it.
///
/// The demand is the median rate of the last second, held as a maximum that decays slowly; the
/// median ignores a short burst. A rate below the demand adds to the backlog, a rate above it pays
/// the backlog off. Samples far below the demand, and the part of a rate that pays the backlog off,
/// say nothing about the demand and stay out of the median. `docs/design/when-needed.md` gives the
/// reasons.
#[derive(Debug, Clone, Default)]
pub(super) struct Demand {
    /// Rates of the last samples in bytes per second, as a ring.
    samples: [f64; Self::SAMPLES],
    next: usize,
    /// Bytes per second.
    rate: f64,
    /// Bytes.
    backlog: f64,
}

/// Limits of the estimate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Time constant with which the demand decays.
    pub(super) memory: Duration,
    /// Maximum demand, in bytes per second.
    pub(super) max_rate: f64,
    /// Maximum backlog, in bytes.
    pub(super) max_backlog: f64,
}

/// How a rate above the demand changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rise {
    /// The median raises it.
    Normal,
    /// Eight of ten samples have to be above it: queued data may arrive after a shortage.
    Cautious,
    /// Nothing raises it: data that was sent twice may arrive.
    Frozen,
}

impl Demand {
    /// Samples of the median: one second.
    const SAMPLES: usize = 10;
    /// Samples that may lie below the new demand in a cautious rise.
    const CAUTIOUS_BELOW: usize = 2;
    /// Part of the demand by which a rate may be lower and still meet it: counters are read between
    /// packets, and the rate of a stream varies.
    pub(super) const TOLERANCE: f64 = 0.05;
    /// A rate below this part of the demand is a shortage, not a lower demand.
    const SHORTAGE_RATIO: f64 = 0.8;

    /// Records that `rate` bytes per second arrived for `span`.
    pub(super) fn record(&mut self, rate: f64, span: Duration, rise: Rise, limits: &Limits) {
        let seconds = span.as_secs_f64();
        let max_paid = if seconds > 0.0 { self.backlog / seconds } else { 0.0 };
        let paid = (rate - self.rate).clamp(0.0, max_paid);
        if rate >= Self::SHORTAGE_RATIO * self.rate {
            let max_sample = if rise == Rise::Frozen { self.rate } else { f64::INFINITY };
            self.samples[self.next] = (rate - paid).min(max_sample);
            self.next = (self.next + 1) % Self::SAMPLES;
            self.update_rate(seconds, rise, limits);
        }
        let missed = (self.threshold() - rate) * seconds;
        self.backlog = (self.backlog + missed).clamp(0.0, limits.max_backlog);
    }

    fn update_rate(&mut self, seconds: f64, rise: Rise, limits: &Limits) {
        let mut sorted = self.samples;
        sorted.sort_unstable_by(f64::total_cmp);
        let median = f64::midpoint(sorted[Self::SAMPLES / 2 - 1], sorted[Self::SAMPLES / 2]);
        let median = median.min(limits.max_rate);
        let raised = if rise == Rise::Cautious { median.min(sorted[Self::CAUTIOUS_BELOW]) } else { median };
        if raised > self.rate {
            self.rate = raised;
        } else if median < self.rate {
            let memory = limits.memory.as_secs_f64();
            let part = if memory > 0.0 { (seconds / memory).min(1.0) } else { 1.0 };
            self.rate += (median - self.rate) * part;
        }
    }

    /// Replaces the estimate by `rate` bytes per second, without a backlog.
    pub(super) fn reset_to(&mut self, rate: f64) {
        *self = Self { samples: [rate; Self::SAMPLES], next: 0, rate, backlog: 0.0 };
    }

    /// Ends a shortage: drops the backlog, and the samples, which include data that paid it off.
    pub(super) fn end_shortage(&mut self) {
        self.backlog = 0.0;
        self.samples = [self.rate; Self::SAMPLES];
    }

    /// The demand, in bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Rate below which the backlog grows, in bytes per second.
    pub(super) fn threshold(&self) -> f64 {
        (1.0 - Self::TOLERANCE) * self.rate
    }

    /// The backlog, in bytes.
    pub(super) fn backlog(&self) -> f64 {
        self.backlog
    }

    /// Lateness of the stream: the backlog in seconds of the demand; 0 without a demand.
    pub(super) fn lateness_s(&self) -> f64 {
        if self.rate > 0.0 { self.backlog / self.rate } else { 0.0 }
    }
}
