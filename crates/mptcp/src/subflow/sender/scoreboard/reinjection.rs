//! Reinjection: data in flight that another subflow sends instead of this one.

use super::{REINJECTED, SACKED, Scoreboard, Sent};
use crate::subflow::{Chunk, Cut};
use wire::Payload;

impl<P: Payload> Scoreboard<P> {
    /// Returns the data after `from` that is in flight and was not delivered or reinjected, and
    /// marks it as reinjected.
    pub(in crate::subflow::sender) fn reinject(&mut self, from: u64) -> Vec<Chunk<P>> {
        let mut chunks = Vec::new();
        for sent in &mut self.sent {
            if !sent.chunk.fin && !sent.has(SACKED | REINJECTED) && sent.chunk.end() > from {
                sent.flags |= REINJECTED;
                chunks.push(Chunk { cut: Cut::default(), ..sent.chunk.clone() });
            }
        }
        chunks
    }

    /// No other subflow carries the data: this one is responsible again.
    pub(in crate::subflow::sender) fn cancel_reinjection(&mut self) {
        for sent in &mut self.sent {
            sent.flags &= !REINJECTED;
        }
    }

    /// Data offset of the first data at or after `data` that is in flight here only.
    pub(in crate::subflow::sender) fn first_unreinjected(&self, data: u64) -> Option<u64> {
        let sent = self.sent.get(self.unreinjected_after(data)?)?;
        Some(sent.chunk.data.max(data))
    }

    /// Returns a copy of up to `max` bytes of that data. The segment counts as reinjected if the
    /// copy reaches its end.
    pub(in crate::subflow::sender) fn reinject_copy(&mut self, data: u64, max: u64) -> Option<Chunk<P>> {
        let i = self.unreinjected_after(data)?;
        let sent = self.sent.get_mut(i)?;
        let (start, end) = (sent.chunk.data, sent.chunk.end());
        let from = start.max(data);
        let to = end.min(from + max);
        if to == end {
            sent.flags |= REINJECTED;
        }
        let payload = sent.chunk.payload.slice((from - start) as usize, (to - start) as usize);
        Some(Chunk::new(from, payload))
    }

    /// Segments lie in the order of the stream, except for data reinjected here: that may be
    /// missed.
    fn unreinjected_after(&self, data: u64) -> Option<usize> {
        let from = self.sent.partition_point(|sent| sent.chunk.end() <= data);
        let own = |sent: &Sent<P>| !sent.chunk.fin && !sent.has(SACKED | REINJECTED);
        let found = self.sent.range(from..).position(|sent| own(sent) && sent.chunk.end() > data)?;
        Some(from + found)
    }
}
