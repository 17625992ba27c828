//! Builds videos: manifest and player.

use super::{Builder, FileProblem};
use ::traffic::Kind;
use abr::{BOLA, Manifest, PlayerConfig, Rule, Video};
use core::ops::Range;
use quantities::{Quantities as _, QuantityNode as _};
use schema::node::{Fields, Node};
use std::sync::Arc;
use units::{Bitrate, Bytes, Duration};

/// Maximum number of segments of all videos of constant bitrate.
const MAX_SEGMENTS: u64 = 1_000_000;

impl Builder<'_, '_> {
    /// A video, the first one if there are several; a bulk transfer in its place if it has a problem.
    pub(super) fn video(&mut self, fields: &Fields) -> Kind {
        let manifest = fields.get("manifest");
        self.video_of(fields, manifest.map(|node| node.list().first().unwrap_or(node)))
    }

    /// A video with this value of `manifest`.
    pub(super) fn video_of(&mut self, fields: &Fields, manifest: Option<&Node>) -> Kind {
        let request = fields.size("request").unwrap_or(Video::REQUEST);
        if request < Video::MIN_REQUEST || request > Bytes::new(65_536) {
            self.problems
                .add(fields.span("request"), format!("a request of {request}"))
                .expected(format!("a size from {} to 65536B", Video::MIN_REQUEST))
                .hint("browsers send a few hundred bytes");
        }
        let manifest = manifest.and_then(|node| match node.fields() {
            Some(table) => self.constant_bitrate(table),
            None => self.manifest_file(node),
        });
        let rule: Rule =
            fields.text("rule").and_then(|rule| rule.parse().ok()).unwrap_or_else(|| BOLA.into());
        let standard = PlayerConfig::new(rule);
        let player = PlayerConfig {
            max_buffer: fields.time("buffer").unwrap_or(standard.max_buffer),
            startup: fields.time("startup").unwrap_or(standard.startup),
            resume: fields.time("resume").unwrap_or(standard.resume),
            abandon: false,
            ..standard
        };
        let Some(manifest) = manifest else { return Kind::Bulk };
        let least = manifest.segment_duration();
        if player.max_buffer < least && fields.given("buffer") {
            self.problems
                .add(
                    fields.span("buffer"),
                    format!("a buffer of {} is shorter than a segment", player.max_buffer),
                )
                .expected(format!("at least {least}"))
                .hint(format!("the segments of this video play for {least}"));
        }
        let wait = fields.time("wait").unwrap_or_default();
        Kind::Video(Arc::new(Video { request, wait, ..Video::new(manifest, player) }))
    }

    /// The list of sizes in a file. A file that several videos name is read once, and its problems
    /// are reported once.
    fn manifest_file(&mut self, node: &Node) -> Option<Manifest> {
        let path = node.text()?;
        if let Some(known) = self.manifests.get(path) {
            return known.clone();
        }
        let manifest = self.read_manifest(path, &node.span);
        self.manifests.insert(path.to_owned(), manifest.clone());
        manifest
    }

    fn read_manifest(&mut self, path: &str, span: &Range<usize>) -> Option<Manifest> {
        let text = self.read_file(path, span)?;
        Manifest::from_json(path, &text)
            .map_err(|error| {
                let (expected, found) = expectation(&error.message);
                let problem = FileProblem {
                    path,
                    line: error.place.map(|(line, _)| line),
                    column: error.place.map(|(_, column)| column),
                    message: format!("malformed manifest: {found}"),
                    expected: expected.to_owned(),
                    hint: "`tandem examples film.json` prints an example".to_owned(),
                };
                self.report_in_file(&text, problem, span);
            })
            .ok()
    }

    /// A manifest with segments of constant bitrate.
    fn constant_bitrate(&mut self, fields: &Fields) -> Option<Manifest> {
        let node = fields.get("bitrates")?;
        let bitrates: Vec<Bitrate> = match node.rate() {
            Some(rate) => vec![rate],
            None => node.list().iter().filter_map(Node::rate).collect(),
        };
        let duration = fields.time("duration")?;
        let segment = fields.time("segment").unwrap_or(Duration::from_secs(2)).max(Duration::from_nanos(1));
        let count = duration.as_nanos() / segment.as_nanos();
        self.segments = self.segments.saturating_add(count);
        if !duration.as_nanos().is_multiple_of(segment.as_nanos()) || self.segments > MAX_SEGMENTS {
            self.problems
                .add(fields.span("duration"), format!("{duration} in segments of {segment}"))
                .expected(format!("a whole number of segments, at most {MAX_SEGMENTS} in all videos"))
                .hint("`segment` sets the length of a segment");
            return None;
        }
        let row: Vec<Bytes> = bitrates.iter().map(|rate| rate.over(segment)).collect();
        match Manifest::new(segment, bitrates, vec![row; count as usize]) {
            Ok(manifest) => Some(manifest),
            Err(message) => {
                let (expected, found) = expectation(&message);
                self.problems
                    .add(fields.span("bitrates"), format!("`bitrates` has {found}"))
                    .expected(expected)
                    .hint("`bitrates = [\"1Mbps\", \"5Mbps\"]`");
                None
            }
        }
    }
}

/// Splits "expected A, found B" into A and B.
fn expectation(message: &str) -> (&str, &str) {
    match message.split_once(", found ").and_then(|(a, found)| Some((a.split_once("expected ")?.1, found))) {
        Some(halves) => halves,
        None => ("a list of segment sizes such as `tandem examples film.json`", message),
    }
}
