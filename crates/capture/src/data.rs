//! One direction of a connection at the data level: which data have been seen, and what waits beyond a gap.

use crate::seen::{Before, Seen};
use std::collections::BTreeMap;
use units::Instant;

/// Ranges of data, each of one subflow, whose owner is remembered.
const MOST_RANGES: usize = 1024;
/// Data further than this from what came last are not of this connection, or not sane (RFC 8684, section 3.8).
const FARTHEST: u64 = 1 << 31;
/// Where the first number lies: there is room on both of its sides.
const MIDDLE: u64 = 1 << 62;

/// The data that one end of a connection sends.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    /// By the key: the number before the first byte's.
    pub(crate) initial: Option<u64>,
    /// The DSN at position 0; `None` before the first.
    origin: Option<u64>,
    /// The upper half of DSNs is known, not guessed.
    upper_known: bool,
    seen: Seen,
    /// Position of the first data that was seen.
    first: Option<u64>,
    /// Position behind the furthest data that was seen.
    highest: u64,
    /// Everything before this position has come, or been acknowledged.
    in_order: Option<u64>,
    beyond: u64,
    /// The most that waited beyond a gap, and when.
    pub(crate) peak_beyond: u64,
    pub(crate) peak_at: Option<Instant>,
    /// Bytes that were new.
    pub(crate) new_bytes: u64,
    pub(crate) finished: Option<Instant>,
    /// Of MPTCP-rec, what the receiver of these data asked of each path.
    pub(crate) reports: BTreeMap<u8, Asked>,
}

/// What a receiver asked of a path by MPTCP-rec's reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) count: u64,
    pub(crate) last: u32,
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) blocks: u64,
}

impl Data {
    pub(crate) fn new() -> Self {
        Self {
            initial: None,
            origin: None,
            upper_known: false,
            seen: Seen::new(MOST_RANGES),
            first: None,
            highest: 0,
            in_order: None,
            beyond: 0,
            peak_beyond: 0,
            peak_at: None,
            new_bytes: 0,
            finished: None,
            reports: BTreeMap::new(),
        }
    }
    /// Nothing is known of it.
    pub(crate) fn is_untouched(&self) -> bool {
        self.initial.is_none() && self.origin.is_none()
    }
    /// The number before the first byte's is known from a key.
    pub(crate) fn begins_after(&mut self, initial: u64) {
        if self.initial.is_none() {
            self.initial = Some(initial);
            if self.origin.is_none() {
                self.origin = Some(initial.wrapping_sub(MIDDLE));
                self.highest = MIDDLE + 1;
                self.in_order = Some(MIDDLE + 1);
                self.upper_known = true;
            }
        }
    }
    /// How far `dsn` is from the furthest data seen, and whether all 64 bits say so, or only the lower 32 are
    /// known; `None` where nothing was seen.
    pub(crate) fn distance(&self, dsn: u64, short: bool) -> Option<(u64, bool)> {
        let highest = self.origin?.wrapping_add(self.highest);
        Some(if short || !self.upper_known {
            (u64::from((dsn as u32).wrapping_sub(highest as u32).cast_signed().unsigned_abs()), false)
        } else {
            (dsn.wrapping_sub(highest).cast_signed().unsigned_abs(), true)
        })
    }
    /// The position of a DSN as a segment has it; `None` where it is out of all bounds.
    pub(crate) fn position(&mut self, dsn: u64, short: bool) -> Option<u64> {
        let Some(origin) = self.origin else {
            self.origin = Some(dsn.wrapping_sub(MIDDLE));
            self.highest = MIDDLE;
            self.upper_known = !short;
            return Some(MIDDLE);
        };
        let near = (dsn as u32).wrapping_sub(origin.wrapping_add(self.highest) as u32).cast_signed();
        let position = self.highest.checked_add_signed(i64::from(near))?;
        if short {
            return Some(position);
        }
        if !self.upper_known {
            // The upper half was taken as zero until now.
            self.origin = Some(dsn.wrapping_sub(position));
            self.upper_known = true;
        }
        let exact = dsn.wrapping_sub(self.origin?);
        (exact == position && exact.abs_diff(self.highest) < FARTHEST).then_some(exact)
    }
    /// Data pass, brought by the subflow `owner`; `told` gets each piece's length and what was known of it.
    pub(crate) fn carried(
        &mut self,
        now: Instant,
        from: u64,
        to: u64,
        owner: u16,
        mut told: impl FnMut(u64, Before),
    ) {
        let in_order = *self.in_order.get_or_insert(from);
        self.first.get_or_insert(from);
        let (mut new, mut beyond) = (0, 0);
        self.seen.insert(from, to, owner, |from, to, before| {
            if before == Before::New {
                new += to - from;
                beyond += to.saturating_sub(from.max(in_order));
            }
            told(to - from, before);
        });
        if new == 0 {
            return;
        }
        self.new_bytes += new;
        self.beyond += beyond;
        self.highest = self.highest.max(to);
        if from <= in_order || self.seen.floor() > in_order {
            let floor = self.seen.floor();
            if from == in_order && to >= self.highest && self.beyond == to - from {
                // Nothing waited: the common case.
                self.in_order = Some(to);
                self.beyond = 0;
            } else {
                self.advance(in_order.max(floor));
            }
        }
        if self.beyond > self.peak_beyond {
            (self.peak_beyond, self.peak_at) = (self.beyond, Some(now));
        }
    }
    /// The other end says that it has everything before `ack`.
    pub(crate) fn acknowledged(&mut self, ack: u64, short: bool) {
        let Some(position) = self.position(ack, short) else { return };
        // A DATA_FIN is one beyond the data.
        let position = position.min(self.highest);
        match self.in_order {
            Some(in_order) if position > in_order => self.advance(position),
            _ => {}
        }
    }
    /// Where the data begin that are drawn: the first byte of the stream, or the first that was seen.
    pub(crate) fn progress(&self, position: u64) -> u64 {
        let first = match self.initial {
            Some(_) => MIDDLE + 1,
            None => self.first.unwrap_or(position),
        };
        position.saturating_sub(first)
    }
    /// The data's beginning was seen, or is known.
    pub(crate) fn knows_beginning(&self) -> bool {
        self.initial.is_some()
    }
    /// Bytes that were never seen but count as such.
    pub(crate) fn forgotten(&self) -> u64 {
        self.seen.forgotten()
    }
    /// Data that are still missing at the end: between what came in order and what came furthest.
    pub(crate) fn missing(&self) -> u64 {
        self.in_order.map_or(0, |from| self.highest.saturating_sub(from).saturating_sub(self.beyond))
    }

    fn advance(&mut self, least: u64) {
        let in_order = self.seen.contiguous(least);
        self.in_order = Some(in_order);
        self.beyond = self.seen.between(in_order, u64::MAX);
    }
}
