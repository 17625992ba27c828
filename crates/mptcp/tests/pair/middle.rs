//! What stands between: boxes that look into segments and change them.

use units::{Duration, Time};
use wire::{Flags, Payload, Segment, Span};

/// A box on one path. The default lets everything through as it is.
#[derive(Debug, Clone, Default)]
pub struct Middle {
    /// Takes MPTCP options off: 1 SYNs, 2 all but SYNs, 3 all.
    pub strip: u64,
    /// 1 of what the client sends, 2 of what the server sends, 3 both.
    pub strip_way: u64,
    pub strip_from: Time,
    /// Cuts payload into pieces of so many bytes; each has the options.
    pub split: Option<usize>,
    /// Joins segments up to so many bytes, with the options of the first.
    pub merge: Option<usize>,
    /// Added to the client's sequence numbers.
    pub rewrite: u32,
    /// After so long a silence nothing but a SYN passes.
    pub forget: Option<Duration>,
    /// When something last passed.
    pub heard: Option<Time>,
}

impl Middle {
    /// What becomes of a segment that `from` sent: nothing, itself, or several.
    pub fn pass(&mut self, now: Time, from: usize, mut segment: Segment<Span>) -> Vec<Segment<Span>> {
        let syn = segment.flags.has(Flags::SYN);
        if let Some(longest) = self.forget {
            let opens = syn && !segment.flags.has(Flags::ACK);
            let known = self.heard.is_some_and(|heard| now.since(heard) <= longest);
            if !known && !opens {
                return Vec::new();
            }
            self.heard = Some(now);
        }
        let kind = if syn { 1 } else { 2 };
        if self.strip & kind != 0 && self.strip_way & (1 << from) != 0 && now >= self.strip_from {
            segment.dss = None;
            segment.signal = None;
        }
        if from == super::CLIENT {
            segment.seq = segment.seq.wrapping_add(self.rewrite);
        } else {
            segment.ack = segment.ack.wrapping_sub(self.rewrite);
            let mut moved = wire::SackBlocks::default();
            for &(left, right) in segment.sack.as_slice() {
                moved.push(left.wrapping_sub(self.rewrite), right.wrapping_sub(self.rewrite));
            }
            segment.sack = moved;
        }
        match self.split {
            Some(most) if !syn && segment.payload.len() > most => cut(&segment, most),
            _ => vec![segment],
        }
    }

    /// `next` put behind `before`, if this box does so and it fits.
    pub fn join(&self, before: &Segment<Span>, next: &Segment<Span>) -> Option<Segment<Span>> {
        let most = self.merge?;
        let plain = |s: &Segment<Span>| {
            !s.flags.has(Flags::SYN)
                && !s.flags.has(Flags::RST)
                && s.signal.is_none()
                && !s.payload.is_empty()
        };
        let follows = before.seq.wrapping_add(before.payload.len) == next.seq
            && (before.source, before.destination) == (next.source, next.destination)
            && !before.flags.has(Flags::FIN);
        if !plain(before) || !plain(next) || !follows || before.payload.len() + next.payload.len() > most {
            return None;
        }
        let payload = before.payload.join(&next.payload)?;
        let flags = before.flags.with(next.flags);
        Some(Segment { seq: before.seq, dss: before.dss, flags, payload, ..next.clone() })
    }
}

fn cut(segment: &Segment<Span>, most: usize) -> Vec<Segment<Span>> {
    let len = segment.payload.len();
    let piece = |from: usize| {
        let to = (from + most).min(len);
        let mut piece = segment.clone();
        piece.seq = segment.seq.wrapping_add(from as u32);
        piece.payload = segment.payload.slice(from, to);
        if to < len && segment.flags.has(Flags::FIN) {
            piece.flags = Flags::from_bits(segment.flags.bits() & !Flags::FIN.bits());
        }
        piece
    };
    (0..len).step_by(most).map(piece).collect()
}
