//! What is not yet written to a connection, because no subflow would send it soon.
//!
//! Linux deals what is written to the subflows at once, into send buffers that hold several windows, and takes nothing
//! back from one that still delivers. What was dealt to a link that then weakens waits there for seconds, while a
//! better one has nothing left to send. So what is relayed is written when the subflow that is served next would have
//! sent all it has within a round trip and a little more: the scheduler then decides by what the links are now.
//! (TCP_NOTSENT_LOWAT bounds only what is dealt to none yet: Linux ignores it on the subflows of a connection.)

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use linux::socket::{self, SubflowInfo, TcpInfo};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

/// So much is written before the subflows are looked at: most answers are no longer, in bytes.
const BEGIN: u64 = 64 << 10;
/// So much a subflow takes ahead, however slow it is, in bytes.
const LEAST: u64 = 16 << 10;
/// In so many writes at least the room of a subflow is filled, none of them shorter than this in bytes.
const WRITES: u64 = 4;
const SHORTEST: u64 = 4 << 10;
/// The least round trip is taken for so much longer, for acknowledgements that are put off.
const SPARE: f64 = 1.25;
/// How often the subflows are looked at while none wants data.
const LOOK: Duration = Duration::from_millis(4);
/// How late looks are is an average over so many.
const FORGET: u32 = 16;
/// No look counts as later than this.
const LATEST: Duration = Duration::from_millis(50);
/// How often it is looked whether there are several.
const ALONE: Duration = Duration::from_millis(100);
/// A subflow without anything for so long, in milliseconds, is one that the scheduler passes over: a backup.
const PASSED_OVER: u32 = 1000;
/// So long nothing is written at most, whatever the subflows say, and then [`SHORTEST`]: nothing tells here that a backup
/// is none any more, but that it is dealt what is written.
const LONGEST: Duration = Duration::from_millis(50);

/// Says when to go on writing to a connection.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    state: State,
    /// Of the looks; made for the first, as most flows need none.
    timer: Option<Pin<Box<Sleep>>>,
    /// How late looks are lately: a millisecond, which is how fine timers are, or more where the host is busy.
    late: Duration,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// It is to be looked at.
    #[default]
    Look,
    /// Nothing is written since then, and it is looked at again when the timer rings.
    Held(Instant),
    /// There is one subflow, and no look until then.
    Alone(Instant),
    /// This is no Multipath TCP, or no kernel that tells.
    Never,
}

impl Hold {
    /// Ready with how many bytes may be written now, where that is bounded, to a connection to which `moved` were before;
    /// `ahead` is how much longer than a round trip a subflow may take to send what it has. Without any nothing is held.
    pub(super) fn poll(
        &mut self,
        to: &TcpStream,
        moved: u64,
        ahead: Duration,
        context: &mut Context<'_>,
    ) -> Poll<Option<usize>> {
        if moved < BEGIN || ahead.is_zero() {
            return Poll::Ready(None);
        }
        loop {
            let now = Instant::now();
            match self.state {
                State::Never => return Poll::Ready(None),
                State::Alone(until) if now < until => return Poll::Ready(None),
                State::Held(_) => {
                    if let Some(timer) = &mut self.timer {
                        if timer.as_mut().poll(context).is_pending() {
                            return Poll::Pending;
                        }
                        let late = now.saturating_duration_since(timer.deadline());
                        self.late = (self.late * (FORGET - 1) + late.min(LATEST)) / FORGET;
                    }
                }
                State::Look | State::Alone(_) => {}
            }
            let Some(subflows) = socket::full_info(to).ok().filter(|subflows| !subflows.is_empty()) else {
                self.state = State::Never;
                return Poll::Ready(None);
            };
            if subflows.len() == 1 {
                self.state = State::Alone(now + ALONE);
                return Poll::Ready(None);
            }
            let since = if let State::Held(since) = self.state { since } else { now };
            let room = room(&subflows, ahead + 2 * self.late);
            if room.is_some() || now - since >= LONGEST {
                self.state = State::Look;
                return Poll::Ready(Some(room.unwrap_or(SHORTEST) as usize));
            }
            self.state = State::Held(since);
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(now + LOOK),
                None => self.timer = Some(Box::pin(sleep_until(now + LOOK))),
            }
        }
    }

    /// The same, for who writes in portions.
    pub(crate) async fn wait(&mut self, to: &TcpStream, moved: u64, ahead: Duration) {
        poll_fn(|context| self.poll(to, moved, ahead, context)).await;
    }
}

/// How many bytes may be written now; `None` where that is to wait.
///
/// Linux deals to the subflow that would be the first to have sent all it has, by an average of its pacing rate. That one
/// may have what it sends in the longest of the round trips, and `ahead`: with less, a subflow of a long round trip, which is
/// dealt to when the others have as much to do, would not be kept busy. The average moves with each write, however
/// short, so writes are short: after a few Linux knows that a link is no longer what it was.
fn room(subflows: &[SubflowInfo], ahead: Duration) -> Option<u64> {
    let tcp = || subflows.iter().map(|subflow| &subflow.tcp);
    if tcp().all(|tcp| has(tcp) == 0) {
        return Some(LEAST);
    }
    let used = || tcp().filter(|tcp| has(tcp) > 0 || tcp.last_data_sent_ms < PASSED_OVER);
    let round_trip = used().map(|tcp| tcp.min_rtt_us).max()?;
    let span = f64::from(round_trip) * 1e-6 * SPARE + ahead.as_secs_f64();
    let until_sent = |tcp: &&TcpInfo| has(tcp) as f64 / (tcp.pacing_rate.max(1) as f64);
    let next = used().min_by(|a, b| until_sent(a).total_cmp(&until_sent(b)))?;
    let most = ((next.pacing_rate as f64 * span) as u64).max(LEAST);
    let room = most.checked_sub(has(next)).filter(|&room| room > 0)?;
    Some((room / WRITES).max(SHORTEST))
}

/// What a subflow has been dealt and that has not arrived, in bytes.
const fn has(tcp: &TcpInfo) -> u64 {
    tcp.not_sent as u64 + tcp.unacked as u64 * tcp.mss as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const AHEAD: Duration = Duration::from_millis(20);

    /// A subflow of so many Mbit/s and a round trip of 40 ms, with so many bytes not sent, that last sent so long ago.
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
    fn what_a_subflow_sends_in_the_longest_round_trip_and_a_little_more_is_written_for_it() {
        // 70 ms of 80 Mbit/s are 700 kB, a quarter of the room at once.
        let other = subflow(8, 200_000, 0);
        assert_eq!(room(&[other, subflow(80, 300_000, 0)], AHEAD), Some(100_000));
        assert_eq!(room(&[other, subflow(80, 699_999, 0)], AHEAD), Some(SHORTEST));
        assert_eq!(room(&[other, subflow(80, 700_000, 0)], AHEAD), None);
        // What is on its way counts.
        let mut sent = subflow(80, 300_000, 0);
        sent.tcp.unacked = 400;
        assert_eq!(room(&[other, sent], AHEAD), None);
        // With a longer round trip elsewhere, more.
        let mut far = other;
        far.tcp.min_rtt_us = 80_000;
        assert_eq!(room(&[far, subflow(80, 700_000, 0)], AHEAD), Some(125_000));
    }

    #[test]
    fn what_would_be_dealt_to_a_subflow_that_has_enough_waits() {
        // The slower one has room, but the faster one would have sent all first.
        assert_eq!(room(&[subflow(8, 71_000, 0), subflow(80, 700_000, 0)], AHEAD), None);
        assert_eq!(room(&[subflow(8, 60_000, 0), subflow(80, 700_000, 0)], AHEAD), Some(SHORTEST));
        // A little is always dealt, however slow a subflow is.
        assert_eq!(room(&[subflow(1, 15_999, 0), subflow(1, 90_000, 0)], AHEAD), Some(SHORTEST));
    }

    #[test]
    fn a_subflow_that_is_passed_over_wants_nothing() {
        let weak = subflow(2, 20_000, 0);
        assert_eq!(room(&[weak, subflow(20, 0, PASSED_OVER)], AHEAD), None, "a backup");
        assert_eq!(room(&[weak, subflow(20, 0, PASSED_OVER - 1)], AHEAD), Some(43_750), "has just sent all");
    }

    #[test]
    fn a_connection_that_has_rested_goes_on() {
        assert_eq!(room(&[subflow(20, 0, 9000), subflow(20, 0, 9000)], AHEAD), Some(LEAST));
    }
}
