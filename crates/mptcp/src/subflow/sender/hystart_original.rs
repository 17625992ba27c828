//! The original `HyStart`: leaves slow start by acknowledgement trains or by delay (Ha and Rhee,
//! "Taming the elephants: New TCP slow start", Computer Networks 2011), with the parameters of
//! Linux's CUBIC (`tcp_cubic.c`, `hystart_update`).

use crate::congestion::{SubflowView, Window};
use units::{Duration, Instant};

/// Smallest window at which slow start may end (`hystart_low_window`).
const LOW_WINDOW_SEGMENTS: u64 = 16;
/// Longest gap between acknowledgements of one train (`hystart_ack_delta_us`).
const MAX_TRAIN_GAP: Duration = Duration::from_millis(2);
/// Samples of a round before its delay counts.
const MIN_SAMPLES: u32 = 8;
const MIN_DELAY_THRESHOLD: Duration = Duration::from_millis(4);
const MAX_DELAY_THRESHOLD: Duration = Duration::from_millis(16);
/// Upper bound of the time in which the sender's own bursts delay acknowledgements.
const MAX_BURST_DELAY: Duration = Duration::from_millis(1);
/// Bytes of four bursts of the largest size (`hystart_ack_delay`).
const FOUR_BURSTS_BYTES: u64 = 4 * 65_536;

#[derive(Debug, Clone)]
pub(super) struct OriginalHyStart {
    /// The sender paces, which spreads a train over up to a round trip.
    paced: bool,
    /// The exit was found; no other until a timeout.
    found: bool,
    round_start: Instant,
    round_end: u64,
    /// Last acknowledgement of the train that began the round.
    last_in_train: Instant,
    /// Lowest round trip since the start or the last timeout.
    delay_min: Duration,
    /// Lowest round trip of this round, and the number of its samples.
    round_min: Duration,
    samples: u32,
}

impl OriginalHyStart {
    pub(super) fn new(paced: bool) -> Self {
        Self {
            paced,
            found: false,
            round_start: Instant::ZERO,
            round_end: 0,
            last_in_train: Instant::ZERO,
            delay_min: Duration::MAX,
            round_min: Duration::MAX,
            samples: 0,
        }
    }

    /// The state after a timeout.
    pub(super) fn restarted(&self) -> Self {
        Self::new(self.paced)
    }

    /// Takes an acknowledgement; `next` is the next offset to be sent. Sets the threshold to the
    /// window when slow start is over.
    pub(super) fn on_ack(&mut self, view: &SubflowView, next: u64, window: &mut Window) {
        let Some(rtt) = view.rtt else { return };
        self.delay_min = self.delay_min.min(rtt);
        if self.found || !window.in_slow_start() {
            return;
        }
        if view.una > self.round_end {
            (self.round_start, self.last_in_train, self.round_end) = (view.now, view.now, next);
            (self.round_min, self.samples) = (Duration::MAX, 0);
        }
        if window.cwnd < LOW_WINDOW_SEGMENTS * view.mss {
            return;
        }
        if self.is_train_long(view, window) || self.is_delay_long(rtt) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// The train lasts longer than half the lowest round trip, or a whole one if the sender paces
    /// (`sk_pacing_status`; none by default): the window fills the path.
    fn is_train_long(&mut self, view: &SubflowView, window: &Window) -> bool {
        if view.now.since(self.last_in_train) > MAX_TRAIN_GAP {
            return false;
        }
        self.last_in_train = view.now;
        let round_trip = self.delay_min + burst_delay(view, window);
        view.now.since(self.round_start) > if self.paced { round_trip } else { round_trip / 2 }
    }

    /// The lowest round trip of this round exceeds the lowest one by an eighth.
    fn is_delay_long(&mut self, rtt: Duration) -> bool {
        self.round_min = self.round_min.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let threshold = (self.delay_min / 8).max(MIN_DELAY_THRESHOLD).min(MAX_DELAY_THRESHOLD);
        self.round_min > self.delay_min + threshold
    }
}

/// Time that four bursts take at the pacing rate of slow start, two windows per round trip.
fn burst_delay(view: &SubflowView, window: &Window) -> Duration {
    let nanos =
        u128::from(FOUR_BURSTS_BYTES) * u128::from(view.srtt.as_nanos()) / u128::from(2 * window.cwnd.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)).min(MAX_BURST_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Acknowledges one segment of a window of `segments` at `now_us` after a round trip of `rtt_ms`.
    fn ack(hystart: &mut OriginalHyStart, now_us: u64, una: u64, rtt_ms: u64, segments: u64) -> bool {
        let rtt = Duration::from_millis(rtt_ms);
        let view = SubflowView {
            now: Instant::from_secs(1) + Duration::from_micros(now_us),
            mss: MSS,
            srtt: rtt,
            in_flight: segments * MSS,
            rtt: Some(rtt),
            min_rtt: rtt,
            una,
            recovering: false,
        };
        let mut window = Window { cwnd: segments * MSS, ssthresh: u64::MAX };
        hystart.on_ack(&view, una + segments * MSS, &mut window);
        window.ssthresh == window.cwnd
    }

    #[test]
    fn train_longer_than_half_the_round_trip_ends_slow_start() {
        // Half of 40 ms and of 1 ms for bursts: 20.5 ms; all of it with pacing.
        for (paced, last) in [(false, 21), (true, 42)] {
            let mut hystart = OriginalHyStart::new(paced);
            let exit = (0..80).find(|&i| ack(&mut hystart, i * 1000, 1 + i * MSS, 40, 100));
            assert_eq!(exit, Some(last));
        }
    }

    #[test]
    fn gap_of_more_than_two_milliseconds_ends_the_train() {
        let mut hystart = OriginalHyStart::new(false);
        assert!((0..40).all(|i| !ack(&mut hystart, i * 2001, 1 + i * MSS, 40, 100)));
    }

    #[test]
    fn ninth_sample_of_a_longer_round_trip_ends_slow_start() {
        let mut hystart = OriginalHyStart::new(false);
        assert!(!ack(&mut hystart, 0, 1, 40, 100));
        let next = 1 + 100 * MSS;
        let exit = (1..20).find(|&i| ack(&mut hystart, i * 3000, next + i * MSS, 46, 100));
        assert_eq!(exit, Some(9));
    }

    #[test]
    fn window_below_sixteen_segments_keeps_slow_start() {
        let mut hystart = OriginalHyStart::new(false);
        assert!((0..40).all(|i| !ack(&mut hystart, i * 1000, 1 + i * MSS, 40, 15)));
    }
}
