//! MPTCP-rec on a connection: the offer, what the receiver notes and reports, what the sender makes of it.
//! The parts that decide are in [`rec`](crate::rec).

use super::{Endpoint, Mode, Role};
use crate::PathId;
use crate::rec::collector::Collector;
use crate::rec::estimator::{Estimator, Packet};
use crate::rec::ranges::Ranges;
use crate::rec::state::State as Phase;
use crate::rec::{Rec, VERSION};
use crate::subflow::{Arrival, clock_at};
use units::{Duration, Instant};
use wire::{Blocks, Payload, RecOption, Report, Segment};

/// Bytes of a report with one block.
const WITH_A_BLOCK: usize = 20;
const WITHOUT: usize = 12;
const BLOCK: usize = 8;
const OPTION_SPACE: usize = 40;
/// A sender that gets so many acknowledgements without a report, over so many round trips, goes by its own
/// window again: something on the way takes the reports out.
const SILENT_ACKS: u32 = 32;
const SILENT_ROUND_TRIPS: u64 = 8;

/// What one end knows of MPTCP-rec on this connection.
#[derive(Debug, Clone)]
pub(super) struct Driving {
    settings: Rec,
    /// By path, as receiver.
    estimators: Vec<Option<Estimator>>,
    /// What this end has said that it holds.
    promised: Ranges,
    /// Data offset of what came last.
    latest: u64,
    /// By path, as sender.
    heard: Vec<Heard>,
    /// What the peer holds beyond its DATA_ACK.
    held: Ranges,
    /// The widest window that the peer has offered, in bytes.
    widest: u64,
    reports: u64,
}

/// What a sender has heard about a path.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    at: Instant,
    /// The clock of the last report about it, if there was one.
    clock: Option<u32>,
    /// Acknowledgements since then that took the subflow on.
    acks: u32,
}

/// MPTCP-rec as its owner may see it on one path: for tests, and for those who want to know what it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecInfo {
    /// Where the receiver's congestion control stands, if this end receives on the path.
    pub state: Phase,
    /// How often it entered each state, in the order of [`Phase::ALL`].
    pub entered: [u32; 7],
    /// Reports that this end has heard, on all paths.
    pub reports: u64,
    /// The path is left out by this end as sender.
    pub unused: bool,
    /// Paths left out so far, on the whole connection.
    pub removals: u64,
    /// This end sends at the rate that the peer wants.
    pub driven: bool,
    /// Bytes beyond the DATA_ACK that the peer holds for good.
    pub held: u64,
}

impl Driving {
    fn new(settings: Rec) -> Self {
        Self {
            settings,
            estimators: Vec::new(),
            promised: Ranges::default(),
            latest: 0,
            heard: Vec::new(),
            held: Ranges::default(),
            widest: 0,
            reports: 0,
        }
    }

    fn heard(&mut self, i: usize) -> &mut Heard {
        if self.heard.len() <= i {
            self.heard.resize(i + 1, Heard::default());
        }
        &mut self.heard[i]
    }
}

impl<P: Payload> Endpoint<P> {
    /// What this end puts into its SYN, or into the answer to one.
    pub(super) fn rec_offer(&self, i: usize, answer: bool) -> Option<RecOption> {
        let speaks = if answer { self.driving.is_some() } else { self.config.rec.is_some() };
        let first = !self.subflows[i].is_join() && self.mode != Mode::Tcp;
        (speaks && first).then_some(RecOption::Offer { version: VERSION })
    }

    /// The peer's SYN, or its answer, on the first subflow.
    pub(super) fn hear_offer(&mut self, segment: &Segment<P>) {
        if let Some(settings) = self.config.rec
            && segment.rec == Some(RecOption::Offer { version: VERSION })
            && self.driving.is_none()
        {
            let settings = settings.clamped();
            self.driving = Some(Box::new(Driving::new(settings)));
            if settings.path_choice {
                self.scheduler.collect(Collector::new(settings));
            }
        }
    }

    /// TCP has no place for it.
    pub(super) fn stop_driving(&mut self, now: Instant) {
        if self.driving.take().is_some() {
            if self.scheduler.collector().is_some() {
                self.scheduler.restore(self.config.scheduler);
            }
            self.subflows
                .iter_mut()
                .filter(|s| s.sender().is_receiver_driven())
                .for_each(|s| s.sender_mut().set_receiver_rate(now, None));
        }
    }

    /// Subflow `i` is up.
    pub(super) fn drive_subflow(&mut self, now: Instant, i: usize) {
        let Some(driving) = &mut self.driving else { return };
        if driving.estimators.len() <= i {
            driving.estimators.resize_with(i + 1, || None);
        }
        let handshake = self.subflows[i].sender().measured_rtt();
        driving.estimators[i] = Some(Estimator::new(driving.settings, &self.config, handshake));
        *driving.heard(i) = Heard { at: now, ..Heard::default() };
        if let Some(collector) = self.scheduler.collector() {
            collector.forget(PathId(i as u8));
        }
    }

    /// Data of `len` bytes came on subflow `i`.
    pub(super) fn note_arrival(
        &mut self,
        now: Instant,
        i: usize,
        arrival: Arrival,
        len: u64,
        segment: &Segment<P>,
    ) {
        let subflow = &mut self.subflows[i];
        let echoed = subflow.sample_receiver_rtt(now, segment);
        let Some(Some(estimator)) = self.driving.as_mut().and_then(|d| d.estimators.get_mut(i)) else {
            return;
        };
        let packet =
            Packet { bytes: len, new: arrival != Arrival::Duplicate, missing: subflow.receiver().has_gap() };
        estimator.arrived(now, packet, echoed);
        if estimator.is_due() {
            subflow.receiver_mut().request_ack();
        }
    }

    /// Data came to lie at `data` in the stream.
    #[inline]
    pub(super) fn note_place(&mut self, data: u64) {
        if let Some(driving) = &mut self.driving {
            driving.latest = data;
        }
    }

    /// When [`expire_driving`](Self::expire_driving) is due.
    pub(super) fn driving_timeout(&self) -> Option<Instant> {
        let driving = self.driving.as_ref()?;
        let open = |i: &usize| self.subflows[*i].is_established();
        let of = |i: usize| driving.estimators[i].as_ref().and_then(Estimator::next_timeout);
        (0..driving.estimators.len()).filter(open).filter_map(of).min()
    }

    pub(super) fn expire_driving(&mut self, now: Instant) {
        let Some(driving) = &mut self.driving else { return };
        for (i, estimator) in driving.estimators.iter_mut().enumerate() {
            let subflow = &mut self.subflows[i];
            if let Some(estimator) = estimator.as_mut().filter(|_| subflow.is_established()) {
                estimator.expire(now);
                if estimator.is_due() {
                    subflow.receiver_mut().request_ack();
                    self.work = true;
                }
            }
        }
    }

    /// Puts a report into an acknowledgement: the one that is due, or where there is room what is held.
    pub(super) fn add_report(&mut self, now: Instant, i: usize, segment: &mut Segment<P>) {
        let path = self.device_id(i);
        let Some(driving) = &mut self.driving else { return };
        if self.mode != Mode::Mptcp || segment.dss.is_none() {
            return;
        }
        let settings = driving.settings;
        let Some(Some(estimator)) = driving.estimators.get_mut(i) else { return };
        let tells = settings.nr_sack || settings.path_choice;
        let holds = tells && self.reorder.out_of_order() > 0;
        let due = estimator.is_due();
        let mut room = OPTION_SPACE.saturating_sub(segment.options_len());
        if due && room < if holds { WITH_A_BLOCK } else { WITHOUT } {
            // The next acknowledgement has the subflow's blocks again.
            segment.sack = wire::SackBlocks::default();
            room = OPTION_SPACE.saturating_sub(segment.options_len());
        }
        let least = if due { WITHOUT } else { WITH_A_BLOCK };
        if room < least || !(due || holds) {
            return;
        }
        let mut blocks = Blocks::default();
        if holds {
            let most = ((room - WITHOUT) / BLOCK).min(Blocks::MAX);
            let base = self.reorder.next;
            for (from, to) in self.reorder.runs_from(driving.latest).take(most) {
                let (Ok(ahead), Ok(len)) = (u32::try_from(from - base), u32::try_from(to - from)) else {
                    break;
                };
                if blocks.push(ahead, len) {
                    driving.promised.add(from, to);
                }
            }
        }
        driving.promised.trim(self.reorder.next);
        segment.rec =
            Some(RecOption::Report(Report { path, clock: clock_at(now), rate: estimator.tell(), blocks }));
    }

    /// The identifier of the device's address on subflow `i`, by which both ends know it.
    fn device_id(&self, i: usize) -> u8 {
        let subflow = &self.subflows[i];
        if self.role == Role::Client { subflow.local_id() } else { subflow.remote_id() }
    }

    /// A segment on subflow `i`, whose acknowledgements have been taken in, may hold a report.
    pub(super) fn hear_report(&mut self, now: Instant, i: usize, advanced: bool, segment: &Segment<P>) {
        if self.mode != Mode::Mptcp {
            return;
        }
        if let Some(RecOption::Report(report)) = segment.rec {
            let base = segment.dss.as_ref().and_then(|dss| self.data_ack_of(dss));
            self.on_report(now, &report, base);
        }
        let Some(driving) = &mut self.driving else { return };
        let heard = driving.heard(i);
        heard.acks += u32::from(advanced);
        let (acks, since) = (heard.acks, now.since(heard.at));
        let sender = self.subflows[i].sender_mut();
        let patience = (sender.srtt() * SILENT_ROUND_TRIPS).max(Duration::from_secs(1));
        if sender.is_receiver_driven() && acks >= SILENT_ACKS && since > patience {
            sender.set_receiver_rate(now, None);
        }
    }

    fn on_report(&mut self, now: Instant, report: &Report, base: Option<u64>) {
        let about = (0..self.subflows.len())
            .find(|&j| self.subflows[j].is_established() && self.device_id(j) == report.path);
        let sent = self.data_sent();
        let Some(driving) = &mut self.driving else { return };
        driving.reports += 1;
        let settings = driving.settings;
        if let Some(j) = about {
            let heard = driving.heard(j);
            let old = heard.clock.is_some_and(|clock| (report.clock.wrapping_sub(clock) as i32) < 0);
            if !old {
                *heard = Heard { at: now, clock: Some(report.clock), acks: 0 };
                if settings.rates && report.rate > 0 {
                    self.subflows[j].sender_mut().set_receiver_rate(now, Some(report.rate.into()));
                    self.work = true;
                }
                if let Some(collector) = self.scheduler.collector() {
                    collector.told(PathId(j as u8), report.rate);
                }
            }
        }
        let Some(base) = base else { return };
        driving.held.trim(self.data_una);
        for &(ahead, len) in report.blocks.as_slice() {
            let from = base + u64::from(ahead);
            let to = from + u64::from(len);
            // What begins at the DATA_ACK would have been acknowledged, and what was not sent is not there.
            if ahead == 0 || to > sent.min(self.data_next) || from <= self.data_una {
                continue;
            }
            if driving.held.add(from, to) && settings.nr_sack {
                self.buffer.release_within(from, to);
                self.work = true;
            }
        }
        self.observe_buffer(now);
    }

    fn observe_buffer(&mut self, now: Instant) {
        let Some(driving) = &mut self.driving else { return };
        let window = self.window_end.saturating_sub(self.data_una);
        driving.widest = driving.widest.max(window);
        let (free, all) = (window.saturating_sub(driving.held.bytes()), driving.widest);
        if self.scheduler.collector().is_none() {
            return;
        }
        let mut list = core::mem::take(&mut self.list);
        self.list_candidates(&mut list);
        if let Some(collector) = self.scheduler.collector() {
            collector.observe(now, free, all, &list);
        }
        self.list = list;
        self.work = true;
    }

    /// The end of what the peer holds for good from `data` on, if it holds that.
    #[inline]
    pub(super) fn held_there(&self, data: u64) -> Option<u64> {
        let driving = self.driving.as_ref().filter(|driving| driving.settings.nr_sack)?;
        driving.held.end_of(data)
    }

    /// Bytes beyond the DATA_ACK that were freed.
    pub(super) fn freed(&self) -> u64 {
        let freed = self.driving.as_ref().filter(|driving| driving.settings.nr_sack);
        freed.map_or(0, |driving| driving.held.bytes())
    }

    /// The DATA_ACK has moved.
    #[inline]
    pub(super) fn trim_held(&mut self) {
        if let Some(driving) = &mut self.driving {
            driving.held.trim(self.data_una);
        }
    }

    /// Both ends speak MPTCP-rec.
    pub fn speaks_rec(&self) -> bool {
        self.mode == Mode::Mptcp && self.driving.is_some()
    }

    /// MPTCP-rec on `path`; `None` where it is not spoken or the path has no subflow.
    pub fn rec(&mut self, path: PathId) -> Option<RecInfo> {
        let (unused, removals) = match self.scheduler.collector() {
            Some(collector) => (collector.is_unused(path), collector.removals()),
            None => (false, 0),
        };
        let driving = self.driving.as_ref()?;
        let estimator = driving.estimators.get(path.index())?.as_ref()?;
        Some(RecInfo {
            state: estimator.state(),
            entered: estimator.entered(),
            reports: driving.reports,
            unused,
            removals,
            driven: self.subflows[path.index()].sender().is_receiver_driven(),
            held: driving.held.bytes(),
        })
    }

    /// What was promised must be there.
    pub(super) fn check_promises(&self) -> Result<(), &'static str> {
        let Some(driving) = &self.driving else { return Ok(()) };
        let kept = |(from, to): (u64, u64)| {
            to <= self.reorder.next || self.reorder.has(from.max(self.reorder.next), to)
        };
        if driving.promised.iter().all(kept) {
            Ok(())
        } else {
            Err("discarded what was acknowledged for good")
        }
    }
}
