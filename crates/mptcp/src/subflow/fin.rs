//! FINs of both directions of a subflow.

/// State of this end's FIN, and the order of the two.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FinState {
    queued: bool,
    /// Offset of this end's FIN, once sent.
    sent_at: Option<u64>,
    /// The peer's FIN arrived before this end's was sent.
    peer_first: bool,
}

impl FinState {
    /// Returns false if a FIN was queued before.
    pub(super) fn queue(&mut self) -> bool {
        !core::mem::replace(&mut self.queued, true)
    }
    #[inline]
    pub(super) fn is_queued(self) -> bool {
        self.queued
    }
    pub(super) fn on_sent(&mut self, offset: u64) {
        self.sent_at = Some(offset);
    }
    /// True if the FIN was sent and `una`, the first unacknowledged offset, lies after it.
    pub(super) fn is_acked(self, una: u64) -> bool {
        self.sent_at.is_some_and(|fin| una > fin)
    }
    pub(super) fn on_peer_fin(&mut self) {
        self.peer_first |= self.sent_at.is_none();
    }
    pub(super) fn peer_was_first(self) -> bool {
        self.peer_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fin_is_acked_only_after_its_own_offset() {
        let mut fin = FinState::default();
        assert!(fin.queue() && !fin.queue());
        assert!(!fin.is_acked(100));
        fin.on_sent(100);
        assert!(!fin.is_acked(100) && fin.is_acked(101));
    }

    #[test]
    fn peer_is_first_only_before_the_own_fin_is_sent() {
        let mut fin = FinState::default();
        fin.on_sent(1);
        fin.on_peer_fin();
        assert!(!fin.peer_was_first());
        let mut fin = FinState::default();
        fin.on_peer_fin();
        fin.on_sent(1);
        assert!(fin.peer_was_first());
    }
}
