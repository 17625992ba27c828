//! Corrections for units in other spellings, and for units of a related quantity.

/// A quantity, with the rules for its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    Time,
    Rate,
    Size,
    Power,
    Energy,
}

/// Nominal voltage of a lithium-ion cell, at which 4000 mAh are 15.4 Wh.
const BATTERY_VOLTS: f64 = 3.85;

/// Numbers above get no correction: converted, they may exceed any unit.
const MAX_VALUE: f64 = 1e15;

impl Spelling {
    /// The quantity that `value` with the unknown `unit` probably is, in backquotes; with a remark
    /// if the value had to be converted.
    pub(crate) fn correct(self, value: f64, unit: &str) -> Option<String> {
        let unit = unit.trim().trim_end_matches('.');
        if value > MAX_VALUE {
            return None;
        }
        match self {
            Self::Time => time(value, &unit.to_lowercase()),
            Self::Rate => rate(value, unit),
            Self::Size => size(value, unit),
            Self::Power => match unit.to_lowercase().as_str() {
                "mw" | "milliwatt" | "milliwatts" => Some(quoted(value, "mW")),
                "w" | "watt" | "watts" => Some(quoted(value, "W")),
                "uw" | "µw" | "μw" => Some(quoted(value, "uW")),
                "kw" => Some(quoted(value * 1e3, "W")),
                _ => None,
            },
            Self::Energy => match unit.to_lowercase().as_str() {
                "j" | "joule" | "joules" | "ws" => Some(quoted(value, "J")),
                "mj" => Some(quoted(value, "mJ")),
                "kj" => Some(quoted(value, "kJ")),
                "wh" => Some(quoted(value, "Wh")),
                "mwh" => Some(quoted(value * 3.6, "J")),
                "kwh" => Some(quoted(value * 1e3, "Wh")),
                "mah" => {
                    let energy = quoted(value * BATTERY_VOLTS / 1e3, "Wh");
                    Some(format!("{energy}, for {} mAh at {BATTERY_VOLTS} V", number(value)))
                }
                _ => None,
            },
        }
    }
}

fn time(value: f64, unit: &str) -> Option<String> {
    let unit = match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => "ms",
        "us" | "µs" | "μs" | "usec" | "usecs" | "microseconds" => "us",
        "ns" | "nsec" | "nanoseconds" => "ns",
        "m" | "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        "d" | "day" | "days" => return Some(quoted(value * 24.0, "h")),
        _ => return None,
    };
    Some(quoted(value, unit))
}

/// Rates are in bits per second; a capital `B` stands for bytes.
fn rate(value: f64, unit: &str) -> Option<String> {
    let (amount, per_second) = split_per_second(unit);
    let (factor, of) = data(amount)?;
    match of {
        // `MBPS` and `mbps`, written in one case, are megabits.
        DataUnit::Byte if per_second && unit.chars().any(char::is_lowercase) => {
            Some(format!("{}, for {} {}/s", bits(value * 8.0 * factor), number(value), amount))
        }
        DataUnit::Byte if per_second => Some(bits(value * factor)),
        DataUnit::Byte => Some(format!(
            "{}, or {} for {} {amount} per second",
            bits(value * factor),
            bits(value * 8.0 * factor),
            number(value)
        )),
        DataUnit::Bit | DataUnit::Unnamed => Some(bits(value * factor)),
    }
}

/// Sizes are in bytes; a small `b` stands for bits.
fn size(value: f64, unit: &str) -> Option<String> {
    let (amount, per_second) = split_per_second(unit);
    let (factor, of) = data(amount)?;
    let binary = (factor as u64).is_power_of_two() && factor > 1.0;
    match of {
        _ if per_second => None,
        DataUnit::Bit if !amount.to_lowercase().contains("bit") && amount.len() > 1 => {
            let lower = amount.chars().all(char::is_lowercase);
            let as_bytes = bytes(value * factor, binary);
            if lower {
                return Some(as_bytes);
            }
            let as_bits = bytes(value * factor / 8.0, binary);
            Some(format!("{as_bytes}, or {as_bits} for {} {amount}it", number(value)))
        }
        DataUnit::Bit if amount == "b" => Some(bytes(value, false)),
        DataUnit::Bit => {
            Some(format!("{}, for {} {amount}", bytes(value * factor / 8.0, binary), number(value)))
        }
        DataUnit::Byte | DataUnit::Unnamed => Some(bytes(value * factor, binary)),
    }
}

/// Splits `MB/s`, `Mbps` and the like into the unit of data, and whether it is per second.
fn split_per_second(unit: &str) -> (&str, bool) {
    let lower = unit.to_ascii_lowercase();
    for suffix in [" per second", "/second", "/sec", "/s", "ps"] {
        if lower.ends_with(suffix) && lower.is_char_boundary(lower.len() - suffix.len()) {
            return (unit[..unit.len() - suffix.len()].trim_end(), true);
        }
    }
    (unit, false)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DataUnit {
    Bit,
    Byte,
    /// A prefix alone, such as `10M`.
    Unnamed,
}

/// The factor of a prefix and the unit behind it.
fn data(unit: &str) -> Option<(f64, DataUnit)> {
    let lower = unit.to_ascii_lowercase();
    let (factor, rest) = [
        ("ki", 1024.0),
        ("mi", 1_048_576.0),
        ("gi", 1_073_741_824.0),
        ("kilo", 1e3),
        ("mega", 1e6),
        ("giga", 1e9),
        ("k", 1e3),
        ("m", 1e6),
        ("g", 1e9),
        ("t", 1e12),
    ]
    .into_iter()
    .filter_map(|(prefix, factor)| Some((factor, lower.strip_prefix(prefix)?)))
    .find(|(_, rest)| matches!(*rest, "" | "b" | "bit" | "bits" | "byte" | "bytes"))
    .unwrap_or((1.0, &lower));
    let of = match rest {
        "b" if unit.ends_with('B') => DataUnit::Byte,
        "b" | "bit" | "bits" => DataUnit::Bit,
        "byte" | "bytes" => DataUnit::Byte,
        "" if factor > 1.0 => DataUnit::Unnamed,
        _ => return None,
    };
    Some((factor, of))
}

/// A rate in its largest unit that keeps the number at one or more.
fn bits(bps: f64) -> String {
    let units = [(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")];
    in_largest_unit(bps, &units)
}

fn bytes(bytes: f64, binary: bool) -> String {
    if binary {
        let units = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
        return in_largest_unit(bytes, &units);
    }
    in_largest_unit(bytes, &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn in_largest_unit(value: f64, units: &[(f64, &str)]) -> String {
    let (factor, unit) =
        units.iter().find(|(factor, _)| value >= *factor).or(units.last()).unwrap_or(&(1.0, ""));
    quoted(value / factor, unit)
}

fn quoted(value: f64, unit: &str) -> String {
    format!("`{}{unit}`", number(value))
}

/// At most six decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_valid_quantities() {
        let cases = [
            (Spelling::Rate, 10.0, "MBps", "`80Mbps`, for 10 MB/s"),
            (Spelling::Rate, 10.0, "MB/s", "`80Mbps`, for 10 MB/s"),
            (Spelling::Rate, 1.5, "MiB/s", "`12.582912Mbps`, for 1.5 MiB/s"),
            (Spelling::Rate, 10.0, "mbps", "`10Mbps`"),
            (Spelling::Rate, 10.0, "MBPS", "`10Mbps`"),
            (Spelling::Rate, 10.0, "MBit/s", "`10Mbps`"),
            (Spelling::Rate, 10.0, "Mbit", "`10Mbps`"),
            (Spelling::Rate, 10.0, "Mb/s", "`10Mbps`"),
            (Spelling::Rate, 10.0, "M", "`10Mbps`"),
            (Spelling::Rate, 10.0, "MB", "`10Mbps`, or `80Mbps` for 10 MB per second"),
            (Spelling::Rate, 2000.0, "kbits/sec", "`2Mbps`"),
            (Spelling::Size, 1.0, "Gb", "`1GB`, or `125MB` for 1 Gbit"),
            (Spelling::Size, 8.0, "Mbit", "`1MB`, for 8 Mbit"),
            (Spelling::Size, 5.0, "mb", "`5MB`"),
            (Spelling::Size, 5.0, "mib", "`5MiB`"),
            (Spelling::Size, 2.0, "TB", "`2000GB`"),
            (Spelling::Size, 64.0, "K", "`64kB`"),
            (Spelling::Size, 9.0, "bytes", "`9B`"),
            (Spelling::Size, 9.0, "b", "`9B`"),
            (Spelling::Time, 5.0, "sec", "`5s`"),
            (Spelling::Time, 5.0, "m", "`5min`"),
            (Spelling::Time, 5.0, "µs", "`5us`"),
            (Spelling::Time, 2.0, "days", "`48h`"),
            (Spelling::Energy, 4000.0, "mAh", "`15.4Wh`, for 4000 mAh at 3.85 V"),
            (Spelling::Energy, 15.0, "wh", "`15Wh`"),
            (Spelling::Power, 2.0, "kW", "`2000W`"),
        ];
        for (spelling, value, unit, expected) in cases {
            assert_eq!(spelling.correct(value, unit).as_deref(), Some(expected), "{value} {unit}");
            let text = expected.split('`').nth(1).unwrap();
            assert!(parses(spelling, text), "{text}");
        }
    }

    fn parses(spelling: Spelling, text: &str) -> bool {
        match spelling {
            Spelling::Time => text.parse::<crate::Duration>().is_ok(),
            Spelling::Rate => text.parse::<crate::Bitrate>().is_ok(),
            Spelling::Size => text.parse::<crate::Bytes>().is_ok(),
            Spelling::Power => text.parse::<crate::Power>().is_ok(),
            Spelling::Energy => text.parse::<crate::Energy>().is_ok(),
        }
    }

    #[test]
    fn unrelated_units_have_no_correction() {
        for spelling in [Spelling::Time, Spelling::Rate, Spelling::Size, Spelling::Power, Spelling::Energy] {
            for unit in ["parsec", "", "%", "ß", "Ⓜ/s", "ps", "/s"] {
                assert_eq!(spelling.correct(1.0, unit), None, "{unit}");
            }
        }
        assert_eq!(Spelling::Size.correct(1.0, "Mbps"), None, "a rate is no size");
    }
}
