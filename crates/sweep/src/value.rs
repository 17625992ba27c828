//! Values of keys as numbers in SI units.

use units::{Bitrate, Bytes, Duration, Energy, Power};

/// A number in an SI unit, in bytes or without a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Si {
    /// The number.
    pub number: f64,
    /// End of a column's name: `bps`, `s`, `bytes`, `w`, `j`; empty without a unit.
    pub unit: &'static str,
}

/// The number of a value such as `20Mbps`, `100ms` or `0.05`; `None` for words and other units.
pub fn si(text: &str) -> Option<Si> {
    let text = unquoted(text);
    let of = |number: f64, unit| Some(Si { number, unit });
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(Si { number, unit: "" });
    }
    if let Ok(rate) = text.parse::<Bitrate>() {
        return of(rate.as_bps() as f64, "bps");
    }
    if let Ok(time) = text.parse::<Duration>() {
        return of(time.as_secs_f64(), "s");
    }
    if let Ok(size) = text.parse::<Bytes>() {
        return of(size.get() as f64, "bytes");
    }
    if let Ok(power) = text.parse::<Power>() {
        return of(power.as_watts(), "w");
    }
    text.parse::<Energy>().ok().and_then(|energy| of(energy.as_joules(), "j"))
}

/// A value without the quotes of TOML.
pub(crate) fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_si_units() {
        for (text, number, unit) in [
            ("20Mbps", 20e6, "bps"),
            ("'250ms'", 0.25, "s"),
            ("64kB", 64e3, "bytes"),
            ("400mW", 0.4, "w"),
            ("15Wh", 54_000.0, "j"),
            ("0.05", 0.05, ""),
        ] {
            assert_eq!(si(text), Some(Si { number, unit }), "{text}");
        }
        for text in ["min-rtt", "100 packets", "", "nan", "inf"] {
            assert_eq!(si(text), None, "{text}");
        }
    }
}
