//! Parser for numbers with units.

use crate::spelling::Spelling;
use thiserror::Error;

/// An invalid quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text does not begin with a number.
    #[error("`{text}` is not a number with a unit")]
    NotANumber {
        /// The text.
        text: String,
    },
    /// The number has no unit.
    #[error("`{text}` has no unit")]
    MissingUnit {
        /// The text.
        text: String,
        /// The valid units, as a readable list.
        units: &'static str,
    },
    /// The quantity has no such unit.
    #[error("`{unit}` is not a unit of {quantity}")]
    UnknownUnit {
        /// The unit in the text.
        unit: String,
        /// The expected quantity, such as "time".
        quantity: &'static str,
        /// The valid units, as a readable list.
        units: &'static str,
        /// The quantity that was probably meant, in backquotes.
        suggestion: Option<String>,
    },
    /// The value is negative, or too large for the type.
    #[error("`{text}` is out of range for {quantity}")]
    OutOfRange {
        /// The text.
        text: String,
        /// The expected quantity.
        quantity: &'static str,
    },
}

impl UnitError {
    /// Returns the expected input as a phrase: "a time such as `5ms`; units: ns, us, ms, s, min".
    pub fn expected(&self) -> Option<&'static str> {
        match self {
            Self::MissingUnit { units, .. } | Self::UnknownUnit { units, .. } => Some(units),
            Self::NotANumber { .. } | Self::OutOfRange { .. } => None,
        }
    }

    /// Returns the quantity that was probably meant, in backquotes: "`80Mbps`, for 10 MB/s".
    pub fn suggestion(&self) -> Option<&str> {
        match self {
            Self::UnknownUnit { suggestion, .. } => suggestion.as_deref(),
            _ => None,
        }
    }
}

/// A quantity: its name, its units, and the factor of each to the canonical unit.
pub(crate) struct Scale {
    pub(crate) quantity: &'static str,
    pub(crate) units: &'static str,
    pub(crate) factors: &'static [(&'static str, f64)],
    pub(crate) spelling: Spelling,
}

impl Scale {
    /// Parses `text` and returns the amount in canonical units; it is finite and not negative.
    pub(crate) fn read(&self, text: &str) -> Result<f64, UnitError> {
        let trimmed = text.trim();
        let split = trimmed
            .char_indices()
            .find(|&(i, c)| {
                let exponent = (c == 'e' || c == 'E')
                    && trimmed[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-');
                !(c.is_ascii_digit() || c == '.' || c == '-' || c == '+' || c == '_' || exponent)
            })
            .map_or(trimmed.len(), |(i, _)| i);
        let (number, unit) = trimmed.split_at(split);
        let value: f64 =
            number.replace('_', "").parse().map_err(|_| UnitError::NotANumber { text: text.to_owned() })?;
        let unit = unit.trim();
        let out_of_range = || UnitError::OutOfRange { text: text.to_owned(), quantity: self.quantity };
        if value < 0.0 || !value.is_finite() {
            return Err(out_of_range());
        }
        if unit.is_empty() {
            return Err(UnitError::MissingUnit { text: text.to_owned(), units: self.units });
        }
        let factor = self
            .factors
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| UnitError::UnknownUnit {
                unit: unit.to_owned(),
                quantity: self.quantity,
                units: self.units,
                suggestion: self.spelling.correct(value, unit),
            })?
            .1;
        Some(value * factor).filter(|amount| amount.is_finite()).ok_or_else(out_of_range)
    }

    /// As [`read`](Self::read), for types that hold whole numbers; rounds to the nearest.
    pub(crate) fn read_whole(&self, text: &str) -> Result<u64, UnitError> {
        let value = self.read(text)?;
        if value > 9.0e18 {
            return Err(UnitError::OutOfRange { text: text.to_owned(), quantity: self.quantity });
        }
        Ok((value + 0.5) as u64)
    }
}

/// Implements serde by the textual form.
macro_rules! serde_as_text {
    ($($name:ty),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
pub(crate) use serde_as_text;
