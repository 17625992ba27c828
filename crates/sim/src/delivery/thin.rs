//! Series that stay short however long the run.

use units::{Duration, Instant};

/// Points are halved where there are so many.
const MOST: usize = 2048;

/// Every n-th of a series of points: all of them at first, then every second, every fourth and so on, so
/// that there are never more than [`MOST`]. The first is always among them.
#[derive(Debug, Clone)]
pub(super) struct Thinned {
    every: u64,
    seen: u64,
    points: Vec<(Instant, u64)>,
}

impl Default for Thinned {
    fn default() -> Self {
        Self { every: 1, seen: 0, points: Vec::new() }
    }
}

impl Thinned {
    pub(super) fn push(&mut self, at: Instant, value: u64) {
        if self.seen.is_multiple_of(self.every) {
            if self.points.len() == MOST {
                let mut keep = false;
                self.points.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.every *= 2;
            }
            // Of twice as many, the point that would have been next may be one that is left out now.
            if self.seen.is_multiple_of(self.every) {
                self.points.push((at, value));
            }
        }
        self.seen += 1;
    }

    /// In seconds.
    pub(super) fn into_points(self) -> Vec<(f64, u64)> {
        self.points.into_iter().map(|(at, value)| (at.as_secs_f64(), value)).collect()
    }
}

/// The lowest and the highest value of each span of time in which there was one, in the order in which they came.
#[derive(Debug, Clone)]
pub(super) struct Extremes {
    span: Duration,
    current: Option<Extreme>,
    points: Vec<(Instant, i64)>,
}

#[derive(Debug, Clone, Copy)]
struct Extreme {
    span: u64,
    lowest: (Instant, i64),
    highest: (Instant, i64),
}

impl Extremes {
    pub(super) fn new(span: Duration) -> Self {
        Self { span, current: None, points: Vec::new() }
    }

    pub(super) fn push(&mut self, at: Instant, value: i64) {
        let span = at.as_nanos() / self.span.as_nanos();
        match &mut self.current {
            Some(current) if current.span == span => {
                if value < current.lowest.1 {
                    current.lowest = (at, value);
                }
                if value > current.highest.1 {
                    current.highest = (at, value);
                }
            }
            _ => {
                self.close();
                self.current = Some(Extreme { span, lowest: (at, value), highest: (at, value) });
            }
        }
    }

    fn close(&mut self) {
        let Some(Extreme { lowest, highest, .. }) = self.current.take() else { return };
        if lowest == highest {
            self.points.push(lowest);
        } else {
            // Both may have come in one instant, the lowest before or behind: it stands first then.
            self.points.extend(if lowest.0 <= highest.0 { [lowest, highest] } else { [highest, lowest] });
        }
    }

    /// In seconds.
    pub(super) fn into_points(mut self) -> Vec<(f64, i64)> {
        self.close();
        self.points.into_iter().map(|(at, value)| (at.as_secs_f64(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_thinned_evenly_and_a_short_one_is_whole() {
        let thinned = |n: u64| {
            let mut series = Thinned::default();
            (0..n).for_each(|i| series.push(Instant::from_secs(i), i));
            series.into_points().into_iter().map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(thinned(2048), (0..2048).collect::<Vec<_>>());
        assert_eq!(thinned(2049), (0..=2048).step_by(2).collect::<Vec<_>>());
        for n in [5_000_u64, 100_000] {
            let points = thinned(n);
            let step = points[1];
            assert!(points.len() > MOST / 2 && points.len() <= MOST, "{}", points.len());
            assert!(step.is_power_of_two());
            assert_eq!(points, (0..n).step_by(step as usize).collect::<Vec<_>>());
        }
    }

    #[test]
    fn each_span_shows_its_lowest_and_its_highest() {
        let mut series = Extremes::new(Duration::from_secs(1));
        let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
        for (ms, value) in [(0, 5), (100, 9), (200, -3), (300, 0), (2500, 7)] {
            series.push(at(ms), value);
        }
        assert_eq!(series.into_points(), [(0.1, 9), (0.2, -3), (2.5, 7)]);
    }
}
