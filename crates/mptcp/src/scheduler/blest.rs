//! Blocking estimation: Ferlin et al., "BLEST: Blocking estimation-based MPTCP scheduler for
//! heterogeneous networks", IFIP Networking 2016.

use super::{Candidate, MinRtt, Scheduler, Situation};
use units::{Duration, Instant};

/// Steps and bounds of lambda, in thousandths: the paper starts from the bare estimate and corrects it
/// by a hundredth; the Linux v0 tree never goes below the estimate or beyond 1.3 of it.
const STEP: u64 = 10;
const LEAST: u64 = 1000;
const MOST: u64 = 1300;

/// As [`MinRtt`], but it waits for the fastest subflow where a segment on a slower one would hold the
/// connection's send window for so long that the fastest would be blocked.
#[derive(Debug, Clone)]
pub(crate) struct Blest {
    /// Correction of the estimate, in thousandths.
    lambda: u64,
    corrected: Instant,
    /// The send window has stopped the connection since lambda was last corrected.
    blocked: bool,
}

impl Default for Blest {
    fn default() -> Self {
        Self { lambda: LEAST, corrected: Instant::ZERO, blocked: false }
    }
}

impl Blest {
    /// Once a round trip of the slower subflow: up where the window blocked all the same, else down.
    fn correct(&mut self, now: Instant, round_trip: Duration) {
        if now.since(self.corrected) >= round_trip {
            self.lambda = if self.blocked { self.lambda + STEP } else { self.lambda - STEP };
            self.lambda = self.lambda.clamp(LEAST, MOST);
            self.blocked = false;
            self.corrected = now;
        }
    }

    /// Bytes that `fast` sends while a segment is under way on `slow`, growing by a segment each round
    /// trip: `MSS_F (CWND_F + (rtts - 1) / 2) rtts`, with `rtts = RTT_S / RTT_F`.
    fn meanwhile(fast: &Candidate, slow: &Candidate) -> f64 {
        let rtts = slow.srtt.as_secs_f64() / fast.srtt.as_secs_f64().max(1e-6);
        (fast.cwnd as f64 + fast.mss as f64 * (rtts - 1.0) / 2.0) * rtts
    }
}

impl Scheduler for Blest {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        let pick = MinRtt.pick(candidates, situation)?;
        let slow = &candidates[pick];
        let fast = candidates.iter().min_by_key(|c| c.srtt)?;
        if fast.srtt >= slow.srtt {
            return Some(pick);
        }
        self.correct(situation.now, slow.srtt);
        let left = situation.window.saturating_sub(slow.queued + slow.mss);
        let blocks = Self::meanwhile(fast, slow) * self.lambda as f64 / 1000.0 > left as f64;
        (!blocks).then_some(pick)
    }

    fn blocked(&mut self) {
        self.blocked = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, situation};

    #[test]
    fn waits_just_where_the_fast_subflow_would_be_blocked() {
        // Ten round trips of the fast one to one of the slow: 10 (4000 + 1000 * 9 / 2) = 85,000 bytes
        // while a segment is under way, and 6000 + 1000 that the slow one holds.
        let two = [candidate(0, 10, 4000, 4000), candidate(1, 100, 40_000, 6000)];
        let pick = |window| Blest::default().pick(&two, &situation(window, 0));
        assert_eq!(pick(91_999), None);
        assert_eq!(pick(92_000), Some(1));
        // A fast one that has room never waits.
        let two = [candidate(0, 10, 5000, 4000), candidate(1, 100, 40_000, 6000)];
        assert_eq!(Blest::default().pick(&two, &situation(8000, 0)), Some(0));
    }

    #[test]
    fn lambda_rises_where_the_window_blocks_and_falls_where_it_does_not() {
        let two = [candidate(0, 10, 4000, 4000), candidate(1, 100, 40_000, 6000)];
        let mut blest = Blest::default();
        let at = |blest: &mut Blest, ms, window| {
            blest.pick(&two, &Situation { now: Instant::from_millis(ms), ..situation(window, 0) })
        };
        for round in 1..=3 {
            blest.blocked();
            at(&mut blest, 100 * round, 1_000_000);
            // Within the same round trip once.
            blest.blocked();
            at(&mut blest, 100 * round + 99, 1_000_000);
        }
        assert_eq!(blest.lambda, 1030);
        assert_eq!(at(&mut blest, 399, 92_000), None);
        assert_eq!(at(&mut blest, 399, 85_000 * 103 / 100 + 7000), Some(1));
        blest.blocked = false;
        for round in 4..=9 {
            at(&mut blest, 100 * round, 1_000_000);
        }
        assert_eq!(blest.lambda, 1000, "never below the estimate");
    }
}
