//! mahimahi's format: one opportunity to send 1500 bytes per line.

use super::lines::{entries, is_numeric};
use super::{ParsedTrace, Unwritable};
use crate::trace::error::{empty_trace, line_error, quoted};
use crate::trace::{Trace, TraceError, TraceFormat, TraceText};
use core::fmt::Write as _;

/// Each line is a whole number of milliseconds since the start, in increasing order. Several
/// packets may share an opportunity and one packet may need several; unused opportunities are
/// lost. The trace loops with the period of its last line. Empty lines and lines with `#` in front
/// are skipped.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "mahimahi",
    summary: "one line for each packet of 1500 bytes: its time in milliseconds since the start",
    extensions: &[],
    first_entry: "a number",
    accepts: |line| is_numeric(line, 1),
    has_columns: false,
    parse,
    write: Some(write),
};

const HINT: &str =
    "mahimahi traces have one number a line: the millisecond of an opportunity to send 1500 bytes";
const ORDER_HINT: &str =
    "the times of a mahimahi trace never go back; sort the file, or cut it where it starts anew";

fn parse(input: &TraceText<'_>) -> Result<ParsedTrace, TraceError> {
    let (file, text) = (input.file, input.text);
    let mut millis: Vec<u32> = Vec::new();
    let mut last_line = None;
    for (number, line) in entries(text) {
        let expected = "a whole number of milliseconds";
        let value: u32 = line.parse().map_err(|_| line_error(file, number, expected, quoted(line), HINT))?;
        if let Some(&before) = millis.last().filter(|&&before| value < before) {
            let expected = format!("{before} or later, as on the line above");
            return Err(line_error(file, number, &expected, quoted(line), ORDER_HINT));
        }
        millis.push(value);
        last_line = Some(number);
    }
    if millis.is_empty() {
        return Err(empty_trace(file, HINT));
    }
    Trace::from_opportunities(millis).map(ParsedTrace::from).ok_or_else(|| TraceError {
        file: file.to_owned(),
        line: last_line,
        column: None,
        expected: "a last time after 0".to_owned(),
        found: "`0`".to_owned(),
        hint: "the trace loops with the period of its last line, which cannot be no time at all".into(),
    })
}

/// The last opportunity moves to the end of the loop, so that the period stays.
fn write(trace: &Trace) -> Result<String, Unwritable> {
    let (millis, period) = trace.opportunities()?;
    let mut text = String::with_capacity(millis.len() * 8);
    for at in millis.iter().take(millis.len().saturating_sub(1)) {
        let _ = writeln!(text, "{at}");
    }
    let _ = writeln!(text, "{period}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bitrate, Duration};

    fn error(file: &str, text: &str, format: Option<&TraceFormat>) -> TraceError {
        let error = Trace::parse(file, text, format).unwrap_err();
        assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
        assert_eq!(error.file, file);
        error
    }

    #[test]
    fn each_line_carries_1500_bytes_and_the_last_line_is_the_period() {
        let trace = Trace::parse("a", "0\n1\n1\n4\n", None).unwrap();
        assert_eq!(trace.period(), Duration::from_millis(4));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(12_000_000));
        assert_eq!(write(&trace).unwrap(), "0\n1\n1\n4\n");
    }

    #[test]
    fn malformed_line_is_reported_with_its_number() {
        let malformed = error("dir/a.down", "1\n2\nx3\n", Some(&FORMAT));
        assert_eq!((malformed.line, malformed.found.as_str()), (Some(3), "`x3`"));
        let text = "dir/a.down:3: expected a whole number of milliseconds, found `x3`";
        assert_eq!(malformed.to_string(), text);
        assert_eq!(error("a", "1.5\n", Some(&FORMAT)).line, Some(1));
        assert_eq!(error("a", "-1\n", Some(&FORMAT)).line, Some(1));
        assert_eq!(error("a", "99999999999\n", Some(&FORMAT)).line, Some(1));
        let unsorted = error("a", "# start\n5\n\n4\n", None);
        assert_eq!(unsorted.line, Some(4));
        assert!(unsorted.expected.contains('5'));
        assert_eq!(error("a", "0\n0\n", None).line, Some(2));
        assert_eq!(error("a", "\n\n", Some(&FORMAT)).line, None);
    }
}
