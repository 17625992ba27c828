//! The JSON of `iperf3 -J`.

use super::ParsedTrace;
use super::json::json_error;
use crate::trace::error::{empty_trace, zero_trace};
use crate::trace::{RateColumn, RatePiece, Trace, TraceError, TraceFormat, TraceText};
use serde::Deserialize;
use units::{Bitrate, Duration};

/// Intervals follow one another; those of the warm-up (`omitted`) are left out. `column` names
/// another sum than `sum`: `sum_bidir_reverse`, the other direction of `iperf3 --bidir`.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "iperf3",
    summary: "the JSON of `iperf3 -J`: `bits_per_second` of each interval",
    extensions: &["json"],
    first_entry: "JSON of iperf3",
    accepts: |line| line.starts_with('{'),
    has_columns: true,
    parse,
    write: None,
};

const HINT: &str = "the output of `iperf3 -J` has `intervals`, each with a `sum` of `start`, `end` and \
                    `bits_per_second`; a list in brackets is the format `json`";

#[derive(Deserialize)]
#[serde(expecting = "the object of `iperf3 -J` in braces")]
struct Report {
    intervals: Vec<Interval>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Deserialize)]
struct Interval {
    sum: Option<Sum>,
    sum_bidir_reverse: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    #[serde(default)]
    omitted: bool,
}

fn parse(input: &TraceText<'_>) -> Result<ParsedTrace, TraceError> {
    let file = input.file;
    let whole = |expected: &str, found: String| TraceError {
        file: file.to_owned(),
        line: None,
        column: None,
        expected: expected.to_owned(),
        found,
        hint: HINT.into(),
    };
    let report: Report =
        serde_json::from_str(input.text).map_err(|error| json_error(file, input.text, &error, HINT))?;
    let name = input.column.unwrap_or("sum");
    if !["sum", "sum_bidir_reverse"].contains(&name) {
        return Err(whole("the column `sum` or `sum_bidir_reverse`", format!("column `{name}`")));
    }
    let mut pieces = Vec::new();
    for (i, interval) in report.intervals.iter().enumerate() {
        let sum = if name == "sum" { &interval.sum } else { &interval.sum_bidir_reverse };
        let Some(sum) = sum else {
            return Err(whole(
                &format!("`{name}` in every interval"),
                format!("interval {} without it", i + 1),
            ));
        };
        if sum.omitted {
            continue;
        }
        let (length, bps) = (sum.end - sum.start, sum.bits_per_second);
        if !(1e-9..=1e8).contains(&length) || !(0.0..=1e12).contains(&bps) {
            let found = format!("interval {} with {length} s and {bps} bit/s", i + 1);
            return Err(whole("intervals longer than 0 s, with 0 to 1e12 bit/s", found));
        }
        pieces.push(RatePiece {
            duration: Duration::from_secs_f64(length),
            rate: Bitrate::from_bps((bps + 0.5) as u64),
            latency: Duration::ZERO,
        });
    }
    if pieces.is_empty() {
        return Err(match report.error {
            Some(error) => whole("intervals", format!("the error of iperf3: {error}")),
            None => empty_trace(file, HINT),
        });
    }
    let trace = Trace::from_rates(&pieces).ok_or_else(|| zero_trace(file))?;
    Ok(ParsedTrace { trace, column: Some(RateColumn { name: name.to_owned(), unit: "bit/s" }) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TraceReading;

    const REPORT: &str = r#"{"start": {"version": "iperf 3.9"}, "intervals": [
        {"streams": [], "sum": {"start": 0, "end": 1.0, "seconds": 1.0, "bytes": 1, "bits_per_second": 9e9, "omitted": true}},
        {"streams": [], "sum": {"start": 0, "end": 1.0, "bits_per_second": 2e6, "omitted": false},
         "sum_bidir_reverse": {"start": 0, "end": 1.0, "bits_per_second": 1e6, "omitted": false}},
        {"streams": [], "sum": {"start": 1.0, "end": 1.5, "bits_per_second": 5e6, "omitted": false},
         "sum_bidir_reverse": {"start": 1.0, "end": 1.5, "bits_per_second": 1e6, "omitted": false}}], "end": {}}"#;

    fn error(text: &str) -> TraceError {
        let error = Trace::parse("a.json", text, None).unwrap_err();
        assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
        error
    }

    #[test]
    fn intervals_follow_one_another_without_the_warm_up() {
        let reading = TraceReading::of(&TraceText::new("a.json", REPORT), None).unwrap();
        assert_eq!((reading.format, reading.trace.period()), ("iperf3", Duration::from_millis(1500)));
        assert_eq!(reading.trace.mean_rate(), Bitrate::from_bps(3_000_000));
        let text = REPORT.replacen("\"omitted\": true}}", "\"omitted\": true}, \"sum_bidir_reverse\": {\"start\": 0, \"end\": 1, \"bits_per_second\": 0, \"omitted\": true}}", 1);
        let reverse = TraceText::new("a", &text).column(Some("sum_bidir_reverse"));
        assert_eq!(TraceReading::of(&reverse, None).unwrap().trace.mean_rate(), Bitrate::from_bps(1_000_000));
    }

    #[test]
    fn other_documents_are_reported() {
        assert_eq!(error("{}").line, Some(1));
        assert!(error("{\"intervals\": []}").found.contains("empty"));
        let failed = error("{\"intervals\": [], \"error\": \"unable to connect\"}");
        assert_eq!(failed.found, "the error of iperf3: unable to connect");
        assert!(error("{\"intervals\": [{}]}").found.contains("interval 1"));
        let backwards = "{\"intervals\": [{\"sum\": {\"start\": 2, \"end\": 1, \"bits_per_second\": 1}}]}";
        assert!(error(backwards).found.contains("-1 s"));
        assert!(error("{\"intervals\": [").found.contains("end of the file"));
    }
}
