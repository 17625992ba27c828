//! Interval at which interface counters are read.

use units::{Duration, Instant};

/// Time without traffic after which the interval grows.
const ACTIVE_TIME: Duration = Duration::from_secs(2);

/// Minimum time between two samples: without it, frequent events would occupy the processor.
pub const MIN_SAMPLE_INTERVAL: Duration = Duration::from_millis(10);

/// Short interval while traffic flows, growing while there is none.
///
/// A sample with traffic resets the interval to `busy`. After two seconds without traffic each
/// interval is twice the previous one, up to `rest`.
#[derive(Debug, Clone, Copy)]
pub struct SamplingInterval {
    busy: Duration,
    rest: Duration,
    wait: Duration,
    last_traffic: Option<Instant>,
}

impl SamplingInterval {
    /// Starts at the idle interval. `busy` must not exceed `rest`.
    pub fn new(busy: Duration, rest: Duration) -> Self {
        Self { busy, rest: rest.max(busy), wait: rest.max(busy), last_traffic: None }
    }

    /// Records a sample at `now` and returns the time until the next one.
    pub fn on_sample(&mut self, now: Instant, has_traffic: bool) -> Duration {
        if has_traffic {
            self.last_traffic = Some(now);
            self.wait = self.busy;
        } else if self.last_traffic.is_none_or(|at| now.since(at) >= ACTIVE_TIME) {
            self.wait = (self.wait + self.wait).min(self.rest);
        }
        self.wait
    }

    /// True when the interval has reached its maximum.
    pub fn is_at_rest(&self) -> bool {
        self.wait == self.rest && self.rest > self.busy
    }
}

/// Times of the samples: regular ones, and requested ones after events.
#[derive(Debug, Clone, Copy, Default)]
pub struct SampleTimer {
    last: Option<Instant>,
    is_requested: bool,
}

impl SampleTimer {
    /// Requests a sample as soon as [`MIN_SAMPLE_INTERVAL`] has passed since the last one.
    pub fn request(&mut self) {
        self.is_requested = true;
    }

    /// Records a sample at `now` and returns the time since the last one; zero for the first.
    pub fn on_sample(&mut self, now: Instant) -> Duration {
        let span = self.last.map_or(Duration::ZERO, |last| now.since(last));
        *self = Self { last: Some(now), is_requested: false };
        span
    }

    /// Time of the next sample; without a request, `wait` after the last one.
    pub fn next(&self, wait: Duration) -> Instant {
        let wait = if self.is_requested { wait.min(MIN_SAMPLE_INTERVAL) } else { wait };
        self.last.map_or(Instant::ZERO, |last| last + wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn traffic_shortens_interval_and_silence_lengthens_it() {
        let (busy, rest) = (Duration::from_millis(50), Duration::from_millis(500));
        let mut sampling = SamplingInterval::new(busy, rest);
        assert_eq!(sampling.on_sample(Instant::ZERO, false), rest);
        assert_eq!(sampling.on_sample(Instant::from_millis(500), true), busy);
        assert_eq!(sampling.on_sample(Instant::from_millis(2_450), false), busy, "short pause");
        let waits: Vec<_> =
            (0..5).map(|n| sampling.on_sample(Instant::from_millis(2_500 + n), false).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 500, 500]);
        assert!(sampling.is_at_rest());
        assert_eq!(sampling.on_sample(Instant::from_secs(9), true), busy);
        assert!(!sampling.is_at_rest());
    }

    #[test]
    fn frequent_requests_shorten_the_interval_and_lose_no_time() {
        let wait = Duration::from_millis(50);
        let mut timer = SampleTimer::default();
        let mut spans = Vec::new();
        for now in (0..60).step_by(4).map(Instant::from_millis) {
            timer.request();
            if timer.next(wait) <= now {
                spans.push(timer.on_sample(now).as_millis());
            }
        }
        assert_eq!(spans, [0, 12, 12, 12, 12]);
        assert_eq!(timer.next(wait), Instant::from_millis(58), "requested at 52 and 56 ms");
        timer.on_sample(Instant::from_millis(58));
        assert_eq!(timer.next(wait), Instant::from_millis(108));
    }

    proptest! {
        #[test]
        fn interval_stays_within_bounds(
            busy in 1_u64..200, more in 0_u64..2_000, looks in prop::collection::vec((0_u64..3_000, any::<bool>()), 0..50),
        ) {
            let (busy, rest) = (Duration::from_millis(busy), Duration::from_millis(busy + more));
            let mut sampling = SamplingInterval::new(busy, rest);
            let mut now = Instant::ZERO;
            for (span, has_traffic) in looks {
                now += Duration::from_millis(span);
                let wait = sampling.on_sample(now, has_traffic);
                prop_assert!(busy <= wait && wait <= rest);
                prop_assert!(!has_traffic || wait == busy);
            }
        }
    }
}
