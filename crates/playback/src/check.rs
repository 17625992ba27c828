//! What a record must not say, beyond its shape: bounds that the schema has too, and contradictions.

use crate::record::Record;
use crate::{FORMAT, record};

/// A tolerance for the clocks and roundings of players, in seconds.
const SLACK: f64 = 1e-3;
/// The most entries in a list; the most errors; the most levels.
const MOST: usize = 20_000;
const MOST_ERRORS: usize = 1_000;
const MOST_LEVELS: usize = 256;
/// Characters in an `extra`.
const MOST_EXTRA: usize = 64 << 10;
/// What is told of a document at most.
const MOST_PROBLEMS: usize = 50;

/// Where it is, and what is wrong there.
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        if self.0.len() < MOST_PROBLEMS {
            self.0.push(problem);
        }
    }

    fn expect(&mut self, right: bool, problem: impl FnOnce() -> String) {
        if !right {
            self.add(problem());
        }
    }

    /// A finite number, not below 0. JSON knows no others that are not finite.
    fn number(&mut self, place: &str, value: f64) {
        self.expect(value >= 0.0 && value.is_finite(), || {
            format!("{place}: expected a number from 0 on, found {value}")
        });
    }

    fn text(&mut self, place: &str, value: &str, most: usize) {
        let found = value.chars().count();
        self.expect(found <= most, || format!("{place}: expected at most {most} characters, found {found}"));
    }

    fn count(&mut self, place: &str, found: usize, most: usize) {
        self.expect(found <= most, || format!("{place}: expected at most {most} entries, found {found}"));
    }

    fn pixels(&mut self, place: &str, value: Option<u32>) {
        if let Some(value) = value {
            self.expect((1..=65_535).contains(&value), || {
                format!("{place}: expected 1 to 65535 pixels, found {value}")
            });
        }
    }

    /// A span within the session, not before the one before it.
    fn span(&mut self, place: &str, start: f64, end: f64, after: &mut f64, session: f64) {
        self.number(&format!("{place}.start_s"), start);
        self.expect(start <= end, || format!("{place}: ends at {end} s, before it starts at {start} s"));
        self.expect(start + SLACK >= *after, || {
            format!("{place}: starts at {start} s, before the one before it ends at {after} s")
        });
        self.within(place, end, session);
        *after = end;
    }

    fn within(&mut self, place: &str, at: f64, session: f64) {
        self.number(place, at);
        self.expect(at <= session + SLACK, || {
            format!("{place}: at {at} s, after the session's end at {session} s")
        });
    }

    fn ordered(&mut self, place: &str, times: &[f64], session: f64) {
        for pair in times.windows(2) {
            self.expect(pair[0] <= pair[1] + SLACK, || {
                format!("{place}: {} s comes before {} s", pair[0], pair[1])
            });
        }
        if let [first, .., last] = times {
            self.number(place, *first);
            self.within(place, *last, session);
        }
    }
}

impl Record {
    /// Everything in which it is out of bounds or contradicts itself, a sentence each, at most 50; none
    /// where it is right.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Problems(Vec::new());
        self.head(&mut problems);
        self.lists(&mut problems);
        self.levels(&mut problems);
        self.figures(&mut problems);
        problems.0
    }

    fn head(&self, problems: &mut Problems) {
        problems.expect(self.format == FORMAT, || {
            format!("format: expected `{FORMAT}`, found `{}`", shortened(&self.format))
        });
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        problems.expect((8..=64).contains(&self.id.len()) && self.id.chars().all(allowed), || {
            format!("id: expected 8 to 64 letters, digits, `.`, `_`, `-`, found `{}`", shortened(&self.id))
        });
        problems.expect(instant(&self.started_at), || {
            format!(
                "started_at: expected such as `2026-11-22T08:25:04.123Z`, found `{}`",
                shortened(&self.started_at)
            )
        });
        problems.text("player.name", &self.player.name, 64);
        problems.text("player.version", &self.player.version, 64);
        problems.text("rule", &self.rule, 64);
        let texts = [
            ("player.engine", &self.player.engine, 128),
            ("player.user_agent", &self.player.user_agent, 512),
            ("video.url", &self.video.url, 4096),
            ("video.content_id", &self.video.content_id, 64),
            ("video.title", &self.video.title, 512),
            ("settings.proxy", &self.settings.proxy, 1024),
            ("label", &self.label, 200),
        ];
        for (place, text, most) in texts {
            problems.text(place, text.as_deref().unwrap_or_default(), most);
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
        problems.expect(extra <= MOST_EXTRA, || {
            format!("extra: expected at most {MOST_EXTRA} bytes of text, found {extra}")
        });
    }

    fn lists(&self, problems: &mut Problems) {
        let end = self.duration_s;
        let empty = (&Vec::new(), &Vec::new(), &Vec::new(), &Vec::new(), &Vec::new());
        let pauses = self.pauses.as_ref().unwrap_or(empty.0);
        let seeks = self.seeks.as_ref().unwrap_or(empty.1);
        let samples = self.samples.as_ref().unwrap_or(empty.2);
        let audio = self.audio.as_ref().unwrap_or(empty.3);
        let errors = self.errors.as_ref().unwrap_or(empty.4);
        for (place, count, most) in [
            ("stalls", self.stalls.len(), MOST),
            ("switches", self.switches.len(), MOST),
            ("segments", self.segments.len(), MOST),
            ("abandoned", self.abandoned.len(), MOST),
            ("pauses", pauses.len(), MOST),
            ("seeks", seeks.len(), MOST),
            ("samples", samples.len(), MOST),
            ("audio", audio.len(), MOST),
            ("errors", errors.len(), MOST_ERRORS),
            ("video.levels", self.video.levels.len(), MOST_LEVELS),
        ] {
            problems.count(place, count, most);
        }

        let mut after = 0.0;
        for (index, stall) in self.stalls.iter().enumerate() {
            let place = format!("stalls[{index}]");
            problems.span(&place, stall.start_s, stall.end_s, &mut after, end);
            problems.number(&format!("{place}.position_s"), stall.position_s);
            let may_be_open = index + 1 == self.stalls.len() && !self.complete;
            problems.expect(!stall.open || may_be_open, || {
                format!("{place}: is open, but the play went on, or the video was played to its end")
            });
        }
        after = 0.0;
        for (index, pause) in pauses.iter().enumerate() {
            problems.span(&format!("pauses[{index}]"), pause.start_s, pause.end_s, &mut after, end);
        }
        after = 0.0;
        for (index, seek) in seeks.iter().enumerate() {
            let place = format!("seeks[{index}]");
            problems.span(&place, seek.start_s, seek.end_s, &mut after, end);
            problems.number(&place, seek.from_s);
            problems.number(&place, seek.to_s);
        }
        let times: Vec<f64> = self.segments.iter().map(|segment| segment.arrived_s).collect();
        problems.ordered("segments", &times, end);
        for (index, segment) in self.segments.iter().enumerate() {
            let place = format!("segments[{index}]");
            problems.ordered(&place, &[segment.asked_s, segment.first_byte_s, segment.arrived_s], end);
            problems.number(&format!("{place}.buffer_s"), segment.buffer_s);
            problems.number(&format!("{place}.bitrate_kbps"), segment.bitrate_kbps);
            problems.number(&format!("{place}.duration_s"), segment.duration_s.unwrap_or_default());
        }
        let times: Vec<f64> = self.abandoned.iter().map(|vain| vain.at_s).collect();
        problems.ordered("abandoned", &times, end);
        for (index, vain) in self.abandoned.iter().enumerate() {
            problems.ordered(&format!("abandoned[{index}]"), &[vain.asked_s, vain.at_s], end);
        }
        let times: Vec<f64> = samples.iter().map(|sample| sample.at_s).collect();
        problems.ordered("samples", &times, end);
        for (index, sample) in samples.iter().enumerate() {
            for value in [Some(sample.buffer_s), sample.throughput_kbps, sample.position_s] {
                problems.number(&format!("samples[{index}]"), value.unwrap_or_default());
            }
        }
        for (index, piece) in audio.iter().enumerate() {
            problems.number(&format!("audio[{index}].duration_s"), piece.duration_s);
            problems.number(&format!("audio[{index}].bitrate_kbps"), piece.bitrate_kbps);
            problems.text(&format!("audio[{index}].codec"), &piece.codec, 64);
        }
        for (index, error) in errors.iter().enumerate() {
            let place = format!("errors[{index}]");
            problems.within(&place, error.at_s, end);
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
                format!("video.levels: {index} has a higher bitrate than the one after it")
            });
        }
        let known = self.video.levels.len();
        let mut level = |place: &str, index: usize, level: u8| {
            problems.expect(known == 0 || usize::from(level) < known, || {
                format!("{place}[{index}]: level {level}, and the video has {known}")
            });
        };
        for (index, segment) in self.segments.iter().enumerate() {
            level("segments", index, segment.level);
        }
        for (index, vain) in self.abandoned.iter().enumerate() {
            level("abandoned", index, vain.level);
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

    fn figures(&self, problems: &mut Problems) {
        let record::Kpis { initial_load_s, stalled_s, mean_stall_s, stalls_per_s, .. } = self.kpis;
        problems.within("kpis.initial_load_s", initial_load_s, self.duration_s);
        let count = self.stalls.len();
        for (place, said, is) in
            [("stalls", self.kpis.stalls, count), ("switches", self.kpis.switches, self.switches.len())]
        {
            problems
                .expect(said == is as u64, || format!("kpis.{place}: says {said}, and the list has {is}"));
        }
        let slack = |value: f64| (SLACK * (count as f64).max(1.0)).max(value.abs() * 1e-3);
        let mut follows = |place: &str, said: f64, is: f64| {
            problems.expect((said - is).abs() <= slack(is), || {
                format!("kpis.{place}: says {said}, and from the lists follows {is}")
            });
        };
        let stalled: f64 = self.stalls.iter().map(|stall| stall.end_s - stall.start_s).sum();
        follows("stalled_s", stalled_s, stalled);
        follows("mean_stall_s", mean_stall_s, if count == 0 { 0.0 } else { stalled / count as f64 });
        match stalls_per_s {
            Some(said) if count == 0 => follows("stalls_per_s", said, 0.0),
            Some(said) => follows("stalls_per_s", said, count as f64 / self.played_s),
            None => {
                let infinite = count > 0 && self.played_s == 0.0;
                problems.expect(infinite, || "kpis.stalls_per_s: null, and it is a number".to_owned());
            }
        }
        let mok = self.kpis.mok;
        let levels = qoe::Levels {
            initial: mok.initial_level,
            frequency: mok.frequency_level,
            stall: mok.stall_level,
        };
        for level in [levels.initial, levels.frequency, levels.stall] {
            problems.expect((1..=3).contains(&level), || format!("kpis.mok: there is no level {level}"));
        }
        problems.expect((mok.mos - levels.mos()).abs() <= 1e-3, || {
            format!("kpis.mok.mos: says {}, and from its levels follows {:.4}", mok.mos, levels.mos())
        });
        for value in [self.kpis.mean_bitrate_kbps, Some(initial_load_s)] {
            problems.number("kpis", value.unwrap_or_default());
        }
    }
}

/// Whether it is an instant in UTC as RFC 3339 writes one, to the millisecond or finer. Each month counts
/// as one of 31 days.
fn instant(text: &str) -> bool {
    let Some(text) = text.strip_suffix('Z') else { return false };
    let Some((seconds, fraction)) = text.split_once('.') else { return false };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !(3..=9).contains(&fraction.len()) || !digits(fraction) {
        return false;
    }
    // The places of the letters; and of the numbers with their bounds.
    let bytes = seconds.as_bytes();
    let letters = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
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
        && letters.iter().all(|&(at, letter)| bytes[at] == letter)
        && numbers.into_iter().all(|(at, bounds)| {
            seconds.get(at).is_some_and(|part: &str| {
                digits(part) && part.parse::<u16>().is_ok_and(|value| bounds.contains(&value))
            })
        })
}

/// What somebody sent is told back only in part.
fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_told_from_what_is_none() {
        for right in ["2026-11-22T08:25:04.123Z", "0000-01-01T00:00:60.000000000Z"] {
            assert!(instant(right), "{right}");
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
            assert!(!instant(wrong), "{wrong}");
        }
    }
}
