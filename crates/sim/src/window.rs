//! Windowed execution: runs one side of all connections up to its horizon, connection by
//! connection.
//!
//! The outcome equals that of event-by-event execution in source order, because an end touches
//! nothing but its own state and the links until `Lookahead::release` sends its packets in order.

use crate::connection::{APP_TIMER, End};
use crate::ingress::record_arrival;
use crate::lookahead::{Delivery, packet_at};
use crate::world::World;
use core::ops::Range;
use mptcp::PathId;
use units::Instant;

impl World<'_> {
    /// Runs a window of the servers, then one of the clients. Returns the number of events, or
    /// `None` if there is none left before `limit`.
    pub(crate) fn run_windows(&mut self, limit: Instant) -> Option<u64> {
        let next = self.lookahead.next(&self.network);
        if next >= limit {
            self.lookahead.set_completed(End::Client, limit);
            self.lookahead.set_completed(End::Server, limit);
            return None;
        }
        self.lookahead.skip_to(next);
        let mut events = 0;
        for end in [End::Server, End::Client] {
            let until = self.lookahead.horizon(&self.network, end).min(limit);
            if until > self.lookahead.completed_at(end) {
                events += self.run_window(end, until);
                self.lookahead.set_completed(end, until);
            }
        }
        Some(events)
    }

    /// Runs all connections at `end` up to `until`. Returns the number of events.
    fn run_window(&mut self, end: End, until: Instant) -> u64 {
        self.lookahead.gather(&self.network, end, until);
        let active = self.lookahead.arrivals.sort_by_connection();
        self.lookahead.in_window = true;
        let mut events = 0;
        let mut first = 0;
        for &connection in &active {
            let deliveries = self.lookahead.arrivals.take_range(connection, first);
            first = deliveries.end;
            events += self.run_connection(connection as usize, end, deliveries, until);
        }
        self.lookahead.in_window = false;
        self.lookahead.arrivals.clear_active(active);
        self.lookahead.release(&mut self.network, end);
        events
    }

    /// Runs an end of a connection through its deliveries and timers before `until`, in order of
    /// time; at equal times deliveries come first. Returns the number of events.
    fn run_connection(&mut self, i: usize, end: End, deliveries: Range<usize>, until: Instant) -> u64 {
        let mut events = deliveries.len() as u64;
        let mut deliveries = deliveries.peekable();
        self.lookahead.clear_changed_timers();
        loop {
            let before = self.lookahead.departures.len();
            let (timer, timer_at) = self.connections[i].next_timer(end);
            let delivery = deliveries.peek().map(|&index| self.lookahead.arrivals.delivery(index));
            if let Some(delivery) = delivery.filter(|delivery| delivery.at <= timer_at) {
                deliveries.next();
                self.on_delivery(i, end, delivery);
                let sent = self.lookahead.departures.sent_since(before);
                if sent.count > 0 {
                    self.lookahead.arrivals.set_sent(delivery.arrival, sent);
                }
            } else if timer_at < until {
                events += 1;
                self.now = timer_at;
                self.lookahead.mark_timer_changed(timer);
                if timer < APP_TIMER {
                    self.on_end_timer(i, end);
                } else {
                    self.on_app_timer_in_window(i, end);
                }
                let sent = self.lookahead.departures.sent_since(before);
                if sent.count > 0 {
                    let source = (3 * i + timer.min(APP_TIMER)) as u32;
                    self.lookahead.departures.push_timer_fire(timer_at, source, sent);
                }
            } else {
                break;
            }
        }
        self.reschedule_changed_timers(i, end);
        events
    }

    /// Enters the timers that changed while a connection ran into the queue of its side.
    fn reschedule_changed_timers(&mut self, i: usize, end: End) {
        let connection = &self.connections[i];
        for (slot, index) in connection.timer_indices(end).into_iter().enumerate() {
            if self.lookahead.timer_changed(index) {
                let at = Some(connection.timers[index]).filter(|&at| at < Instant::MAX);
                self.lookahead.timers[end as usize].set(2 * i + slot, at);
            }
        }
    }

    /// The application's or the reader's timer has fired: the client opens the connection, a viewer
    /// starts or leaves, or the writing end writes.
    fn on_app_timer_in_window(&mut self, i: usize, end: End) {
        if end == End::Client {
            if !self.connections[i].open_attempted {
                self.open_paths(i);
            }
            self.connections[i].step_viewer(self.now);
        }
        let connection = &mut self.connections[i];
        let [_, index] = connection.timer_indices(end);
        connection.timers[index] = if index == APP_TIMER {
            connection.write(self.now);
            connection.app.next().unwrap_or(Instant::MAX)
        } else {
            connection.viewer_leaves_at(self.now)
        };
        self.settle_end(i, end);
    }

    /// Schedules the start of each connection: at its client, and at its server if that writes.
    pub(crate) fn schedule_starts_in_windows(&mut self) {
        for (i, connection) in self.connections.iter_mut().enumerate() {
            let start = connection.config.start;
            for end in [End::Client, End::Server] {
                let [_, index] = connection.timer_indices(end);
                if end == End::Client || index == APP_TIMER {
                    connection.timers[index] = start;
                    self.lookahead.timers[end as usize].set(2 * i + 1, Some(start));
                }
            }
        }
    }

    /// Passes an arriving packet to its endpoint.
    #[inline]
    fn on_delivery(&mut self, i: usize, end: End, delivery: Delivery) {
        let medium = &self.network.media[usize::from(delivery.medium)];
        let Some((_, _, packet)) = packet_at(medium, delivery.index as usize) else { return };
        packet.unpack_into(&mut self.incoming);
        self.now = delivery.at;
        self.segments += 1;
        if end == End::Client {
            let path = &mut self.network.paths[usize::from(delivery.path)];
            path.payload_down += u64::from(self.incoming.payload.len);
        }
        self.connections[i].on_segment(delivery.at, end, PathId(delivery.path), &self.incoming);
        if !self.delivery_recorders.is_empty() {
            let recorder = &mut self.delivery_recorders[i];
            record_arrival(recorder, delivery.at, &self.connections[i], end, &self.incoming);
        }
        self.settle_end(i, end);
    }
}
