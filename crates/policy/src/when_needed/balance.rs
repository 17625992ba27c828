//! What costly paths have carried against what preferred ones could not.

/// What the preferred paths missed of the demand less what the costly ones carried, in bytes: a balance over all
/// the times at which the latter were on.
///
/// A shortage ends when its debt is paid, but a costly path carries on for a while: what waits in its sender's queue is
/// not taken back, and what a sender holds for lost it sends again. All of that counts here, and has to be missed on
/// preferred paths before costly ones go on the next time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Balance {
    bytes: f64,
}

impl Balance {
    /// More than the demand of so many seconds is not remembered, in either direction: a stream is later by no more
    /// than this for what a path has carried too much, and what was missed a while ago is no reason to use it now.
    pub(super) const MOST: f64 = 1.0;

    /// Preferred paths missed `bytes` of a demand of `rate` bytes a second; negative where they carried more.
    pub(super) fn missed(&mut self, bytes: f64, rate: f64) {
        self.bytes = (self.bytes + bytes.max(0.0)).min(Self::MOST * rate);
    }

    /// Costly paths carried `bytes`, of whatever kind.
    ///
    /// `twice` says that a sender may have sent things twice. Where not, more than what was missed shows that more was
    /// asked for than was known, and is no waste.
    pub(super) fn carried(&mut self, bytes: f64, rate: f64, twice: bool) {
        let least = if twice { -Self::MOST * rate } else { self.bytes.min(0.0) };
        self.bytes = (self.bytes - bytes).max(least);
    }

    /// So many bytes costly paths have carried that preferred ones had not missed.
    pub(super) fn too_much(self) -> f64 {
        (-self.bytes).max(0.0)
    }

    /// What is to be left of a debt so that `reserve` bytes are saved up.
    pub(super) fn lacks(self, debt: f64, reserve: f64) -> f64 {
        (reserve - (self.bytes - debt)).max(0.0)
    }
}
