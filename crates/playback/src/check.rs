//! Checks of a record beyond its shape: the bounds of the schema, and contradictions.

use crate::record::{Kpis, Record, State};
use crate::{FORMAT, FORMER_FORMAT};

/// Tolerance for clocks and rounding of players, in seconds.
pub(crate) const TOLERANCE_S: f64 = 1e-3;
/// Maximum length of a list in a record, such as that of the segments. Some have a limit of their own.
pub const MAX_ENTRIES: usize = 20_000;
/// Maximum length of `video.url`.
pub const MAX_URL_CHARS: usize = 4_096;
const MAX_ERRORS: usize = 1_000;
const MAX_LEVELS: usize = 256;
/// Maximum of a number: every JSON reader has exact integers up to here, and sums stay finite.
const MAX_NUMBER: u64 = (1 << 53) - 1;
/// Maximum size of `extra` as text, in bytes.
const MAX_EXTRA_BYTES: usize = 64 << 10;
/// Maximum number of reported problems.
const MAX_PROBLEMS: usize = 50;

/// Problems found so far, each with its place in the document.
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        if self.0.len() < MAX_PROBLEMS {
            self.0.push(problem);
        }
    }

    fn expect(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.add(problem());
        }
    }

    /// Expects a number from 0 to [`MAX_NUMBER`].
    fn number(&mut self, place: &str, value: f64) {
        self.expect(value >= 0.0, || format!("{place}: expected a number of at least 0, found {value}"));
        self.expect(value <= MAX_NUMBER as f64, || {
            format!("{place}: expected a number of at most {MAX_NUMBER}, found {value:e}")
        });
    }

    fn text(&mut self, place: &str, value: &str, max: usize) {
        let found = value.chars().count();
        self.expect(found <= max, || format!("{place}: expected at most {max} characters, found {found}"));
    }

    fn count(&mut self, place: &str, found: usize, max: usize) {
        self.expect(found <= max, || format!("{place}: expected at most {max} entries, found {found}"));
    }

    fn pixels(&mut self, place: &str, value: Option<u32>) {
        if let Some(value) = value {
            self.expect((1..=65_535).contains(&value), || {
                format!("{place}: expected 1 to 65535 pixels, found {value}")
            });
        }
    }

    /// Expects a span within the session that starts after the end of the previous span.
    fn span(&mut self, place: &str, (start, end): (f64, f64), after: &mut f64, session: f64) {
        self.number(&format!("{place}.start_s"), start);
        self.expect(start <= end, || format!("{place}: ends at {end} s, before its start at {start} s"));
        self.expect(start + TOLERANCE_S >= *after, || {
            format!("{place}: starts at {start} s, before the previous entry ends at {after} s")
        });
        self.within(place, end, session);
        *after = end;
    }

    fn within(&mut self, place: &str, at: f64, session: f64) {
        self.number(place, at);
        self.expect(at <= session + TOLERANCE_S, || {
            format!("{place}: at {at} s, after the session's end at {session} s")
        });
    }

    fn ordered(&mut self, place: &str, times: &[f64], session: f64) {
        for pair in times.windows(2) {
            self.expect(pair[0] <= pair[1] + TOLERANCE_S, || {
                format!("{place}: times are not in order: {} s precedes {} s", pair[0], pair[1])
            });
        }
        if let (Some(first), Some(last)) = (times.first(), times.last()) {
            self.number(place, *first);
            self.within(place, *last, session);
        }
    }
}

impl Record {
    /// Values out of bounds and contradictions, one sentence each, at most 50; empty for a valid
    /// record.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Problems(Vec::new());
        self.head(&mut problems);
        self.state(&mut problems);
        self.lists(&mut problems);
        self.levels(&mut problems);
        self.kpis(&mut problems);
        problems.0
    }

    fn head(&self, problems: &mut Problems) {
        problems.expect(self.has_known_format(), || {
            format!("format: expected `{FORMAT}` or `{FORMER_FORMAT}`, found `{}`", shortened(&self.format))
        });
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        problems.expect((8..=64).contains(&self.id.len()) && self.id.chars().all(allowed), || {
            format!("id: expected 8 to 64 letters, digits, `.`, `_`, `-`, found `{}`", shortened(&self.id))
        });
        problems.expect(is_rfc3339(&self.started_at), || {
            format!(
                "started_at: expected a time such as `2026-11-22T08:25:04.123Z`, found `{}`",
                shortened(&self.started_at)
            )
        });
        problems.text("player.name", &self.player.name, 64);
        problems.text("player.version", &self.player.version, 64);
        problems.text("rule", &self.rule, 64);
        let texts = [
            ("player.engine", &self.player.engine, 128),
            ("player.user_agent", &self.player.user_agent, 512),
            ("video.url", &self.video.url, MAX_URL_CHARS),
            ("video.content_id", &self.video.content_id, 64),
            ("video.title", &self.video.title, 512),
            ("settings.proxy", &self.settings.proxy, 1024),
            ("label", &self.label, 200),
            ("device", &self.device, 128),
            ("zone", &self.zone, 64),
        ];
        for (place, text, max) in texts {
            problems.text(place, text.as_deref().unwrap_or_default(), max);
        }
        let numbers = [
            ("video.duration_s", self.video.duration_s),
            ("video.segment_duration_s", self.video.segment_duration_s),
            ("settings.max_buffer_s", self.settings.max_buffer_s),
            ("settings.startup_s", self.settings.startup_s),
            ("settings.resume_s", self.settings.resume_s),
            ("duration_s", Some(self.duration_s)),
            ("played_s", Some(self.played_s)),
        ];
        for (place, value) in numbers {
            problems.number(place, value.unwrap_or_default());
        }
        problems.count("versions", self.versions.len(), 32);
        for version in self.versions.values() {
            problems.text("versions", version, 128);
        }
        if let Some(viewing) = &self.viewing {
            problems.pixels("viewing.width", Some(viewing.width));
            problems.pixels("viewing.height", Some(viewing.height));
            problems.expect((1..=100_000).contains(&viewing.distance_cm), || {
                format!("viewing.distance_cm: expected 1 to 100000, found {}", viewing.distance_cm)
            });
        }
        let extra =
            self.extra.as_ref().map_or(0, |extra| serde_json::to_string(extra).map_or(0, |s| s.len()));
        problems.expect(extra <= MAX_EXTRA_BYTES, || {
            format!("extra: expected at most {MAX_EXTRA_BYTES} bytes of text, found {extra}")
        });
    }

    /// State, reason and `complete` agree.
    fn state(&self, problems: &mut Problems) {
        let Some(state) = self.state else {
            problems.expect(self.format != FORMAT, || {
                "state: expected `finished`, `left` or `failed`, found nothing".to_owned()
            });
            problems.expect(self.reason.is_none(), || "reason: found one without a state".to_owned());
            return;
        };
        problems.expect((state == State::Finished) == self.complete, || {
            format!("state: is `{}`, but complete is {}", state.name(), self.complete)
        });
        problems.expect((state == State::Failed) == self.reason.is_some(), || {
            let expected = if state == State::Failed { "one" } else { "none" };
            format!("reason: expected {expected} for the state `{}`", state.name())
        });
        let message = self.reason.as_ref().map_or("", |reason| &reason.message);
        problems.text("reason.message", message, 1000);
    }

    fn lists(&self, problems: &mut Problems) {
        self.list_lengths(problems);
        self.interruptions(problems);
        self.downloads(problems);
        self.samples_and_audio(problems);
        self.errors(problems);
    }

    fn list_lengths(&self, problems: &mut Problems) {
        for (place, count, max) in [
            ("stalls", self.stalls.len(), MAX_ENTRIES),
            ("switches", self.switches.len(), MAX_ENTRIES),
            ("segments", self.segments.len(), MAX_ENTRIES),
            ("abandoned", self.abandoned.len(), MAX_ENTRIES),
            ("pauses", self.pauses.iter().flatten().count(), MAX_ENTRIES),
            ("seeks", self.seeks.iter().flatten().count(), MAX_ENTRIES),
            ("samples", self.samples.iter().flatten().count(), MAX_ENTRIES),
            ("audio", self.audio.iter().flatten().count(), MAX_ENTRIES),
            ("errors", self.errors.iter().flatten().count(), MAX_ERRORS),
            ("video.levels", self.video.levels.len(), MAX_LEVELS),
        ] {
            problems.count(place, count, max);
        }
    }

    /// Stalls, pauses and seeks.
    fn interruptions(&self, problems: &mut Problems) {
        let end = self.duration_s;
        let mut after = 0.0;
        for (index, stall) in self.stalls.iter().enumerate() {
            let place = format!("stalls[{index}]");
            problems.span(&place, (stall.start_s, stall.end_s), &mut after, end);
            problems.number(&format!("{place}.position_s"), stall.position_s);
            let may_be_open = index + 1 == self.stalls.len() && !self.complete;
            problems.expect(!stall.open || may_be_open, || {
                format!("{place}: only the last stall of an incomplete session can be open")
            });
        }
        after = 0.0;
        for (index, pause) in self.pauses.iter().flatten().enumerate() {
            problems.span(&format!("pauses[{index}]"), (pause.start_s, pause.end_s), &mut after, end);
        }
        after = 0.0;
        for (index, seek) in self.seeks.iter().flatten().enumerate() {
            let place = format!("seeks[{index}]");
            problems.span(&place, (seek.start_s, seek.end_s), &mut after, end);
            problems.number(&place, seek.from_s);
            problems.number(&place, seek.to_s);
        }
    }

    /// Received segments and abandoned downloads.
    fn downloads(&self, problems: &mut Problems) {
        let end = self.duration_s;
        let times: Vec<f64> = self.segments.iter().map(|segment| segment.arrived_s).collect();
        problems.ordered("segments", &times, end);
        for (index, segment) in self.segments.iter().enumerate() {
            let place = format!("segments[{index}]");
            problems.ordered(&place, &[segment.asked_s, segment.first_byte_s, segment.arrived_s], end);
            problems.number(&format!("{place}.buffer_s"), segment.buffer_s);
            problems.number(&format!("{place}.bitrate_kbps"), segment.bitrate_kbps);
            problems.number(&format!("{place}.duration_s"), segment.duration_s.unwrap_or_default());
            problems.expect(segment.size_bytes <= MAX_NUMBER, || {
                format!("{place}.size_bytes: expected at most {MAX_NUMBER}, found {}", segment.size_bytes)
            });
        }
        let times: Vec<f64> = self.abandoned.iter().map(|download| download.at_s).collect();
        problems.ordered("abandoned", &times, end);
        for (index, download) in self.abandoned.iter().enumerate() {
            problems.ordered(&format!("abandoned[{index}]"), &[download.asked_s, download.at_s], end);
        }
    }

    fn samples_and_audio(&self, problems: &mut Problems) {
        let samples = || self.samples.iter().flatten();
        let times: Vec<f64> = samples().map(|sample| sample.at_s).collect();
        problems.ordered("samples", &times, self.duration_s);
        for (index, sample) in samples().enumerate() {
            for value in [Some(sample.buffer_s), sample.throughput_kbps, sample.position_s] {
                problems.number(&format!("samples[{index}]"), value.unwrap_or_default());
            }
        }
        for (index, piece) in self.audio.iter().flatten().enumerate() {
            problems.number(&format!("audio[{index}].duration_s"), piece.duration_s);
            problems.number(&format!("audio[{index}].bitrate_kbps"), piece.bitrate_kbps);
            problems.text(&format!("audio[{index}].codec"), &piece.codec, 64);
        }
    }

    fn errors(&self, problems: &mut Problems) {
        for (index, error) in self.errors.iter().flatten().enumerate() {
            let place = format!("errors[{index}]");
            problems.within(&place, error.at_s, self.duration_s);
            problems.text(&place, &error.message, 1000);
            problems.expect(error.status.is_none_or(|status| (100..=599).contains(&status)), || {
                format!("{place}.status: expected 100 to 599")
            });
        }
    }

    fn levels(&self, problems: &mut Problems) {
        for (index, level) in self.video.levels.iter().enumerate() {
            let place = format!("video.levels[{index}]");
            problems.number(&format!("{place}.bitrate_kbps"), level.bitrate_kbps);
            problems.number(&format!("{place}.fps"), level.fps.unwrap_or_default());
            problems.pixels(&format!("{place}.width"), level.width);
            problems.pixels(&format!("{place}.height"), level.height);
            problems.text(&format!("{place}.codec"), level.codec.as_deref().unwrap_or_default(), 64);
        }
        for (index, pair) in self.video.levels.windows(2).enumerate() {
            problems.expect(pair[0].bitrate_kbps <= pair[1].bitrate_kbps, || {
                format!("video.levels: {index} has a higher bitrate than the next level")
            });
        }
        let known = self.video.levels.len();
        let mut level = |place: &str, index: usize, level: u8| {
            problems.expect(known == 0 || usize::from(level) < known, || {
                format!("{place}[{index}]: level {level}, but the video has {known} levels")
            });
        };
        for (index, segment) in self.segments.iter().enumerate() {
            level("segments", index, segment.level);
        }
        for (index, download) in self.abandoned.iter().enumerate() {
            level("abandoned", index, download.level);
        }
        for (index, switch) in self.switches.iter().enumerate() {
            level("switches", index, switch.from_level);
            level("switches", index, switch.to_level);
        }
        for (index, sample) in self.samples.iter().flatten().enumerate() {
            level("samples", index, sample.level.unwrap_or(0));
        }
        for (index, switch) in self.switches.iter().enumerate() {
            problems.number(&format!("switches[{index}].position_s"), switch.position_s.unwrap_or_default());
        }
    }

    fn kpis(&self, problems: &mut Problems) {
        let Kpis { initial_load_s, stalled_s, mean_stall_s, stalls_per_s, .. } = self.kpis;
        problems.within("kpis.initial_load_s", initial_load_s, self.duration_s);
        let count = self.stalls.len();
        for (place, given, listed) in
            [("stalls", self.kpis.stalls, count), ("switches", self.kpis.switches, self.switches.len())]
        {
            problems.expect(given == listed as u64, || {
                format!("kpis.{place}: is {given}, but the list has {listed}")
            });
        }
        let mut matches = |place: &str, given: f64, computed: f64| {
            problems.expect((given - computed).abs() <= tolerance(computed, count), || {
                format!("kpis.{place}: is {given}, but the lists give {computed}")
            });
        };
        let stalled: f64 = self.stalls.iter().map(|stall| stall.end_s - stall.start_s).sum();
        matches("stalled_s", stalled_s, stalled);
        matches("mean_stall_s", mean_stall_s, if count == 0 { 0.0 } else { stalled / count as f64 });
        let rate = if count == 0 { 0.0 } else { count as f64 / self.played_s };
        match stalls_per_s {
            Some(given) if rate.is_finite() => matches("stalls_per_s", given, rate),
            Some(given) => problems.add(format!("kpis.stalls_per_s: expected null, found {given}")),
            None => problems
                .expect(rate.is_infinite(), || "kpis.stalls_per_s: expected a number, found null".to_owned()),
        }
        self.parts(stalled, problems);
        self.mos(problems);
        let emos = self.kpis.emos.unwrap_or_default();
        problems.expect((0.0..=qoe::EMOS_MAX + 1e-3).contains(&emos), || {
            format!("kpis.emos: expected 0 to {:.2}, found {emos}", qoe::EMOS_MAX)
        });
        let magnitudes = [
            ("stalls_per_s", stalls_per_s),
            ("mean_bitrate_kbps", self.kpis.mean_bitrate_kbps),
            ("linear", self.kpis.linear.map(f64::abs)),
        ];
        for (place, value) in magnitudes {
            problems.number(&format!("kpis.{place}"), value.unwrap_or_default());
        }
    }

    /// The parts of the session's time add up to its duration.
    fn parts(&self, stalled: f64, problems: &mut Problems) {
        let pauses = self.pauses.iter().flatten().map(|pause| pause.end_s - pause.start_s);
        let seeks = self.seeks.iter().flatten().map(|seek| seek.end_s - seek.start_s);
        let actions: Vec<f64> = pauses.chain(seeks).collect();
        let sum = self.kpis.initial_load_s + stalled + self.played_s + actions.iter().sum::<f64>();
        let tolerance = tolerance(self.duration_s, self.stalls.len() + actions.len());
        problems.expect((sum - self.duration_s).abs() <= tolerance, || {
            format!("duration_s: is {}, but its parts add up to {sum}", self.duration_s)
        });
    }

    fn mos(&self, problems: &mut Problems) {
        let mok = self.kpis.mok;
        let levels = qoe::Levels {
            initial: mok.initial_level,
            frequency: mok.frequency_level,
            stall: mok.stall_level,
        };
        for level in [levels.initial, levels.frequency, levels.stall] {
            problems.expect((1..=3).contains(&level), || {
                format!("kpis.mok: expected levels from 1 to 3, found {level}")
            });
        }
        if self.format == FORMAT {
            problems.expect(mok.mos.is_none() == self.kpis.initial_load_open, || {
                "kpis.mok.mos: expected null without a picture, and a number otherwise".to_owned()
            });
        }
        problems.expect(self.format == FORMAT || mok.mos.is_some(), || {
            format!("kpis.mok.mos: expected a number in `{FORMER_FORMAT}`")
        });
        if let Some(mos) = mok.mos {
            problems.expect((mos - levels.mos()).abs() <= 1e-3, || {
                format!("kpis.mok.mos: is {mos}, but its levels give {:.4}", levels.mos())
            });
        }
        let most = qoe::Mok::default().max_mos();
        problems.expect(mok.mos_max.is_none_or(|max| (max - most).abs() <= 1e-3), || {
            format!("kpis.mok.mos_max: expected {most:.4}")
        });
    }
}

/// Tolerance of a value that is computed from so many spans of time.
fn tolerance(value: f64, spans: usize) -> f64 {
    (TOLERANCE_S * spans.max(1) as f64).max(value.abs() * 1e-3)
}

/// Whether a text is a UTC time by RFC 3339 with at least milliseconds. Every month may have 31
/// days.
fn is_rfc3339(text: &str) -> bool {
    let Some(text) = text.strip_suffix('Z') else { return false };
    let Some((seconds, fraction)) = text.split_once('.') else { return false };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !(3..=9).contains(&fraction.len()) || !digits(fraction) {
        return false;
    }
    // Positions of the separators, and of the numbers with their bounds.
    let bytes = seconds.as_bytes();
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let numbers = [
        (0..4, 0..=9999),
        (5..7, 1..=12),
        (8..10, 1..=31),
        (11..13, 0..=23),
        (14..16, 0..=59),
        (17..19, 0..=60),
    ];
    bytes.len() == 19
        && seconds.is_ascii()
        && separators.iter().all(|&(at, separator)| bytes[at] == separator)
        && numbers.into_iter().all(|(at, bounds)| {
            seconds.get(at).is_some_and(|part: &str| {
                digits(part) && part.parse::<u16>().is_ok_and(|value| bounds.contains(&value))
            })
        })
}

/// The beginning of an untrusted text, for a message.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_times_are_recognised() {
        for right in ["2026-11-22T08:25:04.123Z", "0000-01-01T00:00:60.000000000Z"] {
            assert!(is_rfc3339(right), "{right}");
        }
        for wrong in [
            "",
            "Z",
            "2026-11-22T08:25:04Z",
            "2026-11-22T08:25:04.12Z",
            "2026-11-22T08:25:04.123+01:00",
            "2026-13-22T08:25:04.123Z",
            "2026-11-00T08:25:04.123Z",
            "2026-11-22T24:25:04.123Z",
            "2026-11-22 08:25:04.123Z",
            "+026-11-22T08:25:04.123Z",
            "2026-11-22T08:25:04.1234567890Z",
            "2026-11-2\u{e9}T08:25:0.123Z",
        ] {
            assert!(!is_rfc3339(wrong), "{wrong}");
        }
    }
}
