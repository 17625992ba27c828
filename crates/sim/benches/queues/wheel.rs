//! Hierarchical timing wheel with one slot per source.

use super::Queue;
use units::Instant;

const NONE: u32 = u32::MAX;
/// Binary logarithm of the slots of a level, which are the bits of a word.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// A slot of the lowest level spans 2^10 ns; seven levels span 52 days.
const TICK: u32 = 10;
const LEVELS: usize = 7;

#[derive(Clone, Copy)]
struct Entry {
    at: u64,
    serial: u64,
    next: u32,
    previous: u32,
    /// List that the entry is in, or `NONE`.
    slot: u32,
}

/// A slot spans as much time as the whole level below. The entries of a slot form an intrusive
/// list.
pub(crate) struct Wheel {
    entries: Vec<Entry>,
    heads: [[u32; SLOTS]; LEVELS],
    filled: [u64; LEVELS],
    now: u64,
    serial: u64,
}

impl Wheel {
    fn place(&mut self, source: usize) {
        let at = self.entries[source].at;
        let (tick, now) = (at >> TICK, self.now >> TICK);
        // The highest level at which event time and current time differ.
        let level = (((tick ^ now) | 1).ilog2() / BITS).min(LEVELS as u32 - 1) as usize;
        let slot = (tick >> (BITS * level as u32)) as usize % SLOTS;
        let head = self.heads[level][slot];
        if head != NONE {
            self.entries[head as usize].previous = source as u32;
        }
        let entry = &mut self.entries[source];
        (entry.next, entry.previous, entry.slot) = (head, NONE, (level * SLOTS + slot) as u32);
        self.heads[level][slot] = source as u32;
        self.filled[level] |= 1 << slot;
    }

    fn unlink(&mut self, source: usize) {
        let Entry { next, previous, slot, .. } = self.entries[source];
        if slot == NONE {
            return;
        }
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        let (level, at) = (slot as usize / SLOTS, slot as usize % SLOTS);
        if previous == NONE {
            self.heads[level][at] = next;
            if next == NONE {
                self.filled[level] &= !(1 << at);
            }
        } else {
            self.entries[previous as usize].next = next;
        }
        self.entries[source].slot = NONE;
    }
}

impl Queue for Wheel {
    fn with_sources(sources: usize) -> Self {
        let entry = Entry { at: 0, serial: 0, next: NONE, previous: NONE, slot: NONE };
        Self {
            entries: vec![entry; sources],
            heads: [[NONE; SLOTS]; LEVELS],
            filled: [0; LEVELS],
            now: 0,
            serial: 0,
        }
    }

    fn set(&mut self, source: usize, at: Option<Instant>) {
        let at = at.map(Instant::as_nanos);
        if self.entries[source].slot != NONE && Some(self.entries[source].at) == at {
            return;
        }
        self.unlink(source);
        if let Some(at) = at {
            self.serial += 1;
            (self.entries[source].at, self.entries[source].serial) = (at, self.serial);
            self.place(source);
        }
    }

    fn set_no_later(&mut self, source: usize, at: Option<Instant>) {
        let entry = &self.entries[source];
        if entry.slot == NONE || at.is_some_and(|at| at.as_nanos() < entry.at) {
            self.set(source, at);
        }
    }

    fn pop(&mut self) -> Option<(Instant, usize)> {
        loop {
            let level = self.filled.iter().position(|&filled| filled != 0)?;
            let slot = self.filled[level].trailing_zeros() as usize;
            let head = self.heads[level][slot];
            if level == 0 {
                let (mut best, mut at) = (head, head);
                while at != NONE {
                    let (a, b) = (&self.entries[at as usize], &self.entries[best as usize]);
                    if (a.at, a.serial) < (b.at, b.serial) {
                        best = at;
                    }
                    at = a.next;
                }
                self.unlink(best as usize);
                self.now = self.entries[best as usize].at;
                return Some((Instant::from_nanos(self.now), best as usize));
            }
            // The first slot of a higher level: advance to its start and move its entries down.
            let shift = TICK + BITS * level as u32;
            let above = self.now >> shift >> BITS << BITS;
            self.now = (above | slot as u64) << shift;
            self.heads[level][slot] = NONE;
            self.filled[level] &= !(1 << slot);
            let mut at = head;
            while at != NONE {
                let next = self.entries[at as usize].next;
                self.place(at as usize);
                at = next;
            }
        }
    }
}
