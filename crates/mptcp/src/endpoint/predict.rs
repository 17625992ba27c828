//! The segment that nearly all are for an end that listens: the next data, and nothing else in it.
//!
//! As in the header prediction of every TCP since 4.3BSD, whatever is done here `input` would do too,
//! and the same; what is not just as expected is left to it, untouched.

use super::{Endpoint, Mode};
use crate::subflow::{Arrival, State, Subflow};
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
        let offset = subflow.receiver.next;
        let (data, acknowledged) = match (self.mode, &segment.dss) {
            (Mode::Mptcp, Some(dss)) => match self.next_mapping(subflow, segment, dss) {
                Some(data) => (data, self.data_una),
                None => return false,
            },
            (Mode::Tcp, _) => (offset, subflow.sender.una),
            _ => return false,
        };
        // News of the window is not expected.
        let window = u64::from(segment.window) << subflow.peer_scale;
        if subflow.peer_window != Some(segment.window) || acknowledged + window > self.window_end {
            return false;
        }
        if !self.insert(data, segment.payload.clone()) {
            return false;
        }
        let delay = self.config.delayed_ack;
        let subflow = &mut self.subflows[i];
        (subflow.heard, subflow.probes) = (now, 0);
        if let Some(clock) = segment.timestamps
            && offset <= subflow.receiver.last_ack_sent.max(1)
        {
            // RFC 7323, section 4.3.
            subflow.receiver.peer_clock = clock.value;
            subflow.receiver.peer_clock_at = now;
        }
        let len = segment.payload.len() as u64;
        subflow.receiver.next += len;
        let mss = subflow.payload_max;
        subflow.receiver.schedule_ack(now, Arrival::InOrder { filled: false }, len, mss, delay);
        self.work |= self.subflows[i].receiver.ack_now;
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
        let own = map.ssn == subflow.receiver.next as u32
            && usize::from(map.len) == segment.payload.len()
            && map.checksum.is_none()
            && !self.checksum;
        let same_ack = dss.ack_is_short
            && dss.data_ack == Some(u64::from(self.local_idsn.wrapping_add(self.data_una) as u32));
        let plain = own && same_ack && !dss.dsn_is_short && !dss.data_fin && self.confirmed;
        let nothing_kept = subflow.mappings.is_empty() && subflow.held.is_empty() && !subflow.bare;
        let data = map.dsn.wrapping_sub(self.remote_idsn);
        // That the two part is news too.
        let known = self.parted || data == subflow.receiver.next;
        (plain && nothing_kept && known).then_some(data)
    }
}

/// On an established subflow without a gap, what follows on what came last; and this end has nothing in
/// flight that it could acknowledge.
#[inline]
fn is_expected<P: Payload>(subflow: &Subflow<P>, segment: &Segment<P>) -> bool {
    let receiver = &subflow.receiver;
    let clock_goes_on =
        segment.timestamps.is_none_or(|clock| clock.value.wrapping_sub(receiver.peer_clock) as i32 >= 0);
    subflow.state == State::Established
        && segment.seq == subflow.irs.wrapping_add(receiver.next as u32)
        && segment.ack == subflow.iss.wrapping_add(subflow.sender.una as u32)
        && (segment.source, segment.destination) == (subflow.remote_port, subflow.local_port)
        && segment.signal.is_none()
        && segment.sack.is_empty()
        && clock_goes_on
        && !subflow.sender.has_unsent_or_unacked()
        && !receiver.has_blocks()
        && receiver.fin_at.is_none()
        && !subflow.send_handshake_ack
        && !subflow.ecn
}
