//! Round-trip times seen in a capture: from its place to one end and back.

use crate::sketch::Sketch;
use std::collections::VecDeque;
use units::Instant;

/// Maximum number of pending entries per direction: half a second of Linux's millisecond
/// timestamps.
const MOST: usize = 512;

/// Matches one direction's segments with their answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rtt {
    /// Timestamps without an echo, with the time at which each was first seen.
    stamps: VecDeque<(u32, Instant)>,
    /// Ends of unacknowledged new data, with the time at which each passed.
    data: VecDeque<(u64, Instant)>,
    pub(crate) by_stamps: Sketch,
    pub(crate) by_data: Sketch,
}

impl Rtt {
    /// Records a segment with this timestamp.
    pub(crate) fn stamped(&mut self, now: Instant, value: u32) {
        if let Some((last, _)) = self.stamps.back()
            && (value.wrapping_sub(*last) as i32) <= 0
        {
            return;
        }
        if self.stamps.len() == MOST {
            self.stamps.pop_front();
        }
        self.stamps.push_back((value, now));
    }
    /// Records the echo of a timestamp; only the first echo counts.
    pub(crate) fn echoed(&mut self, now: Instant, echo: u32) {
        while let Some(&(value, at)) = self.stamps.front() {
            let age = echo.wrapping_sub(value) as i32;
            if age < 0 {
                return;
            }
            self.stamps.pop_front();
            if age == 0 {
                self.by_stamps.add(now.since(at));
            }
        }
    }
    /// Records new data up to `end`.
    pub(crate) fn sent(&mut self, now: Instant, end: u64) {
        if self.data.len() < MOST {
            self.data.push_back((end, now));
        }
    }
    /// Records a retransmission: acknowledgements from here on are ambiguous (Karn).
    pub(crate) fn retransmitted(&mut self) {
        self.data.clear();
    }
    /// Records an acknowledgement up to `end`.
    pub(crate) fn acknowledged(&mut self, now: Instant, end: u64) {
        let mut newest = None;
        while let Some(&(sent, at)) = self.data.front() {
            if sent > end {
                break;
            }
            self.data.pop_front();
            newest = Some(at);
        }
        if let Some(at) = newest {
            self.by_data.add(now.since(at));
        }
    }
}
