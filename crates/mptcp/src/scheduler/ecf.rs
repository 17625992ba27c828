//! Earliest completion first: Lim et al., "ECF: An MPTCP path scheduler to manage heterogeneous
//! paths", `CoNEXT` 2017.

use super::{Candidate, MinRtt, Scheduler, Situation};
use units::Duration;

/// As [`MinRtt`], but where the fastest subflow has no room it asks whether all that waits to be sent
/// would be done earlier over that one than with a slower one's help (Algorithm 1).
#[derive(Debug, Clone, Default)]
pub(crate) struct Ecf {
    /// It waits, and goes on for a quarter longer (beta = 0.25).
    waiting: bool,
}

impl Ecf {
    /// Is it worth waiting for `fast` with `unsent` bytes still to go?
    ///
    /// Algorithm 1, with `k` in bytes and multiplied out, so that it is exact.
    fn waits(&mut self, fast: &Candidate, slow: &Candidate, unsent: u64) -> bool {
        let times = |a: u64, b: Duration| u128::from(a) * u128::from(b.as_nanos());
        let delta = fast.rtt_variation.max(slow.rtt_variation);
        // (1 + k / CWND_F) RTT_F < (1 + waiting * beta) (RTT_S + delta)
        let quarters = 4 + u128::from(self.waiting);
        let alone = 4 * times(fast.cwnd + unsent, fast.srtt);
        if alone >= quarters * times(fast.cwnd, slow.srtt + delta) {
            self.waiting = false;
            return false;
        }
        // And the slower one would need two round trips of the fast one for it:
        // k / CWND_S RTT_S >= 2 RTT_F + delta
        let waits = times(unsent, slow.srtt) >= times(slow.cwnd, fast.srtt * 2 + delta);
        self.waiting |= waits;
        waits
    }
}

impl Scheduler for Ecf {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        let pick = MinRtt.pick(candidates, situation)?;
        let slow = &candidates[pick];
        let fast = candidates.iter().min_by_key(|c| c.srtt)?;
        if fast.srtt >= slow.srtt {
            return Some(pick);
        }
        (!self.waits(fast, slow, situation.unsent)).then_some(pick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, situation};

    fn two(variation_ms: u64) -> [Candidate; 2] {
        let mut two = [candidate(0, 10, 4000, 4000), candidate(1, 100, 4000, 0)];
        two[1].rtt_variation = Duration::from_millis(variation_ms);
        two
    }

    #[test]
    fn waits_while_the_fast_subflow_alone_would_be_done_earlier() {
        let pick = |unsent| Ecf::default().pick(&two(0), &situation(1_000_000, unsent));
        // (1 + k / 4000) * 10 ms against 100 ms: up to 36,000 bytes the fast one is done earlier.
        assert_eq!(pick(35_999), None);
        assert_eq!(pick(36_000), Some(1));
        // A last segment is there sooner over the slow one than two round trips later: the paper's
        // second condition, k / 4000 * 100 ms against 20 ms.
        assert_eq!(pick(800), None);
        assert_eq!(pick(799), Some(1));
    }

    #[test]
    fn the_variation_of_either_delays_counts_for_waiting() {
        // 100 + 20 ms to beat.
        let pick = |unsent| Ecf::default().pick(&two(20), &situation(1_000_000, unsent));
        assert_eq!(pick(43_999), None);
        assert_eq!(pick(44_000), Some(1));
    }

    #[test]
    fn once_it_waits_it_goes_on_for_a_quarter_longer() {
        let mut ecf = Ecf::default();
        let mut pick = |unsent| ecf.pick(&two(0), &situation(1_000_000, unsent));
        assert_eq!(pick(20_000), None);
        // 1.25 * 100 ms: up to 46,000 bytes.
        assert_eq!(pick(45_999), None);
        assert_eq!(pick(46_000), Some(1));
        assert_eq!(pick(36_000), Some(1), "and no longer once it has stopped");
    }
}
