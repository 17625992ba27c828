//! Orderly close: DATA_FIN at data level (RFC 8684, section 3.3.3), then a FIN on each subflow.

use super::Endpoint;
use super::event::{Event, Failure, Mode};
use units::Instant;
use wire::Payload;

impl<P: Payload> Endpoint<P> {
    /// Ends the stream to the peer. Data written before is still delivered.
    pub fn close(&mut self) {
        if !self.data_sender.is_closed() && !self.ended {
            self.data_sender.close();
            self.transmit_pending = true;
        }
    }

    /// Both DATA_FINs of a Multipath TCP connection are acknowledged (RFC 8684, section 3.3.3). The
    /// subflows still have to close, which takes minutes over a path that does not answer.
    pub fn is_data_closed(&self) -> bool {
        self.handshake.is_mptcp() && self.data_sender.data_fin_acked() && self.data_receiver.peer_closed()
    }

    /// Takes the next possible step of closing.
    #[inline]
    pub(super) fn advance_close(&mut self, now: Instant) {
        if !self.ended && (self.data_sender.is_closed() || self.subflow_fins) {
            self.take_close_step(now);
        }
    }

    fn take_close_step(&mut self, now: Instant) {
        if self.data_sender.is_finished() {
            match self.handshake.mode() {
                Mode::Mptcp => {
                    if self.data_sender.assign_data_fin() {
                        self.request_data_fin(now);
                    }
                }
                Mode::Tcp if self.handshake.is_connected() => self.queue_fins(),
                Mode::Offered | Mode::Tcp => {}
            }
        }
        if self.is_data_closed() {
            self.queue_fins();
        }
        self.close_finished_subflows(now);
        let done = match self.handshake.mode() {
            Mode::Mptcp => self.is_data_closed(),
            _ => self.data_receiver.peer_closed() && self.data_sender.is_closed(),
        };
        if done && !self.ended && self.subflows.iter().all(|s| !s.is_open()) {
            self.end();
            self.report(Event::Closed);
        }
    }

    /// Closes each subflow after both FINs were received and acknowledged.
    fn close_finished_subflows(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_finished() {
                let path = self.subflows[i].path();
                self.finish_subflow(now, i);
                self.report(Event::SubflowDown(path, None));
                self.last_failure = Some(Failure::TimedOut);
            }
        }
    }

    fn finish_subflow(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        subflow.finish(now);
        self.data_sender.on_subflow_ended(subflow.path());
        if subflow.mappings().waiting_since().is_some() {
            self.arm_mapping_timer();
        }
    }

    /// Sends the DATA_FIN, and starts its retransmission timer.
    pub(super) fn request_data_fin(&mut self, now: Instant) {
        let Self { data_sender, subflows, config, timers, .. } = self;
        data_sender.request_data_fin(now, subflows, config, timers);
        self.transmit_pending = true;
    }

    fn queue_fins(&mut self) {
        for i in 0..self.subflows.len() {
            self.queue_fin(i);
        }
    }

    /// Queues the FIN of an established subflow, once.
    fn queue_fin(&mut self, i: usize) {
        if self.subflows[i].queue_fin(self.data_sender.end()) {
            self.subflow_fins = true;
            self.transmit_pending = true;
        }
    }

    /// The peer closed its direction of a subflow.
    #[cold]
    pub(super) fn on_subflow_fin(&mut self, i: usize) {
        if self.handshake.is_mptcp() {
            let others = self.subflows.iter().enumerate().any(|(other, s)| other != i && s.carries_data());
            if !others && self.data_receiver.peer_closed() && !self.is_data_closed() {
                // The peer has ended its stream, and this is the only way for the own one.
                return;
            }
            // The subflow ends before the connection: close the other direction too. It still
            // delivers what it carries, and new data goes over the other subflows.
            self.queue_fin(i);
        } else {
            self.on_peer_closed();
        }
    }

    /// The peer's stream has ended.
    #[cold]
    pub(super) fn on_peer_closed(&mut self) {
        if self.data_receiver.set_peer_closed() {
            self.report(Event::PeerClosed);
        }
    }
}
