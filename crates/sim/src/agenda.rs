//! What happens next.

use units::Instant;

const NOT_SCHEDULED: u32 = u32::MAX;
/// Looking at more than so many one by one costs more than a heap.
const MOST_BUSY: usize = 8;

/// A queue with one place for each source of events.
///
/// A source (a link, a timer, an application) has at most one pending event, so that the queue is as
/// long as there are sources, not as there are packets: a handful of entries, all in one or two cache
/// lines. Moving a source's event costs one sift in a 4-ary heap; nothing is allocated after the
/// start, and no dead entry is ever popped.
///
/// Sources that have the next event most of the time, as links have among thousands of timers, can lie
/// apart ([`with_busy`](Self::with_busy)): a look at each of a few costs less than to move them through a
/// heap, and the heap is then touched only where a timer rings.
///
/// Of events at equal times the one that was scheduled first comes first, or if that is asked for
/// ([`in_order_of_sources`](Self::in_order_of_sources)) that of the source with the lowest number.
/// [`Instant::MAX`] is never.
#[derive(Debug, Clone, Default)]
pub struct Agenda {
    /// Those of the busy sources: the first numbers, each in its own place. At [`Instant::MAX`] there is none.
    busy: Vec<Entry>,
    heap: Vec<Entry>,
    /// Where each source stands in the heap.
    place: Vec<u32>,
    /// How often something was scheduled.
    scheduled: u64,
    by_source: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Instant,
    /// The order of events at equal times.
    turn: u64,
    source: u32,
}

impl Entry {
    /// Equal times are rare: nearly always the first comparison settles it.
    #[inline]
    fn before(&self, other: &Self) -> bool {
        self.at < other.at || self.at == other.at && self.turn < other.turn
    }
}

impl Agenda {
    /// An empty agenda for sources 0 to `sources` - 1.
    pub fn new(sources: usize) -> Self {
        Self::with_busy(sources, 0)
    }

    /// The same, of which the first `busy` have the next event most of the time. Makes no difference to
    /// the order.
    pub fn with_busy(sources: usize, busy: usize) -> Self {
        let busy = if busy <= MOST_BUSY { busy } else { 0 };
        let none = |source| Entry { at: Instant::MAX, turn: u64::MAX, source };
        Self {
            busy: (0..busy as u32).map(none).collect(),
            heap: Vec::with_capacity(sources - busy),
            place: vec![NOT_SCHEDULED; sources],
            scheduled: 0,
            by_source: false,
        }
    }

    /// The same, with events at equal times in the order of their sources: it does not depend then on what
    /// happened before.
    pub fn in_order_of_sources(mut self) -> Self {
        self.by_source = true;
        self
    }

    /// The next event: when, and whose.
    #[inline]
    pub fn next(&self) -> Option<(Instant, usize)> {
        let none = Entry { at: Instant::MAX, turn: u64::MAX, source: NOT_SCHEDULED };
        let mut first = self.heap.first().unwrap_or(&none);
        for entry in &self.busy {
            if entry.before(first) {
                first = entry;
            }
        }
        // Neither of a busy source without an event nor of an empty heap.
        (first.at < Instant::MAX).then_some((first.at, first.source as usize))
    }

    /// When `source` has its next event; [`Instant::MAX`] where it has none.
    #[inline]
    pub fn at(&self, source: usize) -> Instant {
        if let Some(entry) = self.busy.get(source) {
            return entry.at;
        }
        self.heap.get(self.place[source] as usize).map_or(Instant::MAX, |entry| entry.at)
    }

    /// Sets when `source` has its next event, or that it has none. A source whose time stays the same
    /// keeps its turn among equals.
    #[inline]
    pub fn set(&mut self, source: usize, at: Option<Instant>) {
        if let Some(entry) = self.busy.get_mut(source) {
            let at = at.unwrap_or(Instant::MAX);
            if entry.at != at {
                self.scheduled += 1;
                (entry.at, entry.turn) = (at, if self.by_source { source as u64 } else { self.scheduled });
            }
            return;
        }
        self.set_in_heap(source, at);
    }

    fn set_in_heap(&mut self, source: usize, at: Option<Instant>) {
        let place = self.place[source];
        match (place, at) {
            (NOT_SCHEDULED, None) => {}
            (NOT_SCHEDULED, Some(at)) => {
                let last = self.heap.len();
                let entry = self.entry(at, source);
                self.heap.push(entry);
                self.place[source] = last as u32;
                self.up(last);
            }
            (place, None) => self.remove(place as usize),
            (place, Some(at)) => {
                let place = place as usize;
                if self.heap[place].at == at {
                    return;
                }
                let earlier = at < self.heap[place].at;
                self.heap[place] = self.entry(at, source);
                if earlier {
                    self.up(place);
                } else {
                    self.down(place);
                }
            }
        }
    }

    /// As [`set`](Self::set), for a source that does not mind being woken too early: an event that is
    /// there already and due no later stays.
    #[inline]
    pub fn set_no_later(&mut self, source: usize, at: Option<Instant>) {
        if let Some(entry) = self.busy.get(source) {
            if at.is_some_and(|at| at < entry.at) {
                self.set(source, at);
            }
            return;
        }
        let place = self.place[source];
        if place == NOT_SCHEDULED || at.is_some_and(|at| at < self.heap[place as usize].at) {
            self.set(source, at);
        }
    }

    /// Takes the next event off, to be handled now.
    pub fn pop(&mut self) -> Option<(Instant, usize)> {
        let next = self.next()?;
        self.set(next.1, None);
        Some(next)
    }

    fn entry(&mut self, at: Instant, source: usize) -> Entry {
        self.scheduled += 1;
        let turn = if self.by_source { source as u64 } else { self.scheduled };
        Entry { at, turn, source: source as u32 }
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap.swap_remove(place);
        self.place[gone.source as usize] = NOT_SCHEDULED;
        if place < self.heap.len() {
            self.place[self.heap[place].source as usize] = place as u32;
            self.down(place);
            self.up(place);
        }
    }

    fn up(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent].before(&entry) {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let first = 4 * at + 1;
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
            self.put(at, self.heap[least]);
            at = least;
        }
        self.put(at, entry);
    }

    #[inline]
    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.place[entry.source as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut agenda = Agenda::new(4);
        let at = Instant::from_secs(1);
        for source in [2, 0, 3, 1] {
            agenda.set(source, Some(at));
        }
        agenda.set(0, Some(at));
        let order: Vec<usize> = core::iter::from_fn(|| agenda.pop()).map(|(_, s)| s).collect();
        assert_eq!(order, [2, 0, 3, 1]);
    }

    #[test]
    fn or_in_the_order_of_their_sources() {
        for busy in [0, 2] {
            let mut agenda = Agenda::with_busy(4, busy).in_order_of_sources();
            let at = Instant::from_secs(1);
            for source in [2, 0, 3, 1] {
                agenda.set(source, Some(at));
            }
            assert_eq!((agenda.at(3), agenda.at(0)), (at, at));
            let order: Vec<usize> = core::iter::from_fn(|| agenda.pop()).map(|(_, s)| s).collect();
            assert_eq!(order, [0, 1, 2, 3]);
            assert_eq!(agenda.at(3), Instant::MAX);
        }
    }

    proptest! {
        #[test]
        fn pops_what_a_sorted_list_would(
            busy in 0_usize..10,
            sets in prop::collection::vec((0_usize..9, prop::option::of(0_u64..20)), 1..200),
        ) {
            let mut agenda = Agenda::with_busy(9, busy.min(9));
            let mut list: Vec<(u64, usize, usize)> = Vec::new();
            for (turn, &(source, at)) in sets.iter().enumerate() {
                agenda.set(source, at.map(Instant::from_nanos));
                let before = list.iter().position(|&(_, _, s)| s == source).map(|i| list.remove(i));
                if let Some(at) = at {
                    let kept = before.filter(|&(t, _, _)| t == at);
                    list.push(kept.unwrap_or((at, turn, source)));
                }
                if turn % 5 == 4 {
                    list.sort_unstable();
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    prop_assert_eq!(agenda.pop(), expected.map(|(t, _, s)| (Instant::from_nanos(t), s)));
                }
            }
        }
    }
}
