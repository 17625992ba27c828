//! Statistics over seeds.

use report::Estimate;

/// Mean; NaN for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Median of the finite values; NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Sample standard deviation; 0 for fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// Mean with half its 95 % confidence interval; see [`Estimate::of`].
pub fn estimate(values: &[f64]) -> Estimate {
    Estimate::of(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_five_values_matches_hand_computation() {
        // Mean 3, standard deviation sqrt(2.5), t(4) = 2.776.
        let estimate = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.ci95 - 2.776 * (2.5_f64).sqrt() / 5.0_f64.sqrt()).abs() < 1e-12);
        assert!(super::estimate(&[1.0]).ci95.is_nan());
    }

    #[test]
    fn median_ignores_nan() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, f64::NAN, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
