//! Lines `second,bytes_per_second`.

use super::lines::{RateLines, entries};
use crate::trace::{Trace, TraceError, TraceFormat};

/// A rate holds from its second until that of the next line; the last one as long as the one
/// before it. Time is counted from the first line. A first line that starts with a letter is a
/// header. Empty lines and lines with `#` in front are skipped.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "second-bytes",
    summary: "lines `second,bytes_per_second`",
    extensions: &["csv"],
    first_entry: "`second,bytes_per_second`",
    accepts: |line| line.contains(',') && !line.starts_with(['[', '{']),
    parse,
};

fn parse(file: &str, text: &str) -> Result<Trace, TraceError> {
    let lines = RateLines {
        file,
        hint: "each line is `second,bytes_per_second`, such as `12,2532630`",
        unit: "bytes per second",
        mbps_per_unit: 8e-6,
        split: |line| {
            let (time, amount) = line.split_once(',')?;
            (!amount.contains(',')).then(|| (time.trim(), amount.trim()))
        },
    };
    let is_header = |line: &str| line.starts_with(|c: char| c.is_ascii_alphabetic());
    let skip = usize::from(entries(text).next().is_some_and(|(_, line)| is_header(line)));
    lines.parse(entries(text).skip(skip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bitrate, Duration};

    #[test]
    fn rate_holds_from_its_second_until_the_next_line() {
        let trace = Trace::parse("a.csv", "second,bytes\n1,1000\n2,0\n4,5000", None).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(5));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(8 * (1000 + 2 * 5000) / 5));
    }

    #[test]
    fn malformed_line_is_reported_with_its_number() {
        let error = |text| {
            let error = Trace::parse("a.csv", text, None).unwrap_err();
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
