//! Will the receive buffer block? The jitter indicator of the advertised window, and what it foretells.

use core::cmp::Ordering;

/// The most observations that are kept.
pub(crate) const MOST: usize = 64;

/// The last observations of the receiver's free buffer.
#[derive(Debug, Clone)]
pub(crate) struct Blocking {
    seen: Vec<f64>,
    next: usize,
    most: usize,
    indicator: f64,
}

impl Blocking {
    /// Looks back over `most` observations.
    pub(crate) fn new(most: u8) -> Self {
        let most = usize::from(most).clamp(2, MOST);
        Self { seen: Vec::with_capacity(most), next: 0, most, indicator: 0.0 }
    }

    /// The receiver has `free` bytes of buffer. True if blocking is coming: the indicator,
    /// `(current - mean) / (greatest - least)` over the observations and 0 where they are all alike, is below
    /// zero and below what it was.
    pub(crate) fn observe(&mut self, free: u64) -> bool {
        let free = free as f64;
        if self.seen.len() < self.most {
            self.seen.push(free);
        } else {
            self.seen[self.next] = free;
        }
        self.next = (self.next + 1) % self.most;
        let before = self.indicator;
        let by = |a: &&f64, b: &&f64| a.partial_cmp(b).unwrap_or(Ordering::Equal);
        let (least, greatest) = (self.seen.iter().min_by(by), self.seen.iter().max_by(by));
        let range = greatest.zip(least).map_or(0.0, |(g, l)| g - l);
        let mean = self.seen.iter().sum::<f64>() / self.seen.len() as f64;
        self.indicator = if range > 0.0 { (free - mean) / range } else { 0.0 };
        self.indicator < 0.0 && self.indicator < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut blocking = Blocking::new(4);
        // All alike: 0.
        assert!(!blocking.observe(100) && !blocking.observe(100));
        // (40 - 80) / 60 < 0 and falling.
        assert!(blocking.observe(40));
        assert!((blocking.indicator + 40.0 / 60.0).abs() < 1e-12);
        // (60 - 75) / 60 = -0.25: below zero, and rising.
        assert!(!blocking.observe(60));
        assert!((blocking.indicator + 0.25).abs() < 1e-12);
        // The first is forgotten: 100, 40, 60, 20, of which the mean is 55.
        assert!(blocking.observe(20));
        assert!((blocking.indicator + 35.0 / 80.0).abs() < 1e-12);
        // Above the mean is never blocking, however it falls.
        let mut blocking = Blocking::new(8);
        for free in [0, 0, 0, 100] {
            blocking.observe(free);
        }
        assert!(!blocking.observe(90));
    }
}
