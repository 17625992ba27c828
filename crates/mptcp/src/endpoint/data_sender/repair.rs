//! Retransmission of data that subflows acknowledged and the connection did not.

use super::DataSender;
use crate::Config;
use crate::endpoint::data_sender::scheduling::priority_class;
use crate::endpoint::timers::{Timer, TimerTable};
use crate::subflow::{Chunk, Subflow};
use tracing::debug;
use units::Instant;
use wire::Payload;

/// Largest exponent of the backoff between repairs.
const MAX_BACKOFF: u32 = 6;

/// Progress of the wait for a DATA_ACK.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::endpoint) struct Repair {
    /// First unacknowledged offset when the timer was started.
    una: u64,
    tries: u32,
}

/// State of the first unacknowledged byte when the DATA_ACK timer expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::endpoint) enum RepairState {
    /// All assigned data is acknowledged.
    Done,
    /// The DATA_ACK has advanced, or a subflow still carries the data.
    Waiting,
    /// No subflow carries the data; it was retransmitted this many times.
    Missing(u32),
}

impl<P: Payload> DataSender<P> {
    /// Starts the timer after which unacknowledged data is retransmitted, unless it runs.
    /// `patience` multiplies the longest retransmission timeout.
    pub(in crate::endpoint) fn arm_repair(
        &mut self,
        now: Instant,
        patience: u32,
        subflows: &[Subflow<P>],
        config: &Config,
        timers: &mut TimerTable,
    ) {
        if timers.is_set(Timer::DataAck) {
            return;
        }
        if self.repair.una != self.una {
            self.repair = Repair { una: self.una, tries: 0 };
        }
        let established = subflows.iter().filter(|s| s.is_established());
        let rto = established.map(|s| s.sender().rto()).max().unwrap_or(config.initial_rto);
        let wait = rto * (patience << self.repair.tries.min(MAX_BACKOFF)).into();
        timers.set(Timer::DataAck, now + wait.min(config.max_rto));
    }

    pub(in crate::endpoint) fn repair_state(&self, subflows: &[Subflow<P>]) -> RepairState {
        if !self.has_outstanding() {
            RepairState::Done
        } else if self.repair.una != self.una || self.is_carried(self.una, subflows) {
            RepairState::Waiting
        } else {
            RepairState::Missing(self.repair.tries)
        }
    }

    /// Chooses the subflow for the next repair: another one each time, because a subflow that lost
    /// a mapping may lose it again.
    pub(in crate::endpoint) fn repair_subflow(&self, subflows: &[Subflow<P>]) -> Option<usize> {
        let mut usable: Vec<usize> = (0..subflows.len()).filter(|&i| subflows[i].carries_data()).collect();
        usable.sort_by_key(|&i| (priority_class(&subflows[i]), subflows[i].sender().srtt()));
        (self.repair.tries as usize).checked_rem(usable.len()).map(|place| usable[place])
    }

    /// Assigns the first unacknowledged data to `subflow` once more, at most `limit` bytes. Returns
    /// false without such data.
    pub(in crate::endpoint) fn repeat_first(&mut self, subflow: &mut Subflow<P>, limit: u64) -> bool {
        let (mut at, end) = (self.una, self.next.min(self.una + limit));
        while at < end
            && let Some(payload) = self.buffer.slice(at, subflow.max_payload().min(end - at))
        {
            let chunk = Chunk::new(at, payload);
            at = chunk.end();
            debug!(parent: subflow.log(), data = chunk.data, "data sent again over an idle subflow");
            subflow.sender_mut().enqueue_in_order(chunk);
        }
        self.reinjected_bytes += at - self.una;
        at > self.una
    }

    /// Assigns missing data to subflow `i`: from the first unacknowledged byte on what no subflow
    /// carries, up to a congestion window; one segment if the last repair was in vain. Returns
    /// false if the send buffer no longer has the first byte.
    pub(in crate::endpoint) fn repair(&mut self, subflows: &mut [Subflow<P>], i: usize) -> bool {
        let window = if self.repair.tries == 0 { subflows[i].sender().window_after_recovery() } else { 0 };
        let mut at = self.una;
        loop {
            let len = subflows[i].max_payload().min(self.next - at);
            let Some(payload) = self.buffer.slice(at, len) else { break };
            let chunk = Chunk::new(at, payload);
            at = chunk.end();
            debug!(parent: subflows[i].log(), data = chunk.data, len, "DATA_ACK is missing: data sent again");
            subflows[i].sender_mut().enqueue_in_order(chunk);
            if at >= self.next.min(self.una + window) || self.is_carried(at, subflows) {
                break;
            }
        }
        self.reinjected_bytes += at - self.una;
        self.repair.tries += 1;
        at > self.una
    }
}
