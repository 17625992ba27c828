//! Handlers of the events of media, middleboxes, background flows and applications.

use crate::connection::End;
use crate::event_source::EventSource;
use crate::ingress::{Ingress, Receiver, record_arrival};
use crate::network::{IP_HEADER_BYTES, Medium, MediumScheduler};
use crate::packet::PacketLabel;
use crate::world::World;
use middlebox::TransitSegment;

impl World<'_> {
    /// Delivers the packets that have arrived over a medium.
    // Inlined into the event loop, it makes the whole loop slower.
    #[inline(never)]
    pub(crate) fn on_medium(&mut self, i: usize) {
        while let Some((size, label)) = self.receive(i) {
            if label.is_down() {
                self.network.count_sent(self.now, label.path());
            }
            let ingress = Ingress {
                now: self.now,
                medium: i,
                paths: &mut self.network.paths,
                capture: &mut self.capture,
                background: &mut self.background,
            };
            match ingress.deliver(&mut self.connections, size, label, &self.incoming) {
                Some(Receiver::End(connection, end)) => {
                    if !self.delivery_recorders.is_empty() {
                        let recorder = &mut self.delivery_recorders[connection];
                        let connection = &self.connections[connection];
                        record_arrival(recorder, self.now, connection, end, &self.incoming);
                    }
                    self.settle_end(connection, end);
                }
                Some(Receiver::Middleboxes(path)) => self.schedule_middleboxes(path),
                Some(Receiver::Port(port)) => {
                    let scheduler = MediumScheduler { queue: &mut self.queue, slots: &self.slots };
                    self.network.push((self.now, port), size, label, &self.incoming, scheduler);
                }
                Some(Receiver::Background) | None => {}
            }
        }
        let next = self.network.media[i].next();
        self.queue.set(self.slots.media[i], next);
    }

    /// Takes the next arrived packet from a medium into [`incoming`](Self::incoming). Returns its
    /// size with all headers, and its label.
    #[inline]
    fn receive(&mut self, i: usize) -> Option<(u32, PacketLabel)> {
        match &mut self.network.media[i] {
            Medium::Link(link) => {
                let (size, packet) = link.peek(self.now)?;
                let label = packet.unpack_into(&mut self.incoming);
                link.pop();
                Some((size, label))
            }
            Medium::Cell(cell) => {
                let (_, packet) = cell.poll(self.now)?;
                let label = packet.unpack_into(&mut self.incoming);
                Some((self.incoming.wire_len() as u32 + IP_HEADER_BYTES, label))
            }
        }
    }

    /// Sends the due datagrams of a background flow.
    pub(crate) fn on_background(&mut self, i: usize) {
        let now = self.now;
        let number = self.connections.len() + i;
        while let Some((size, label, segment)) = self.background[i].send(now, number) {
            if !label.is_down() {
                if !self.network.paths[label.path()].present {
                    continue;
                }
                self.network.count_sent(now, label.path());
            }
            let scheduler = MediumScheduler { queue: &mut self.queue, slots: &self.slots };
            self.network.send(now, size, label, &segment, scheduler);
        }
        let next = self.background[i].next();
        self.schedule(EventSource::Background(i), next);
    }

    /// Moves segments from the middleboxes of a path to the servers, or onto the link to the
    /// device.
    pub(crate) fn on_middleboxes(&mut self, path: usize) {
        let now = self.now;
        while let Some(TransitSegment { from_device, flow, segment }) =
            self.network.paths[path].middleboxes.as_mut().and_then(|chain| chain.poll(now))
        {
            let i = flow as usize;
            if from_device {
                let connection = &mut self.connections[i];
                connection.on_segment(now, End::Server, connection.local_path(path), &segment);
                if !self.delivery_recorders.is_empty() {
                    let recorder = &mut self.delivery_recorders[i];
                    record_arrival(recorder, now, &self.connections[i], End::Server, &segment);
                }
                self.settle_end(i, End::Server);
            } else {
                let label = PacketLabel::new(i, path, true);
                let size = segment.wire_len() as u32 + IP_HEADER_BYTES;
                let scheduler = MediumScheduler { queue: &mut self.queue, slots: &self.slots };
                self.network.send(now, size, label, &segment, scheduler);
            }
        }
        self.schedule_middleboxes(path);
    }

    /// The timer of an application has fired.
    pub(crate) fn on_app(&mut self, i: usize) {
        if !self.connections[i].open_attempted {
            self.open_paths(i);
        }
        let connection = &mut self.connections[i];
        connection.on_app_timer(self.now);
        let next = connection.app.next();
        self.schedule(EventSource::App(i), next);
        self.settle(i);
    }
}
