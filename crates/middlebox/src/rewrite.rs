//! Sequence numbers that are not the sender's own.

use wire::{Flags, Payload, SackBlocks, Segment};

/// Adds `own` to the sender's numbers and takes `peer`'s from those that it acknowledges.
pub(crate) fn rewrite<P: Payload>(segment: &mut Segment<P>, own: u32, peer: u32, sack: bool) {
    segment.seq = segment.seq.wrapping_add(own);
    if segment.flags.has(Flags::ACK) {
        segment.ack = segment.ack.wrapping_sub(peer);
    }
    if sack && !segment.sack.is_empty() {
        let mut blocks = SackBlocks::default();
        for &(left, right) in segment.sack.as_slice() {
            blocks.push(left.wrapping_sub(peer), right.wrapping_sub(peer));
        }
        segment.sack = blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    #[test]
    fn numbers_move_by_the_sender_s_offset_and_acknowledgements_back_by_the_peer_s() {
        let mut segment: Segment<Span> = Segment::new(1, 2, u32::MAX, 5, Flags::ACK, 9);
        segment.sack.push(20, 30);
        let mut inconsistent = segment.clone();
        rewrite(&mut segment, 3, 10, true);
        assert_eq!((segment.seq, segment.ack), (2, 5_u32.wrapping_sub(10)));
        assert_eq!(segment.sack.as_slice(), [(10, 20)]);
        rewrite(&mut inconsistent, 3, 10, false);
        assert_eq!(inconsistent.sack.as_slice(), [(20, 30)]);
        assert_eq!(inconsistent.ack, segment.ack);
    }

    #[test]
    fn an_acknowledgement_that_means_nothing_stays() {
        let mut syn: Segment<Span> = Segment::new(1, 2, 7, 0, Flags::SYN, 9);
        rewrite(&mut syn, 1000, 10, true);
        assert_eq!((syn.seq, syn.ack), (1007, 0));
    }
}
