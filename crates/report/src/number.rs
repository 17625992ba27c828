//! Number formatting, and estimates with confidence intervals.

use serde::{Deserialize, Serialize};

/// Placeholder for a number that is not finite.
pub(crate) const DASH: &str = "–";

/// 97.5 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
const STUDENT_T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// 97.5 % quantile of Student's t distribution, to three digits: above 30 degrees of freedom by the
/// first terms of its expansion about the normal quantile (Abramowitz and Stegun 1964, 26.7.5).
fn student_t(degrees_of_freedom: usize) -> f64 {
    const Z: f64 = 1.959_964;
    let n = degrees_of_freedom as f64;
    let square = Z * Z;
    let first = Z * (square + 1.0) / 4.0;
    let second = Z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    STUDENT_T.get(degrees_of_freedom - 1).copied().unwrap_or(Z + first / n + second / (n * n))
}

/// A mean with its 95 % confidence interval: `mean ± ci95`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; not finite without an interval, as for a single sample.
    pub ci95: f64,
}

impl Estimate {
    /// Creates the estimate `mean ± ci95`.
    pub const fn new(mean: f64, ci95: f64) -> Self {
        Self { mean, ci95 }
    }
    /// Estimates the mean of `values`. The interval follows Student's t distribution. A single value
    /// has no interval; the mean of no values is NaN.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let degrees_of_freedom = values.len().saturating_sub(1);
        if degrees_of_freedom == 0 {
            return Self::exact(mean);
        }
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let t = student_t(degrees_of_freedom);
        Self::new(mean, t * (squares / degrees_of_freedom as f64).sqrt() / count.sqrt())
    }
    /// True if the interval exceeds a third of the mean: too few values for this mean.
    pub fn is_uncertain(&self) -> bool {
        self.ci95.is_finite() && self.ci95 > self.mean.abs() / 3.0
    }
    /// A value without an interval, such as a figure from a paper.
    pub const fn exact(mean: f64) -> Self {
        Self { mean, ci95: f64::NAN }
    }
}

impl From<f64> for Estimate {
    fn from(mean: f64) -> Self {
        Self::exact(mean)
    }
}

/// Formats a number with fixed decimals; [`DASH`] if it is not finite. Negative zero has no sign.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return DASH.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| matches!(b, b'0' | b'.')) => rest.to_owned(),
        _ => text,
    }
}

/// Formats as [`fixed`], with a sign unless the result is zero.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    let zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    if value > 0.0 && value.is_finite() && !zero { format!("+{text}") } else { text }
}

/// Replaces a leading hyphen by a minus sign (U+2212), for HTML and SVG.
pub(crate) fn with_minus_sign(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) => format!("\u{2212}{rest}"),
        None => text.to_owned(),
    }
}

/// Writes a coordinate or embedded datum with at most `decimals` decimals, without trailing zeros.
/// A number that is not finite becomes 0.
pub(crate) fn write_trimmed(out: &mut String, value: f64, decimals: usize) {
    let text = fixed(if value.is_finite() { value } else { 0.0 }, decimals);
    out.push_str(if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text });
}

/// Width of a text in terminal columns: zero for control and combining characters, two for East
/// Asian wide characters and emoji, one for all others.
pub(crate) fn display_width(text: &str) -> usize {
    text.chars()
        .map(|c| match c as u32 {
            0..=0x1f | 0x7f..=0x9f | 0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f | 0x20d0..=0x20ff => 0,
            0x1100..=0x115f
            | 0x2e80..=0x303e
            | 0x3041..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
            | 0x1f300..=0x1f64f
            | 0x1f900..=0x1f9ff
            | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn non_finite_number_is_a_dash_and_zero_has_no_sign() {
        assert_eq!(fixed(f64::NAN, 2), "–");
        assert_eq!(fixed(f64::NEG_INFINITY, 2), "–");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(-0.01, 2), "-0.01");
        assert_eq!(signed(0.001, 2), "0.00");
        assert_eq!(signed(1.25, 1), "+1.2");
        assert_eq!(signed(f64::INFINITY, 1), "–");
    }

    #[test]
    fn quantiles_of_student_t_are_those_of_its_tables() {
        for (degrees_of_freedom, t) in [(1, 12.706), (30, 2.042), (31, 2.0395), (40, 2.0211), (120, 1.9799)] {
            assert!((student_t(degrees_of_freedom) - t).abs() < 5e-4, "{degrees_of_freedom}");
        }
    }

    #[test]
    fn interval_above_a_third_of_the_mean_is_uncertain() {
        assert!(Estimate::new(-3.0, 1.01).is_uncertain());
        assert!(!Estimate::new(-3.0, 1.0).is_uncertain());
        assert!(!Estimate::new(0.0, 0.0).is_uncertain());
        assert!(!Estimate::exact(3.0).is_uncertain());
    }

    #[test]
    fn write_trimmed_drops_trailing_zeros() {
        let write = |value, decimals| {
            let mut out = String::new();
            write_trimmed(&mut out, value, decimals);
            out
        };
        assert_eq!(write(12.50, 2), "12.5");
        assert_eq!(write(100.0, 0), "100");
        assert_eq!(write(-0.25, 2), "-0.25");
        assert_eq!(write(-0.0001, 2), "0");
    }

    #[test]
    fn display_width_counts_terminal_columns() {
        assert_eq!(display_width("± 0.1"), 5);
        assert_eq!(display_width("電池"), 4);
        assert_eq!(display_width("e\u{301}"), 1);
    }
}
