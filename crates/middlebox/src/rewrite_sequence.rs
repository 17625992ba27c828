//! Sequence number rewriting: a firewall that randomises initial sequence numbers.

use wire::{Flags, Payload, SackBlocks, Segment};

/// Adds `own` to the sequence number of a segment and subtracts `peer` from its acknowledgement
/// number, and from its SACK blocks if `sack` is set.
pub(crate) fn rewrite_sequence<P: Payload>(segment: &mut Segment<P>, own: u32, peer: u32, sack: bool) {
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
    fn sequence_and_acknowledgement_numbers_are_translated() {
        let mut segment: Segment<Span> = Segment::new((1, 2), u32::MAX, 5, Flags::ACK, 9);
        segment.sack.push(20, 30);
        let mut without_sack = segment.clone();
        rewrite_sequence(&mut segment, 3, 10, true);
        assert_eq!((segment.seq, segment.ack), (2, 5_u32.wrapping_sub(10)));
        assert_eq!(segment.sack.as_slice(), [(10, 20)]);
        rewrite_sequence(&mut without_sack, 3, 10, false);
        assert_eq!(without_sack.sack.as_slice(), [(20, 30)]);
        assert_eq!(without_sack.ack, segment.ack);
    }

    #[test]
    fn acknowledgement_number_without_ack_flag_is_unchanged() {
        let mut syn: Segment<Span> = Segment::new((1, 2), 7, 0, Flags::SYN, 9);
        rewrite_sequence(&mut syn, 1000, 10, true);
        assert_eq!((syn.seq, syn.ack), (1007, 0));
    }
}
