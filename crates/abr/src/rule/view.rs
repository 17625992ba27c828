//! The input of a rule, and arithmetic that several rules share.

use crate::{Estimate, Manifest};
use units::{Bytes, Duration};

/// State of the player when a rule has to choose.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The video.
    pub manifest: &'a Manifest,
    /// The next segment, from 0.
    pub segment: usize,
    /// Playback time in the buffer.
    pub buffer: Duration,
    /// Capacity of the buffer. The player requests a segment only if it still fits.
    pub max_buffer: Duration,
    /// Level of the previous segment.
    pub last: Option<usize>,
    /// Estimated throughput and latency; `None` before the first segment.
    pub estimate: Option<Estimate>,
}

/// Level of the next segment, and the time to wait before its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The level.
    pub level: usize,
    /// The time to wait.
    pub wait: Duration,
}

impl Choice {
    /// A request without a wait.
    pub fn now(level: usize) -> Self {
        Self { level, wait: Duration::ZERO }
    }
}

/// State of an unfinished download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Level of the segment.
    pub level: usize,
    /// Size of the segment.
    pub size: Bytes,
    /// Received bytes: more than 0, less than the size.
    pub got: Bytes,
    /// Time since the request.
    pub elapsed: Duration,
    /// Time from the request to the first byte.
    pub latency: Duration,
}

impl Progress {
    /// Missing bits.
    pub fn bits_left(&self) -> f64 {
        (self.size - self.got).bits() as f64
    }

    /// Bits per second since the first byte; `None` without elapsed time.
    pub fn rate(&self) -> Option<f64> {
        let span = self.elapsed.saturating_sub(self.latency).as_secs_f64();
        (span > 0.0).then(|| self.got.bits() as f64 / span)
    }

    /// Size of the segment in another level in bits, in proportion to the bitrates.
    pub fn bits_in(&self, manifest: &Manifest, level: usize) -> f64 {
        let ratio = manifest.bitrate(level).as_bps() as f64 / manifest.bitrate(self.level).as_bps() as f64;
        self.size.bits() as f64 * ratio
    }

    /// BOLA's choice between the rest of this segment (`bits_left`) and a whole segment of a lower
    /// level: the best `worth` per bit among the levels smaller than the rest.
    pub(super) fn best_replacement(
        &self,
        manifest: &Manifest,
        bits_left: f64,
        worth: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let mut best = worth(self.level) / bits_left;
        let mut replacement = None;
        // Above its target buffer BOLA would wait: no reason to discard received data.
        if best < 0.0 {
            return None;
        }
        for level in 0..self.level {
            let bits = self.bits_in(manifest, level);
            let score = worth(level) / bits;
            if bits < bits_left && score > best {
                (best, replacement) = (score, Some(level));
            }
        }
        replacement
    }
}

impl View<'_> {
    /// Duration of a segment, in seconds.
    pub fn segment_secs(&self) -> f64 {
        self.manifest.segment_duration().as_secs_f64()
    }

    /// The highest level of which a segment, with its latency, downloads within its playing time at
    /// `share` of the estimated throughput; the lowest without an estimate.
    pub fn sustainable(&self, share: f64) -> usize {
        let Some(Estimate { throughput, latency }) = self.estimate else { return 0 };
        let bits = share * throughput.as_bps() as f64 * (self.segment_secs() - latency.as_secs_f64());
        self.highest_within(bits)
    }

    /// The highest level of which a mean segment has at most `bits`; the lowest if none has.
    pub fn highest_within(&self, bits: f64) -> usize {
        let fits =
            |level: &usize| self.manifest.bitrate(*level).as_bps() as f64 * self.segment_secs() <= bits;
        (0..=self.manifest.highest()).rev().find(fits).unwrap_or(0)
    }
}

/// Insufficient buffer rule of dash.js: a segment has to arrive before `share` of the buffer is
/// played.
///
/// The share starts at 0.9, while the estimate is young and the buffer small, and decreases to 0.5
/// by a tenth of itself per choice, as in the simulator Sabre (Spiteri, Sitaraman, Sparacio, MMSys
/// 2018).
#[derive(Debug, Clone)]
pub(super) struct InsufficientBuffer {
    share: f64,
}

impl Default for InsufficientBuffer {
    fn default() -> Self {
        Self { share: 0.9 }
    }
}

impl InsufficientBuffer {
    /// The highest permitted level.
    pub(super) fn highest(&mut self, view: &View<'_>) -> usize {
        let Some(Estimate { throughput, latency }) = view.estimate else { return 0 };
        let share = self.share;
        self.share = (share * 0.9).max(0.5);
        let seconds = share * view.buffer.saturating_sub(latency).as_secs_f64();
        view.highest_within(seconds * throughput.as_bps() as f64)
    }
}

/// Utility of a level in the BOLA paper: the logarithm of its bitrate over the lowest.
pub(super) fn utility(manifest: &Manifest, level: usize) -> f64 {
    libm::log(manifest.bitrate(level).as_bps() as f64 / manifest.bitrate(0).as_bps() as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use units::Bitrate;

    /// 100 segments of 3 s at 1, 2.5, 5, 8, 16 and 35 Mbit/s.
    pub(in crate::rule) fn ladder() -> Manifest {
        let rates: Vec<Bitrate> = [1.0, 2.5, 5.0, 8.0, 16.0, 35.0].map(Bitrate::from_mbps).to_vec();
        let row: Vec<Bytes> = rates.iter().map(|rate| rate.over(Duration::from_secs(3))).collect();
        Manifest::new(Duration::from_secs(3), rates, vec![row; 100]).unwrap()
    }

    /// The middle of the video, with a buffer of `buffer` of at most 25 s, and `mbps` measured.
    pub(in crate::rule) fn view(manifest: &Manifest, buffer: f64, last: usize, mbps: f64) -> View<'_> {
        View {
            manifest,
            segment: 50,
            buffer: Duration::from_secs_f64(buffer),
            max_buffer: Duration::from_secs(25),
            last: Some(last),
            estimate: Some(Estimate { throughput: Bitrate::from_mbps(mbps), latency: Duration::ZERO }),
        }
    }

    #[test]
    fn sustainable_level_accounts_for_latency() {
        let manifest = ladder();
        let at = |mbps, ms| {
            let estimate =
                Estimate { throughput: Bitrate::from_mbps(mbps), latency: Duration::from_millis(ms) };
            View { estimate: Some(estimate), ..view(&manifest, 10.0, 0, 1.0) }.sustainable(1.0)
        };
        assert_eq!([at(0.0, 0), at(0.9, 0), at(8.0, 0), at(7.9, 0), at(99.0, 0)], [0, 0, 3, 2, 5]);
        // A segment of 3 s at 8 Mbit/s is 24 Mbit: 2.7 s at 8.9 Mbit/s.
        assert_eq!([at(8.8, 300), at(8.9, 300)], [2, 3]);
        assert_eq!(at(99.0, 4_000), 0, "latency longer than a segment");
        assert_eq!(View { estimate: None, ..view(&manifest, 10.0, 3, 1.0) }.sustainable(1.0), 0);
    }

    #[test]
    fn insufficient_buffer_limits_the_level() {
        let manifest = ladder();
        let mut rule = InsufficientBuffer::default();
        // Without an estimate the share does not decrease.
        assert_eq!(rule.highest(&View { estimate: None, ..view(&manifest, 10.0, 0, 5.0) }), 0);
        // 0.9 of 10 s at 5 Mbit/s are 45 Mbit, 15 Mbit/s for 3 s: 8. Then 0.81, 0.729, 0.6561,
        // 0.59, 0.53, 0.5: at 4.7 Mbit/s the last is 23.5 Mbit, or 7.8 Mbit/s: 5.
        assert_eq!(rule.highest(&view(&manifest, 10.0, 0, 5.0)), 3);
        for _ in 0..5 {
            assert_eq!(rule.highest(&view(&manifest, 10.0, 0, 4.7)), 3);
        }
        assert_eq!(rule.highest(&view(&manifest, 10.0, 0, 4.7)), 2);
        assert_eq!(rule.highest(&view(&manifest, 0.0, 0, 50.0)), 0);
    }
}
