//! Departure of a segment from an endpoint: onto a medium or into the middleboxes.

use crate::capture::Capture;
use crate::delivery::{DeliveryRecorder, Side};
use crate::event_queue::EventQueue;
use crate::event_source::{EventSlots, EventSource};
use crate::network::{IP_HEADER_BYTES, MediumScheduler, Network};
use crate::packet::PacketLabel;
use units::Instant;
use wire::{Segment, Span};

/// State that a departing segment touches.
pub(crate) struct Egress<'a> {
    pub(crate) now: Instant,
    pub(crate) network: &'a mut Network,
    pub(crate) queue: &'a mut EventQueue<EventSource>,
    pub(crate) slots: &'a EventSlots,
    pub(crate) capture: &'a mut Option<Capture>,
    /// Recorder of the connection's data, and the side that sends.
    pub(crate) recorder: Option<(Side, &'a mut DeliveryRecorder)>,
}

impl Egress<'_> {
    #[inline]
    pub(crate) fn send(&mut self, label: PacketLabel, segment: &Segment<Span>) {
        let size = segment.wire_len() as u32 + IP_HEADER_BYTES;
        let path = &mut self.network.paths[label.path()];
        if !label.is_down() {
            if !path.present {
                return;
            }
            if let Some(capture) = self.capture {
                capture.packet(self.now, usize::from(label.connection), label.path(), false, segment);
            }
        }
        if let Some((side, recorder)) = &mut self.recorder {
            record_departure(recorder, self.now, *side, segment);
        }
        if let Some(middleboxes) = path.middleboxes.as_mut().filter(|_| label.is_down()) {
            middleboxes.push(self.now, label.passing(segment));
            let source = EventSource::Middleboxes(label.path());
            self.queue.set(self.slots.of(source), middleboxes.next());
            return;
        }
        let scheduler = MediumScheduler { queue: self.queue, slots: self.slots };
        self.network.send(self.now, size, label, segment, scheduler);
    }
}

/// Records a segment that an end sends. Out of line, because most runs do not record deliveries.
#[cold]
#[inline(never)]
fn record_departure(recorder: &mut DeliveryRecorder, now: Instant, side: Side, segment: &Segment<Span>) {
    recorder.on_send(now, side, segment);
}
