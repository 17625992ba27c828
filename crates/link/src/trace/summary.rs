//! Figures of a trace: length, mean rate, and percentiles of the rate over windows.

use super::{OPPORTUNITY_BYTES, Trace, TraceKind};
use units::{Bitrate, Bytes, Duration};

/// Shortest window of the percentiles.
const WINDOW: Duration = Duration::from_secs(1);
/// Most windows of a summary. A longer trace gets windows ten times as long, until they suffice.
const MAX_WINDOWS: u64 = 100_000;

/// Figures of one loop of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSummary {
    /// Length of the loop.
    pub length: Duration,
    /// Mean rate.
    pub mean: Bitrate,
    /// Length of the windows of `p5` and `p95`: one second; ten seconds or more for a trace of more
    /// than a day; the length of the trace if that is shorter.
    pub window: Duration,
    /// 5th percentile of the rate over windows.
    pub p5: Bitrate,
    /// 95th percentile of the rate over windows.
    pub p95: Bitrate,
}

impl Trace {
    /// Returns the figures of one loop.
    pub fn summary(&self) -> TraceSummary {
        let length = self.period();
        let mut window = WINDOW.min(length);
        while length.as_nanos() / window.as_nanos().max(1) > MAX_WINDOWS {
            window = window * 10;
        }
        let mut rates = self.window_rates(window);
        rates.sort_unstable();
        // Nearest rank.
        let percentile = |percent: usize| {
            let rank = (rates.len() * percent).div_ceil(100).max(1);
            rates.get(rank - 1).copied().unwrap_or_default()
        };
        TraceSummary { length, mean: self.mean_rate(), window, p5: percentile(5), p95: percentile(95) }
    }

    /// Returns the mean rate of each whole window of one loop, in order; the mean rate of the trace
    /// if no window fits.
    pub fn window_rates(&self, window: Duration) -> Vec<Bitrate> {
        let count = self.period().as_nanos() / window.as_nanos().max(1);
        if count == 0 {
            return vec![self.mean_rate()];
        }
        match &self.kind {
            TraceKind::Opportunities { millis, .. } => {
                let mut bytes = vec![0_u64; count as usize];
                for &at in millis.iter() {
                    // An opportunity belongs to the millisecond that it ends.
                    let nanos = u64::from(at).saturating_sub(1) * 1_000_000;
                    if let Some(sum) = bytes.get_mut((nanos / window.as_nanos()) as usize) {
                        *sum += u64::from(OPPORTUNITY_BYTES);
                    }
                }
                bytes.into_iter().map(|bytes| Bytes::new(bytes).per(window)).collect()
            }
            TraceKind::Rates(table) => {
                let (mut rates, mut start, mut work, mut end) = (Vec::new(), 0, 0_u128, window.as_nanos());
                for piece in &table.pieces {
                    while piece.end >= end && (rates.len() as u64) < count {
                        work += u128::from(piece.bps) * u128::from(end - start);
                        rates.push(Bitrate::from_bps((work / u128::from(window.as_nanos())) as u64));
                        (start, work, end) = (end, 0, end.saturating_add(window.as_nanos()));
                    }
                    work += u128::from(piece.bps) * u128::from(piece.end - start);
                    start = piece.end;
                }
                rates
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RatePiece;

    fn rates(pieces: &[(u64, u64)]) -> Trace {
        let piece = |&(millis, bps): &(u64, u64)| RatePiece {
            duration: Duration::from_millis(millis),
            rate: Bitrate::from_bps(bps),
            latency: Duration::ZERO,
        };
        Trace::from_rates(&pieces.iter().map(piece).collect::<Vec<_>>()).unwrap()
    }

    fn bps(trace: &Trace, window_ms: u64) -> Vec<u64> {
        trace.window_rates(Duration::from_millis(window_ms)).into_iter().map(Bitrate::as_bps).collect()
    }

    #[test]
    fn windows_split_and_join_pieces() {
        let trace = rates(&[(500, 1000), (2500, 3000), (400, 0)]);
        assert_eq!(bps(&trace, 1000), [2000, 3000, 3000]);
        assert_eq!(
            bps(&trace, 250),
            [1000, 1000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 0]
        );
        assert_eq!(bps(&trace, 10_000), [trace.mean_rate().as_bps()]);
        let trace = Trace::from_opportunities(vec![0, 1, 1000, 1001, 2000]).unwrap();
        assert_eq!(bps(&trace, 1000), [3 * 12_000, 2 * 12_000]);
    }

    #[test]
    fn percentiles_are_of_windows_of_one_second() {
        let pieces: Vec<(u64, u64)> = (1..=100).map(|i| (1000, i * 1000)).collect();
        let summary = rates(&pieces).summary();
        assert_eq!((summary.p5.as_bps(), summary.p95.as_bps()), (5000, 95_000));
        assert_eq!((summary.length, summary.window), (Duration::from_secs(100), Duration::from_secs(1)));
        let short = rates(&[(300, 7000)]).summary();
        assert_eq!((short.window, short.p5.as_bps()), (Duration::from_millis(300), 7000));
        let long = rates(&[(1_000_000_000, 7000)]).summary();
        assert_eq!((long.window, long.p95.as_bps()), (Duration::from_secs(10), 7000));
    }
}
