//! Arrival of a packet from a medium: at an endpoint, at the middleboxes, or at a background flow.

use crate::background::Background;
use crate::capture::Capture;
use crate::connection::{Connection, End};
use crate::delivery::DeliveryRecorder;
use crate::media::Port;
use crate::network::Path;
use crate::packet::PacketLabel;
use units::Instant;
use wire::{Segment, Span};

/// Receiver of an arriving packet.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Receiver {
    /// An end of the connection with this index.
    End(usize, End),
    /// The middleboxes of the path with this index.
    Middleboxes(usize),
    /// The next medium of its path.
    Port(Port),
    Background,
}

/// State that an arriving packet touches, apart from its medium and its connection.
pub(crate) struct Ingress<'a> {
    pub(crate) now: Instant,
    /// Index of the medium that the packet leaves.
    pub(crate) medium: usize,
    pub(crate) paths: &'a mut [Path],
    pub(crate) capture: &'a mut Option<Capture>,
    pub(crate) background: &'a mut [Background],
}

impl Ingress<'_> {
    /// Hands a packet of `bytes` with all headers to its receiver. Returns `None` if it is lost
    /// because the interface is down.
    #[inline]
    pub(crate) fn deliver(
        self,
        connections: &mut [Connection],
        bytes: u32,
        label: PacketLabel,
        segment: &Segment<Span>,
    ) -> Option<Receiver> {
        let (i, path_index, down) = (usize::from(label.connection), label.path(), label.is_down());
        let path = &mut self.paths[path_index];
        if let Some(port) = path.next_port(down, self.medium) {
            return Some(Receiver::Port(port));
        }
        if !path.present {
            return None;
        }
        let Some(connection) = connections.get_mut(i) else {
            if down {
                path.count_received(self.now, bytes);
            }
            self.background.get_mut(i - connections.len())?.receive(self.now, bytes, segment);
            return Some(Receiver::Background);
        };
        if let Some(middleboxes) = path.middleboxes.as_mut().filter(|_| !down) {
            middleboxes.push(self.now, label.passing(segment));
            return Some(Receiver::Middleboxes(path_index));
        }
        let end = if down {
            path.count_received(self.now, bytes);
            path.payload_down += u64::from(segment.payload.len);
            if let Some(capture) = self.capture {
                capture.packet(self.now, i, path_index, true, segment);
            }
            End::Client
        } else {
            End::Server
        };
        connection.on_segment(self.now, end, connection.local_path(path_index), segment);
        Some(Receiver::End(i, end))
    }
}

/// Records a segment that an end of `connection` has processed. Out of line, because most runs do
/// not record deliveries.
#[cold]
#[inline(never)]
pub(crate) fn record_arrival(
    recorder: &mut DeliveryRecorder,
    now: Instant,
    connection: &Connection,
    end: End,
    segment: &Segment<Span>,
) {
    recorder.on_receive(now, connection.side(end), segment, connection.delivered);
}
