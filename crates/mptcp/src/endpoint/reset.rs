//! Abnormal end of subflows and of the connection: resets, MP_FASTCLOSE, lost subflows.

use super::event::{Event, Failure};
use super::timers::Timer;
use super::{Endpoint, reset_reason};
use crate::subflow::{State, Subflow};
use units::Instant;
use wire::{MptcpSignal, Payload};

impl<P: Payload> Endpoint<P> {
    /// Aborts the connection: a reset with MP_FASTCLOSE on every subflow (RFC 8684, section 3.5),
    /// or a plain TCP reset. It uses option R of the RFC, as Linux does: one reset that arrives is
    /// enough, and none is awaited.
    pub fn abort(&mut self) {
        let signal = self.handshake.remote_key().map(|key| MptcpSignal::FastClose { key });
        for i in 0..self.subflows.len() {
            self.reset_with_signal(i, Failure::Aborted, signal);
        }
        self.fail(Failure::Aborted);
        self.transmit_pending = true;
    }

    /// Ends the connection after an MP_FASTCLOSE with the local key. Each subflow ends with a reset
    /// (RFC 8684, section 3.5).
    pub(super) fn on_fast_close(&mut self) {
        for i in 0..self.subflows.len() {
            self.reset_subflow(i, Failure::FastClose, reset_reason::UNSPECIFIED);
        }
        self.fail(Failure::FastClose);
        self.transmit_pending = true;
    }

    /// Resets all subflows and fails the connection.
    pub(super) fn reset_all(&mut self, failure: Failure) {
        for i in 0..self.subflows.len() {
            self.reset_with_signal(i, failure, None);
        }
        self.fail(failure);
    }

    /// Starts the wait for another subflow if an MPTCP connection has none (RFC 8684, section 3.5).
    #[inline(never)]
    pub(super) fn await_subflow(&mut self, now: Instant) {
        let Some(timeout) = self.config.close_timeout else { return };
        let waits = self.handshake.is_mptcp() && !self.timers.is_set(Timer::SubflowWait);
        if waits && !self.subflows.iter().any(Subflow::is_established) {
            self.timers.set(Timer::SubflowWait, now + timeout);
        }
    }

    /// Fails a connection that got no other subflow in time.
    pub(super) fn on_subflow_wait_timeout(&mut self) {
        self.reset_all(self.last_failure.unwrap_or(Failure::TimedOut));
    }

    /// Fails the connection, unless it has ended.
    pub(super) fn fail(&mut self, failure: Failure) {
        if !self.ended {
            self.end();
            self.report(Event::Failed(failure));
        }
    }

    /// Ends the connection: nothing more is sent for it.
    pub(super) fn end(&mut self) {
        self.ended = true;
        self.timers.disable();
        self.paths.clear_signals();
        self.data_sender.stop();
    }

    /// Ends a subflow without sending anything. The others carry its undelivered data.
    pub(super) fn subflow_lost(&mut self, i: usize, failure: Failure) {
        let subflow = &mut self.subflows[i];
        if !subflow.is_open() {
            return;
        }
        let (path, joined) = (subflow.path(), subflow.is_join());
        let is_unauthenticated = subflow.state() == State::SynReceived;
        let had_deadline = subflow.mappings().waiting_since().is_some();
        subflow.close();
        self.data_sender.on_subflow_ended(path);
        if had_deadline {
            self.arm_mapping_timer();
        }
        if !joined {
            self.stop_mp_fail();
        }
        // Anyone can open a join and reset it. The end of an own join that fails counts, as in Linux.
        if !is_unauthenticated {
            self.reinject(i, false);
        }
        self.subflows[i].sender_mut().discard_data();
        self.report(Event::SubflowDown(path, Some(failure)));
        self.last_failure = Some(failure);
        // The first subflow is the whole connection in plain TCP, and before MPTCP is agreed on.
        let is_whole = !self.handshake.is_mptcp() || !self.handshake.is_connected();
        if is_whole && !joined {
            self.fail(failure);
        }
        self.transmit_pending = true;
    }

    /// Resets a subflow for good, with a reason (RFC 8684, section 3.6).
    pub(super) fn reset_subflow(&mut self, i: usize, failure: Failure, reason: u8) {
        self.reset_with_signal(i, failure, Some(MptcpSignal::Reset { transient: false, reason }));
    }

    /// Resets a subflow that gets no answer. A later attempt may succeed.
    pub(super) fn give_up(&mut self, i: usize) {
        let reason = reset_reason::UNACCEPTABLE_PERFORMANCE;
        let signal = MptcpSignal::Reset { transient: true, reason };
        self.reset_with_signal(i, Failure::TimedOut, Some(signal));
    }

    /// Resets an open subflow. The reset carries `signal` if the connection uses MPTCP.
    pub(super) fn reset_with_signal(&mut self, i: usize, failure: Failure, signal: Option<MptcpSignal>) {
        let subflow = &self.subflows[i];
        if !subflow.is_open() {
            return;
        }
        let reset = subflow.make_reset(signal.filter(|_| self.handshake.is_mptcp()));
        self.subflow_lost(i, failure);
        let subflow = &mut self.subflows[i];
        // This end does not retry a path that loses options either.
        let permanent = matches!(signal, Some(MptcpSignal::Reset { transient: false, .. }));
        if failure == Failure::Middlebox && permanent {
            subflow.set_permanently_refused(true);
        }
        subflow.queue_own_reset(reset);
    }
}
