//! The receiving half of a subflow: what has come, and what to acknowledge when.

use crate::Config;
use units::{Duration, Instant};
use wire::SackBlocks;

/// Segments of the start that are acknowledged at once (Linux `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;

/// How a segment stood to what had come before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Nothing new in it.
    Duplicate,
    /// The next bytes; `filled` if a gap closed or still lies beyond.
    InOrder { filled: bool },
    /// Beyond a gap.
    OutOfOrder,
}

/// Receive state in subflow offsets (see [`crate::seq`]). In the order of use, as [`Sender`](super::Sender).
#[derive(Debug, Clone, Default)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next offset expected in order.
    pub(crate) next: u64,
    /// When a delayed acknowledgement is due.
    pub(crate) ack_at: Option<Instant>,
    /// Where the peer's FIN stands, once seen.
    pub(crate) fin_at: Option<u64>,
    /// Bytes that arrived in order since the last acknowledgement went out.
    unacked: u64,
    segments_unacked: u32,
    /// Acknowledgements of the start that still go at once.
    quick: u32,
    /// Acknowledgement number last sent, as offset.
    pub(crate) last_ack_sent: u64,
    /// When it was heard last.
    pub(crate) peer_clock_at: Instant,
    /// The peer's clock, to be echoed (RFC 7323, section 4.3).
    pub(crate) peer_clock: u32,
    /// An acknowledgement must go out now.
    pub(crate) ack_now: bool,
    /// A mark came, and the peer has not told that it heeds it (RFC 3168, section 6.1.3).
    pub(crate) marked: bool,
    /// Tell what came twice (RFC 2883).
    dsack: bool,
    /// What has come beyond a gap, the most recently touched first (RFC 2018, section 4).
    ranges: Vec<(u64, u64)>,
    /// What came twice and is still to be told.
    twice: Option<(u64, u64)>,
    /// The round trip as data shows it that answers an acknowledgement, for a receiver that sends none.
    pub(crate) rtt: Option<Duration>,
    echoed: u32,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let quick = if config.quickack { QUICK_ACKS } else { 0 };
        Self { dsack: config.dsack && config.sack, quick, ..Self::default() }
    }

    /// Records the arrival of `[from, to)`.
    pub(crate) fn record(&mut self, from: u64, to: u64) -> Arrival {
        let known = if from < self.next { Some((from, to.min(self.next))) } else { None };
        if self.dsack && known.is_some() {
            self.twice = known;
        }
        if to <= self.next {
            return Arrival::Duplicate;
        }
        if from > self.next {
            let new = self.merge(from, to);
            if self.dsack && !new {
                self.twice = Some((from, to));
            }
            return if new { Arrival::OutOfOrder } else { Arrival::Duplicate };
        }
        self.next = to;
        let filled = !self.ranges.is_empty();
        if filled {
            // A range may now be reachable; taking one may make another so.
            while let Some(i) = self.ranges.iter().position(|&(left, _)| left <= self.next) {
                let (_, right) = self.ranges.remove(i);
                self.next = self.next.max(right);
            }
        }
        Arrival::InOrder { filled }
    }

    /// What of `[from, to)` has not come yet.
    pub(crate) fn missing(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut missing = vec![(from.max(self.next), to)];
        for &(left, right) in &self.ranges {
            let parts = |(from, to): (u64, u64)| [(from, to.min(left)), (from.max(right), to)];
            missing = missing.into_iter().flat_map(parts).filter(|(from, to)| from < to).collect();
        }
        missing.retain(|(from, to)| from < to);
        missing
    }

    /// Merges `[from, to)` with the ranges beyond the gap and moves the result to the front.
    /// False if all of it was there.
    fn merge(&mut self, from: u64, to: u64) -> bool {
        let (mut left, mut right) = (from, to);
        if let Some(i) = self.ranges.iter().position(|&(l, r)| l <= from && to <= r) {
            let known = self.ranges.remove(i);
            self.ranges.insert(0, known);
            return false;
        }
        self.ranges.retain(|&(l, r)| {
            let touches = l <= right && left <= r;
            if touches {
                left = left.min(l);
                right = right.max(r);
            }
            !touches
        });
        self.ranges.insert(0, (left, right));
        true
    }

    /// Data came with this echo of our clock, which stands at `now_ms` (as Linux, smoothed by eighths).
    /// Gives the sample, if it is one.
    pub(crate) fn measure(&mut self, now_ms: u32, echo: u32) -> Option<Duration> {
        // Only the first with an echo answers at once.
        if echo == 0 || echo == self.echoed {
            return None;
        }
        self.echoed = echo;
        let sample = Duration::from_millis(u64::from(now_ms.wrapping_sub(echo)).clamp(1, 60_000));
        self.rtt = Some(self.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8));
        Some(sample)
    }

    /// Something has come beyond what has not.
    pub(crate) fn misses(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The peer's FIN, if everything before it has come.
    pub(crate) fn fin_reached(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.next > fin)
    }

    /// Decides when to acknowledge data that just came (RFC 5681, section 4.2): at once where it is
    /// out of order, closes a gap, repeats, or is the second full-sized segment; else within `delay`.
    pub(crate) fn schedule_ack(
        &mut self,
        now: Instant,
        arrival: Arrival,
        len: u64,
        mss: u64,
        delay: Duration,
    ) {
        self.unacked += len;
        self.segments_unacked += 1;
        let quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        let at_once = quick
            || !matches!(arrival, Arrival::InOrder { filled: false })
            || self.segments_unacked >= 2
            || self.unacked >= 2 * mss
            || delay.is_zero();
        if at_once {
            self.ack_now = true;
        } else if self.ack_at.is_none() {
            self.ack_at = Some(now + delay);
        }
    }

    /// An acknowledgement goes out, whatever carries it.
    pub(crate) fn acked(&mut self) {
        self.ack_now = false;
        self.ack_at = None;
        self.unacked = 0;
        self.segments_unacked = 0;
        self.last_ack_sent = self.next;
    }

    /// The first `most` SACK blocks, newest first, in wire numbers counted from `start`: before them,
    /// once, what came twice (RFC 2883, section 4).
    pub(crate) fn sack_blocks(&mut self, start: u32, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let twice = self.twice.take();
        for (left, right) in twice.into_iter().chain(self.ranges.iter().copied()).take(most) {
            blocks.push(start.wrapping_add(left as u32), start.wrapping_add(right as u32));
        }
        blocks
    }

    /// Is there anything for [`sack_blocks`](Self::sack_blocks) to tell?
    pub(crate) fn has_blocks(&self) -> bool {
        !self.ranges.is_empty() || self.twice.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn receiver() -> Receiver {
        Receiver { next: 1, ..Receiver::default() }
    }

    #[test]
    fn blocks_are_newest_first_and_merge() {
        let mut r = receiver();
        assert_eq!(r.record(11, 21), Arrival::OutOfOrder);
        assert_eq!(r.record(31, 41), Arrival::OutOfOrder);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(131, 141), (111, 121)]);
        assert_eq!(r.record(21, 31), Arrival::OutOfOrder);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(111, 141)]);
        assert_eq!(r.record(15, 18), Arrival::Duplicate);
        assert_eq!(r.record(1, 11), Arrival::InOrder { filled: true });
        assert_eq!(r.next, 41);
        assert!(!r.has_blocks());
        assert_eq!(r.record(1, 11), Arrival::Duplicate);
    }

    #[test]
    fn with_quick_acknowledgements_the_start_is_not_delayed() {
        let mut r = Receiver { next: 1, ..Receiver::new(&Config { quickack: true, ..Config::default() }) };
        let (now, delay) = (Instant::from_secs(1), Duration::from_millis(40));
        for n in 0..17 {
            let arrival = r.record(1 + 1000 * n, 1001 + 1000 * n);
            r.schedule_ack(now, arrival, 1000, 1000, delay);
            assert_eq!(r.ack_now, n < 16);
            r.acked();
        }
    }

    #[test]
    fn what_came_twice_is_told_once_and_first() {
        let mut r = Receiver { next: 21, dsack: true, ..Receiver::default() };
        assert_eq!(r.record(11, 21), Arrival::Duplicate);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(111, 121)]);
        assert!(!r.has_blocks());
        r.record(31, 41);
        r.record(51, 61);
        // Within a block beyond the gap: that block follows (RFC 2883, section 4.2).
        r.record(33, 36);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(133, 136), (131, 141), (151, 161)]);
        // In part.
        assert_eq!(r.record(16, 26), Arrival::InOrder { filled: true });
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(116, 121), (131, 141), (151, 161)]);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(131, 141), (151, 161)]);
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once() {
        let mut r = receiver();
        let (now, delay) = (Instant::from_secs(1), Duration::from_millis(40));
        let arrival = r.record(1, 1001);
        r.schedule_ack(now, arrival, 1000, 1000, delay);
        assert_eq!((r.ack_now, r.ack_at), (false, Some(now + delay)));
        let arrival = r.record(1001, 2001);
        r.schedule_ack(now, arrival, 1000, 1000, delay);
        assert!(r.ack_now);
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_add_up(pieces in prop::collection::vec((0_u64..60, 1_u64..12), 1..60)) {
            let mut r = receiver();
            let mut seen = [false; 80];
            for (from, len) in pieces {
                let known = (from..from + len).all(|i| seen[i as usize] );
                let missing: Vec<u64> =
                    r.missing(1 + from, 1 + from + len).into_iter().flat_map(|(a, b)| a - 1..b - 1).collect();
                let new: Vec<u64> = (from..from + len).filter(|&i| !seen[i as usize]).collect();
                prop_assert_eq!(missing.len(), new.len());
                prop_assert!(new.iter().all(|i| missing.contains(i)));
                let arrival = r.record(1 + from, 1 + from + len);
                prop_assert_eq!(arrival == Arrival::Duplicate, known);
                (from..from + len).for_each(|i| seen[i as usize] = true);
                let prefix = seen.iter().take_while(|&&s| s).count() as u64;
                prop_assert_eq!(r.next, 1 + prefix);
                let beyond: u64 = r.ranges.iter().map(|(l, r)| r - l).sum();
                prop_assert_eq!(prefix + beyond, seen.iter().filter(|&&s| s).count() as u64);
            }
        }
    }
}
