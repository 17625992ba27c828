//! Due times of the packets of a timed writer.
//!
//! Packet n is due when the application has been on for n * 8 * packet / rate, rounded down to a
//! nanosecond. Each time is computed from n, so rounding errors do not accumulate.

use core::ops::Range;
use units::{Bitrate, Bytes, Duration, Instant, Rng};

/// Due times, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// On time per packet times `rate_bps`: nanoseconds times bits per second.
    step: u128,
    rate_bps: u128,
    /// Number of the next packet.
    n: u64,
    periods: Periods,
}

/// Periods in which the application is on.
#[derive(Debug, Clone)]
pub(crate) enum Periods {
    /// On from this time.
    Always(Instant),
    /// Alternating periods of fixed length, from this time.
    Fixed { start: Instant, on: Duration, off: Duration },
    /// Alternating periods of exponential length with these means, until an end.
    Drawn { period: OnPeriod, on: Duration, off: Duration, end: Instant, rng: Rng },
}

/// The present on period of [`Periods::Drawn`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnPeriod {
    begin: Instant,
    length: Duration,
    /// Total on time before it, in nanoseconds.
    before: u64,
}

impl Clock {
    /// `None` if no packet is ever due: with a rate of zero, empty packets, or empty on periods.
    pub(crate) fn new(rate: Bitrate, packet: Bytes, periods: Periods) -> Option<Self> {
        let never_on = match &periods {
            Periods::Always(_) => false,
            Periods::Fixed { on, .. } | Periods::Drawn { on, .. } => on.is_zero(),
        };
        if rate == Bitrate::ZERO || packet == Bytes::ZERO || never_on {
            return None;
        }
        // No overflow: the product has at most 97 bits.
        let step = u128::from(packet.get()) * 8_000_000_000;
        Some(Self { step, rate_bps: u128::from(rate.as_bps()), n: 0, periods })
    }

    /// Due time of the next packet; `None` beyond [`Instant::MAX`] or the end of drawn periods.
    pub(crate) fn due(&mut self) -> Option<Instant> {
        let on_time = self.step.checked_mul(u128::from(self.n))? / self.rate_bps;
        let on_time = u64::try_from(on_time).ok()?;
        self.periods.at(on_time)
    }

    /// Advances to the packet after it.
    pub(crate) fn advance(&mut self) {
        self.n += 1;
    }
}

impl Periods {
    /// Exponential periods that begin in `span`, the first, an on period, at its start.
    pub(crate) fn drawn(span: Range<Instant>, on: Duration, off: Duration, mut rng: Rng) -> Self {
        let period = OnPeriod { begin: span.start, length: draw(&mut rng, on), before: 0 };
        Self::Drawn { period, on, off, end: span.end, rng }
    }

    /// Time at which the application has been on for `on_time` nanoseconds. Calls must not decrease
    /// it.
    fn at(&mut self, on_time: u64) -> Option<Instant> {
        match self {
            Self::Always(start) => later(*start, u128::from(on_time)),
            Self::Fixed { start, on, off } => {
                let whole = u128::from(on_time / on.as_nanos());
                let rest = u128::from(on_time % on.as_nanos());
                let length = u128::from(on.as_nanos()) + u128::from(off.as_nanos());
                later(*start, whole.checked_mul(length)? + rest)
            }
            Self::Drawn { period, on, off, end, rng } => {
                while on_time - period.before >= period.length.as_nanos() {
                    if period.begin > *end {
                        return None;
                    }
                    period.before = period.before.checked_add(period.length.as_nanos())?;
                    let gap = u128::from(period.length.as_nanos()) + u128::from(draw(rng, *off).as_nanos());
                    period.begin = later(period.begin, gap)?;
                    period.length = draw(rng, *on);
                }
                later(period.begin, u128::from(on_time - period.before))
            }
        }
    }
}

fn later(start: Instant, nanos: u128) -> Option<Instant> {
    let nanos = u128::from(start.as_nanos()).checked_add(nanos)?;
    u64::try_from(nanos).ok().map(Instant::from_nanos)
}

/// A length of at least 1 µs for a mean above zero, so that time advances.
fn draw(rng: &mut Rng, mean: Duration) -> Duration {
    if mean.is_zero() {
        return Duration::ZERO;
    }
    Duration::from_secs_f64(rng.exponential(mean.as_secs_f64())).max(Duration::from_micros(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    fn clock(rate_bps: u64, packet: u64, periods: Periods) -> Clock {
        Clock::new(Bitrate::from_bps(rate_bps), Bytes::new(packet), periods).unwrap()
    }
    fn times(clock: &mut Clock, n: usize) -> Vec<u64> {
        (0..n)
            .map(|_| {
                let due = clock.due().unwrap().as_nanos();
                clock.advance();
                due
            })
            .collect()
    }

    #[test]
    fn clock_does_not_drift_over_a_million_packets() {
        // 1040 bytes at 3 Mbit/s take 2 773 333.3 ns, which is no whole number of nanoseconds.
        let mut clock = clock(3_000_000, 1040, Periods::Always(Instant::from_millis(7)));
        let all = times(&mut clock, 1_000_001);
        assert_eq!(&all[..4], &[7_000_000, 9_773_333, 12_546_666, 15_320_000]);
        assert_eq!(all[1_000_000], 7_000_000 + 2_773_333_333_333);
        assert!(all.windows(2).all(|w| (2_773_333..=2_773_334).contains(&(w[1] - w[0]))));
    }

    #[test]
    fn off_period_pauses_the_clock() {
        // One packet per 4 ms of on time; 10 ms on, 5 ms off: on times 0 4 8 | 12 16 | 20 24 28.
        let periods = Periods::Fixed {
            start: Instant::ZERO,
            on: Duration::from_millis(10),
            off: Duration::from_millis(5),
        };
        let all = times(&mut clock(2_000_000, 1000, periods), 8);
        assert_eq!(all, [0, 4, 8, 17, 21, 30, 34, 38].map(|ms| ms * 1_000_000));
    }

    #[test]
    fn exponential_periods_have_their_means() {
        let (on, off) = (Duration::from_millis(200), Duration::from_millis(600));
        let periods = Periods::drawn(Instant::ZERO..Instant::MAX, on, off, Seed::new(3).rng("on-off"));
        let mut clock = clock(8_000_000, 1000, periods);
        let n = 4_000_000;
        let last = (0..n).fold(0, |_, _| {
            let due = clock.due().unwrap().as_nanos();
            clock.advance();
            due
        });
        // 4000 s on of 16000 s: 20 000 periods, so within about 2 %.
        let duty = n as f64 * 1e-3 / (last as f64 * 1e-9);
        assert!((duty - 0.25).abs() < 0.01, "{duty}");
    }

    #[test]
    fn packets_that_are_never_due_have_no_due_time() {
        let new = |rate, packet, on: u64| {
            let periods = Periods::Fixed {
                start: Instant::ZERO,
                on: Duration::from_secs(on),
                off: Duration::from_secs(1),
            };
            Clock::new(Bitrate::from_bps(rate), Bytes::new(packet), periods)
        };
        assert!(new(0, 1, 1).is_none() && new(1, 0, 1).is_none() && new(1, 1, 0).is_none());
        let mut late = clock(1, u64::MAX, Periods::Always(Instant::MAX));
        assert_eq!(late.due(), Some(Instant::MAX));
        late.advance();
        assert_eq!(late.due(), None);
    }
}
