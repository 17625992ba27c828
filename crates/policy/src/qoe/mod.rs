//! `qoe`: cellular paths are regular only while the preferred paths alone would leave too little in
//! a video player's buffer, and backup otherwise.
//!
//! As in MP-DASH (Han et al., CoNEXT 2016) a segment has a deadline: the time at which the buffer
//! runs empty, less a reserve. Without a report from a player, every path is regular.
//! Model, sources of the defaults and figures: `docs/design/qoe.md`.

mod rate;
#[cfg(test)]
mod tests;

use crate::registry::parameters;
use crate::state::{is_preferred, undivided};
use crate::{Action, AppState, DeviceState, InterfaceKind, Policy, PolicyConfig, PolicyEntry, PolicyFactory};
use core::fmt::Write as _;
use quantities::{POSITIVE_TIME, Quantities as _};
use rate::ReceiveRate;
use schema::shape::{Key, Need};
use tracing::debug;
use units::{Duration, Instant};

pub(crate) const ENTRY: PolicyEntry = PolicyEntry {
    name: "qoe",
    doc: "keeps cellular and satellite paths as backups while the others meet the deadlines of a `video` player",
    parameters: parameters(
        "qoe",
        &[
            Key {
                name: "margin",
                shape: POSITIVE_TIME,
                need: Need::Default("\"8s\""),
                doc: "For `qoe`: playback time to keep in the player's buffer while the other paths carry nothing.",
                example: "\"6s\"",
            },
            Key {
                name: "rescue",
                shape: POSITIVE_TIME,
                need: Need::Default("\"3s\""),
                doc: "For `qoe`: playback time to keep while the other paths carry the video's bitrate; they \
                      may fail at any time.",
                example: "\"2s\"",
            },
        ],
    ),
    positional: &[],
    configure: |fields| {
        let default = Qoe::DEFAULT;
        PolicyConfig::from(Qoe {
            margin: fields.time("margin").unwrap_or(default.margin),
            rescue: fields.time("rescue").unwrap_or(default.rescue),
        })
    },
};

/// Time between observations of the player.
const INTERVAL: Duration = Duration::from_millis(100);
/// Playback time beyond the reserve at which cellular paths become backup.
const HYSTERESIS: Duration = Duration::from_secs(1);
/// Observations without a request after which the player has a full buffer.
const IDLE_OBSERVATIONS: u32 = 3;

/// The policy `qoe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qoe {
    /// Playback time to keep in the buffer while the preferred paths carry nothing.
    pub margin: Duration,
    /// Playback time to keep while they carry the video's bitrate: the time that the data on a path
    /// takes to arrive over another one after the first has failed.
    pub rescue: Duration,
}

impl Qoe {
    /// The default parameters.
    pub const DEFAULT: Self = Self { margin: Duration::from_secs(8), rescue: Duration::from_secs(3) };
}

impl Default for Qoe {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PolicyFactory for Qoe {
    fn name(&self) -> &str {
        ENTRY.name
    }
    fn text(&self) -> String {
        let mut text = ENTRY.name.to_owned();
        for (key, span, default) in
            [("margin", self.margin, Self::DEFAULT.margin), ("rescue", self.rescue, Self::DEFAULT.rescue)]
        {
            if span != default {
                let _ = write!(text, ":{key}={span}");
            }
        }
        text
    }
    fn idle_reason(&self, kinds: &[InterfaceKind]) -> Option<String> {
        undivided(kinds)
    }
    fn insufficient_buffer(&self, segment: Duration) -> Duration {
        // A player requests a segment once the buffer has room for it.
        self.rescue + segment
    }
    fn build(&self, kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        Box::new(QoePolicy::new(*self, kinds))
    }
}

#[derive(Debug)]
struct QoePolicy {
    parameters: Qoe,
    /// Some path is not cellular; otherwise no path could relieve the cellular ones.
    has_preferred: bool,
    preferred: ReceiveRate,
    /// Measured while cellular paths are regular.
    cellular: ReceiveRate,
    /// The buffer has held the margin, or the player has requested nothing, since the start or the
    /// last stall.
    is_filled: bool,
    /// Observations in a row at which the player requested nothing with a buffer that is not empty.
    idle_observations: u32,
    is_regular: bool,
}

impl QoePolicy {
    fn new(parameters: Qoe, kinds: &[InterfaceKind]) -> Self {
        Self {
            parameters,
            has_preferred: kinds.iter().any(|&kind| is_preferred(kind)),
            preferred: ReceiveRate::default(),
            cellular: ReceiveRate::default(),
            is_filled: false,
            idle_observations: 0,
            is_regular: false,
        }
    }

    fn update_filled(&mut self, buffer: Duration, missing: u64) {
        let idle = !buffer.is_zero() && missing == 0;
        self.idle_observations = if idle { self.idle_observations.saturating_add(1) } else { 0 };
        if buffer >= self.parameters.margin || self.idle_observations >= IDLE_OBSERVATIONS {
            self.is_filled = true;
        } else if buffer.is_zero() {
            self.is_filled = false;
        }
    }

    /// Decides whether the player needs the cellular paths.
    fn needs_cellular(&mut self, app: &AppState) -> bool {
        let Some(buffer) = app.buffer else { return true };
        let missing = app.missing.map_or(0, units::Bytes::get);
        self.update_filled(buffer, missing);
        if app.done {
            return false;
        }
        if !self.is_filled {
            return true;
        }
        let bitrate = app.bitrate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0);
        missing > 0 && self.misses_deadline(buffer.as_secs_f64(), missing as f64, bitrate)
    }

    /// Predicts the buffer at the end of the segment, over the preferred paths alone and over all.
    fn misses_deadline(&self, buffer: f64, missing: f64, bitrate: f64) -> bool {
        let Some(preferred) = self.preferred.mean() else { return true };
        let all = preferred + self.cellular.mean().unwrap_or(0.0);
        let [margin, rescue] = [self.parameters.margin, self.parameters.rescue].map(Duration::as_secs_f64);
        let coverage = if bitrate > 0.0 { (preferred / bitrate).min(1.0) } else { 0.0 };
        let reserve = rescue + (margin - rescue).max(0.0) * (1.0 - coverage);
        let hysteresis = if self.is_regular { HYSTERESIS.as_secs_f64() } else { 0.0 };
        // Preferred paths slower than the video meet no deadline: each segment delays the next.
        let alone_suffice = preferred >= bitrate && buffer - missing / preferred >= rescue + hysteresis;
        !alone_suffice && buffer - missing / all < reserve + hysteresis
    }
}

impl Policy for QoePolicy {
    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.has_preferred {
            return;
        }
        let app = state.app.unwrap_or_default();
        let waits = app.missing.is_some_and(|missing| missing.get() > 0);
        let [preferred, cellular] = state.sums(|path| path.bytes_down);
        self.preferred.observe(now, preferred, waits);
        self.cellular.observe(now, cellular, waits && self.is_regular);
        let preferred_up = state.preferred_up();
        let is_regular = self.needs_cellular(&app) || !preferred_up;
        if is_regular != self.is_regular {
            debug!(
                is_regular,
                preferred_up,
                buffer = ?app.buffer,
                missing = ?app.missing,
                bitrate = ?app.bitrate,
                rate = ?self.preferred.mean(),
                "need of cellular paths changed"
            );
        }
        self.is_regular = is_regular;
        state.mark_costly(!is_regular, actions);
    }

    fn interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}
