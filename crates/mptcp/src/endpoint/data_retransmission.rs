//! Retransmission timer of the data level as in Linux (`mptcp_retransmit_timer`,
//! `mptcp_subflow_get_retrans`, `mptcp_pm_subflow_chk_stale`): repeats the first unacknowledged
//! data over an idle subflow, and finds stale subflows.

use super::Endpoint;
use super::timers::Timer;
use crate::PathId;
use crate::subflow::Subflow;
use units::{Duration, Instant};
use wire::Payload;

/// Bytes repeated at one expiry: a fragment of Linux's send queue (`SKB_FRAG_PAGE_ORDER`).
const FRAGMENT_BYTES: u64 = 32_768;
/// Interval without a subflow whose own timer runs (`TCP_RTO_MIN`).
const DEFAULT_INTERVAL: Duration = Duration::from_millis(200);

/// The timer's interval, and the subflows' progress between expiries.
#[derive(Debug, Clone)]
pub(super) struct DataRetransmission {
    /// Time from a start of the timer to its expiry (`timer_ival`).
    interval: Duration,
    /// The interval is to be set before data is assigned the next time.
    outdated: bool,
    /// By path index.
    progress: Vec<Progress>,
}

impl Default for DataRetransmission {
    fn default() -> Self {
        Self { interval: DEFAULT_INTERVAL, outdated: true, progress: Vec::new() }
    }
}

/// Progress of a subflow as Linux counts it (`mptcp_pm_subflow_chk_stale`).
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    /// When the subflow had last received a segment, as of the first expiry counted.
    heard: Instant,
    /// Expiries in a row with data outstanding and nothing received (`stale_count`). The first one
    /// counts even so.
    silent_expiries: u32,
}

impl DataRetransmission {
    /// Records an expiry of the timer while subflow `i` has data outstanding. Returns the number in
    /// a row without a segment received.
    fn record(&mut self, i: usize, heard: Instant) -> u32 {
        if i >= self.progress.len() {
            self.progress.resize(i + 1, Progress::default());
        }
        let progress = &mut self.progress[i];
        if progress.silent_expiries == 0 {
            *progress = Progress { heard, silent_expiries: 1 };
        } else if progress.heard == heard {
            progress.silent_expiries += 1;
        } else {
            progress.silent_expiries = 0;
        }
        progress.silent_expiries
    }

    fn silent_expiries(&self, i: usize) -> u32 {
        self.progress.get(i).map_or(0, |progress| progress.silent_expiries)
    }
}

impl<P: Payload> Endpoint<P> {
    /// Starts the timer unless it runs: data was sent.
    #[inline]
    pub(super) fn arm_data_retransmission(&mut self, now: Instant) {
        if self.config.data_retransmission && !self.timers.is_set(Timer::DataRetransmission) {
            self.restart_data_retransmission(now);
        }
    }

    /// Starts the timer anew while data is outstanding: a DATA_ACK has advanced.
    pub(super) fn restart_data_retransmission(&mut self, now: Instant) {
        if !self.config.data_retransmission {
            return;
        }
        let runs = self.handshake.is_mptcp() && !self.ended && self.data_sender.has_outstanding();
        let deadline = runs.then(|| now + self.data_retransmission.interval);
        self.timers.set_or_stop(Timer::DataRetransmission, deadline);
    }

    /// What lets Linux assign data has happened: a write, an acknowledgement, a wider window, an expiry of
    /// this timer. Other calls, such as a poll after a subflow's own timer, do not change the interval.
    #[inline]
    pub(super) fn outdate_data_retransmission(&mut self) {
        self.data_retransmission.outdated = true;
    }

    /// Sets the interval: the scheduler is about to assign data (`mptcp_subflow_get_send`). It is the
    /// longest remaining time of the subflows' own timers, without silent subflows. In Linux, a subflow
    /// has one timer for timeouts, RACK and the tail loss probe (`icsk_pending`).
    pub(super) fn set_data_retransmission_interval(&mut self, now: Instant) {
        if !self.config.data_retransmission || !core::mem::take(&mut self.data_retransmission.outdated) {
            return;
        }
        let counts = |&(i, subflow): &(usize, &Subflow<P>)| {
            subflow.is_established() && self.data_retransmission.silent_expiries(i) == 0
        };
        let subflows = self.subflows.iter().enumerate().filter(counts);
        let deadlines = subflows.filter_map(|(_, subflow)| subflow.sender().loss_deadline());
        let longest = deadlines.map(|at| at.since(now)).max();
        self.data_retransmission.interval =
            longest.filter(|time| !time.is_zero()).unwrap_or(DEFAULT_INTERVAL);
    }

    /// Handles an expiry of the timer.
    pub(super) fn on_data_retransmission(&mut self, now: Instant) {
        if !self.handshake.is_confirmed() {
            return self.restart_data_retransmission(now);
        }
        let (mut idle, mut idle_backup, mut least_silent) = (None, None, u32::MAX);
        for i in 0..self.subflows.len() {
            let subflow = &self.subflows[i];
            if !subflow.is_established() {
                continue;
            }
            if !subflow.sender().has_unsent_or_unacked() {
                if !subflow.is_stale() && subflow.carries_data() {
                    let idle = if subflow.is_backup() { &mut idle_backup } else { &mut idle };
                    idle.get_or_insert(i);
                }
                continue;
            }
            let silent = self.data_retransmission.record(i, subflow.last_heard());
            least_silent = least_silent.min(silent);
            if silent > self.config.stale_after && !subflow.is_stale() && self.has_responsive(subflow.path())
            {
                self.subflows[i].set_stale(true);
                self.reinject(i, true);
            }
        }
        // A backup only if no other subflow makes progress.
        let backup = idle_backup.filter(|_| least_silent > 1);
        // While a fallback is possible, a missing DATA_ACK may be its only sign: a repetition would enter
        // the peer's stream a second time. `repair` waits longer.
        if self.fallback.has_multipath_data()
            && let Some(i) = idle.or(backup)
            && !self.follow_fallback(now, i)
            && self.data_sender.repeat_first(&mut self.subflows[i], FRAGMENT_BYTES)
        {
            // Data offsets and subflow offsets differ from here on.
            self.fallback.set_multipath_data();
        }
        self.transmit_pending = true;
        self.outdate_data_retransmission();
        self.restart_data_retransmission(now);
    }

    /// A subflow other than that over `path` carries data, is not stale and makes progress.
    fn has_responsive(&self, path: PathId) -> bool {
        let max_silent = self.config.stale_after.saturating_sub(1).max(1);
        let is_responsive = |s: &Subflow<P>| {
            let silent = self.data_retransmission.silent_expiries(s.path().index());
            s.carries_data() && !s.is_stale() && silent < max_silent
        };
        self.subflows.iter().any(|s| s.path() != path && is_responsive(s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn received_segment_restarts_the_count() {
        let mut progress = DataRetransmission::default();
        let heard = Instant::from_secs(1);
        assert_eq!([0; 3].map(|_| progress.record(1, heard)), [1, 2, 3]);
        assert_eq!((progress.silent_expiries(1), progress.silent_expiries(0)), (3, 0));
        let later = Instant::from_secs(2);
        assert_eq!([0; 3].map(|_| progress.record(1, later)), [0, 1, 2]);
    }
}
