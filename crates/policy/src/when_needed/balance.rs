//! Balance of the costly paths: bytes that the preferred paths missed, less bytes that they
//! carried.

/// Bytes that the preferred paths missed of the demand, less bytes that costly paths carried.
///
/// A costly path carries more than the shortage: data in its sender's queue stays there, and a
/// sender repeats data that it holds for lost. The balance charges all of it, and the preferred
/// paths have to miss as much before costly paths become regular again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Balance {
    bytes: f64,
}

impl Balance {
    /// Limit of the balance in either direction, in seconds of the demand. It bounds how much later
    /// a stream becomes after an overdraft, and for how long a past shortage counts.
    pub(super) const LIMIT_S: f64 = 1.0;

    /// Credits `bytes` that the preferred paths missed of a demand of `rate` bytes per second.
    pub(super) fn credit(&mut self, bytes: f64, rate: f64) {
        self.bytes = (self.bytes + bytes.max(0.0)).min(Self::LIMIT_S * rate);
    }

    /// Charges `bytes` that costly paths carried.
    ///
    /// The balance becomes negative only if a sender may have sent data twice (`duplicates`).
    /// Otherwise bytes beyond it show a demand that was underestimated, and no waste.
    pub(super) fn charge(&mut self, bytes: f64, rate: f64, duplicates: bool) {
        let minimum = if duplicates { -Self::LIMIT_S * rate } else { self.bytes.min(0.0) };
        self.bytes = (self.bytes - bytes).max(minimum);
    }

    /// Bytes that costly paths carried beyond the shortages.
    pub(super) fn overdraft(self) -> f64 {
        (-self.bytes).max(0.0)
    }

    /// Bytes of a backlog to leave unpaid, so that the balance keeps `reserve` bytes after it.
    pub(super) fn unpaid_for_reserve(self, backlog: f64, reserve: f64) -> f64 {
        (reserve - (self.bytes - backlog)).max(0.0)
    }
}
