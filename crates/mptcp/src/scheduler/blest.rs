//! Blocking estimation: Ferlin et al., "BLEST: Blocking estimation-based MPTCP scheduler for
//! heterogeneous networks", IFIP Networking 2016.

use super::{Candidate, MinRtt, Scheduler, SchedulerContext};
use units::{Duration, Instant};

/// Step by which lambda is corrected, in thousandths.
const LAMBDA_STEP: u64 = 10;
/// Lower bound of lambda, in thousandths: the plain estimate, where the paper starts.
const MIN_LAMBDA: u64 = 1000;
/// Upper bound of lambda, in thousandths, as in the Linux v0 tree.
const MAX_LAMBDA: u64 = 1300;

/// As [`MinRtt`], but waits for the fastest subflow where a segment on a slower one would fill the
/// connection's send window for so long that the fastest subflow would be blocked.
#[derive(Debug, Clone)]
pub(crate) struct Blest {
    /// Correction factor of the estimate, in thousandths.
    lambda: u64,
    corrected_at: Instant,
    /// The send window has blocked the connection since the last correction.
    blocked: bool,
}

impl Default for Blest {
    fn default() -> Self {
        Self { lambda: MIN_LAMBDA, corrected_at: Instant::ZERO, blocked: false }
    }
}

impl Blest {
    /// Corrects lambda once per round trip of the slower subflow: up if the window blocked, else
    /// down.
    fn correct_lambda(&mut self, now: Instant, round_trip: Duration) {
        if now.since(self.corrected_at) >= round_trip {
            self.lambda = if self.blocked { self.lambda + LAMBDA_STEP } else { self.lambda - LAMBDA_STEP };
            self.lambda = self.lambda.clamp(MIN_LAMBDA, MAX_LAMBDA);
            self.blocked = false;
            self.corrected_at = now;
        }
    }

    /// Estimates the bytes that `fast` sends while a segment is in flight on `slow`, with a window
    /// that grows by a segment each round trip: `MSS_F (CWND_F + (rtts - 1) / 2) rtts`, with `rtts
    /// = RTT_S / RTT_F`.
    fn sent_meanwhile(fast: &Candidate, slow: &Candidate) -> f64 {
        let rtts = slow.srtt.as_secs_f64() / fast.srtt.as_secs_f64().max(1e-6);
        (fast.cwnd as f64 + fast.mss as f64 * (rtts - 1.0) / 2.0) * rtts
    }
}

impl Scheduler for Blest {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let pick = MinRtt.pick(candidates, context)?;
        let slow = &candidates[pick];
        let fast = candidates.iter().min_by_key(|c| c.srtt)?;
        if fast.srtt >= slow.srtt {
            return Some(pick);
        }
        self.correct_lambda(context.now, slow.srtt);
        let left = context.window.saturating_sub(slow.queued + slow.mss);
        let blocks = Self::sent_meanwhile(fast, slow) * self.lambda as f64 / 1000.0 > left as f64;
        (!blocks).then_some(pick)
    }

    fn on_window_blocked(&mut self) {
        self.blocked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, context};

    #[test]
    fn waits_if_the_fast_subflow_would_be_blocked() {
        // RTT ratio 10: 10 (4000 + 1000 * 9 / 2) = 85,000 bytes while a segment is in flight, and
        // 6000 + 1000 held by the slow subflow.
        let two = [candidate(0, 10, 4000, 4000), candidate(1, 100, 40_000, 6000)];
        let pick = |window| Blest::default().pick(&two, &context(window, 0));
        assert_eq!(pick(91_999), None);
        assert_eq!(pick(92_000), Some(1));
        // The fast subflow has room, so there is nothing to wait for.
        let two = [candidate(0, 10, 5000, 4000), candidate(1, 100, 40_000, 6000)];
        assert_eq!(Blest::default().pick(&two, &context(8000, 0)), Some(0));
    }

    #[test]
    fn lambda_rises_on_blocking_and_falls_without() {
        let two = [candidate(0, 10, 4000, 4000), candidate(1, 100, 40_000, 6000)];
        let mut blest = Blest::default();
        let pick_at = |blest: &mut Blest, ms, window| {
            blest.pick(&two, &SchedulerContext { now: Instant::from_millis(ms), ..context(window, 0) })
        };
        for round in 1..=3 {
            blest.on_window_blocked();
            pick_at(&mut blest, 100 * round, 1_000_000);
            // A second time in the same round trip changes nothing.
            blest.on_window_blocked();
            pick_at(&mut blest, 100 * round + 99, 1_000_000);
        }
        assert_eq!(blest.lambda, 1030);
        assert_eq!(pick_at(&mut blest, 399, 92_000), None);
        assert_eq!(pick_at(&mut blest, 399, 85_000 * 103 / 100 + 7000), Some(1));
        blest.blocked = false;
        for round in 4..=9 {
            pick_at(&mut blest, 100 * round, 1_000_000);
        }
        assert_eq!(blest.lambda, MIN_LAMBDA);
    }
}
