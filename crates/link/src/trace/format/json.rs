//! A JSON list of segments.

use super::{ParsedTrace, Unwritable, decimals, rates_of};
use crate::trace::error::{empty_trace, quoted, zero_trace};
use crate::trace::{RatePiece, Trace, TraceError, TraceFormat, TraceText};
use core::fmt::Write as _;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use units::{Bitrate, Duration};

/// Segments follow one another. `latency_ms`, 0 by default, is added to the one-way delay of the
/// link for packets whose transmission ends during the segment.
pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "json",
    summary: "a list of `duration_ms`, `bandwidth_kbps` and, where known, `latency_ms`",
    extensions: &["json"],
    first_entry: "a JSON list",
    accepts: |line| line.starts_with('['),
    has_columns: false,
    parse,
    write: Some(write),
};

const HINT: &str =
    "a list of segments such as {\"duration_ms\": 1000, \"bandwidth_kbps\": 4500, \"latency_ms\": 20}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a segment in braces")]
struct Segment {
    #[serde(deserialize_with = "duration")]
    duration_ms: f64,
    #[serde(deserialize_with = "bandwidth")]
    bandwidth_kbps: f64,
    #[serde(default, deserialize_with = "latency")]
    latency_ms: f64,
}

fn parse(input: &TraceText<'_>) -> Result<ParsedTrace, TraceError> {
    let (file, text) = (input.file, input.text);
    if text.trim().is_empty() {
        return Err(empty_trace(file, HINT));
    }
    let segments: Vec<Segment> =
        serde_json::from_str(text).map_err(|error| json_error(file, text, &error, HINT))?;
    if segments.is_empty() {
        return Err(empty_trace(file, HINT));
    }
    let pieces: Vec<RatePiece> = segments
        .iter()
        .map(|segment| RatePiece {
            duration: Duration::from_secs_f64(segment.duration_ms * 1e-3),
            rate: Bitrate::from_mbps(segment.bandwidth_kbps * 1e-3),
            latency: Duration::from_secs_f64(segment.latency_ms * 1e-3),
        })
        .collect();
    Trace::from_rates(&pieces).map(ParsedTrace::from).ok_or_else(|| zero_trace(file))
}

fn write(trace: &Trace) -> Result<String, Unwritable> {
    let mut text = "[\n".to_owned();
    let pieces = rates_of(trace)?;
    for (i, piece) in pieces.iter().enumerate() {
        let _ = write!(
            text,
            "  {{\"duration_ms\": {}, \"bandwidth_kbps\": {}",
            decimals(piece.duration.as_nanos(), 6),
            decimals(piece.rate.as_bps(), 3)
        );
        if !piece.latency.is_zero() {
            let _ = write!(text, ", \"latency_ms\": {}", decimals(piece.latency.as_nanos(), 6));
        }
        text.push_str(if i + 1 < pieces.len() { "},\n" } else { "}\n" });
    }
    text.push_str("]\n");
    Ok(text)
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    // From the resolution of simulated time, one nanosecond, to about three years.
    number(from, 1e-6, 1e11, "a duration_ms above 0")
}

fn bandwidth<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, 0.0, 1e9, "a bandwidth_kbps from 0 to 1e9")
}

fn latency<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    number(from, 0.0, 1e9, "a latency_ms from 0 to 1e9")
}

fn number<'de, D: Deserializer<'de>>(from: D, min: f64, max: f64, expected: &str) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if (min..=max).contains(&value) {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("invalid value: `{value}`, expected {expected}")))
    }
}

/// Returns the error about a JSON document.
pub(super) fn json_error(file: &str, text: &str, error: &serde_json::Error, hint: &str) -> TraceError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let (found, expected) = rephrased(message).unwrap_or_else(|| {
        let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default().trim();
        (quoted(line), message.strip_prefix("expected ").unwrap_or("valid JSON").to_owned())
    });
    TraceError {
        file: file.to_owned(),
        line: Some(error.line().max(1)),
        column: Some(error.column().max(1)),
        expected,
        found,
        hint: hint.into(),
    }
}

/// Splits a message of `serde_json` into found and expected; `None` if the text of the line
/// explains the error better.
fn rephrased(message: &str) -> Option<(String, String)> {
    if let Some(field) = message.strip_prefix("missing field ") {
        return Some((format!("a segment without {field}"), format!("{field} in every segment")));
    }
    if message.starts_with("EOF") {
        return Some(("the end of the file".to_owned(), "the rest of the list".to_owned()));
    }
    if message == "trailing characters" {
        return Some(("more text".to_owned(), "nothing after the list".to_owned()));
    }
    if message.starts_with("duplicate field") {
        return Some((message.to_owned(), "each field once".to_owned()));
    }
    let (found, expected) = message.rsplit_once(", expected ")?;
    let found =
        found.strip_prefix("invalid type: ").or(found.strip_prefix("invalid value: ")).unwrap_or(found);
    let expected = match expected {
        "f64" => "a number",
        "a sequence" => "a list in brackets",
        other => other,
    };
    Some((found.to_owned(), expected.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> TraceError {
        let error = Trace::parse("a.json", text, Some(&FORMAT)).unwrap_err();
        assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
        error
    }

    #[test]
    fn segments_follow_one_another() {
        let text = r#"[{"duration_ms": 500, "bandwidth_kbps": 1000, "latency_ms": 20},
                       {"duration_ms": 1500, "bandwidth_kbps": 3000}]"#;
        let trace = Trace::parse("a", text, None).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(2));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(2_500_000));
        let written = write(&trace).unwrap();
        assert!(
            written.starts_with("[\n  {\"duration_ms\": 500, \"bandwidth_kbps\": 1000, \"latency_ms\": 20},")
        );
        assert_eq!(Trace::parse("a", &written, None).as_ref(), Ok(&trace));
    }

    #[test]
    fn malformed_segment_is_reported_with_its_line() {
        let good = r#"{"duration_ms": 500, "bandwidth_kbps": 1000}"#;
        let second = |segment: &str| error(&format!("[{good},\n{segment}]"));
        assert_eq!(second(r#"{"duration_ms": 500}"#).line, Some(2));
        assert_eq!(second(r#"{"duration_ms": 0, "bandwidth_kbps": 1}"#).line, Some(2));
        assert_eq!(second(r#"{"duration_ms": 1, "bandwidth_kbps": -1}"#).line, Some(2));
        assert_eq!(second(r#"{"duration_ms": "1s", "bandwidth_kbps": 1}"#).line, Some(2));
        let typo = second(r#"{"duration_ms": 1, "bandwith_kbps": 1}"#);
        assert_eq!(typo.line, Some(2));
        assert!(typo.found.contains("bandwith_kbps") && typo.expected.contains("bandwidth_kbps"));
        assert_eq!(
            typo.to_string(),
            "a.json:2:34: expected one of `duration_ms`, `bandwidth_kbps`, `latency_ms`, \
             found unknown field `bandwith_kbps`"
        );
        let missing = second(r#"{"duration_ms": 500}"#);
        assert_eq!(missing.expected, "`bandwidth_kbps` in every segment");
        assert_eq!(error(&format!("[{good},\n{good}")).found, "the end of the file");
        assert_eq!(error(&format!("[{good}]\n{good}")).line, Some(2));
        assert_eq!(second("7").expected, "a segment in braces");
        assert_eq!(error("{}").line, Some(1));
        assert_eq!(error("[]").line, None);
        assert_eq!(error("").line, None);
        assert!(error(r#"[{"duration_ms": 1, "bandwidth_kbps": 0}]"#).found.contains("zero throughout"));
    }
}
