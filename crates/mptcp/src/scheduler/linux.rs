//! The packet scheduler of Linux 5.7 and later (`mptcp_subflow_get_send`).

use super::{Candidate, Scheduler, SchedulerContext};
use crate::PathId;

/// Headers (`MAX_TCP_HEADER`, 256) and fragment list (`skb_shared_info`, 320) beside the payload of
/// a packet buffer, in bytes.
const SEGMENT_OVERHEAD_BYTES: u64 = 576;
/// Memory of a packet buffer's descriptor (`sk_buff`), in bytes.
const DESCRIPTOR_BYTES: u64 = 256;
/// Send buffer that an empty packet buffer occupies, in bytes: measured with `ss -m` (`w` less the
/// bytes in flight, over the packet buffers in flight).
const PACKET_OVERHEAD_BYTES: f64 = 960.0;
/// Packet buffers that leave in a second at the pacing rate (`sk_pacing_shift`), if that makes them
/// at least of two segments (`tcp_min_tso_segs`) and at most of 64 KiB (`tcp_tso_autosize`).
const PACKETS_PER_SECOND: f64 = 1024.0;
const MIN_PACKET_SEGMENTS: f64 = 2.0;
/// Upper bound of a subflow's send buffer, in bytes (`net.ipv4.tcp_wmem`).
const MAX_SEND_BUFFER_BYTES: u64 = 4 << 20;
/// Pacing rate over cwnd / srtt in slow start (`tcp_pacing_ss_ratio`).
const SLOW_START_PACING_RATIO: f64 = 2.0;
/// Pacing rate over cwnd / srtt in congestion avoidance (`tcp_pacing_ca_ratio`).
const AVOIDANCE_PACING_RATIO: f64 = 1.2;
/// Bytes that go to one subflow before the next choice (`MPTCP_SEND_BURST_SIZE`): 64 KiB less the
/// longest headers.
const BURST_BYTES: u64 = 65_428;

/// Send buffer that Linux grants for each segment of the congestion window, in bytes: twice the
/// memory of a segment, a power of two and its descriptor (`tcp_sndbuf_expand`).
///
/// Measured on Linux 6.18 with CUBIC and `ss -m` (`tb`): 46,080 for a window of ten segments of
/// 1448 bytes, 1,695,744 for a largest window of 368. The buffer stays when the window shrinks.
fn send_buffer_per_segment(mss: u64) -> u64 {
    2 * ((mss + SEGMENT_OVERHEAD_BYTES).next_power_of_two() + DESCRIPTOR_BYTES)
}

/// Picks the subflow that drains its queue first: the least queued bytes over averaged pacing rate.
/// The choice holds for a burst.
///
/// The connection's send buffer is the sum of the subflows' buffers (`mptcp_propagate_sndbuf`).
///
/// Linux assigns data beyond the congestion window, as long as the subflow's send buffer has room.
/// Assigned data stays on its subflow. If that path gets slower, the data ahead of it delays the
/// rest of the stream, while other subflows have nothing left to send.
#[derive(Debug, Clone, Default)]
pub(crate) struct Linux {
    /// By path.
    subflows: Vec<SubflowState>,
    /// Subflow of the present burst, and the bytes left of it.
    burst: Option<(PathId, u64)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct SubflowState {
    /// Send buffer, in bytes; it never shrinks.
    send_buffer: u64,
    /// Pacing rate in bytes per second, averaged over the bytes sent; 0 before the first.
    pacing_rate: f64,
}

impl Linux {
    fn state(&mut self, path: PathId) -> &mut SubflowState {
        let path = path.index();
        if path >= self.subflows.len() {
            self.subflows.resize(path + 1, SubflowState::default());
        }
        &mut self.subflows[path]
    }

    /// Grows the subflow's send buffer with its window, and returns its state.
    fn update(&mut self, candidate: &Candidate) -> SubflowState {
        let state = self.state(candidate.path);
        let segments = candidate.cwnd / candidate.mss.max(1);
        let grown = segments.saturating_mul(send_buffer_per_segment(candidate.mss));
        state.send_buffer = grown.min(MAX_SEND_BUFFER_BYTES).max(state.send_buffer);
        if state.pacing_rate == 0.0 {
            state.pacing_rate = pacing_rate(candidate);
        }
        *state
    }

    /// Subflow of the present burst, if the burst goes on and the subflow may carry data.
    fn continue_burst(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let (path, left) = self.burst?;
        let i = candidates.iter().position(|candidate| candidate.path == path)?;
        let has_room = memory(&candidates[i]) < self.update(&candidates[i]).send_buffer as f64;
        (left > 0 && has_room).then_some(i)
    }
}

/// Present pacing rate of a subflow, in bytes per second (`tcp_update_pacing_rate`). A window that
/// a loss has reduced below the data in flight does not lower it at once.
fn pacing_rate(candidate: &Candidate) -> f64 {
    let slow_start = candidate.cwnd < candidate.ssthresh / 2;
    let ratio = if slow_start { SLOW_START_PACING_RATIO } else { AVOIDANCE_PACING_RATIO };
    let window = candidate.cwnd.max(candidate.in_flight).max(1);
    ratio * window as f64 / candidate.srtt.as_secs_f64().max(1e-6)
}

/// Send buffer that a subflow's data occupies (`sk_wmem_queued`), in bytes: more for data in flight
/// than for queued data, whose packet buffers are of the largest size.
fn memory(candidate: &Candidate) -> f64 {
    let mss = candidate.mss.max(1) as f64;
    let paced = libm::floor(pacing_rate(candidate) / PACKETS_PER_SECOND / mss) * mss;
    let packet = paced.min(BURST_BYTES as f64).max(MIN_PACKET_SEGMENTS * mss);
    candidate.queued as f64 + candidate.in_flight as f64 / packet * PACKET_OVERHEAD_BYTES
}

impl Scheduler for Linux {
    fn pick(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        if let Some(i) = self.continue_burst(candidates) {
            return Some(i);
        }
        self.burst = None;
        let (mut best, mut shortest) = (None, f64::INFINITY);
        for (i, candidate) in candidates.iter().enumerate() {
            let state = self.update(candidate);
            let memory = memory(candidate);
            let drain_time = memory / state.pacing_rate;
            if drain_time < shortest {
                (best, shortest) = (Some((i, memory < state.send_buffer as f64)), drain_time);
            }
        }
        let (i, has_room) = best?;
        if !has_room {
            return None;
        }
        let candidate = &candidates[i];
        let burst = BURST_BYTES.min(context.sendable);
        if burst > 0 {
            let (queued, burst) = (memory(candidate), burst as f64);
            let state = self.state(candidate.path);
            state.pacing_rate =
                (state.pacing_rate * queued + pacing_rate(candidate) * burst) / (queued + burst);
        }
        self.burst = Some((candidate.path, burst));
        Some(i)
    }

    fn on_scheduled(&mut self, path: PathId, len: u64) {
        if let Some((of, left)) = &mut self.burst
            && *of == path
        {
            *left = left.saturating_sub(len);
        }
    }

    fn write_limit(&self) -> Option<u64> {
        let sum: u64 = self.subflows.iter().map(|subflow| subflow.send_buffer).sum();
        (sum > 0).then_some(sum)
    }

    fn on_subflow_ended(&mut self, path: PathId) {
        *self.state(path) = SubflowState::default();
        self.burst = self.burst.filter(|(of, _)| *of != path);
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
        let buffer = 40 * 4608;
        assert!(has_room(40_000, buffer - 1) && !has_room(40_000, buffer));
        // A smaller window leaves the buffer as it is.
        assert!(has_room(1_000, buffer - 1) && !has_room(1_000, buffer));
        assert!(has_room(1_000_000, MAX_SEND_BUFFER_BYTES - 1));
        assert!(!has_room(1_000_000, MAX_SEND_BUFFER_BYTES));
    }

    #[test]
    fn segment_takes_twice_a_power_of_two_and_its_descriptor() {
        assert_eq!([400, 1000, 1448, 8948].map(send_buffer_per_segment), [2560, 4608, 4608, 33_280]);
    }

    #[test]
    fn application_writes_ahead_the_sum_of_the_send_buffers() {
        let mut linux = Linux::default();
        assert_eq!(linux.write_limit(), None);
        linux.pick(&[candidate(0, 20, 40_000, 0), candidate(1, 20, 20_000, 0)], &context(u64::MAX, 1 << 30));
        assert_eq!(linux.write_limit(), Some(60 * 4608));
    }

    #[test]
    fn choice_holds_for_a_burst_of_64_kib() {
        let mut linux = Linux::default();
        let context = context(u64::MAX, 1 << 30);
        let mut pick = |wifi_queued| {
            let candidates = [candidate(0, 20, 400_000, wifi_queued), candidate(1, 20, 400_000, 50_000)];
            let picked = linux.pick(&candidates, &context)?;
            linux.on_scheduled(candidates[picked].path, 1000);
            Some(picked)
        };
        assert!((0..66).all(|i| pick(i * 1000) == Some(0)));
        assert_eq!(pick(66_000), Some(1));
    }

    #[test]
    fn ended_subflow_starts_anew() {
        let mut linux = Linux::default();
        let context = context(u64::MAX, 1 << 30);
        let has_room =
            |linux: &mut Linux, cwnd| linux.pick(&[candidate(0, 20, cwnd, 100_000)], &context).is_some();
        assert!(has_room(&mut linux, 400_000) && has_room(&mut linux, 1_000));
        linux.on_subflow_ended(PathId(0));
        assert!(!has_room(&mut linux, 1_000));
    }
}
