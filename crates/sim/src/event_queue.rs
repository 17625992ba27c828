//! Event queue with one slot for each event source.

use units::Instant;

const NOT_SCHEDULED: u32 = u32::MAX;
/// Above this number of scanned sources a linear scan costs more than a heap.
const MAX_SCANNED: usize = 8;

/// A priority queue of events, ordered by time, with at most one pending event per source.
///
/// A source is a link, a timer or an application. The queue is as long as there are sources, not as
/// there are packets. Moving a source's event costs one sift in a 4-ary heap. Nothing is allocated
/// after construction, and no cancelled entry is ever popped.
///
/// Sources that nearly always have the next event, such as links among thousands of timers, can be
/// kept out of the heap ([`with_scanned`](Self::with_scanned)): they lie in a small array that
/// every [`next`](Self::next) scans.
///
/// Events at equal times are first in, first out, or, if asked for
/// ([`with_source_order`](Self::with_source_order)), in the order of their source numbers.
/// [`Instant::MAX`] means that no event is scheduled.
#[derive(Debug, Clone, Default)]
pub struct EventQueue {
    /// Slots of the scanned sources, by source number; `at` is [`Instant::MAX`] in an empty slot.
    scanned: Vec<Entry>,
    heap: Vec<Entry>,
    /// Heap index of each source, or [`NOT_SCHEDULED`].
    position: Vec<u32>,
    /// Number of events scheduled so far: the tie-break of first in, first out.
    scheduled: u64,
    by_source: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Instant,
    /// Orders events at equal times; the lower one comes first.
    tie_break: u64,
    source: u32,
}

impl Entry {
    /// A lexicographic comparison written out, because equal times are rare.
    #[inline]
    fn before(&self, other: &Self) -> bool {
        self.at < other.at || self.at == other.at && self.tie_break < other.tie_break
    }
}

impl EventQueue {
    /// An empty queue for sources 0 to `sources` - 1.
    pub fn new(sources: usize) -> Self {
        Self::with_scanned(sources, 0)
    }

    /// An empty queue in which the first `scanned` sources, which should have the next event most
    /// of the time, lie outside the heap. The order of events does not depend on it.
    pub fn with_scanned(sources: usize, scanned: usize) -> Self {
        let scanned = if scanned <= MAX_SCANNED { scanned } else { 0 };
        let empty = |source| Entry { at: Instant::MAX, tie_break: u64::MAX, source };
        Self {
            scanned: (0..scanned as u32).map(empty).collect(),
            heap: Vec::with_capacity(sources - scanned),
            position: vec![NOT_SCHEDULED; sources],
            scheduled: 0,
            by_source: false,
        }
    }

    /// Orders events at equal times by source number, so that their order does not depend on the
    /// order of scheduling.
    pub fn with_source_order(mut self) -> Self {
        self.by_source = true;
        self
    }

    /// Time and source of the next event.
    #[inline]
    pub fn next(&self) -> Option<(Instant, usize)> {
        let none = Entry { at: Instant::MAX, tie_break: u64::MAX, source: NOT_SCHEDULED };
        let mut first = self.heap.first().unwrap_or(&none);
        for entry in &self.scanned {
            if entry.before(first) {
                first = entry;
            }
        }
        (first.at < Instant::MAX).then_some((first.at, first.source as usize))
    }

    /// Time of the event of `source`; [`Instant::MAX`] if none is scheduled.
    #[inline]
    pub fn at(&self, source: usize) -> Instant {
        if let Some(entry) = self.scanned.get(source) {
            return entry.at;
        }
        self.heap.get(self.position[source] as usize).map_or(Instant::MAX, |entry| entry.at)
    }

    /// Schedules, moves or (with `None`) cancels the event of `source`. An event whose time stays
    /// the same keeps its tie-break.
    #[inline]
    pub fn set(&mut self, source: usize, at: Option<Instant>) {
        if let Some(entry) = self.scanned.get_mut(source) {
            let at = at.unwrap_or(Instant::MAX);
            if entry.at != at {
                self.scheduled += 1;
                let tie_break = if self.by_source { source as u64 } else { self.scheduled };
                (entry.at, entry.tie_break) = (at, tie_break);
            }
            return;
        }
        self.set_in_heap(source, at);
    }

    fn set_in_heap(&mut self, source: usize, at: Option<Instant>) {
        let position = self.position[source];
        match (position, at) {
            (NOT_SCHEDULED, None) => {}
            (NOT_SCHEDULED, Some(at)) => {
                let last = self.heap.len();
                let entry = self.new_entry(at, source);
                self.heap.push(entry);
                self.position[source] = last as u32;
                self.sift_up(last);
            }
            (position, None) => self.remove(position as usize),
            (position, Some(at)) => {
                let position = position as usize;
                if self.heap[position].at == at {
                    return;
                }
                let earlier = at < self.heap[position].at;
                self.heap[position] = self.new_entry(at, source);
                if earlier {
                    self.sift_up(position);
                } else {
                    self.sift_down(position);
                }
            }
        }
    }

    /// Schedules the event of `source` at `at`, unless an event is already due at or before `at`:
    /// for sources that tolerate an early event, such as a timer that is checked when it fires.
    #[inline]
    pub fn set_no_later(&mut self, source: usize, at: Option<Instant>) {
        if let Some(entry) = self.scanned.get(source) {
            if at.is_some_and(|at| at < entry.at) {
                self.set(source, at);
            }
            return;
        }
        let position = self.position[source];
        if position == NOT_SCHEDULED || at.is_some_and(|at| at < self.heap[position as usize].at) {
            self.set(source, at);
        }
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<(Instant, usize)> {
        let next = self.next()?;
        self.set(next.1, None);
        Some(next)
    }

    fn new_entry(&mut self, at: Instant, source: usize) -> Entry {
        self.scheduled += 1;
        let tie_break = if self.by_source { source as u64 } else { self.scheduled };
        Entry { at, tie_break, source: source as u32 }
    }

    fn remove(&mut self, position: usize) {
        let removed = self.heap.swap_remove(position);
        self.position[removed.source as usize] = NOT_SCHEDULED;
        if position < self.heap.len() {
            self.position[self.heap[position].source as usize] = position as u32;
            self.sift_down(position);
            self.sift_up(position);
        }
    }

    fn sift_up(&mut self, mut index: usize) {
        let entry = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / 4;
            if self.heap[parent].before(&entry) {
                break;
            }
            self.put(index, self.heap[parent]);
            index = parent;
        }
        self.put(index, entry);
    }

    fn sift_down(&mut self, mut index: usize) {
        let entry = self.heap[index];
        loop {
            let first = 4 * index + 1;
            let last = (first + 4).min(self.heap.len());
            if first >= last {
                break;
            }
            let mut least = first;
            for child in first + 1..last {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if entry.before(&self.heap[least]) {
                break;
            }
            self.put(index, self.heap[least]);
            index = least;
        }
        self.put(index, entry);
    }

    #[inline]
    fn put(&mut self, index: usize, entry: Entry) {
        self.heap[index] = entry;
        self.position[entry.source as usize] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut queue = EventQueue::new(4);
        let at = Instant::from_secs(1);
        for source in [2, 0, 3, 1] {
            queue.set(source, Some(at));
        }
        queue.set(0, Some(at));
        let order: Vec<usize> = core::iter::from_fn(|| queue.pop()).map(|(_, s)| s).collect();
        assert_eq!(order, [2, 0, 3, 1]);
    }

    #[test]
    fn equal_times_follow_source_order_if_requested() {
        for scanned in [0, 2] {
            let mut queue = EventQueue::with_scanned(4, scanned).with_source_order();
            let at = Instant::from_secs(1);
            for source in [2, 0, 3, 1] {
                queue.set(source, Some(at));
            }
            assert_eq!((queue.at(3), queue.at(0)), (at, at));
            let order: Vec<usize> = core::iter::from_fn(|| queue.pop()).map(|(_, s)| s).collect();
            assert_eq!(order, [0, 1, 2, 3]);
            assert_eq!(queue.at(3), Instant::MAX);
        }
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_a_sorted_list(
            scanned in 0_usize..10,
            sets in prop::collection::vec((0_usize..9, prop::option::of(0_u64..20)), 1..200),
        ) {
            let mut queue = EventQueue::with_scanned(9, scanned.min(9));
            let mut list: Vec<(u64, usize, usize)> = Vec::new();
            for (step, &(source, at)) in sets.iter().enumerate() {
                queue.set(source, at.map(Instant::from_nanos));
                let before = list.iter().position(|&(_, _, s)| s == source).map(|i| list.remove(i));
                if let Some(at) = at {
                    let kept = before.filter(|&(t, _, _)| t == at);
                    list.push(kept.unwrap_or((at, step, source)));
                }
                if step % 5 == 4 {
                    list.sort_unstable();
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    prop_assert_eq!(queue.pop(), expected.map(|(t, _, s)| (Instant::from_nanos(t), s)));
                }
            }
        }
    }
}
