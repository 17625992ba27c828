//! Round-trip times seen in a capture: from its place to one end and back.

use crate::sketch::Sketch;
use std::collections::VecDeque;
use units::Instant;

/// Maximum number of pending entries per direction: half a second of Linux's millisecond
/// timestamps.
const MAX_PENDING: usize = 512;

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
    pub(crate) fn on_timestamp(&mut self, now: Instant, value: u32) {
        if let Some((last, _)) = self.stamps.back()
            && (value.wrapping_sub(*last) as i32) <= 0
        {
            return;
        }
        if self.stamps.len() == MAX_PENDING {
            self.stamps.pop_front();
        }
        self.stamps.push_back((value, now));
    }
    /// Records the echo of a timestamp; only the first echo counts.
    pub(crate) fn on_echo(&mut self, now: Instant, echo: u32) {
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
    pub(crate) fn on_data(&mut self, now: Instant, end: u64) {
        if self.data.len() < MAX_PENDING {
            self.data.push_back((end, now));
        }
    }
    /// Records a retransmission: acknowledgements from here on are ambiguous (Karn).
    pub(crate) fn on_retransmission(&mut self) {
        self.data.clear();
    }
    /// Records an acknowledgement up to `end`.
    pub(crate) fn on_ack(&mut self, now: Instant, end: u64) {
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
