//! Spacing segments: at the rate of the algorithm, or as Linux does at a multiple of the window over the
//! round trip. Bursts of two segments or a millisecond go out at once, and the next is waited for.

use crate::congestion::Window;
use units::{Duration, Instant};

/// Of the window over the round trip, in percent: in slow start below half the threshold, and else
/// (Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START: u64 = 200;
const AVOIDANCE: u64 = 120;
const BURST_SEGMENTS: u64 = 2;
const BURSTS_A_SECOND: u64 = 1000;

#[derive(Debug, Clone, Default)]
pub(super) struct Pace {
    /// Bytes per second; 0 for no bound.
    rate: u64,
    /// When what was sent would have left at that rate.
    at: Instant,
    /// Sent since the last wait.
    burst: u64,
}

impl Pace {
    pub(super) fn set(&mut self, rate: Option<u64>) {
        self.rate = rate.unwrap_or(0);
    }

    /// What Linux paces at.
    pub(super) fn rate_of(window: &Window, srtt: Duration) -> u64 {
        let ratio = if window.cwnd < window.ssthresh / 2 { SLOW_START } else { AVOIDANCE };
        let nanos = u128::from(srtt.as_nanos().max(1));
        let rate = u128::from(window.cwnd) * u128::from(ratio) * 10_000_000 / nanos;
        u64::try_from(rate).unwrap_or(u64::MAX).max(1)
    }

    /// How long a burst takes at `rate` bytes per second.
    pub(super) fn burst(rate: u64, mss: u64) -> Duration {
        let nanos = u128::from(BURST_SEGMENTS * mss) * 1_000_000_000 / u128::from(rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4))
    }

    /// `len` bytes went out. Gives when the next may, if not at once.
    pub(super) fn sent(&mut self, now: Instant, len: u64, mss: u64) -> Option<Instant> {
        if self.rate == 0 {
            return None;
        }
        if self.at <= now {
            (self.at, self.burst) = (now, 0);
        }
        let nanos = u128::from(len) * 1_000_000_000 / u128::from(self.rate);
        self.at += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX / 4));
        self.burst += len;
        if self.burst >= (BURST_SEGMENTS * mss).max(self.rate / BURSTS_A_SECOND) {
            self.burst = 0;
            return Some(self.at);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_a_multiple_of_the_window_over_the_round_trip() {
        let rtt = Duration::from_millis(100);
        let rate = |cwnd, ssthresh| Pace::rate_of(&Window { cwnd, ssthresh }, rtt);
        assert_eq!(rate(10_000, u64::MAX), 200_000);
        assert_eq!(rate(10_000, 20_002), 200_000);
        assert_eq!(rate(10_000, 20_000), 120_000);
        assert_eq!(Pace::rate_of(&Window { cwnd: u64::MAX, ssthresh: 0 }, Duration::ZERO), u64::MAX);
    }

    #[test]
    fn two_segments_go_at_once_and_the_next_two_when_those_have_left() {
        let mut pace = Pace::default();
        pace.set(Some(100_000));
        let start = Instant::from_secs(1);
        assert_eq!(pace.sent(start, 1000, 1000), None);
        assert_eq!(pace.sent(start, 1000, 1000), Some(start + Duration::from_millis(20)));
        // At a hundred megabytes a second a burst is a millisecond, 100 segments.
        let mut pace = Pace::default();
        pace.set(Some(100_000_000));
        for _ in 0..99 {
            assert_eq!(pace.sent(start, 1000, 1000), None);
        }
        assert_eq!(pace.sent(start, 1000, 1000), Some(start + Duration::from_millis(1)));
    }
}
