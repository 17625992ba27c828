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
        // Taken once: a search for each chunk would be quadratic, and the peer sets the chunks' size.
        let mut carried = self.carried(subflows);
        let mut at = self.una;
        loop {
            let len = subflows[i].max_payload().min(self.next - at);
            let Some(payload) = self.buffer.slice(at, len) else { break };
            let chunk = Chunk::new(at, payload);
            at = chunk.end();
            debug!(parent: subflows[i].log(), data = chunk.data, len, "DATA_ACK is missing: data sent again");
            subflows[i].sender_mut().enqueue_in_order(chunk);
            if at >= self.next.min(self.una + window) || carried.contains(at) {
                break;
            }
        }
        self.reinjected_bytes += at - self.una;
        self.repair.tries += 1;
        at > self.una
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathId;
    use crate::log::Log;
    use crate::subflow::State;
    use core::cell::Cell;
    use wire::{Flags, Segment};

    thread_local! {
        static LEN_CALLS: Cell<usize> = const { Cell::new(0) };
    }

    /// A payload that counts the calls of `len`, one of which is in every comparison with a chunk.
    #[derive(Debug, Clone)]
    struct Counted(usize);

    impl Payload for Counted {
        fn empty() -> Self {
            Self(0)
        }
        fn len(&self) -> usize {
            LEN_CALLS.set(LEN_CALLS.get() + 1);
            self.0
        }
        fn slice(&self, from: usize, to: usize) -> Self {
            Self(to - from)
        }
        fn join(&self, next: &Self) -> Option<Self> {
            Some(Self(self.0 + next.0))
        }
        fn ones_sum(&self) -> u16 {
            0
        }
    }

    #[test]
    fn work_of_a_repair_in_tiny_chunks_is_linear() {
        const BYTES: usize = 100_000;
        const MAX_CALLS_PER_CHUNK: usize = 20;
        let config = Config { mss: 64, initial_window: 10_000, ..Config::default() };
        let mut subflow = Subflow::closed(PathId(0), &config, &Log::new(tracing::Span::none()));
        subflow.start_handshake(Instant::ZERO, State::SynReceived, 0);
        subflow.negotiate(&config, &Segment::<Counted>::new((1, 2), 0, 0, Flags::SYN, 0), false, 24);
        subflow.on_third_ack(Instant::ZERO);
        let mut sender = DataSender::new(&config);
        sender.write(&Counted(BYTES), u64::MAX);
        sender.next = sender.buffer.end();
        let chunks = BYTES / subflow.max_payload() as usize;
        LEN_CALLS.set(0);
        assert!(sender.repair(&mut [subflow], 0));
        let calls = LEN_CALLS.get();
        assert_eq!(sender.reinjected_bytes, BYTES as u64);
        assert!(calls < MAX_CALLS_PER_CHUNK * chunks, "{calls} calls for {chunks} chunks");
    }
}
