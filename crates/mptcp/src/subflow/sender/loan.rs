//! What another subflow sends in this one's stead, and what that costs this one.

use super::Sender;
use super::{Chunk, GIVEN, SACKED, Sent};
use units::Instant;
use wire::Payload;

impl<P: Payload> Sender<P> {
    /// Where the first data at or beyond `data` lies that is on its way here and that nobody else has.
    pub(crate) fn first_unreinjected(&self, data: u64) -> Option<u64> {
        let sent = self.sent.get(self.held_from(data)?)?;
        Some(sent.chunk.data.max(data))
    }

    /// A copy of up to `most` bytes of it, for another subflow. Where that is all that is left of the
    /// chunk, the other answers for it from now on.
    pub(crate) fn reinject_copy(&mut self, data: u64, most: u64) -> Option<Chunk<P>> {
        let i = self.held_from(data)?;
        let sent = self.sent.get_mut(i)?;
        let (start, end) = (sent.chunk.data, sent.chunk.end());
        let from = start.max(data);
        let to = end.min(from + most);
        if to == end {
            sent.flags |= GIVEN;
        }
        let payload = sent.chunk.payload.slice((from - start) as usize, (to - start) as usize);
        Some(Chunk { data: from, payload, fin: false })
    }

    /// What was dealt here comes in the order of the stream, but for what others gave: such a chunk may
    /// be overlooked.
    fn held_from(&self, data: u64) -> Option<usize> {
        let from = self.sent.partition_point(|sent| sent.chunk.end() <= data);
        let held = |sent: &Sent<P>| !sent.chunk.fin && sent.flags & (SACKED | GIVEN) == 0;
        let found = self.sent.range(from..).position(|sent| held(sent) && sent.chunk.end() > data)?;
        Some(from + found)
    }

    /// Half the window, and no slow start back to where it was; at most once a round trip (Raiciu et al.,
    /// NSDI 2012, section 4.2).
    pub(crate) fn penalise(&mut self, now: Instant) {
        if self.penalised.is_some_and(|last| now.since(last) < self.rtt.srtt()) {
            return;
        }
        self.penalised = Some(now);
        self.window.cwnd = (self.window.cwnd / 2).max(2 * self.mss).min(self.window.cwnd);
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd);
    }
}
