//! Plan of the reproduction's runs, and their execution.

use super::calibration::{Calibration, refit_cell};
use super::grid::{self, PlannedFamily};
use super::measure::{Measured, measure, read};
use super::model::{Mac, Stream, Variant, experiment};
use super::paper::{BEST_SHARE, Case};
use super::reproduce::{CaseResult, Options};
use super::sensitivity::{CONGESTION, PlannedChoice, SCHEDULER, WIFI_TIMING, mac_name};
use core::ops::ControlFlow;
use experiments::parallel;
use mptcp::{CongestionKind, SchedulerKind};
use policy::{Actuator, Emtcp, PolicyConfig};
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;

/// The result of each batch, and experiment and outcome of the first run of each case.
pub(super) type Results = (Vec<CaseResult>, Vec<(Experiment, Outcome)>);

/// Runs of one case that differ in their seed only.
pub(super) struct Batch {
    case: Case,
    calibration: Calibration,
    variant: Variant,
    /// Runs the seeds 1 to this.
    seeds: u64,
}

/// A row of the actuator table before its runs.
pub(super) struct PlannedActuator {
    pub(super) server: &'static str,
    pub(super) policy: PolicyConfig,
    pub(super) batch: usize,
}

/// All batches, and which of them each part of the reproduction reads, by index.
pub(super) struct Plan {
    batches: Vec<Batch>,
    pub(super) cases: Vec<usize>,
    /// Further models of cases 3 and 4, with their identifiers.
    pub(super) others: Vec<(&'static str, usize)>,
    pub(super) sweep: Vec<(f64, usize)>,
    pub(super) actuators: Vec<PlannedActuator>,
    pub(super) choices: Vec<PlannedChoice>,
    pub(super) families: Vec<PlannedFamily>,
}

/// Case 4 with two streams and Table I for each segment.
pub(super) const EMTCP_TABLE_ONE: &str = "emtcp-table1";
/// Cases 3 and 4 over the paper's transport, with its default congestion control.
const MPTCP_NS3: &str = "mptcp-ns3";
const EMTCP_TABLE_ONE_NS3: &str = "emtcp-table1-ns3";

/// Shares 0, 0.04, … 1 (Fig. 4).
fn shares() -> impl Iterator<Item = f64> {
    (0..=25).map(|step| f64::from(step) / 25.0)
}

impl Plan {
    pub(super) fn new(options: &Options, sweep_seeds: u64) -> Self {
        let mut plan = Self {
            batches: Vec::new(),
            cases: Vec::new(),
            others: Vec::new(),
            sweep: Vec::new(),
            actuators: Vec::new(),
            choices: Vec::new(),
            families: Vec::new(),
        };
        let exact = |share| Variant::share(Stream::TwoStreams, CongestionKind::Reno, share);
        plan.cases = Case::ALL
            .map(|case| match case {
                Case::Emtcp => plan.add(case, options, exact(BEST_SHARE), options.seeds),
                _ => plan.add(case, options, Variant::default(), options.seeds),
            })
            .to_vec();
        let (ns3, control) = (Stream::OneBuffer, grid::DEFAULT_CONTROL);
        let streams = Variant::share(Stream::TwoStreamsTableOne, CongestionKind::Reno, BEST_SHARE);
        plan.others = [
            (EMTCP_TABLE_ONE, Case::Emtcp, streams),
            (MPTCP_NS3, Case::Mptcp, Variant::plain(ns3, control)),
            (EMTCP_TABLE_ONE_NS3, Case::Emtcp, Variant::share(ns3, control, BEST_SHARE)),
        ]
        .map(|(id, case, variant)| (id, plan.add(case, options, variant, options.seeds)))
        .to_vec();
        plan.sweep = shares()
            .map(|share| (share, plan.add(Case::Emtcp, options, exact(share), sweep_seeds)))
            .collect();
        plan.add_actuators(options);
        plan.add_wifi_timings(options, sweep_seeds);
        plan.add_congestion_controls(options, sweep_seeds);
        plan.add_schedulers(options, sweep_seeds);
        plan.families = grid::plan([options.seeds, sweep_seeds], |case, variant, seeds| {
            plan.add(case, options, variant, seeds)
        });
        plan
    }

    /// Adds a batch with the calibration of `options` and returns its index, or that of an equal
    /// batch.
    fn add(&mut self, case: Case, options: &Options, variant: Variant, seeds: u64) -> usize {
        self.push(Batch { case, calibration: options.calibration.clone(), variant, seeds })
    }

    fn push(&mut self, batch: Batch) -> usize {
        let has_runs = |other: &Batch| {
            (other.case, &other.variant) == (batch.case, &batch.variant)
                && other.calibration == batch.calibration
                && other.seeds == batch.seeds
        };
        self.batches.iter().position(has_runs).unwrap_or_else(|| {
            self.batches.push(batch);
            self.batches.len() - 1
        })
    }

    /// Adds each actuator with the servers that it works with.
    fn add_actuators(&mut self, options: &Options) {
        let emtcp = |actuator| PolicyConfig::from(Emtcp { actuator, ..Emtcp::PAPER });
        let two = "two streams, 1 Mbit/s for each interface";
        let ns3 = "one buffer and round robin, `ns3-mptcp-2012`";
        let linux = "Linux's scheduler, unmodified";
        let row = |server, policy, batch| PlannedActuator { server, policy, batch };
        let of = |id: &str| self.others.iter().find(|other| other.0 == id).expect("planned").1;
        let [in_streams, mptcp, table_one] = [EMTCP_TABLE_ONE, MPTCP_NS3, EMTCP_TABLE_ONE_NS3].map(of);
        let streams = Variant::default();
        let one_buffer = Variant::plain(Stream::OneBuffer, grid::DEFAULT_CONTROL);
        let of_linux = Variant { scheduler: SchedulerKind::Linux, ..Variant::default() };
        self.actuators.push(row(two, PolicyConfig::default(), self.cases[Case::Mptcp as usize]));
        self.actuators.push(row(two, emtcp(Actuator::Ideal), self.cases[Case::Emtcp as usize]));
        self.actuators.push(row(two, emtcp(Actuator::TableOne), in_streams));
        self.add_actuator(options, two, &streams, emtcp(Actuator::MpPrio));
        self.actuators.push(row(ns3, PolicyConfig::default(), mptcp));
        self.actuators.push(row(ns3, emtcp(Actuator::TableOne), table_one));
        self.add_actuator(options, ns3, &one_buffer, emtcp(Actuator::MpPrio));
        self.add_actuator(options, linux, &of_linux, PolicyConfig::default());
        self.add_actuator(options, linux, &of_linux, emtcp(Actuator::MpPrio));
    }

    fn add_actuator(
        &mut self,
        options: &Options,
        server: &'static str,
        variant: &Variant,
        policy: PolicyConfig,
    ) {
        let variant = Variant { policy: Some(policy.clone()), ..variant.clone() };
        let batch = self.add(Case::Emtcp, options, variant, options.seeds);
        self.actuators.push(PlannedActuator { server, policy, batch });
    }

    /// Adds other timings of the Wi-Fi cell. Each is calibrated again, so that case 1 still has its
    /// printed throughput.
    fn add_wifi_timings(&mut self, options: &Options, seeds: u64) {
        for mac in [Mac::None, Mac::Dsss] {
            let calibration = refit_cell(&options.calibration, mac, options.jobs);
            let variant = Variant { mac, ..Variant::default() };
            let [mptcp, emtcp] = [Case::Mptcp, Case::Emtcp].map(|case| {
                let (calibration, variant) = (calibration.clone(), variant.clone());
                self.push(Batch { case, calibration, variant, seeds })
            });
            let choice = mac_name(mac).into();
            self.choices.push(PlannedChoice { group: WIFI_TIMING, choice, mptcp, emtcp: Some(emtcp) });
        }
    }

    fn add_congestion_controls(&mut self, options: &Options, seeds: u64) {
        for congestion in [CongestionKind::Cubic, CongestionKind::Lia] {
            let variant = Variant { congestion, ..Variant::default() };
            let mptcp = self.add(Case::Mptcp, options, variant.clone(), seeds);
            let emtcp = Some(self.add(Case::Emtcp, options, variant, seeds));
            let choice = congestion.name().into();
            self.choices.push(PlannedChoice { group: CONGESTION, choice, mptcp, emtcp });
        }
    }

    fn add_schedulers(&mut self, options: &Options, seeds: u64) {
        for scheduler in [SchedulerKind::RoundRobin, SchedulerKind::MinRtt, SchedulerKind::Linux] {
            let variant = Variant { scheduler, ..Variant::default() };
            let mptcp = self.add(Case::Mptcp, options, variant, seeds);
            let choice = scheduler.name().into();
            self.choices.push(PlannedChoice { group: SCHEDULER, choice, mptcp, emtcp: None });
        }
    }

    /// Runs all batches as one list, so that no core waits for the last run of a batch. Returns the
    /// result of each batch, and experiment and outcome of the first run of each case; nothing if
    /// `progress` breaks.
    pub(super) fn run(
        &self,
        jobs: NonZeroUsize,
        progress: &(dyn Fn(usize, usize) -> ControlFlow<()> + Sync),
    ) -> Option<Results> {
        let numbered = self.batches.iter().enumerate();
        let runs: Vec<(usize, u64)> =
            numbered.flat_map(|(i, batch)| (1..=batch.seeds).map(move |seed| (i, seed))).collect();
        let total = runs.len();
        let done = |done| progress(done, total);
        let outcomes = parallel::map_while(jobs, &runs, &done, |&(i, seed)| {
            let Batch { case, calibration, variant, .. } = &self.batches[i];
            let experiment = experiment(*case, calibration, variant, seed);
            if i < Case::ALL.len() && seed == 1 {
                let outcome = sim::run(&experiment);
                (read(&outcome, *case), Some((experiment, outcome)))
            } else {
                (measure(&experiment, *case), None)
            }
        })?;
        let mut by_batch: Vec<Vec<Measured>> = vec![Vec::new(); self.batches.len()];
        let mut shown = Vec::new();
        for (&(i, _), (measured, outcome)) in runs.iter().zip(outcomes) {
            by_batch[i].push(measured);
            shown.extend(outcome);
        }
        let results =
            self.batches.iter().zip(by_batch).map(|(batch, runs)| {
                CaseResult::new(batch.case, batch.variant.stream, &batch.calibration, runs)
            });
        Some((results.collect(), shown))
    }
}
