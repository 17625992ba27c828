//! Trace formats: one format per file. To add one, write its file and append it to
//! [`TraceFormat::REGISTRY`].
//!
//! Names and summaries in scenario files, in the JSON Schema, in the generated documentation and
//! in hints are read from the registry.

mod columns;
mod csv;
mod iperf3;
mod json;
mod lines;
mod mahimahi;
mod second_bytes;
mod seconds_mbps;

use super::error::{empty_trace, quoted};
use super::{RateColumn, RatePiece, Trace, TraceError, TraceKind, TraceText};
use core::fmt;
use core::str::FromStr;
use lines::entries;
use units::{Bitrate, Duration};

/// A format of trace files: its name, how it is detected and how it is parsed.
///
/// A crate outside this one declares a `static` of this type and passes it to [`Trace::parse`].
/// Its parser builds the trace by [`Trace::from_opportunities`] or [`Trace::from_rates`]. Formats
/// are equal if their names are.
#[derive(Debug, Clone, Copy)]
pub struct TraceFormat {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line of documentation, which starts with a lower-case letter.
    pub summary: &'static str,
    /// File extensions, in lower case and without the dot, that identify the format; of several
    /// formats with the extension, the first entry decides.
    pub extensions: &'static [&'static str],
    /// Form of the first entry, for the error about a file of unknown format.
    pub first_entry: &'static str,
    /// Returns true if a line may be the first entry. If several registered formats accept a line,
    /// the format must be named.
    pub accepts: fn(line: &str) -> bool,
    /// Whether a column can be chosen.
    pub has_columns: bool,
    /// Parses a text without byte order mark.
    pub parse: fn(text: &TraceText<'_>) -> Result<ParsedTrace, TraceError>,
    /// Writes a trace; `None` for a format that is only read. A trace that is read again has the
    /// same length and capacity, within the resolution of the format.
    pub write: Option<TraceWriter>,
}

/// Writer of a format.
pub type TraceWriter = fn(trace: &Trace) -> Result<String, Unwritable>;

/// Result of a parser.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedTrace {
    /// The trace.
    pub trace: Trace,
    /// Column of the rate, in a format with columns.
    pub column: Option<RateColumn>,
}

impl From<Trace> for ParsedTrace {
    fn from(trace: Trace) -> Self {
        Self { trace, column: None }
    }
}

/// Reason why a trace cannot be written in a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    /// More than 20 million entries.
    #[error("the trace would have more than 20 million lines")]
    TooLong,
    /// Less than one opportunity.
    #[error("the trace carries less than one packet of 1500 bytes")]
    TooSlow,
}

impl TraceFormat {
    /// The registered formats, in the order in which documentation lists them.
    pub const REGISTRY: &[Self] = &[
        mahimahi::FORMAT,
        second_bytes::FORMAT,
        seconds_mbps::FORMAT,
        csv::FORMAT,
        json::FORMAT,
        iperf3::FORMAT,
    ];

    /// Returns the registered format with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::REGISTRY.iter().find(|format| format.name == name)
    }

    /// Detects the format by the file extension and the first entry.
    pub(super) fn detect(input: &TraceText<'_>) -> Result<&'static Self, TraceError> {
        let file = input.file;
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        let by_extension = |format: &&Self| format.extensions.contains(&extension.as_str());
        let with_extension = Self::REGISTRY.iter().find(by_extension);
        let Some((number, line)) = entries(input.text).next() else {
            return with_extension.ok_or_else(|| empty_trace(file, &formats_hint()));
        };
        let fitting: Vec<&Self> = Self::REGISTRY.iter().filter(|format| (format.accepts)(line)).collect();
        let error = |expected: String, found: String, hint: String| TraceError {
            file: file.to_owned(),
            line: Some(number),
            column: None,
            expected,
            found,
            hint: hint.into(),
        };
        match (fitting.as_slice(), with_extension) {
            ([one], None) => Ok(one),
            (several, Some(format)) => Ok(several.iter().copied().find(by_extension).unwrap_or(format)),
            ([], None) => Err(error(
                joined(Self::REGISTRY.iter().map(|format| format.first_entry), "or"),
                quoted(line),
                format!("name the format: {}", registered_names("or")),
            )),
            (several, None) => {
                let readings: Vec<String> = several.iter().map(|format| format.reading(input)).collect();
                Err(error(
                    "a header that names the unit, or a named format".to_owned(),
                    format!("{}, which fits {}", quoted(line), readings.join(" and ")),
                    format!(
                        "choose one: `trace = {{ file = \"{file}\", format = \"{}\" }}` in a scenario, `--as` with \
                         `tandem trace`; or add a header such as `second,bytes_per_second` or `second,mbps`",
                        several[0].name
                    ),
                ))
            }
        }
    }

    /// Describes the trace in this format, for an error about several readings.
    fn reading(&self, input: &TraceText<'_>) -> String {
        match (self.parse)(&TraceText { column: None, ..*input }) {
            Ok(parsed) => format!("{} (mean {})", self.name, shown(parsed.trace.mean_rate())),
            Err(error) if error.expected.contains("from 0 to") => format!("{} (above 1 Tbit/s)", self.name),
            Err(_) => self.name.to_owned(),
        }
    }
}

/// A rate with three digits or more, for a sentence.
fn shown(rate: Bitrate) -> String {
    match rate.as_bps() {
        bps @ 0..1000 => format!("{bps} bit/s"),
        bps @ 1000..1_000_000 => format!("{:.1} kbit/s", bps as f64 / 1e3),
        bps => format!("{:.1} Mbit/s", bps as f64 / 1e6),
    }
}

fn formats_hint() -> String {
    format!("a trace is in one of the formats {}", registered_names("and"))
}

fn registered_names(conjunction: &str) -> String {
    joined(TraceFormat::REGISTRY.iter().map(|format| format.name), conjunction)
}

/// Joins words by commas, and the last two by a conjunction: `a, b or c`.
fn joined(words: impl Iterator<Item = &'static str>, conjunction: &str) -> String {
    let words: Vec<&str> = words.collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} {conjunction} {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// Step of the rates of a trace of opportunities, where a format has rates.
const STEP: Duration = Duration::from_millis(100);

/// The rates of a trace for a format of rates.
fn rates_of(trace: &Trace) -> Result<Vec<RatePiece>, Unwritable> {
    match &trace.kind {
        TraceKind::Rates(_) => Ok(trace.pieces()),
        TraceKind::Opportunities { .. } => Ok(trace.resampled(STEP).ok_or(Unwritable::TooLong)?.pieces()),
    }
}

/// Start and rate of each row of a format in which a rate holds until the next row, and the last one
/// as long as the one before it.
fn rate_rows(trace: &Trace) -> Result<Vec<(Duration, Bitrate)>, Unwritable> {
    let mut pieces = rates_of(trace)?;
    let lengths = |at: usize| pieces.get(at).map(|piece| piece.duration.as_nanos());
    let last = pieces.len().saturating_sub(1);
    let before = if last == 0 { Some(1_000_000_000) } else { lengths(last - 1) };
    if let Some(piece) = pieces.pop() {
        let nanos = piece.duration.as_nanos();
        let half = nanos / 2;
        if Some(nanos) == before {
            pieces.push(piece);
        } else if half == 0 {
            // A nanosecond is below the resolution, unless it is all there is.
            pieces.extend(pieces.is_empty().then_some(piece));
        } else {
            // Two halves, so that the last row is as long as the one before it.
            pieces.push(RatePiece { duration: Duration::from_nanos(nanos - half), ..piece });
            pieces.push(RatePiece { duration: Duration::from_nanos(half), ..piece });
        }
    }
    let mut start = Duration::ZERO;
    let row = |piece: &RatePiece| {
        let row = (start, piece.rate);
        start += piece.duration;
        row
    };
    Ok(pieces.iter().map(row).collect())
}

/// A whole number of units of 10^-`places`, as a decimal number without trailing zeros.
fn decimals(number: u64, places: u32) -> String {
    let scale = 10_u64.pow(places);
    let (whole, fraction) = (number / scale, number % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{fraction:0width$}", width = places as usize);
    text.trim_end_matches('0').to_owned()
}

impl PartialEq for TraceFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for TraceFormat {}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for &'static TraceFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        TraceFormat::named(name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// No [`TraceFormat`] has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a trace format; there are {names}", names = registered_names("and"))]
pub struct UnknownFormat(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_extension_and_first_line() {
        let detected =
            |file, text| TraceFormat::detect(&TraceText::new(file, text)).map(|format| format.name);
        assert_eq!(detected("a.json", "oops"), Ok("json"));
        assert_eq!(detected("a.json", "{"), Ok("iperf3"));
        assert_eq!(detected("a.CSV", "second,bytes\n"), Ok("csv"));
        assert_eq!(detected("a.down", "\n# c\n12\n"), Ok("mahimahi"));
        assert_eq!(detected("a", "1.5\t2"), Ok("seconds-mbps"));
        assert_eq!(detected("a.csv", "1.5;2"), Ok("seconds-mbps"));
        assert_eq!(detected("a", "timestamp throughput_kbps"), Ok("csv"));
        assert_eq!(detected("a", " [{"), Ok("json"));
        assert_eq!(detected("a", "[1,2]"), Ok("json"));
        assert_eq!(detected("a", "\n").unwrap_err().line, None);
    }

    #[test]
    fn error_for_an_unknown_format_lists_the_registered_ones() {
        for text in ["hello", "1 2 3", "hello world"] {
            let error = TraceFormat::detect(&TraceText::new("a", text)).unwrap_err();
            assert_eq!(error.line, Some(1));
            let entries = "a number, `second,bytes_per_second`, `seconds Mbps`, a header, a JSON list or JSON of iperf3";
            assert_eq!(error.expected, entries);
            let names = "mahimahi, second-bytes, seconds-mbps, csv, json or iperf3";
            assert_eq!(*error.hint, *format!("name the format: {names}"));
        }
        let unknown = "pcap".parse::<&TraceFormat>().unwrap_err().to_string();
        let formats = "there are mahimahi, second-bytes, seconds-mbps, csv, json and iperf3";
        assert_eq!(unknown, format!("`pcap` is not a trace format; {formats}"));
    }

    #[test]
    fn line_that_fits_two_formats_is_an_error_that_names_both() {
        let error = |text| TraceFormat::detect(&TraceText::new("x.csv", text)).unwrap_err();
        let bytes = error("1,2532630\n2,2471310\n");
        assert_eq!(
            bytes.found,
            "`1,2532630`, which fits second-bytes (mean 20.0 Mbit/s) and seconds-mbps (above 1 Tbit/s)"
        );
        assert_eq!(
            &*bytes.hint,
            "choose one: `trace = { file = \"x.csv\", format = \"second-bytes\" }` in a scenario, `--as` with \
             `tandem trace`; or add a header such as `second,bytes_per_second` or `second,mbps`"
        );
        let mbps = error("0,24.5\n1,25.5\n");
        assert!(mbps.found.ends_with("second-bytes (mean 200 bit/s) and seconds-mbps (mean 25.0 Mbit/s)"));
    }

    #[test]
    fn only_pairs_with_a_comma_fit_two_formats() {
        for line in
            ["1", "1.5", "1 2", "1\t2", "1;2", "[", "[1, 2", "{\"a\": 1, \"b\": 2}", "t,mbps", "x", ""]
        {
            let accepting = TraceFormat::REGISTRY.iter().filter(|format| (format.accepts)(line)).count();
            assert!(accepting <= 1, "{line}: {accepting} formats");
        }
    }

    #[test]
    fn decimals_are_exact() {
        assert_eq!(decimals(1_500_000, 6), "1.5");
        assert_eq!(decimals(2_000_000, 6), "2");
        assert_eq!(decimals(1, 9), "0.000000001");
    }
}
