//! Data allowance of a path, and the account of its use.

use units::{Bytes, Duration, Instant};

/// A data allowance, renewed in full at the end of each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataPlan {
    /// Bytes per period, in both directions and with all headers.
    pub allowance: Bytes,
    /// Length of a period; `None` for the length of the run.
    pub period: Option<Duration>,
}

/// Account of a [`DataPlan`], kept from the counters of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    allowance: Bytes,
    period: Duration,
    /// Time of the next renewal.
    until: Instant,
    /// Counter at the last renewal.
    carried: u64,
}

impl Ledger {
    /// An account whose first period begins with the run, with counters at zero. `run` is the
    /// length of the run.
    pub fn new(plan: DataPlan, run: Duration) -> Self {
        let period = plan.period.unwrap_or(run);
        Self { allowance: plan.allowance, period, until: Instant::ZERO + period, carried: 0 }
    }

    /// The remaining allowance at `now`, and the time of its renewal. `carried` is the interface's
    /// counter since the start. Bytes carried between the end of a period and the next call count
    /// for that period.
    pub fn remaining(&mut self, now: Instant, carried: u64) -> (Bytes, Instant) {
        if now >= self.until && !self.period.is_zero() {
            let periods = now.since(self.until).as_nanos() / self.period.as_nanos() + 1;
            self.until += self.period * periods;
            self.carried = carried;
        }
        (self.allowance - Bytes::new(carried.saturating_sub(self.carried)), self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_allowance_decreases_and_is_renewed_with_the_period() {
        let plan = DataPlan { allowance: Bytes::new(1000), period: Some(Duration::from_secs(10)) };
        let mut ledger = Ledger::new(plan, Duration::from_secs(60));
        let mut remaining = |seconds, carried| {
            let (left, until) = ledger.remaining(Instant::from_secs(seconds), carried);
            (left.get(), until.as_nanos() / 1_000_000_000)
        };
        assert_eq!(remaining(0, 0), (1000, 10));
        assert_eq!(remaining(4, 700), (300, 10));
        assert_eq!(remaining(9, 1200), (0, 10));
        assert_eq!(remaining(10, 1200), (1000, 20));
        assert_eq!(remaining(15, 1500), (700, 20));
        assert_eq!(remaining(47, 1500), (1000, 50), "several periods later");
    }

    #[test]
    fn plan_without_a_period_applies_to_the_whole_run() {
        let plan = DataPlan { allowance: Bytes::new(1000), period: None };
        let mut ledger = Ledger::new(plan, Duration::from_secs(60));
        assert_eq!(ledger.remaining(Instant::from_secs(59), 10), (Bytes::new(990), Instant::from_secs(60)));
    }
}
