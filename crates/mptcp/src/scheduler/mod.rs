//! Which subflow carries the next data: one scheduler a file, behind [`Scheduler`].
//!
//! A scheduler is asked once for every piece of data, and sees every subflow that may carry it:
//! established, not stale, and not a backup while another is there (RFC 8684, section 3.3.8).

mod blest;
mod ecf;
mod linux;
mod min_rtt;
mod redundant;
mod round_robin;
mod share;

use crate::PathId;
use crate::congestion::UnknownName;
use crate::rec::collector::Collector;
use blest::Blest;
use core::fmt;
use core::str::FromStr;
use ecf::Ecf;
use linux::Linux;
use min_rtt::MinRtt;
use redundant::Redundant;
use round_robin::RoundRobin;
use share::Share;
use units::{Duration, Instant};

/// The schedulers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchedulerKind {
    /// The subflow with the lowest round-trip time that has room.
    #[default]
    MinRtt,
    /// Each subflow that has room, in turn.
    RoundRobin,
    /// What Linux does: the subflow that would be the first to be done with what it has.
    Linux,
    /// An exact share of the data to each subflow.
    Share,
    /// The fastest subflow; a slower one only where that does not block the send window.
    Blest,
    /// The fastest subflow; a slower one only where all is done earlier with its help.
    Ecf,
    /// All data over every subflow.
    Redundant,
}

impl SchedulerKind {
    /// Every scheduler, in the order in which help texts list them.
    pub const ALL: [Self; 7] =
        [Self::MinRtt, Self::RoundRobin, Self::Linux, Self::Share, Self::Blest, Self::Ecf, Self::Redundant];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinRtt => "min-rtt",
            Self::RoundRobin => "round-robin",
            Self::Linux => "linux",
            Self::Share => "share",
            Self::Blest => "blest",
            Self::Ecf => "ecf",
            Self::Redundant => "redundant",
        }
    }
}

impl fmt::Display for SchedulerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SchedulerKind {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or(UnknownName)
    }
}

/// A subflow as a scheduler sees it.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// The path it runs over.
    pub path: PathId,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Its variation (RTTVAR of RFC 6298).
    pub rtt_variation: Duration,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// Congestion window, in bytes.
    pub cwnd: u64,
    /// True while below the slow-start threshold.
    pub slow_start: bool,
    /// Bytes sent and not acknowledged, and bytes dealt to it that wait for the window.
    pub queued: u64,
    /// Bytes that it could send at once.
    pub room: u64,
}

/// What is to be dealt, and where the connection stands.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// Now.
    pub now: Instant,
    /// The next piece, in bytes.
    pub len: u64,
    /// Bytes written and not dealt yet, that piece with them.
    pub unsent: u64,
    /// The connection's send window, in bytes from the first that is not acknowledged at data level:
    /// what the peer takes, or what the send buffer holds, whichever is less.
    pub window: u64,
}

/// Picks a subflow for the next piece of data.
pub trait Scheduler {
    /// An index into `candidates`, or `None` to wait. A pick without room is dealt ahead: the data
    /// waits in that subflow's own queue.
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize>;
    /// The connection's send window has no room for the next piece.
    fn blocked(&mut self) {}
    /// `len` bytes were dealt to the subflow over `path`.
    fn dealt(&mut self, path: PathId, len: u64) {
        let _ = (path, len);
    }
}

/// Whichever scheduler a connection runs, and the bounds that a policy sets to it.
#[derive(Debug, Clone)]
pub(crate) struct AnyScheduler {
    base: Base,
    bounds: Option<Share>,
}

#[derive(Debug, Clone)]
enum Base {
    MinRtt(MinRtt),
    RoundRobin(RoundRobin),
    Linux(Linux),
    Share(Share),
    Blest(Blest),
    Ecf(Ecf),
    Redundant(Redundant),
    Collector(Box<Collector>),
}

impl AnyScheduler {
    pub(crate) fn new(kind: SchedulerKind) -> Self {
        let base = match kind {
            SchedulerKind::MinRtt => Base::MinRtt(MinRtt),
            SchedulerKind::RoundRobin => Base::RoundRobin(RoundRobin::default()),
            SchedulerKind::Linux => Base::Linux(Linux::default()),
            SchedulerKind::Share => Base::Share(Share::default()),
            SchedulerKind::Blest => Base::Blest(Blest::default()),
            SchedulerKind::Ecf => Base::Ecf(Ecf::default()),
            SchedulerKind::Redundant => Base::Redundant(Redundant),
        };
        Self { base, bounds: None }
    }

    /// MPTCP-rec deals from here on.
    pub(crate) fn collect(&mut self, collector: Collector) {
        self.base = Base::Collector(Box::new(collector));
    }
    /// What `kind` says deals again.
    pub(crate) fn restore(&mut self, kind: SchedulerKind) {
        self.base = Self::new(kind).base;
    }
    /// MPTCP-rec's, if that is what deals.
    pub(crate) fn collector(&mut self) -> Option<&mut Collector> {
        if let Base::Collector(collector) = &mut self.base { Some(collector) } else { None }
    }

    /// Who gets the next data whatever the room; `None` unless the scheduler deals by shares alone.
    pub(crate) fn turn(&self, candidates: &[Candidate], len: u64) -> Option<usize> {
        match &self.base {
            Base::Share(share) => share.turn(candidates, len),
            _ => None,
        }
    }

    /// True for the lowest round-trip time, whatever was dealt before, and nothing else.
    #[inline]
    pub(crate) fn takes_the_fastest(&self) -> bool {
        matches!(self.base, Base::MinRtt(_)) && self.bounds.is_none()
    }

    /// True if every subflow is to carry all data.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.base, Base::Redundant(_))
    }

    /// True if `len` more bytes on candidate `pick` would be beyond its share, where that is a bound.
    pub(crate) fn exceeds_bound(&self, candidates: &[Candidate], pick: usize, len: u64) -> bool {
        self.bounds.as_ref().is_some_and(|bounds| bounds.exceeded(candidates, pick, len))
    }

    /// Sets shares, by path. The share scheduler deals by them exactly. For any other, a share below
    /// an equal part is an upper bound: a policy that moves load off a path never puts load on it.
    pub(crate) fn set_shares(&mut self, shares: &[f64]) {
        match &mut self.base {
            Base::Share(share) => share.set(shares),
            _ => self.bounds.get_or_insert_default().set(shares),
        }
    }
}

impl Scheduler for AnyScheduler {
    fn pick(&mut self, candidates: &[Candidate], situation: &Situation) -> Option<usize> {
        let pick = match &mut self.base {
            Base::MinRtt(s) => s.pick(candidates, situation),
            Base::RoundRobin(s) => s.pick(candidates, situation),
            Base::Linux(s) => s.pick(candidates, situation),
            Base::Share(s) => s.pick(candidates, situation),
            Base::Blest(s) => s.pick(candidates, situation),
            Base::Ecf(s) => s.pick(candidates, situation),
            Base::Redundant(s) => s.pick(candidates, situation),
            Base::Collector(s) => s.pick(candidates, situation),
        }?;
        match &self.bounds {
            Some(bounds) if bounds.exceeded(candidates, pick, situation.len) => {
                bounds.turn(candidates, situation.len)
            }
            _ => Some(pick),
        }
    }

    fn blocked(&mut self) {
        if let Base::Blest(blest) = &mut self.base {
            blest.blocked();
        }
    }

    fn dealt(&mut self, path: PathId, len: u64) {
        match &mut self.base {
            Base::RoundRobin(s) => s.dealt(path, len),
            Base::Share(s) => s.dealt(path, len),
            // These keep no account.
            Base::MinRtt(_)
            | Base::Linux(_)
            | Base::Blest(_)
            | Base::Ecf(_)
            | Base::Redundant(_)
            | Base::Collector(_) => {}
        }
        if let Some(bounds) = &mut self.bounds {
            bounds.dealt(path, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn candidate(path: u8, rtt_ms: u64, cwnd: u64, queued: u64) -> Candidate {
        Candidate {
            path: PathId(path),
            srtt: Duration::from_millis(rtt_ms),
            rtt_variation: Duration::ZERO,
            mss: 1000,
            cwnd,
            slow_start: false,
            queued,
            room: cwnd.saturating_sub(queued),
        }
    }

    /// A piece of 1000 bytes is next.
    pub(super) fn situation(window: u64, unsent: u64) -> Situation {
        Situation { now: Instant::ZERO, len: 1000, unsent, window }
    }

    /// Deals ten pieces of 1000 bytes, as far as a window of 80,000 goes, and counts what each path got.
    fn deal(scheduler: &mut AnyScheduler, mut candidates: Vec<Candidate>) -> Vec<u64> {
        for piece in 0..10 {
            let Some(i) = scheduler.pick(&candidates, &situation(80_000, 1000 * (10 - piece))) else { break };
            scheduler.dealt(candidates[i].path, 1000);
            candidates[i].queued += 1000;
            candidates[i].room = candidates[i].room.saturating_sub(1000);
        }
        candidates.iter().map(|c| c.queued).collect()
    }

    #[test]
    fn every_scheduler_through_the_same_table() {
        let wifi_lte = || vec![candidate(0, 10, 4000, 0), candidate(1, 100, 40_000, 0)];
        let table = [
            (SchedulerKind::MinRtt, wifi_lte(), vec![4000, 6000]),
            (SchedulerKind::RoundRobin, wifi_lte(), vec![4000, 6000]),
            // Both clear 400 kB/s: an equal queue is an equal wait.
            (SchedulerKind::Linux, wifi_lte(), vec![5000, 5000]),
            (SchedulerKind::Share, wifi_lte(), vec![5000, 5000]),
            // Five windows of the fast path in a round trip of the slow one are half the send window.
            (
                SchedulerKind::Blest,
                vec![candidate(0, 20, 4000, 0), candidate(1, 100, 40_000, 0)],
                vec![4000, 6000],
            ),
            (SchedulerKind::Blest, wifi_lte(), vec![4000, 0]),
            // What is left is done in 15 ms and one round trip of the fast path, or in 15 of the slow.
            (SchedulerKind::Ecf, wifi_lte(), vec![4000, 6000]),
            (SchedulerKind::Ecf, vec![candidate(0, 10, 4000, 0), candidate(1, 100, 4000, 0)], vec![4000, 0]),
            (SchedulerKind::Redundant, wifi_lte(), vec![4000, 6000]),
            (SchedulerKind::MinRtt, vec![], vec![]),
            (SchedulerKind::RoundRobin, vec![candidate(3, 1, 2000, 0)], vec![2000]),
        ];
        for (kind, candidates, expected) in table {
            assert_eq!(deal(&mut AnyScheduler::new(kind), candidates), expected, "{kind}");
        }
    }

    #[test]
    fn shares_hold_even_where_a_path_has_no_room() {
        let mut scheduler = AnyScheduler::new(SchedulerKind::Share);
        scheduler.set_shares(&[0.7, 0.3]);
        let got = deal(&mut scheduler, vec![candidate(0, 10, 1000, 0), candidate(1, 100, 40_000, 0)]);
        assert_eq!(got, [7000, 3000]);
    }

    #[test]
    fn for_another_scheduler_a_small_share_is_an_upper_bound_and_never_a_duty() {
        let roomy = |queued| vec![candidate(0, 10, 40_000, 0), candidate(1, 100, 40_000, queued)];
        // The lowest round-trip time has room for all: nothing is put on the costly path.
        let mut scheduler = AnyScheduler::new(SchedulerKind::MinRtt);
        scheduler.set_shares(&[0.7, 0.3]);
        assert_eq!(deal(&mut scheduler, roomy(0)), [10_000, 0]);
        // In turn it would get half, and gets its bound.
        let mut scheduler = AnyScheduler::new(SchedulerKind::RoundRobin);
        scheduler.set_shares(&[0.7, 0.3]);
        assert_eq!(deal(&mut scheduler, roomy(0)), [7000, 3000]);
    }

    #[test]
    fn names_read_back() {
        for kind in SchedulerKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("fastest".parse::<SchedulerKind>().is_err());
    }
}
