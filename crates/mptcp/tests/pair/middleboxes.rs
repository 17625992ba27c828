//! Middleboxes on the paths of a pair.

use super::{CLIENT, Pair, SERVER};
use middlebox::{Middlebox, TransitSegment};
use std::collections::VecDeque;
use tandem_mptcp::PathId;
use units::Instant;
use wire::{Segment, Span};

/// Middleboxes of one path, the one nearest to the client first.
pub type Chain = Vec<Middlebox<Span>>;

impl Pair {
    /// Sends a segment through the middleboxes of its path.
    pub(super) fn enter_path(&mut self, from: usize, path: PathId, segment: Segment<Span>) {
        let transit = TransitSegment { from_device: from == CLIENT, flow: 0, segment };
        let start = if transit.from_device { 0 } else { self.boxes[path.index()].len() };
        self.forward(path, VecDeque::from([(start, transit)]));
    }

    /// Forwards segments that middleboxes have held long enough.
    pub(super) fn release_held(&mut self) {
        for path in 0..self.boxes.len() {
            for place in 0..self.boxes[path].len() {
                if self.boxes[path][place].next().is_some_and(|at| at <= self.now) {
                    let mut out = VecDeque::new();
                    self.drain_box(path, place, &mut out);
                    self.forward(PathId(path as u8), out);
                }
            }
        }
    }

    /// When a middlebox next forwards a held segment.
    pub(super) fn next_release(&self) -> Option<Instant> {
        self.boxes.iter().flatten().filter_map(Middlebox::next).min()
    }

    /// Forwards segments. `waiting` has each with its position: it is next to enter the box at that
    /// index, or coming from the server the box before it.
    fn forward(&mut self, path: PathId, mut waiting: VecDeque<(usize, TransitSegment<Span>)>) {
        while let Some((place, transit)) = waiting.pop_front() {
            let next = if transit.from_device { Some(place) } else { place.checked_sub(1) };
            if let Some(next) = next.filter(|&next| next < self.boxes[path.index()].len()) {
                self.boxes[path.index()][next].push(self.now, transit);
                self.drain_box(path.index(), next, &mut waiting);
            } else {
                let to = if transit.from_device { SERVER } else { CLIENT };
                self.propagate(to, path, &transit.segment);
            }
        }
    }

    fn drain_box(&mut self, path: usize, place: usize, out: &mut VecDeque<(usize, TransitSegment<Span>)>) {
        while let Some(transit) = self.boxes[path][place].poll(self.now) {
            out.push_back((if transit.from_device { place + 1 } else { place }, transit));
        }
    }
}
