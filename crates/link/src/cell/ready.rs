//! Which stations have something to send.

/// A set of station numbers, from which one is taken by place.
#[derive(Debug, Clone)]
pub(super) struct Ready {
    members: Vec<usize>,
    /// Where each station is in `members`; `ABSENT` where it is not.
    places: Vec<usize>,
    /// Stations below this are attached ones.
    attached: usize,
    /// How many attached stations are in `members`.
    waiting: usize,
}

const ABSENT: usize = usize::MAX;

impl Ready {
    /// Of `attached` stations and `others` behind them, none.
    pub(super) fn new(attached: usize, others: usize) -> Self {
        let all = attached + others;
        Self { members: Vec::with_capacity(all), places: vec![ABSENT; all], attached, waiting: 0 }
    }

    pub(super) fn insert(&mut self, station: usize) {
        if self.places[station] == ABSENT {
            self.places[station] = self.members.len();
            self.members.push(station);
            self.waiting += usize::from(station < self.attached);
        }
    }

    pub(super) fn remove(&mut self, station: usize) {
        let place = std::mem::replace(&mut self.places[station], ABSENT);
        if place != ABSENT {
            self.members.swap_remove(place);
            if let Some(&moved) = self.members.get(place) {
                self.places[moved] = place;
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
