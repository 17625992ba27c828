//! What happens by itself.

use super::handshake::SYN_TRIES;
use super::{Endpoint, Failure, Mode, Role};
use crate::subflow::{State, Subflow};
use units::Instant;
use wire::{MptcpSignal, Payload};

/// MP_TCPRST reason: unacceptable performance (RFC 8684, section 3.6).
const REASON_PERFORMANCE: u8 = 5;
/// DATA_FINs or probes of a shut window that get nothing but acknowledgements without a DSS before these
/// count.
const BARE_TRIES: u32 = 6;

impl<P: Payload> Endpoint<P> {
    /// When [`handle_timeout`](Self::handle_timeout) must be called, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let subflows = self.subflows.iter().map(crate::subflow::Subflow::next_timeout);
        let first = subflows.fold(Instant::MAX, Instant::min);
        let driving = if self.driving.is_some() { self.driving_timeout() } else { None };
        let own = [self.fin_timer, self.probe_timer, self.rare, driving];
        let first = own.into_iter().fold(first, |first, at| first.min(at.unwrap_or(Instant::MAX)));
        (first < Instant::MAX).then_some(first)
    }

    /// Time has passed. Harmless if nothing is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            let subflow = &mut self.subflows[i];
            if subflow.is_closed() {
                continue;
            }
            if subflow.expire_time_wait(now) {
                continue;
            }
            self.work |= subflow.receiver_mut().expire_delayed_ack(now);
            let subflow = &mut self.subflows[i];
            if subflow.is_established() && subflow.sender_mut().expire(now) {
                self.work = true;
            }
            let subflow = &self.subflows[i];
            if subflow.is_established() && subflow.keepalive_due(now) {
                self.keepalive(now, i);
            }
            if self.subflows[i].sender().retransmission_due(now) {
                self.retransmission_timeout(now, i);
                self.work = true;
            }
        }
        if self.fin_timer.is_some_and(|at| at <= now) {
            // Without a subflow it waits for one.
            self.fin_timer = None;
            self.doubt(now, self.fin_tries);
            if self.mode == Mode::Mptcp && !self.ended && self.subflows.iter().any(|s| s.is_established()) {
                self.request_data_fin(now);
            }
        }
        if self.driving.is_some() {
            self.expire_driving(now);
        }
        if self.rare.is_some_and(|at| at <= now) {
            self.on_rare(now);
        }
        if self.probe_timer.is_some_and(|at| at <= now) {
            self.probe_timer = None;
            self.doubt(now, self.probe_tries);
            if self.subflows.iter().any(|s| s.is_established()) {
                self.send_probe = true;
                self.work = true;
                self.arm_probe(now);
            }
        }
    }

    fn retransmission_timeout(&mut self, now: Instant, i: usize) {
        let (retries, stale_after) = (self.config.max_retries, self.config.stale_after);
        let subflow = &mut self.subflows[i];
        subflow.sender_mut().stop_retransmission_timer();
        match subflow.state() {
            State::SynSent | State::SynReceived => {
                if subflow.syn_attempts() >= SYN_TRIES {
                    self.subflow_lost(i, Failure::TimedOut);
                    return;
                }
                subflow.sender_mut().back_off();
                subflow.request_syn();
                if subflow.state() == State::SynSent
                    && self.mode == Mode::Offered
                    && subflow.syn_attempts() >= self.config.mptcp_syns
                {
                    self.mode = Mode::Tcp;
                }
            }
            State::Confirming => {
                if subflow.sender_mut().count_timeout() > SYN_TRIES {
                    self.subflow_lost(i, Failure::TimedOut);
                    return;
                }
                subflow.sender_mut().back_off();
                subflow.sender_mut().arm_retransmission_timer(now);
                subflow.request_handshake_ack();
            }
            State::Established => {
                if !subflow.sender().has_unsent_or_unacked() {
                    self.repeat_keys(now, i);
                    return;
                }
                if subflow.sender().timeouts() >= retries {
                    self.give_up(i);
                    return;
                }
                subflow.sender_mut().on_timeout(now);
                let others = self.mode == Mode::Mptcp;
                let subflow = &mut self.subflows[i];
                if others && subflow.sender().timeouts() >= stale_after {
                    subflow.set_stale(true);
                    self.reinject(i, true);
                }
            }
            State::Closed | State::TimeWait { .. } => {}
        }
    }

    /// A DATA_FIN or a probe of a shut window has had no answer at data level, and no timer of a subflow runs:
    /// after many that nobody has heard of all subflows are dead. After some `tries` one whose segments come
    /// without a DSS is what cannot carry the answer, and after many a DATA_FIN, the last thing missing, gets
    /// through nowhere.
    fn doubt(&mut self, now: Instant, tries: u32) {
        let established = |s: &&Subflow<P>| s.is_established();
        let many = self.config.max_retries.max(BARE_TRIES);
        let heard = self.subflows.iter().filter(established).any(|s| s.last_heard() >= self.asked_at);
        self.unheard = if heard { 0 } else { self.unheard + 1 };
        self.asked_at = now;
        if self.unheard >= many {
            self.unheard = 0;
            for i in 0..self.subflows.len() {
                if established(&&self.subflows[i]) {
                    self.give_up(i);
                }
            }
        } else if heard && self.mode == Mode::Mptcp && tries >= BARE_TRIES {
            let last = tries >= many && self.data_fin == Some(self.data_una);
            let broken = self.subflows.iter().filter(established).find(|s| s.lacks_dss() || last);
            if let Some(i) = broken.map(|s| s.path().index()) {
                self.give_up_mptcp_or_subflow(now, i);
            }
        }
    }

    /// Nothing comes back over subflow `i`. Another try may fare better.
    pub(super) fn give_up(&mut self, i: usize) {
        let signal = MptcpSignal::Reset { transient: true, reason: REASON_PERFORMANCE };
        self.reset_with(i, Failure::TimedOut, Some(signal));
    }

    /// The peer has not shown that our keys, in the third ACK, have arrived, and there is no data to
    /// bring them: they are sent again, as a SYN would be.
    fn repeat_keys(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        if self.role == Role::Server || self.mode != Mode::Mptcp || self.confirmed || subflow.is_join() {
            return;
        }
        if subflow.sender().timeouts() >= SYN_TRIES {
            self.subflow_lost(i, Failure::TimedOut);
            return;
        }
        let timeouts = subflow.sender_mut().count_timeout();
        let wait = (subflow.sender().rto() * (1 << timeouts)).min(self.config.max_rto);
        subflow.sender_mut().set_retransmission_timer(now + wait);
        subflow.request_answered_handshake_ack();
    }

    /// The peer's window is shut: ask from time to time whether it still is (RFC 9293, section 3.8.6.1).
    pub(super) fn arm_probe(&mut self, now: Instant) {
        if self.probe_timer.is_some() || self.window_end > self.data_next {
            return;
        }
        let rto = self.subflows.iter().filter(|s| s.is_established()).map(|s| s.sender().rto()).min();
        let wait = rto.unwrap_or(self.config.initial_rto) * (1 << self.probe_tries.min(10));
        self.probe_tries += 1;
        self.probe_timer = Some(now + wait.min(self.config.max_rto));
    }
}
