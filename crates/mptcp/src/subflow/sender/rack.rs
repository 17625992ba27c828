//! RACK: loss detection by time (RFC 8985, section 6).
//!
//! A segment is lost if one sent after it has arrived and more than a round trip and a reordering
//! window have passed. First transmissions lie in the scoreboard in the order of their times and
//! retransmissions in a queue of their own, so that no acknowledgement walks the whole window.

use super::scoreboard::{DUP_THRESH, LOST, REPEATED, RETRANSMITTED, SACKED, Scoreboard, Sent};
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::Payload;

/// Recoveries without DSACK after which the reordering window returns to its first size (section
/// 6.2).
const PERSIST_RECOVERIES: u32 = 16;
/// Resolution of a timestamp.
const CLOCK_TICK: Duration = Duration::from_millis(1);

/// RACK state of one subflow.
#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// Time and end of the delivered segment that was sent last.
    newest: (Instant, u64),
    /// Latest round trip.
    rtt: Duration,
    /// Highest offset delivered, now and before the present acknowledgement.
    fack: u64,
    fack_before: u64,
    reordering_seen: bool,
    /// Reordering window, in quarters of the lowest round trip.
    multiple: u32,
    persist: u32,
    /// Next offset when the window last grew: it grows once per round trip.
    dsack_round: Option<u64>,
    /// Retransmissions by time and offset, oldest first. Entries may be outdated.
    retransmissions: VecDeque<(Instant, u64)>,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            newest: (Instant::ZERO, 0),
            rtt: Duration::ZERO,
            fack: 0,
            fack_before: 0,
            reordering_seen: false,
            multiple: 1,
            persist: PERSIST_RECOVERIES,
            dsack_round: None,
            retransmissions: VecDeque::new(),
        }
    }

    /// An acknowledgement is about to be processed.
    pub(super) fn begin_ack(&mut self) {
        self.fack_before = self.fack;
    }

    /// `sent` was delivered (section 6.2, steps 1 to 3). `clock` is the round trip by timestamps.
    pub(super) fn on_delivered<P>(
        &mut self,
        now: Instant,
        sent: &Sent<P>,
        min_rtt: Duration,
        clock: Option<Duration>,
    ) {
        let (end, repeated) = (sent.end(), sent.has(REPEATED));
        if end > self.fack {
            self.fack = end;
        } else if end < self.fack_before && !repeated {
            self.reordering_seen = true;
        }
        let rtt = now.since(sent.at);
        // Too early for an answer to the retransmission: an earlier copy was delivered.
        if repeated && (rtt < min_rtt || clock.is_some_and(|clock| clock > rtt + CLOCK_TICK)) {
            return;
        }
        self.rtt = rtt;
        self.newest = self.newest.max((sent.at, end));
    }

    pub(super) fn on_retransmission(&mut self, now: Instant, offset: u64) {
        self.retransmissions.push_back((now, offset));
    }

    /// A recovery has ended (section 6.2, step 4).
    pub(super) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// A duplicate SACK arrived: the reordering window was too small.
    pub(super) fn on_dsack(&mut self, una: u64, next: u64) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(next);
            self.multiple += 1;
            self.persist = PERSIST_RECOVERIES;
        }
    }

    /// Reordering window (section 6.2, step 4).
    fn window(&self, in_recovery: bool, sacked_segments: u32, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.reordering_seen && (in_recovery || sacked_segments >= DUP_THRESH) {
            return Duration::ZERO;
        }
        (min_rtt * u64::from(self.multiple) / 4).min(srtt)
    }

    /// Time from sending a segment until it counts as lost: a round trip and the reordering window.
    pub(super) fn patience(
        &self,
        in_recovery: bool,
        sacked_segments: u32,
        min_rtt: Duration,
        srtt: Duration,
    ) -> Duration {
        self.rtt + self.window(in_recovery, sacked_segments, min_rtt, srtt)
    }

    /// Marks lost segments (section 6.2, step 5). Returns when to check again, if segments sent
    /// before the newest delivered one are still within their `patience`.
    pub(super) fn detect_losses<P: Payload>(
        &mut self,
        now: Instant,
        scoreboard: &mut Scoreboard<P>,
        patience: Duration,
    ) -> Option<Instant> {
        let first_wait = self.detect_first_transmissions(now, scoreboard, patience);
        let again_wait = self.detect_retransmissions(now, scoreboard, patience);
        (first_wait || again_wait).then(|| self.newest.0 + patience)
    }

    /// Returns true if a segment may still prove lost.
    fn detect_first_transmissions<P: Payload>(
        &self,
        now: Instant,
        scoreboard: &mut Scoreboard<P>,
        patience: Duration,
    ) -> bool {
        let mut i = scoreboard.first_unjudged();
        while let Some(sent) = scoreboard.get(i) {
            if !sent.has(SACKED | LOST | REPEATED) {
                if (sent.at, sent.end()) >= self.newest {
                    return false;
                }
                if sent.at + patience > now {
                    return true;
                }
                scoreboard.mark_lost(i);
            }
            scoreboard.set_judged(i);
            i += 1;
        }
        false
    }

    /// Returns true if a retransmission may still prove lost.
    fn detect_retransmissions<P: Payload>(
        &mut self,
        now: Instant,
        scoreboard: &mut Scoreboard<P>,
        patience: Duration,
    ) -> bool {
        while let Some(&(at, offset)) = self.retransmissions.front() {
            let i = scoreboard.ending_after(offset);
            let settled = |sent: &Sent<P>| sent.has(SACKED) || sent.has(LOST) && !sent.has(RETRANSMITTED);
            let Some(sent) = scoreboard.get(i).filter(|sent| sent.at == at && !settled(sent)) else {
                self.retransmissions.pop_front();
                continue;
            };
            if (at, sent.end()) >= self.newest {
                return false;
            }
            if at + patience > now {
                return true;
            }
            self.retransmissions.pop_front();
            scoreboard.mark_lost_again(i);
        }
        false
    }

    pub(super) fn check_invariants<P: Payload>(
        &self,
        scoreboard: &Scoreboard<P>,
    ) -> Result<(), &'static str> {
        let ensure = |condition: bool, error| if condition { Ok(()) } else { Err(error) };
        let first = scoreboard.iter().filter(|sent| !sent.has(REPEATED)).map(|sent| sent.at);
        ensure(first.is_sorted(), "first transmissions out of order")?;
        let times = self.retransmissions.iter().map(|&(at, _)| at);
        ensure(times.is_sorted(), "retransmissions out of order")?;
        let is_listed = |sent: &Sent<P>| {
            self.retransmissions.iter().any(|&(at, offset)| at == sent.at && offset < sent.end())
        };
        let unlisted = scoreboard.iter().any(|sent| sent.has(RETRANSMITTED) && !is_listed(sent));
        ensure(!unlisted, "a retransmission that RACK does not watch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_RTT: Duration = Duration::from_millis(100);

    fn window(rack: &Rack) -> Duration {
        rack.window(false, 0, MIN_RTT, MIN_RTT * 10)
    }

    #[test]
    fn window_grows_once_per_round_and_shrinks_after_16_recoveries() {
        let mut rack = Rack::new();
        assert_eq!(window(&rack), MIN_RTT / 4);
        rack.on_dsack(10, 20);
        rack.on_dsack(15, 25);
        assert_eq!(window(&rack), MIN_RTT / 2);
        rack.on_dsack(20, 30);
        assert_eq!(window(&rack), MIN_RTT * 3 / 4);
        for _ in 0..16 {
            rack.on_recovered();
        }
        assert_eq!(window(&rack), MIN_RTT / 4);
    }

    #[test]
    fn window_is_zero_without_reordering_once_loss_is_likely() {
        let rack = Rack::new();
        assert_eq!(rack.window(true, 0, MIN_RTT, MIN_RTT), Duration::ZERO);
        assert_eq!(rack.window(false, 3, MIN_RTT, MIN_RTT), Duration::ZERO);
        let reordered = Rack { reordering_seen: true, ..Rack::new() };
        assert_eq!(reordered.window(true, 3, MIN_RTT, MIN_RTT), MIN_RTT / 4);
    }
}
