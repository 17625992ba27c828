//! The ends of a path: what a segment meets when it leaves an end of a connection, and when it arrives.

use crate::agenda::Agenda;
use crate::background::Background;
use crate::capture::Capture;
use crate::delivery::{Delivery, Side};
use crate::host::{Connection, End};
use crate::network::{IP_HEADER, Network, Path};
use crate::packet::Label;
use middlebox::Passing;
use mptcp::PathId;
use radio::Direction;
use units::Instant;
use wire::{Segment, Span};

/// Where an arriving packet has come to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reached {
    /// This end of a connection, which has heard it.
    End(End),
    /// The middleboxes of a path.
    Boxes,
    /// A flow of datagrams, which has counted it.
    Background,
}

/// What an arriving packet meets, apart from the medium that it lies in.
pub(crate) struct Arrival<'a> {
    pub(crate) now: Instant,
    pub(crate) paths: &'a mut [Path],
    pub(crate) capture: &'a mut Option<Capture>,
    pub(crate) background: &'a mut [Background],
}

impl Arrival<'_> {
    /// A packet reached the far end of its link; says who has it now.
    #[inline]
    pub(crate) fn deliver(
        self,
        connections: &mut [Connection],
        bytes: u32,
        label: Label,
        segment: &Segment<Span>,
    ) -> Option<(usize, Reached)> {
        let (i, path_index) = (usize::from(label.connection), usize::from(label.path));
        let path = &mut self.paths[path_index];
        if !path.present {
            // The interface is gone, and what was under way to it or from it is lost.
            return None;
        }
        let Some(connection) = connections.get_mut(i) else {
            if label.down {
                path.count(self.now, Direction::Down, bytes);
            }
            // Its number follows those of the connections.
            self.background.get_mut(i - connections.len())?.receive(self.now, bytes, segment);
            return Some((i, Reached::Background));
        };
        if let Some(boxes) = path.boxes.as_mut().filter(|_| !label.down) {
            boxes.push(self.now, passing(label, segment));
            return Some((path_index, Reached::Boxes));
        }
        let end = if label.down {
            path.count(self.now, Direction::Down, bytes);
            path.payload_down += u64::from(segment.payload.len);
            if let Some(capture) = self.capture {
                capture.packet(self.now, i, path_index, true, segment);
            }
            End::Client
        } else {
            End::Server
        };
        connection.hear(self.now, end, PathId(label.path), segment);
        Some((i, Reached::End(end)))
    }
}

/// What a segment that leaves an end meets.
pub(crate) struct Departure<'a> {
    pub(crate) now: Instant,
    pub(crate) network: &'a mut Network,
    pub(crate) agenda: &'a mut Agenda,
    pub(crate) capture: &'a mut Option<Capture>,
    /// Where data are recorded, and which side of it the end is.
    pub(crate) delivery: Option<(Side, &'a mut Delivery)>,
}

/// Where a segment that left an end went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// On its way, or nowhere where there is none.
    Straight,
    /// Into the middleboxes of its path.
    IntoBoxes,
}

impl Departure<'_> {
    #[inline]
    pub(crate) fn send(self, label: Label, segment: &Segment<Span>) -> Left {
        let size = segment.wire_len() as u32 + IP_HEADER;
        let path = &mut self.network.paths[usize::from(label.path)];
        if !label.down {
            if !path.present {
                return Left::Straight;
            }
            path.count(self.now, Direction::Up, size);
            path.payload_up += u64::from(segment.payload.len);
            if let Some(capture) = self.capture {
                let (connection, path) = (usize::from(label.connection), usize::from(label.path));
                capture.packet(self.now, connection, path, false, segment);
            }
        }
        if let Some((side, delivery)) = self.delivery {
            leaves(delivery, self.now, side, segment);
        }
        if let Some(boxes) = path.boxes.as_mut().filter(|_| label.down) {
            boxes.push(self.now, passing(label, segment));
            return Left::IntoBoxes;
        }
        self.network.send(self.now, size, label, segment, self.agenda);
        Left::Straight
    }
}

/// A segment as it meets a middlebox.
fn passing(label: Label, segment: &Segment<Span>) -> Passing<Span> {
    Passing { from_device: !label.down, flow: u32::from(label.connection), segment: segment.clone() }
}

/// A segment leaves an end of a connection whose data are recorded; out of the way of those that are not.
#[cold]
#[inline(never)]
pub(crate) fn leaves(delivery: &mut Delivery, now: Instant, side: Side, segment: &Segment<Span>) {
    delivery.leaves(now, side, segment);
}

/// An end of a connection whose data are recorded has heard a segment.
#[cold]
#[inline(never)]
pub(crate) fn arrived(
    delivery: &mut Delivery,
    now: Instant,
    connection: &Connection,
    end: End,
    segment: &Segment<Span>,
) {
    delivery.arrived(now, connection.side(end), segment, connection.delivered);
}
