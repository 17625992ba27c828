//! Received payload that has no place in the data stream yet.

use intervals::IntervalSet;
use std::collections::VecDeque;
use wire::Payload;

/// Disjoint pieces of payload, sorted by subflow offset.
#[derive(Debug, Clone)]
pub(super) struct Unmapped<P>(VecDeque<(u64, P)>);

impl<P: Payload> Unmapped<P> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }
    /// Number of pieces.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Bytes of all pieces.
    pub(super) fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, piece)| piece.len() as u64).sum()
    }

    /// Inserts the parts of `piece` that are not here yet.
    pub(super) fn insert(&mut self, mut at: u64, mut piece: P) {
        let mut i = self.0.partition_point(|(from, kept)| from + kept.len() as u64 <= at);
        while !piece.is_empty() {
            let len = piece.len();
            let (from, end) = self
                .0
                .get(i)
                .map_or((u64::MAX, u64::MAX), |(from, kept)| (*from, from.saturating_add(kept.len() as u64)));
            let known = at >= from;
            let part = (if known { end } else { from } - at).min(len as u64) as usize;
            if !known {
                self.0.insert(i, (at, piece.slice(0, part)));
            }
            piece = piece.slice(part, len);
            at += part as u64;
            i += 1;
        }
    }

    /// Bytes of the pieces that end at or before `end`. A piece is left out if its first offset is
    /// `excused`.
    pub(super) fn bytes_before(&self, end: u64, mut excused: impl FnMut(u64) -> bool) -> u64 {
        self.0
            .iter()
            .map(|(at, piece)| (*at, piece.len() as u64))
            .take_while(|&(at, len)| at + len <= end)
            .filter(|&(at, _)| !excused(at))
            .map(|(_, len)| len)
            .sum()
    }

    /// True if any byte of `[from, to)` is here.
    pub(super) fn touches(&self, from: u64, to: u64) -> bool {
        let i = self.0.partition_point(|(at, piece)| at + piece.len() as u64 <= from);
        self.0.get(i).is_some_and(|&(at, _)| at < to)
    }

    /// Ranges of the bytes that are here.
    pub(super) fn ranges(&self) -> IntervalSet {
        let mut ranges = IntervalSet::default();
        for (at, piece) in &self.0 {
            ranges.insert(*at, at + piece.len() as u64);
        }
        ranges
    }

    /// Takes out the bytes of `[from, to)`.
    pub(super) fn take(&mut self, from: u64, to: u64) -> Vec<(u64, P)> {
        let mut taken = Vec::new();
        let mut left = VecDeque::with_capacity(self.0.len());
        for (start, piece) in self.0.drain(..) {
            let len = piece.len();
            let end = start + len as u64;
            if end <= from || start >= to {
                left.push_back((start, piece));
                continue;
            }
            let (a, b) = ((from.max(start) - start) as usize, (to.min(end) - start) as usize);
            if a > 0 {
                left.push_back((start, piece.slice(0, a)));
            }
            taken.push((start + a as u64, piece.slice(a, b)));
            if b < len {
                left.push_back((start + b as u64, piece.slice(b, len)));
            }
        }
        self.0 = left;
        taken
    }

    /// Takes out all pieces.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = (u64, P)> + use<P> {
        core::mem::take(&mut self.0).into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Span;

    proptest! {
        #[test]
        fn every_byte_inserted_is_taken_once(
            pieces in prop::collection::vec((0_u64..60, 1_u32..12), 1..30),
            from in 0_u64..60,
            len in 1_u64..20,
        ) {
            let mut unmapped = Unmapped::new();
            let mut there = [false; 80];
            for (at, len) in pieces {
                unmapped.insert(at, Span::new(at, len));
                there[at as usize..][..len as usize].fill(true);
            }
            let wanted = from as usize..(from + len) as usize;
            prop_assert_eq!(unmapped.ranges().covers(from, from + len), there[wanted.clone()].iter().all(|&t| t));
            prop_assert_eq!(unmapped.touches(from, from + len), there[wanted.clone()].iter().any(|&t| t));
            let mut seen = [false; 80];
            for (inside, parts) in
                [(true, unmapped.take(from, from + len)), (false, unmapped.take_all().collect::<Vec<_>>())]
            {
                for (at, span) in parts {
                    prop_assert_eq!(at, span.offset);
                    for n in at..at + u64::from(span.len) {
                        prop_assert!(!seen[n as usize]);
                        seen[n as usize] = true;
                        prop_assert_eq!(wanted.contains(&(n as usize)), inside);
                    }
                }
            }
            prop_assert_eq!(seen, there);
        }
    }
}
