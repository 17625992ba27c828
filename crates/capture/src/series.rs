//! What was carried over time, in a bounded number of bins.

use units::Instant;

/// At most so many; where time goes on beyond them, two become one.
const MOST: usize = 400;
/// A bin's width at first.
const FINEST_NS: u64 = 1_000_000;

/// Bytes over time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    bins: Vec<Bin>,
    doublings: u32,
}

/// What happened in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bin {
    /// Payload.
    pub payload: u64,
    /// Of which new at the data level.
    pub new: u64,
    /// Of which another subflow had carried.
    pub reinjected: u64,
    /// Of which this subflow had carried.
    pub retransmitted: u64,
    /// How far the data had come, from the first that was seen on; 0 where none came.
    pub data: u64,
}

impl Series {
    /// The bin of a moment that lies `since` the beginning.
    pub(crate) fn bin(&mut self, since: Instant) -> &mut Bin {
        while self.index(since) >= MOST {
            self.double();
        }
        let index = self.index(since);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        &mut self.bins[index]
    }
    /// How often the bins' width has doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.doublings
    }
    /// The bins at the width of so many doublings, which are no fewer than there were.
    pub(crate) fn at(&self, doublings: u32) -> Vec<Bin> {
        let mut series = self.clone();
        while series.doublings < doublings {
            series.double();
        }
        series.bins
    }
    /// A bin's width in nanoseconds.
    pub(crate) fn width_ns(doublings: u32) -> u64 {
        FINEST_NS << doublings
    }

    fn index(&self, since: Instant) -> usize {
        // The longest time has 64 bits, and the finest width 19 of them: 45 doublings are enough.
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
            assert!(series.bins.len() <= MOST);
        }
        let sum: u64 = series.bins.iter().map(|bin| bin.payload).sum();
        assert_eq!(sum, 99_999 * 50_000);
        assert_eq!(Series::width_ns(series.doublings()), 1_024_000_000);
        series.bin(Instant::from_nanos(u64::MAX)).payload += 1;
        assert!(series.bins.len() <= MOST);
    }
}
