//! What must hold at any time.

use super::Sender;
use super::scoreboard::{IN_RETRANSMISSION, LOST, SACKED};
use wire::Payload;

impl<P: Payload> Sender<P> {
    /// What must hold at any time: the counters are those of the queue.
    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        let held = |condition: bool, what| if condition { Ok(()) } else { Err(what) };
        let sum = |flag| self.sent.iter().filter(|s| s.is(flag)).map(|s| u64::from(s.len)).sum::<u64>();
        held(self.sacked == sum(SACKED), "sacked bytes miscounted")?;
        held(self.lost == sum(LOST), "lost bytes miscounted")?;
        held(self.retransmitting == sum(IN_RETRANSMISSION), "retransmitted bytes miscounted")?;
        held(self.queued == self.queue.iter().map(|c| c.payload.len() as u64).sum(), "queue miscounted")?;
        let mut at = self.una;
        for (i, sent) in self.sent.iter().enumerate() {
            let found = [sent.offset, sent.end() - 1].map(|offset| self.ending_after(offset));
            held(found == [i; 2], "a segment is not found where it is")?;
            held(self.index_of(sent.offset) == i, "nor where it begins")?;
            held(sent.offset == at && sent.len > 0, "a hole in what is in flight")?;
            let len = if sent.chunk.fin { 1 } else { sent.chunk.payload.len() as u64 };
            held(len == u64::from(sent.len), "a segment is not as long as its payload")?;
            held(!(sent.is(SACKED) && sent.is(LOST)), "delivered and lost")?;
            held(!sent.is(IN_RETRANSMISSION) || sent.is(LOST), "sent again and not lost")?;
            at = sent.end();
        }
        // The SYN is not kept here.
        held(at == self.next || self.sent.is_empty() && self.next == 1, "flight does not end at next")?;
        held(self.sacked + self.lost <= self.flight(), "more gone than there was")?;
        self.check_rack()?;
        held(!self.uses.samples || self.sampler.len() == self.sent.len(), "a segment without a stamp")?;
        let timeout = matches!(self.recovery, Some(super::recovery::Recovery::Timeout { .. }));
        held(timeout || self.frto == super::undo::Frto::Off, "a timeout in question, and no timeout")
    }
}
