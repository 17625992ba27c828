//! Smoothing of a rate with the weights of TFRC's loss intervals (RFC 5348, section 5.4): 1 for the
//! newer half of the values, then falling linearly.

/// Upper bound of the values that are kept.
pub(crate) const MAX_VALUES: usize = 16;

/// The last values, newest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    values: [f64; MAX_VALUES],
    count: usize,
}

/// Returns the weight of the value at `place`, 1 for the newest, of `sigma` values.
fn weight(place: usize, sigma: usize) -> f64 {
    if 2 * place <= sigma { 1.0 } else { 2.0 * (sigma - place + 1) as f64 / (sigma + 2) as f64 }
}

impl History {
    pub(crate) fn push(&mut self, value: f64) {
        self.values.rotate_right(1);
        self.values[0] = value;
        self.count = (self.count + 1).min(MAX_VALUES);
    }

    /// Drops all values.
    pub(crate) fn clear(&mut self) {
        self.count = 0;
    }

    /// Returns the weighted mean of up to `sigma` values, newest first; 0 without values.
    pub(crate) fn smoothed(&self, sigma: u8) -> f64 {
        let sigma = usize::from(sigma).clamp(1, MAX_VALUES);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (i, value) in self.values[..self.count.min(sigma)].iter().enumerate() {
            let weight = weight(i + 1, sigma);
            sum += weight * value;
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_values_have_tfrc_weights() {
        let weights: Vec<f64> = (1..=8).map(|place| weight(place, 8)).collect();
        let expected = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
        assert!(weights.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{weights:?}");
    }

    #[test]
    fn mean_matches_a_calculation_by_hand() {
        let mut history = History::default();
        assert!(history.smoothed(8).abs() < 1e-12);
        history.push(10.0);
        assert!((history.smoothed(8) - 10.0).abs() < 1e-12);
        history.push(20.0);
        assert!((history.smoothed(8) - 15.0).abs() < 1e-12);
        assert!((history.smoothed(1) - 20.0).abs() < 1e-12);
        for value in [30.0, 30.0, 30.0, 30.0] {
            history.push(value);
        }
        // Four values of 30 with weight 1, 20 with 0.8, 10 with 0.6.
        assert!((history.smoothed(8) - (120.0 + 16.0 + 6.0) / 5.4).abs() < 1e-12);
        for _ in 0..20 {
            history.push(1.0);
        }
        assert!((history.smoothed(16) - 1.0).abs() < 1e-12);
    }
}
