//! Times, rates, sizes, powers and energies as values of configuration files.
//!
//! The constants are the [`Shape`]s of keys in a description of a file format. [`TIME`] accepts
//! `"0s"`, [`POSITIVE_TIME`] does not. [`Quantities`] returns values as the types of [`units`].
//! Every quantity is a TOML string with a unit; a missing or misspelt unit gets a hint.

use core::any::Any;
use core::str::FromStr;
use schema::read::clip;
use schema::shape::Shape;
use schema::{Fields, Invalid, Literal, Node, Parsed, ValueType};
use units::{Bitrate, Bytes, Duration, Energy, Power, UnitError};

/// A span of time, zero included.
pub const TIME: Shape = Shape::Custom(&Quantity { kind: Kind::Time, zero: Zero::Allowed });
/// A span of time above zero.
pub const POSITIVE_TIME: Shape = Shape::Custom(&Quantity { kind: Kind::Time, zero: Zero::Refused });
/// Bits per second, zero included.
pub const RATE: Shape = Shape::Custom(&Quantity { kind: Kind::Rate, zero: Zero::Allowed });
/// Bits per second, above zero.
pub const POSITIVE_RATE: Shape = Shape::Custom(&Quantity { kind: Kind::Rate, zero: Zero::Refused });
/// Bytes, above zero.
pub const POSITIVE_SIZE: Shape = Shape::Custom(&Quantity { kind: Kind::Size, zero: Zero::Refused });
/// Watts, zero included.
pub const POWER: Shape = Shape::Custom(&Quantity { kind: Kind::Power, zero: Zero::Allowed });
/// Joules, above zero.
pub const POSITIVE_ENERGY: Shape = Shape::Custom(&Quantity { kind: Kind::Energy, zero: Zero::Refused });

/// A number with its unit, in quotes.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    /// The physical quantity.
    pub kind: Kind,
    /// Whether zero is valid.
    pub zero: Zero,
}

/// A physical quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A span of time, read as [`Duration`].
    Time,
    /// Bits per second, read as [`Bitrate`].
    Rate,
    /// An amount of data, read as [`Bytes`].
    Size,
    /// Watts, read as [`Power`].
    Power,
    /// Joules, read as [`Energy`].
    Energy,
}

/// Whether a quantity of zero is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zero {
    /// Zero is valid.
    Allowed,
    /// Zero is an error.
    Refused,
}

/// Access to the quantities of a table by key.
pub trait Quantities {
    /// The value of `key` if it is a time.
    fn time(&self, key: &str) -> Option<Duration>;
    /// The value of `key` if it is a rate.
    fn rate(&self, key: &str) -> Option<Bitrate>;
    /// The value of `key` if it is a size.
    fn size(&self, key: &str) -> Option<Bytes>;
    /// The value of `key` if it is a power.
    fn power(&self, key: &str) -> Option<Power>;
    /// The value of `key` if it is an energy.
    fn energy(&self, key: &str) -> Option<Energy>;
}

impl Quantities for Fields {
    fn time(&self, key: &str) -> Option<Duration> {
        self.custom(key)
    }
    fn rate(&self, key: &str) -> Option<Bitrate> {
        self.custom(key)
    }
    fn size(&self, key: &str) -> Option<Bytes> {
        self.custom(key)
    }
    fn power(&self, key: &str) -> Option<Power> {
        self.custom(key)
    }
    fn energy(&self, key: &str) -> Option<Energy> {
        self.custom(key)
    }
}

/// Access to one value that is a quantity.
pub trait QuantityNode {
    /// The value if it is a time.
    fn time(&self) -> Option<Duration>;
    /// The value if it is a rate.
    fn rate(&self) -> Option<Bitrate>;
    /// The value if it is a size.
    fn size(&self) -> Option<Bytes>;
}

impl QuantityNode for Node {
    fn time(&self) -> Option<Duration> {
        self.custom()
    }
    fn rate(&self) -> Option<Bitrate> {
        self.custom()
    }
    fn size(&self) -> Option<Bytes> {
        self.custom()
    }
}

impl ValueType for Quantity {
    fn expected(&self) -> String {
        let above = if self.zero == Zero::Refused { " above zero" } else { "" };
        let kind = self.kind;
        let units = kind.units().iter().filter(|unit| !unit.contains('/')).copied().collect::<Vec<_>>();
        format!("{}{above} such as `{}`; units: {}", kind.name(), self.example(), units.join(", "))
    }

    fn summary(&self) -> String {
        let name = self.kind.name().trim_start_matches("an ").trim_start_matches("a ");
        let above = if self.zero == Zero::Refused { ", above zero" } else { "" };
        format!("{name}{above}")
    }

    fn example(&self) -> String {
        format!("\"{}\"", self.kind.example())
    }

    /// Returns a pattern that also matches zero where it is refused. Excluding zero takes
    /// look-ahead, which not every validator supports.
    fn json_schema(&self) -> serde_json::Value {
        let units = self.kind.units().join("|");
        let pattern = format!("^\\s*\\+?[0-9_]*\\.?[0-9_]+\\.?([eE]-?[0-9]+)?\\s*({units})\\s*$");
        serde_json::json!({ "type": "string", "pattern": pattern })
    }

    /// True, so that a bare number is reported as a quantity without its unit.
    fn takes_numbers(&self) -> bool {
        true
    }

    fn complete(&self, text: &str, example: &str) -> Option<String> {
        let text = text.trim();
        let number: f64 = text.parse().ok()?;
        let unit = example.trim_matches('"').trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = self.kind.units().iter().find(|known| **known == unit).copied();
        (number >= 0.0).then(|| format!("{text}{}", unit.unwrap_or(self.kind.common_unit())))
    }

    fn parse(&self, key: &str, literal: Literal<'_>) -> Result<Parsed, Invalid> {
        let text = match literal {
            Literal::Text(text) => text,
            Literal::Number(number) => {
                let hint =
                    format!("add the unit, in quotes: `{key} = \"{number}{}\"`", self.kind.common_unit());
                return Err(Invalid { hint: Some(hint), ..Invalid::new(format!("`{number}` has no unit")) });
            }
        };
        match self.kind {
            Kind::Time => self.parse_as::<Duration>(key, text),
            Kind::Rate => self.parse_as::<Bitrate>(key, text),
            Kind::Size => self.parse_as::<Bytes>(key, text),
            Kind::Power => self.parse_as::<Power>(key, text),
            Kind::Energy => self.parse_as::<Energy>(key, text),
        }
    }
}

impl Quantity {
    fn parse_as<T>(self, key: &str, text: &str) -> Result<Parsed, Invalid>
    where
        T: FromStr<Err = UnitError> + PartialOrd + Default + Any + Send + Sync,
    {
        let amount: T = text.parse().map_err(|error| self.invalid(key, text, &error))?;
        let max = self.kind.max();
        if max.parse().is_ok_and(|max| amount > max) {
            let expected = Some(format!("{} of at most {max}", self.kind.name()));
            return Err(Invalid { expected, ..Invalid::new(format!("`{}` is out of range", clip(text))) });
        }
        if self.zero == Zero::Refused && amount == T::default() {
            return Err(Invalid::new(format!("`{key}` is zero")));
        }
        Ok(Parsed::new(amount))
    }

    fn invalid(self, key: &str, text: &str, error: &UnitError) -> Invalid {
        let kind = self.kind;
        let shown = clip(text);
        match error {
            UnitError::OutOfRange { .. } if text.trim_start().starts_with('-') => {
                Invalid::new(format!("`{shown}` is negative"))
            }
            UnitError::OutOfRange { .. } => Invalid::new(format!("`{shown}` is out of range")),
            UnitError::NotANumber { .. } => Invalid::new(format!("`{shown}` is not {}", kind.name())),
            UnitError::MissingUnit { .. } => {
                let hint = format!("`{key} = \"{}{}\"`", clip(text.trim()), kind.common_unit());
                Invalid { hint: Some(hint), ..Invalid::new(format!("`{shown}` has no unit")) }
            }
            UnitError::UnknownUnit { unit, suggestion, .. } => {
                let hint = suggestion.as_ref().map(|meant| format!("did you mean {meant}?"));
                let message = format!("`{}` is not a unit of {}", clip(unit), kind.name());
                Invalid { hint, ..Invalid::new(message) }
            }
        }
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Rate => "a rate",
            Self::Size => "a size",
            Self::Power => "a power",
            Self::Energy => "an energy",
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::Time => "5ms",
            Self::Rate => "2Mbps",
            Self::Size => "64KiB",
            Self::Power => "1060mW",
            Self::Energy => "300J",
        }
    }

    /// Maximum value. A larger one is probably a typing error. Sums of a few such values fit
    /// their types.
    const fn max(self) -> &'static str {
        match self {
            Self::Time => "8784h",
            Self::Rate => "10000Gbps",
            Self::Size => "1000000GB",
            Self::Power => "1000000W",
            Self::Energy => "1000000000kJ",
        }
    }

    /// Units in the JSON Schema; messages omit those with a slash. The parser also accepts `KB`.
    const fn units(self) -> &'static [&'static str] {
        match self {
            Self::Time => &["ns", "us", "ms", "s", "min", "h"],
            Self::Rate => &["bps", "kbps", "Mbps", "Gbps", "bit/s", "kbit/s", "Mbit/s", "Gbit/s"],
            Self::Size => &["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"],
            Self::Power => &["uW", "mW", "W"],
            Self::Energy => &["mJ", "J", "kJ", "Wh"],
        }
    }

    /// Unit that hints suggest for a number without a unit.
    const fn common_unit(self) -> &'static str {
        match self {
            Self::Time => "ms",
            Self::Rate => "Mbps",
            Self::Size => "kB",
            Self::Power => "mW",
            Self::Energy => "J",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 5] = [Kind::Time, Kind::Rate, Kind::Size, Kind::Power, Kind::Energy];

    fn parse(kind: Kind, zero: Zero, text: &str) -> Result<Parsed, Invalid> {
        Quantity { kind, zero }.parse("key", Literal::Text(text))
    }

    #[test]
    fn every_listed_unit_is_parsed() {
        for kind in KINDS {
            for unit in kind.units() {
                let text = format!("3{unit}");
                assert!(parse(kind, Zero::Refused, &text).is_ok(), "{text}");
            }
            assert!(parse(kind, Zero::Refused, kind.example()).is_ok(), "{}", kind.example());
            assert!(parse(kind, Zero::Refused, kind.max()).is_ok(), "{}", kind.max());
        }
    }

    #[test]
    fn zero_is_refused_where_the_shape_says_so() {
        assert!(parse(Kind::Time, Zero::Allowed, "0s").is_ok());
        assert_eq!(parse(Kind::Time, Zero::Refused, "0s").unwrap_err().message, "`key` is zero");
    }

    #[test]
    fn missing_and_misspelt_units_get_a_hint() {
        let hint = |kind, text| parse(kind, Zero::Refused, text).unwrap_err().hint;
        assert_eq!(hint(Kind::Rate, "50").as_deref(), Some("`key = \"50Mbps\"`"));
        assert_eq!(hint(Kind::Rate, "50mbps").as_deref(), Some("did you mean `50Mbps`?"));
        assert_eq!(hint(Kind::Time, "5 sec").as_deref(), Some("did you mean `5s`?"));
        let bare = Quantity { kind: Kind::Time, zero: Zero::Allowed }.parse("delay", Literal::Number("5"));
        let hint = bare.unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("add the unit, in quotes: `delay = \"5ms\"`"));
    }
}
