//! Power and energy.

use crate::Duration;
use crate::parse::{Scale, UnitError, serde_as_text};
use crate::spelling::Spelling;
use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub};
use core::str::FromStr;

const POWER: Scale = Scale {
    quantity: "power",
    units: "a power such as `1060mW`; units: uW, mW, W",
    factors: &[("uW", 1e-6), ("mW", 1e-3), ("W", 1.0)],
    spelling: Spelling::Power,
};

const ENERGY: Scale = Scale {
    quantity: "energy",
    units: "an energy such as `300J`; units: mJ, J, kJ, Wh",
    factors: &[("mJ", 1e-3), ("J", 1.0), ("kJ", 1e3), ("Wh", 3600.0)],
    spelling: Spelling::Energy,
};

/// Power, in watts.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Power(f64);

/// Energy, in joules.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Energy(f64);

impl Power {
    /// No power.
    pub const ZERO: Self = Self(0.0);
    /// Creates a power of `watts` watts.
    pub const fn from_watts(watts: f64) -> Self {
        Self(watts)
    }
    /// Creates a power of `milliwatts` milliwatts.
    pub const fn from_milliwatts(milliwatts: f64) -> Self {
        Self(milliwatts * 1e-3)
    }
    /// Returns watts.
    pub const fn as_watts(self) -> f64 {
        self.0
    }
    /// Returns milliwatts.
    pub const fn as_milliwatts(self) -> f64 {
        self.0 * 1e3
    }
}

impl Energy {
    /// No energy.
    pub const ZERO: Self = Self(0.0);
    /// Creates an energy of `joules` joules.
    pub const fn from_joules(joules: f64) -> Self {
        Self(joules)
    }
    /// Returns joules.
    pub const fn as_joules(self) -> f64 {
        self.0
    }
    /// Returns the mean power over `span`; zero for an empty span.
    pub fn per(self, span: Duration) -> Power {
        if span.is_zero() { Power::ZERO } else { Power(self.0 / span.as_secs_f64()) }
    }
}

impl Mul<Duration> for Power {
    type Output = Energy;
    fn mul(self, span: Duration) -> Energy {
        Energy(self.0 * span.as_secs_f64())
    }
}
impl Mul<f64> for Power {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self(self.0 * factor)
    }
}
impl Add for Power {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl Sum for Power {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}
impl Add for Energy {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Energy {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Energy {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Div<Power> for Energy {
    type Output = Duration;
    /// Returns how long this energy lasts at `power`; [`Duration::MAX`] at zero power.
    fn div(self, power: Power) -> Duration {
        if power.0 <= 0.0 { Duration::MAX } else { Duration::from_secs_f64(self.0 / power.0) }
    }
}
impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Power {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        POWER.read(text).map(Self)
    }
}
impl FromStr for Energy {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        ENERGY.read(text).map(Self)
    }
}
impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 != 0.0 && self.0 < 1.0 {
            // The shortest decimal that parses back: 59.9mW for 0.0599 W, not 59.900000000000006mW.
            write!(f, "{}mW", (self.0 * 1e9).round() / 1e6)
        } else {
            write!(f, "{}W", self.0)
        }
    }
}
impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}J", self.0)
    }
}

serde_as_text!(Power, Energy);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_power_times_time() {
        let energy = Power::from_milliwatts(500.0) * Duration::from_secs(10);
        assert_eq!(energy, Energy::from_joules(5.0));
        assert_eq!(energy.per(Duration::from_secs(10)), Power::from_watts(0.5));
        assert_eq!(Energy::from_joules(300.0) / Power::from_watts(0.5), Duration::from_secs(600));
        assert_eq!(Energy::from_joules(1.0) / Power::ZERO, Duration::MAX);
    }

    #[test]
    fn written_amounts_parse_back() {
        for text in ["1060mW", "59.9mW"] {
            let power: Power = text.parse().unwrap();
            assert_eq!(power.to_string().parse::<Power>().unwrap(), power);
        }
        assert_eq!("300J".parse::<Energy>().unwrap().to_string(), "300J");
        assert!(matches!("9e307Wh".parse::<Energy>(), Err(crate::UnitError::OutOfRange { .. })));
    }
}
