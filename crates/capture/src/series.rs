//! Bytes over time in a bounded number of bins.

use units::Instant;

/// Maximum number of bins; beyond it, two bins merge into one.
const MAX_BINS: usize = 400;
/// Initial width of a bin.
const INITIAL_WIDTH_NS: u64 = 1_000_000;

/// Bytes per bin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    bins: Vec<Bin>,
    doublings: u32,
}

/// Counters of one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Payload bytes.
    pub payload: u64,
    /// Part of it that is new at data level.
    pub new: u64,
    /// Part of it that another subflow had carried.
    pub reinjected: u64,
    /// Part of it that this subflow had carried.
    pub retransmitted: u64,
    /// Progress of the data, from the first byte seen; 0 without data.
    pub data: u64,
}

impl Series {
    /// Bin of a moment that is `since` after the beginning.
    pub(crate) fn bin(&mut self, since: Instant) -> &mut Bin {
        while self.index(since) >= MAX_BINS {
            self.double();
        }
        let index = self.index(since);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        &mut self.bins[index]
    }
    /// Number of times that the width has doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.doublings
    }
    /// Bins at the width of `doublings` doublings, at least as many as so far.
    pub(crate) fn at(&self, doublings: u32) -> Vec<Bin> {
        let mut series = self.clone();
        while series.doublings < doublings {
            series.double();
        }
        series.bins
    }
    /// Width of a bin in nanoseconds.
    pub(crate) fn width_ns(doublings: u32) -> u64 {
        INITIAL_WIDTH_NS << doublings
    }

    fn index(&self, since: Instant) -> usize {
        // 64 bits of time at a width of 19 bits: 45 doublings suffice.
        (since.as_nanos() / Self::width_ns(self.doublings)) as usize
    }

    fn double(&mut self) {
        self.doublings += 1;
        let half = self.bins.len().div_ceil(2);
        for i in 0..half {
            let (a, b) = (self.bins[2 * i], self.bins.get(2 * i + 1).copied().unwrap_or_default());
            self.bins[i] = Bin {
                payload: a.payload + b.payload,
                new: a.new + b.new,
                reinjected: a.reinjected + b.reinjected,
                retransmitted: a.retransmitted + b.retransmitted,
                data: a.data.max(b.data),
            };
        }
        self.bins.truncate(half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_become_wider() {
        let mut series = Series::default();
        for i in 0..100_000 {
            series.bin(Instant::from_millis(i * 3)).payload += i;
            assert!(series.bins.len() <= MAX_BINS);
        }
        let sum: u64 = series.bins.iter().map(|bin| bin.payload).sum();
        assert_eq!(sum, 99_999 * 50_000);
        assert_eq!(Series::width_ns(series.doublings()), 1_024_000_000);
        series.bin(Instant::from_nanos(u64::MAX)).payload += 1;
        assert!(series.bins.len() <= MAX_BINS);
    }
}
