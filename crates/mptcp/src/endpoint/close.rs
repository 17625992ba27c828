//! Ending: DATA_FIN at data level (RFC 8684, section 3.3.3), FIN on each subflow, resets.

use super::{Endpoint, Event, Failure, Mode};
use units::Instant;
use wire::{MptcpSignal, Payload};

impl<P: Payload> Endpoint<P> {
    /// No more will be written. What was written is still delivered.
    pub fn close(&mut self) {
        if !self.closing && !self.ended {
            self.closing = true;
            self.work = true;
        }
    }

    /// Ends everything at once: a reset with MP_FASTCLOSE on every subflow (RFC 8684, section 3.5, option
    /// R, as Linux: one that arrives is enough, and nothing has to be waited for), or TCP's.
    pub fn abort(&mut self) {
        let signal = self.remote_key.map(|key| MptcpSignal::FastClose { key });
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_open() {
                self.reset_with(i, Failure::Aborted, signal);
            }
        }
        self.fail(Failure::Aborted);
        self.work = true;
    }

    /// The peer's MP_FASTCLOSE with our key: everything ends, each subflow with a reset of TCP.
    pub(super) fn on_fast_close(&mut self) {
        for i in 0..self.subflows.len() {
            self.reset_with(i, Failure::FastClose, None);
        }
        self.fail(Failure::FastClose);
        self.work = true;
    }

    /// Both directions are done at data level: subflows may only close now.
    pub(super) fn closing_done(&self) -> bool {
        let sent = self.data_fin.is_some_and(|fin| self.data_una > fin);
        self.mode == Mode::Mptcp && sent && self.peer_closed
    }

    /// Takes the next step of closing that has become possible.
    #[inline]
    pub(super) fn advance_close(&mut self, now: Instant) {
        if !self.ended && (self.closing || self.fins) {
            self.take_step_of_closing(now);
        }
    }

    fn take_step_of_closing(&mut self, now: Instant) {
        let all_dealt = self.data_next == self.buffer.end && self.reinjections.is_empty();
        if self.closing && all_dealt && self.connected {
            match self.mode {
                Mode::Mptcp if self.data_fin.is_none() => {
                    self.data_fin = Some(self.buffer.end);
                    self.request_data_fin(now);
                }
                Mode::Mptcp | Mode::Offered => {}
                Mode::Tcp => (0..self.subflows.len()).for_each(|i| self.queue_fin(i)),
            }
        }
        if self.closing_done() {
            (0..self.subflows.len()).for_each(|i| self.queue_fin(i));
        }
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_finished() {
                self.subflows[i].finish(now);
                let path = self.subflows[i].path();
                self.events.push_back(Event::SubflowDown(path, None));
                self.lost = Some(Failure::TimedOut);
            }
        }
        let over = match self.mode {
            Mode::Mptcp => self.closing_done(),
            _ => self.peer_closed && self.closing,
        };
        if over && !self.ended && self.subflows.iter().all(|s| !s.is_open()) {
            self.end();
            self.events.push_back(Event::Closed);
        }
    }

    /// Without a subflow the connection lives on for a while, so that another may take over (RFC 8684,
    /// section 3.5).
    pub(super) fn await_subflow(&mut self, now: Instant) {
        let Some(timeout) = self.config.close_timeout else { return };
        let waits = self.mode == Mode::Mptcp && !self.ended && self.alone.is_none();
        if waits && !self.subflows.iter().any(|s| s.is_established()) {
            self.alone = Some(now + timeout);
            self.arm_rare();
        }
    }

    /// None has come.
    pub(super) fn give_up_alone(&mut self) {
        let failure = self.lost.unwrap_or(Failure::TimedOut);
        for i in 0..self.subflows.len() {
            self.reset_with(i, failure, None);
        }
        self.fail(failure);
    }

    /// Nothing more can happen.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.fin_timer = None;
        self.probe_timer = None;
        self.alone = None;
        self.rare = None;
        self.waiting.clear();
        self.send_data_fin = false;
        self.send_probe = false;
        self.reinjections.clear();
    }

    pub(super) fn request_data_fin(&mut self, now: Instant) {
        self.send_data_fin = true;
        let longest = self.subflows.iter().filter(|s| s.is_open()).map(|s| s.sender().rto()).max();
        let wait = longest.unwrap_or(self.config.initial_rto) * (1 << self.fin_tries.min(6));
        self.fin_timer = Some(now + wait.min(self.config.max_rto));
        self.fin_tries += 1;
        self.work = true;
    }

    fn queue_fin(&mut self, i: usize) {
        if self.subflows[i].queue_fin(self.buffer.end) {
            self.fins = true;
            self.work = true;
        }
    }

    /// The peer closed its half of a subflow.
    pub(super) fn on_subflow_fin(&mut self, i: usize) {
        match self.mode {
            Mode::Mptcp => {
                // A subflow that ends before the connection: answer in kind; what it has not
                // delivered goes on over it until its own FIN, and new data elsewhere.
                self.queue_fin(i);
            }
            _ => self.note_peer_closed(),
        }
    }

    /// A subflow is gone without a word from us.
    pub(super) fn subflow_lost(&mut self, i: usize, failure: Failure) {
        if !self.subflows[i].is_open() {
            return;
        }
        let path = self.subflows[i].path();
        self.subflows[i].close();
        if !self.subflows[i].is_join() {
            self.failing = None;
        }
        self.reinject(i, false);
        self.events.push_back(Event::SubflowDown(path, Some(failure)));
        self.lost = Some(failure);
        // Without MPTCP, or before it is agreed, the subflow is the connection.
        if self.mode != Mode::Mptcp || !self.connected {
            self.fail(failure);
        }
        self.work = true;
    }

    /// A subflow is ended for good by a reset from us that says why (RFC 8684, section 3.6).
    pub(super) fn reset_subflow(&mut self, i: usize, failure: Failure, reason: u8) {
        self.reset_with(i, failure, Some(MptcpSignal::Reset { transient: false, reason }));
    }

    /// A subflow is ended by a reset from us that carries `signal`.
    pub(super) fn reset_with(&mut self, i: usize, failure: Failure, signal: Option<MptcpSignal>) {
        if !self.subflows[i].is_open() {
            return;
        }
        let reset = self.subflows[i].make_reset(signal.filter(|_| self.mode == Mode::Mptcp));
        self.subflow_lost(i, failure);
        // Nor does this end try again where options do not get through.
        if failure == Failure::Middlebox
            && matches!(signal, Some(MptcpSignal::Reset { transient: false, .. }))
        {
            self.subflows[i].set_permanently_refused(true);
        }
        self.subflows[i].queue_own_reset(reset);
    }
}
