//! Lines `second,bytes_per_second`.

use super::columns::{BYTES_PER_SECOND, Rows, Separator};
use super::{ParsedTrace, Unwritable, decimals, rate_rows};
use crate::trace::{Trace, TraceError, TraceFormat, TraceText};
use core::fmt::Write as _;

/// A rate holds from its second until that of the next line; the last one as long as the one
/// before it. Time is counted from the first line. A first line that starts with a letter is a
/// header. Empty lines and lines with `#` in front are skipped.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "second-bytes",
    summary: "lines `second,bytes_per_second`",
    extensions: &[],
    first_entry: "`second,bytes_per_second`",
    accepts: |line| Separator::of(line) == Separator::Comma && super::seconds_mbps::is_pair(line),
    has_columns: true,
    parse,
    write: Some(write),
};

fn parse(input: &TraceText<'_>) -> Result<ParsedTrace, TraceError> {
    let hint = "each line is `second,bytes_per_second`, such as `12,2532630`";
    Rows { input, unit: Some(BYTES_PER_SECOND), hint }.parse()
}

/// Bits per second become bytes per second with three decimals, without a loss.
fn write(trace: &Trace) -> Result<String, Unwritable> {
    let mut text = "second,bytes_per_second\n".to_owned();
    for (start, rate) in rate_rows(trace)? {
        let _ = writeln!(
            text,
            "{},{}",
            decimals(start.as_nanos(), 9),
            decimals(rate.as_bps().saturating_mul(125), 3)
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bitrate, Duration};

    fn read(text: &str) -> Result<Trace, TraceError> {
        Trace::parse("a.csv", text, Some(&FORMAT))
    }

    #[test]
    fn rate_holds_from_its_second_until_the_next_line() {
        let trace = read("second,bytes\n1,1000\n2,0\n4,5000").unwrap();
        assert_eq!(trace.period(), Duration::from_secs(5));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(8 * (1000 + 2 * 5000) / 5));
        assert_eq!(write(&trace).unwrap(), "second,bytes_per_second\n0,1000\n1,0\n3,5000\n");
    }

    #[test]
    fn malformed_line_is_reported_with_its_number() {
        let error = |text| {
            let error = read(text).unwrap_err();
            assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
            error
        };
        assert_eq!(error("1,10\n2\n").line, Some(2));
        assert_eq!(error("1,10\n2,3,4\n").line, Some(2));
        assert_eq!(error("1,10\n2,many\n").line, Some(2));
        assert_eq!(error("1,-10\n").line, Some(1));
        assert_eq!(error("1,NaN\n").line, Some(1));
        assert_eq!(error("1,1e30\n").line, Some(1));
        assert_eq!(error("1,10\n1,10\n").line, Some(2));
        assert!(error("1,0\n2,0\n").found.contains("zero throughout"));
        assert!(error("second,bytes\n").found.contains("empty"));
    }
}
