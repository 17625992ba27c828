//! Timeouts: the time of the next one, and the reaction to each.

use super::event::{Failure, Mode};
use super::handshake::MAX_SYNS;
use super::timers::Timer;
use super::{Endpoint, Role};
use crate::subflow::{State, Subflow};
use tracing::debug;
use units::Instant;
use wire::Payload;

/// Unanswered DATA_FINs or window probes before a subflow without DSS in its acknowledgements is
/// blamed.
const MAX_TRIES_WITHOUT_DSS: u32 = 6;

/// Counts DATA_FINs and window probes after which no subflow received anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeMonitor {
    last_sent: Instant,
    unanswered: u32,
}

impl ProbeMonitor {
    pub(super) fn new() -> Self {
        Self { last_sent: Instant::ZERO, unanswered: 0 }
    }

    /// Records that another one is sent, and whether anything was received since the last. Returns
    /// how many in a row were not answered.
    fn record(&mut self, now: Instant, answered: bool) -> u32 {
        self.unanswered = if answered { 0 } else { self.unanswered + 1 };
        self.last_sent = now;
        self.unanswered
    }
}

impl<P: Payload> Endpoint<P> {
    /// Latest time to call [`handle_timeout`](Self::handle_timeout); `None` if no timer runs.
    ///
    /// It may change with every other call.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let subflows = self.subflows.iter().map(Subflow::next_timeout);
        let first = subflows.fold(self.timers.earliest(), Instant::min);
        let first = first.min(self.receiver_driven_timeout());
        (first < Instant::MAX).then_some(first)
    }

    /// Handles all timers that have expired. Does nothing if none has.
    pub fn handle_timeout(&mut self, now: Instant) {
        for i in 0..self.subflows.len() {
            self.handle_subflow_timeout(now, i);
        }
        self.expire_receiver_driven(now);
        if self.timers.earliest() <= now {
            self.handle_connection_timeout(now);
        }
    }

    fn handle_connection_timeout(&mut self, now: Instant) {
        if self.timers.take_expired(Timer::DataFin, now) {
            self.on_data_fin_timeout(now);
        }
        if self.timers.take_expired(Timer::DataAck, now) {
            self.on_data_ack_timeout(now);
        }
        if self.timers.take_expired(Timer::MpFail, now) {
            self.send_mp_fail(now);
        }
        if self.timers.take_expired(Timer::Address, now) {
            self.on_address_timeout(now);
        }
        if self.timers.take_expired(Timer::Mapping, now) {
            self.on_mapping_timeout(now);
        }
        if self.timers.take_expired(Timer::SubflowWait, now) {
            self.on_subflow_wait_timeout();
        }
        if self.timers.take_expired(Timer::DataRetransmission, now) {
            self.on_data_retransmission(now);
        }
        if self.timers.take_expired(Timer::WindowProbe, now) {
            self.on_window_probe_timeout(now);
        }
    }

    fn handle_subflow_timeout(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        if subflow.is_closed() || subflow.expire_time_wait(now) {
            return;
        }
        self.transmit_pending |= subflow.receiver_mut().expire_delayed_ack(now);
        if subflow.is_established() {
            self.transmit_pending |= subflow.sender_mut().expire(now);
            if subflow.keepalive_due(now) {
                self.on_keepalive_timeout(now, i);
            }
        }
        if self.subflows[i].sender().retransmission_due(now) {
            self.on_retransmission_timeout(now, i);
            self.transmit_pending = true;
        }
    }

    fn on_retransmission_timeout(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        subflow.sender_mut().stop_retransmission_timer();
        match subflow.state() {
            State::SynSent | State::SynReceived => self.on_syn_timeout(i),
            State::Confirming => {
                if subflow.sender_mut().count_timeout() > MAX_SYNS {
                    self.subflow_lost(i, Failure::TimedOut);
                    return;
                }
                subflow.sender_mut().back_off();
                subflow.sender_mut().arm_retransmission_timer(now);
                subflow.request_handshake_ack();
            }
            State::Established => self.on_data_timeout(now, i),
            State::Closed | State::TimeWait { .. } => {}
        }
    }

    /// A SYN or SYN/ACK was not answered in time.
    fn on_syn_timeout(&mut self, i: usize) {
        let subflow = &mut self.subflows[i];
        if subflow.syn_attempts() >= MAX_SYNS {
            self.subflow_lost(i, Failure::TimedOut);
            return;
        }
        subflow.sender_mut().back_off();
        subflow.request_syn();
        if subflow.state() == State::SynSent
            && self.handshake.mode() == Mode::Offered
            && subflow.syn_attempts() >= self.config.mptcp_syns
        {
            debug!(parent: &self.log, "MP_CAPABLE is not answered: continues with TCP");
            self.handshake.use_tcp();
        }
    }

    /// The retransmission timer of an established subflow has expired.
    fn on_data_timeout(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        if !subflow.sender().has_unsent_or_unacked() {
            self.repeat_keys(now, i);
            return;
        }
        let waits = self.config.overruns_window && subflow.is_held_off(now);
        if subflow.sender().timeouts() >= self.config.max_retries && !waits {
            self.give_up(i);
            return;
        }
        subflow.sender_mut().on_timeout(now);
        let counts = self.handshake.is_mptcp() && !self.config.data_retransmission;
        if counts && subflow.sender().timeouts() >= self.config.stale_after {
            subflow.set_stale(true);
            self.reinject(i, true);
        }
    }

    /// Repeats the third ACK as a SYN would be, while the peer has not shown that it has the keys
    /// and there is no data to carry them.
    fn repeat_keys(&mut self, now: Instant, i: usize) {
        let subflow = &mut self.subflows[i];
        let confirmed = !self.handshake.is_mptcp() || self.handshake.is_confirmed();
        if self.role == Role::Server || confirmed || subflow.is_join() {
            return;
        }
        if subflow.sender().timeouts() >= MAX_SYNS {
            self.subflow_lost(i, Failure::TimedOut);
            return;
        }
        let timeouts = subflow.sender_mut().count_timeout();
        let wait = subflow.sender().rto() * (1 << timeouts);
        let deadline = now + wait.min(self.config.max_rto);
        subflow.sender_mut().set_retransmission_timer(deadline);
        subflow.request_answered_handshake_ack();
    }

    fn on_data_fin_timeout(&mut self, now: Instant) {
        self.on_unanswered_probe(now, self.data_sender.data_fin_tries());
        // Without an established subflow the DATA_FIN waits for one.
        if self.handshake.is_mptcp() && !self.ended && self.has_established() {
            self.request_data_fin(now);
        }
    }

    fn on_window_probe_timeout(&mut self, now: Instant) {
        // Linux sends no probe while data is outstanding: the data brings an answer, or its
        // retransmission timer sends it again (`mptcp_sendmsg_frag`).
        let data_probes = self.config.data_retransmission && self.data_sender.has_outstanding();
        if !data_probes {
            self.on_unanswered_probe(now, self.data_sender.probe_tries());
        }
        if self.has_established() {
            let Self { data_sender, subflows, config, timers, .. } = self;
            if !data_probes {
                data_sender.request_probe();
            }
            data_sender.arm_probe(now, subflows, config, timers);
            self.transmit_pending = true;
        }
    }

    fn has_established(&self) -> bool {
        self.subflows.iter().any(Subflow::is_established)
    }

    /// A DATA_FIN or window probe got no answer at data level, and no subflow timer runs. If no
    /// subflow received anything for long, all are dead. Otherwise a subflow without DSS may be
    /// unable to carry the answer, or no subflow gets the DATA_FIN through.
    fn on_unanswered_probe(&mut self, now: Instant, tries: u32) {
        let established = |s: &&Subflow<P>| s.is_established();
        let max_unanswered = self.config.max_retries.max(MAX_TRIES_WITHOUT_DSS);
        let last_sent = self.probe_monitor.last_sent;
        let answered = self.subflows.iter().filter(established).any(|s| s.last_heard() >= last_sent);
        if self.probe_monitor.record(now, answered) >= max_unanswered {
            self.probe_monitor.unanswered = 0;
            for i in 0..self.subflows.len() {
                if self.subflows[i].is_established() {
                    self.give_up(i);
                }
            }
        } else if answered && self.handshake.is_mptcp() && tries >= MAX_TRIES_WITHOUT_DSS {
            let only_fin_missing = self.data_sender.data_fin() == Some(self.data_sender.una());
            let fin_blocked = tries >= max_unanswered && only_fin_missing;
            let mut candidates = self.subflows.iter().filter(established);
            let broken = candidates.find(|s| s.lacks_dss() || fin_blocked).map(|s| s.path().index());
            if let Some(i) = broken {
                self.fall_back_or_reset(now, i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_answer_restarts_the_count_of_unanswered_probes() {
        let mut monitor = ProbeMonitor::new();
        assert_eq!(monitor.record(Instant::from_secs(1), false), 1);
        assert_eq!(monitor.record(Instant::from_secs(2), false), 2);
        assert_eq!(monitor.record(Instant::from_secs(3), true), 0);
        assert_eq!(monitor.last_sent, Instant::from_secs(3));
    }
}
