//! Counters of a middlebox.

/// Counters of a middlebox, in segments.
///
/// Invariant: `seen + added + answered == passed + merged + dropped + held`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MiddleboxStats {
    /// Segments received, from either side.
    pub seen: u64,
    /// Segments sent on, to either side.
    pub passed: u64,
    /// Segments with changed options, sequence numbers, ports or payload.
    pub changed: u64,
    /// Additional segments made by splitting.
    pub added: u64,
    /// Segments merged into the one before them.
    pub merged: u64,
    /// Segments dropped.
    pub dropped: u64,
    /// Resets that the middlebox sent itself.
    pub answered: u64,
}
