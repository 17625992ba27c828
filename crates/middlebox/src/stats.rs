//! What a middlebox did.

/// What a middlebox has done so far, in segments.
///
/// Every segment is accounted for: `seen + added + answered == passed + merged + dropped + held`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MiddleboxStats {
    /// Came in, from either side.
    pub seen: u64,
    /// Left, to either side.
    pub passed: u64,
    /// Left otherwise than they came: options, numbers, ports or payload.
    pub changed: u64,
    /// Pieces beyond the first that a segment was split into.
    pub added: u64,
    /// Became part of the segment before them.
    pub merged: u64,
    /// Did not leave.
    pub dropped: u64,
    /// Resets that the box itself sent.
    pub answered: u64,
}
