//! Round-trip times seen in a capture: from its place to one end and back.

use crate::sketch::Sketch;
use std::collections::VecDeque;
use units::Instant;

/// Maximum number of pending entries per direction: two seconds of Linux's millisecond timestamps.
/// Further segments are not measured until an entry is answered.
const MAX_PENDING: usize = 2048;

/// A timestamp without an echo.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    value: u32,
    /// Time at which it was first seen.
    at: Instant,
    /// Whether its segment has to be acknowledged.
    is_answered: bool,
}

impl Stamp {
    /// Whether the echo at `now` measures a round trip.
    ///
    /// The peer echoes the timestamp of a pure acknowledgement in its next data, which may wait for
    /// the application. Data between the two was sent before the acknowledgement arrived, within one
    /// round trip. If the peer was silent for no longer after this data, the sample is at most twice
    /// the round trip.
    fn is_measured_by_echo(&self, now: Instant, last_data: Option<Instant>) -> bool {
        self.is_answered
            || last_data.is_some_and(|last| last > self.at && now.since(last) <= last.since(self.at))
    }
}

/// Matches one direction's segments with their answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rtt {
    stamps: VecDeque<Stamp>,
    latest_value: Option<u32>,
    /// Ends of unacknowledged new data, with the time at which each passed.
    data: VecDeque<(u64, Instant)>,
    /// Time of the latest payload in this direction.
    pub(crate) last_data: Option<Instant>,
    pub(crate) by_stamps: Sketch,
    pub(crate) by_data: Sketch,
}

impl Rtt {
    /// Records a segment with this timestamp, which has to be acknowledged if `is_answered`.
    pub(crate) fn on_timestamp(&mut self, now: Instant, value: u32, is_answered: bool) {
        if self.latest_value.is_some_and(|latest| (value.wrapping_sub(latest) as i32) <= 0) {
            return;
        }
        self.latest_value = Some(value);
        if self.stamps.len() < MAX_PENDING {
            self.stamps.push_back(Stamp { value, at: now, is_answered });
        }
    }
    /// Records the echo of a timestamp by a peer whose data was last seen at `last_data`; only the
    /// first echo counts.
    pub(crate) fn on_echo(&mut self, now: Instant, echo: u32, last_data: Option<Instant>) {
        while let Some(&stamp) = self.stamps.front() {
            let age = echo.wrapping_sub(stamp.value) as i32;
            if age < 0 {
                return;
            }
            self.stamps.pop_front();
            if age == 0 && stamp.is_measured_by_echo(now, last_data) {
                self.by_stamps.add(now.since(stamp.at));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// Round trip in ms, measured by an echo at 120 ms of a timestamp of 100 ms.
    fn measured(is_answered: bool, last_data: Option<u64>) -> Option<u64> {
        let mut rtt = Rtt::default();
        rtt.on_timestamp(at(100), 7, is_answered);
        rtt.on_echo(at(120), 7, last_data.map(at));
        rtt.by_stamps.quantiles().map(|found| found.median.as_nanos() / 1_000_000)
    }

    #[test]
    fn echo_of_a_pure_acknowledgement_counts_only_amid_data() {
        assert_eq!(measured(true, None), Some(20));
        assert_eq!(measured(false, None), None);
        assert_eq!(measured(false, Some(90)), None, "no data between them");
        assert_eq!(measured(false, Some(104)), None, "the peer paused for 16 of 20 ms");
        assert_eq!(measured(false, Some(115)), Some(20));
    }
}
