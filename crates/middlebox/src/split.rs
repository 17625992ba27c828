//! Segment splitting: segmentation offload (TSO) of a host or proxy.

use wire::{Flags, Payload, Segment};

/// Splits a segment into pieces of at most `mss` bytes of payload and passes them to `out` in
/// order. The last piece keeps FIN and PSH. The first keeps CWR, which signals one reduction of the
/// congestion window (RFC 3168, section 6.1.2).
pub(crate) fn split<P: Payload>(segment: Segment<P>, mss: u16, mut out: impl FnMut(Segment<P>)) {
    let (len, max) = (segment.payload.len(), usize::from(mss.max(1)));
    if len <= max || segment.flags.has(Flags::SYN) {
        out(segment);
        return;
    }
    let without = |flags: Flags, other: Flags| Flags::from_bits(flags.bits() & !other.bits());
    let mut from = 0;
    while from < len {
        let to = len.min(from + max);
        let mut piece = Segment { payload: segment.payload.slice(from, to), ..segment.clone() };
        piece.seq = segment.seq.wrapping_add(from as u32);
        if to < len {
            piece.flags = without(piece.flags, Flags::FIN.with(Flags::PSH));
        }
        if from > 0 {
            piece.flags = without(piece.flags, Flags::CWR);
        }
        out(piece);
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{Dss, Mapping, Span};

    #[test]
    fn pieces_keep_the_mapping_and_the_last_keeps_fin() {
        let flags = Flags::ACK.with(Flags::PSH).with(Flags::FIN).with(Flags::CWR);
        let mut whole = Segment::new((1, 2), u32::MAX - 99, 5, flags, 9);
        whole.payload = Span::new(500, 250);
        let mapping = Some(Mapping { dsn: 70, ssn: 1, len: 250, checksum: Some(7) });
        whole.dss = Some(Dss { mapping, ..Dss::default() });
        let mut pieces = Vec::new();
        split(whole.clone(), 100, |piece| pieces.push(piece));
        let spans: Vec<_> = pieces.iter().map(|p| (p.seq, p.payload.offset, p.payload.len)).collect();
        assert_eq!(spans, [(u32::MAX - 99, 500, 100), (0, 600, 100), (100, 700, 50)]);
        assert!(pieces.iter().all(|p| p.dss == whole.dss && p.ack == 5));
        let ack = Flags::ACK;
        let ends = ack.with(Flags::PSH).with(Flags::FIN);
        assert_eq!([0, 1, 2].map(|i| pieces[i].flags), [ack.with(Flags::CWR), ack, ends]);
    }

    #[test]
    fn small_segments_and_syns_are_not_split() {
        for (flags, len) in [(Flags::ACK, 100), (Flags::SYN, 900), (Flags::RST, 0)] {
            let mut whole = Segment::new((1, 2), 3, 4, flags, 5);
            whole.payload = Span::new(0, len);
            let mut pieces = Vec::new();
            split(whole.clone(), 100, |piece| pieces.push(piece));
            assert_eq!(pieces, [whole]);
        }
    }
}
