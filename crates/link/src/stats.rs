//! Packet counters.

/// Counters of a link or of a station of a cell.
///
/// Every pushed packet and every duplicate is delivered, dropped, lost, corrupted or in flight.
/// Therefore `pushed + duplicated` equals
/// `delivered + dropped_full + dropped_early + lost + corrupted + in_flight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkStats {
    /// Packets pushed.
    pub pushed: u64,
    /// Packets delivered at the far end.
    pub delivered: u64,
    /// Packets dropped because the queue was full.
    pub dropped_full: u64,
    /// Packets dropped by CoDel.
    pub dropped_early: u64,
    /// Packets marked by CoDel.
    pub marked: u64,
    /// Packets lost after transmission. A [`Link`](crate::Link) counts them when they are pushed.
    pub lost: u64,
    /// Packets corrupted after transmission, counted at the same time as losses.
    pub corrupted: u64,
    /// Packets duplicated after transmission, counted at the same time as losses.
    pub duplicated: u64,
    /// Bytes of the delivered packets.
    pub bytes_delivered: u64,
}

/// Counters of the background stations of a cell, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadStats {
    /// Packets generated.
    pub offered: u64,
    /// Packets transmitted.
    pub sent: u64,
    /// Packets dropped because the queue of their station was full.
    pub dropped_full: u64,
    /// Bytes of the transmitted packets.
    pub bytes_sent: u64,
}
