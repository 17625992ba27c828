//! Axes: ticks at round numbers, ranges, and the mapping of values to pixels.

use crate::number::{fixed, with_minus_sign};

/// Ticks of an axis at round numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ticks {
    /// Values within the axis, in ascending order.
    pub values: Vec<f64>,
    /// Distance between ticks: one, two or five times a power of ten.
    pub step: f64,
    /// Decimals that distinguish the values.
    pub decimals: usize,
}

impl Ticks {
    /// Creates about `count` ticks from `lo` to `hi`; `lo < hi`, both finite.
    pub(crate) fn new(lo: f64, hi: f64, count: usize) -> Self {
        let raw = (hi - lo) / count.max(1) as f64;
        let (step, exponent) = round_step(raw);
        // At most 1001 ticks, and none if the range contains no multiple of the step or a
        // division overflows.
        let (first, last) = ((lo / step - 1e-9).ceil(), (hi / step + 1e-9).floor());
        let last_index =
            if (last - first).is_finite() { (last - first).clamp(-1.0, 1000.0) as i64 } else { -1 };
        let values = (0..=last_index).map(|i| round((first + i as f64) * step, exponent)).collect();
        Self { values, step, decimals: (-exponent).clamp(0, 12) as usize }
    }

    /// Label of a tick, with thin spaces between groups of three digits.
    pub(crate) fn text(&self, value: f64) -> String {
        group_thousands(&with_minus_sign(&fixed(value, self.decimals)))
    }
}

/// Smallest step of 1, 2 or 5 times a power of ten not below `raw`, with the exponent of that
/// power. The step is 1 if `raw` is not finite and positive.
fn round_step(raw: f64) -> (f64, i32) {
    if !(raw.is_finite() && raw > 0.0) {
        return (1.0, 0);
    }
    // The decimal form has the exact exponent; a logarithm could round to the next one.
    let text = format!("{raw:e}");
    let exponent: i32 = text.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    for (digit, up) in [(1, 0), (2, 0), (5, 0), (1, 1)] {
        let step = decimal(digit, exponent + up);
        if step >= raw * (1.0 - 1e-9) {
            return (step, exponent + up);
        }
    }
    (decimal(1, exponent + 1), exponent + 1)
}

/// `digit` × 10^`exponent`, correctly rounded.
fn decimal(digit: u8, exponent: i32) -> f64 {
    format!("{digit}e{exponent}").parse().unwrap_or(1.0)
}

/// Removes rounding errors below 10^`exponent`: 3 × 0.1 becomes 0.3.
fn round(value: f64, exponent: i32) -> f64 {
    let decimals = (-exponent).clamp(0, 12) as usize;
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Puts thin spaces between groups of three digits, if the whole part has five digits or more.
fn group_thousands(text: &str) -> String {
    let (sign, rest) = match text.strip_prefix('\u{2212}') {
        Some(rest) => ("\u{2212}", rest),
        None => ("", text),
    };
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(w, f)| (w, Some(f)));
    if whole.len() < 5 || !whole.bytes().all(|b| b.is_ascii_digit()) {
        return text.to_owned();
    }
    let mut out = sign.to_owned();
    for (index, c) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push('\u{2009}');
        }
        out.push(c);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Linear mapping of values to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// Value at `from_px`.
    pub lo: f64,
    /// Value at `to_px`.
    pub hi: f64,
    /// Coordinate of `lo`, in pixels.
    pub from_px: f64,
    /// Coordinate of `hi`, in pixels.
    pub to_px: f64,
}

impl Scale {
    /// Coordinate of a value, limited to ten axis lengths beyond either end.
    pub(crate) fn px(&self, value: f64) -> f64 {
        let share = ((value - self.lo) / (self.hi - self.lo)).clamp(-10.0, 11.0);
        self.from_px + share * (self.to_px - self.from_px)
    }
}

/// Minimum and maximum of the finite values.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((lo, hi)) => Some((lo.min(v), hi.max(v))),
    })
}

/// Range of an axis: `from` and `to` if set, else the range of the data, or 0 to 1 without data.
/// Always finite and not empty.
pub(crate) fn axis_range(data: Option<(f64, f64)>, from: Option<f64>, to: Option<f64>) -> (f64, f64) {
    let finite = |end: Option<f64>| end.filter(|v| v.is_finite() && v.abs() < 1e100);
    let (lo, hi) = data.unwrap_or((0.0, 1.0));
    let lo = finite(from).unwrap_or(lo.clamp(-1e100, 1e100));
    let hi = finite(to).unwrap_or(hi.clamp(-1e100, 1e100));
    // A reversed range, or one within rounding errors, counts as a single value.
    if hi - lo > lo.abs().max(hi.abs()) * 1e-9 {
        (lo, hi)
    } else if lo == 0.0 {
        (0.0, 1.0)
    } else {
        (lo - lo.abs() / 2.0, lo + lo.abs() / 2.0)
    }
}

/// Range and ticks of a y axis. Ends that are not set extend to the next tick. The range of the
/// data is extended to zero with `include_zero`, and also if all values are non-negative and the
/// minimum is below half the maximum.
pub(crate) fn y_axis(
    data: Option<(f64, f64)>,
    from: Option<f64>,
    to: Option<f64>,
    include_zero: bool,
    tick_count: usize,
) -> (f64, f64, Ticks) {
    let data = data.map(|(lo, hi)| {
        if lo >= 0.0 && (include_zero || lo < hi / 2.0) {
            (0.0, hi)
        } else if include_zero && hi < 0.0 {
            (lo, 0.0)
        } else {
            (lo, hi)
        }
    });
    let (lo, hi) = axis_range(data, from, to);
    let step = Ticks::new(lo, hi, tick_count).step;
    let lo = if from.is_some() { lo } else { (lo / step + 1e-9).floor() * step };
    let hi = if to.is_some() { hi } else { (hi / step - 1e-9).ceil() * step };
    // The range may be longer by nearly two steps; with one tick more, the step does not grow.
    let ticks = Ticks::new(lo, hi, tick_count + 1);
    (lo, hi, ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(Ticks::new(0.0, 150.0, 8).values, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0]);
        let tenths = Ticks::new(0.0, 0.63, 4);
        assert_eq!((tenths.values.clone(), tenths.decimals), (vec![0.0, 0.2, 0.4, 0.6], 1));
        assert_eq!(Ticks::new(0.0, 0.3, 3).values, [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(Ticks::new(-3.0, 3.0, 3).values, [-2.0, 0.0, 2.0]);
        let fine = Ticks::new(1e-7, 9e-7, 4);
        assert_eq!(fine.values.len(), 4);
        assert_eq!(fine.text(2e-7), "0.0000002");
    }

    #[test]
    fn every_step_is_one_two_or_five() {
        let mut width: f64 = 1.3e-9;
        while width < 1e12 {
            let ticks = Ticks::new(0.0, width, 5);
            let digit = format!("{:e}", ticks.step).chars().next().unwrap();
            assert!("125".contains(digit), "{width}: {}", ticks.step);
            assert!((2..=7).contains(&ticks.values.len()), "{width}: {:?}", ticks.values);
            width *= 1.7;
        }
    }

    #[test]
    fn thin_spaces_separate_thousands() {
        let ticks = Ticks::new(0.0, 200_000.0, 4);
        assert_eq!(ticks.text(150_000.0), "150\u{2009}000");
        assert_eq!(ticks.text(-2000.0), "\u{2212}2000");
    }

    #[test]
    fn axis_range_is_finite_and_not_empty() {
        for data in [None, Some((0.0, 0.0)), Some((5.0, 5.0)), Some((-1e308, 1e308))] {
            let (lo, hi) = axis_range(data, Some(f64::NAN), Some(f64::INFINITY));
            assert!(lo < hi && (hi - lo).is_finite(), "{data:?}");
            let (lo, hi, ticks) = y_axis(data, None, None, true, 4);
            assert!(lo < hi && ticks.values.len() < 20, "{data:?}");
        }
        assert_eq!(y_axis(Some((3.1, 3.4)), None, None, false, 4).0, 3.1);
        assert_eq!(y_axis(Some((3.1, 3.4)), None, None, true, 4).0, 0.0);
    }

    #[test]
    fn extreme_value_has_a_finite_coordinate() {
        let scale = Scale { lo: 0.0, hi: 1.0, from_px: 100.0, to_px: 0.0 };
        assert_eq!(scale.px(0.25), 75.0);
        assert!(scale.px(1e300).is_finite());
    }
}
