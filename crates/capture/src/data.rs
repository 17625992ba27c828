//! One direction of a connection at data level: seen data, and data beyond a gap.

use crate::seen::{Before, Seen};
use core::ops::Range;
use std::collections::BTreeMap;
use units::Instant;

/// Maximum number of remembered ranges, each with the subflow that brought it.
const MAX_RANGES: usize = 1024;
/// Distance from the latest data beyond which data is ignored: it belongs to another connection or
/// is invalid (RFC 8684, section 3.8).
const MAX_DISTANCE: u64 = 1 << 31;
/// Position of the first DSN; earlier and later data fit on both sides of it.
const FIRST_POSITION: u64 = 1 << 62;

/// Data sent by one end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    /// Number before the first byte's, derived from the key.
    pub(crate) initial: Option<u64>,
    /// DSN at position 0; `None` before the first data.
    origin: Option<u64>,
    /// True if the upper half of the DSNs is known rather than assumed.
    upper_known: bool,
    seen: Seen,
    /// Position of the first byte seen.
    first: Option<u64>,
    /// Position after the furthest byte seen.
    highest: u64,
    /// Position before which everything was seen or acknowledged.
    in_order: Option<u64>,
    beyond: u64,
    /// Maximum of bytes beyond a gap, and its time.
    pub(crate) peak_beyond: u64,
    pub(crate) peak_at: Option<Instant>,
    /// New bytes.
    pub(crate) new_bytes: u64,
    pub(crate) finished: Option<Instant>,
    /// MPTCP-rec: the receiver's requests per path.
    pub(crate) rate_requests: BTreeMap<u8, RateRequests>,
}

/// Rates that a receiver requests for one path, in MPTCP-rec's reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateRequests {
    pub(crate) count: u64,
    pub(crate) last: u32,
    pub(crate) least: u32,
    pub(crate) most: u32,
    pub(crate) blocks: u64,
}

impl RateRequests {
    pub(crate) const fn new(rate: u32) -> Self {
        Self { count: 0, last: rate, least: rate, most: rate, blocks: 0 }
    }
    /// Counts a report with a rate and a number of blocks.
    pub(crate) fn add(&mut self, rate: u32, blocks: u64) {
        self.count += 1;
        self.last = rate;
        self.least = self.least.min(rate);
        self.most = self.most.max(rate);
        self.blocks += blocks;
    }
}

impl Data {
    pub(crate) fn new() -> Self {
        Self {
            initial: None,
            origin: None,
            upper_known: false,
            seen: Seen::new(MAX_RANGES),
            first: None,
            highest: 0,
            in_order: None,
            beyond: 0,
            peak_beyond: 0,
            peak_at: None,
            new_bytes: 0,
            finished: None,
            rate_requests: BTreeMap::new(),
        }
    }
    /// State before any data.
    pub(crate) fn is_untouched(&self) -> bool {
        self.initial.is_none() && self.origin.is_none()
    }
    /// Sets the number before the first byte's from the key.
    pub(crate) fn begins_after(&mut self, initial: u64) {
        if self.initial.is_none() {
            self.initial = Some(initial);
            if self.origin.is_none() {
                self.origin = Some(initial.wrapping_sub(FIRST_POSITION));
                self.highest = FIRST_POSITION + 1;
                self.in_order = Some(FIRST_POSITION + 1);
                self.upper_known = true;
            }
        }
    }
    /// Distance of `dsn` from the furthest byte, and whether all 64 bits are known; `None` before
    /// the first data.
    pub(crate) fn distance(&self, dsn: u64, short: bool) -> Option<(u64, bool)> {
        let highest = self.origin?.wrapping_add(self.highest);
        Some(if short || !self.upper_known {
            (u64::from((dsn as u32).wrapping_sub(highest as u32).cast_signed().unsigned_abs()), false)
        } else {
            (dsn.wrapping_sub(highest).cast_signed().unsigned_abs(), true)
        })
    }
    /// Position of a segment's DSN; `None` if it is out of bounds.
    pub(crate) fn position(&mut self, dsn: u64, short: bool) -> Option<u64> {
        let Some(origin) = self.origin else {
            self.origin = Some(dsn.wrapping_sub(FIRST_POSITION));
            self.highest = FIRST_POSITION;
            self.upper_known = !short;
            return Some(FIRST_POSITION);
        };
        let near = (dsn as u32).wrapping_sub(origin.wrapping_add(self.highest) as u32).cast_signed();
        let position = self.highest.checked_add_signed(i64::from(near))?;
        if short {
            return Some(position);
        }
        if !self.upper_known {
            // Replaces the upper half, assumed to be zero so far.
            self.origin = Some(dsn.wrapping_sub(position));
            self.upper_known = true;
        }
        let exact = dsn.wrapping_sub(self.origin?);
        (exact == position && exact.abs_diff(self.highest) < MAX_DISTANCE).then_some(exact)
    }
    /// Records data from the subflow `owner`. Calls `visit` with the length of each piece and its
    /// earlier state.
    pub(crate) fn carried(
        &mut self,
        now: Instant,
        Range { start: from, end: to }: Range<u64>,
        owner: u16,
        mut visit: impl FnMut(u64, Before),
    ) {
        let in_order = *self.in_order.get_or_insert(from);
        self.first.get_or_insert(from);
        let (mut new, mut beyond) = (0, 0);
        self.seen.insert(from, to, owner, |from, to, before| {
            if before == Before::New {
                new += to - from;
                beyond += to.saturating_sub(from.max(in_order));
            }
            visit(to - from, before);
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
                // Fast path: no data beyond a gap.
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
    /// Records the other end's DATA_ACK `ack`.
    pub(crate) fn acknowledged(&mut self, ack: u64, short: bool) {
        let Some(position) = self.position(ack, short) else { return };
        // A DATA_FIN counts one beyond the data.
        let position = position.min(self.highest);
        match self.in_order {
            Some(in_order) if position > in_order => self.advance(position),
            _ => {}
        }
    }
    /// Origin of the charts: the first byte of the stream, or the first one seen.
    pub(crate) fn progress(&self, position: u64) -> u64 {
        let first = match self.initial {
            Some(_) => FIRST_POSITION + 1,
            None => self.first.unwrap_or(position),
        };
        position.saturating_sub(first)
    }
    /// True if the beginning of the data was seen or is known.
    pub(crate) fn knows_beginning(&self) -> bool {
        self.initial.is_some()
    }
    /// Bytes that were never seen and count as seen.
    pub(crate) fn forgotten(&self) -> u64 {
        self.seen.forgotten()
    }
    /// Missing data at the end: between the in-order data and the furthest byte.
    pub(crate) fn missing(&self) -> u64 {
        self.in_order.map_or(0, |from| self.highest.saturating_sub(from).saturating_sub(self.beyond))
    }

    fn advance(&mut self, least: u64) {
        let in_order = self.seen.contiguous(least);
        self.in_order = Some(in_order);
        self.beyond = self.seen.between(in_order, u64::MAX);
    }
}
