//! The JSON list of segments.

use super::error::quoted;
use super::lines::{empty, stalls};
use super::{RatePiece, Trace, TraceError};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use units::{Bitrate, Duration};

const HINT: &str =
    "a list of segments such as {\"duration_ms\": 1000, \"bandwidth_kbps\": 4500, \"latency_ms\": 20}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Segment {
    #[serde(deserialize_with = "positive")]
    duration_ms: f64,
    #[serde(deserialize_with = "not_negative")]
    bandwidth_kbps: f64,
    #[serde(default, deserialize_with = "not_negative")]
    latency_ms: f64,
}

pub(super) fn segments(name: &str, text: &str) -> Result<Trace, TraceError> {
    if text.trim().is_empty() {
        return Err(empty(name, HINT));
    }
    let segments: Vec<Segment> = serde_json::from_str(text).map_err(|error| wrong(name, text, &error))?;
    if segments.is_empty() {
        return Err(empty(name, HINT));
    }
    let pieces: Vec<RatePiece> = segments
        .iter()
        .map(|segment| RatePiece {
            duration: Duration::from_secs_f64(segment.duration_ms * 1e-3),
            rate: Bitrate::from_mbps(segment.bandwidth_kbps * 1e-3),
            latency: Duration::from_secs_f64(segment.latency_ms * 1e-3),
        })
        .collect();
    Trace::from_rates(&pieces).ok_or_else(|| stalls(name))
}

/// 0 < ms <= three years.
fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if value > 0.0 && value <= 1e11 {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("invalid value: `{value}`, expected a time above 0")))
    }
}

/// 0 <= kbps or ms, up to what is taken for a mistake.
fn not_negative<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if (0.0..=1e9).contains(&value) {
        Ok(value)
    } else {
        Err(D::Error::custom(format!("invalid value: `{value}`, expected 0 to 1e9")))
    }
}

/// The reader's message is "what is wrong, expected what would be right at line 1 column 2".
fn wrong(name: &str, text: &str, error: &serde_json::Error) -> TraceError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let (found, expected) = match message.rsplit_once(", expected ") {
        Some((found, expected)) => (found.to_owned(), expected.to_owned()),
        None => match message.strip_prefix("expected ") {
            Some(expected) => {
                let there = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default().trim();
                (quoted(there), expected.to_owned())
            }
            None => (message.to_owned(), "a JSON list of segments".to_owned()),
        },
    };
    TraceError {
        file: name.to_owned(),
        line: Some(error.line().max(1)),
        column: Some(error.column().max(1)),
        expected,
        found,
        hint: HINT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceFormat;

    fn error(text: &str) -> TraceError {
        let error = Trace::parse("a.json", text, Some(TraceFormat::JsonSegments)).unwrap_err();
        assert!(!error.hint.is_empty() && !error.expected.is_empty() && !error.found.is_empty());
        error
    }

    #[test]
    fn segments_follow_each_other() {
        let text = r#"[{"duration_ms": 500, "bandwidth_kbps": 1000, "latency_ms": 20},
                       {"duration_ms": 1500, "bandwidth_kbps": 3000}]"#;
        let trace = Trace::parse("a", text, None).unwrap();
        assert_eq!(trace.period(), Duration::from_secs(2));
        assert_eq!(trace.mean_rate(), Bitrate::from_bps(2_500_000));
    }

    #[test]
    fn a_malformed_segment_is_named_by_its_line() {
        let good = r#"{"duration_ms": 500, "bandwidth_kbps": 1000}"#;
        let second = |segment: &str| error(&format!("[{good},\n{segment}]"));
        assert_eq!(second(r#"{"duration_ms": 500}"#).line, Some(2));
        assert_eq!(second(r#"{"duration_ms": 0, "bandwidth_kbps": 1}"#).line, Some(2));
        assert_eq!(second(r#"{"duration_ms": 1, "bandwidth_kbps": -1}"#).line, Some(2));
        assert_eq!(second(r#"{"duration_ms": "1s", "bandwidth_kbps": 1}"#).line, Some(2));
        let typo = second(r#"{"duration_ms": 1, "bandwith_kbps": 1}"#);
        assert_eq!(typo.line, Some(2));
        assert!(typo.found.contains("bandwith_kbps") && typo.expected.contains("bandwidth_kbps"));
        assert_eq!(error(&format!("[{good},\n{good}")).line, Some(2));
        assert_eq!(error("{}").line, Some(1));
        assert_eq!(error("[]").line, None);
        assert_eq!(error("").line, None);
        assert!(error(r#"[{"duration_ms": 1, "bandwidth_kbps": 0}]"#).found.contains("zero throughout"));
    }
}
