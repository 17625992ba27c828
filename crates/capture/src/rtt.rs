//! Round-trip times as a capture shows them: from the place where it was taken to one end and back.

use crate::sketch::Sketch;
use std::collections::VecDeque;
use units::Instant;

/// What is awaited of one direction at most. Linux counts its timestamps in milliseconds: half a second of them.
const MOST: usize = 512;

/// Waits for the answers to one direction's segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rtt {
    /// Timestamps that were not echoed yet, each with when it was first seen.
    stamps: VecDeque<(u32, Instant)>,
    /// Ends of new data that were not acknowledged yet, each with when it passed.
    data: VecDeque<(u64, Instant)>,
    pub(crate) by_stamps: Sketch,
    pub(crate) by_data: Sketch,
}

impl Rtt {
    /// A segment with this timestamp passes.
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
    /// The other end echoes a timestamp: its first echo counts.
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
    /// New data up to `end` passes.
    pub(crate) fn sent(&mut self, now: Instant, end: u64) {
        if self.data.len() < MOST {
            self.data.push_back((end, now));
        }
    }
    /// Data was sent again: what is acknowledged from here on may be either (Karn).
    pub(crate) fn sent_again(&mut self) {
        self.data.clear();
    }
    /// The other end acknowledges everything up to `end`.
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
