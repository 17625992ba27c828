//! Reserve: the playback time that a deadline leaves in the buffer.
//!
//! The reserve is small while the preferred paths carry the video's bitrate, and grows to the
//! margin as their rate falls to zero: data stuck on a failed path is sent again only after a
//! timeout, and cellular congestion windows start small. The reserve adapts: an almost empty buffer
//! raises it, a dip with playback time to spare lowers it. `docs/design/qoe.md` gives the formula
//! and the reasons.

use crate::AppState;
use units::Duration;

/// The reserve and its adaptation. All spans are in seconds.
#[derive(Debug, Clone)]
pub(super) struct Reserve {
    margin: f64,
    /// Adaptation of the margin; negative after dips with playback time to spare.
    pub(super) learned: f64,
    previous_buffer: f64,
    /// The buffer has held the margin, and cellular paths have not been regular since.
    full: bool,
    dip: Option<Dip>,
    /// The buffer is to be filled over all paths: at the start, and after it was low, until it
    /// holds the reserve or the player has been idle for
    /// [`IDLE_OBSERVATIONS`](Self::IDLE_OBSERVATIONS).
    filling: bool,
    /// Observations in a row at which the player requested nothing with a buffer that is not empty.
    idle_observations: u32,
}

/// The time from a full buffer to the next, in which cellular paths were regular.
#[derive(Debug, Clone, Copy)]
struct Dip {
    lowest_buffer: f64,
    /// Bytes received over cellular paths at its start.
    bytes_at_start: u64,
}

impl Reserve {
    /// Minimum reserve as a part of the buffer, before anything is learned.
    const MIN_PART: f64 = 0.5;
    /// Upper limit of the minimum reserve.
    const MAX_MINIMUM_S: f64 = 4.0;
    /// Learned seconds at which the minimum reserve is the whole buffer.
    const LEARNED_FOR_WHOLE_S: f64 = 4.0;
    /// Idle observations after which the player counts as having a full buffer.
    const IDLE_OBSERVATIONS: u32 = 3;
    /// A buffer below this is almost empty.
    const ALMOST_EMPTY_S: f64 = 0.5;
    /// Increase of the reserve when the buffer becomes almost empty.
    const INCREASE_S: f64 = 2.0;
    /// Upper limit of the learned increase.
    const MAX_INCREASE_S: f64 = 6.0;
    /// Decrease of the reserve, as a part of the lowest buffer of a dip.
    const DECREASE_PART: f64 = 0.5;
    /// Lower limit of the adapted margin: a retransmission timeout and the first congestion
    /// windows. A buffer below it is low.
    pub(super) const MIN_MARGIN_S: f64 = 2.0;

    /// A reserve that starts with `margin`.
    pub(super) fn new(margin: f64) -> Self {
        Self {
            margin,
            learned: 0.0,
            previous_buffer: 0.0,
            full: false,
            dip: None,
            filling: true,
            idle_observations: 0,
        }
    }

    /// True while the buffer is to be filled over all paths.
    pub(super) fn is_filling(&self) -> bool {
        self.filling
    }

    const fn min_margin(&self) -> f64 {
        Self::MIN_MARGIN_S.min(self.margin)
    }

    /// The margin as adapted: the reserve while the preferred paths carry nothing.
    const fn adapted_margin(&self) -> f64 {
        self.margin + self.learned
    }

    /// The minimum reserve, and the reserve while the preferred paths carry the part `coverage` of
    /// the video's bitrate.
    pub(super) fn seconds(&self, buffer: f64, coverage: f64) -> [f64; 2] {
        let increase = self.learned.max(0.0);
        let part = (Self::MIN_PART + (1.0 - Self::MIN_PART) * increase / Self::LEARNED_FOR_WHOLE_S).min(1.0);
        let minimum = (Self::MAX_MINIMUM_S + increase).min(part * buffer);
        let maximum = self.adapted_margin().max(minimum);
        [minimum, minimum + (maximum - minimum) * (1.0 - coverage.min(1.0))]
    }

    /// Adapts the reserve to the buffer. `cellular_bytes` were received over cellular paths since
    /// the start; `regular` tells whether these are regular.
    pub(super) fn learn(&mut self, app: &AppState, cellular_bytes: u64, regular: bool) {
        let Some(buffer) = app.buffer.map(Duration::as_secs_f64) else { return };
        self.learn_from_low_buffer(app, buffer);
        let idle = buffer > 0.0 && app.missing.is_none_or(|missing| missing.get() == 0);
        self.idle_observations = if idle { self.idle_observations.saturating_add(1) } else { 0 };
        if buffer >= self.adapted_margin() || self.idle_observations >= Self::IDLE_OBSERVATIONS {
            self.filling = false;
        }
        self.previous_buffer = buffer;
        self.learn_from_dip(app, buffer, cellular_bytes, regular);
    }

    fn learn_from_low_buffer(&mut self, app: &AppState, buffer: f64) {
        let falls_below = |level| !app.done && buffer < level && self.previous_buffer >= level;
        let almost_empty = falls_below(Self::ALMOST_EMPTY_S);
        let low = falls_below(self.min_margin());
        if almost_empty {
            self.learned = (self.learned + Self::INCREASE_S).min(Self::MAX_INCREASE_S);
        }
        if almost_empty || low {
            self.filling = true;
        }
    }

    /// Lowers the reserve after a dip, once per dip however often cellular paths became regular in
    /// it. Only a dip that began with a full buffer shows that less reserve would have been enough.
    fn learn_from_dip(&mut self, app: &AppState, buffer: f64, cellular_bytes: u64, regular: bool) {
        if regular && self.full {
            self.full = false;
            self.dip = Some(Dip { lowest_buffer: buffer, bytes_at_start: cellular_bytes });
        }
        if let Some(dip) = &mut self.dip {
            dip.lowest_buffer = dip.lowest_buffer.min(buffer);
        }
        if regular || app.done || buffer < self.margin {
            return;
        }
        self.full = true;
        // A dip without cellular data teaches nothing about cellular paths.
        if let Some(dip) = self.dip.take().filter(|dip| cellular_bytes > dip.bytes_at_start) {
            let decreased = self.learned - Self::DECREASE_PART * dip.lowest_buffer;
            self.learned = decreased.max(self.min_margin() - self.margin);
        }
    }
}
