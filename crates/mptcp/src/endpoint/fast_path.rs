//! Receive fast path (header prediction): an in-order data segment with no other signal, on an end
//! that has nothing in flight.
//!
//! Its outcome equals that of `input`, which handles all other segments.

use super::Endpoint;
use super::event::Mode;
use crate::subflow::{Arrival, Subflow};
use units::Instant;
use wire::{Dss, Flags, Payload, Segment};

impl<P: Payload> Endpoint<P> {
    /// Handles the next data segment of subflow `i`. Returns false, without changing any state, for
    /// every other segment.
    #[inline]
    pub(super) fn handle_next_data(&mut self, now: Instant, i: usize, segment: &Segment<P>) -> bool {
        let Some(subflow) = self.subflows.get(i) else { return false };
        let only_ack = segment.flags.bits() & !Flags::PSH.bits() == Flags::ACK.bits();
        let applies = only_ack
            && !segment.payload.is_empty()
            && !self.data_receiver.may_grow()
            && is_expected(subflow, segment)
            && !self.is_ending()
            && self.receiver_driven.is_none();
        if !applies {
            return false;
        }
        let offset = subflow.receiver().next_offset();
        let (data, acked) = match (self.handshake.mode(), &segment.dss) {
            (Mode::Mptcp, Some(dss)) => match self.next_mapping(subflow, segment, dss) {
                Some(data) => (data, self.data_sender.una()),
                None => return false,
            },
            (Mode::Tcp, _) => (offset, subflow.sender().una()),
            _ => return false,
        };
        // A change of the send window takes the slow path.
        let window = u64::from(segment.window) << subflow.peer_window_scale();
        let same_window = subflow.is_same_window(segment.window);
        if !same_window || acked + window > self.data_sender.window_end() {
            return false;
        }
        if !self.data_receiver.accept(data, segment.payload.clone()) {
            return false;
        }
        let delay = self.config.delayed_ack;
        let subflow = &mut self.subflows[i];
        subflow.on_heard(now);
        if let Some(clock) = segment.timestamps {
            subflow.receiver_mut().update_clock(now, offset, clock.value);
        }
        let len = segment.payload.len() as u64;
        subflow.receiver_mut().advance(len);
        let mss = subflow.max_payload();
        let arrival = Arrival::InOrder { filled: false };
        subflow.receiver_mut().schedule_ack(now, arrival, len, mss, delay);
        self.transmit_pending |= subflow.receiver().ack_due();
        true
    }

    /// Either end has closed or is about to.
    #[inline]
    fn is_ending(&self) -> bool {
        self.data_sender.is_closed()
            || self.subflow_fins
            || self.ended
            || self.data_receiver.peer_fin().is_some()
    }

    /// Data offset of a segment that carries exactly its own mapping and no new DATA_ACK.
    #[inline]
    fn next_mapping(&self, subflow: &Subflow<P>, segment: &Segment<P>, dss: &Dss) -> Option<u64> {
        let map = dss.mapping?;
        let own_mapping = map.ssn == subflow.receiver().next_offset() as u32
            && usize::from(map.len) == segment.payload.len()
            && map.checksum.is_none()
            && !self.handshake.uses_checksum();
        let data_ack = self.handshake.local_dsn(self.data_sender.una()) as u32;
        let same_ack = dss.ack_is_short && dss.data_ack == Some(u64::from(data_ack));
        let plain =
            own_mapping && same_ack && !dss.dsn_is_short && !dss.data_fin && self.handshake.is_confirmed();
        let nothing_pending = subflow.mappings().is_empty() && !subflow.lacks_dss();
        let data = self.handshake.remote_offset(map.dsn);
        // The first divergence of data and subflow offsets takes the slow path.
        let same_offsets = self.fallback.offsets_diverged() || data == subflow.receiver().next_offset();
        (plain && nothing_pending && same_offsets).then_some(data)
    }
}

/// The segment is the next one in order on an established subflow that has no gap and nothing in
/// flight.
#[inline]
fn is_expected<P: Payload>(subflow: &Subflow<P>, segment: &Segment<P>) -> bool {
    let receiver = subflow.receiver();
    let clock_advances = segment.timestamps.is_none_or(|clock| receiver.is_clock_current(clock.value));
    subflow.is_established()
        && segment.seq == subflow.ack_number()
        && segment.ack == subflow.seq_at(subflow.sender().una())
        && (segment.source, segment.destination) == (subflow.remote_port(), subflow.local_port())
        && segment.signal.is_none()
        && segment.sack.is_empty()
        && clock_advances
        && !subflow.sender().has_unsent_or_unacked()
        && !receiver.has_sack_blocks()
        && !receiver.has_fin()
        && !subflow.handshake_ack_pending()
        && !subflow.uses_ecn()
}
