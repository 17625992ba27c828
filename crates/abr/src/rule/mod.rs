//! Which bitrate the next segment has: one rule a file.

mod bola;
mod bola_e;
mod buffer;
mod throughput;

use crate::{Estimate, Manifest};
use core::fmt;
use core::str::FromStr;
use units::{Bytes, Duration};

/// A rule of adaptation. Each says its source in its own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The highest bitrate that nine tenths of the throughput carry.
    Throughput,
    /// BOLA-basic: by the buffer alone.
    BolaBasic,
    /// BOLA-U: BOLA for videos of finite length, which does not climb further above the throughput than
    /// one level.
    Bola,
    /// BOLA-E: BOLA with a placeholder buffer, so that it starts at the throughput.
    BolaE,
    /// BBA-0: a map from the buffer's level to a bitrate.
    Buffer,
}

/// A word that is no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError(String);

impl Rule {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Throughput, Self::BolaBasic, Self::Bola, Self::BolaE, Self::Buffer];

    /// The word that people write for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::BolaBasic => "bola-basic",
            Self::Bola => "bola",
            Self::BolaE => "bola-e",
            Self::Buffer => "buffer",
        }
    }

    pub(crate) fn chooser(self, manifest: &Manifest, max_buffer: Duration) -> Box<dyn Chooser> {
        match self {
            Self::Throughput => Box::new(throughput::Throughput::default()),
            Self::BolaBasic => Box::new(bola::Bola::basic()),
            Self::Bola => Box::new(bola::Bola::finite()),
            Self::BolaE => Box::new(bola_e::BolaE::new(manifest, max_buffer)),
            Self::Buffer => Box::new(buffer::Buffer),
        }
    }
}

impl FromStr for Rule {
    type Err = RuleError;
    fn from_str(text: &str) -> Result<Self, RuleError> {
        let word = text.trim();
        let found = Self::ALL.into_iter().find(|rule| rule.name() == word);
        found.ok_or_else(|| RuleError(word.to_owned()))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is none of", self.0)?;
        for (at, rule) in Rule::ALL.into_iter().enumerate() {
            write!(f, "{} `{rule}`", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for RuleError {}

/// What a rule sees when it has to choose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) manifest: &'a Manifest,
    /// Which segment is next, from 0.
    pub(crate) segment: usize,
    pub(crate) buffer: Duration,
    /// The most that the buffer may hold; a segment is asked for only where it still fits.
    pub(crate) max_buffer: Duration,
    /// The level of the segment before.
    pub(crate) last: Option<usize>,
    pub(crate) estimate: Option<Estimate>,
}

/// The level of the next segment, and how long to wait before asking for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) level: usize,
    pub(crate) wait: Duration,
}

impl Choice {
    fn now(level: usize) -> Self {
        Self { level, wait: Duration::ZERO }
    }
}

/// A download on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) level: usize,
    pub(crate) size: Bytes,
    /// Less than the size, and more than nothing.
    pub(crate) got: Bytes,
    /// Since the request.
    pub(crate) elapsed: Duration,
    /// Of that, until the first byte.
    pub(crate) latency: Duration,
}

pub(crate) trait Chooser: fmt::Debug + Send {
    fn choose(&mut self, view: &View<'_>) -> Choice;
    /// Nothing was asked for during `span`, because there was no room in the buffer.
    fn idled(&mut self, _span: Duration) {}
    /// A segment of `level` came `span` after its request. `buffer` does not hold it yet.
    fn downloaded(&mut self, _level: usize, _span: Duration, _buffer: Duration) {}
    /// The level in which to ask for a segment anew, where that is better than to wait for the rest of it;
    /// always a lower one.
    fn instead(&self, _view: &View<'_>, _progress: &Progress) -> Option<usize> {
        None
    }
    /// That was done.
    fn abandoned(&mut self, _level: usize, _buffer: Duration) {}
}

impl Progress {
    /// In bits.
    fn left(&self) -> f64 {
        (self.size - self.got).bits() as f64
    }

    /// Bits a second since the first byte; `None` where no time has passed since then.
    fn rate(&self) -> Option<f64> {
        let span = self.elapsed.saturating_sub(self.latency).as_secs_f64();
        (span > 0.0).then(|| self.got.bits() as f64 / span)
    }

    /// How large the segment is in another level, in bits: as the bitrates are to one another.
    fn size_in(&self, manifest: &Manifest, level: usize) -> f64 {
        let share = manifest.bitrate(level).as_bps() as f64 / manifest.bitrate(self.level).as_bps() as f64;
        self.size.bits() as f64 * share
    }

    /// BOLA's choice between the rest of this segment, of `left` bits, and a whole one of a lower level:
    /// the best of `worth` by the bit, where the whole is no larger than the rest.
    fn better(&self, manifest: &Manifest, left: f64, worth: impl Fn(usize) -> f64) -> Option<usize> {
        let mut best = worth(self.level) / left;
        let mut instead = None;
        // Above its target BOLA waits rather than fetches: no reason to throw away what came.
        if best < 0.0 {
            return None;
        }
        for level in 0..self.level {
            let size = self.size_in(manifest, level);
            let score = worth(level) / size;
            if size < left && score > best {
                (best, instead) = (score, Some(level));
            }
        }
        instead
    }
}

impl View<'_> {
    fn segment_secs(&self) -> f64 {
        self.manifest.segment_duration().as_secs_f64()
    }

    /// The highest level of which a segment, with the latency before it, takes no longer to come than
    /// to play, at `share` of the estimated throughput; the lowest where nothing is known.
    fn sustainable(&self, share: f64) -> usize {
        let Some(Estimate { throughput, latency }) = self.estimate else { return 0 };
        let bits = share * throughput.as_bps() as f64 * (self.segment_secs() - latency.as_secs_f64());
        self.highest_within(bits)
    }

    /// The highest level of which a mean segment has no more than `bits`; the lowest where none has.
    fn highest_within(&self, bits: f64) -> usize {
        let fits =
            |level: &usize| self.manifest.bitrate(*level).as_bps() as f64 * self.segment_secs() <= bits;
        (0..=self.manifest.highest()).rev().find(fits).unwrap_or(0)
    }
}

/// The insufficient buffer rule of dash.js: a segment has to come before `share` of what is in the
/// buffer is played. The share begins at 0.9, when the estimate is young and the buffer small, and
/// goes down to 0.5 by a tenth of itself at each choice, as in the simulator Sabre.
///
/// Spiteri, Sitaraman, Sparacio, MMSys 2018.
#[derive(Debug, Clone)]
struct Insufficient {
    share: f64,
}

impl Default for Insufficient {
    fn default() -> Self {
        Self { share: 0.9 }
    }
}

impl Insufficient {
    /// The highest level that it permits.
    fn highest(&mut self, view: &View<'_>) -> usize {
        let Some(Estimate { throughput, latency }) = view.estimate else { return 0 };
        let share = self.share;
        self.share = (share * 0.9).max(0.5);
        let seconds = share * view.buffer.saturating_sub(latency).as_secs_f64();
        view.highest_within(seconds * throughput.as_bps() as f64)
    }
}

/// Utility of a level: the logarithm of its bitrate over the lowest (the choice of the BOLA paper).
fn utility(manifest: &Manifest, level: usize) -> f64 {
    libm::log(manifest.bitrate(level).as_bps() as f64 / manifest.bitrate(0).as_bps() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bitrate;

    /// 100 segments of 3 s at 1, 2.5, 5, 8, 16 and 35 Mbit/s.
    pub(crate) fn ladder() -> Manifest {
        let rates: Vec<Bitrate> = [1.0, 2.5, 5.0, 8.0, 16.0, 35.0].map(Bitrate::from_mbps).to_vec();
        let row: Vec<Bytes> = rates.iter().map(|rate| rate.over(Duration::from_secs(3))).collect();
        Manifest::new(Duration::from_secs(3), rates, vec![row; 100]).unwrap()
    }

    /// In the middle of it, with 25 s of buffer at most, `buffer` seconds in it and `mbps` measured.
    pub(crate) fn view(manifest: &Manifest, buffer: f64, last: usize, mbps: f64) -> View<'_> {
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
    fn rules_are_read_and_written_back() {
        for rule in Rule::ALL {
            assert_eq!(rule.to_string().parse(), Ok(rule));
        }
        assert_eq!(
            "mpc".parse::<Rule>().unwrap_err().to_string(),
            "`mpc` is none of `throughput`, `bola-basic`, `bola`, `bola-e`, `buffer`"
        );
    }

    #[test]
    fn what_a_throughput_sustains_leaves_time_for_the_latency() {
        let manifest = ladder();
        let at = |mbps, ms| {
            let estimate =
                Estimate { throughput: Bitrate::from_mbps(mbps), latency: Duration::from_millis(ms) };
            View { estimate: Some(estimate), ..view(&manifest, 10.0, 0, 1.0) }.sustainable(1.0)
        };
        assert_eq!([at(0.0, 0), at(0.9, 0), at(8.0, 0), at(7.9, 0), at(99.0, 0)], [0, 0, 3, 2, 5]);
        // 8 Mbit/s of a segment of 3 s are 24 Mbit: in 2.7 s at 8.9 Mbit/s.
        assert_eq!([at(8.8, 300), at(8.9, 300)], [2, 3]);
        assert_eq!(at(99.0, 4_000), 0, "a latency longer than a segment");
        assert_eq!(View { estimate: None, ..view(&manifest, 10.0, 3, 1.0) }.sustainable(1.0), 0);
    }

    #[test]
    fn an_insufficient_buffer_keeps_the_level_low() {
        let manifest = ladder();
        let mut rule = Insufficient::default();
        // Where nothing was measured, the share stays.
        assert_eq!(rule.highest(&View { estimate: None, ..view(&manifest, 10.0, 0, 5.0) }), 0);
        // 0.9 of 10 s at 5 Mbit/s are 45 Mbit, 15 Mbit/s for 3 s: 8. Then 0.81, 0.729, 0.6561, 0.59,
        // 0.53, 0.5: at 4.7 Mbit/s the last is 23.5 Mbit, or 7.8 Mbit/s: 5.
        assert_eq!(rule.highest(&view(&manifest, 10.0, 0, 5.0)), 3);
        for _ in 0..5 {
            assert_eq!(rule.highest(&view(&manifest, 10.0, 0, 4.7)), 3);
        }
        assert_eq!(rule.highest(&view(&manifest, 10.0, 0, 4.7)), 2);
        assert_eq!(rule.highest(&view(&manifest, 0.0, 0, 50.0)), 0);
    }
}
