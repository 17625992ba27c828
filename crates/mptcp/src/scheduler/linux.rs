//! As the scheduler of Linux 5.7 and later.

use super::{Candidate, Scheduler, Situation};

/// The subflow with the least queued bytes over pacing rate: the one that would first be done.
///
/// Linux deals ahead of the congestion window, into the subflow's own send queue, as long as that has
/// memory; it sizes the memory to twice the window (`sk_sndbuf` autotuning). The pacing rate is the
/// window over the round-trip time, times 2 in slow start and 1.2 after
/// (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
#[derive(Debug, Clone)]
pub(crate) struct Linux;

impl Linux {
    /// Seconds until the subflow has sent what it holds.
    fn linger(candidate: &Candidate) -> f64 {
        let ratio = if candidate.slow_start { 2.0 } else { 1.2 };
        let srtt = candidate.srtt.as_secs_f64().max(1e-6);
        candidate.queued as f64 * srtt / (candidate.cwnd.max(1) as f64 * ratio)
    }
}

impl Scheduler for Linux {
    fn pick(&mut self, candidates: &[Candidate], _situation: &Situation) -> Option<usize> {
        let (best, candidate) = candidates
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| Self::linger(a).total_cmp(&Self::linger(b)))?;
        (candidate.queued < 2 * candidate.cwnd).then_some(best)
    }
}
