//! Several boxes on one path.

use crate::{Alter, Middlebox, MiddleboxConfig, MiddleboxStats, Passing};
use std::collections::VecDeque;
use units::{Instant, Seed};

/// The boxes of a path, in order from the device to the server. Contract as for [`Middlebox`].
#[derive(Debug, Clone)]
pub struct Chain<P> {
    boxes: Vec<Middlebox<P>>,
    /// Segments between two boxes: which they come to next, counted from the device.
    between: VecDeque<(usize, Passing<P>)>,
    ready: VecDeque<Passing<P>>,
    ready_at: Instant,
}

impl<P: Alter> Chain<P> {
    /// Boxes that have seen nothing yet; each draws from a stream of its own.
    pub fn new(configs: &[MiddleboxConfig], seed: Seed) -> Self {
        let boxes = configs.iter().enumerate();
        Self {
            boxes: boxes.map(|(i, config)| Middlebox::new(config, seed.derive(&i.to_string()))).collect(),
            between: VecDeque::new(),
            ready: VecDeque::new(),
            ready_at: Instant::ZERO,
        }
    }

    /// Takes a segment, at the end from which it comes.
    pub fn push(&mut self, now: Instant, passing: Passing<P>) {
        let place = if passing.from_device { 0 } else { self.boxes.len() };
        self.between.push_back((place, passing));
        self.carry(now);
    }

    /// The next segment that leaves at either end at or before `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Passing<P>> {
        if self.ready.is_empty() {
            for i in 0..self.boxes.len() {
                if self.boxes[i].next().is_some_and(|at| at <= now) {
                    self.drain(i, now);
                }
            }
            self.carry(now);
        }
        self.ready.pop_front()
    }

    /// When a segment leaves, or goes on to the next box, if none comes before.
    pub fn next(&self) -> Option<Instant> {
        if self.ready.is_empty() {
            self.boxes.iter().filter_map(Middlebox::next).min()
        } else {
            Some(self.ready_at)
        }
    }

    /// What each box has done so far, in order from the device.
    pub fn stats(&self) -> impl Iterator<Item = (&MiddleboxConfig, MiddleboxStats)> {
        self.boxes.iter().map(|each| (each.config(), each.stats()))
    }

    /// Takes segments from box to box until all have left or are held. Place `i` is before box `i` as
    /// seen from the device.
    fn carry(&mut self, now: Instant) {
        while let Some((place, passing)) = self.between.pop_front() {
            let towards = if passing.from_device { Some(place) } else { place.checked_sub(1) };
            if let Some(i) = towards.filter(|&i| i < self.boxes.len()) {
                self.boxes[i].push(now, passing);
                self.drain(i, now);
            } else {
                self.ready_at = now;
                self.ready.push_back(passing);
            }
        }
    }

    fn drain(&mut self, i: usize, now: Instant) {
        while let Some(passing) = self.boxes[i].poll(now) {
            let place = if passing.from_device { i + 1 } else { i };
            self.between.push_back((place, passing));
        }
    }
}
