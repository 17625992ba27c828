//! Set of stations with queued packets.

/// A set of station indices with access by position.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    members: Vec<usize>,
    /// Position of each station in `members`, or `ABSENT`.
    positions: Vec<usize>,
    /// Number of attached stations; they have the lowest indices.
    attached: usize,
    /// Number of attached stations in `members`.
    waiting: usize,
}

const ABSENT: usize = usize::MAX;

impl Ready {
    /// Creates an empty set of `attached` stations and `others` after them.
    pub(super) fn new(attached: usize, others: usize) -> Self {
        let all = attached + others;
        Self { members: Vec::with_capacity(all), positions: vec![ABSENT; all], attached, waiting: 0 }
    }

    pub(super) fn insert(&mut self, station: usize) {
        if self.positions[station] == ABSENT {
            self.positions[station] = self.members.len();
            self.members.push(station);
            self.waiting += usize::from(station < self.attached);
        }
    }

    pub(super) fn remove(&mut self, station: usize) {
        let position = std::mem::replace(&mut self.positions[station], ABSENT);
        if position != ABSENT {
            self.members.swap_remove(position);
            if let Some(&moved) = self.members.get(position) {
                self.positions[moved] = position;
            }
            self.waiting -= usize::from(station < self.attached);
        }
    }

    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    pub(super) fn any_attached(&self) -> bool {
        self.waiting > 0
    }
}
