//! Write gate: delays relay writes until the subflow chosen by the kernel's scheduler can send them
//! within about one RTT.
//!
//! Linux assigns written data to subflows at once and does not move it from a slow subflow that
//! still delivers. See docs/design/write-gate.md.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use linux::socket::{self, SubflowInfo, TcpInfo};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes written before the gate queries the subflows; most responses are shorter.
const UNGATED_BYTES: u64 = 64 << 10;
/// Minimum write-ahead per subflow.
const MIN_WRITE_AHEAD_BYTES: u64 = 16 << 10;
/// A subflow's allowance is split into this many writes, none shorter than `MIN_WRITE_BYTES`.
const WRITES_PER_ALLOWANCE: u64 = 4;
const MIN_WRITE_BYTES: u64 = 4 << 10;
/// Factor on the minimum RTT, for delayed acknowledgements.
const RTT_MARGIN: f64 = 1.25;
/// Interval of subflow queries while the gate is closed.
const SUBFLOW_POLL_INTERVAL: Duration = Duration::from_millis(4);
/// Weight of the moving average of timer lateness.
const LATENESS_AVERAGE_WEIGHT: u32 = 16;
/// Cap on the lateness of one timer.
const MAX_LATENESS: Duration = Duration::from_millis(50);
/// Interval of subflow queries on a connection with a single subflow.
const SINGLE_SUBFLOW_RECHECK: Duration = Duration::from_millis(100);
/// Idle time after which a subflow counts as a backup that the scheduler does not use, in ms.
const BACKUP_IDLE_MS: u32 = 1000;
/// Longest time that the gate stays closed. It then passes `MIN_WRITE_BYTES`, the only way to
/// detect that a subflow is no longer a backup.
const MAX_HOLD: Duration = Duration::from_millis(50);

/// Decides when to continue writing to a connection.
#[derive(Debug, Default)]
pub(crate) struct WriteGate {
    state: State,
    /// Timer for subflow queries; allocated on first use, as most flows never wait.
    timer: Option<Pin<Box<Sleep>>>,
    /// Average timer lateness: about 1 ms, more on a busy host.
    lateness: Duration,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// Query the subflows before the next write.
    #[default]
    Check,
    /// Closed since that instant; the timer triggers the next query.
    Waiting(Instant),
    /// Single subflow; open until that instant.
    SingleSubflow(Instant),
    /// No MPTCP, or a kernel without `MPTCP_FULL_INFO`: always open.
    Disabled,
}

impl WriteGate {
    /// `Ready` with the number of bytes to write now; `None` is unlimited. `moved` counts earlier
    /// bytes of the connection. A zero `ahead` keeps the gate open.
    pub(super) fn poll(
        &mut self,
        to: &TcpStream,
        moved: u64,
        ahead: Duration,
        context: &mut Context<'_>,
    ) -> Poll<Option<usize>> {
        if moved < UNGATED_BYTES || ahead.is_zero() {
            return Poll::Ready(None);
        }
        loop {
            let now = Instant::now();
            match self.state {
                State::Disabled => return Poll::Ready(None),
                State::SingleSubflow(until) if now < until => return Poll::Ready(None),
                State::Waiting(_) => {
                    if let Some(timer) = &mut self.timer {
                        if timer.as_mut().poll(context).is_pending() {
                            return Poll::Pending;
                        }
                        let lateness = now.saturating_duration_since(timer.deadline());
                        self.lateness = (self.lateness * (LATENESS_AVERAGE_WEIGHT - 1)
                            + lateness.min(MAX_LATENESS))
                            / LATENESS_AVERAGE_WEIGHT;
                    }
                }
                State::Check | State::SingleSubflow(_) => {}
            }
            let Some(subflows) = socket::full_info(to).ok().filter(|subflows| !subflows.is_empty()) else {
                self.state = State::Disabled;
                return Poll::Ready(None);
            };
            if subflows.len() == 1 {
                self.state = State::SingleSubflow(now + SINGLE_SUBFLOW_RECHECK);
                return Poll::Ready(None);
            }
            let since = if let State::Waiting(since) = self.state { since } else { now };
            let allowance = write_allowance(&subflows, ahead + 2 * self.lateness);
            if allowance.is_some() || now - since >= MAX_HOLD {
                self.state = State::Check;
                return Poll::Ready(Some(allowance.unwrap_or(MIN_WRITE_BYTES) as usize));
            }
            self.state = State::Waiting(since);
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(now + SUBFLOW_POLL_INTERVAL),
                None => self.timer = Some(Box::pin(sleep_until(now + SUBFLOW_POLL_INTERVAL))),
            }
        }
    }

    /// Async form of [`Self::poll`] without a length limit.
    pub(crate) async fn wait(&mut self, to: &TcpStream, moved: u64, ahead: Duration) {
        poll_fn(|context| self.poll(to, moved, ahead, context)).await;
    }
}

/// Bytes to write now; `None` keeps the gate closed.
///
/// Linux assigns data to the subflow that would drain its queue first, by an average of its pacing
/// rate. That subflow may queue the data of the longest RTT plus `ahead`; less would idle a subflow
/// with a long RTT. The kernel updates the average at each write, so short writes adapt sooner.
fn write_allowance(subflows: &[SubflowInfo], ahead: Duration) -> Option<u64> {
    let tcp = || subflows.iter().map(|subflow| &subflow.tcp);
    if tcp().all(|tcp| outstanding_bytes(tcp) == 0) {
        return Some(MIN_WRITE_AHEAD_BYTES);
    }
    let used = || tcp().filter(|tcp| outstanding_bytes(tcp) > 0 || tcp.last_data_sent_ms < BACKUP_IDLE_MS);
    let round_trip = used().map(|tcp| tcp.min_rtt_us).max()?;
    let span = f64::from(round_trip) * 1e-6 * RTT_MARGIN + ahead.as_secs_f64();
    let until_sent = |tcp: &&TcpInfo| outstanding_bytes(tcp) as f64 / (tcp.pacing_rate.max(1) as f64);
    let next = used().min_by(|a, b| until_sent(a).total_cmp(&until_sent(b)))?;
    let max_len = ((next.pacing_rate as f64 * span) as u64).max(MIN_WRITE_AHEAD_BYTES);
    let allowance = max_len.checked_sub(outstanding_bytes(next)).filter(|&allowance| allowance > 0)?;
    Some((allowance / WRITES_PER_ALLOWANCE).max(MIN_WRITE_BYTES))
}

/// Bytes assigned to a subflow and not yet acknowledged.
const fn outstanding_bytes(tcp: &TcpInfo) -> u64 {
    tcp.not_sent as u64 + tcp.unacked as u64 * tcp.mss as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const AHEAD: Duration = Duration::from_millis(20);

    /// Subflow with a rate in Mbit/s, 40 ms RTT, unsent bytes and idle time.
    fn subflow(mbps: u64, not_sent: u32, last_data_sent_ms: u32) -> SubflowInfo {
        let pacing_rate = mbps * 125_000;
        let tcp = TcpInfo {
            pacing_rate,
            not_sent,
            last_data_sent_ms,
            min_rtt_us: 40_000,
            mss: 1000,
            ..TcpInfo::default()
        };
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        SubflowInfo { id: 1, local: address, remote: address, tcp }
    }

    #[test]
    fn allowance_covers_the_longest_rtt_plus_ahead() {
        // 70 ms at 80 Mbit/s are 700 kB; a write takes a quarter of the allowance.
        let other = subflow(8, 200_000, 0);
        assert_eq!(write_allowance(&[other, subflow(80, 300_000, 0)], AHEAD), Some(100_000));
        assert_eq!(write_allowance(&[other, subflow(80, 699_999, 0)], AHEAD), Some(MIN_WRITE_BYTES));
        assert_eq!(write_allowance(&[other, subflow(80, 700_000, 0)], AHEAD), None);
        // Bytes in flight count.
        let mut sent = subflow(80, 300_000, 0);
        sent.tcp.unacked = 400;
        assert_eq!(write_allowance(&[other, sent], AHEAD), None);
        // A longer RTT on the other subflow raises the allowance.
        let mut far = other;
        far.tcp.min_rtt_us = 80_000;
        assert_eq!(write_allowance(&[far, subflow(80, 700_000, 0)], AHEAD), Some(125_000));
    }

    #[test]
    fn gate_closes_while_the_next_subflow_has_enough() {
        // The slower subflow has space, but the faster one would drain first.
        assert_eq!(write_allowance(&[subflow(8, 71_000, 0), subflow(80, 700_000, 0)], AHEAD), None);
        assert_eq!(
            write_allowance(&[subflow(8, 60_000, 0), subflow(80, 700_000, 0)], AHEAD),
            Some(MIN_WRITE_BYTES)
        );
        // The minimum write-ahead applies to slow subflows.
        assert_eq!(
            write_allowance(&[subflow(1, 15_999, 0), subflow(1, 90_000, 0)], AHEAD),
            Some(MIN_WRITE_BYTES)
        );
    }

    #[test]
    fn backup_subflow_gets_no_allowance() {
        let weak = subflow(2, 20_000, 0);
        assert_eq!(write_allowance(&[weak, subflow(20, 0, BACKUP_IDLE_MS)], AHEAD), None, "a backup");
        assert_eq!(
            write_allowance(&[weak, subflow(20, 0, BACKUP_IDLE_MS - 1)], AHEAD),
            Some(43_750),
            "has just sent all"
        );
    }

    #[test]
    fn idle_connection_resumes() {
        assert_eq!(
            write_allowance(&[subflow(20, 0, 9000), subflow(20, 0, 9000)], AHEAD),
            Some(MIN_WRITE_AHEAD_BYTES)
        );
    }
}
