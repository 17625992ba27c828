//! The packet scheduler of Linux 5.7 and later (`mptcp_subflow_get_send`).

use super::{Candidate, Scheduler, SchedulerContext};
use crate::PathId;
use units::Instant;

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
/// Data in a fragment of the connection's send queue (`mptcp_data_frag`), in bytes: 32 KiB less its
/// descriptor. Measured on Linux 6.18: nearly all bursts end at a multiple of it or at the window's edge.
const FRAGMENT_BYTES: u64 = 32_728;

/// Send buffer that Linux grants for each segment of the congestion window, in bytes: twice the
/// memory of a segment, a power of two and its descriptor (`tcp_sndbuf_expand`).
///
/// Measured on Linux 6.18 with CUBIC and `ss -m` (`tb`): 46,080 for a window of ten segments of
/// 1448 bytes, 1,695,744 for a largest window of 368. The buffer stays when the window shrinks.
fn send_buffer_per_segment(mss: u64) -> u64 {
    2 * ((mss + SEGMENT_OVERHEAD_BYTES).next_power_of_two() + DESCRIPTOR_BYTES)
}

/// Picks the subflow that drains its queue first: the least queued bytes over averaged pacing rate.
/// The choice holds for a burst of whole fragments, or until the data or the window ends.
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
    burst: Option<Burst>,
    /// Bytes of the stream assigned to subflows.
    scheduled: u64,
}

/// Whole fragments that are assigned to one subflow at one instant (`__subflow_push_pending`).
#[derive(Debug, Clone, Copy)]
struct Burst {
    path: PathId,
    at: Instant,
    /// Bytes of the stream before the end of the burst.
    end: u64,
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

    /// Candidate of the present burst, if the burst goes on. A full send buffer ends it with the
    /// fragment.
    fn continue_burst(&mut self, candidates: &[Candidate], context: &SchedulerContext) -> Option<usize> {
        let mut burst = self.burst.filter(|burst| burst.at == context.now && self.scheduled < burst.end)?;
        let i = candidates.iter().position(|candidate| candidate.path == burst.path)?;
        if memory(&candidates[i]) >= self.update(&candidates[i]).send_buffer as f64 {
            // With one subflow, the send buffer bounds each segment, as in plain TCP.
            if candidates.len() == 1 {
                return None;
            }
            let fragment_end = end_of_fragment(self.scheduled + 1);
            if self.scheduled + context.len >= fragment_end {
                burst.end = fragment_end;
            }
        }
        self.burst = Some(burst);
        Some(i)
    }

    /// Candidate that drains its queue first, if its send buffer has room.
    fn choose(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let (mut best, mut shortest) = (None, f64::INFINITY);
        for (i, candidate) in candidates.iter().enumerate() {
            let state = self.update(candidate);
            let memory = memory(candidate);
            let drain_time = memory / state.pacing_rate;
            if drain_time < shortest {
                (best, shortest) = (Some((i, memory < state.send_buffer as f64)), drain_time);
            }
        }
        best.filter(|&(_, has_room)| has_room).map(|(i, _)| i)
    }

    /// Begins a burst after `start` bytes of the stream.
    fn begin_burst(&mut self, candidate: &Candidate, context: &SchedulerContext, start: u64) {
        let bytes = BURST_BYTES.min(context.sendable.saturating_sub(start - self.scheduled));
        if bytes > 0 {
            let (queued, bytes) = (memory(candidate), bytes as f64);
            let state = self.state(candidate.path);
            state.pacing_rate =
                (state.pacing_rate * queued + pacing_rate(candidate) * bytes) / (queued + bytes);
        }
        let end = end_of_fragment(start + bytes.max(1));
        self.burst = Some(Burst { path: candidate.path, at: context.now, end });
    }
}

/// Position in the stream at which the fragment of its byte number `bytes` ends.
fn end_of_fragment(bytes: u64) -> u64 {
    bytes.next_multiple_of(FRAGMENT_BYTES)
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
        let continued = self.continue_burst(candidates, context);
        let end = self.burst.map_or(0, |burst| burst.end);
        if continued.is_some() && self.scheduled + context.len <= end {
            return continued;
        }
        let chosen = self.choose(candidates);
        // A chunk that crosses the end of the burst is cut there, unless the subflow is chosen again.
        if continued.is_some() && continued != chosen {
            return continued;
        }
        self.burst = None;
        let i = chosen?;
        self.begin_burst(&candidates[i], context, if continued.is_some() { end } else { self.scheduled });
        Some(i)
    }

    fn on_scheduled(&mut self, _path: PathId, len: u64) {
        self.scheduled += len;
    }

    fn chunk_limit(&self) -> u64 {
        self.burst.map_or(u64::MAX, |burst| burst.end.saturating_sub(self.scheduled))
    }

    fn write_limit(&self) -> Option<u64> {
        let sum: u64 = self.subflows.iter().map(|subflow| subflow.send_buffer).sum();
        (sum > 0).then_some(sum)
    }

    fn on_subflow_ended(&mut self, path: PathId) {
        *self.state(path) = SubflowState::default();
        self.burst = self.burst.filter(|burst| burst.path != path);
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

    /// Assigns the next piece of a stream; the first subflow has `queued` bytes, the second 50,000.
    fn assign(linux: &mut Linux, queued: u64, context: &SchedulerContext) -> Option<(usize, u64)> {
        let candidates = [candidate(0, 20, 400_000, queued), candidate(1, 20, 400_000, 50_000)];
        let picked = linux.pick(&candidates, context)?;
        let len = context.len.min(linux.chunk_limit());
        linux.on_scheduled(candidates[picked].path, len);
        Some((picked, len))
    }

    #[test]
    fn choice_holds_for_two_fragments() {
        let mut linux = Linux::default();
        let context = context(u64::MAX, 1 << 30);
        assert!((0..65).all(|i| assign(&mut linux, i * 1000, &context) == Some((0, 1000))));
        assert_eq!(assign(&mut linux, 65_000, &context), Some((0, 2 * FRAGMENT_BYTES - 65_000)));
        assert_eq!(assign(&mut linux, 65_456, &context), Some((1, 1000)));
    }

    #[test]
    fn piece_is_whole_if_the_same_subflow_is_chosen_again() {
        let mut linux = Linux::default();
        let context = context(u64::MAX, 1 << 30);
        assert!((0..1000).all(|_| assign(&mut linux, 0, &context) == Some((0, 1000))));
    }

    #[test]
    fn later_data_is_a_new_choice() {
        let mut linux = Linux::default();
        let mut context = context(u64::MAX, 1 << 30);
        assert_eq!(assign(&mut linux, 0, &context), Some((0, 1000)));
        assert_eq!(assign(&mut linux, 60_000, &context), Some((0, 1000)), "the burst goes on");
        context.now = Instant::from_secs(1);
        assert_eq!(assign(&mut linux, 60_000, &context), Some((1, 1000)));
    }

    #[test]
    fn full_send_buffer_ends_the_burst_with_the_fragment() {
        let mut linux = Linux::default();
        let context = context(u64::MAX, 1 << 30);
        let full = 400 * 4608;
        assert_eq!(assign(&mut linux, 0, &context), Some((0, 1000)));
        assert!((1..32).all(|_| assign(&mut linux, full, &context) == Some((0, 1000))));
        assert_eq!(assign(&mut linux, full, &context), Some((0, FRAGMENT_BYTES - 32_000)));
        assert_eq!(assign(&mut linux, full, &context), Some((1, 1000)));
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
