//! What a contract allows to be carried over a path, and what is left of it.

use units::{Bytes, Duration, Instant};

/// A data allowance, renewed in full at the end of each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataPlan {
    /// What may be carried in a period, both ways and with all headers.
    pub allowance: Bytes,
    /// How long a period is; `None`: as long as the run.
    pub period: Option<Duration>,
}

/// Keeps the account of a [`DataPlan`] from what an interface's counters show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ledger {
    allowance: Bytes,
    period: Duration,
    /// When the allowance is renewed next.
    until: Instant,
    /// What the counters showed when it was renewed last.
    carried: u64,
}

impl Ledger {
    /// The first period of `plan` begins with the run, which is `run` long, and with counters at zero.
    pub fn new(plan: DataPlan, run: Duration) -> Self {
        let period = plan.period.unwrap_or(run);
        Self { allowance: plan.allowance, period, until: Instant::ZERO + period, carried: 0 }
    }

    /// What is left at `now`, when the interface has carried so many bytes since the beginning, and when it
    /// is renewed. What was carried between the end of a period and the first look after it counts as
    /// carried before that end.
    pub fn look(&mut self, now: Instant, carried: u64) -> (Bytes, Instant) {
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
    fn what_is_left_goes_down_with_the_counters_and_is_renewed_with_the_period() {
        let plan = DataPlan { allowance: Bytes::new(1000), period: Some(Duration::from_secs(10)) };
        let mut ledger = Ledger::new(plan, Duration::from_secs(60));
        let mut look = |seconds, carried| {
            let (left, until) = ledger.look(Instant::from_secs(seconds), carried);
            (left.get(), until.as_nanos() / 1_000_000_000)
        };
        assert_eq!(look(0, 0), (1000, 10));
        assert_eq!(look(4, 700), (300, 10));
        assert_eq!(look(9, 1200), (0, 10));
        assert_eq!(look(10, 1200), (1000, 20));
        assert_eq!(look(15, 1500), (700, 20));
        assert_eq!(look(47, 1500), (1000, 50), "several periods later");
    }

    #[test]
    fn without_a_period_it_is_for_the_whole_run() {
        let plan = DataPlan { allowance: Bytes::new(1000), period: None };
        let mut ledger = Ledger::new(plan, Duration::from_secs(60));
        assert_eq!(ledger.look(Instant::from_secs(59), 10), (Bytes::new(990), Instant::from_secs(60)));
    }
}
