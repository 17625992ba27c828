//! The demand of a device's applications, as its byte counters show it.

use crate::{DeviceState, PathState};
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
    /// Bytes over preferred and over costly paths in each interval since the first data, the latest
    /// last.
    intervals: VecDeque<[u64; 2]>,
    /// Counters of the last sample.
    counters: Option<[u64; 2]>,
    last: Option<Instant>,
    is_video: bool,
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
        let counters = state.sums(PathState::bytes);
        let before = self.counters.replace(counters).unwrap_or(counters);
        let carried = [0, 1].map(|kind| counters[kind].saturating_sub(before[kind]));
        if is_active(&carried) || !self.intervals.is_empty() {
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
        let active = self.intervals.iter().filter(|carried| is_active(carried));
        let (count, bytes, costly_bytes) =
            active.fold((0, 0, 0), |(count, bytes, costly_bytes), [preferred, costly]| {
                (count + 1, bytes + preferred + costly, costly_bytes + costly)
            });
        if count == 0 {
            return None;
        }
        let seconds = (Self::INTERVAL * count).as_secs_f64();
        Some(Demand {
            activity: count as f64 / self.intervals.len() as f64,
            rate: Bitrate::from_bps((bytes as f64 * 8.0 / seconds) as u64),
            costly_share: costly_bytes as f64 / bytes as f64,
            is_video: self.is_video,
        })
    }
}

fn is_active([preferred, costly]: &[u64; 2]) -> bool {
    preferred.saturating_add(*costly) >= MIN_BYTES
}
