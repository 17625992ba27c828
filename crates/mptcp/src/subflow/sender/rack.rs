//! Loss detection by time, and probes for lost tails: RACK-TLP (RFC 8985).
//!
//! What was sent before something that has arrived, and longer ago than a round trip and a reordering
//! window, is lost. First transmissions lie in `sent` in the order of their times, so that a place
//! that only moves forward judges them; what was sent again is judged through a queue of its own. No
//! acknowledgement walks the window.

use super::recovery::Recovery;
use super::scoreboard::{DUP_THRESH, IN_RETRANSMISSION, LOST, REPEATED, SACKED};
use super::{Chunk, Sender};
use crate::congestion::CongestionControl;
use std::collections::VecDeque;
use units::{Duration, Instant};
use wire::Payload;

/// What the peer may wait with an acknowledgement (section 7.2; Linux `tcp_rto_min`: 200 ms).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// Before there is a round trip to go by (section 7.2).
const FIRST_PROBE: Duration = Duration::from_secs(1);
/// Recoveries without DSACK after which the reordering window is its first size again (section 6.2).
const PERSIST: u32 = 16;
/// What a timestamp cannot tell apart.
const CLOCK_TICK: Duration = Duration::from_millis(1);

/// What the timer is for that goes off before the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Early {
    /// What waits to be judged will have waited long enough.
    Judge,
    /// Nothing was heard of the tail.
    Probe,
}

/// A tail loss probe that is out.
#[derive(Debug, Clone, Copy)]
struct Probe {
    end: u64,
    /// It repeats what was sent before.
    again: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Rack {
    /// Of what was sent last among that which has arrived: when it was sent, and where it ends.
    at: Instant,
    end: u64,
    /// The latest round trip.
    rtt: Duration,
    /// The highest offset that has arrived, now and before the present acknowledgement.
    fack: u64,
    fack_before: u64,
    reordering: bool,
    /// Segments selectively acknowledged.
    pub(super) sacked: u32,
    /// The reordering window in quarters of the lowest round trip.
    multiple: u32,
    persist: u32,
    dsack_round: Option<u64>,
    /// What was sent again and when, oldest first; what has come of it since is in `sent`.
    repeated: VecDeque<(Instant, u64)>,
    /// Sent again, lost again, and to be sent once more.
    pub(super) again: VecDeque<u64>,
    probe: Option<Probe>,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            at: Instant::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            fack: 0,
            fack_before: 0,
            reordering: false,
            sacked: 0,
            multiple: 1,
            persist: PERSIST,
            dsack_round: None,
            repeated: VecDeque::new(),
            again: VecDeque::new(),
            probe: None,
        }
    }

    pub(super) fn begin(&mut self) {
        self.fack_before = self.fack;
    }

    /// A segment has arrived (section 6.2, steps 1 to 3).
    pub(super) fn arrived(
        &mut self,
        now: Instant,
        at: Instant,
        end: u64,
        repeated: bool,
        min_rtt: Duration,
        clock: Option<Duration>,
    ) {
        if end > self.fack {
            self.fack = end;
        } else if end < self.fack_before && !repeated {
            self.reordering = true;
        }
        let rtt = now.since(at);
        // Which of the transmissions arrived? The last only if that can be.
        if repeated && (rtt < min_rtt || clock.is_some_and(|clock| clock > rtt + CLOCK_TICK)) {
            return;
        }
        self.rtt = rtt;
        if (at, end) > (self.at, self.end) {
            (self.at, self.end) = (at, end);
        }
    }

    pub(super) fn sent_again(&mut self, now: Instant, offset: u64) {
        self.repeated.push_back((now, offset));
    }

    /// A recovery is over (section 6.2, step 4).
    pub(super) fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = 1;
        }
    }

    pub(super) fn probe_is_out(&self) -> bool {
        self.probe.is_some()
    }

    fn on_dsack(&mut self, una: u64, next: u64) {
        if self.dsack_round.is_none_or(|round| una >= round) {
            self.dsack_round = Some(next);
            self.multiple += 1;
            self.persist = PERSIST;
        }
    }

    /// Section 6.2, step 4.
    fn window(&self, in_recovery: bool, min_rtt: Duration, srtt: Duration) -> Duration {
        if !self.reordering && (in_recovery || self.sacked >= DUP_THRESH) {
            return Duration::ZERO;
        }
        (min_rtt * u64::from(self.multiple) / 4).min(srtt)
    }
}

impl<P: Payload> Sender<P> {
    /// Marks what is lost, and sets the timer for what cannot be told yet (section 6.2, step 5).
    pub(super) fn judge_by_time(&mut self, now: Instant, dsack: bool) {
        if dsack {
            self.rack.on_dsack(self.una, self.next);
        }
        let window = self.rack.window(self.recovery.is_some(), self.rtt.min(), self.rtt.srtt());
        let patience = self.rack.rtt + window;
        let latest = (self.rack.at, self.rack.end);
        let mut waits = false;
        let mut i = if self.judged <= self.una { 0 } else { self.index_of(self.judged) };
        while let Some(sent) = self.sent.get(i) {
            if sent.flags & (SACKED | LOST | REPEATED) == 0 {
                if (sent.at, sent.end()) >= latest {
                    break;
                }
                if sent.at + patience > now {
                    waits = true;
                    break;
                }
                self.mark_lost_at(i);
            }
            self.judged = self.sent[i].end();
            i += 1;
        }
        while let Some(&(at, offset)) = self.rack.repeated.front() {
            let i = self.ending_after(offset);
            let since = |flags: u8| flags & SACKED != 0 || flags & (LOST | IN_RETRANSMISSION) == LOST;
            let Some(sent) = self.sent.get(i).filter(|s| s.at == at && !since(s.flags)) else {
                self.rack.repeated.pop_front();
                continue;
            };
            if (at, sent.end()) >= latest {
                break;
            }
            if at + patience > now {
                waits = true;
                break;
            }
            self.rack.repeated.pop_front();
            self.lose_again(i);
        }
        match self.early {
            _ if waits => self.early = Some((self.rack.at + patience, Early::Judge)),
            Some((_, Early::Judge)) => self.early = None,
            _ => {}
        }
    }

    fn lose_again(&mut self, i: usize) {
        let sent = &mut self.sent[i];
        let len = u64::from(sent.len);
        if sent.is(IN_RETRANSMISSION) {
            sent.flags &= !IN_RETRANSMISSION;
            self.retransmitting -= len;
        } else {
            sent.flags |= LOST;
            self.lost += len;
        }
        self.lost_ever += len;
        self.rack.again.push_back(sent.offset);
    }

    /// What a timeout shows to be lost: the first, and what is too old (section 6.3).
    pub(super) fn judge_on_timeout(&mut self, now: Instant) {
        let window = self.rack.window(self.recovery.is_some(), self.rtt.min(), self.rtt.srtt());
        let patience = self.rack.rtt + window;
        for i in 0..self.sent.len() {
            let sent = &mut self.sent[i];
            if i > 0 && sent.at + patience > now || sent.is(SACKED) {
                continue;
            }
            let len = u64::from(sent.len);
            if sent.is(IN_RETRANSMISSION) {
                sent.flags &= !IN_RETRANSMISSION;
                self.retransmitting -= len;
                self.lost_ever += len;
            }
            self.mark_lost_at(i);
        }
        self.rack.again.clear();
    }

    /// Sets or clears the timer of the tail loss probe (section 7.2).
    pub(super) fn arm_probe(&mut self, now: Instant) {
        let rack = &self.rack;
        let wanted = self.recovery.is_none()
            && self.sacked == 0
            && rack.probe.is_none()
            && self.una > 0
            && !self.sent.is_empty();
        match self.early {
            Some((_, Early::Judge)) => return,
            _ if !wanted => {
                self.early = None;
                return;
            }
            _ => {}
        }
        let wait = match self.rtt.measured() {
            None => FIRST_PROBE,
            Some(srtt) if self.sent.len() == 1 => srtt * 2 + MAX_ACK_DELAY,
            Some(srtt) => srtt * 2,
        };
        let at = now + wait;
        self.early = Some((self.timer.map_or(at, |timer| timer.min(at)), Early::Probe));
    }

    /// No timer but the retransmission timer.
    pub(super) fn quiet(&mut self) {
        self.early = None;
        self.rack.probe = None;
        self.probe_due = false;
    }

    /// No tail loss probe.
    pub(super) fn quiet_probe(&mut self) {
        if matches!(self.early, Some((_, Early::Probe))) {
            self.early = None;
        }
        self.probe_due = false;
    }

    /// When something must happen by itself; [`Instant::MAX`] for never.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        let all = [self.timer, self.early.map(|(at, _)| at), self.release];
        all.into_iter().fold(Instant::MAX, |first, at| first.min(at.unwrap_or(Instant::MAX)))
    }

    /// Nothing is waited for any more.
    pub(crate) fn stop_timers(&mut self) {
        self.timer = None;
        self.quiet();
    }

    /// Does what is due before the retransmission timer; true if something was.
    pub(crate) fn expire(&mut self, now: Instant) -> bool {
        let released = self.release.is_some_and(|at| at <= now);
        if released {
            self.release = None;
        }
        let Some((_, early)) = self.early.filter(|&(at, _)| at <= now) else { return released };
        self.early = None;
        match early {
            Early::Judge => {
                self.judge_by_time(now, false);
                if self.recovery.is_none() && self.lost > 0 {
                    let view = self.view(now, self.flight(), None);
                    self.enter_fast(&view, 0);
                }
            }
            Early::Probe => {
                self.probe_due = true;
                self.timer = Some(now + self.rtt.rto());
            }
        }
        true
    }

    /// New data went out as a probe.
    pub(super) fn probed_with_new(&mut self) {
        self.probe_due = false;
        self.rack.probe = Some(Probe { end: self.next, again: false });
    }

    /// Sends the tail once more, where there was nothing new to probe with.
    pub(super) fn probe_tail(&mut self, now: Instant) -> Option<(u64, Chunk<P>)> {
        self.probe_due = false;
        self.rack.probe = Some(Probe { end: self.next, again: true });
        let tail = self.sent.back_mut()?;
        tail.at = now;
        tail.flags |= REPEATED;
        let answer = (tail.offset, tail.chunk.clone());
        let len = u64::from(tail.len);
        self.rack.sent_again(now, answer.0);
        self.retransmissions += 1;
        self.last_sent = now;
        self.note_copy(now, self.sent.len() - 1, len);
        Some(answer)
    }

    /// What an acknowledgement says of the probe that is out (section 7.4).
    pub(super) fn hear_of_probe(
        &mut self,
        now: Instant,
        ack: u64,
        dsack: Option<(u64, u64)>,
        duplicate: bool,
    ) {
        let Some(probe) = self.rack.probe.filter(|probe| ack >= probe.end) else { return };
        if !probe.again || dsack.is_some_and(|(_, right)| right == probe.end) || duplicate {
            // Either it was new, or both copies have arrived: nothing was lost.
            self.rack.probe = None;
        } else if ack > probe.end {
            // It repaired the only loss, which is one all the same.
            self.rack.probe = None;
            if self.recovery.is_none() {
                let view = self.view(now, self.flight(), None);
                self.algorithm.on_loss(&view, &mut self.window);
                if !self.uses.samples {
                    self.settle_window();
                }
            }
        }
    }

    /// What must hold at any time.
    pub(super) fn check_rack(&self) -> Result<(), &'static str> {
        let held = |condition: bool, what| if condition { Ok(()) } else { Err(what) };
        if !self.uses.rack {
            return held(self.early.is_none() && self.rack.repeated.is_empty(), "RACK is off and works");
        }
        let sacked = self.sent.iter().filter(|s| s.is(SACKED)).count();
        held(sacked == self.rack.sacked as usize, "sacked segments miscounted")?;
        let fresh = self.sent.iter().filter(|s| !s.is(REPEATED));
        held(fresh.map(|s| s.at).is_sorted(), "first transmissions out of order")?;
        held(self.rack.repeated.iter().map(|r| r.0).is_sorted(), "retransmissions out of order")?;
        let listed = |s: &super::scoreboard::Sent<P>| {
            self.rack.repeated.iter().any(|&(at, offset)| at == s.at && offset < s.end())
        };
        let forgotten = |s: &&super::scoreboard::Sent<P>| s.is(IN_RETRANSMISSION) && !listed(s);
        held(self.sent.iter().find(forgotten).is_none(), "a retransmission that nobody judges")?;
        let timely =
            |(at, early): (Instant, Early)| early == Early::Judge || self.timer.is_some_and(|t| at <= t);
        held(self.early.is_none_or(timely), "a probe after the retransmission timer")?;
        let in_recovery = matches!(self.recovery, Some(Recovery::Fast { .. }));
        held(!in_recovery || !matches!(self.early, Some((_, Early::Probe))), "a probe in recovery")
    }
}
