//! Times of rows: numbers of seconds, times since 1970, and dates.

use super::unit::{HOUR_NANOS, MINUTE_NANOS};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Notation of the times of a file, found in its first row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeNotation {
    /// A number in units of this many nanoseconds.
    Number(u64),
    /// A date with a time of day. Rows of the same second are averaged.
    Date,
}

/// A number of seconds since 1970 has at most 11 digits, until the year 5138; of milliseconds, at
/// least 12 digits, from 1973 on.
const EPOCH_SCALES: [(i128, u64); 3] =
    [(100_000_000_000_000_000, 1), (100_000_000_000_000, 1000), (100_000_000_000, 1_000_000)];

impl TimeNotation {
    /// Finds the notation by the first time; `unit_nanos` is the unit that the header names.
    pub(super) fn of(first: &str, unit_nanos: Option<u64>) -> Option<Self> {
        if let Some(value) = decimal(first, 1) {
            let scale = EPOCH_SCALES.iter().find(|(from, _)| value >= *from).map(|&(_, scale)| scale);
            return Some(Self::Number(unit_nanos.or(scale).unwrap_or(1_000_000_000)));
        }
        date(first).map(|_| Self::Date)
    }

    /// Returns the nanoseconds since the origin of the notation.
    pub(super) fn nanos(self, text: &str) -> Option<i128> {
        match self {
            Self::Number(scale) => decimal(text, scale),
            Self::Date => date(text),
        }
    }

    /// Description for errors.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Number(1_000_000_000) => "a number of seconds",
            Self::Number(1_000_000) => "a number of milliseconds",
            Self::Number(1000) => "a number of microseconds",
            Self::Number(MINUTE_NANOS) => "a number of minutes",
            Self::Number(HOUR_NANOS) => "a number of hours",
            Self::Number(_) => "a number of nanoseconds",
            Self::Date => "a date and time, as in the first row",
        }
    }
}

/// Reads a number of units as nanoseconds: exactly for plain decimals, else rounded.
fn decimal(text: &str, unit_nanos: u64) -> Option<i128> {
    let unit = i128::from(unit_nanos);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()) && digits.len() <= 18;
    if !whole.is_empty() && plain(whole) && plain(fraction) {
        let mut nanos = whole.parse::<i128>().ok()? * unit;
        if !fraction.is_empty() {
            let scale = 10_i128.pow(fraction.len() as u32);
            nanos += (fraction.parse::<i128>().ok()? * unit + scale / 2) / scale;
        }
        return Some(nanos);
    }
    let nanos = text.parse::<f64>().ok()? * unit_nanos as f64;
    (0.0..1e27).contains(&nanos).then_some((nanos + 0.5) as i128)
}

/// Reads a date with a time of day: ISO 8601 with or without a time zone, or the notation of the
/// UCC data sets, `2018.02.12_16.14.02`.
fn date(text: &str) -> Option<i128> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_nanosecond());
    }
    let ucc = || {
        let shape = text.len() == 19 && text.contains('_');
        shape.then(|| DateTime::strptime("%Y.%m.%d_%H.%M.%S", text).ok()).flatten()
    };
    let iso = || text.contains(':').then(|| text.parse::<DateTime>().ok()).flatten();
    let at = ucc().or_else(iso)?;
    Some(TimeZone::UTC.to_timestamp(at).ok()?.as_nanosecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<i128> {
        TimeNotation::of(text, None)?.nanos(text)
    }

    #[test]
    fn times_are_seconds_or_since_1970_or_dates() {
        let second = 1_000_000_000;
        assert_eq!(nanos("12"), Some(12 * second));
        assert_eq!(nanos("0.3"), Some(300_000_000));
        assert_eq!(nanos("1e2"), Some(100 * second));
        let epoch = Some(1_518_452_042 * second);
        for text in [
            "1518452042",
            "1518452042000",
            "1518452042000000",
            "1518452042000000000",
            "2018.02.12_16.14.02",
            "2018-02-12T16:14:02Z",
            "2018-02-12 16:14:02",
            "2018-02-12T17:14:02+01:00",
        ] {
            assert_eq!(nanos(text), epoch, "{text}");
        }
        assert_eq!(
            TimeNotation::of("250", Some(1_000_000)).and_then(|n| n.nanos("250.5")),
            Some(250_500_000)
        );
        for text in ["", "-1", "x", "nan", "inf", "1e400", ".", "2018.02.31_16.14.02", "16:14", "2018-02-12"]
        {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
