//! Several middleboxes in series on one path.

use crate::config::MiddleboxConfig;
use crate::middlebox::Middlebox;
use crate::payload::EditablePayload;
use crate::stats::MiddleboxStats;
use crate::transit::TransitSegment;
use std::collections::VecDeque;
use units::{Instant, Seed};

/// The middleboxes of a path, in order from the device to the server. The contract is that of
/// [`Middlebox`].
#[derive(Debug, Clone)]
pub struct Chain<P> {
    boxes: Vec<Middlebox<P>>,
    /// Segments between two boxes, with their gap. Gap `i` is before box `i` as seen from the
    /// device.
    between: VecDeque<(usize, TransitSegment<P>)>,
    ready: VecDeque<TransitSegment<P>>,
    ready_at: Instant,
}

impl<P: EditablePayload> Chain<P> {
    /// Middleboxes in their initial state, each with a random stream of its own.
    pub fn new(configs: &[MiddleboxConfig], seed: Seed) -> Self {
        let boxes = configs.iter().enumerate();
        Self {
            boxes: boxes.map(|(i, config)| Middlebox::new(config, seed.derive(&i.to_string()))).collect(),
            between: VecDeque::new(),
            ready: VecDeque::new(),
            ready_at: Instant::ZERO,
        }
    }

    /// Accepts a segment at the end that its sender is on.
    pub fn push(&mut self, now: Instant, segment: TransitSegment<P>) {
        let gap = if segment.from_device { 0 } else { self.boxes.len() };
        self.between.push_back((gap, segment));
        self.forward(now);
    }

    /// Returns the next segment that leaves at either end at or before `now`.
    pub fn poll(&mut self, now: Instant) -> Option<TransitSegment<P>> {
        if self.ready.is_empty() {
            for i in 0..self.boxes.len() {
                if self.boxes[i].next().is_some_and(|at| at <= now) {
                    self.drain(i, now);
                }
            }
            self.forward(now);
        }
        self.ready.pop_front()
    }

    /// Time at which to call [`poll`](Self::poll) next, if no segment arrives before.
    pub fn next(&self) -> Option<Instant> {
        if self.ready.is_empty() {
            self.boxes.iter().filter_map(Middlebox::next).min()
        } else {
            Some(self.ready_at)
        }
    }

    /// Configuration and counters of each middlebox, in order from the device.
    pub fn stats(&self) -> impl Iterator<Item = (&MiddleboxConfig, MiddleboxStats)> {
        self.boxes.iter().map(|each| (each.config(), each.stats()))
    }

    /// Passes segments from box to box until all have left the chain or are held by a box.
    fn forward(&mut self, now: Instant) {
        while let Some((gap, segment)) = self.between.pop_front() {
            let next_box = if segment.from_device { Some(gap) } else { gap.checked_sub(1) };
            if let Some(i) = next_box.filter(|&i| i < self.boxes.len()) {
                self.boxes[i].push(now, segment);
                self.drain(i, now);
            } else {
                self.ready_at = now;
                self.ready.push_back(segment);
            }
        }
    }

    /// Moves all segments that leave box `i` into the gaps beside it.
    fn drain(&mut self, i: usize, now: Instant) {
        while let Some(segment) = self.boxes[i].poll(now) {
            let gap = if segment.from_device { i + 1 } else { i };
            self.between.push_back((gap, segment));
        }
    }
}
