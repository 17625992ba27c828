//! `throughput`: by estimated throughput, as in dash.js.

use super::view::InsufficientBuffer;
use super::{AbrRule, Choice, Progress, RuleEntry, View};
use units::Duration;

/// The throughput rule of dash.js.
pub const THROUGHPUT: RuleEntry = RuleEntry {
    name: "throughput",
    doc: "the highest bitrate up to 0.9 of the measured throughput",
    build: |_, _| Box::new(Throughput::default()),
};

/// Usable part of the estimated throughput.
const USABLE_PART: f64 = 0.9;
/// Minimum age of a download before it may be replaced.
const MIN_DOWNLOAD_TIME: Duration = Duration::from_millis(500);
/// Acceptable download time, in multiples of the segment's playing time.
const MAX_DOWNLOAD_RATIO: f64 = 1.8;

/// Chooses the highest bitrate within 0.9 of the estimated throughput that the buffer permits.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice, MMSys 2018: THROUGHPUT of dash.js with
/// its insufficient buffer rule and its abandon request rule, which replaces a download that would
/// take 1.8 times its segment's playing time by a level within 0.9 of the download's own
/// throughput.
#[derive(Debug, Clone, Default)]
struct Throughput {
    insufficient: InsufficientBuffer,
}

impl AbrRule for Throughput {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        Choice::now(view.sustainable(USABLE_PART).min(self.insufficient.highest(view)))
    }

    fn replacement(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        let rate = progress.rate().filter(|_| progress.elapsed >= MIN_DOWNLOAD_TIME)?;
        let total = progress.elapsed.as_secs_f64() + progress.bits_left() / rate;
        if total <= MAX_DOWNLOAD_RATIO * view.segment_secs() {
            return None;
        }
        let latency = view.estimate.map_or(progress.latency, |known| known.latency);
        let time = view.segment_secs() - latency.as_secs_f64();
        let level = view.highest_within(USABLE_PART * rate * time);
        let smaller = level < progress.level && progress.bits_in(view.manifest, level) < progress.bits_left();
        smaller.then_some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{ladder, view};
    use super::*;
    use units::Bytes;

    #[test]
    fn a_tenth_of_the_throughput_stays_unused() {
        let manifest = ladder();
        let at = |buffer, mbps| Throughput::default().choose(&view(&manifest, buffer, 0, mbps)).level;
        assert_eq!([at(20.0, 8.8), at(20.0, 8.9), at(20.0, 38.8), at(20.0, 38.9)], [2, 3, 4, 5]);
        // 0.9 of 2 s at 38.9 Mbit/s are 70 Mbit, not the 105 of a segment at 35 Mbit/s.
        assert_eq!(at(2.0, 38.9), 4);
    }

    #[test]
    fn slow_download_is_replaced_by_a_smaller_one() {
        let manifest = ladder();
        // A segment at 16 Mbit/s has 48 Mbit, of which 4 arrived.
        let replacement = |ms, got: u64| {
            let progress = Progress {
                level: 4,
                size: Bytes::new(6_000_000),
                got: Bytes::new(got),
                elapsed: Duration::from_millis(ms),
                latency: Duration::ZERO,
            };
            Throughput::default().replacement(&view(&manifest, 9.0, 4, 20.0), &progress)
        };
        assert_eq!(replacement(499, 500_000), None, "not yet");
        // 8 Mbit/s: 6 s in all, more than 5.4 s; nine tenths are 7.2 Mbit/s: level 5 Mbit/s.
        assert_eq!(replacement(500, 500_000), Some(2));
        // 9 Mbit/s: 5.33 s.
        assert_eq!(replacement(500, 562_500), None);
        // 2.7 Mbit/s, of which 2.43 are usable. The 8 Mbit left exceed the 3 of the lowest level.
        assert_eq!(replacement(14_800, 5_000_000), Some(0));
        assert_eq!(replacement(16_600, 5_625_001), None, "less is left than a replacement has");
    }
}
