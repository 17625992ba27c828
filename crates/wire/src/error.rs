//! What can be wrong with bytes, or with a meaning that should become bytes.

/// Why bytes could not be read, or a representation could not be written.
///
/// Offsets are in bytes from the start of the header that `what` belongs to: of an IP field from the
/// start of the IP packet, of a TCP field or option from the start of the TCP header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end too early.
    #[error("{what} at byte {offset} needs {needed} bytes, {available} are there")]
    Truncated {
        /// What ends too early.
        what: &'static str,
        /// Where it begins.
        offset: usize,
        /// How many bytes it should have.
        needed: usize,
        /// How many it has.
        available: usize,
    },
    /// A length that what it belongs to cannot have.
    #[error("{what} at byte {offset} has length {found}, expected {expected}")]
    Length {
        /// What has the length.
        what: &'static str,
        /// Where it begins.
        offset: usize,
        /// The length in bytes as read.
        found: usize,
        /// Lengths that would be right.
        expected: &'static str,
    },
    /// A value that a field cannot have.
    #[error("{what} at byte {offset} is {found}, expected {expected}")]
    Value {
        /// The field.
        what: &'static str,
        /// Where it lies.
        offset: usize,
        /// The value as read.
        found: u64,
        /// Values that would be right.
        expected: &'static str,
    },
    /// A checksum that does not match what it covers.
    #[error("{what} at byte {offset} is {found:#06x}, which does not match the bytes it covers")]
    Checksum {
        /// Which checksum.
        what: &'static str,
        /// Where it lies.
        offset: usize,
        /// The checksum as read.
        found: u16,
    },
    /// Options that do not fit in a TCP header.
    #[error("the TCP options need {needed} bytes, a header holds 40")]
    OptionsTooLong {
        /// Bytes they need, padded.
        needed: usize,
    },
    /// A payload that does not fit.
    #[error("{what} of {len} bytes, at most {max} fit")]
    TooLong {
        /// What is too long.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The most that fit.
        max: usize,
    },
    /// A meaning that has no bytes.
    #[error("{what} cannot be written: expected {expected}")]
    Unwritable {
        /// What has no form on the wire.
        what: &'static str,
        /// What would have one.
        expected: &'static str,
    },
}
