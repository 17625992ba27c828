//! Axes: ticks at round numbers, ranges, and the mapping of values to pixels.

use super::Axis;
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
    /// Values are logarithms to base 10, and labels the numbers themselves.
    pub log: bool,
}

/// Decimals up to which a label is written without a power of ten.
const MAX_DECIMALS: usize = 9;
/// Ticks within one decade of a logarithmic axis, from the most to the fewest.
const DECADE_STEPS: [&[f64]; 2] = [&[1.0, 2.0, 5.0], &[1.0]];

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
        Self { values, step, decimals: (-exponent).clamp(0, MAX_EXPONENT) as usize, log: false }
    }

    /// Creates about `count` ticks for an axis from `lo` to `hi`, which are logarithms if the axis
    /// is logarithmic.
    pub(crate) fn of(axis: &Axis, lo: f64, hi: f64, count: usize) -> Self {
        if axis.log { Self::decades(lo, hi, count) } else { Self::new(lo, hi, count) }
    }

    /// Creates at most `count` ticks, and at least one, on a logarithmic axis.
    fn decades(lo: f64, hi: f64, count: usize) -> Self {
        let number = |log: f64| libm::pow(10.0, log);
        if hi - lo < 1.0 {
            let linear = Self::new(number(lo), number(hi), count);
            let values = linear.values.iter().map(|value| libm::log10(*value)).collect();
            return Self { values, log: true, ..linear };
        }
        let within = |value: &f64| *value >= lo - 1e-9 && *value <= hi + 1e-9;
        let decades = (lo.floor() as i64)..=(hi.ceil() as i64);
        let dense = DECADE_STEPS.iter().map(|steps| -> Vec<f64> {
            let decades = decades.clone();
            decades
                .flat_map(|d| steps.iter().map(move |s| d as f64 + libm::log10(*s)))
                .filter(within)
                .collect()
        });
        let sparse = (2..400).map(|every| -> Vec<f64> {
            decades.clone().filter(|d| d % every == 0).map(|d| d as f64).filter(within).collect()
        });
        let values = dense.chain(sparse).find(|values| values.len() <= count.max(1)).unwrap_or_default();
        Self { values, step: 1.0, decimals: 0, log: true }
    }

    /// Label of a tick, with thin spaces between groups of three digits.
    pub(crate) fn text(&self, value: f64) -> String {
        if self.log {
            let number = libm::pow(10.0, value);
            // Within a decade the ticks are linear and share their decimals.
            let decimals =
                if self.decimals > 0 { self.decimals } else { (-value - 1e-9).ceil().max(0.0) as usize };
            return label(number, decimals);
        }
        label(value, self.decimals)
    }

    /// Creates the most ticks, up to `count`, whose labels on the axis `x` keep a distance of
    /// `space` pixels. Labels that would extend below 0 or beyond `limit` are left out. `width`
    /// measures a label.
    pub(crate) fn fitting(
        (axis, x): (&Axis, Scale),
        count: usize,
        (space, limit): (f64, f64),
        width: impl Fn(&str) -> f64,
    ) -> Self {
        let ends = |ticks: &Self, value: f64| {
            let half = width(&ticks.text(value)) / 2.0;
            (x.px(value) - half, x.px(value) + half)
        };
        let apart = |ticks: &Self| {
            ticks.values.windows(2).all(|pair| ends(ticks, pair[0]).1 + space <= ends(ticks, pair[1]).0)
        };
        let within = |mut ticks: Self| {
            let all = core::mem::take(&mut ticks.values);
            ticks.values = all
                .into_iter()
                .filter(|value| ends(&ticks, *value).0 >= 0.0 && ends(&ticks, *value).1 <= limit)
                .collect();
            ticks
        };
        let tried: Vec<Self> =
            (1..=count).rev().map(|count| within(Self::of(axis, x.lo, x.hi, count))).filter(apart).collect();
        // Two labels show the scale of an axis; one or none only if there is no room.
        let best = tried.iter().find(|ticks| ticks.values.len() >= 2).or(tried.first());
        best.cloned().unwrap_or_else(|| {
            let mut ticks = within(Self::of(axis, x.lo, x.hi, 1));
            ticks.values.truncate(1);
            ticks
        })
    }
}

/// Decimals to which values are rounded at most: those of the smallest number of full precision.
const MAX_EXPONENT: i32 = 300;

/// Label of a number, with thin spaces between groups of three digits. Very small and very large
/// numbers have a power of ten.
fn label(value: f64, decimals: usize) -> String {
    if value != 0.0 && value.is_finite() && (decimals > MAX_DECIMALS || value.abs() >= 1e15) {
        let text = format!("{value:.12e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        let exponent = exponent.replace('-', "\u{2212}");
        return format!("{}\u{d7}10^{exponent}", with_minus_sign(mantissa));
    }
    group_thousands(&with_minus_sign(&fixed(
        value,
        if value == 0.0 { decimals.min(MAX_DECIMALS) } else { decimals },
    )))
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
    let decimals = (-exponent).clamp(0, MAX_EXPONENT) as usize;
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
    fn fitting_labels_differ_and_keep_their_distance() {
        let mut rng = units::Seed::new(3).rng("ticks");
        for i in 0..20_000 {
            let power = |unit: f64, span: f64| libm::pow(10.0, (unit - 0.5) * span);
            let (start, width) = (power(rng.unit(), 24.0) * (rng.unit() - 0.3), power(rng.unit(), 24.0));
            let (lo, hi) = axis_range(Some((start, start + width)), None, None);
            let axis = Axis { log: i % 4 == 0, ..Axis::default() };
            let (lo, hi) =
                if axis.log { (lo.abs().max(1e-12), lo.abs().max(1e-12) + hi.abs()) } else { (lo, hi) };
            let (lo, hi) = if axis.log { (libm::log10(lo), libm::log10(hi)) } else { (lo, hi) };
            let x = Scale { lo, hi, from_px: 30.0, to_px: 340.0 };
            let width = |text: &str| text.chars().count() as f64 * 7.0;
            let ticks = Ticks::fitting((&axis, x), 9, (5.0, 354.0), width);
            let labels: Vec<String> = ticks.values.iter().map(|value| ticks.text(*value)).collect();
            let mut distinct = labels.clone();
            distinct.dedup();
            assert_eq!(distinct, labels, "{lo} to {hi}");
            for (pair, label) in ticks.values.windows(2).zip(labels.windows(2)) {
                let gap = f64::midpoint(width(&label[0]), width(&label[1])) + 5.0;
                assert!(x.px(pair[1]) - x.px(pair[0]) >= gap - 1e-6, "{labels:?} overlap");
            }
            // A label reads as the value.
            for (label, value) in labels.iter().zip(&ticks.values) {
                let plain = label.replace('\u{2009}', "").replace('\u{2212}', "-").replace("\u{d7}10^", "e");
                let read: f64 = plain.parse().expect("a label is a number");
                let value = if axis.log { libm::pow(10.0, *value) } else { *value };
                assert!((read - value).abs() <= value.abs() * 1e-9 + 1e-300, "{label} is not {value}");
            }
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
