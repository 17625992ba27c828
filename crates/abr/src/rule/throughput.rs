//! By throughput, as in dash.js.

use super::{Choice, Chooser, Insufficient, Progress, View};
use units::Duration;

/// Of the estimated throughput, what is trusted.
const SAFETY: f64 = 0.9;
/// For how long a download is left alone.
const GRACE: Duration = Duration::from_millis(500);
/// It may take so many times as long as its segment plays.
const PATIENCE: f64 = 1.8;

/// The highest bitrate that 0.9 of the estimated throughput carries, unless the buffer is too small for it.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice, MMSys 2018 (THROUGHPUT of dash.js
/// with its insufficient buffer rule and its rule of abandoned requests: a download that would take 1.8 times
/// as long as its segment plays is given up for one that 0.9 of its own throughput carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Throughput {
    insufficient: Insufficient,
}

impl Chooser for Throughput {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        Choice::now(view.sustainable(SAFETY).min(self.insufficient.highest(view)))
    }

    fn instead(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        let rate = progress.rate().filter(|_| progress.elapsed >= GRACE)?;
        let total = progress.elapsed.as_secs_f64() + progress.left() / rate;
        if total <= PATIENCE * view.segment_secs() {
            return None;
        }
        let latency = view.estimate.map_or(progress.latency, |known| known.latency);
        let time = view.segment_secs() - latency.as_secs_f64();
        let level = view.highest_within(SAFETY * rate * time);
        let smaller = level < progress.level && progress.size_in(view.manifest, level) < progress.left();
        smaller.then_some(level)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ladder, view};
    use super::*;
    use units::Bytes;

    #[test]
    fn a_tenth_of_the_throughput_is_kept_back() {
        let manifest = ladder();
        let at = |buffer, mbps| Throughput::default().choose(&view(&manifest, buffer, 0, mbps)).level;
        assert_eq!([at(20.0, 8.8), at(20.0, 8.9), at(20.0, 38.8), at(20.0, 38.9)], [2, 3, 4, 5]);
        // 0.9 of 2 s at 38.9 Mbit/s are 70 Mbit, not the 105 of a segment at 35 Mbit/s.
        assert_eq!(at(2.0, 38.9), 4);
    }

    #[test]
    fn a_download_of_twice_its_segment_is_given_up() {
        let manifest = ladder();
        // A segment of 16 Mbit/s are 48 Mbit, of which 4 came.
        let instead = |ms, came: u64| {
            let progress = Progress {
                level: 4,
                size: Bytes::new(6_000_000),
                got: Bytes::new(came),
                elapsed: Duration::from_millis(ms),
                latency: Duration::ZERO,
            };
            Throughput::default().instead(&view(&manifest, 9.0, 4, 20.0), &progress)
        };
        assert_eq!(instead(499, 500_000), None, "not yet");
        // 8 Mbit/s: 6 s in all, more than 5.4; nine tenths are 7.2: 5 Mbit/s.
        assert_eq!(instead(500, 500_000), Some(2));
        // 9 Mbit/s: 5.33 s.
        assert_eq!(instead(500, 562_500), None);
        // 2.7 Mbit/s, of which 2.43 count. What is left, 8 Mbit, is more than 3 of the lowest.
        assert_eq!(instead(14_800, 5_000_000), Some(0));
        assert_eq!(instead(16_600, 5_625_001), None, "what is left is less");
    }
}
