//! Earliest completion first: Lim et al., "ECF: An MPTCP path scheduler to manage heterogeneous
//! paths", `CoNEXT` 2017.

use super::{Candidate, MinRtt, Scheduler, SchedulerContext};
use units::Duration;

/// As [`MinRtt`], but waits for the fastest subflow if it alone would complete the unsent data
/// earlier than with a slower subflow's help (Algorithm 1).
#[derive(Debug, Clone, Default)]
pub(crate) struct Ecf {
    /// The last decision was to wait: the threshold is then a quarter higher (beta = 0.25).
    waiting: bool,
}

impl Ecf {
    /// Decides whether to wait for `fast`, with `unsent` bytes still to go.
    ///
    /// Algorithm 1 with `k` in bytes. Both sides of each comparison are multiplied out, so that the
    /// arithmetic is exact.
    fn should_wait(&mut self, fast: &Candidate, slow: &Candidate, unsent: u64) -> bool {
        let product = |bytes: u64, time: Duration| u128::from(bytes) * u128::from(time.as_nanos());
        let delta = fast.rtt_variation.max(slow.rtt_variation);
        // (1 + k / CWND_F) RTT_F < (1 + waiting * beta) (RTT_S + delta)
        let quarters = 4 + u128::from(self.waiting);
        let alone = 4 * product(fast.cwnd + unsent, fast.srtt);
        if alone >= quarters * product(fast.cwnd, slow.srtt + delta) {
            self.waiting = false;
            return false;
        }
        // The slow subflow would take at least two round trips of the fast one:
        // k / CWND_S RTT_S >= 2 RTT_F + delta
        let waits = product(unsent, slow.srtt) >= product(slow.cwnd, fast.srtt * 2 + delta);
        self.waiting |= waits;
        waits
    }
}

impl Scheduler for Ecf {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let pick = MinRtt.pick(candidates, context)?;
        let slow = &candidates[pick];
        let fast = candidates.iter().min_by_key(|c| c.srtt)?;
        if fast.srtt >= slow.srtt {
            return Some(pick);
        }
        (!self.should_wait(fast, slow, context.unsent)).then_some(pick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, context};

    fn fast_and_slow(variation_ms: u64) -> [Candidate; 2] {
        let mut two = [candidate(0, 10, 4000, 4000), candidate(1, 100, 4000, 0)];
        two[1].rtt_variation = Duration::from_millis(variation_ms);
        two
    }

    #[test]
    fn waits_while_the_fast_subflow_alone_completes_earlier() {
        let pick = |unsent| Ecf::default().pick(&fast_and_slow(0), &context(1_000_000, unsent));
        // (1 + k / 4000) * 10 ms against 100 ms: equal at 36,000 bytes.
        assert_eq!(pick(35_999), None);
        assert_eq!(pick(36_000), Some(1));
        // Second condition, k / 4000 * 100 ms against 20 ms: the slow subflow delivers a last
        // segment sooner than two round trips of the fast one.
        assert_eq!(pick(800), None);
        assert_eq!(pick(799), Some(1));
    }

    #[test]
    fn rtt_variation_favours_waiting() {
        // The fast subflow competes with 100 + 20 ms.
        let pick = |unsent| Ecf::default().pick(&fast_and_slow(20), &context(1_000_000, unsent));
        assert_eq!(pick(43_999), None);
        assert_eq!(pick(44_000), Some(1));
    }

    #[test]
    fn waiting_raises_the_threshold_by_a_quarter() {
        let mut ecf = Ecf::default();
        let mut pick = |unsent| ecf.pick(&fast_and_slow(0), &context(1_000_000, unsent));
        assert_eq!(pick(20_000), None);
        // 1.25 * 100 ms: equal at 46,000 bytes.
        assert_eq!(pick(45_999), None);
        assert_eq!(pick(46_000), Some(1));
        assert_eq!(pick(36_000), Some(1), "the threshold is back to normal after sending");
    }
}
