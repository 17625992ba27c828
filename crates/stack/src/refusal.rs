//! Resets for segments that belong to no connection (RFC 9293, section 3.5.2).

use crate::Tuple;
use bytes::Bytes;
use wire::{Flags, MptcpSignal, Payload, Segment};

/// Reason of a refused join (RFC 8684, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reason {
    code: u8,
    is_transient: bool,
}

impl Reason {
    /// MPTCP-specific error: no connection has the token.
    pub(crate) const MPTCP_ERROR: Self = Self { code: 1, is_transient: false };
    /// Lack of resources: a later join may succeed.
    pub(crate) const LACK_OF_RESOURCES: Self = Self { code: 2, is_transient: true };
}

/// A reset to be sent over an interface.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) interface: usize,
    pub(crate) tuple: Tuple,
    pub(crate) segment: Segment<Bytes>,
}

/// The reset that answers `segment`, with `reason` if that is a join; `None` if it is a reset itself.
pub(crate) fn refuse(
    interface: usize,
    tuple: Tuple,
    segment: &Segment<Bytes>,
    reason: Reason,
) -> Option<Refusal> {
    if segment.flags.has(Flags::RST) {
        return None;
    }
    let ports = (segment.destination, segment.source);
    let len = segment.payload.len() as u32
        + u32::from(segment.flags.has(Flags::SYN))
        + u32::from(segment.flags.has(Flags::FIN));
    let mut reset = if segment.flags.has(Flags::ACK) {
        Segment::new(ports, segment.ack, 0, Flags::RST, 0)
    } else {
        Segment::new(ports, 0, segment.seq.wrapping_add(len), Flags::RST.with(Flags::ACK), 0)
    };
    reset.payload = Bytes::empty();
    if matches!(segment.signal, Some(MptcpSignal::JoinSyn { .. })) {
        reset.signal = Some(MptcpSignal::Reset { transient: reason.is_transient, reason: reason.code });
    }
    Some(Refusal { interface, tuple, segment: reset })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple() -> Tuple {
        Tuple { local: ([10, 0, 0, 1], 443).into(), remote: ([10, 0, 0, 2], 5000).into() }
    }

    #[test]
    fn reset_takes_its_numbers_from_the_segment() {
        let syn = Segment::<Bytes>::new((5000, 443), 100, 0, Flags::SYN, 1000);
        let reset = refuse(0, tuple(), &syn, Reason::MPTCP_ERROR).map(|refusal| refusal.segment);
        let reset = reset.expect("a SYN is answered");
        assert_eq!((reset.seq, reset.ack, reset.flags), (0, 101, Flags::RST.with(Flags::ACK)));
        assert_eq!((reset.source, reset.destination), (443, 5000));
        let ack = Segment::<Bytes>::new((5000, 443), 100, 77, Flags::ACK, 1000);
        let reset = refuse(0, tuple(), &ack, Reason::MPTCP_ERROR)
            .map(|refusal| refusal.segment)
            .expect("an ACK is answered");
        assert_eq!((reset.seq, reset.flags), (77, Flags::RST));
        let reset = Segment::<Bytes>::new((5000, 443), 100, 77, Flags::RST, 1000);
        assert!(refuse(0, tuple(), &reset, Reason::MPTCP_ERROR).is_none());
    }
}
