//! Lines `seconds Mbps`, separated by white space.

use super::lines::{RateLines, entries, is_numeric};
use crate::trace::{Trace, TraceError, TraceFormat};

/// A rate holds from its time until that of the next line; the last one as long as the one before
/// it. Time is counted from the first line. Empty lines and lines with `#` in front are skipped.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "seconds-mbps",
    summary: "lines `seconds Mbps`",
    extensions: &[],
    first_entry: "`seconds Mbps`",
    accepts: |line| is_numeric(line, 2),
    parse,
};

fn parse(file: &str, text: &str) -> Result<Trace, TraceError> {
    let lines = RateLines {
        file,
        hint: "each line is `seconds Mbps`, such as `12.0 20.3`",
        unit: "Mbps",
        mbps_per_unit: 1.0,
        split: |line| {
            let (time, amount) = line.split_once(char::is_whitespace)?;
            let amount = amount.trim();
            (!amount.contains(char::is_whitespace)).then_some((time, amount))
        },
    };
    lines.parse(entries(text))
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(error("0 0\n").line, None);
        assert_eq!(error("").line, None);
    }
}
