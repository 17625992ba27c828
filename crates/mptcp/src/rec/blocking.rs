//! The jitter indicator of the receive buffer: a sign that the buffer is about to block.

use core::cmp::Ordering;

/// Upper bound of the observations that are kept.
pub(crate) const MAX_OBSERVATIONS: usize = 64;

/// The last observations of the receiver's free buffer.
#[derive(Debug, Clone)]
pub(crate) struct BlockingIndicator {
    /// A ring of `capacity` observations in bytes.
    observations: Vec<f64>,
    next: usize,
    capacity: usize,
    value: f64,
}

impl BlockingIndicator {
    /// Keeps the last `observations`.
    pub(crate) fn new(observations: u8) -> Self {
        let capacity = usize::from(observations).clamp(2, MAX_OBSERVATIONS);
        Self { observations: Vec::with_capacity(capacity), next: 0, capacity, value: 0.0 }
    }

    /// Observes `free` bytes of buffer at the receiver. Returns true if it is about to block: the
    /// indicator is below zero and falling.
    ///
    /// The indicator is `(current - mean) / (max - min)` over the observations, or 0 if all are
    /// equal.
    pub(crate) fn observe(&mut self, free: u64) -> bool {
        let free = free as f64;
        if self.observations.len() < self.capacity {
            self.observations.push(free);
        } else {
            self.observations[self.next] = free;
        }
        self.next = (self.next + 1) % self.capacity;
        let previous = self.value;
        let by = |a: &&f64, b: &&f64| a.partial_cmp(b).unwrap_or(Ordering::Equal);
        let (min, max) = (self.observations.iter().min_by(by), self.observations.iter().max_by(by));
        let range = max.zip(min).map_or(0.0, |(max, min)| max - min);
        let mean = self.observations.iter().sum::<f64>() / self.observations.len() as f64;
        self.value = if range > 0.0 { (free - mean) / range } else { 0.0 };
        self.value < 0.0 && self.value < previous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indicator_matches_a_calculation_by_hand() {
        let mut indicator = BlockingIndicator::new(4);
        // All equal: 0.
        assert!(!indicator.observe(100) && !indicator.observe(100));
        // (40 - 80) / 60 < 0 and falling.
        assert!(indicator.observe(40));
        assert!((indicator.value + 40.0 / 60.0).abs() < 1e-12);
        // (60 - 75) / 60 = -0.25: below zero, and rising.
        assert!(!indicator.observe(60));
        assert!((indicator.value + 0.25).abs() < 1e-12);
        // The oldest observation is replaced: 100, 40, 60, 20, with a mean of 55.
        assert!(indicator.observe(20));
        assert!((indicator.value + 35.0 / 80.0).abs() < 1e-12);
    }

    #[test]
    fn no_blocking_above_the_mean() {
        let mut indicator = BlockingIndicator::new(8);
        for free in [0, 0, 0, 100] {
            indicator.observe(free);
        }
        assert!(!indicator.observe(90), "it falls, but stays above the mean");
    }
}
