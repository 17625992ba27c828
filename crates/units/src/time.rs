//! Points and spans of time.

use crate::parse::{Scale, UnitError, serde_as_text};
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

const SCALE: Scale = Scale {
    quantity: "time",
    units: "a time such as `5ms`; units: ns, us, ms, s, min, h",
    factors: &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)],
};

/// A point in time: nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time, in nanoseconds; never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// The point `millis` milliseconds after the beginning.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// The point `secs` seconds after the beginning.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole milliseconds since the beginning.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds since the beginning.
    pub fn as_secs_f64(self) -> f64 {
        // Divided, not multiplied by 1e-9, which is not exact: 30 s are 30.0.
        self.0 as f64 / 1e9
    }
    /// How long after `earlier` this is; zero if it is before.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// `secs` seconds, to the nearest nanosecond; zero for what is negative or not a number.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }
    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        // Divided, not multiplied by 1e-9, which is not exact: 30 s are 30.0.
        self.0 as f64 / 1e9
    }
    /// True for no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// This span `factor` times over, to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}
impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}
impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, by: u64) -> Self {
        Self(self.0 / by)
    }
}

impl FromStr for Duration {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SCALE.read_whole(text).map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        let (value, unit) = match ns {
            0 => (0.0, "s"),
            _ if ns < 1_000 => (ns as f64, "ns"),
            _ if ns < 1_000_000 => (ns as f64 / 1e3, "us"),
            _ if ns < 1_000_000_000 => (ns as f64 / 1e6, "ms"),
            _ => (ns as f64 / 1e9, "s"),
        };
        write!(f, "{value}{unit}")
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

serde_as_text!(Duration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["5ms", "1.5s", "250us", "17ns", "0s", "150s"] {
            let span: Duration = text.parse().unwrap();
            assert_eq!(span.to_string(), text);
        }
        assert_eq!("2min".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("1e-3 s".parse(), Ok(Duration::from_millis(1)));
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_units_that_would_do() {
        let error = "5".parse::<Duration>().unwrap_err();
        assert!(matches!(error, UnitError::MissingUnit { .. }));
        assert!(error.expected().unwrap().contains("ms"));
        assert!(matches!("-1s".parse::<Duration>(), Err(UnitError::OutOfRange { .. })));
        assert!(matches!("5 parsec".parse::<Duration>(), Err(UnitError::UnknownUnit { .. })));
        assert!(matches!("soon".parse::<Duration>(), Err(UnitError::NotANumber { .. })));
    }
}
