//! PSNR estimated from throughput, and its quality levels.

use core::fmt;
use units::Bitrate;

/// A reasonable clamp in dB: throughput within a thousandth of the expected one counts as exact.
///
/// Eq. (2) is infinite for equal throughputs. With packets of 1040 bytes at 1 Mbit/s and intervals
/// of a second, a difference of one packet gives 41.6 dB, so larger values cannot be distinguished.
/// A mean over intervals depends on the clamp if many are exact: report the clamp with it.
pub const PSNR_CLAMP_DB: f64 = 60.0;

/// Returns the PSNR in dB: 20 log10(MAX / |EXP - CRT|), within ±`clamp_db`.
///
/// Lee, Muntean, Smeaton 2009; Eq. (2) of Chen et al. 2013. `max` is the mean bitrate of the
/// stream, `expected` and `current` are throughputs. The formula treats too much throughput like
/// too little. The result is `clamp_db` where `expected` equals `current`, and negative where the
/// difference is more than `max`. A clamp that is negative or not a number counts as 0.
pub fn psnr(max: Bitrate, expected: Bitrate, current: Bitrate, clamp_db: f64) -> f64 {
    let clamp = clamp_db.max(0.0);
    let difference = expected.as_bps().abs_diff(current.as_bps());
    if difference == 0 {
        return clamp;
    }
    let db = 20.0 * libm::log10(max.as_bps() as f64 / difference as f64);
    db.max(-clamp).min(clamp)
}

/// PSNR by interval. The paper's figures are means and deviations of such a series.
#[derive(Debug, Clone, PartialEq)]
pub struct PsnrSeries {
    max: Bitrate,
    expected: Bitrate,
    clamp_db: f64,
    values: Vec<f64>,
}

impl PsnrSeries {
    /// Creates an empty series; for the arguments see [`psnr`].
    pub const fn new(max: Bitrate, expected: Bitrate, clamp_db: f64) -> Self {
        Self { max, expected, clamp_db, values: Vec::new() }
    }
    /// Adds an interval with this mean throughput.
    pub fn push(&mut self, current: Bitrate) {
        self.values.push(psnr(self.max, self.expected, current, self.clamp_db));
    }
    /// Returns the value of each interval, in dB.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
    /// Returns the mean in dB; `None` without intervals.
    pub fn mean(&self) -> Option<f64> {
        (!self.values.is_empty()).then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }
    /// Returns the sample standard deviation (n - 1) in dB; `None` with fewer than two intervals.
    pub fn sd(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.values.len() > 1)?;
        let squares: f64 = self.values.iter().map(|v| (v - mean) * (v - mean)).sum();
        Some((squares / (self.values.len() - 1) as f64).sqrt())
    }
    /// Returns the level of the mean; `None` without intervals.
    pub fn level(&self) -> Option<Level> {
        self.mean().map(Level::of)
    }
}

impl Extend<Bitrate> for PsnrSeries {
    fn extend<I: IntoIterator<Item = Bitrate>>(&mut self, intervals: I) {
        for current in intervals {
            self.push(current);
        }
    }
}

/// Quality as a user perceives it (Chen et al. 2013, Table III, after ITU-T P.800), worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Up to 20 dB: very annoying.
    Bad,
    /// Above 20 dB: annoying.
    Poor,
    /// Above 25 dB: slightly annoying.
    Fair,
    /// Above 31 dB: perceptible but not annoying.
    Good,
    /// Above 37 dB: imperceptible.
    Excellent,
}

impl Level {
    /// Every level, worst first.
    pub const ALL: [Self; 5] = [Self::Bad, Self::Poor, Self::Fair, Self::Good, Self::Excellent];

    /// Returns the level of this PSNR; a bound belongs to the lower level.
    pub fn of(psnr_db: f64) -> Self {
        Self::ALL.into_iter().rev().find(|level| psnr_db > level.above_db()).unwrap_or(Self::Bad)
    }
    /// Returns the PSNR in dB above which the level begins.
    pub const fn above_db(self) -> f64 {
        match self {
            Self::Bad => f64::NEG_INFINITY,
            Self::Poor => 20.0,
            Self::Fair => 25.0,
            Self::Good => 31.0,
            Self::Excellent => 37.0,
        }
    }
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bad => "Bad",
            Self::Poor => "Poor",
            Self::Fair => "Fair",
            Self::Good => "Good",
            Self::Excellent => "Excellent",
        }
    }
    /// Returns the table's description of the impairment.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Bad => "very annoying",
            Self::Poor => "annoying",
            Self::Fair => "slightly annoying",
            Self::Good => "perceptible but not annoying",
            Self::Excellent => "imperceptible",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mbps(rate: f64) -> Bitrate {
        Bitrate::from_mbps(rate)
    }

    #[test]
    fn psnr_matches_the_papers_mean_throughputs() {
        // 20 log10(1/0.154), 20 log10(1/0.066), 20 log10(2/0.09), 20 log10(2/0.049).
        for (max, current, db) in
            [(1.0, 0.846, 16.25), (1.0, 0.934, 23.61), (2.0, 1.910, 26.94), (2.0, 1.951, 32.22)]
        {
            let got = psnr(mbps(max), mbps(max), mbps(current), PSNR_CLAMP_DB);
            assert!((got - db).abs() < 0.005, "{got} is not {db}");
        }
    }

    #[test]
    fn psnr_is_clamped_where_the_formula_has_no_value() {
        let one = mbps(1.0);
        let cases = [
            (one, one, one, 60.0, 60.0),
            // A difference of 1 bit/s would give 120 dB.
            (one, one, Bitrate::from_bps(999_999), 60.0, 60.0),
            (one, one, Bitrate::ZERO, 60.0, 0.0),
            (one, one, mbps(2.0), 60.0, 0.0),
            (one, mbps(10.0), Bitrate::ZERO, 60.0, -20.0),
            (Bitrate::ZERO, one, Bitrate::ZERO, 60.0, -60.0),
            (Bitrate::ZERO, Bitrate::ZERO, Bitrate::ZERO, 60.0, 60.0),
            (one, one, one, -3.0, 0.0),
            (one, one, one, f64::NAN, 0.0),
        ];
        for (max, expected, current, clamp, wanted) in cases {
            let got = psnr(max, expected, current, clamp);
            assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
        }
    }

    #[test]
    fn series_has_sample_mean_and_deviation() {
        let mut series = PsnrSeries::new(mbps(1.0), mbps(1.0), 60.0);
        assert_eq!((series.mean(), series.sd(), series.level()), (None, None, None));
        // Differences of 0.1, 0.01 and 0: 20, 40 and 60 dB.
        series.push(mbps(0.9));
        assert_eq!(series.sd(), None);
        series.extend([mbps(0.99), mbps(1.0)]);
        assert_eq!(series.values().len(), 3);
        assert!((series.mean().unwrap() - 40.0).abs() < 1e-9);
        assert!((series.sd().unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(series.level(), Some(Level::Excellent));
    }

    #[test]
    fn mean_of_intervals_exceeds_the_psnr_of_the_mean() {
        // This explains the paper's 23.964 dB: its mean throughput alone gives 23.61 dB.
        let mut series = PsnrSeries::new(mbps(1.0), mbps(1.0), 60.0);
        series.extend([mbps(0.90), mbps(0.968)]);
        assert!(series.mean().unwrap() > psnr(mbps(1.0), mbps(1.0), mbps(0.934), 60.0));
    }

    #[test]
    fn levels_match_table_three() {
        use Level::{Bad, Excellent, Fair, Good, Poor};
        let table = [
            (16.274, Bad),
            (23.964, Poor),
            (27.029, Fair),
            (32.572, Good),
            (37.1, Excellent),
            (20.0, Bad),
            (25.0, Poor),
            (31.0, Fair),
            (37.0, Good),
            (-5.0, Bad),
            (f64::INFINITY, Excellent),
            (f64::NAN, Bad),
        ];
        for (db, level) in table {
            assert_eq!(Level::of(db), level, "{db} dB");
        }
        assert!(Bad < Poor && Good < Excellent);
        assert_eq!(format!("{Fair:>6}"), "  Fair");
    }

    proptest! {
        #[test]
        fn psnr_is_finite_and_falls_with_the_difference(max: u64, expected: u64, a: u64, b: u64) {
            let rate = Bitrate::from_bps;
            let of = |current| psnr(rate(max), rate(expected), rate(current), 60.0);
            prop_assert!((-60.0..=60.0).contains(&of(a)));
            let (near, far) = if expected.abs_diff(a) <= expected.abs_diff(b) { (a, b) } else { (b, a) };
            prop_assert!(of(near) >= of(far));
        }
    }
}
