//! The three formats that have one entry a line, and telling formats apart.

use super::error::quoted;
use super::{RatePiece, Trace, TraceError, TraceFormat};
use units::{Bitrate, Duration};

/// A rate above this is taken for a mistake of units.
const MOST_MBPS: f64 = 1e6;
/// Three years: a time above this is taken for a date.
const MOST_SECONDS: f64 = 1e8;

const MAHIMAHI_HINT: &str = "mahimahi traces have one number a line: the millisecond of an opportunity to send \
                             1500 bytes";
const SECOND_BYTES_HINT: &str = "each line is `second,bytes_per_second`, such as `12,2532630`";
const SECONDS_MBPS_HINT: &str = "each line is `seconds Mbps`, such as `12.0 20.3`";

/// What `text` looks like, by the extension and then by its first line.
pub(super) fn detect(name: &str, text: &str) -> Result<TraceFormat, TraceError> {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension.eq_ignore_ascii_case("json") {
        return Ok(TraceFormat::JsonSegments);
    }
    if extension.eq_ignore_ascii_case("csv") {
        return Ok(TraceFormat::SecondBytes);
    }
    let Some((number, line)) = entries(text).next() else {
        return Err(empty(
            name,
            "a trace is in one of the formats mahimahi, second-bytes, seconds-mbps and json",
        ));
    };
    if line.starts_with(['[', '{']) {
        return Ok(TraceFormat::JsonSegments);
    }
    if line.contains(',') {
        return Ok(TraceFormat::SecondBytes);
    }
    let numbers = line.split_whitespace().all(|field| field.parse::<f64>().is_ok());
    match line.split_whitespace().count() {
        1 if numbers => Ok(TraceFormat::Mahimahi),
        2 if numbers => Ok(TraceFormat::SecondsMbps),
        _ => Err(at(
            name,
            number,
            "a number, `second,bytes_per_second`, `seconds Mbps` or a JSON list",
            quoted(line),
            "name the format: mahimahi, second-bytes, seconds-mbps or json",
        )),
    }
}

pub(super) fn mahimahi(name: &str, text: &str) -> Result<Trace, TraceError> {
    let mut millis: Vec<u32> = Vec::new();
    for (number, line) in entries(text) {
        let expected = "a whole number of milliseconds";
        let value: u32 = line.parse().map_err(|_| at(name, number, expected, quoted(line), MAHIMAHI_HINT))?;
        if let Some(&before) = millis.last().filter(|&&before| value < before) {
            let expected = format!("{before} or later, as on the line above");
            let hint =
                "the times of a mahimahi trace never go back; sort the file, or cut it where it starts anew";
            return Err(at(name, number, &expected, quoted(line), hint));
        }
        millis.push(value);
    }
    match millis.last() {
        None => Err(empty(name, MAHIMAHI_HINT)),
        Some(0) => Err(TraceError {
            file: name.to_owned(),
            line: entries(text).last().map(|(number, _)| number),
            column: None,
            expected: "a last time after 0".to_owned(),
            found: "`0`".to_owned(),
            hint: "the trace loops with the period of its last line, which cannot be no time at all",
        }),
        Some(_) => Ok(Trace::from_opportunities(millis).expect("in order and ends after zero")),
    }
}

pub(super) fn second_bytes(name: &str, text: &str) -> Result<Trace, TraceError> {
    let reader = Reader {
        name,
        hint: SECOND_BYTES_HINT,
        amount: "bytes per second",
        mbps: 8e-6,
        split: |line| {
            let (time, amount) = line.split_once(',')?;
            (!amount.contains(',')).then(|| (time.trim(), amount.trim()))
        },
    };
    let header = |line: &str| line.starts_with(|c: char| c.is_ascii_alphabetic());
    let skip = usize::from(entries(text).next().is_some_and(|(_, line)| header(line)));
    reader.read(entries(text).skip(skip))
}

pub(super) fn seconds_mbps(name: &str, text: &str) -> Result<Trace, TraceError> {
    let reader = Reader {
        name,
        hint: SECONDS_MBPS_HINT,
        amount: "Mbps",
        mbps: 1.0,
        split: |line| {
            let (time, amount) = line.split_once(char::is_whitespace)?;
            let amount = amount.trim();
            (!amount.contains(char::is_whitespace)).then_some((time, amount))
        },
    };
    reader.read(entries(text))
}

/// How the lines of a time and an amount are read.
struct Reader<'a> {
    name: &'a str,
    hint: &'static str,
    /// What the second column is.
    amount: &'static str,
    /// One of it, in Mbps.
    mbps: f64,
    split: fn(&str) -> Option<(&str, &str)>,
}

impl Reader<'_> {
    fn read<'t>(&self, entries: impl Iterator<Item = (usize, &'t str)>) -> Result<Trace, TraceError> {
        let mut rates: Vec<(f64, f64)> = Vec::new();
        for (number, line) in entries {
            let (time, amount) = (self.split)(line).ok_or_else(|| {
                self.at(number, &format!("two columns, seconds and {}", self.amount), quoted(line))
            })?;
            let time = self.number(number, "seconds", time, MOST_SECONDS)?;
            let mbps = self.number(number, self.amount, amount, MOST_MBPS / self.mbps)? * self.mbps;
            if let Some(&(before, _)) = rates.last().filter(|&&(before, _)| time <= before) {
                return Err(self.at(
                    number,
                    &format!("a time after {before} s, that of the line above"),
                    format!("`{time}`"),
                ));
            }
            rates.push((time, mbps));
        }
        if rates.is_empty() {
            return Err(empty(self.name, self.hint));
        }
        let trace = Trace::from_rates(&pieces(&rates));
        trace.ok_or_else(|| stalls(self.name))
    }

    fn number(&self, line: usize, what: &str, text: &str, most: f64) -> Result<f64, TraceError> {
        let value: f64 =
            text.parse().map_err(|_| self.at(line, &format!("a number of {what}"), quoted(text)))?;
        if (0.0..=most).contains(&value) {
            Ok(value)
        } else {
            Err(self.at(line, &format!("{what} from 0 to {most:e}"), quoted(text)))
        }
    }

    fn at(&self, line: usize, expected: &str, found: String) -> TraceError {
        at(self.name, line, expected, found, self.hint)
    }
}

/// Each rate until the time of the next, the last as long as the one before it (a second if it is
/// alone).
fn pieces(rates: &[(f64, f64)]) -> Vec<RatePiece> {
    let last = match rates {
        [.., (a, _), (b, _)] => b - a,
        _ => 1.0,
    };
    let lengths = rates.windows(2).map(|pair| pair[1].0 - pair[0].0).chain([last]);
    rates
        .iter()
        .zip(lengths)
        .map(|(&(_, mbps), length)| RatePiece {
            duration: Duration::from_secs_f64(length),
            rate: Bitrate::from_mbps(mbps),
            latency: Duration::ZERO,
        })
        .collect()
}

/// Lines that say something, with their numbers.
fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn at(file: &str, line: usize, expected: &str, found: String, hint: &'static str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        line: Some(line),
        column: None,
        expected: expected.to_owned(),
        found,
        hint,
    }
}

pub(super) fn empty(file: &str, hint: &'static str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        line: None,
        column: None,
        expected: "at least one entry".to_owned(),
        found: "an empty trace".to_owned(),
        hint,
    }
}

/// Nothing ever passes.
pub(super) fn stalls(file: &str) -> TraceError {
    TraceError {
        file: file.to_owned(),
        line: None,
        column: None,
        expected: "a rate above zero somewhere".to_owned(),
        found: "a trace that is zero throughout".to_owned(),
        hint: "a link on this trace would stand still for ever; use an outage for a link that is down",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(name: &str, text: &str, format: Option<TraceFormat>) -> TraceError {
        let error = Trace::parse(name, text, format).unwrap_err();
        assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
        assert_eq!(error.file, name);
        error
    }

    #[test]
    fn a_format_is_told_by_extension_or_first_line() {
        let told = |name, text| detect(name, text).unwrap();
        assert_eq!(told("a.json", "oops"), TraceFormat::JsonSegments);
        assert_eq!(told("a.CSV", "second,bytes\n"), TraceFormat::SecondBytes);
        assert_eq!(told("a.down", "\n# c\n12\n"), TraceFormat::Mahimahi);
        assert_eq!(told("a", "1,2"), TraceFormat::SecondBytes);
        assert_eq!(told("a", "1.5\t2"), TraceFormat::SecondsMbps);
        assert_eq!(told("a", " [{"), TraceFormat::JsonSegments);
        assert_eq!(detect("a", "hello").unwrap_err().line, Some(1));
        assert_eq!(detect("a", "1 2 3").unwrap_err().line, Some(1));
        assert_eq!(detect("a", "\n").unwrap_err().line, None);
    }

    #[test]
    fn mahimahi_counts_1500_bytes_a_line_over_the_last_time() {
        let trace = Trace::parse("a", "0\n1\n1\n4\n", None).unwrap();
        assert_eq!(trace.period(), Duration::from_millis(4));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(12_000_000));
    }

    #[test]
    fn a_malformed_mahimahi_line_is_named() {
        let wrong = error("dir/a.down", "1\n2\nx3\n", Some(TraceFormat::Mahimahi));
        assert_eq!((wrong.line, wrong.found.as_str()), (Some(3), "`x3`"));
        assert_eq!(wrong.to_string(), "dir/a.down:3: expected a whole number of milliseconds, found `x3`");
        assert_eq!(error("a", "1.5\n", Some(TraceFormat::Mahimahi)).line, Some(1));
        assert_eq!(error("a", "-1\n", Some(TraceFormat::Mahimahi)).line, Some(1));
        assert_eq!(error("a", "99999999999\n", Some(TraceFormat::Mahimahi)).line, Some(1));
        let back = error("a", "# start\n5\n\n4\n", None);
        assert_eq!(back.line, Some(4));
        assert!(back.expected.contains('5'));
        assert_eq!(error("a", "0\n0\n", None).line, Some(2));
        assert_eq!(error("a", "\n\n", Some(TraceFormat::Mahimahi)).line, None);
    }

    #[test]
    fn second_bytes_are_rates_from_their_second_on() {
        let trace = Trace::parse("a.csv", "second,bytes\n1,1000\n2,0\n4,5000", None).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(5));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(8 * (1000 + 2 * 5000) / 5));
    }

    #[test]
    fn malformed_second_bytes_are_named() {
        let wrong = |text| error("a.csv", text, None);
        assert_eq!(wrong("1,10\n2\n").line, Some(2));
        assert_eq!(wrong("1,10\n2,3,4\n").line, Some(2));
        assert_eq!(wrong("1,10\n2,many\n").line, Some(2));
        assert_eq!(wrong("1,-10\n").line, Some(1));
        assert_eq!(wrong("1,NaN\n").line, Some(1));
        assert_eq!(wrong("1,1e30\n").line, Some(1));
        assert_eq!(wrong("1,10\n1,10\n").line, Some(2));
        assert!(wrong("1,0\n2,0\n").found.contains("zero throughout"));
        assert!(wrong("second,bytes\n").found.contains("empty"));
    }

    #[test]
    fn seconds_mbps_are_rates_from_their_time_on() {
        let trace = Trace::parse("a.txt", "0.0 1\n0.5   3\n", None).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(1));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(2_000_000));
        let alone = Trace::parse("a.txt", "7 2.5", None).unwrap();
        assert_eq!(
            (alone.period(), alone.mean_rate()),
            (Duration::from_secs(1), Bitrate::from_bps(2_500_000))
        );
    }

    #[test]
    fn malformed_seconds_mbps_are_named() {
        let wrong = |text| error("a", text, Some(TraceFormat::SecondsMbps));
        assert_eq!(wrong("0 1\n1\n").line, Some(2));
        assert_eq!(wrong("0 1\n1 2 3\n").line, Some(2));
        assert_eq!(wrong("0 1\n1 inf\n").line, Some(2));
        assert_eq!(wrong("0 1\n1 -2\n").line, Some(2));
        assert_eq!(wrong("5 1\n4 2\n").line, Some(2));
        assert_eq!(wrong("0 0\n").line, None);
        assert_eq!(wrong("").line, None);
    }
}
