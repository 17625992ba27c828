//! Pacing: spaces segments at the rate of the congestion control, or like Linux at a multiple of
//! the window over the round trip. Bursts of two segments or one millisecond are sent at once.

use crate::congestion::Window;
use units::{Duration, Instant};

/// Rate over window per round trip, in percent: in slow start below half the threshold, and
/// otherwise (Linux `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
const BURST_SEGMENTS: u64 = 2;
const BURSTS_PER_SECOND: u64 = 1000;
const MAX_DELAY_NANOS: u64 = u64::MAX / 4;

/// Pacer of one subflow.
#[derive(Debug, Clone)]
pub(super) struct Pacer {
    /// Paces by the window if the congestion control sets no rate.
    by_window: bool,
    /// Bytes per second; 0 for no limit.
    rate: u64,
    /// When the data sent so far would have left at that rate.
    busy_until: Instant,
    /// Bytes sent since the last delay.
    burst: u64,
    /// Time by which the last delay was exceeded because the owner's timer was late.
    lateness: Duration,
}

impl Pacer {
    pub(super) fn new(by_window: bool) -> Self {
        Self { by_window, rate: 0, busy_until: Instant::ZERO, burst: 0, lateness: Duration::ZERO }
    }

    pub(super) fn is_by_window(&self) -> bool {
        self.by_window
    }
    pub(super) fn set_rate(&mut self, rate: Option<u64>) {
        self.rate = rate.unwrap_or(0);
    }

    /// Rate at which Linux paces, in bytes per second.
    pub(super) fn rate_of(window: &Window, srtt: Duration) -> u64 {
        let slow_start = window.cwnd < window.ssthresh / 2;
        let percent = if slow_start { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let nanos = u128::from(srtt.as_nanos().max(1));
        let rate = u128::from(window.cwnd) * u128::from(percent) * 10_000_000 / nanos;
        u64::try_from(rate).unwrap_or(u64::MAX).max(1)
    }

    /// Duration of a burst at `rate` bytes per second.
    pub(super) fn burst_duration(rate: u64, mss: u64) -> Duration {
        transmission_time(BURST_SEGMENTS * mss, rate.max(1))
    }

    /// A delay has ended, `lateness` after its time.
    pub(super) fn on_expired(&mut self, lateness: Duration) {
        self.lateness = lateness;
    }

    /// `len` bytes were sent. Returns when the next segment may be sent, if not at once.
    pub(super) fn on_sent(&mut self, now: Instant, len: u64, mss: u64) -> Option<Instant> {
        if self.rate == 0 {
            return None;
        }
        let time = transmission_time(len, self.rate);
        let lateness = core::mem::take(&mut self.lateness);
        if self.busy_until <= now {
            // A late timer lowers the rate less, as in Linux (`tcp_update_skb_after_send`).
            (self.busy_until, self.burst) = (now + time - lateness.min(time / 2), 0);
        } else {
            self.busy_until += time;
        }
        self.burst += len;
        if self.burst >= (BURST_SEGMENTS * mss).max(self.rate / BURSTS_PER_SECOND) {
            self.burst = 0;
            return Some(self.busy_until);
        }
        None
    }
}

fn transmission_time(bytes: u64, rate: u64) -> Duration {
    let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(MAX_DELAY_NANOS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(rate: u64) -> Pacer {
        let mut pacer = Pacer::new(true);
        pacer.set_rate(Some(rate));
        pacer
    }

    #[test]
    fn rate_is_a_multiple_of_the_window_over_the_round_trip() {
        let rtt = Duration::from_millis(100);
        let rate = |cwnd, ssthresh| Pacer::rate_of(&Window { cwnd, ssthresh }, rtt);
        assert_eq!(rate(10_000, u64::MAX), 200_000);
        assert_eq!(rate(10_000, 20_002), 200_000);
        assert_eq!(rate(10_000, 20_000), 120_000);
        assert_eq!(Pacer::rate_of(&Window { cwnd: u64::MAX, ssthresh: 0 }, Duration::ZERO), u64::MAX);
    }

    #[test]
    fn burst_is_two_segments_or_one_millisecond() {
        let start = Instant::from_secs(1);
        let mut pacer = paced(100_000);
        assert_eq!(pacer.on_sent(start, 1000, 1000), None);
        assert_eq!(pacer.on_sent(start, 1000, 1000), Some(start + Duration::from_millis(20)));
        // At 100 megabytes per second a millisecond is 100 segments.
        let mut pacer = paced(100_000_000);
        for _ in 0..99 {
            assert_eq!(pacer.on_sent(start, 1000, 1000), None);
        }
        assert_eq!(pacer.on_sent(start, 1000, 1000), Some(start + Duration::from_millis(1)));
    }

    #[test]
    fn late_timer_is_made_up_for_by_half_a_segment() {
        let start = Instant::from_secs(1);
        for (late, expected) in [(0, 20), (3, 17), (9, 15)] {
            let mut pacer = paced(100_000);
            pacer.on_expired(Duration::from_millis(late));
            assert_eq!(pacer.on_sent(start, 1000, 1000), None);
            let delay = Duration::from_millis(expected);
            assert_eq!(pacer.on_sent(start, 1000, 1000), Some(start + delay), "{late} ms late");
        }
    }

    #[test]
    fn no_rate_means_no_delay() {
        let mut pacer = Pacer::new(false);
        assert_eq!(pacer.on_sent(Instant::from_secs(1), 1_000_000, 1000), None);
    }
}
