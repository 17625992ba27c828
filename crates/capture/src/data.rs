//! Data stream of one direction of an MPTCP connection: bytes seen, in order and beyond a gap.
//!
//! A position is a DSN minus an origin. The origin is chosen so that positions do not wrap.

use crate::seen::{Before, Seen};
use core::ops::Range;
use std::collections::BTreeMap;
use units::Instant;

/// Distance from the furthest byte, in bytes, from which a 64-bit DSN is ignored: it belongs to
/// another connection or is invalid (RFC 8684, section 3.8).
const MAX_DISTANCE: u64 = 1 << 31;
/// Position of the initial DSN or, without a key, of the first DSN seen. Its distance from both
/// ends of `u64` leaves space for earlier and later data.
const FIRST_POSITION: u64 = 1 << 62;

/// Data sent by one end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    /// Initial DSN, derived from the key. The first byte has the next DSN (RFC 8684, section 3.1).
    pub(crate) initial: Option<u64>,
    /// DSN at position 0; `None` before the first key, data or DATA_ACK.
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
    /// Bytes seen beyond a gap, that is after `in_order`.
    beyond: u64,
    /// Maximum of `beyond`, and the time when it was reached.
    pub(crate) peak_beyond: u64,
    pub(crate) peak_at: Option<Instant>,
    /// Bytes seen, each counted once.
    pub(crate) new_bytes: u64,
    pub(crate) finished: Option<Instant>,
    /// Requests of the receiver in MPTCP-rec's reports, by path.
    pub(crate) rate_requests: BTreeMap<u8, RateRequests>,
}

/// Rates that a receiver requests for one path in MPTCP-rec's reports, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateRequests {
    /// Number of reports.
    pub(crate) count: u64,
    pub(crate) last: u32,
    pub(crate) least: u32,
    pub(crate) most: u32,
    /// Total number of blocks in the reports.
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
            seen: Seen::new(),
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
    /// Returns true before the first key, data or DATA_ACK.
    pub(crate) fn is_untouched(&self) -> bool {
        self.initial.is_none() && self.origin.is_none()
    }
    /// Sets the initial DSN, unless it is already known.
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
    /// Returns the distance of `dsn` from the furthest byte, in bytes, and whether all 64 bits were
    /// compared; `None` before the first key, data or DATA_ACK. `short` marks a DSN of 32 bits.
    pub(crate) fn distance(&self, dsn: u64, short: bool) -> Option<(u64, bool)> {
        let highest = self.origin?.wrapping_add(self.highest);
        Some(if short || !self.upper_known {
            (u64::from((dsn as u32).wrapping_sub(highest as u32).cast_signed().unsigned_abs()), false)
        } else {
            (dsn.wrapping_sub(highest).cast_signed().unsigned_abs(), true)
        })
    }
    /// Returns the position of `dsn`; `None` if it is too far from the furthest byte. The first DSN
    /// sets the origin, unless a key did.
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
            // Replaces the upper half of the origin, which was assumed.
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
            if from == in_order && to >= self.highest && self.beyond == to - from {
                // Fast path: no data beyond a gap.
                self.in_order = Some(to);
                self.beyond = 0;
            } else {
                self.advance(in_order);
            }
        }
        if self.beyond > self.peak_beyond {
            (self.peak_beyond, self.peak_at) = (self.beyond, Some(now));
        }
    }
    /// Records the other end's DATA_ACK `ack`.
    pub(crate) fn acknowledged(&mut self, ack: u64, short: bool) {
        let Some(position) = self.position(ack, short) else { return };
        // A DATA_FIN takes one DSN after the data.
        let position = position.min(self.highest);
        match self.in_order {
            Some(in_order) if position > in_order => self.advance(position),
            _ => {}
        }
    }
    /// Returns the offset of `position`, in bytes, from the first byte of the stream, or from the
    /// first byte seen if the key is unknown.
    pub(crate) fn progress(&self, position: u64) -> u64 {
        let first = match self.initial {
            Some(_) => FIRST_POSITION + 1,
            None => self.first.unwrap_or(position),
        };
        position.saturating_sub(first)
    }
    /// Returns true if the initial DSN is known.
    pub(crate) fn knows_beginning(&self) -> bool {
        self.initial.is_some()
    }
    /// Doubles the limit of ranges if necessary, see [`Seen::reserve`].
    pub(crate) fn reserve(&mut self, spare: &mut usize) {
        self.seen.reserve(spare);
    }
    /// Returns the bytes of forgotten gaps, see [`Seen::forgotten`].
    pub(crate) fn forgotten(&self) -> u64 {
        self.seen.forgotten()
    }
    /// Returns the bytes in the gaps between the in-order data and the furthest byte.
    pub(crate) fn missing(&self) -> u64 {
        self.in_order.map_or(0, |from| self.highest.saturating_sub(from).saturating_sub(self.beyond))
    }

    /// Moves `in_order` to the first remembered gap at or after `least`, at least the present one.
    fn advance(&mut self, least: u64) {
        let before = self.in_order.unwrap_or(least);
        let in_order = self.seen.contiguous(least);
        self.in_order = Some(in_order);
        self.beyond = if self.seen.floor() > before {
            // Data beyond the gap was forgotten.
            self.seen.between(in_order, u64::MAX)
        } else {
            self.beyond - self.seen.between(before, in_order)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Seed;

    #[test]
    fn bytes_beyond_a_gap_equal_a_recount() {
        for seed in 0..50 {
            let mut rng = Seed::new(seed).rng("data");
            let mut data = Data::new();
            data.begins_after(7);
            let first = FIRST_POSITION + 1;
            for step in 0..3000 {
                let from = first + step + rng.below(2000);
                if rng.below(50) == 0 {
                    data.acknowledged(from.wrapping_add(7).wrapping_sub(FIRST_POSITION), false);
                } else {
                    let owner = rng.below(2) as u16;
                    data.carried(Instant::ZERO, from..from + 1 + rng.below(3), owner, |_, _| {});
                }
                let in_order = data.in_order.expect("the key sets it");
                assert_eq!(data.beyond, data.seen.between(in_order, u64::MAX), "seed {seed}");
                assert!(in_order >= data.seen.floor(), "seed {seed}");
            }
            assert!(data.forgotten() > 0, "seed {seed}: some gaps are beyond the limit");
        }
    }
}
