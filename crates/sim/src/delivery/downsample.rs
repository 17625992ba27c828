//! Series of bounded length for runs of any duration.

use units::{Duration, Instant};

/// Maximum number of points of a [`Decimated`] series.
const MAX_POINTS: usize = 2048;

/// Every `n`-th point of a series, the first included. `n` starts at 1 and doubles whenever
/// [`MAX_POINTS`] is reached.
#[derive(Debug, Clone)]
pub(super) struct Decimated {
    step: u64,
    seen: u64,
    points: Vec<(Instant, u64)>,
}

impl Default for Decimated {
    fn default() -> Self {
        Self { step: 1, seen: 0, points: Vec::new() }
    }
}

impl Decimated {
    pub(super) fn push(&mut self, at: Instant, value: u64) {
        if self.seen.is_multiple_of(self.step) {
            if self.points.len() == MAX_POINTS {
                let mut keep = false;
                self.points.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.step *= 2;
            }
            // With the doubled step this point may be left out.
            if self.seen.is_multiple_of(self.step) {
                self.points.push((at, value));
            }
        }
        self.seen += 1;
    }

    /// Points with times in seconds.
    pub(super) fn into_points(self) -> Vec<(f64, u64)> {
        self.points.into_iter().map(|(at, value)| (at.as_secs_f64(), value)).collect()
    }
}

/// Lowest and highest value of each interval of time that has values, in order of time.
#[derive(Debug, Clone)]
pub(super) struct Extremes {
    interval: Duration,
    current: Option<Extreme>,
    points: Vec<(Instant, i64)>,
}

#[derive(Debug, Clone, Copy)]
struct Extreme {
    interval: u64,
    lowest: (Instant, i64),
    highest: (Instant, i64),
}

impl Extremes {
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, current: None, points: Vec::new() }
    }

    pub(super) fn push(&mut self, at: Instant, value: i64) {
        let interval = at.as_nanos() / self.interval.as_nanos();
        match &mut self.current {
            Some(current) if current.interval == interval => {
                if value < current.lowest.1 {
                    current.lowest = (at, value);
                }
                if value > current.highest.1 {
                    current.highest = (at, value);
                }
            }
            _ => {
                self.finish_interval();
                self.current = Some(Extreme { interval, lowest: (at, value), highest: (at, value) });
            }
        }
    }

    fn finish_interval(&mut self) {
        let Some(Extreme { lowest, highest, .. }) = self.current.take() else { return };
        if lowest == highest {
            self.points.push(lowest);
        } else {
            // At equal times the lowest value comes first.
            self.points.extend(if lowest.0 <= highest.0 { [lowest, highest] } else { [highest, lowest] });
        }
    }

    /// Points with times in seconds.
    pub(super) fn into_points(mut self) -> Vec<(f64, i64)> {
        self.finish_interval();
        self.points.into_iter().map(|(at, value)| (at.as_secs_f64(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_decimated_evenly_and_a_short_one_is_complete() {
        let decimated = |n: u64| {
            let mut series = Decimated::default();
            (0..n).for_each(|i| series.push(Instant::from_secs(i), i));
            series.into_points().into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(decimated(2048), (0..2048).collect::<Vec<_>>());
        assert_eq!(decimated(2049), (0..=2048).step_by(2).collect::<Vec<_>>());
        for n in [5_000_u64, 100_000] {
            let points = decimated(n);
            let step = points[1];
            assert!(points.len() > MAX_POINTS / 2 && points.len() <= MAX_POINTS, "{}", points.len());
            assert!(step.is_power_of_two());
            assert_eq!(points, (0..n).step_by(step as usize).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_interval_keeps_its_lowest_and_highest_value() {
        let mut series = Extremes::new(Duration::from_secs(1));
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        for (ms, value) in [(0, 5), (100, 9), (200, -3), (300, 0), (2500, 7)] {
            series.push(at(ms), value);
        }
        assert_eq!(series.into_points(), [(0.1, 9), (0.2, -3), (2.5, 7)]);
    }
}
