//! Taking back what was done for a loss that was none: F-RTO (RFC 5682, with SACK and without), and Eifel
//! detection by timestamps (RFC 3522) or by duplicate SACK (RFC 3708).

use super::Sender;
use super::recovery::Recovery;
use super::scoreboard::{IN_RETRANSMISSION, LOST, REPEATED};
use crate::congestion::CongestionControl;
use units::{Duration, Instant};
use wire::Payload;

/// Where F-RTO stands (RFC 5682, section 3.1, and without SACK section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Frto {
    #[default]
    Off,
    /// Step 2: the first segment was sent again, and its answer is awaited.
    Repeated,
    /// Step 3: new data went out instead of more retransmissions.
    Holding,
}

/// What was before the reduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Undo {
    cwnd: u64,
    ssthresh: u64,
    /// The first retransmission for it.
    first: Option<Instant>,
    /// Nothing before was in flight: what comes twice of that was sent again for an earlier reduction.
    from: u64,
    /// Bytes sent again that may have been needed: a segment may be cut on its way, and each part come twice.
    repeats: u64,
}

impl<P: Payload> Sender<P> {
    /// Keeps the window, which is about to be reduced.
    pub(super) fn remember(&mut self) {
        if self.undoes || self.asks_frto {
            let (cwnd, ssthresh) = (self.window.cwnd, self.window.ssthresh);
            self.undo = Some(Undo { cwnd, ssthresh, first: None, from: self.una, repeats: 0 });
        }
    }

    pub(super) fn note_repeat(&mut self, now: Instant, len: u64) {
        if let Some(undo) = &mut self.undo {
            undo.first.get_or_insert(now);
            undo.repeats += len;
        }
    }

    /// Is there an answer to what was sent before the first retransmission, or have all of those been
    /// needless? `echo` is how long ago the segment was sent that was answered.
    pub(super) fn question_reduction(
        &mut self,
        now: Instant,
        echo: Option<Duration>,
        dsack: Option<(u64, u64)>,
    ) {
        let Some(undo) = &mut self.undo else { return };
        let Some(first) = undo.first.filter(|_| self.undoes) else { return };
        // In whole milliseconds, as the clock of the timestamps.
        let since = Duration::from_millis(now.as_millis() - first.as_millis());
        let mut needless = self.recovery.is_some() && echo.is_some_and(|echo| echo > since);
        if let Some((left, right)) = dsack.filter(|&(left, _)| left >= undo.from && undo.repeats > 0) {
            undo.repeats = undo.repeats.saturating_sub(right - left);
            needless |= undo.repeats == 0;
        }
        if needless {
            self.take_back_reduction();
        }
    }

    /// An acknowledgement of `delivered` bytes after a timeout (RFC 5682, sections 2.1 and 3.1); `duplicate` for
    /// one that shows without SACK that something is missing.
    pub(super) fn question_timeout(&mut self, point: u64, advanced: bool, duplicate: bool, delivered: u64) {
        match self.frto {
            Frto::Off => {}
            Frto::Repeated => {
                if duplicate {
                    self.frto = Frto::Off;
                } else if advanced && !self.sent.front().is_some_and(|first| first.is(REPEATED)) {
                    self.frto = Frto::Holding;
                    // Step 2b: two new segments.
                    self.window.cwnd = 2 * self.mss;
                }
            }
            Frto::Holding => {
                let beyond = self.una > point || self.highest_sacked > point;
                if !beyond && delivered > 0 {
                    self.take_back_reduction();
                } else {
                    self.frto = Frto::Off;
                }
            }
        }
    }

    fn take_back_reduction(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        let overtaken = self.recovery.is_none() && self.window.cwnd >= undo.cwnd;
        self.window.cwnd = self.window.cwnd.max(undo.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(undo.ssthresh);
        self.algorithm.on_undo(overtaken);
        if self.recovery.take().is_some() {
            for sent in &mut self.sent {
                sent.flags &= !(LOST | IN_RETRANSMISSION);
            }
            (self.lost, self.retransmitting) = (0, 0);
            self.judged = self.una;
            self.retransmit_from = self.una;
            self.rack.again.clear();
        }
        self.frto = Frto::Off;
        self.force = false;
    }

    /// Nothing new could be sent to find out with: the timeout counts as it is.
    pub(super) fn give_up_frto(&mut self) -> bool {
        let Some(Recovery::Timeout { point }) = self.recovery else { return false };
        let given_up = self.frto == Frto::Holding && self.next == point;
        if given_up {
            self.frto = Frto::Off;
        }
        given_up
    }
}
