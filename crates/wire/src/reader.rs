//! Reader of big-endian fields. Missing bytes give `None` or 0, not a panic.

/// Reads fields from the front of a slice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*front)
    }
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}

/// The 16-bit field at `at`; 0 if it is not within `bytes`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}

/// The 32-bit field at `at`; 0 if it is not within `bytes`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

/// The `N` bytes at `at`; zeros if they are not within `bytes`.
pub(crate) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
}
