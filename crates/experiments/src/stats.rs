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

/// Difference of the means of pairs, the second from the first, in percent of the magnitude of the
/// first; NaN if the first is zero.
///
/// The mean of the first values is an estimate too, so that the interval is that of a ratio of means
/// by the delta method: from the residuals `second - ratio * first`.
pub fn relative_difference(pairs: &[(f64, f64)]) -> Estimate {
    let values = relative_differences(pairs);
    if values.iter().any(|value| value.is_nan()) { Estimate::exact(f64::NAN) } else { estimate(&values) }
}

/// A value for each pair, in percent: the difference of the means plus the pair's residual. Their
/// mean and interval are those of [`relative_difference`]; all are NaN if the first mean is zero.
pub fn relative_differences(pairs: &[(f64, f64)]) -> Vec<f64> {
    let (firsts, seconds): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let first = mean(&firsts);
    let difference = mean(&seconds) - first;
    let percent = if first == 0.0 { f64::NAN } else { 100.0 / first.abs() };
    // Equal to `second - ratio * first`, and exactly zero if all pairs are of equal values.
    let residual = |(a, b): &(f64, f64)| (b - a) - a * difference / first;
    pairs.iter().map(|pair| percent * (difference + residual(pair))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn interval_of_five_values_matches_hand_computation() {
        // Mean 3, standard deviation sqrt(2.5), t(4) = 2.776.
        let estimate = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(estimate.mean, 3.0);
        assert!((estimate.ci95 - 2.776 * (2.5_f64).sqrt() / 5.0_f64.sqrt()).abs() < 1e-12);
        assert!(super::estimate(&[1.0]).ci95.is_nan());
    }

    #[test]
    fn interval_of_a_relative_difference_has_its_coverage() {
        const TRIALS: usize = 4000;
        let mut rng = Seed::new(1).rng("relative difference");
        let covered = (0..TRIALS).filter(|_| {
            let mut pair = || (10.0 + 2.0 * rng.normal(), 20.0 + 2.0 * rng.normal());
            let pairs: Vec<(f64, f64)> = (0..10).map(|_| pair()).collect();
            let Estimate { mean, ci95 } = relative_difference(&pairs);
            (mean - 100.0).abs() <= ci95
        });
        let coverage = covered.count() as f64 / TRIALS as f64;
        assert!((0.93..0.97).contains(&coverage), "{coverage}");
    }

    #[test]
    fn relative_difference_of_a_constant_ratio_is_exact() {
        assert_eq!(relative_difference(&[(1.0, 2.0), (3.0, 6.0)]), Estimate::new(100.0, 0.0));
        assert_eq!(relative_difference(&[(-4.0, -2.0), (-4.0, -2.0)]), Estimate::new(50.0, 0.0));
        assert!(relative_difference(&[(0.0, 1.0)]).mean.is_nan());
    }

    #[test]
    fn median_ignores_nan() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, f64::NAN, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
