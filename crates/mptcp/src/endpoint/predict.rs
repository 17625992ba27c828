//! The segment that nearly all are for an end that listens: the next data, and nothing else in it.
//!
//! As in the header prediction of every TCP since 4.3BSD, whatever is done here `input` would do too,
//! and the same; what is not just as expected is left to it, untouched.

use super::{Endpoint, Mode};
use crate::subflow::{Arrival, Subflow};
use units::Instant;
use wire::{Dss, Flags, Payload, Segment};

impl<P: Payload> Endpoint<P> {
    /// Takes in the next data of subflow `i`. False, with nothing done, where the segment is anything
    /// but that.
    #[inline]
    pub(super) fn next_data(&mut self, now: Instant, i: usize, segment: &Segment<P>) -> bool {
        let Some(subflow) = self.subflows.get(i) else { return false };
        let only_ack = segment.flags.bits() & !Flags::PSH.bits() == Flags::ACK.bits();
        let measures = self.config.autotune.is_some();
        let something = only_ack && !segment.payload.is_empty() && !measures;
        if !something || !is_expected(subflow, segment) || self.is_ending() || self.driving.is_some() {
            return false;
        }
        let offset = subflow.receiver().next_offset();
        let (data, acknowledged) = match (self.mode, &segment.dss) {
            (Mode::Mptcp, Some(dss)) => match self.next_mapping(subflow, segment, dss) {
                Some(data) => (data, self.data_una),
                None => return false,
            },
            (Mode::Tcp, _) => (offset, subflow.sender().una()),
            _ => return false,
        };
        // News of the window is not expected.
        let window = u64::from(segment.window) << subflow.peer_window_scale();
        if !subflow.is_same_window(segment.window) || acknowledged + window > self.window_end {
            return false;
        }
        if !self.insert(data, segment.payload.clone()) {
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
        subflow.receiver_mut().schedule_ack(now, Arrival::InOrder { filled: false }, len, mss, delay);
        self.work |= self.subflows[i].receiver().ack_due();
        true
    }

    /// Somebody has closed, or is about to.
    fn is_ending(&self) -> bool {
        self.closing || self.fins || self.ended || self.peer_fin.is_some()
    }

    /// The data offset of a segment with a mapping of its own and no other news; `None` for any other.
    #[inline]
    fn next_mapping(&self, subflow: &Subflow<P>, segment: &Segment<P>, dss: &Dss) -> Option<u64> {
        let map = dss.mapping?;
        let own = map.ssn == subflow.receiver().next_offset() as u32
            && usize::from(map.len) == segment.payload.len()
            && map.checksum.is_none()
            && !self.checksum;
        let same_ack = dss.ack_is_short
            && dss.data_ack == Some(u64::from(self.local_idsn.wrapping_add(self.data_una) as u32));
        let plain = own && same_ack && !dss.dsn_is_short && !dss.data_fin && self.confirmed;
        let nothing_kept = subflow.mappings().is_empty() && !subflow.lacks_dss();
        let data = map.dsn.wrapping_sub(self.remote_idsn);
        // That the two part is news too.
        let known = self.parted || data == subflow.receiver().next_offset();
        (plain && nothing_kept && known).then_some(data)
    }
}

/// On an established subflow without a gap, what follows on what came last; and this end has nothing in
/// flight that it could acknowledge.
#[inline]
fn is_expected<P: Payload>(subflow: &Subflow<P>, segment: &Segment<P>) -> bool {
    let receiver = subflow.receiver();
    let clock_goes_on = segment.timestamps.is_none_or(|clock| receiver.is_clock_current(clock.value));
    subflow.is_established()
        && segment.seq == subflow.ack_number()
        && segment.ack == subflow.seq_at(subflow.sender().una())
        && (segment.source, segment.destination) == (subflow.remote_port(), subflow.local_port())
        && segment.signal.is_none()
        && segment.sack.is_empty()
        && clock_goes_on
        && !subflow.sender().has_unsent_or_unacked()
        && !receiver.has_sack_blocks()
        && !receiver.has_fin()
        && !subflow.handshake_ack_pending()
        && !subflow.uses_ecn()
}
