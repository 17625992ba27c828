//! The packet scheduler of Linux 5.7 and later (`mptcp_subflow_get_send`).

use super::{Candidate, Scheduler, SchedulerContext};

/// Send buffer that Linux grants for each segment of the congestion window, in bytes.
///
/// Measured on Linux 6.18 with `ss -m` (`tb`): 69,120 for a window of ten segments of 1448 bytes,
/// 2,764,800 for a largest window of 400. The buffer stays when the window shrinks.
const SEND_BUFFER_BYTES_PER_SEGMENT: u64 = 6912;
/// Upper bound of a subflow's send buffer, in bytes (`net.ipv4.tcp_wmem`).
const MAX_SEND_BUFFER_BYTES: u64 = 4 << 20;
/// Pacing rate over cwnd / srtt in slow start (`tcp_pacing_ss_ratio`).
const SLOW_START_PACING_RATIO: f64 = 2.0;
/// Pacing rate over cwnd / srtt in congestion avoidance (`tcp_pacing_ca_ratio`).
const AVOIDANCE_PACING_RATIO: f64 = 1.2;

/// Picks the subflow that drains its queue first: the least queued bytes over pacing rate.
///
/// Linux assigns data beyond the congestion window, as long as the subflow's send buffer has room.
/// Assigned data stays on its subflow. If that path gets slower, the data ahead of it delays the
/// rest of the stream, while other subflows have nothing left to send.
#[derive(Debug, Clone, Default)]
pub(crate) struct Linux {
    /// Send buffer of each path's subflow, in bytes; it never shrinks.
    send_buffers: Vec<u64>,
}

impl Linux {
    /// Returns a value proportional to the time until the subflow has sent its queue.
    fn drain_time(candidate: &Candidate) -> f64 {
        let ratio = if candidate.slow_start { SLOW_START_PACING_RATIO } else { AVOIDANCE_PACING_RATIO };
        let srtt = candidate.srtt.as_secs_f64().max(1e-6);
        candidate.queued as f64 * srtt / (candidate.cwnd.max(1) as f64 * ratio)
    }

    /// Grows the subflow's send buffer with its window and returns it, in bytes.
    fn grow_send_buffer(&mut self, candidate: &Candidate) -> u64 {
        let path = candidate.path.index();
        if path >= self.send_buffers.len() {
            self.send_buffers.resize(path + 1, 0);
        }
        let segments = candidate.cwnd / candidate.mss.max(1);
        let grown = segments.saturating_mul(SEND_BUFFER_BYTES_PER_SEGMENT);
        let buffer = &mut self.send_buffers[path];
        *buffer = grown.min(MAX_SEND_BUFFER_BYTES).max(*buffer);
        *buffer
    }
}

impl Scheduler for Linux {
    fn pick(&mut self, candidates: &[Candidate], _context: &SchedulerContext) -> Option<usize> {
        let (mut best, mut shortest, mut has_room) = (None, f64::INFINITY, false);
        for (i, candidate) in candidates.iter().enumerate() {
            let buffer = self.grow_send_buffer(candidate);
            let drain_time = Self::drain_time(candidate);
            if drain_time < shortest {
                (best, shortest, has_room) = (Some(i), drain_time, candidate.queued < buffer);
            }
        }
        best.filter(|_| has_room)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{candidate, context};
    use super::*;

    #[test]
    fn send_buffer_follows_the_largest_window() {
        let mut linux = Linux::default();
        let mut has_room = |cwnd: u64, queued: u64| {
            linux.pick(&[candidate(0, 20, cwnd, queued)], &context(u64::MAX, 1 << 30)).is_some()
        };
        let buffer = 40 * SEND_BUFFER_BYTES_PER_SEGMENT;
        assert!(has_room(40_000, buffer - 1) && !has_room(40_000, buffer));
        // A smaller window leaves the buffer as it is.
        assert!(has_room(1_000, buffer - 1) && !has_room(1_000, buffer));
        assert!(has_room(1_000_000, MAX_SEND_BUFFER_BYTES - 1));
        assert!(!has_room(1_000_000, MAX_SEND_BUFFER_BYTES));
    }
}
