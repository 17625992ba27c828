//! `qoe`: cellular paths are regular only while the preferred paths alone would miss a video
//! player's deadline, and backup otherwise.
//!
//! As in MP-DASH (Han et al., CoNEXT 2016) a segment has a deadline: the time at which the buffer
//! runs empty, less a [reserve](reserve). The preferred paths carry a segment alone as long as they
//! meet it. Without a report from a player, every path is regular.
//!
//! Parameter: `margin` (time), the reserve while the preferred paths carry nothing.
//! Model and figures: `docs/design/qoe.md`.

mod rates;
mod reserve;
#[cfg(test)]
mod tests;

use crate::registry::parameters;
use crate::state::is_preferred;
use crate::{Action, AppState, DeviceState, InterfaceKind, Policy, PolicyConfig, PolicyEntry, PolicyFactory};
use quantities::{POSITIVE_TIME, Quantities as _};
use rates::{CellularRate, PreferredRate};
use reserve::Reserve;
use schema::shape::{Key, Need};
use tracing::debug;
use units::{Duration, Instant};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "qoe",
    doc: "keeps cellular and satellite paths as backups while the others meet the deadlines of a `video` player",
    parameters: parameters(
        "qoe",
        &[Key {
            name: "margin",
            shape: POSITIVE_TIME,
            need: Need::Default("\"8s\""),
            doc: "For `qoe`: playback time to keep in the player's buffer when a segment arrives.",
            example: "\"6s\"",
        }],
    ),
    positional: &[],
    configure: |fields| {
        PolicyConfig::from(Qoe { margin: fields.time("margin").unwrap_or(Qoe::DEFAULT_MARGIN) })
    },
};

/// Time between observations of the player.
const INTERVAL: Duration = Duration::from_millis(100);
/// Part of the measured cellular rate that counts as available.
const CELLULAR_CONFIDENCE: f64 = 0.5;
/// Cellular paths stop once the preferred paths need no more than this part of the time left.
const STOP_RATIO: f64 = 0.8;
/// Cellular paths stop once all paths together are this much ahead of the deadline, in seconds.
const STOP_LEAD_S: f64 = 1.5;
/// Minimum time for which cellular paths stay regular.
const MIN_REGULAR: Duration = Duration::from_millis(300);

/// The policy `qoe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qoe {
    /// Playback time to keep in the buffer when a segment arrives, while the preferred paths carry
    /// nothing. The policy adapts it to its experience.
    pub margin: Duration,
}

impl Qoe {
    /// The default of [`margin`](Self::margin).
    pub const DEFAULT_MARGIN: Duration = Duration::from_secs(8);
}

impl Default for Qoe {
    fn default() -> Self {
        Self { margin: Self::DEFAULT_MARGIN }
    }
}

impl PolicyFactory for Qoe {
    fn name(&self) -> &str {
        ENTRY.name
    }
    fn text(&self) -> String {
        if self.margin == Self::DEFAULT_MARGIN {
            return ENTRY.name.to_owned();
        }
        format!("{}:margin={}", ENTRY.name, self.margin)
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(QoePolicy::new(self.margin, kinds))
    }
}

#[derive(Debug)]
struct QoePolicy {
    /// Some path is not cellular; otherwise no path could relieve the cellular ones.
    has_preferred: bool,
    reserve: Reserve,
    preferred: PreferredRate,
    cellular: CellularRate,
    /// Since when cellular paths are regular; `None` while they are backup.
    regular_since: Option<Instant>,
}

impl QoePolicy {
    fn new(margin: Duration, kinds: &[InterfaceKind]) -> Self {
        Self {
            has_preferred: kinds.iter().any(|&kind| is_preferred(kind)),
            reserve: Reserve::new(margin.as_secs_f64()),
            preferred: PreferredRate::default(),
            cellular: CellularRate::default(),
            regular_since: None,
        }
    }

    /// Decides whether the player needs the cellular paths.
    fn needs_cellular(&self, now: Instant, app: &AppState) -> bool {
        let Some(buffer) = app.buffer else { return true };
        if app.done {
            return false;
        }
        if buffer.is_zero() || self.reserve.is_filling() {
            return true;
        }
        let missing = app.missing.map_or(0.0, |missing| missing.get() as f64);
        if missing <= 0.0 {
            return false;
        }
        let Some([short, long]) = self.preferred.averages() else { return true };
        self.misses_deadline(now, [short, long], missing, app)
    }

    /// Compares the time that the `missing` bytes take with the buffer, less the reserve.
    fn misses_deadline(&self, now: Instant, averages: [f64; 2], missing: f64, app: &AppState) -> bool {
        let [short, long] = averages;
        let rate = short.min(long);
        let bitrate = app.bitrate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0);
        let buffer = app.buffer.map_or(0.0, Duration::as_secs_f64);
        let coverage = if bitrate > 0.0 { short / bitrate } else { 0.0 };
        let [minimum, reserve] = self.reserve.seconds(buffer, coverage);
        // Preferred paths slower than the video meet no deadline: each segment delays the next.
        let alone = if short < bitrate { f64::INFINITY } else { missing / rate };
        let together = missing / (rate + CELLULAR_CONFIDENCE * self.cellular.rate().unwrap_or(0.0));
        match self.regular_since {
            // The next observation would come too late.
            None => alone > buffer - minimum && together > buffer - reserve - INTERVAL.as_secs_f64(),
            Some(since) if now.since(since) < MIN_REGULAR => true,
            Some(_) => alone > STOP_RATIO * (buffer - minimum) && together > buffer - reserve - STOP_LEAD_S,
        }
    }
}

impl Policy for QoePolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.has_preferred {
            return;
        }
        let app = state.app.unwrap_or_default();
        let waits = app.missing.is_some_and(|missing| missing.get() > 0);
        let received = |preferred: bool| {
            let paths = state.paths.iter().filter(|path| is_preferred(path.kind) == preferred);
            paths.fold(0_u64, |sum, path| sum.saturating_add(path.bytes_down))
        };
        let was_regular = self.regular_since.is_some();
        self.preferred.observe(now, received(true), waits);
        self.cellular.observe(now, received(false), waits, was_regular);
        self.reserve.learn(&app, received(false), was_regular);
        let preferred_up = state.paths.iter().any(|path| path.up && is_preferred(path.kind));
        let regular = !preferred_up || self.needs_cellular(now, &app);
        if regular != was_regular {
            debug!(
                regular,
                preferred_up,
                buffer = ?app.buffer,
                missing = ?app.missing,
                bitrate = ?app.bitrate,
                rates = ?self.preferred.averages(),
                "need of cellular paths changed"
            );
        }
        self.regular_since = if regular { Some(self.regular_since.unwrap_or(now)) } else { None };
        state.mark_costly(!regular, actions);
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
