//! The demand of a device's applications, as its byte counters show it.

use crate::{DeviceState, PathState};
use std::collections::VecDeque;
use units::{Bitrate, Bytes, Duration, Instant};

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
    /// Intervals since the first data, the latest last.
    intervals: VecDeque<Interval>,
    /// Counters of the last sample.
    counters: Option<[u64; 2]>,
    last: Option<Instant>,
    is_video: bool,
}

/// Time between two samples.
#[derive(Debug, Clone, Copy)]
struct Interval {
    length: Duration,
    /// Bytes over preferred and over costly paths.
    carried: [u64; 2],
}

impl Interval {
    fn bytes(&self) -> u64 {
        self.carried[0].saturating_add(self.carried[1])
    }

    fn is_active(&self) -> bool {
        self.bytes() >= MIN_BYTES
    }
}

impl DemandMeter {
    /// Minimum time between samples.
    pub const INTERVAL: Duration = Duration::from_millis(100);
    /// Length of the measured past.
    pub const WINDOW: Duration = Duration::from_secs(20);

    /// A meter that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the counters. A sample sooner than [`Self::INTERVAL`] after the last one has no effect.
    pub fn sample(&mut self, now: Instant, state: &DeviceState) {
        let length = self.last.map_or(Self::INTERVAL, |last| now.since(last));
        if length < Self::INTERVAL {
            return;
        }
        self.last = Some(now);
        self.is_video |= state.app.is_some();
        let counters = state.sums(PathState::bytes);
        let before = self.counters.replace(counters).unwrap_or(counters);
        let carried = [0, 1].map(|kind| counters[kind].saturating_sub(before[kind]));
        let interval = Interval { length, carried };
        if interval.is_active() || !self.intervals.is_empty() {
            self.intervals.push_back(interval);
        }
        while self.intervals.front().is_some_and(|first| self.seen() - first.length >= Self::WINDOW) {
            self.intervals.pop_front();
        }
    }

    /// Time since the first data, at most the window and an interval.
    pub fn seen(&self) -> Duration {
        total_length(self.intervals.iter())
    }

    /// The demand; `None` without any data in the window.
    pub fn demand(&self) -> Option<Demand> {
        let active = || self.intervals.iter().filter(|interval| interval.is_active());
        let active_time = total_length(active());
        if active_time.is_zero() {
            return None;
        }
        let bytes: u64 = active().map(Interval::bytes).sum();
        let costly_bytes: u64 = active().map(|interval| interval.carried[1]).sum();
        Some(Demand {
            activity: active_time.as_secs_f64() / self.seen().as_secs_f64(),
            rate: Bytes::new(bytes).per(active_time),
            costly_share: costly_bytes as f64 / bytes as f64,
            is_video: self.is_video,
        })
    }
}

fn total_length<'a>(intervals: impl Iterator<Item = &'a Interval>) -> Duration {
    intervals.fold(Duration::ZERO, |sum, interval| sum + interval.length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InterfaceKind::Wifi;

    /// Samples a device each `interval` for 40 s; data flows at 8 Mbit/s in every second interval.
    fn meter_of_half_activity(interval: Duration) -> DemandMeter {
        let (mut meter, mut state) = (DemandMeter::new(), DeviceState::new(vec![PathState::new(Wifi)]));
        let mut now = Instant::ZERO;
        for i in 0..Duration::from_secs(40).as_nanos() / interval.as_nanos() {
            meter.sample(now, &state);
            now += interval;
            state.paths[0].bytes_down += if i % 2 == 0 { interval.as_nanos() / 1000 } else { 0 };
        }
        meter
    }

    #[test]
    fn demand_is_the_same_at_any_interval_between_samples() {
        for ms in [100, 150, 300, 500] {
            let meter = meter_of_half_activity(Duration::from_millis(ms));
            let demand = meter.demand().expect("data has flowed");
            assert!((demand.activity - 0.5).abs() < 0.02, "{} at {ms} ms", demand.activity);
            assert_eq!(demand.rate, Bitrate::from_mbps(8.0), "at {ms} ms");
            let seen = meter.seen();
            assert!(seen >= DemandMeter::WINDOW && seen < DemandMeter::WINDOW + Duration::from_millis(ms));
        }
    }
}
