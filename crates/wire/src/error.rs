//! Errors of decoding and encoding.

/// Error of decoding bytes or encoding a representation.
///
/// Offsets are in bytes, from the start of the IP packet for an IP field, and from the start of the
/// TCP header for a TCP field or option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The input is truncated.
    #[error("{what} at byte {offset} is truncated: needs {needed} bytes, has {available}")]
    Truncated {
        /// Truncated structure.
        what: &'static str,
        /// Its offset.
        offset: usize,
        /// Required bytes.
        needed: usize,
        /// Available bytes.
        available: usize,
    },
    /// Invalid length.
    #[error("{what} at byte {offset} has length {found}, expected {expected}")]
    Length {
        /// Structure with this length.
        what: &'static str,
        /// Offset of an option, or of a header's length field.
        offset: usize,
        /// Length in the input, in bytes.
        found: usize,
        /// Valid lengths.
        expected: &'static str,
    },
    /// Invalid field value.
    #[error("{what} at byte {offset} is {found}, expected {expected}")]
    Value {
        /// Name of the field.
        what: &'static str,
        /// Its offset.
        offset: usize,
        /// Value in the input.
        found: u64,
        /// Valid values.
        expected: &'static str,
    },
    /// Checksum mismatch.
    #[error("{what} at byte {offset} is {found:#06x}, which does not match the bytes it covers")]
    Checksum {
        /// Name of the checksum.
        what: &'static str,
        /// Its offset.
        offset: usize,
        /// Checksum in the input.
        found: u16,
    },
    /// The options do not fit in a TCP header.
    #[error("TCP options need {needed} bytes, the maximum is 40")]
    OptionsTooLong {
        /// Required bytes, with padding.
        needed: usize,
    },
    /// The payload or segment exceeds the maximum length.
    #[error("{what} of {len} bytes is too long, the maximum is {max}")]
    TooLong {
        /// Name of the payload or segment.
        what: &'static str,
        /// Length, in bytes.
        len: usize,
        /// Maximum length, in bytes.
        max: usize,
    },
    /// The value has no encoding.
    #[error("{what} cannot be encoded: expected {expected}")]
    Unwritable {
        /// Name of the value.
        what: &'static str,
        /// Values that can be encoded.
        expected: &'static str,
    },
}
