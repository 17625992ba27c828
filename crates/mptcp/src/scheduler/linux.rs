//! As the scheduler of Linux 5.7 and later.

use super::{Candidate, Scheduler, Situation};

/// The subflow with the least queued bytes over pacing rate: the one that would first be done.
///
/// Linux deals ahead of the congestion window, into the subflow's own send buffer, as long as that has
/// [room](BUFFER_PER_SEGMENT). What has been dealt so stays there: where a path weakens, what was meant for it before
/// holds up the rest, while others have nothing left to send. The pacing rate is the window over the round-trip time,
/// times 2 in slow start and 1.2 after (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Linux {
    /// The send buffer of the subflow over each path.
    buffers: Vec<u64>,
}

/// What a send buffer grows to for each segment of the congestion window, in bytes; it never shrinks, so that the
/// largest window there ever was counts. Measured on Linux 6.18 (`skmem` of `ss`: `tb` is 69,120 with a window of ten
/// segments of 1448 bytes, 2,764,800 where the largest was 400, and stays while the window shrinks). What is queued is
/// counted at hardly more than its length (602,304 for 598,464 bytes).
const BUFFER_PER_SEGMENT: u64 = 6912;
/// The most that it grows to, in bytes (`net.ipv4.tcp_wmem`).
const LARGEST_BUFFER: u64 = 4 << 20;

impl Linux {
    /// Seconds until the subflow has sent what it holds.
    fn linger(candidate: &Candidate) -> f64 {
        let ratio = if candidate.slow_start { 2.0 } else { 1.2 };
        let srtt = candidate.srtt.as_secs_f64().max(1e-6);
        candidate.queued as f64 * srtt / (candidate.cwnd.max(1) as f64 * ratio)
    }

    /// What the subflow may hold, now that its window is what it is.
    fn buffer(&mut self, candidate: &Candidate) -> u64 {
        let path = candidate.path.index();
        if path >= self.buffers.len() {
            self.buffers.resize(path + 1, 0);
        }
        let grown = (candidate.cwnd / candidate.mss.max(1)).saturating_mul(BUFFER_PER_SEGMENT);
        let buffer = &mut self.buffers[path];
        *buffer = grown.min(LARGEST_BUFFER).max(*buffer);
        *buffer
    }
}

impl Scheduler for Linux {
    fn pick(&mut self, candidates: &[Candidate], _situation: &Situation) -> Option<usize> {
        let (mut best, mut least, mut has_room) = (None, f64::INFINITY, false);
        for (i, candidate) in candidates.iter().enumerate() {
            let buffer = self.buffer(candidate);
            let linger = Self::linger(candidate);
            if linger < least {
                (best, least, has_room) = (Some(i), linger, candidate.queued < buffer);
            }
        }
        best.filter(|_| has_room)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, situation};
    use super::*;

    #[test]
    fn a_send_buffer_is_as_large_as_the_largest_window_made_it() {
        let mut linux = Linux::default();
        let mut holds = |cwnd: u64, queued: u64| {
            linux.pick(&[candidate(0, 20, cwnd, queued)], &situation(u64::MAX, 1 << 30)).is_some()
        };
        let buffer = 40 * BUFFER_PER_SEGMENT;
        assert!(holds(40_000, buffer - 1) && !holds(40_000, buffer));
        // The window shrinks, and what may wait for it does not.
        assert!(holds(1_000, buffer - 1) && !holds(1_000, buffer));
        assert!(holds(1_000_000, LARGEST_BUFFER - 1) && !holds(1_000_000, LARGEST_BUFFER));
    }
}
