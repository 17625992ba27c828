//! Manifest of a video: its segments and their sizes at each bitrate.

use core::fmt;
use serde::Deserialize;
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration};

/// A video in segments, each encoded at several bitrates.
///
/// A level is an index into the bitrates, from 0, the lowest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Duration of the longest segment.
    segment: Duration,
    /// Duration of each segment; empty if all are equal.
    lengths: Arc<[Duration]>,
    bitrates: Vec<Bitrate>,
    /// One row per segment, with one bitrate per level; empty if all segments have `bitrates`.
    segment_bitrates: Arc<[Vec<Bitrate>]>,
    /// One row per segment, with one size per level. Shared by clones: each of many players has one.
    sizes: Arc<[Vec<Bytes>]>,
}

/// Error of reading a manifest. Prints as `file:line:column: message`, without an unknown position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    /// Name of the file, as given by the caller.
    pub file: String,
    /// Line and column, from 1, of a syntax error.
    pub place: Option<(usize, usize)>,
    /// The error and the expected value.
    pub message: String,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl core::error::Error for ManifestError {}

/// The JSON format of ABR simulators such as Sabre.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a manifest in braces")]
struct Document {
    segment_duration_ms: f64,
    bitrates_kbps: Vec<f64>,
    segment_sizes_bits: Vec<Vec<f64>>,
}

/// Maximum segment duration in milliseconds: one hour.
const MAX_SEGMENT_MS: f64 = 3.6e6;
/// Maximum bitrate in kbit/s: 1 Tbit/s.
const MAX_BITRATE_KBPS: f64 = 1e9;
/// Maximum segment size in bits.
const MAX_SEGMENT_BITS: f64 = 1e15;

impl Manifest {
    /// A manifest of segments of equal duration, with the bitrates from the lowest to the highest
    /// and one row of sizes per segment.
    ///
    /// # Errors
    /// A sentence that names the first invalid value; it counts segments and levels from 0.
    pub fn new(segment: Duration, bitrates: Vec<Bitrate>, sizes: Vec<Vec<Bytes>>) -> Result<Self, String> {
        if segment.is_zero() {
            return Err("expected segments of some length, found 0 ms".into());
        }
        if bitrates.is_empty() {
            return Err("expected at least one bitrate, found none".into());
        }
        if bitrates[0] == Bitrate::ZERO {
            return Err("expected bitrates above 0, found 0".into());
        }
        for pair in bitrates.windows(2) {
            if pair[0] >= pair[1] {
                return Err(format!(
                    "expected bitrates from the lowest to the highest, found {} before {}",
                    pair[0], pair[1]
                ));
            }
        }
        if sizes.is_empty() {
            return Err("expected at least one segment, found none".into());
        }
        for (index, row) in sizes.iter().enumerate() {
            if row.len() != bitrates.len() {
                return Err(format!(
                    "segment {index}: expected {} sizes, one for each bitrate, found {}",
                    bitrates.len(),
                    row.len()
                ));
            }
            if let Some(level) = row.iter().position(|size| *size == Bytes::ZERO) {
                return Err(format!("segment {index}, level {level}: expected a size above 0, found 0"));
            }
        }
        Ok(Self {
            segment,
            lengths: Arc::default(),
            bitrates,
            segment_bitrates: Arc::default(),
            sizes: sizes.into(),
        })
    }

    /// A manifest of segments with these durations, one per row of sizes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn uneven(
        lengths: Vec<Duration>,
        bitrates: Vec<Bitrate>,
        sizes: Vec<Vec<Bytes>>,
    ) -> Result<Self, String> {
        if lengths.len() != sizes.len() {
            return Err(format!(
                "expected a length for each of {} segments, found {}",
                sizes.len(),
                lengths.len()
            ));
        }
        if let Some(index) = lengths.iter().position(|length| length.is_zero()) {
            return Err(format!("segment {index}: expected some length, found 0 ms"));
        }
        let longest = lengths.iter().copied().max().unwrap_or(Duration::ZERO);
        Ok(Self { lengths: lengths.into(), ..Self::new(longest, bitrates, sizes)? })
    }

    /// The video with bitrates of each segment, one row per segment with one bitrate per level. Rules
    /// still compare levels by [`bitrates`](Self::bitrates).
    ///
    /// # Errors
    /// If a row or a bitrate is missing.
    pub fn with_segment_bitrates(self, rows: Vec<Vec<Bitrate>>) -> Result<Self, String> {
        if rows.len() != self.segments() || rows.iter().any(|row| row.len() != self.bitrates.len()) {
            return Err("expected a bitrate for each segment and level".into());
        }
        Ok(Self { segment_bitrates: rows.into(), ..self })
    }

    /// The video with a single level, limited to the highest; it becomes level 0.
    pub fn single_level(&self, level: usize) -> Self {
        let level = level.min(self.highest());
        Self {
            segment: self.segment,
            lengths: Arc::clone(&self.lengths),
            bitrates: vec![self.bitrates[level]],
            segment_bitrates: self.segment_bitrates.iter().map(|row| vec![row[level]]).collect(),
            sizes: self.sizes.iter().map(|row| vec![row[level]]).collect(),
        }
    }

    /// Reads a JSON document such as `{"segment_duration_ms": 3000, "bitrates_kbps": [1000, 2500],
    /// "segment_sizes_bits": [[2785344, 6937312]]}`, with one row of sizes per segment. Sizes are
    /// rounded up to whole bytes. Errors name the file `name`.
    ///
    /// # Errors
    /// The first syntax error or invalid value.
    pub fn from_json(name: &str, text: &str) -> Result<Self, ManifestError> {
        let wrong = |message| ManifestError { file: name.to_owned(), place: None, message };
        let document: Document = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            ManifestError {
                place: Some((error.line().max(1), error.column().max(1))),
                ..wrong(message.to_owned())
            }
        })?;
        let within = |what: &str, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                Ok(value)
            } else {
                Err(wrong(format!("{what}: expected {least} to {most}, found {value}")))
            }
        };
        let ms = within("segment_duration_ms", document.segment_duration_ms, 1.0, MAX_SEGMENT_MS)?;
        let bitrates: Vec<Bitrate> = document
            .bitrates_kbps
            .iter()
            .map(|&kbps| {
                within("bitrates_kbps", kbps, 0.001, MAX_BITRATE_KBPS)
                    .map(|kbps| Bitrate::from_mbps(kbps * 1e-3))
            })
            .collect::<Result<_, _>>()?;
        let sizes: Vec<Vec<Bytes>> = document
            .segment_sizes_bits
            .iter()
            .map(|row| {
                row.iter()
                    .map(|&bits| {
                        within("segment_sizes_bits", bits, 1.0, MAX_SEGMENT_BITS)
                            .map(|bits| Bytes::new((bits as u64).div_ceil(8)))
                    })
                    .collect()
            })
            .collect::<Result<_, _>>()?;
        Self::new(Duration::from_secs_f64(ms * 1e-3), bitrates, sizes).map_err(wrong)
    }

    /// Duration of a segment; of the longest if they differ.
    pub fn segment_duration(&self) -> Duration {
        self.segment
    }
    /// Duration of this segment.
    pub fn length(&self, segment: usize) -> Duration {
        self.lengths.get(segment).copied().unwrap_or(self.segment)
    }
    /// The bitrates from the lowest to the highest; never empty.
    pub fn bitrates(&self) -> &[Bitrate] {
        &self.bitrates
    }
    /// Bitrate of a level, limited to the highest.
    pub fn bitrate(&self, level: usize) -> Bitrate {
        self.bitrates[level.min(self.highest())]
    }
    /// Bitrate of a segment in a level, limited to the highest.
    pub fn segment_bitrate(&self, segment: usize, level: usize) -> Bitrate {
        let own = self.segment_bitrates.get(segment).map(|row| row[level.min(self.highest())]);
        own.unwrap_or_else(|| self.bitrate(level))
    }
    /// The highest level.
    pub fn highest(&self) -> usize {
        self.bitrates.len() - 1
    }
    /// Number of segments; never 0.
    pub fn segments(&self) -> usize {
        self.sizes.len()
    }
    /// Size of a segment in a level; `None` for an unknown segment or level.
    pub fn size(&self, segment: usize, level: usize) -> Option<Bytes> {
        self.sizes.get(segment)?.get(level).copied()
    }
    /// Duration of the video.
    pub fn duration(&self) -> Duration {
        if self.lengths.is_empty() {
            return self.segment * self.sizes.len() as u64;
        }
        self.lengths.iter().fold(Duration::ZERO, |sum, length| sum + *length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of thousands of devices has a player with a manifest.
    #[test]
    fn players_share_the_sizes_of_a_video() {
        let (rates, sizes) = (vec![Bitrate::from_mbps(1.0)], vec![vec![Bytes::new(5)]; 2]);
        let manifest = Manifest::new(Duration::from_millis(2000), rates, sizes).unwrap();
        assert!(Arc::ptr_eq(&manifest.clone().sizes, &manifest.sizes));
    }

    fn read(text: &str) -> Result<Manifest, String> {
        Manifest::from_json("m.json", text).map_err(|error| error.to_string())
    }

    #[test]
    fn json_document_is_read() {
        let manifest = read(
            "{\"segment_duration_ms\": 2500, \"bitrates_kbps\": [300.5, 1000],\n\
             \"segment_sizes_bits\": [[800, 2400], [801, 2401], [8, 16]]}",
        )
        .unwrap();
        assert_eq!(manifest.segment_duration(), Duration::from_millis(2500));
        assert_eq!(manifest.bitrates(), [Bitrate::from_bps(300_500), Bitrate::from_bps(1_000_000)]);
        assert_eq!((manifest.segments(), manifest.highest()), (3, 1));
        assert_eq!(manifest.duration(), Duration::from_millis(7500));
        assert_eq!(manifest.size(0, 1), Some(Bytes::new(300)));
        assert_eq!(manifest.size(1, 0), Some(Bytes::new(101)), "rounded up");
        assert_eq!((manifest.size(3, 0), manifest.size(0, 2)), (None, None));
        assert_eq!(manifest.bitrate(7), Bitrate::from_bps(1_000_000));
    }

    #[test]
    fn segments_may_differ_in_duration() {
        let rates = vec![Bitrate::from_bps(1_000), Bitrate::from_bps(2_000)];
        let sizes = vec![vec![Bytes::new(5), Bytes::new(9)], vec![Bytes::new(2), Bytes::new(4)]];
        let lengths = [2_000, 1_500].map(Duration::from_millis);
        let manifest = Manifest::uneven(lengths.to_vec(), rates.clone(), sizes.clone()).unwrap();
        assert_eq!(manifest.segment_duration(), lengths[0], "the longest");
        assert_eq!([manifest.length(0), manifest.length(1)], lengths);
        assert_eq!(manifest.duration(), Duration::from_millis(3_500));
        let high = manifest.single_level(7);
        assert_eq!(
            (high.bitrates(), high.size(1, 0), high.length(1)),
            (&rates[1..], Some(Bytes::new(4)), lengths[1])
        );
        let wrong = |lengths: &[Duration]| {
            Manifest::uneven(lengths.to_vec(), rates.clone(), sizes.clone()).unwrap_err()
        };
        assert_eq!(wrong(&lengths[..1]), "expected a length for each of 2 segments, found 1");
        assert_eq!(wrong(&[lengths[0], Duration::ZERO]), "segment 1: expected some length, found 0 ms");
    }

    #[test]
    fn segments_may_differ_in_bitrate() {
        let rates = [1_000, 2_000, 1_500, 3_000].map(Bitrate::from_bps);
        let sizes = vec![vec![Bytes::new(5), Bytes::new(9)]; 2];
        let same = Manifest::new(Duration::from_secs(1), rates[..2].to_vec(), sizes).unwrap();
        assert_eq!(same.segment_bitrate(1, 1), rates[1]);
        let rows = vec![rates[..2].to_vec(), rates[2..].to_vec()];
        let manifest = same.clone().with_segment_bitrates(rows).unwrap();
        let of = |segment, level| manifest.segment_bitrate(segment, level);
        assert_eq!([of(0, 0), of(0, 1), of(1, 0), of(1, 7)], rates);
        assert_eq!(manifest.bitrates(), &rates[..2]);
        assert_eq!(manifest.single_level(1).segment_bitrate(1, 0), rates[3]);
        let short = same.with_segment_bitrates(vec![rates.to_vec()]);
        assert_eq!(short.unwrap_err(), "expected a bitrate for each segment and level");
    }

    #[test]
    fn errors_name_the_invalid_value() {
        let with = |ms: &str, rates: &str, sizes: &str| {
            read(&format!(
                "{{\"segment_duration_ms\": {ms}, \"bitrates_kbps\": {rates}, \"segment_sizes_bits\": {sizes}}}"
            ))
            .unwrap_err()
        };
        let table = [
            (read("").unwrap_err(), "m.json:1:1: EOF while parsing a value"),
            (read("7").unwrap_err(), "m.json:1:1: invalid type: integer `7`, expected a manifest in braces"),
            (
                read("{\n\"x\": 1}").unwrap_err(),
                "m.json:2:3: unknown field `x`, expected one of \
              `segment_duration_ms`, `bitrates_kbps`, `segment_sizes_bits`",
            ),
            (read("{}").unwrap_err(), "m.json:1:2: missing field `segment_duration_ms`"),
            (with("0", "[1]", "[[8]]"), "m.json: segment_duration_ms: expected 1 to 3600000, found 0"),
            (
                with("1e7", "[1]", "[[8]]"),
                "m.json: segment_duration_ms: expected 1 to 3600000, found 10000000",
            ),
            (with("4", "[]", "[[8]]"), "m.json: expected at least one bitrate, found none"),
            (with("4", "[-3]", "[[8]]"), "m.json: bitrates_kbps: expected 0.001 to 1000000000, found -3"),
            (
                with("4", "[2000, 1000]", "[[8, 8]]"),
                "m.json: expected bitrates from the lowest to the \
              highest, found 2Mbps before 1Mbps",
            ),
            (with("4", "[1]", "[]"), "m.json: expected at least one segment, found none"),
            (
                with("4", "[1]", "[[8], [8, 8]]"),
                "m.json: segment 1: expected 1 sizes, one for each bitrate, \
              found 2",
            ),
            (
                with("4", "[1]", "[[0]]"),
                "m.json: segment_sizes_bits: expected 1 to 1000000000000000, found 0",
            ),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
        let rates = vec![Bitrate::from_bps(1)];
        let one =
            |span, rates: &[Bitrate], size| Manifest::new(span, rates.to_vec(), vec![vec![Bytes::new(size)]]);
        assert_eq!(
            one(Duration::ZERO, &rates, 1).unwrap_err(),
            "expected segments of some length, found 0 ms"
        );
        assert_eq!(
            one(Duration::from_secs(1), &[Bitrate::ZERO], 1).unwrap_err(),
            "expected bitrates above 0, found 0"
        );
        assert_eq!(
            one(Duration::from_secs(1), &rates, 0).unwrap_err(),
            "segment 0, level 0: expected a size above 0, found 0"
        );
    }
}
