//! Leaving slow start when round trips grow: HyStart++ (RFC 9406).

use crate::congestion::Window;
use units::Duration;

/// Section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Segments by which an acknowledgement may let the window grow, without pacing.
const LIMIT: u64 = 8;

/// Conservative slow start.
#[derive(Debug, Clone, Copy)]
struct Conservative {
    baseline: Duration,
    rounds: u32,
}

#[derive(Debug, Clone)]
pub(super) struct HyStart {
    pub(super) on: bool,
    round_end: u64,
    last_min: Duration,
    this_min: Duration,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStart {
    pub(super) fn new(on: bool) -> Self {
        let never = Duration::MAX;
        Self { on, round_end: 0, last_min: never, this_min: never, samples: 0, conservative: None }
    }

    /// Of `acked` bytes, those by which the window may grow; sets the threshold when it is time to
    /// leave (section 4.2). For the first slow start only (section 4.3).
    pub(super) fn on_ack(
        &mut self,
        acked: u64,
        (una, next): (u64, u64),
        rtt: Option<Duration>,
        mss: u64,
        paced: bool,
        window: &mut Window,
    ) -> u64 {
        if window.ssthresh != u64::MAX {
            self.on = false;
            return acked;
        }
        let grow = if paced { acked } else { acked.min(LIMIT * mss) };
        if let Some(rtt) = rtt {
            self.this_min = self.this_min.min(rtt);
            self.samples += 1;
        }
        let grow = if let Some(css) = self.conservative {
            if self.samples >= SAMPLES && self.this_min < css.baseline {
                self.conservative = None;
            }
            grow / CSS_GROWTH_DIVISOR
        } else {
            if self.samples >= SAMPLES && self.last_min != Duration::MAX {
                let thresh = (self.last_min / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
                if self.this_min >= self.last_min + thresh {
                    self.conservative = Some(Conservative { baseline: self.this_min, rounds: 0 });
                }
            }
            grow
        };
        if una >= self.round_end {
            self.round_end = next;
            (self.last_min, self.this_min, self.samples) = (self.this_min, Duration::MAX, 0);
            if let Some(css) = &mut self.conservative {
                css.rounds += 1;
                if css.rounds >= CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    self.on = false;
                    return 0;
                }
            }
        }
        grow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Rounds of sixteen acknowledgements each; gives the window after each round.
    fn rounds(rtts: &[u64]) -> (Vec<u64>, Window) {
        let mut hystart = HyStart::new(true);
        let mut window = Window { cwnd: 16 * MSS, ssthresh: u64::MAX };
        let mut una = 1;
        let mut next = 1;
        let mut after = Vec::new();
        for &rtt in rtts {
            if !hystart.on {
                break;
            }
            next += 16 * MSS;
            for _ in 0..16 {
                una += MSS;
                let rtt = Some(Duration::from_millis(rtt));
                window.cwnd += hystart.on_ack(MSS, (una, next + 16 * MSS), rtt, MSS, false, &mut window);
            }
            next = una;
            after.push(window.cwnd / MSS);
        }
        (after, window)
    }

    #[test]
    fn a_steady_round_trip_lets_it_grow() {
        let (after, window) = rounds(&[100; 5]);
        assert_eq!(after, [32, 48, 64, 80, 96]);
        assert_eq!(window.ssthresh, u64::MAX);
    }

    #[test]
    fn a_growing_round_trip_ends_slow_start_after_five_cautious_rounds() {
        // The threshold for 100 ms is 12.5 ms.
        let (_, window) = rounds(&[100, 100, 100, 112, 112, 112, 112, 112, 112, 112]);
        assert_eq!(window.ssthresh, u64::MAX);
        let (_, window) = rounds(&[100, 100, 100, 113, 113, 113, 113, 113, 113, 113, 113, 113]);
        assert_eq!(window.ssthresh, window.cwnd);
    }

    #[test]
    fn a_jitter_that_passes_lets_slow_start_go_on() {
        let (after, window) = rounds(&[100, 100, 100, 120, 120, 100, 100, 100, 100, 100, 100, 100]);
        assert_eq!(window.ssthresh, u64::MAX);
        let last = after.len() - 1;
        assert_eq!(after[last] - after[last - 1], 16, "a segment for each again");
    }

    #[test]
    fn an_acknowledgement_of_much_counts_for_eight_segments() {
        let mut hystart = HyStart::new(true);
        let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
        assert_eq!(hystart.on_ack(50 * MSS, (50 * MSS, 100 * MSS), None, MSS, false, &mut window), 8 * MSS);
        assert_eq!(hystart.on_ack(50 * MSS, (50 * MSS, 100 * MSS), None, MSS, true, &mut window), 50 * MSS);
    }
}
