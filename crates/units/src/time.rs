//! Points and spans of time.

use crate::parse::{Scale, UnitError, serde_as_text};
use crate::spelling::Spelling;
use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use core::str::FromStr;

const SCALE: Scale = Scale {
    quantity: "time",
    units: "a time such as `5ms`; units: ns, us, ms, s, min, h",
    factors: &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)],
    spelling: Spelling::Time,
};

/// A point in simulated time: nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of time, in nanoseconds; never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The latest point: a timer set to it never fires.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates the point `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Creates the point `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// Creates the point `secs` seconds after the start.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// Returns nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns whole milliseconds since the start.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Returns seconds since the start.
    pub fn as_secs_f64(self) -> f64 {
        // A division is exact where a product with 1e-9 is not: 30 s give 30.0.
        self.0 as f64 / 1e9
    }
    /// Returns the time elapsed since `earlier`; zero if that is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// An empty span.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates a span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
    /// Creates a span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }
    /// Creates a span of `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }
    /// Creates a span of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }
    /// Creates a span of `secs` seconds, rounded to a nanosecond; zero if `secs` is negative or
    /// NaN.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }
    /// Returns nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }
    /// Returns seconds.
    pub fn as_secs_f64(self) -> f64 {
        // A division is exact where a product with 1e-9 is not: 30 s give 30.0.
        self.0 as f64 / 1e9
    }
    /// Returns true for an empty span.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// Returns the difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Returns the product with `factor`, rounded to a nanosecond.
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
    fn written_times_parse_back() {
        for text in ["5ms", "1.5s", "250us", "17ns", "0s", "150s"] {
            let span: Duration = text.parse().unwrap();
            assert_eq!(span.to_string(), text);
        }
        assert_eq!("2min".parse(), Ok(Duration::from_secs(120)));
        assert_eq!("1e-3 s".parse(), Ok(Duration::from_millis(1)));
    }

    #[test]
    fn invalid_times_are_refused() {
        let error = "5".parse::<Duration>().unwrap_err();
        assert!(matches!(error, UnitError::MissingUnit { .. }));
        assert!(error.expected().unwrap().contains("ms"));
        assert!(matches!("-1s".parse::<Duration>(), Err(UnitError::OutOfRange { .. })));
        assert!(matches!("5 parsec".parse::<Duration>(), Err(UnitError::UnknownUnit { .. })));
        assert!(matches!("soon".parse::<Duration>(), Err(UnitError::NotANumber { .. })));
    }
}
