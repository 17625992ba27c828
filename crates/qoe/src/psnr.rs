//! PSNR as estimated from throughput, and the quality levels.

use core::fmt;
use units::Bitrate;

/// A sensible clamp, in dB: throughput within a thousandth of what was expected counts as exact.
///
/// Eq. (2) is infinite there. At packets of 1040 bytes, 1 Mbit/s and intervals of a second, one
/// packet more or less is 41.6 dB, so what lies above some 42 dB cannot be told apart anyway; a
/// mean over intervals depends on the clamp where many of them are exact, so state it.
pub const PSNR_CLAMP_DB: f64 = 60.0;

/// PSNR in dB: 20 log10(MAX / |EXP - CRT|), within ±`clamp_db`.
///
/// Lee, Muntean, Smeaton 2009; Eq. (2) of Chen et al. 2013. `max` is the mean bitrate of the stream,
/// `expected` and `current` are throughputs. Too much throughput counts like too little: that is how
/// the formula is. It is `clamp_db` where `expected` equals `current`, and negative where the
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

/// PSNR interval by interval: the paper's figures are means and deviations of such a series.
#[derive(Debug, Clone, PartialEq)]
pub struct PsnrSeries {
    max: Bitrate,
    expected: Bitrate,
    clamp_db: f64,
    values: Vec<f64>,
}

impl PsnrSeries {
    /// An empty series; the arguments are those of [`psnr`].
    pub const fn new(max: Bitrate, expected: Bitrate, clamp_db: f64) -> Self {
        Self { max, expected, clamp_db, values: Vec::new() }
    }
    /// Adds an interval with this mean throughput.
    pub fn push(&mut self, current: Bitrate) {
        self.values.push(psnr(self.max, self.expected, current, self.clamp_db));
    }
    /// One value an interval, in dB.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
    /// Mean in dB; `None` without an interval.
    pub fn mean(&self) -> Option<f64> {
        (!self.values.is_empty()).then(|| self.values.iter().sum::<f64>() / self.values.len() as f64)
    }
    /// Standard deviation of the sample (n - 1) in dB; `None` with fewer than two intervals.
    pub fn sd(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.values.len() > 1)?;
        let squares: f64 = self.values.iter().map(|v| (v - mean) * (v - mean)).sum();
        Some((squares / (self.values.len() - 1) as f64).sqrt())
    }
    /// The level of the mean; `None` without an interval.
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

    /// The level of this PSNR; a bound belongs to the level below it.
    pub fn of(psnr_db: f64) -> Self {
        Self::ALL.into_iter().rev().find(|level| psnr_db > level.above_db()).unwrap_or(Self::Bad)
    }
    /// The PSNR in dB above which it begins.
    pub const fn above_db(self) -> f64 {
        match self {
            Self::Bad => f64::NEG_INFINITY,
            Self::Poor => 20.0,
            Self::Fair => 25.0,
            Self::Good => 31.0,
            Self::Excellent => 37.0,
        }
    }
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bad => "Bad",
            Self::Poor => "Poor",
            Self::Fair => "Fair",
            Self::Good => "Good",
            Self::Excellent => "Excellent",
        }
    }
    /// How much an impairment shows, in the table's words.
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
    fn psnr_of_the_paper_s_mean_throughputs() {
        // 20 log10(1/0.154), 20 log10(1/0.066), 20 log10(2/0.09), 20 log10(2/0.049).
        for (max, current, db) in
            [(1.0, 0.846, 16.25), (1.0, 0.934, 23.61), (2.0, 1.910, 26.94), (2.0, 1.951, 32.22)]
        {
            let got = psnr(mbps(max), mbps(max), mbps(current), PSNR_CLAMP_DB);
            assert!((got - db).abs() < 0.005, "{got} is not {db}");
        }
    }

    #[test]
    fn psnr_where_the_formula_has_no_value() {
        let one = mbps(1.0);
        let cases = [
            (one, one, one, 60.0, 60.0),
            // One bit a second off would be 120 dB.
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
    fn a_series_has_the_mean_and_the_deviation_of_its_sample() {
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
    fn the_mean_of_intervals_lies_above_the_psnr_of_the_mean() {
        // Why the paper's 23.964 dB is more than the 23.61 of its mean throughput.
        let mut series = PsnrSeries::new(mbps(1.0), mbps(1.0), 60.0);
        series.extend([mbps(0.90), mbps(0.968)]);
        assert!(series.mean().unwrap() > psnr(mbps(1.0), mbps(1.0), mbps(0.934), 60.0));
    }

    #[test]
    fn levels_are_those_of_table_three() {
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
        fn psnr_is_finite_and_falls_with_the_distance(max: u64, expected: u64, a: u64, b: u64) {
            let rate = Bitrate::from_bps;
            let of = |current| psnr(rate(max), rate(expected), rate(current), 60.0);
            prop_assert!((-60.0..=60.0).contains(&of(a)));
            let (near, far) = if expected.abs_diff(a) <= expected.abs_diff(b) { (a, b) } else { (b, a) };
            prop_assert!(of(near) >= of(far));
        }
    }
}
