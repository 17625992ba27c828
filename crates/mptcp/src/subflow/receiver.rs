//! Receive half of a subflow: the ranges received, and when to acknowledge.

use super::sack_compression::SackCompression;
use crate::Config;
use units::{Duration, Instant};
use wire::SackBlocks;

/// Segments acknowledged at once at the start (Linux `TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;
/// Most ranges beyond a gap. A segment that would add another is dropped.
const MAX_RANGES: usize = 1024;
/// Age at which the peer's timestamp is no longer used for PAWS (RFC 7323, section 5.5).
const MAX_CLOCK_AGE: Duration = Duration::from_secs(24 * 86_400);

/// Position of a segment relative to the data received before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// All of it was received before.
    Duplicate,
    /// The next bytes; `filled` if there was data beyond a gap.
    InOrder { filled: bool },
    /// Beyond a gap.
    OutOfOrder,
}

/// Receive state, in subflow offsets (see [`crate::seq`]).
#[derive(Debug, Clone, Default)]
pub(crate) struct Receiver {
    /// Next offset expected in order.
    next: u64,
    /// Offset of the peer's FIN, once received.
    fin_at: Option<u64>,
    /// Ranges received beyond a gap, the most recently changed first (RFC 2018, section 4).
    ranges: Vec<(u64, u64)>,
    acks: AckSchedule,
    clock: PeerClock,
    dsack: Dsack,
    /// A CE mark arrived, and no CWR has answered it (RFC 3168, section 6.1.3).
    echo_ce: bool,
    /// Round-trip time measured by a receiver that sends no data.
    rtt: Option<Duration>,
    /// Timestamp echoed by the last segment that gave a sample.
    last_echo: u32,
}

/// Delayed acknowledgements (RFC 5681, section 4.2).
#[derive(Debug, Clone)]
struct AckSchedule {
    /// An acknowledgement must be sent now.
    due_now: bool,
    /// When the delayed acknowledgement is due; [`Instant::MAX`] for none.
    delayed_until: Instant,
    /// Bytes and segments received since the last acknowledgement.
    bytes: u64,
    segments: u32,
    /// Acknowledgements of the start that are still sent at once.
    quick: u32,
    /// Offset last acknowledged.
    last_sent: u64,
    /// When data in order may be acknowledged again.
    next_at: Instant,
    /// Shortest time between acknowledgements of data in order.
    coalescing: Duration,
    compression: Option<Box<SackCompression>>,
}

impl Default for AckSchedule {
    fn default() -> Self {
        Self {
            due_now: false,
            delayed_until: Instant::MAX,
            bytes: 0,
            segments: 0,
            quick: 0,
            last_sent: 0,
            next_at: Instant::ZERO,
            coalescing: Duration::ZERO,
            compression: None,
        }
    }
}

/// The peer's timestamp, to be echoed (RFC 7323, section 4.3).
#[derive(Debug, Clone, Default)]
struct PeerClock {
    value: u32,
    received_at: Instant,
}

/// Duplicate SACK (RFC 2883).
#[derive(Debug, Clone, Default)]
struct Dsack {
    enabled: bool,
    /// Range received twice and not reported yet.
    range: Option<Box<(u64, u64)>>,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        let quick = if config.quickack { QUICK_ACKS } else { 0 };
        Self {
            acks: AckSchedule {
                quick,
                coalescing: config.ack_coalescing,
                compression: SackCompression::new(config.sack_compression),
                ..AckSchedule::default()
            },
            dsack: Dsack { enabled: config.dsack && config.sack, range: None },
            ..Self::default()
        }
    }

    /// The handshake begins: the peer's SYN takes offset 0.
    pub(super) fn start(&mut self) {
        self.next = 1;
    }

    /// Next offset expected in order.
    #[inline]
    pub(crate) fn next_offset(&self) -> u64 {
        self.next
    }

    /// This end has acknowledged more than the bytes before `end`: a segment that ends there is out of
    /// the window (RFC 9293, section 3.10.7.4; Linux `rcv_wup`).
    pub(crate) fn is_acknowledged(&self, end: u64) -> bool {
        end < self.acks.last_sent
    }

    /// `len` bytes arrived in order, with nothing beyond a gap.
    #[inline]
    pub(crate) fn advance(&mut self, len: u64) {
        self.next += len;
    }

    /// Records the arrival of `[from, to)`.
    pub(crate) fn record(&mut self, from: u64, to: u64) -> Arrival {
        let known = if from < self.next { Some((from, to.min(self.next))) } else { None };
        if self.dsack.enabled && known.is_some() {
            self.dsack.range = known.map(Box::new);
        }
        if to <= self.next {
            return Arrival::Duplicate;
        }
        if from > self.next {
            let new = self.merge(from, to);
            if self.dsack.enabled && !new {
                self.dsack.range = Some(Box::new((from, to)));
            }
            return if new { Arrival::OutOfOrder } else { Arrival::Duplicate };
        }
        self.next = to;
        let filled = !self.ranges.is_empty();
        if filled {
            // Each range that the new bytes reach may reach further ranges.
            while let Some(i) = self.ranges.iter().position(|&(left, _)| left <= self.next) {
                let (_, right) = self.ranges.remove(i);
                self.next = self.next.max(right);
            }
        }
        Arrival::InOrder { filled }
    }

    /// Whether no byte of `[from, to)` was received before.
    #[inline]
    pub(crate) fn is_new(&self, from: u64, to: u64) -> bool {
        from >= self.next && self.ranges.iter().all(|&(left, right)| to <= left || right <= from)
    }

    /// The parts of `[from, to)` not received yet.
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
    /// Returns false if all of it was received before.
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

    /// Takes a round-trip sample from `echo`, the echo of this end's clock, which now reads
    /// `now_ms`. As in Linux (`tcp_rcv_rtt_measure_ts`), only the first segment with an echo answers
    /// at once, and it counts if it has data; a shorter sample counts at once and a longer one by an
    /// eighth. Returns the sample.
    pub(crate) fn sample_rtt(&mut self, now_ms: u32, echo: u32, has_data: bool) -> Option<Duration> {
        if echo == 0 || core::mem::replace(&mut self.last_echo, echo) == echo || !has_data {
            return None;
        }
        let sample = Duration::from_millis(u64::from(now_ms.wrapping_sub(echo)).clamp(1, 60_000));
        self.rtt = Some(self.rtt.map_or(sample, |rtt| sample.min((rtt * 7 + sample) / 8)));
        Some(sample)
    }

    /// Round-trip time measured from the data received.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Data was received beyond a gap.
    pub(crate) fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Ranges received beyond a gap.
    pub(crate) fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// No further range beyond a gap fits.
    pub(crate) fn is_full(&self) -> bool {
        self.ranges.len() >= MAX_RANGES
    }

    /// The peer's FIN arrived at `offset`.
    pub(crate) fn on_fin(&mut self, offset: u64) {
        self.fin_at.get_or_insert(offset);
        self.record(offset, offset + 1);
        self.request_ack();
    }

    /// The peer's FIN was received, in order or not.
    #[inline]
    pub(crate) fn has_fin(&self) -> bool {
        self.fin_at.is_some()
    }

    /// Data that ends at `offset` lies after the peer's FIN.
    pub(crate) fn is_beyond_fin(&self, offset: u64) -> bool {
        self.fin_at.is_some_and(|fin| offset > fin)
    }

    /// The peer's FIN and all data before it were received.
    pub(crate) fn fin_reached(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.next > fin)
    }
}

/// Acknowledgements.
impl Receiver {
    /// Schedules the acknowledgement of data that just arrived (RFC 5681, section 4.2): at once if
    /// it is out of order, closes a gap, repeats, or is the second full segment; else within
    /// `delay`. Data in order is acknowledged no more often than once per coalescing time, and data
    /// beyond a gap may share acknowledgements.
    pub(crate) fn schedule_ack(
        &mut self,
        now: Instant,
        arrival: Arrival,
        len: u64,
        mss: u64,
        delay: Duration,
    ) {
        let quick = self.acks.quick > 0;
        let compressed_until = if quick { None } else { self.compress_ack(now, arrival, mss) };
        let acks = &mut self.acks;
        acks.bytes += len;
        acks.segments += 1;
        acks.quick = acks.quick.saturating_sub(1);
        if let Some(until) = compressed_until {
            acks.delayed_until = acks.delayed_until.min(until);
            return;
        }
        let at_once = quick
            || !matches!(arrival, Arrival::InOrder { filled: false })
            || acks.segments >= 2
            || acks.bytes >= 2 * mss
            || delay.is_zero();
        let in_order = matches!(arrival, Arrival::InOrder { filled: false });
        if at_once && in_order && acks.next_at > now {
            acks.delayed_until = acks.delayed_until.min(acks.next_at);
        } else if at_once {
            acks.due_now = true;
        } else if acks.delayed_until == Instant::MAX {
            acks.delayed_until = now + delay;
        }
    }

    /// Returns when to acknowledge the segment that just arrived, if compression delays that: it
    /// lies beyond a gap, and no more than a segment was received in order.
    fn compress_ack(&mut self, now: Instant, arrival: Arrival, mss: u64) -> Option<Instant> {
        let compression = self.acks.compression.as_mut()?;
        let applies = !self.ranges.is_empty()
            && arrival != Arrival::Duplicate
            && self.next - self.acks.last_sent <= mss;
        if applies { compression.delay(self.next, self.rtt).map(|delay| now + delay) } else { None }
    }

    /// The sender counts duplicate acknowledgements: each segment beyond a gap gets its own.
    pub(super) fn stop_compression(&mut self) {
        self.acks.compression = None;
    }

    /// The next segment is acknowledged at once, as at the start.
    pub(crate) fn acknowledge_next_at_once(&mut self) {
        self.acks.quick = self.acks.quick.max(1);
    }

    /// Requests an acknowledgement at once.
    #[inline]
    pub(crate) fn request_ack(&mut self) {
        self.acks.due_now = true;
    }

    /// An acknowledgement must be sent now.
    #[inline]
    pub(crate) fn ack_due(&self) -> bool {
        self.acks.due_now
    }

    /// When the delayed acknowledgement is due; [`Instant::MAX`] for none.
    #[inline]
    pub(crate) fn delayed_ack_at(&self) -> Instant {
        self.acks.delayed_until
    }

    /// Makes the delayed acknowledgement due if its time has come. Returns true if it has.
    pub(crate) fn expire_delayed_ack(&mut self, now: Instant) -> bool {
        let expired = self.acks.delayed_until <= now;
        if expired {
            self.acks.delayed_until = Instant::MAX;
            self.acks.due_now = true;
        }
        expired
    }

    pub(super) fn stop_delayed_ack(&mut self) {
        self.acks.delayed_until = Instant::MAX;
    }

    pub(super) fn cancel_ack(&mut self) {
        self.acks.delayed_until = Instant::MAX;
        self.acks.due_now = false;
    }

    /// A segment with an acknowledgement is sent.
    pub(crate) fn on_ack_sent(&mut self, now: Instant) {
        let acks = &mut self.acks;
        acks.next_at = now + acks.coalescing;
        acks.due_now = false;
        acks.delayed_until = Instant::MAX;
        acks.bytes = 0;
        acks.segments = 0;
        acks.last_sent = self.next;
        if let Some(compression) = &mut acks.compression {
            compression.on_ack_sent();
        }
    }

    /// Returns at most `max` SACK blocks, newest first, in sequence numbers relative to `start`.
    /// A range received twice comes first, and once (RFC 2883, section 4).
    pub(crate) fn sack_blocks(&mut self, start: u32, max: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let duplicate = self.dsack.range.take().map(|range| *range);
        for (left, right) in duplicate.into_iter().chain(self.ranges.iter().copied()).take(max) {
            blocks.push(start.wrapping_add(left as u32), start.wrapping_add(right as u32));
        }
        blocks
    }

    /// [`sack_blocks`](Self::sack_blocks) would not be empty.
    #[inline]
    pub(crate) fn has_sack_blocks(&self) -> bool {
        !self.ranges.is_empty() || self.dsack.range.is_some()
    }

    /// Handles CWR and CE of a segment (RFC 3168, section 6.1.3). The first mark is echoed at once.
    pub(super) fn on_ecn(&mut self, cwr: bool, ce: bool) {
        if cwr {
            self.echo_ce = false;
        }
        if ce {
            self.acks.due_now |= !self.echo_ce;
            self.echo_ce = true;
        }
    }

    /// Acknowledgements carry ECE.
    pub(crate) fn echoes_ce(&self) -> bool {
        self.echo_ce
    }
}

/// The peer's timestamp clock.
impl Receiver {
    /// Stores the timestamp of the peer's SYN.
    pub(super) fn set_initial_clock(&mut self, value: u32) {
        self.clock.value = value;
    }

    /// Stores the timestamp of a segment at `offset` if it is to be echoed (RFC 7323, section 4.3).
    #[inline]
    pub(crate) fn update_clock(&mut self, now: Instant, offset: u64, value: u32) {
        if offset <= self.acks.last_sent.max(1) && !self.is_outdated(now, value) {
            self.clock = PeerClock { value, received_at: now };
        }
    }

    /// `value` is not older than the latest timestamp.
    #[inline]
    pub(crate) fn is_clock_current(&self, value: u32) -> bool {
        value.wrapping_sub(self.clock.value) as i32 >= 0
    }

    /// `value` is newer than the latest timestamp.
    pub(super) fn is_clock_newer(&self, value: u32) -> bool {
        value.wrapping_sub(self.clock.value) as i32 > 0
    }

    /// `value` is older than the latest timestamp, which is recent enough to compare with.
    pub(super) fn is_outdated(&self, now: Instant, value: u32) -> bool {
        !self.is_clock_current(value) && now.since(self.clock.received_at) < MAX_CLOCK_AGE
    }

    /// Timestamp to be echoed.
    #[inline]
    pub(crate) fn clock_to_echo(&self) -> u32 {
        self.clock.value
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
    fn sack_blocks_are_newest_first_and_merge() {
        let mut r = receiver();
        assert_eq!(r.record(11, 21), Arrival::OutOfOrder);
        assert_eq!(r.record(31, 41), Arrival::OutOfOrder);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(131, 141), (111, 121)]);
        assert_eq!(r.record(21, 31), Arrival::OutOfOrder);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(111, 141)]);
        assert_eq!(r.record(15, 18), Arrival::Duplicate);
        assert_eq!(r.record(1, 11), Arrival::InOrder { filled: true });
        assert_eq!(r.next, 41);
        assert!(!r.has_sack_blocks());
        assert_eq!(r.record(1, 11), Arrival::Duplicate);
    }

    #[test]
    fn round_trip_counts_from_data_that_first_echoes_a_time() {
        let mut r = receiver();
        assert_eq!(r.sample_rtt(130, 100, false), None, "an acknowledgement has used the echo up");
        assert_eq!(r.sample_rtt(140, 100, true), None);
        assert_eq!(r.sample_rtt(150, 110, true), Some(Duration::from_millis(40)));
        assert_eq!(r.rtt(), Some(Duration::from_millis(40)));
        r.sample_rtt(200, 120, true);
        assert_eq!(r.rtt(), Some(Duration::from_millis(45)), "a longer one counts by an eighth");
        r.sample_rtt(200, 170, true);
        assert_eq!(r.rtt(), Some(Duration::from_millis(30)), "a shorter one counts at once");
    }

    #[test]
    fn coalescing_does_not_postpone_an_earlier_acknowledgement() {
        let config = Config { ack_coalescing: Duration::from_micros(50), ..Config::default() };
        let mut r = Receiver { next: 1, ..Receiver::new(&config) };
        let (start, delay) = (Instant::from_secs(1), Duration::from_micros(20));
        r.on_ack_sent(start);
        for n in 0..2 {
            let arrival = r.record(1 + 1000 * n, 1001 + 1000 * n);
            r.schedule_ack(start + Duration::from_micros(n), arrival, 1000, 1000, delay);
        }
        assert_eq!(r.delayed_ack_at(), start + delay);
    }

    #[test]
    fn first_sixteen_segments_are_acknowledged_at_once_with_quickack() {
        let mut r = Receiver { next: 1, ..Receiver::new(&Config { quickack: true, ..Config::default() }) };
        let (now, delay) = (Instant::from_secs(1), Duration::from_millis(40));
        for n in 0..17 {
            let arrival = r.record(1 + 1000 * n, 1001 + 1000 * n);
            r.schedule_ack(now, arrival, 1000, 1000, delay);
            assert_eq!(r.ack_due(), n < 16);
            r.on_ack_sent(now);
        }
    }

    #[test]
    fn data_in_order_is_acknowledged_once_per_coalescing_time() {
        let coalescing = Duration::from_micros(50);
        let mut r = Receiver {
            next: 1,
            ..Receiver::new(&Config { ack_coalescing: coalescing, ..Config::default() })
        };
        let start = Instant::from_secs(1);
        let delay = Duration::from_millis(40);
        let receive = |r: &mut Receiver, now, from| {
            let arrival = r.record(from, from + 1000);
            r.schedule_ack(now, arrival, 1000, 1000, delay);
            r.ack_due()
        };
        assert!(!receive(&mut r, start, 1) && receive(&mut r, start, 1001));
        r.on_ack_sent(start);
        let soon = start + Duration::from_micros(20);
        assert!(!receive(&mut r, soon, 2001) && !receive(&mut r, soon, 3001));
        assert_eq!(r.delayed_ack_at(), start + coalescing);
        assert!(receive(&mut r, soon, 9001), "a gap is reported at once");
    }

    #[test]
    fn duplicate_range_is_reported_first_and_once() {
        let mut r = Receiver { next: 21, dsack: Dsack { enabled: true, range: None }, ..Receiver::default() };
        assert_eq!(r.record(11, 21), Arrival::Duplicate);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(111, 121)]);
        assert!(!r.has_sack_blocks());
        r.record(31, 41);
        r.record(51, 61);
        // A duplicate within a block beyond the gap is followed by that block (RFC 2883, section
        // 4.2).
        r.record(33, 36);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(133, 136), (131, 141), (151, 161)]);
        // Only a part of the segment is a duplicate.
        assert_eq!(r.record(16, 26), Arrival::InOrder { filled: true });
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(116, 121), (131, 141), (151, 161)]);
        assert_eq!(r.sack_blocks(100, 4).as_slice(), [(131, 141), (151, 161)]);
    }

    #[test]
    fn ce_mark_is_echoed_until_cwr() {
        let mut r = receiver();
        r.on_ecn(false, true);
        assert!(r.ack_due() && r.echoes_ce());
        r.on_ack_sent(Instant::from_secs(1));
        r.on_ecn(false, true);
        assert!(!r.ack_due() && r.echoes_ce());
        r.on_ecn(true, false);
        assert!(!r.echoes_ce());
    }

    #[test]
    fn old_timestamp_is_outdated_for_24_days() {
        let mut r = receiver();
        let start = Instant::from_secs(1);
        r.update_clock(start, 1, 1000);
        assert!(r.is_outdated(start, 999) && !r.is_outdated(start, 1000));
        assert!(!r.is_outdated(start + MAX_CLOCK_AGE, 999));
        // Beyond the last acknowledgement: not echoed.
        r.update_clock(start, 2, 2000);
        assert_eq!(r.clock_to_echo(), 1000);
        r.update_clock(start, 1, 999);
        assert_eq!(r.clock_to_echo(), 1000);
        // After 24 days any time is newer (RFC 7323, section 5.5).
        r.update_clock(start + MAX_CLOCK_AGE, 1, 999);
        assert_eq!(r.clock_to_echo(), 999);
    }

    #[test]
    fn second_segment_is_acknowledged_at_once() {
        let mut r = receiver();
        let (now, delay) = (Instant::from_secs(1), Duration::from_millis(40));
        let arrival = r.record(1, 1001);
        r.schedule_ack(now, arrival, 1000, 1000, delay);
        assert_eq!((r.ack_due(), r.delayed_ack_at()), (false, now + delay));
        let arrival = r.record(1001, 2001);
        r.schedule_ack(now, arrival, 1000, 1000, delay);
        assert!(r.ack_due());
    }

    proptest! {
        #[test]
        fn ranges_in_any_order_match_a_bitmap(pieces in prop::collection::vec((0_u64..60, 1_u64..12), 1..60)) {
            let mut r = receiver();
            let mut seen = [false; 80];
            for (from, len) in pieces {
                let known = (from..from + len).all(|i| seen[i as usize]);
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
