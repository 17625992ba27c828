//! The demand of a device's applications, as its byte counters show it.

use crate::DeviceState;
use crate::state::is_preferred;
use std::collections::VecDeque;
use units::{Bitrate, Duration, Instant};

/// Bytes in an interval below which it counts as a pause: acknowledgements and probes.
const MIN_BYTES: u64 = 1500;

/// What the applications ask of the network. It shows only what the paths could carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Share of the time in which data flows, from 0 to 1.
    pub activity: f64,
    /// Rate during that time, both directions and all headers.
    pub rate: Bitrate,
    /// Share of it over costly paths, from 0 to 1. Once all paths are regular it tells how far the
    /// preferred ones suffice.
    pub costly_share: f64,
    /// A video player reports its state.
    pub is_video: bool,
}

/// Measures the demand over the last [`DemandMeter::WINDOW`].
#[derive(Debug, Default)]
pub struct DemandMeter {
    /// Traffic of each interval since the first data, the latest last.
    intervals: VecDeque<Carried>,
    /// Counters of the last sample.
    carried: Option<Carried>,
    last: Option<Instant>,
    is_video: bool,
}

/// Bytes of an interval, or of counters.
#[derive(Debug, Clone, Copy, Default)]
struct Carried {
    all: u64,
    costly: u64,
}

impl Carried {
    fn of(state: &DeviceState) -> Self {
        state.paths.iter().fold(Self::default(), |sum, path| {
            let costly = if is_preferred(path.kind) { 0 } else { path.bytes() };
            Self { all: sum.all + path.bytes(), costly: sum.costly + costly }
        })
    }

    fn since(self, before: Self) -> Self {
        Self { all: self.all.saturating_sub(before.all), costly: self.costly.saturating_sub(before.costly) }
    }
}

impl DemandMeter {
    /// Time between samples.
    pub const INTERVAL: Duration = Duration::from_millis(100);
    /// Length of the measured past.
    pub const WINDOW: Duration = Duration::from_secs(20);

    /// A meter that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the counters. A sample sooner than [`Self::INTERVAL`] after the last one has no effect.
    pub fn sample(&mut self, now: Instant, state: &DeviceState) {
        if self.last.is_some_and(|last| now.since(last) < Self::INTERVAL) {
            return;
        }
        self.last = Some(now);
        self.is_video |= state.app.is_some();
        let counters = Carried::of(state);
        let carried = counters.since(self.carried.unwrap_or(counters));
        self.carried = Some(counters);
        if carried.all >= MIN_BYTES || !self.intervals.is_empty() {
            self.intervals.push_back(carried);
        }
        if self.seen() > Self::WINDOW {
            self.intervals.pop_front();
        }
    }

    /// Time since the first data, at most the window and an interval.
    pub fn seen(&self) -> Duration {
        Self::INTERVAL * self.intervals.len() as u64
    }

    /// The demand; `None` without any data in the window.
    pub fn demand(&self) -> Option<Demand> {
        let active = self.intervals.iter().filter(|carried| carried.all >= MIN_BYTES);
        let (count, bytes, costly) = active.fold((0, 0, 0), |(count, bytes, costly), carried| {
            (count + 1, bytes + carried.all, costly + carried.costly)
        });
        if count == 0 {
            return None;
        }
        let seconds = (Self::INTERVAL * count).as_secs_f64();
        Some(Demand {
            activity: count as f64 / self.intervals.len() as f64,
            rate: Bitrate::from_bps((bytes as f64 * 8.0 / seconds) as u64),
            costly_share: costly as f64 / bytes as f64,
            is_video: self.is_video,
        })
    }
}
