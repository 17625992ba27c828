//! MPTCP-rec on a connection: the offer, the receiver's reports, and the sender's reaction to them.
//! The algorithms are in [`rec`](crate::rec).

use super::event::Mode;
use super::{Endpoint, OPTION_SPACE, Role};
use crate::PathId;
use crate::rec::collector::Collector;
use crate::rec::estimator::{Estimator, Packet};
use crate::rec::state::State as Phase;
use crate::rec::{Rec, VERSION};
use crate::subflow::{Arrival, Subflow, clock_at};
use intervals::IntervalSet;
use units::{Duration, Instant};
use wire::{Blocks, Payload, RecOption, Report, Segment};

/// Option bytes of a report without blocks, and of each block.
const REPORT_LEN: usize = 12;
const BLOCK_LEN: usize = 8;
/// Without a report for this many acknowledgements and round trips, a sender returns to its own
/// congestion window: something on the path removes the reports.
const MAX_ACKS_WITHOUT_REPORT: u32 = 32;
const MAX_ROUND_TRIPS_WITHOUT_REPORT: u64 = 8;
const MIN_REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// State of MPTCP-rec on one connection.
#[derive(Debug, Clone)]
pub(super) struct ReceiverDriven {
    settings: Rec,
    /// By path: congestion control of the receiver.
    estimators: Vec<Option<Estimator>>,
    /// IntervalSet that this end has reported as held for good.
    promised: IntervalSet,
    /// By path: reports received by the sender.
    feedback: Vec<Feedback>,
    /// The largest send window so far, in bytes.
    max_window: u64,
    reports: u64,
}

/// Reports about one path, as counted by the sender.
#[derive(Debug, Clone, Copy, Default)]
struct Feedback {
    last_report: Instant,
    /// The receiver's clock in the last report.
    clock: Option<u32>,
    /// Acknowledgements since then that advanced the subflow.
    acks: u32,
}

/// State of MPTCP-rec on one path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecInfo {
    /// State of the receiver's congestion control, if this end receives on the path.
    pub state: Phase,
    /// Times that it entered each state, in the order of [`Phase::ALL`].
    pub entered: [u32; 7],
    /// Reports received by this end, on all paths.
    pub reports: u64,
    /// This end, as sender, does not use the path.
    pub unused: bool,
    /// Times that a path was taken out of use, on the whole connection.
    pub removals: u64,
    /// This end sends at the rate that the peer requested.
    pub driven: bool,
    /// Bytes beyond the DATA_ACK that the peer holds for good.
    pub held: u64,
}

impl ReceiverDriven {
    fn new(settings: Rec) -> Self {
        Self {
            settings,
            estimators: Vec::new(),
            promised: IntervalSet::default(),
            feedback: Vec::new(),
            max_window: 0,
            reports: 0,
        }
    }

    /// Starts with a new subflow on path `i`.
    fn start_subflow(&mut self, now: Instant, i: usize, estimator: Estimator) {
        if self.estimators.len() <= i {
            self.estimators.resize_with(i + 1, || None);
        }
        self.estimators[i] = Some(estimator);
        *self.feedback(i) = Feedback { last_report: now, ..Feedback::default() };
    }

    fn estimator(&mut self, i: usize) -> Option<&mut Estimator> {
        self.estimators.get_mut(i)?.as_mut()
    }

    fn feedback(&mut self, i: usize) -> &mut Feedback {
        if self.feedback.len() <= i {
            self.feedback.resize(i + 1, Feedback::default());
        }
        &mut self.feedback[i]
    }

    /// Records a report about path `i`. Returns false if a later one was received before.
    fn record_report(&mut self, now: Instant, i: usize, clock: u32) -> bool {
        let feedback = self.feedback(i);
        let is_old = feedback.clock.is_some_and(|last| (clock.wrapping_sub(last) as i32) < 0);
        if !is_old {
            *feedback = Feedback { last_report: now, clock: Some(clock), acks: 0 };
        }
        !is_old
    }

    /// Counts an acknowledgement on path `i`. Returns true if reports have been missing for too
    /// long.
    fn misses_reports(&mut self, now: Instant, i: usize, advanced: bool, srtt: Duration) -> bool {
        let feedback = self.feedback(i);
        feedback.acks += u32::from(advanced);
        let patience = (srtt * MAX_ROUND_TRIPS_WITHOUT_REPORT).max(MIN_REPORT_TIMEOUT);
        feedback.acks >= MAX_ACKS_WITHOUT_REPORT && now.since(feedback.last_report) > patience
    }
}

/// Negotiation and life cycle.
impl<P: Payload> Endpoint<P> {
    /// Both ends use MPTCP-rec.
    pub fn uses_rec(&self) -> bool {
        self.handshake.is_mptcp() && self.receiver_driven.is_some()
    }

    /// State of MPTCP-rec on `path`; `None` if it is not in use or the path has no subflow.
    pub fn rec_info(&mut self, path: PathId) -> Option<RecInfo> {
        let driven = self.receiver_driven.as_ref()?;
        let estimator = driven.estimators.get(path.index())?.as_ref()?;
        let (unused, removals) = match self.data_sender.collector() {
            Some(collector) => (collector.is_unused(path), collector.removals()),
            None => (false, 0),
        };
        Some(RecInfo {
            state: estimator.state(),
            entered: estimator.entered(),
            reports: driven.reports,
            unused,
            removals,
            driven: self.subflows[path.index()].sender().is_receiver_driven(),
            held: self.data_sender.peer_held_bytes(),
        })
    }

    /// The offer in a SYN, or the answer to one in a SYN/ACK.
    pub(super) fn rec_offer(&self, i: usize, answer: bool) -> Option<RecOption> {
        let offers = if answer { self.receiver_driven.is_some() } else { self.config.rec.is_some() };
        let initial = !self.subflows[i].is_join() && self.handshake.mode() != Mode::Tcp;
        (offers && initial).then_some(RecOption::Offer { version: VERSION })
    }

    /// Handles the offer in the peer's SYN or SYN/ACK on the first subflow.
    pub(super) fn negotiate_receiver_driven(&mut self, segment: &Segment<P>) {
        let offered = segment.rec == Some(RecOption::Offer { version: VERSION });
        if let Some(settings) = self.config.rec
            && offered
            && self.receiver_driven.is_none()
        {
            let settings = settings.clamped();
            self.receiver_driven = Some(Box::new(ReceiverDriven::new(settings)));
            self.data_sender.set_frees_peer_held(settings.nr_sack);
            if settings.path_choice {
                self.data_sender.use_collector(Collector::new(settings));
            }
        }
    }

    /// Starts MPTCP-rec on a subflow that was established.
    pub(super) fn start_receiver_driven(&mut self, now: Instant, i: usize) {
        let Some(driven) = &mut self.receiver_driven else { return };
        let handshake_rtt = self.subflows[i].sender().measured_rtt();
        let estimator = Estimator::new(driven.settings, &self.config, handshake_rtt);
        driven.start_subflow(now, i, estimator);
        if let Some(collector) = self.data_sender.collector() {
            collector.reset(PathId(i as u8));
        }
    }

    /// Ends MPTCP-rec: plain TCP does not have it.
    pub(super) fn stop_receiver_driven(&mut self, now: Instant) {
        if self.receiver_driven.take().is_none() {
            return;
        }
        self.data_sender.clear_peer_held();
        self.data_sender.stop_collector(&self.config);
        for subflow in self.subflows.iter_mut().filter(|s| s.sender().is_receiver_driven()) {
            subflow.sender_mut().set_receiver_rate(now, None);
        }
    }
}

/// Receiver side: estimates and reports.
impl<P: Payload> Endpoint<P> {
    /// Updates the estimate with `len` bytes of data that arrived on subflow `i`.
    #[inline(never)]
    pub(super) fn estimate_rate(&mut self, now: Instant, i: usize, arrival: Arrival, segment: &Segment<P>) {
        let Some(driven) = &mut self.receiver_driven else { return };
        let subflow = &mut self.subflows[i];
        let echoed = subflow.sample_receiver_rtt(now, segment);
        let Some(estimator) = driven.estimator(i) else { return };
        let packet = Packet {
            bytes: segment.payload.len() as u64,
            new: arrival != Arrival::Duplicate,
            missing: subflow.receiver().has_gap(),
        };
        estimator.on_packet(now, packet, echoed);
        if estimator.is_due() {
            subflow.receiver_mut().request_ack();
        }
    }

    /// When [`expire_receiver_driven`](Self::expire_receiver_driven) is due; [`Instant::MAX`] for
    /// never.
    #[inline]
    pub(super) fn receiver_driven_timeout(&self) -> Instant {
        let Some(driven) = &self.receiver_driven else { return Instant::MAX };
        let established = self.subflows.iter().map(Subflow::is_established);
        let running = driven.estimators.iter().zip(established).filter(|&(_, up)| up);
        let timeouts = running.filter_map(|(estimator, _)| estimator.as_ref()?.next_timeout());
        timeouts.min().unwrap_or(Instant::MAX)
    }

    pub(super) fn expire_receiver_driven(&mut self, now: Instant) {
        let Some(driven) = &mut self.receiver_driven else { return };
        for (estimator, subflow) in driven.estimators.iter_mut().zip(&mut self.subflows) {
            let established = subflow.is_established();
            if let Some(estimator) = estimator.as_mut().filter(|_| established) {
                estimator.expire(now);
                if estimator.is_due() {
                    subflow.receiver_mut().request_ack();
                    self.transmit_pending = true;
                }
            }
        }
    }

    /// Adds a due report to an acknowledgement, or the ranges held if they fit.
    #[inline(never)]
    pub(super) fn add_report(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        let path = self.device_address_id(i);
        let Some(driven) = &mut self.receiver_driven else { return };
        if !self.handshake.is_mptcp() || segment.dss.is_none() {
            return;
        }
        let reports_ranges = driven.settings.nr_sack || driven.settings.path_choice;
        let holds = reports_ranges && self.data_receiver.out_of_order() > 0;
        let Some(estimator) = driven.estimator(i) else { return };
        let due = estimator.is_due();
        let mut room = OPTION_SPACE.saturating_sub(segment.options_len());
        if due && room < REPORT_LEN + if holds { BLOCK_LEN } else { 0 } {
            // The next acknowledgement carries the subflow's SACK blocks again.
            segment.sack = wire::SackBlocks::default();
            room = OPTION_SPACE.saturating_sub(segment.options_len());
        }
        let needed = if due { REPORT_LEN } else { REPORT_LEN + BLOCK_LEN };
        if room < needed || !(due || holds) {
            return;
        }
        let rate = estimator.report();
        let blocks =
            if holds { self.promise_ranges((room - REPORT_LEN) / BLOCK_LEN) } else { Blocks::default() };
        if let Some(driven) = &mut self.receiver_driven {
            driven.promised.remove_below(self.data_receiver.next());
        }
        let report = Report { path, clock: clock_at(now), rate, blocks };
        segment.rec = Some(RecOption::Report(report));
    }

    /// Promises to keep up to `limit` ranges held out of order, and returns them as blocks.
    fn promise_ranges(&mut self, limit: usize) -> Blocks {
        let mut blocks = Blocks::default();
        let Some(driven) = &mut self.receiver_driven else { return blocks };
        let base = self.data_receiver.next();
        for (from, to) in self.data_receiver.out_of_order_ranges().take(limit.min(Blocks::MAX)) {
            let (Ok(ahead), Ok(len)) = (u32::try_from(from - base), u32::try_from(to - from)) else {
                break;
            };
            if blocks.push(ahead, len) {
                driven.promised.insert(from, to);
            }
        }
        blocks
    }

    /// Identifier of the device's address on subflow `i`, which both ends know.
    fn device_address_id(&self, i: usize) -> u8 {
        let subflow = &self.subflows[i];
        if self.role == Role::Client { subflow.local_id() } else { subflow.remote_id() }
    }

    /// Checks that all promised ranges are held, for tests.
    pub(super) fn check_promises(&self) -> Result<(), &'static str> {
        let Some(driven) = &self.receiver_driven else { return Ok(()) };
        if driven.promised.iter().all(|(from, to)| self.data_receiver.has(from, to)) {
            Ok(())
        } else {
            Err("discarded data that was reported as held for good")
        }
    }
}

/// Sender side: reaction to reports.
impl<P: Payload> Endpoint<P> {
    /// Handles the report in a segment on subflow `i`, after its acknowledgement.
    #[inline(never)]
    pub(super) fn process_report(&mut self, now: Instant, i: usize, advanced: bool, segment: &Segment<P>) {
        if !self.handshake.is_mptcp() {
            return;
        }
        if let Some(RecOption::Report(report)) = segment.rec {
            let base = segment.dss.as_ref().and_then(|dss| self.data_ack_of(dss));
            self.on_report(now, &report, base);
        }
        let Some(driven) = &mut self.receiver_driven else { return };
        let sender = self.subflows[i].sender_mut();
        let misses_reports = driven.misses_reports(now, i, advanced, sender.srtt());
        if sender.is_receiver_driven() && misses_reports {
            sender.set_receiver_rate(now, None);
        }
    }

    fn on_report(&mut self, now: Instant, report: &Report, base: Option<u64>) {
        let about = (0..self.subflows.len()).find(|&i| {
            let established = self.subflows[i].is_established();
            established && self.device_address_id(i) == report.path
        });
        let Some(driven) = &mut self.receiver_driven else { return };
        driven.reports += 1;
        if let Some(i) = about
            && driven.record_report(now, i, report.clock)
        {
            if driven.settings.rates && report.rate > 0 {
                self.subflows[i].sender_mut().set_receiver_rate(now, Some(report.rate.into()));
                self.transmit_pending = true;
            }
            if let Some(collector) = self.data_sender.collector() {
                collector.set_rate(PathId(i as u8), report.rate);
            }
        }
        let Some(base) = base else { return };
        self.data_sender.trim_peer_held();
        for &(ahead, len) in report.blocks.as_slice() {
            self.transmit_pending |= self.data_sender.record_peer_held(base, ahead, len);
        }
        driven.max_window = driven.max_window.max(self.data_sender.window());
        let total = driven.max_window;
        self.transmit_pending |= self.data_sender.observe_peer_buffer(now, total, &self.subflows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_report_is_ignored() {
        let mut driven = ReceiverDriven::new(Rec::default());
        assert!(driven.record_report(Instant::ZERO, 1, u32::MAX));
        assert!(driven.record_report(Instant::ZERO, 1, 3), "the clock has wrapped");
        assert!(!driven.record_report(Instant::ZERO, 1, 2));
    }

    #[test]
    fn reports_are_missed_after_acknowledgements_and_time() {
        let mut driven = ReceiverDriven::new(Rec::default());
        driven.record_report(Instant::ZERO, 0, 1);
        let rtt = Duration::from_millis(10);
        for _ in 0..MAX_ACKS_WITHOUT_REPORT {
            assert!(!driven.misses_reports(Instant::from_millis(900), 0, true, rtt));
        }
        assert!(!driven.misses_reports(Instant::from_secs(1), 0, true, rtt));
        assert!(driven.misses_reports(Instant::from_millis(1001), 0, true, rtt));
        driven.record_report(Instant::from_millis(1001), 0, 2);
        assert!(!driven.misses_reports(Instant::from_secs(9), 0, true, rtt));
    }
}
