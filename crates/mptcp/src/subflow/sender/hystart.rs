//! HyStart++: leaves slow start when round trips grow (RFC 9406).

use crate::congestion::{SubflowView, Window};
use units::Duration;

/// Constants of RFC 9406, section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const RTT_SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Segments by which one acknowledgement may grow the window, without pacing.
const MAX_GROWTH_SEGMENTS: u64 = 8;

/// Conservative slow start (CSS).
#[derive(Debug, Clone, Copy)]
struct Conservative {
    /// Lowest round trip of the round in which CSS began.
    baseline: Duration,
    rounds: u32,
}

/// State of the first slow start of a subflow.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    active: bool,
    round_end: u64,
    /// Lowest round trips of the last round and of the present one.
    last_min: Duration,
    this_min: Duration,
    /// Round-trip samples of the present round.
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStart {
    pub(super) fn new() -> Self {
        let never = Duration::MAX;
        Self { active: true, round_end: 0, last_min: never, this_min: never, samples: 0, conservative: None }
    }

    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Returns by how many of `acked` bytes slow start may grow the window. Sets the threshold when
    /// slow start is over (section 4.2). `next` is the next offset to be sent.
    pub(super) fn on_ack(
        &mut self,
        acked: u64,
        view: &SubflowView,
        next: u64,
        paced: bool,
        window: &mut Window,
    ) -> u64 {
        // Only for the first slow start (section 4.3).
        if window.ssthresh != u64::MAX {
            self.active = false;
            return acked;
        }
        if let Some(rtt) = view.rtt {
            self.this_min = self.this_min.min(rtt);
            self.samples += 1;
        }
        let growth = if paced { acked } else { acked.min(MAX_GROWTH_SEGMENTS * view.mss) };
        let divisor = if self.conservative.is_some() { CSS_GROWTH_DIVISOR } else { 1 };
        self.update_phase();
        if view.una >= self.round_end && self.end_round(next) {
            window.ssthresh = window.cwnd;
            self.active = false;
            return 0;
        }
        growth / divisor
    }

    /// Enters CSS if the round trip has grown, and leaves it if the growth was only jitter.
    fn update_phase(&mut self) {
        if self.samples < RTT_SAMPLES {
            return;
        }
        if let Some(css) = self.conservative {
            if self.this_min < css.baseline {
                self.conservative = None;
            }
        } else if self.last_min != Duration::MAX {
            let threshold = (self.last_min / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
            if self.this_min >= self.last_min + threshold {
                self.conservative = Some(Conservative { baseline: self.this_min, rounds: 0 });
            }
        }
    }

    /// Starts the next round. Returns true if CSS has lasted long enough.
    fn end_round(&mut self, next: u64) -> bool {
        self.round_end = next;
        (self.last_min, self.this_min, self.samples) = (self.this_min, Duration::MAX, 0);
        let Some(css) = &mut self.conservative else { return false };
        css.rounds += 1;
        css.rounds >= CSS_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Instant;

    const MSS: u64 = 1000;

    fn view(una: u64, rtt: Option<u64>) -> SubflowView {
        SubflowView {
            now: Instant::ZERO,
            mss: MSS,
            srtt: Duration::ZERO,
            in_flight: 0,
            rtt: rtt.map(Duration::from_millis),
            min_rtt: Duration::ZERO,
            una,
            recovering: false,
        }
    }

    /// Rounds of sixteen acknowledgements each. Returns the window after each round.
    fn rounds(rtts: &[u64]) -> (Vec<u64>, Window) {
        let mut hystart = HyStart::new();
        let mut window = Window { cwnd: 16 * MSS, ssthresh: u64::MAX };
        let mut una = 1;
        let mut next = 1;
        let mut after = Vec::new();
        for &rtt in rtts {
            if !hystart.is_active() {
                break;
            }
            next += 16 * MSS;
            for _ in 0..16 {
                una += MSS;
                let view = view(una, Some(rtt));
                window.cwnd += hystart.on_ack(MSS, &view, next + 16 * MSS, false, &mut window);
            }
            next = una;
            after.push(window.cwnd / MSS);
        }
        (after, window)
    }

    #[test]
    fn steady_round_trip_keeps_slow_start() {
        let (after, window) = rounds(&[100; 5]);
        assert_eq!(after, [32, 48, 64, 80, 96]);
        assert_eq!(window.ssthresh, u64::MAX);
    }

    #[test]
    fn growing_round_trip_ends_slow_start_after_five_conservative_rounds() {
        // The threshold for 100 ms is 12.5 ms.
        let (_, window) = rounds(&[100, 100, 100, 112, 112, 112, 112, 112, 112, 112]);
        assert_eq!(window.ssthresh, u64::MAX);
        let (_, window) = rounds(&[100, 100, 100, 113, 113, 113, 113, 113, 113, 113, 113, 113]);
        assert_eq!(window.ssthresh, window.cwnd);
    }

    #[test]
    fn passing_jitter_resumes_slow_start() {
        let (after, window) = rounds(&[100, 100, 100, 120, 120, 100, 100, 100, 100, 100, 100, 100]);
        assert_eq!(window.ssthresh, u64::MAX);
        let last = after.len() - 1;
        assert_eq!(after[last] - after[last - 1], 16, "each segment grows the window by one again");
    }

    #[test]
    fn unpaced_acknowledgement_grows_by_at_most_eight_segments() {
        let mut hystart = HyStart::new();
        let mut window = Window { cwnd: 100 * MSS, ssthresh: u64::MAX };
        let view = view(50 * MSS, None);
        assert_eq!(hystart.on_ack(50 * MSS, &view, 100 * MSS, false, &mut window), 8 * MSS);
        assert_eq!(hystart.on_ack(50 * MSS, &view, 100 * MSS, true, &mut window), 50 * MSS);
    }
}
