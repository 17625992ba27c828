//! Span of a simulated stream.

use core::fmt;

/// Payload of the simulator: a piece of a stream given by offset and length only.
///
/// A receiver can check that the data it delivers at offset `n` is the data of offset `n`. A
/// capture shows the bytes of [`capture::filler`](crate::capture::filler).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Offset of the first byte in the application's stream.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// A middlebox has changed the bytes.
    pub(crate) corrupted: bool,
}

impl Span {
    /// `len` bytes from `offset` on.
    pub const fn new(offset: u64, len: u32) -> Self {
        Self { offset, len, corrupted: false }
    }
    /// The same span with changed bytes. Each part of it is corrupted too, and its checksum
    /// differs.
    #[must_use]
    pub const fn corrupted(self) -> Self {
        Self { corrupted: true, ..self }
    }
    /// True if a middlebox has changed the bytes.
    pub const fn is_corrupted(&self) -> bool {
        self.corrupted
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Span");
        debug.field("offset", &self.offset).field("len", &self.len);
        if self.corrupted {
            debug.field("corrupted", &true);
        }
        debug.finish()
    }
}
