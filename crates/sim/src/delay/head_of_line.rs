//! Head-of-line blocking: received data that waits for earlier data.

use super::{Distribution, Samples};
use serde::Serialize;
use std::collections::VecDeque;
use units::Instant;

/// Recorder of the data that a receiver holds beyond a gap.
///
/// All bytes that a segment adds are contiguous with data around them, so they become readable
/// together.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadOfLine {
    /// Held data by the path on which it arrived, in ascending order of the stream.
    held: Vec<VecDeque<Held>>,
    waits: Samples,
    /// Sum of the waits over all bytes that waited for a path, in byte nanoseconds.
    waited_for: Vec<u128>,
}

/// Data of one segment beyond a gap.
#[derive(Debug, Clone, Copy)]
struct Held {
    arrived: Instant,
    /// Stream offset after the segment.
    end: u64,
    /// Number of bytes that no segment had brought before.
    bytes: u64,
}

impl HeadOfLine {
    /// A segment on `path` that ends at stream offset `end` adds `bytes` beyond a gap.
    pub(crate) fn hold(&mut self, now: Instant, path: usize, end: u64, bytes: u64) {
        if self.held.len() <= path {
            self.held.resize_with(path + 1, VecDeque::new);
        }
        let queue = &mut self.held[path];
        let held = Held { arrived: now, end, bytes };
        if queue.back().is_some_and(|last| last.end > end) {
            let place = queue.partition_point(|other| other.end <= end);
            queue.insert(place, held);
        } else {
            queue.push_back(held);
        }
    }

    /// A segment on `path` has filled the gap: data before stream offset `readable` waits no longer.
    pub(crate) fn release(&mut self, now: Instant, path: usize, readable: u64) {
        let mut sum: u128 = 0;
        for queue in &mut self.held {
            while let Some(&held) = queue.front().filter(|held| held.end <= readable) {
                queue.pop_front();
                let wait = now.since(held.arrived).as_nanos();
                self.waits.add_many(wait, held.bytes);
                sum += u128::from(wait) * u128::from(held.bytes);
            }
        }
        if self.waited_for.len() <= path {
            self.waited_for.resize(path + 1, 0);
        }
        self.waited_for[path] += sum;
    }

    /// Results for a connection that delivered `delivered` bytes over the paths `names`.
    pub(crate) fn outcome<'a>(
        mut self,
        delivered: u64,
        names: impl Iterator<Item = &'a str>,
    ) -> HeadOfLineOutcome {
        let (waited, sum) = self.waits.totals();
        if delivered > waited {
            self.waits.add_many(0, delivered - waited);
        }
        let share = |part: u128| if sum > 0 { part as f64 / sum as f64 } else { 0.0 };
        let sums = self.waited_for.iter().copied().chain(std::iter::repeat(0));
        HeadOfLineOutcome {
            waited_bytes: waited,
            waited_share: if delivered > 0 { waited as f64 / delivered as f64 } else { 0.0 },
            wait: self.waits.distribution(),
            waited_for: names
                .zip(sums)
                .map(|(path, sum)| WaitedFor { path: path.to_owned(), share: share(sum) })
                .collect(),
        }
    }
}

/// Head-of-line blocking of a connection. Data that still waits at the end of the run is not
/// included.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct HeadOfLineOutcome {
    /// Delivered bytes that arrived beyond a gap.
    pub waited_bytes: u64,
    /// Their share of all delivered bytes.
    pub waited_share: f64,
    /// Time from the arrival of a byte at the receiver until it is readable, over all delivered
    /// bytes; zero for bytes that arrived in order.
    #[serde(flatten)]
    pub wait: Distribution,
    /// Share of each path in the waiting time.
    pub waited_for: Vec<WaitedFor>,
}

/// Waiting time that ended when data arrived on a path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaitedFor {
    /// Name of the path that filled the gaps.
    pub path: String,
    /// Share of the waiting time over all bytes, from 0 to 1.
    pub share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_data_waits_until_the_gap_is_filled() {
        let at = Instant::from_millis;
        let mut blocking = HeadOfLine::default();
        // Path 1 brings 100..300, then the end of 300..500; path 0 fills the gaps.
        blocking.hold(at(10), 1, 200, 100);
        blocking.hold(at(12), 1, 300, 100);
        blocking.hold(at(14), 1, 500, 100);
        blocking.hold(at(15), 1, 400, 50);
        blocking.release(at(20), 0, 300);
        let outcome = blocking.clone().outcome(300, ["a", "b"].into_iter());
        assert_eq!((outcome.waited_bytes, outcome.wait.count), (200, 300));
        assert_eq!(outcome.wait.max_s, Some(0.010));
        // 100 bytes waited 10 ms, 100 waited 8 ms, and 100 did not wait.
        assert_eq!(outcome.wait.mean_s, Some(0.006));
        blocking.release(at(30), 1, 500);
        let outcome = blocking.outcome(500, ["a", "b"].into_iter());
        assert_eq!(outcome.waited_bytes, 350);
        // 1.8 byte seconds for path a; 100 bytes for 16 ms and 50 for 15 ms, for path b.
        let shares: Vec<f64> = outcome.waited_for.iter().map(|path| path.share).collect();
        assert!((shares[0] - 1.8 / 4.15).abs() < 1e-12 && (shares[0] + shares[1] - 1.0).abs() < 1e-12);
    }
}
