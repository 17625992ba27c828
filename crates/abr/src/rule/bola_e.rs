//! By the buffer's level and a placeholder, as BOLA-E.

use super::{Choice, Chooser, Insufficient, Progress, View, utility};
use crate::Manifest;
use units::Duration;

/// The buffer at which the lowest level gives way to the next: what is kept against stalls, in seconds.
const MINIMUM: f64 = 10.0;
/// What the buffer is to hold above that for each level, in seconds, where there is room.
const PER_LEVEL: f64 = 2.0;

/// BOLA-E: BOLA that sees, beside the buffer, a virtual placeholder buffer. At the start it is as large as
/// BOLA has to see for the bitrate that the throughput sustains; it grows while the player may not ask
/// because there is no room, and shrinks instead of a wait of BOLA's own.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice: Improving Bitrate Adaptation in the DASH
/// Reference Player, MMSys 2018, with the parameters and the variant BOLA-O (no climb
/// above the throughput) of dash.js, and its insufficient buffer rule. What it leaves out: segments are
/// not fetched a second time in a better bitrate.
#[derive(Debug, Clone)]
pub(super) struct BolaE {
    /// For each level S_m and υ_m = 1 + ln(S_m / S_1).
    levels: Vec<(f64, f64)>,
    v: f64,
    gamma_p: f64,
    /// In seconds; `None` before the first estimate.
    placeholder: Option<f64>,
    insufficient: Insufficient,
}

impl BolaE {
    pub(super) fn new(manifest: &Manifest, max_buffer: Duration) -> Self {
        let levels: Vec<(f64, f64)> = (0..=manifest.highest())
            .map(|m| (manifest.bitrate(m).as_bps() as f64, 1.0 + utility(manifest, m)))
            .collect();
        let target = (MINIMUM + PER_LEVEL * levels.len() as f64).max(max_buffer.as_secs_f64());
        // With one level there is nothing to choose, and any V will do.
        let span = utility(manifest, manifest.highest());
        let v = if span > 0.0 { (target - MINIMUM) / span } else { 1.0 };
        Self { levels, v, gamma_p: MINIMUM / v, placeholder: None, insufficient: Insufficient::default() }
    }

    /// The buffer from which BOLA takes `m` rather than any level below.
    fn least(&self, m: usize) -> f64 {
        let (s, u) = self.levels[m];
        self.levels[..m]
            .iter()
            .map(|&(lower, its)| self.v * (self.gamma_p + (s * its - lower * u) / (s - lower)))
            .fold(0.0, f64::max)
    }

    /// The buffer above which BOLA would rather wait than take `m`.
    fn most(&self, m: usize) -> f64 {
        self.v * (self.gamma_p + self.levels[m].1)
    }

    fn by_buffer(&self, seen: f64) -> usize {
        let score = |m: usize| (self.most(m) - seen) / self.levels[m].0;
        let mut best = 0;
        for m in 1..self.levels.len() {
            if score(m) > score(best) {
                best = m;
            }
        }
        best
    }
}

impl Chooser for BolaE {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let sustainable = view.sustainable(1.0);
        let buffer = view.buffer.as_secs_f64();
        if view.estimate.is_none() {
            return Choice::now(view.last.unwrap_or(0));
        }
        let Some(placeholder) = self.placeholder else {
            self.placeholder = Some((self.least(sustainable) - buffer).max(0.0));
            return Choice::now(sustainable);
        };
        let last = view.last.unwrap_or(0);
        let mut level = self.by_buffer(buffer + placeholder);
        if level > last {
            level = level.min(sustainable.max(last));
        }
        let surplus = if level == view.manifest.highest() {
            0.0
        } else {
            (buffer + placeholder - self.most(level)).max(0.0)
        };
        let mut placeholder_left = (placeholder - surplus).max(0.0);
        let mut wait = (surplus - placeholder).max(0.0);
        let permitted = self.insufficient.highest(view);
        if permitted < level {
            level = permitted;
            placeholder_left = placeholder_left.min((self.least(level) - buffer).max(0.0));
            wait = 0.0;
        }
        self.placeholder = Some(placeholder_left);
        Choice { level, wait: Duration::from_secs_f64(wait) }
    }

    fn idled(&mut self, span: Duration) {
        if let Some(placeholder) = &mut self.placeholder {
            *placeholder += span.as_secs_f64();
        }
    }

    fn downloaded(&mut self, level: usize, span: Duration, buffer: Duration) {
        let (least, most) = (self.least(level), self.most(level));
        let Some(placeholder) = &mut self.placeholder else { return };
        let before = (buffer + span).as_secs_f64();
        *placeholder = placeholder.min((most - before).max(0.0));
        // Not where it ran dry: a stall is no time for optimism.
        if !buffer.is_zero() {
            *placeholder = placeholder.max(least - before);
        }
    }

    fn instead(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        // To ask anew costs the latency again, in which the rest goes on coming.
        let latency = progress.latency.as_secs_f64();
        let left = progress.left() - latency * progress.rate()?;
        if left <= 0.0 {
            return None;
        }
        let seen = (view.buffer.as_secs_f64() + self.placeholder.unwrap_or(0.0) - latency).max(0.0);
        progress.better(view.manifest, left, |m| self.most(m) - seen)
    }

    fn abandoned(&mut self, level: usize, buffer: Duration) {
        let wanted = if level > 0 { self.least(level) } else { MINIMUM };
        if let Some(placeholder) = &mut self.placeholder {
            *placeholder = placeholder.min((wanted - buffer.as_secs_f64()).max(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ladder, view};
    use super::*;

    #[test]
    fn it_starts_at_the_throughput_and_stays_there_by_its_placeholder() {
        let manifest = ladder();
        let mut rule = BolaE::new(&manifest, Duration::from_secs(25));
        let blind = View { estimate: None, last: None, ..view(&manifest, 0.0, 0, 1.0) };
        assert_eq!(rule.choose(&blind).level, 0);
        assert_eq!(rule.placeholder, None);
        // V = 15 / ln 35 = 4.21899, Vγp = 10. From 8 Mbit/s on at 10 + V (1 + (8 * 1.60944 - 5 * 2.07944) / 3) =
        // 10 + 4.21899 * 1.82610 = 17.7043, of which 3 s are there.
        assert_eq!(rule.choose(&view(&manifest, 3.0, 0, 10.0)).level, 3);
        assert!((rule.placeholder.unwrap() - 14.7043).abs() < 1e-3, "{rule:?}");
        rule.downloaded(3, Duration::from_secs(2), Duration::from_secs(1));
        assert!((rule.placeholder.unwrap() - 14.7043).abs() < 1e-3, "{rule:?}");
        // 0.9 of 4 s at 10 Mbit/s are 36 Mbit, more than the 24 of a segment.
        assert_eq!(rule.choose(&view(&manifest, 4.0, 3, 10.0)).level, 3);
    }

    #[test]
    fn the_buffer_s_thresholds_rise_with_the_level() {
        let rule = BolaE::new(&ladder(), Duration::from_secs(25));
        for m in 1..=5 {
            assert!(rule.least(m - 1) < rule.least(m) && rule.least(m) < rule.most(m));
            assert_eq!(rule.by_buffer(rule.least(m) + 1e-6), m);
            assert_eq!(rule.by_buffer(rule.least(m) - 1e-6), m - 1);
        }
    }

    #[test]
    fn waiting_uses_up_the_placeholder_first() {
        let manifest = ladder();
        let mut rule = BolaE::new(&manifest, Duration::from_secs(25));
        rule.placeholder = Some(3.0);
        rule.idled(Duration::from_secs(1));
        // At 1 Mbit/s nothing above level 0 is sustained; it is wanted up to 10 + V = 14.219.
        let choice = rule.choose(&view(&manifest, 12.0, 0, 1.0));
        assert_eq!(choice, Choice::now(0));
        assert!((rule.placeholder.unwrap() - 2.21899).abs() < 1e-3, "{rule:?}");
        let choice = rule.choose(&view(&manifest, 20.0, 0, 1.0));
        assert!((choice.wait.as_secs_f64() - 5.78101).abs() < 1e-3, "{choice:?}");
        assert_eq!(rule.placeholder, Some(0.0));
    }
}
