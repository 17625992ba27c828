//! What went through.

/// What a link, or a station of a cell, has done so far.
///
/// Every packet pushed, and every double, is delivered, dropped, lost, damaged or still there:
/// `pushed + duplicated == delivered + dropped_full + dropped_early + lost + corrupted + in_flight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Packets that were pushed.
    pub pushed: u64,
    /// Packets that were handed over at the other end.
    pub delivered: u64,
    /// Packets that found the queue full.
    pub dropped_full: u64,
    /// Packets that CoDel dropped because they waited.
    pub dropped_early: u64,
    /// Packets that CoDel marked instead.
    pub marked: u64,
    /// Packets that were lost on the way; a [`Link`](crate::Link) counts them when they are pushed.
    pub lost: u64,
    /// Packets that were damaged on the way; counted like those that were lost.
    pub corrupted: u64,
    /// Packets that became two on the way; likewise.
    pub duplicated: u64,
    /// Bytes of the delivered packets.
    pub bytes_delivered: u64,
}

/// What the other stations of a cell have done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadStats {
    /// Packets that came.
    pub offered: u64,
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that found their station's queue full.
    pub dropped_full: u64,
    /// Bytes of the sent packets.
    pub bytes_sent: u64,
}
