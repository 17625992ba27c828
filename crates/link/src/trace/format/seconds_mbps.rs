//! Lines of seconds and Mbit/s.

use super::columns::{MBPS, Rows, Separator};
use super::{ParsedTrace, Unwritable, decimals, rate_rows};
use crate::trace::{Trace, TraceError, TraceFormat, TraceText};
use core::fmt::Write as _;

/// A rate holds from its time until that of the next line; the last one as long as the one before
/// it. Time is counted from the first line: seconds, a time since 1970 in seconds or smaller units,
/// or a date. Empty lines and lines with `#` in front are skipped.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "seconds-mbps",
    summary: "lines `seconds Mbps`, separated by spaces, commas, semicolons or tabs",
    extensions: &[],
    first_entry: "`seconds Mbps`",
    accepts: is_pair,
    has_columns: true,
    parse,
    write: Some(write),
};

/// Returns true for a line of two numbers.
pub(super) fn is_pair(line: &str) -> bool {
    let cells = Separator::of(line).split(line);
    cells.len() == 2 && cells.iter().all(|cell| cell.parse::<f64>().is_ok())
}

fn parse(input: &TraceText<'_>) -> Result<ParsedTrace, TraceError> {
    Rows { input, unit: Some(MBPS), hint: "each line is `seconds Mbps`, such as `12.0 20.3`" }.parse()
}

fn write(trace: &Trace) -> Result<String, Unwritable> {
    let mut text = "seconds,mbps\n".to_owned();
    for (start, rate) in rate_rows(trace)? {
        let _ = writeln!(text, "{},{}", decimals(start.as_nanos(), 9), decimals(rate.as_bps(), 6));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceReading;
    use units::{Bitrate, Duration};

    #[test]
    fn rate_holds_from_its_time_until_the_next_line() {
        let trace = Trace::parse("a.txt", "0.0 1\n0.5   3\n", None).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(1));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(2_000_000));
        let single = Trace::parse("a.txt", "7 2.5", None).unwrap();
        assert_eq!(
            (single.period(), single.mean_rate()),
            (Duration::from_secs(1), Bitrate::from_bps(2_500_000))
        );
        assert_eq!(write(&single).unwrap(), "seconds,mbps\n0,2.5\n");
    }

    #[test]
    fn separators_headers_epochs_and_columns_are_read() {
        let mean = |text: &str, column: Option<&str>| {
            let reading = TraceReading::of(&TraceText::new("a.csv", text).column(column), Some(&FORMAT));
            reading.unwrap_or_else(|error| panic!("{text}: {error}")).trace.mean_rate().as_bps()
        };
        for text in ["0,1\n1,3\n", "0;1\n1;3\n", "0\t1\n1\t3\n", "0 1\n1 3\n", "time,rate\n0,1\n1,3\n"] {
            assert_eq!(mean(text, None), 2_000_000, "{text}");
        }
        assert_eq!(mean("1518452042,1\n1518452043,3\n", None), 2_000_000);
        assert_eq!(mean("1518452042500,1\n1518452043000,3\n", None), 2_000_000);
        assert_eq!(mean("2018-02-12T16:14:02,1\n2018-02-12T16:14:03,3\n", None), 2_000_000);
        assert_eq!(mean("0,9,1\n1,9,3\n", Some("3")), 2_000_000);
        assert_eq!(mean("t,rssi,rate\n0,9,1\n1,9,3\n", Some("rate")), 2_000_000);
        let text = TraceText::new("a", "0,9,1\n").column(Some("4"));
        let error = TraceReading::of(&text, Some(&FORMAT)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a:1: expected a column from 2 to 3, as the file has no header, found column `4`"
        );
    }

    #[test]
    fn malformed_line_is_reported_with_its_number() {
        let error = |text| {
            let error = Trace::parse("a", text, Some(&FORMAT)).unwrap_err();
            assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
            error
        };
        assert_eq!(error("0 1\n1\n").line, Some(2));
        assert_eq!(error("0 1\n1 2 3\n").line, Some(2));
        assert_eq!(error("0 1\n1 inf\n").line, Some(2));
        assert_eq!(error("0 1\n1 -2\n").line, Some(2));
        assert_eq!(error("5 1\n4 2\n").line, Some(2));
        assert_eq!(error("1 2 3\n").line, Some(1));
        assert_eq!(error("0 1\n9999999999 1\n").line, Some(2));
        assert_eq!(error("0 0\n").line, None);
        assert_eq!(error("").line, None);
    }
}
