//! Windowed maximum over three samples (Nichols' filter, as section 4.1.1.3 of the draft suggests).

/// The best, second-best and third-best sample in order of arrival. When the best leaves the
/// window, the next replaces it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MaxFilter {
    best: [(u64, f64); 3],
}

impl MaxFilter {
    pub(super) fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Adds a sample taken at `at`; samples older than `window` expire.
    pub(super) fn update(&mut self, at: u64, value: f64, window: u64) {
        let new = (at, value);
        let [first, _, third] = self.best;
        if value >= first.1 || at.saturating_sub(third.0) > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = new;
            self.best[2] = new;
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let age = at.saturating_sub(self.best[0].0);
        if age > window {
            self.best = [self.best[1], self.best[2], new];
            if at.saturating_sub(self.best[0].0) > window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            // A quarter of the window has passed without a second choice: take this sample.
            self.best[1] = new;
            self.best[2] = new;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maximum_expires_after_the_window() {
        let mut filter = MaxFilter::default();
        filter.update(0, 10.0, 10);
        for at in 1..=10 {
            filter.update(at, 5.0, 10);
            assert_eq!(filter.get(), 10.0, "{at}");
        }
        filter.update(11, 4.0, 10);
        assert_eq!(filter.get(), 5.0);
        filter.update(12, 20.0, 10);
        assert_eq!(filter.get(), 20.0);
        // After a long pause any sample is the maximum.
        filter.update(100, 1.0, 10);
        assert_eq!(filter.get(), 1.0);
    }
}
