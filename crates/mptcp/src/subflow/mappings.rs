//! Data sequence mappings of one subflow, and payload that waits for one (RFC 8684, section 3.3.1).

use super::unmapped::Unmapped;
use units::Instant;
use wire::Payload;

/// Most mappings, and most pieces of payload, kept for each other. Further ones are dropped and
/// will be retransmitted. If a middlebox cuts segments, this many can wait behind a loss.
pub(super) const MAX_PENDING: usize = 1024;

/// A data sequence mapping for bytes still to come, in offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mapped {
    pub(crate) subflow: u64,
    pub(crate) data: u64,
    pub(crate) len: u64,
    /// Checksum that the data must have, until that is verified.
    pub(crate) checksum: Option<u16>,
}

impl Mapped {
    /// Subflow offset after the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.subflow + self.len
    }
    fn contains(&self, at: u64) -> bool {
        self.subflow <= at && at < self.end()
    }
}

/// Pending mappings and unmapped payload of one subflow. Usually each segment carries its own
/// mapping, and there are none.
#[derive(Debug, Clone)]
pub(crate) struct Mappings<P>(Option<Box<Kept<P>>>);

#[derive(Debug, Clone)]
struct Kept<P> {
    pending: Vec<Mapped>,
    /// Payload without a mapping, or with a mapping that is incomplete and has a checksum.
    unmapped: Unmapped<P>,
    /// Payload or a mapping was added since the last scan found no complete mapping.
    may_complete: bool,
    /// Since when payload in order waits for its mapping.
    waiting_since: Option<Instant>,
    /// Scans for a complete mapping.
    #[cfg(test)]
    scans: u32,
}

impl<P: Payload> Mappings<P> {
    pub(super) fn new() -> Self {
        Self(None)
    }

    fn kept_mut(&mut self) -> &mut Kept<P> {
        let none = || Kept {
            pending: Vec::new(),
            unmapped: Unmapped::new(),
            may_complete: false,
            waiting_since: None,
            #[cfg(test)]
            scans: 0,
        };
        self.0.get_or_insert_with(|| Box::new(none()))
    }

    fn pending(&self) -> &[Mapped] {
        self.0.as_ref().map_or(&[], |kept| &kept.pending)
    }

    /// Payload is kept for the subflow offsets `[from, to)` or a part of them.
    fn has_unmapped_in(&self, from: u64, to: u64) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.unmapped.touches(from, to))
    }

    /// Neither a mapping nor payload is kept.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.pending.is_empty() && kept.unmapped.is_empty())
    }
    /// Bytes of the unmapped payload.
    pub(crate) fn unmapped_bytes(&self) -> u64 {
        self.0.as_ref().map_or(0, |kept| kept.unmapped.bytes())
    }
    /// Pieces of unmapped payload, and mappings.
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.unmapped.len() + kept.pending.len())
    }
    #[inline]
    pub(crate) fn has_unmapped(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| !kept.unmapped.is_empty())
    }
    /// No more payload or mappings are kept than [`MAX_PENDING`].
    pub(crate) fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.unmapped.len().max(kept.pending.len()) >= MAX_PENDING)
    }

    /// More payload waits than [`MAX_PENDING`] pieces beyond a gap and as many in order, which are
    /// always kept: no peer or middlebox cuts mappings into so small parts.
    pub(crate) fn has_excess_pieces(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.unmapped.len() > 2 * MAX_PENDING)
    }

    /// The first pending mapping of the byte at subflow offset `at`.
    pub(crate) fn find(&self, at: u64) -> Option<Mapped> {
        self.pending().iter().find(|map| map.contains(at)).copied()
    }

    /// Drops each mapping once all its bytes are placed. `next` is the next subflow offset in
    /// order: bytes before it may still wait here.
    pub(crate) fn drop_used(&mut self, next: u64) {
        let Some(kept) = &mut self.0 else { return };
        let unmapped = &kept.unmapped;
        kept.pending.retain(|map| map.end() > next || unmapped.touches(map.subflow, map.end()));
    }

    /// `mapped` is known already, or all its bytes have been placed.
    pub(crate) fn is_redundant(&self, mapped: &Mapped, next: u64) -> bool {
        let known = self.pending().iter().any(|map| map.subflow == mapped.subflow && map.len >= mapped.len);
        known || mapped.end() <= next && !self.has_unmapped_in(mapped.subflow, mapped.end())
    }

    /// Keeps `mapped`. If [`MAX_PENDING`] are kept, it replaces the furthest one unless it is
    /// further.
    pub(crate) fn add(&mut self, mapped: Mapped) {
        let Kept { pending, may_complete, .. } = self.kept_mut();
        *may_complete = true;
        if pending.len() < MAX_PENDING {
            pending.push(mapped);
        } else if let Some(furthest) = pending.iter_mut().max_by_key(|map| map.subflow)
            && mapped.subflow < furthest.subflow
        {
            *furthest = mapped;
        }
    }

    /// Keeps payload that cannot be placed yet.
    pub(crate) fn keep_unmapped(&mut self, at: u64, payload: P) {
        let kept = self.kept_mut();
        kept.may_complete = true;
        kept.unmapped.insert(at, payload);
    }
    /// Takes out the unmapped payload in `[from, to)`.
    pub(crate) fn take_unmapped(&mut self, from: u64, to: u64) -> Vec<(u64, P)> {
        self.0.as_mut().map_or_else(Vec::new, |kept| kept.unmapped.take(from, to))
    }
    /// Drops all mappings and takes out all unmapped payload.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (u64, P)> + use<P> {
        self.0.take().into_iter().flat_map(|mut kept| kept.unmapped.take_all())
    }
    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    /// Bytes before `next` without a mapping. With `checksums`, bytes of an incomplete mapping do
    /// not count.
    pub(crate) fn unmapped_before(&self, next: u64, checksums: bool) -> u64 {
        let pending = if checksums { self.pending() } else { &[] };
        let mut ranges: Vec<_> = pending.iter().map(|map| (map.subflow, map.end())).collect();
        ranges.sort_unstable();
        let mut ranges = ranges.into_iter().peekable();
        let mut mapped_to = 0;
        // The pieces are sorted by offset, too.
        let is_mapped = |at| {
            while let Some((_, end)) = ranges.next_if(|&(from, _)| from <= at) {
                mapped_to = mapped_to.max(end);
            }
            at < mapped_to
        };
        self.0.as_ref().map_or(0, |kept| kept.unmapped.bytes_before(next, is_mapped))
    }

    /// Since when payload in order waits for its mapping.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        self.0.as_ref()?.waiting_since
    }
    /// Payload in order waits for its mapping, from `now` on or earlier.
    pub(crate) fn start_waiting(&mut self, now: Instant) {
        self.kept_mut().waiting_since.get_or_insert(now);
    }
    /// No payload in order waits any more. Returns since when it did.
    pub(crate) fn stop_waiting(&mut self) -> Option<Instant> {
        self.0.as_mut()?.waiting_since.take()
    }

    /// Takes out the payload of the first mapping with a checksum that is complete.
    pub(crate) fn take_complete(&mut self) -> Option<Complete<P>> {
        let kept = self.0.as_mut().filter(|kept| kept.may_complete)?;
        #[cfg(test)]
        {
            kept.scans += 1;
        }
        let received = kept.unmapped.ranges();
        let complete = |map: &Mapped| map.checksum.is_some() && received.covers(map.subflow, map.end());
        let Some(index) = kept.pending.iter().position(complete) else {
            kept.may_complete = false;
            return None;
        };
        let map = kept.pending[index];
        Some(Complete { map, parts: kept.unmapped.take(map.subflow, map.end()), index })
    }
    /// Puts back a mapping that [`take_complete`](Self::take_complete) returned.
    pub(crate) fn put_back(&mut self, complete: Complete<P>) {
        for (at, part) in complete.parts {
            self.keep_unmapped(at, part);
        }
    }
    #[cfg(test)]
    pub(crate) fn scans(&self) -> u32 {
        self.0.as_ref().map_or(0, |kept| kept.scans)
    }
    /// The checksum of a mapping from [`take_complete`](Self::take_complete) was right.
    pub(crate) fn set_verified(&mut self, complete: &Complete<P>) {
        self.kept_mut().pending[complete.index].checksum = None;
    }
}

/// A complete mapping, and its payload in order by subflow offset.
#[derive(Debug)]
pub(crate) struct Complete<P> {
    pub(crate) map: Mapped,
    pub(crate) parts: Vec<(u64, P)>,
    index: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wire::Span;

    fn map(subflow: u64, len: u64, checksum: Option<u16>) -> Mapped {
        Mapped { subflow, data: 1000 + subflow, len, checksum }
    }

    #[test]
    fn mapping_is_dropped_once_its_bytes_are_placed() {
        let mut mappings = Mappings::<Span>::new();
        mappings.add(map(1, 10, None));
        mappings.add(map(11, 10, None));
        mappings.keep_unmapped(5, Span::new(5, 2));
        mappings.drop_used(11);
        assert!(mappings.find(1).is_some(), "two of its bytes still wait");
        assert_eq!(mappings.take_unmapped(1, 11).len(), 1);
        mappings.drop_used(11);
        assert!(mappings.find(1).is_none() && mappings.find(11).is_some());
    }

    #[test]
    fn known_or_used_mapping_is_redundant() {
        let mut mappings = Mappings::<Span>::new();
        mappings.add(map(11, 10, None));
        assert!(mappings.is_redundant(&map(11, 5, None), 1));
        assert!(!mappings.is_redundant(&map(11, 20, None), 1));
        assert!(mappings.is_redundant(&map(1, 10, None), 11));
        mappings.keep_unmapped(3, Span::new(3, 1));
        assert!(!mappings.is_redundant(&map(1, 10, None), 11));
    }

    #[test]
    fn full_list_keeps_the_nearest_mappings() {
        let mut mappings = Mappings::<Span>::new();
        for n in 0..MAX_PENDING as u64 {
            mappings.add(map(101 + n * 10, 10, None));
        }
        let furthest = 101 + (MAX_PENDING as u64 - 1) * 10;
        mappings.add(map(furthest + 10, 10, None));
        assert!(mappings.find(furthest + 10).is_none());
        mappings.add(map(1, 10, None));
        assert!(mappings.find(1).is_some() && mappings.find(furthest).is_none());
    }

    #[test]
    fn checksummed_mapping_is_taken_only_when_complete() {
        let mut mappings = Mappings::<Span>::new();
        mappings.add(map(1, 10, Some(7)));
        mappings.keep_unmapped(1, Span::new(1, 9));
        assert!(mappings.take_complete().is_none());
        assert_eq!(mappings.unmapped_before(11, true), 0);
        assert_eq!(mappings.unmapped_before(11, false), 9);
        mappings.keep_unmapped(10, Span::new(10, 1));
        let complete = mappings.take_complete().expect("all ten bytes are here");
        assert!(!mappings.has_unmapped());
        mappings.put_back(complete);
        let complete = mappings.take_complete().expect("it was put back");
        mappings.set_verified(&complete);
        assert!(mappings.take_complete().is_none());
        assert_eq!(mappings.find(1).map(|map| map.checksum), Some(None));
    }

    proptest! {
        #[test]
        fn bytes_of_a_mapping_are_not_unmapped(
            maps in prop::collection::vec((0_u64..60, 1_u64..12), 0..10),
            pieces in prop::collection::vec(0_u64..80, 0..40),
            next in 0_u64..90,
        ) {
            let mut mappings = Mappings::<Span>::new();
            for (subflow, len) in maps {
                mappings.add(map(subflow, len, Some(7)));
            }
            for &at in &pieces {
                mappings.keep_unmapped(at, Span::new(at, 1));
            }
            let waiting = |at: &u64| *at < next && pieces.contains(at);
            let unmapped = (0..80).filter(waiting).filter(|&at| mappings.find(at).is_none()).count();
            prop_assert_eq!(mappings.unmapped_before(next, true), unmapped as u64);
            prop_assert_eq!(mappings.unmapped_before(next, false), (0..80).filter(waiting).count() as u64);
        }
    }
}
