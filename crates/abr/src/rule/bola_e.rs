//! `bola-e`: by the level of the buffer and of a placeholder buffer (BOLA-E).

use super::view::{InsufficientBuffer, utility};
use super::{AbrRule, Choice, Progress, RuleEntry, View};
use crate::Manifest;
use units::Duration;

/// BOLA-E.
pub const BOLA_E: RuleEntry = RuleEntry {
    name: "bola-e",
    doc: "BOLA-E, which starts from the measured throughput",
    build: |manifest, max_buffer| Box::new(BolaE::new(manifest, max_buffer)),
};

/// Buffer level at which the second level follows the lowest: the protection against stalls, in
/// seconds.
const MIN_BUFFER_S: f64 = 10.0;
/// Target of the buffer above [`MIN_BUFFER_S`] per level, in seconds, if the buffer is as large.
const TARGET_PER_LEVEL_S: f64 = 2.0;

/// BOLA-E: BOLA on the sum of the buffer and a virtual placeholder buffer.
///
/// The placeholder starts at the level that BOLA needs to choose the sustainable bitrate. It grows
/// while a full buffer prevents requests, and shrinks where BOLA would wait.
///
/// Spiteri, Sitaraman, Sparacio: From Theory to Practice: Improving Bitrate Adaptation in the DASH
/// Reference Player, MMSys 2018, with the parameters and the variant BOLA-O (no rise above the
/// throughput) of dash.js, and its insufficient buffer rule. It does not fetch segments a second
/// time in a higher bitrate.
#[derive(Debug, Clone)]
struct BolaE {
    /// S_m and υ_m = 1 + ln(S_m / S_1) of each level.
    levels: Vec<(f64, f64)>,
    v: f64,
    gamma_p: f64,
    /// In seconds; `None` before the first estimate.
    placeholder: Option<f64>,
    insufficient: InsufficientBuffer,
}

impl BolaE {
    fn new(manifest: &Manifest, max_buffer: Duration) -> Self {
        let levels: Vec<(f64, f64)> = (0..=manifest.highest())
            .map(|m| (manifest.bitrate(m).as_bps() as f64, 1.0 + utility(manifest, m)))
            .collect();
        let target = (MIN_BUFFER_S + TARGET_PER_LEVEL_S * levels.len() as f64).max(max_buffer.as_secs_f64());
        // With one level, any V gives the same choice.
        let span = utility(manifest, manifest.highest());
        let v = if span > 0.0 { (target - MIN_BUFFER_S) / span } else { 1.0 };
        Self {
            levels,
            v,
            gamma_p: MIN_BUFFER_S / v,
            placeholder: None,
            insufficient: InsufficientBuffer::default(),
        }
    }

    /// The buffer level from which BOLA prefers `m` to every lower level.
    fn lower_threshold(&self, m: usize) -> f64 {
        let (s, u) = self.levels[m];
        self.levels[..m]
            .iter()
            .map(|&(lower, its)| self.v * (self.gamma_p + (s * its - lower * u) / (s - lower)))
            .fold(0.0, f64::max)
    }

    /// The buffer level above which BOLA would wait instead of choosing `m`.
    fn upper_threshold(&self, m: usize) -> f64 {
        self.v * (self.gamma_p + self.levels[m].1)
    }

    fn choose_by_buffer(&self, buffer: f64) -> usize {
        let score = |m: usize| (self.upper_threshold(m) - buffer) / self.levels[m].0;
        let mut best = 0;
        for m in 1..self.levels.len() {
            if score(m) > score(best) {
                best = m;
            }
        }
        best
    }
}

impl AbrRule for BolaE {
    fn choose(&mut self, view: &View<'_>) -> Choice {
        let sustainable = view.sustainable(1.0);
        let buffer = view.buffer.as_secs_f64();
        if view.estimate.is_none() {
            return Choice::now(view.last.unwrap_or(0));
        }
        let Some(placeholder) = self.placeholder else {
            self.placeholder = Some((self.lower_threshold(sustainable) - buffer).max(0.0));
            return Choice::now(sustainable);
        };
        let last = view.last.unwrap_or(0);
        let mut level = self.choose_by_buffer(buffer + placeholder);
        if level > last {
            level = level.min(sustainable.max(last));
        }
        let surplus = if level == view.manifest.highest() {
            0.0
        } else {
            (buffer + placeholder - self.upper_threshold(level)).max(0.0)
        };
        let mut placeholder_left = (placeholder - surplus).max(0.0);
        let mut wait = (surplus - placeholder).max(0.0);
        let permitted = self.insufficient.highest(view);
        if permitted < level {
            level = permitted;
            placeholder_left = placeholder_left.min((self.lower_threshold(level) - buffer).max(0.0));
            wait = 0.0;
        }
        self.placeholder = Some(placeholder_left);
        Choice { level, wait: Duration::from_secs_f64(wait) }
    }

    fn on_idle(&mut self, span: Duration) {
        if let Some(placeholder) = &mut self.placeholder {
            *placeholder += span.as_secs_f64();
        }
    }

    fn on_segment(&mut self, level: usize, span: Duration, buffer: Duration) {
        let (lower, upper) = (self.lower_threshold(level), self.upper_threshold(level));
        let Some(placeholder) = &mut self.placeholder else { return };
        let before = (buffer + span).as_secs_f64();
        *placeholder = placeholder.min((upper - before).max(0.0));
        // Not after a stall.
        if !buffer.is_zero() {
            *placeholder = placeholder.max(lower - before);
        }
    }

    fn replacement(&self, view: &View<'_>, progress: &Progress) -> Option<usize> {
        // A new request costs the latency, during which the rest would keep arriving.
        let latency = progress.latency.as_secs_f64();
        let left = progress.bits_left() - latency * progress.rate()?;
        if left <= 0.0 {
            return None;
        }
        let buffer = (view.buffer.as_secs_f64() + self.placeholder.unwrap_or(0.0) - latency).max(0.0);
        progress.best_replacement(view.manifest, left, |m| self.upper_threshold(m) - buffer)
    }

    fn on_replaced(&mut self, level: usize, buffer: Duration) {
        let wanted = if level > 0 { self.lower_threshold(level) } else { MIN_BUFFER_S };
        if let Some(placeholder) = &mut self.placeholder {
            *placeholder = placeholder.min((wanted - buffer.as_secs_f64()).max(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::tests::{ladder, view};
    use super::*;

    #[test]
    fn placeholder_starts_and_keeps_the_level_of_the_throughput() {
        let manifest = ladder();
        let mut rule = BolaE::new(&manifest, Duration::from_secs(25));
        let blind = View { estimate: None, last: None, ..view(&manifest, 0.0, 0, 1.0) };
        assert_eq!(rule.choose(&blind).level, 0);
        assert_eq!(rule.placeholder, None);
        // V = 15 / ln 35 = 4.21899, Vγp = 10. 8 Mbit/s needs
        // 10 + V (1 + (8 * 1.60944 - 5 * 2.07944) / 3) = 10 + 4.21899 * 1.82610 = 17.7043 s,
        // of which the buffer holds 3 s.
        assert_eq!(rule.choose(&view(&manifest, 3.0, 0, 10.0)).level, 3);
        assert!((rule.placeholder.unwrap() - 14.7043).abs() < 1e-3, "{rule:?}");
        rule.on_segment(3, Duration::from_secs(2), Duration::from_secs(1));
        assert!((rule.placeholder.unwrap() - 14.7043).abs() < 1e-3, "{rule:?}");
        // 0.9 of 4 s at 10 Mbit/s are 36 Mbit, more than the 24 of a segment.
        assert_eq!(rule.choose(&view(&manifest, 4.0, 3, 10.0)).level, 3);
    }

    #[test]
    fn thresholds_rise_with_the_level() {
        let rule = BolaE::new(&ladder(), Duration::from_secs(25));
        for m in 1..=5 {
            assert!(
                rule.lower_threshold(m - 1) < rule.lower_threshold(m)
                    && rule.lower_threshold(m) < rule.upper_threshold(m)
            );
            assert_eq!(rule.choose_by_buffer(rule.lower_threshold(m) + 1e-6), m);
            assert_eq!(rule.choose_by_buffer(rule.lower_threshold(m) - 1e-6), m - 1);
        }
    }

    #[test]
    fn placeholder_shrinks_before_the_rule_waits() {
        let manifest = ladder();
        let mut rule = BolaE::new(&manifest, Duration::from_secs(25));
        rule.placeholder = Some(3.0);
        rule.on_idle(Duration::from_secs(1));
        // 1 Mbit/s sustains level 0, which BOLA chooses up to 10 + V = 14.219 s.
        let choice = rule.choose(&view(&manifest, 12.0, 0, 1.0));
        assert_eq!(choice, Choice::now(0));
        assert!((rule.placeholder.unwrap() - 2.21899).abs() < 1e-3, "{rule:?}");
        let choice = rule.choose(&view(&manifest, 20.0, 0, 1.0));
        assert!((choice.wait.as_secs_f64() - 5.78101).abs() < 1e-3, "{choice:?}");
        assert_eq!(rule.placeholder, Some(0.0));
    }
}
