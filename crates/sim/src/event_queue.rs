//! Event queue with one slot for each event source.

use units::Instant;

const NOT_SCHEDULED: u32 = u32::MAX;
/// Above this number of scanned slots a linear scan costs more than a heap.
const MAX_SCANNED: usize = 8;

/// A priority queue of events, ordered by time, with at most one pending event per source.
///
/// A source, such as a link, a timer or an application, gets a [`Slot`] when it is added. The queue
/// is as long as there are sources, not as there are packets. Moving an event costs one sift in a
/// 4-ary heap. Nothing is allocated after the last [`add`](Self::add), and no cancelled entry is
/// ever popped.
///
/// Sources that nearly always have the next event, such as links among thousands of timers, can be
/// kept out of the heap ([`add_frequent`](Self::add_frequent)): they lie in a small array that every
/// [`next`](Self::next) scans.
///
/// Events at equal times are first in, first out. [`Instant::MAX`] means that no event is scheduled.
///
/// # Example
///
/// ```
/// use tandem_sim::EventQueue;
/// use units::Instant;
///
/// let mut queue = EventQueue::new();
/// let [wifi, lte] = ["wifi", "lte"].map(|link| queue.add(link));
/// queue.set(wifi, Some(Instant::from_secs(2)));
/// queue.set(lte, Some(Instant::from_secs(1)));
/// assert_eq!(queue.pop(), Some((Instant::from_secs(1), "lte")));
/// assert_eq!(queue.next(), Some((Instant::from_secs(2), "wifi")));
/// ```
#[derive(Debug, Clone)]
pub struct EventQueue<S> {
    /// The source of each slot.
    sources: Vec<S>,
    /// The first slots, outside the heap; `at` is [`Instant::MAX`] in an empty one.
    scanned: Vec<Entry>,
    heap: Vec<Entry>,
    /// Heap index of each slot, or [`NOT_SCHEDULED`].
    position: Vec<u32>,
    /// Number of events scheduled so far: the tie-break of first in, first out.
    scheduled: u64,
}

/// Place of a source in an [`EventQueue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Instant,
    /// Orders events at equal times; the lower one comes first.
    tie_break: u64,
    slot: Slot,
}

impl Entry {
    const NONE: Self = Self { at: Instant::MAX, tie_break: u64::MAX, slot: Slot(NOT_SCHEDULED) };

    /// A lexicographic comparison written out, because equal times are rare.
    #[inline]
    fn before(&self, other: &Self) -> bool {
        self.at < other.at || self.at == other.at && self.tie_break < other.tie_break
    }
}

impl<S> Default for EventQueue<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> EventQueue<S> {
    /// A queue without sources.
    pub fn new() -> Self {
        Self {
            sources: Vec::new(),
            scanned: Vec::new(),
            heap: Vec::new(),
            position: Vec::new(),
            scheduled: 0,
        }
    }

    /// Adds a source, without an event.
    pub fn add(&mut self, source: S) -> Slot {
        let slot = Slot(self.sources.len() as u32);
        self.sources.push(source);
        self.position.push(NOT_SCHEDULED);
        self.heap.reserve(self.sources.len() - self.scanned.len() - self.heap.len());
        slot
    }

    /// Adds a source that has the next event most of the time. Only the first eight of a queue are
    /// kept out of the heap, and only if they are added before any other source. The order of
    /// events does not depend on it.
    pub fn add_frequent(&mut self, source: S) -> Slot {
        if self.scanned.len() == self.sources.len() && self.scanned.len() < MAX_SCANNED {
            self.scanned.push(Entry { slot: Slot(self.sources.len() as u32), ..Entry::NONE });
        }
        self.add(source)
    }

    /// Schedules, moves or (with `None`) cancels the event of a slot. An event whose time stays the
    /// same keeps its tie-break.
    #[inline]
    pub fn set(&mut self, slot: Slot, at: Option<Instant>) {
        if let Some(entry) = self.scanned.get_mut(slot.index()) {
            let at = at.unwrap_or(Instant::MAX);
            if entry.at != at {
                self.scheduled += 1;
                (entry.at, entry.tie_break) = (at, self.scheduled);
            }
            return;
        }
        self.set_in_heap(slot, at);
    }

    #[inline(never)]
    fn set_in_heap(&mut self, slot: Slot, at: Option<Instant>) {
        let position = self.position[slot.index()];
        match (position, at) {
            (NOT_SCHEDULED, None) => {}
            (NOT_SCHEDULED, Some(at)) => {
                let last = self.heap.len();
                let entry = self.new_entry(at, slot);
                self.heap.push(entry);
                self.position[slot.index()] = last as u32;
                self.sift_up(last);
            }
            (position, None) => self.remove(position as usize),
            (position, Some(at)) => {
                let position = position as usize;
                if self.heap[position].at == at {
                    return;
                }
                let earlier = at < self.heap[position].at;
                self.heap[position] = self.new_entry(at, slot);
                if earlier {
                    self.sift_up(position);
                } else {
                    self.sift_down(position);
                }
            }
        }
    }

    /// Schedules the event of a slot at `at`, unless one is already due at or before `at`: for
    /// sources that tolerate an early event, such as a timer that is checked when it fires.
    #[inline]
    pub fn set_no_later(&mut self, slot: Slot, at: Instant) {
        let scheduled = if let Some(entry) = self.scanned.get(slot.index()) {
            entry.at
        } else {
            let position = self.position[slot.index()] as usize;
            self.heap.get(position).map_or(Instant::MAX, |entry| entry.at)
        };
        if at < scheduled {
            self.set(slot, Some(at));
        }
    }

    #[inline]
    fn first(&self) -> &Entry {
        let first = self.heap.first().unwrap_or(&Entry::NONE);
        self.scanned.iter().fold(first, |first, entry| if entry.before(first) { entry } else { first })
    }

    fn new_entry(&mut self, at: Instant, slot: Slot) -> Entry {
        self.scheduled += 1;
        Entry { at, tie_break: self.scheduled, slot }
    }

    fn remove(&mut self, position: usize) {
        let removed = self.heap.swap_remove(position);
        self.position[removed.slot.index()] = NOT_SCHEDULED;
        if position < self.heap.len() {
            self.position[self.heap[position].slot.index()] = position as u32;
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
        self.position[entry.slot.index()] = index as u32;
    }
}

impl<S: Copy> EventQueue<S> {
    /// Time and source of the next event.
    #[inline]
    pub fn next(&self) -> Option<(Instant, S)> {
        let first = self.first();
        (first.at < Instant::MAX).then(|| (first.at, self.sources[first.slot.index()]))
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<(Instant, S)> {
        let next = self.next()?;
        self.set(self.first().slot, None);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A queue of `sources` numbers, the first `frequent` of which are frequent, and its slots.
    fn queue(sources: usize, frequent: usize) -> (EventQueue<usize>, Vec<Slot>) {
        let mut queue = EventQueue::new();
        let add = |source| if source < frequent { queue.add_frequent(source) } else { queue.add(source) };
        let slots = (0..sources).map(add).collect();
        (queue, slots)
    }

    #[test]
    fn equal_times_are_first_in_first_out() {
        for frequent in [0, 2] {
            let (mut queue, slots) = queue(4, frequent);
            let at = Instant::from_secs(1);
            for source in [2, 0, 3, 1, 0] {
                queue.set(slots[source], Some(at));
            }
            let order: Vec<usize> = core::iter::from_fn(|| queue.pop()).map(|(_, source)| source).collect();
            assert_eq!(order, [2, 0, 3, 1]);
        }
    }

    #[test]
    fn an_event_is_moved_forward_only_by_set_no_later() {
        for frequent in [0, 1] {
            let (mut queue, slots) = queue(1, frequent);
            for (at, expected) in [(5, 5), (7, 5), (3, 3)] {
                queue.set_no_later(slots[0], Instant::from_secs(at));
                assert_eq!(queue.next(), Some((Instant::from_secs(expected), 0)));
            }
        }
    }

    proptest! {
        #[test]
        fn pops_in_the_order_of_a_sorted_list(
            frequent in 0_usize..10,
            sets in prop::collection::vec((0_usize..9, prop::option::of(0_u64..20)), 1..200),
        ) {
            let (mut queue, slots) = queue(9, frequent);
            let mut list: Vec<(u64, usize, usize)> = Vec::new();
            for (step, &(source, at)) in sets.iter().enumerate() {
                queue.set(slots[source], at.map(Instant::from_nanos));
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
