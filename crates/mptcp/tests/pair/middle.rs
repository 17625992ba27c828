//! What stands between: boxes that look into segments and change them.

use super::{CLIENT, Pair, SERVER};
use middlebox::{Middlebox, TransitSegment};
use std::collections::VecDeque;
use tandem_mptcp::PathId;
use units::Instant;
use wire::{Segment, Span};

/// The boxes of one path, the one nearest to the device first.
pub type Chain = Vec<Middlebox<Span>>;

impl Pair {
    /// Sends a segment through the boxes of its path.
    pub(super) fn pass(&mut self, from: usize, path: PathId, segment: Segment<Span>) {
        let passing = TransitSegment { from_device: from == CLIENT, flow: 0, segment };
        let start = if passing.from_device { 0 } else { self.boxes[path.index()].len() };
        self.go_on(path, VecDeque::from([(start, passing)]));
    }

    /// Lets go what boxes have held long enough.
    pub(super) fn release(&mut self) {
        for path in 0..self.boxes.len() {
            for place in 0..self.boxes[path].len() {
                if self.boxes[path][place].next().is_some_and(|at| at <= self.now) {
                    let mut out = VecDeque::new();
                    self.drain_box(path, place, &mut out);
                    self.go_on(PathId(path as u8), out);
                }
            }
        }
    }

    /// When a box next lets something go.
    pub(super) fn boxes_next(&self) -> Option<Instant> {
        self.boxes.iter().flatten().filter_map(Middlebox::next).min()
    }

    /// Each waits before the box that it has come to: the one at its place, or seen from the server
    /// the one before.
    fn go_on(&mut self, path: PathId, mut waiting: VecDeque<(usize, TransitSegment<Span>)>) {
        while let Some((place, passing)) = waiting.pop_front() {
            let next = if passing.from_device { Some(place) } else { place.checked_sub(1) };
            if let Some(next) = next.filter(|&next| next < self.boxes[path.index()].len()) {
                self.boxes[path.index()][next].push(self.now, passing);
                self.drain_box(path.index(), next, &mut waiting);
            } else {
                let to = if passing.from_device { SERVER } else { CLIENT };
                self.put(to, path, &passing.segment);
            }
        }
    }

    fn drain_box(&mut self, path: usize, place: usize, out: &mut VecDeque<(usize, TransitSegment<Span>)>) {
        while let Some(passing) = self.boxes[path][place].poll(self.now) {
            out.push_back((if passing.from_device { place + 1 } else { place }, passing));
        }
    }
}
