//! Calendar queue with one slot per source: days of equal length with a sorted list each; after a
//! year the days repeat.

use super::Queue;
use units::Instant;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    at: u64,
    serial: u64,
    next: u32,
    previous: u32,
    listed: bool,
}

/// The number of days is twice the number of sources. The length of a day is about the mean
/// interval of recent events.
pub(crate) struct Calendar {
    entries: Vec<Entry>,
    heads: Vec<u32>,
    /// The length of a day is 2^width ns.
    width: u32,
    now: u64,
    serial: u64,
    pending: usize,
    popped: u64,
    since: u64,
}

impl Calendar {
    fn day(&self, at: u64) -> usize {
        (at >> self.width) as usize & (self.heads.len() - 1)
    }

    fn link(&mut self, source: usize) {
        let (at, serial) = (self.entries[source].at, self.entries[source].serial);
        let day = self.day(at);
        let (mut previous, mut next) = (NONE, self.heads[day]);
        while next != NONE {
            let other = &self.entries[next as usize];
            if (at, serial) < (other.at, other.serial) {
                break;
            }
            (previous, next) = (next, other.next);
        }
        let entry = &mut self.entries[source];
        (entry.next, entry.previous, entry.listed) = (next, previous, true);
        if next != NONE {
            self.entries[next as usize].previous = source as u32;
        }
        if previous == NONE {
            self.heads[day] = source as u32;
        } else {
            self.entries[previous as usize].next = source as u32;
        }
        self.pending += 1;
    }

    fn unlink(&mut self, source: usize) {
        let Entry { at, next, previous, listed, .. } = self.entries[source];
        if !listed {
            return;
        }
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous == NONE {
            let day = self.day(at);
            self.heads[day] = next;
        } else {
            self.entries[previous as usize].next = next;
        }
        self.entries[source].listed = false;
        self.pending -= 1;
    }

    /// Sets the length of a day to the mean interval of recent events.
    fn resize(&mut self) {
        let gap = ((self.now - self.since) / self.popped).max(1);
        let width = 64 - gap.leading_zeros();
        (self.popped, self.since) = (0, self.now);
        if width.abs_diff(self.width) < 2 {
            return;
        }
        let listed: Vec<usize> = (0..self.entries.len()).filter(|&s| self.entries[s].listed).collect();
        self.heads.fill(NONE);
        self.width = width;
        self.pending = 0;
        for source in listed {
            self.link(source);
        }
    }
}

impl Queue for Calendar {
    fn with_sources(sources: usize) -> Self {
        let entry = Entry { at: 0, serial: 0, next: NONE, previous: NONE, listed: false };
        Self {
            entries: vec![entry; sources],
            heads: vec![NONE; (2 * sources).next_power_of_two()],
            width: 12,
            now: 0,
            serial: 0,
            pending: 0,
            popped: 0,
            since: 0,
        }
    }

    fn set(&mut self, source: usize, at: Option<Instant>) {
        let at = at.map(Instant::as_nanos);
        if self.entries[source].listed && Some(self.entries[source].at) == at {
            return;
        }
        self.unlink(source);
        if let Some(at) = at {
            self.serial += 1;
            (self.entries[source].at, self.entries[source].serial) = (at, self.serial);
            self.link(source);
        }
    }

    fn set_no_later(&mut self, source: usize, at: Option<Instant>) {
        let entry = &self.entries[source];
        if !entry.listed || at.is_some_and(|at| at.as_nanos() < entry.at) {
            self.set(source, at);
        }
    }

    fn pop(&mut self) -> Option<(Instant, usize)> {
        if self.pending == 0 {
            return None;
        }
        self.popped += 1;
        if self.popped == 65_536 {
            self.resize();
        }
        let days = self.heads.len() as u64;
        let today = self.now >> self.width;
        let within = |day: u64| {
            let head = self.heads[day as usize & (self.heads.len() - 1)];
            (head != NONE && self.entries[head as usize].at >> self.width == day).then_some(head)
        };
        // No event within a year: the minimum of all lists.
        let first = (today..today + days).find_map(within).or_else(|| {
            let heads = self.heads.iter().copied().filter(|&head| head != NONE);
            heads.min_by_key(|&head| (self.entries[head as usize].at, self.entries[head as usize].serial))
        })?;
        self.unlink(first as usize);
        self.now = self.entries[first as usize].at;
        Some((Instant::from_nanos(self.now), first as usize))
    }
}
