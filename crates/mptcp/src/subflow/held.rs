//! Payload of a subflow that has come and cannot be placed yet.

use std::collections::VecDeque;
use wire::Payload;

/// Disjoint pieces in order, by subflow offset.
#[derive(Debug, Clone)]
pub(crate) struct Held<P>(VecDeque<(u64, P)>);

impl<P: Payload> Held<P> {
    pub(crate) fn new() -> Self {
        Self(VecDeque::new())
    }
    /// How many pieces.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps whatever part of `piece` is new.
    pub(crate) fn insert(&mut self, mut at: u64, mut piece: P) {
        let mut i = self.0.partition_point(|(from, held)| from + held.len() as u64 <= at);
        while !piece.is_empty() {
            let len = piece.len();
            let (from, end) = self
                .0
                .get(i)
                .map_or((u64::MAX, u64::MAX), |(from, held)| (*from, from.saturating_add(held.len() as u64)));
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

    /// Bytes of the pieces before `end` of which none is `excused` by where it begins.
    pub(crate) fn before(&self, end: u64, excused: impl Fn(u64) -> bool) -> u64 {
        let counts = |at: u64, len: u64| at + len <= end && !excused(at);
        self.0
            .iter()
            .map(|(at, piece)| (*at, piece.len() as u64))
            .filter(|&(at, len)| counts(at, len))
            .map(|(_, len)| len)
            .sum()
    }
    /// Is any of `[from, to)` here?
    pub(crate) fn touches(&self, from: u64, to: u64) -> bool {
        let i = self.0.partition_point(|(at, piece)| at + piece.len() as u64 <= from);
        self.0.get(i).is_some_and(|&(at, _)| at < to)
    }

    /// Is all of `[from, to)` here?
    pub(crate) fn covers(&self, from: u64, to: u64) -> bool {
        let mut at = from;
        let first = self.0.partition_point(|(start, piece)| start + piece.len() as u64 <= from);
        for (start, piece) in self.0.iter().skip(first) {
            if *start > at || at >= to {
                break;
            }
            at = start + piece.len() as u64;
        }
        at >= to
    }

    /// Takes out what lies in `[from, to)`.
    pub(crate) fn take(&mut self, from: u64, to: u64) -> Vec<(u64, P)> {
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

    /// Takes out everything.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (u64, P)> + use<P> {
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
        fn what_was_put_in_comes_out_once(
            pieces in prop::collection::vec((0_u64..60, 1_u32..12), 1..30),
            from in 0_u64..60,
            len in 1_u64..20,
        ) {
            let mut held = Held::new();
            let mut there = [false; 80];
            for (at, len) in pieces {
                held.insert(at, Span::new(at, len));
                there[at as usize..][..len as usize].fill(true);
            }
            let wanted = from as usize..(from + len) as usize;
            prop_assert_eq!(held.covers(from, from + len), there[wanted.clone()].iter().all(|&t| t));
            prop_assert_eq!(held.touches(from, from + len), there[wanted.clone()].iter().any(|&t| t));
            let mut seen = [false; 80];
            for (inside, parts) in
                [(true, held.take(from, from + len)), (false, held.take_all().collect::<Vec<_>>())]
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
