//! Plans and runs the simulations of the reproduction: cases, sweep, actuators, alternatives.

use super::calibration::{BASE_SHARE, Calibration, refit_cell, split_power};
use super::measure::{Measured, measure, psnr_of, read};
use super::model::{Mac, Variant, experiment};
use super::paper::{BATTERY_J, Case};
use experiments::parallel;
use experiments::stats::{estimate, mean};
use mptcp::{CongestionKind, SchedulerKind};
use policy::{Actuator, Emtcp, PolicyConfig};
use qoe::Level;
use report::Estimate;
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::Power;

/// Size and parameters of the reproduction.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of seeds of each case, from seed 1.
    pub seeds: u64,
    /// Number of runs at once.
    pub jobs: NonZeroUsize,
    /// The fitted parameters.
    pub calibration: Calibration,
}

/// Means of one case over its seeds.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// The test case.
    pub case: Case,
    /// The runs, in the order of their seeds.
    pub runs: Vec<Measured>,
    /// Goodput of the application, in Mbit/s.
    pub throughput_mbps: Estimate,
    /// Energy rate under the paper's power profiles, in W.
    pub energy_rate_w: Estimate,
    /// Energy rate under the measured power profiles, in W.
    pub measured_rate_w: Estimate,
    /// Mean PSNR over intervals, in dB.
    pub psnr_db: Estimate,
    /// Standard deviation of the PSNR over intervals, in dB.
    pub psnr_sd_db: Estimate,
    /// Life of the paper's battery, in seconds.
    pub lifespan_s: Estimate,
    /// Payload over Wi-Fi, in Mbit/s.
    pub wifi_mbps: Estimate,
    /// Payload over LTE, in Mbit/s.
    pub lte_mbps: Estimate,
    /// Quality level of the mean PSNR (Table III).
    pub quality: Level,
    /// Mean number of changes of a priority or share by the policy.
    pub policy_changes: f64,
}

impl CaseResult {
    pub(super) fn new(case: Case, calibration: &Calibration, runs: Vec<Measured>) -> Self {
        let over = |figure: &dyn Fn(&Measured) -> f64| estimate(&runs.iter().map(figure).collect::<Vec<_>>());
        let psnr = |m: &Measured| {
            psnr_of(case, &m.goodput_mbps, calibration.psnr_interval_s, calibration.psnr_clamp_db)
        };
        let psnr_db = over(&|m| psnr(m).0);
        Self {
            case,
            throughput_mbps: over(&|m| m.throughput_mbps),
            energy_rate_w: over(&|m| m.energy_rate_w),
            measured_rate_w: over(&|m| m.measured_rate_w),
            psnr_db,
            psnr_sd_db: over(&|m| psnr(m).1),
            lifespan_s: over(&|m| BATTERY_J / m.energy_rate_w),
            wifi_mbps: over(&|m| m.wifi_mbps),
            lte_mbps: over(&|m| m.lte_mbps),
            quality: Level::of(psnr_db.mean),
            policy_changes: mean(&runs.iter().map(|m| m.policy_changes as f64).collect::<Vec<_>>()),
            runs,
        }
    }

    /// Energy efficiency, in Mbit per joule.
    pub fn efficiency(&self) -> Estimate {
        estimate(&self.runs.iter().map(|m| m.throughput_mbps / m.energy_rate_w).collect::<Vec<_>>())
    }
}

/// One offload share of the sweep.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    /// Offload share, from 0 to 1.
    pub share: f64,
    /// Means of its runs.
    pub result: CaseResult,
}

/// The multipath cases under one choice of a parameter that the paper does not give.
#[derive(Debug, Clone)]
pub struct Sensitivity {
    /// The parameter.
    pub group: &'static str,
    /// Its value.
    pub choice: String,
    /// Whether the reproduction uses this value.
    pub chosen: bool,
    /// Throughput in Mbit/s and energy rate in W of case 3.
    pub mptcp: (f64, f64),
    /// Throughput in Mbit/s and energy rate in W of case 4; NaN where the choice does not change
    /// it.
    pub emtcp: (f64, f64),
    /// The most efficient share of the sweep; `None` without a sweep.
    pub best_share: Option<f64>,
}

/// An actuator of the offload share with one kind of server.
#[derive(Debug, Clone)]
pub struct ActuatorResult {
    /// How the server divides data over paths by itself.
    pub server: &'static str,
    /// The policy's name.
    pub policy: String,
    /// Means of its runs.
    pub result: CaseResult,
}

/// The whole reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Number of seeds of each case.
    pub seeds: u64,
    /// Number of seeds of each share of the sweep and of each alternative.
    pub sweep_seeds: u64,
    /// The fitted parameters.
    pub calibration: Calibration,
    /// The four cases.
    pub cases: Vec<CaseResult>,
    /// Offload shares 0 to 1 in steps of 0.04.
    pub sweep: Vec<SweepPoint>,
    /// The ideal actuator and `mp-prio`.
    pub actuators: Vec<ActuatorResult>,
    /// Choices of parameters that the paper does not give.
    pub sensitivity: Vec<Sensitivity>,
    /// First run of each case, for its timeline.
    pub shown: Vec<(Experiment, Outcome)>,
}

/// Runs of one case that differ in their seed only.
struct Batch {
    case: Case,
    calibration: Calibration,
    variant: Variant,
    /// Runs the seeds 1 to this.
    seeds: u64,
}

/// A row of the actuator table before its runs.
struct PlannedActuator {
    server: &'static str,
    policy: PolicyConfig,
    batch: usize,
}

/// A row of the sensitivity table before its runs.
struct PlannedChoice {
    group: &'static str,
    choice: String,
    mptcp: usize,
    /// `None` where the choice does not change case 4.
    emtcp: Option<usize>,
}

/// All batches, and which of them each part of the reproduction reads, by index.
struct Plan {
    batches: Vec<Batch>,
    cases: Vec<usize>,
    sweep: Vec<(f64, usize)>,
    actuators: Vec<PlannedActuator>,
    choices: Vec<PlannedChoice>,
}

const WIFI_TIMING: &str = "Wi-Fi timing";
const CONGESTION: &str = "Congestion control";
const SCHEDULER: &str = "Scheduler of plain MPTCP";
const BASE_SHARE_GROUP: &str = "Base share of power";
/// Groups of the sensitivity table in the order of its rows.
const CHOICE_GROUPS: [&str; 4] = [BASE_SHARE_GROUP, WIFI_TIMING, CONGESTION, SCHEDULER];

/// Runs everything; `progress` receives the number of finished runs and of all runs.
pub fn reproduce(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Reproduction {
    let sweep_seeds = reduced_seeds(options.seeds);
    let plan = Plan::new(options, sweep_seeds);
    let (results, shown) = plan.run(options.jobs, progress);

    let result = |batch: usize| results[batch].clone();
    let cases: Vec<CaseResult> = plan.cases.iter().map(|&batch| result(batch)).collect();
    let sweep: Vec<SweepPoint> =
        plan.sweep.iter().map(|&(share, batch)| SweepPoint { share, result: result(batch) }).collect();
    let actuators = plan.actuators.iter().map(|row| ActuatorResult {
        server: row.server,
        policy: row.policy.to_string(),
        result: result(row.batch),
    });
    Reproduction {
        seeds: options.seeds,
        sweep_seeds,
        calibration: options.calibration.clone(),
        actuators: actuators.collect(),
        sensitivity: sensitivity(&plan.choices, &results, &cases, &sweep),
        sweep,
        shown,
        cases,
    }
}

/// Shares 0, 0.04, … 1 (Fig. 4).
fn shares() -> impl Iterator<Item = f64> {
    (0..=25).map(|step| f64::from(step) / 25.0)
}

/// Seeds of a sweep point or a variant when each case runs `seeds` of them.
fn reduced_seeds(seeds: u64) -> u64 {
    (seeds / 3).max(seeds.min(10))
}

impl Plan {
    fn new(options: &Options, sweep_seeds: u64) -> Self {
        let mut plan = Self {
            batches: Vec::new(),
            cases: Vec::new(),
            sweep: Vec::new(),
            actuators: Vec::new(),
            choices: Vec::new(),
        };
        plan.cases =
            Case::ALL.map(|case| plan.add(case, options, Variant::default(), options.seeds)).to_vec();
        plan.sweep = shares()
            .map(|share| (share, plan.add(Case::Emtcp, options, Variant::share(share), sweep_seeds)))
            .collect();
        plan.add_actuators(options);
        plan.add_wifi_timings(options, sweep_seeds);
        plan.add_congestion_controls(options, sweep_seeds);
        plan.add_schedulers(options, sweep_seeds);
        plan
    }

    /// Adds a batch with the calibration of `options` and returns its index.
    fn add(&mut self, case: Case, options: &Options, variant: Variant, seeds: u64) -> usize {
        self.push(Batch { case, calibration: options.calibration.clone(), variant, seeds })
    }

    fn push(&mut self, batch: Batch) -> usize {
        self.batches.push(batch);
        self.batches.len() - 1
    }

    /// Adds the ideal actuator and `mp-prio`, each with the paper's server and with Linux's.
    fn add_actuators(&mut self, options: &Options) {
        let emtcp = |actuator| PolicyConfig::from(Emtcp { actuator, ..Emtcp::PAPER });
        let paper = "two streams, as in the paper";
        let linux = "Linux's scheduler, unmodified";
        let row = |server, policy, batch| PlannedActuator { server, policy, batch };
        self.actuators.push(row(paper, PolicyConfig::default(), self.cases[Case::Mptcp as usize]));
        self.actuators.push(row(paper, emtcp(Actuator::Ideal), self.cases[Case::Emtcp as usize]));
        for (server, scheduler, policy) in [
            (paper, SchedulerKind::Share, emtcp(Actuator::MpPrio)),
            (linux, SchedulerKind::Linux, PolicyConfig::default()),
            (linux, SchedulerKind::Linux, emtcp(Actuator::MpPrio)),
        ] {
            let variant = Variant { scheduler, policy: Some(policy.clone()), ..Variant::default() };
            let batch = self.add(Case::Emtcp, options, variant, options.seeds);
            self.actuators.push(row(server, policy, batch));
        }
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
    /// result of each batch, and experiment and outcome of the first run of each case.
    fn run(
        &self,
        jobs: NonZeroUsize,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> (Vec<CaseResult>, Vec<(Experiment, Outcome)>) {
        let numbered = self.batches.iter().enumerate();
        let runs: Vec<(usize, u64)> =
            numbered.flat_map(|(i, batch)| (1..=batch.seeds).map(move |seed| (i, seed))).collect();
        let total = runs.len();
        let finished = AtomicUsize::new(0);
        let on_finished = |_| progress(finished.fetch_add(1, Ordering::Relaxed) + 1, total);
        let outcomes = parallel::map(jobs, &runs, &on_finished, |&(i, seed)| {
            let Batch { case, calibration, variant, .. } = &self.batches[i];
            let experiment = experiment(*case, calibration, variant, seed);
            if i < Case::ALL.len() && seed == 1 {
                let outcome = sim::run(&experiment);
                (read(&outcome, *case), Some((experiment, outcome)))
            } else {
                (measure(&experiment, *case), None)
            }
        });
        let mut by_batch: Vec<Vec<Measured>> = vec![Vec::new(); self.batches.len()];
        let mut shown = Vec::new();
        for (&(i, _), (measured, outcome)) in runs.iter().zip(outcomes) {
            by_batch[i].push(measured);
            shown.extend(outcome);
        }
        let results = self.batches.iter().zip(by_batch);
        (results.map(|(batch, runs)| CaseResult::new(batch.case, &batch.calibration, runs)).collect(), shown)
    }
}

/// The sensitivity table: base shares of power, the choices made, and the alternatives to them.
fn sensitivity(
    choices: &[PlannedChoice],
    results: &[CaseResult],
    cases: &[CaseResult],
    sweep: &[SweepPoint],
) -> Vec<Sensitivity> {
    let means = |batch: usize| (results[batch].throughput_mbps.mean, results[batch].energy_rate_w.mean);
    let mut rows = base_shares(cases, sweep);
    rows.extend(chosen_rows(cases));
    rows.extend(choices.iter().map(|planned| Sensitivity {
        group: planned.group,
        choice: planned.choice.clone(),
        chosen: false,
        mptcp: means(planned.mptcp),
        emtcp: planned.emtcp.map_or((f64::NAN, f64::NAN), means),
        best_share: None,
    }));
    rows.sort_by_key(|row| CHOICE_GROUPS.iter().position(|group| *group == row.group));
    rows
}

const fn mac_name(mac: Mac) -> &'static str {
    match mac {
        Mac::None => "no overhead",
        Mac::Ofdm => "OFDM, 802.11a",
        Mac::Dsss => "DSSS, 802.11b",
    }
}

/// The choices of the reproduction itself.
fn chosen_rows(cases: &[CaseResult]) -> Vec<Sensitivity> {
    let pair = |case: Case| {
        let result = &cases[case as usize];
        (result.throughput_mbps.mean, result.energy_rate_w.mean)
    };
    let row = |group, choice: &str| Sensitivity {
        group,
        choice: choice.into(),
        chosen: true,
        mptcp: pair(Case::Mptcp),
        emtcp: pair(Case::Emtcp),
        best_share: None,
    };
    vec![
        row(WIFI_TIMING, mac_name(Mac::Ofdm)),
        row(CONGESTION, CongestionKind::Reno.name()),
        Sensitivity { emtcp: (f64::NAN, f64::NAN), ..row(SCHEDULER, "two streams of 1 Mbit/s") },
    ]
}

/// Cases 3 and 4 under other base shares of power. Energy is linear in the bytes received, so that
/// the measured rates suffice and nothing runs again.
fn base_shares(cases: &[CaseResult], sweep: &[SweepPoint]) -> Vec<Sensitivity> {
    let wifi_mbps = mean_over(&cases[Case::TcpWifi as usize].runs, |run| run.wifi_wire_mbps);
    let lte_mbps = mean_over(&cases[Case::TcpLte as usize].runs, |run| run.lte_wire_mbps);
    let power = |case: Case, share: f64, rate_mbps: f64| {
        split_power(Power::from_watts(case.printed().energy_rate_w), share, rate_mbps)
    };
    let row = |share: f64| {
        let wifi = power(Case::TcpWifi, share, wifi_mbps);
        let lte = power(Case::TcpLte, share, lte_mbps);
        let chosen = share == BASE_SHARE;
        let energy_rate = |result: &CaseResult| {
            if chosen { result.energy_rate_w.mean } else { energy_rate_w(result, wifi, lte) }
        };
        let efficiency = |point: &SweepPoint| point.result.throughput_mbps.mean / energy_rate(&point.result);
        let best = sweep.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)));
        let pair = |case: Case| {
            let result = &cases[case as usize];
            (result.throughput_mbps.mean, energy_rate(result))
        };
        Sensitivity {
            group: BASE_SHARE_GROUP,
            choice: format!("{:.0} %", share * 100.0),
            chosen,
            mptcp: pair(Case::Mptcp),
            emtcp: pair(Case::Emtcp),
            best_share: best.map(|point| point.share),
        }
    };
    [0.0, 0.25, BASE_SHARE, 0.75, 1.0].map(row).to_vec()
}

/// Energy rate of a case, in W, for interfaces with these base powers and powers per Mbit/s.
fn energy_rate_w(result: &CaseResult, wifi: (Power, Power), lte: (Power, Power)) -> f64 {
    let part = |(base, per_mbps): (Power, Power), rate: f64| base.as_watts() + per_mbps.as_watts() * rate;
    part(wifi, mean_over(&result.runs, |run| run.wifi_wire_mbps))
        + part(lte, mean_over(&result.runs, |run| run.lte_wire_mbps))
}

fn mean_over(runs: &[Measured], value: fn(&Measured) -> f64) -> f64 {
    mean(&runs.iter().map(value).collect::<Vec<_>>())
}

impl Reproduction {
    /// Results of a case.
    pub fn case(&self, case: Case) -> &CaseResult {
        self.cases.iter().find(|result| result.case == case).expect("all four cases run")
    }

    /// The share of the sweep with the highest energy efficiency.
    pub fn best_share(&self) -> f64 {
        let efficiency =
            |point: &SweepPoint| point.result.throughput_mbps.mean / point.result.energy_rate_w.mean;
        let best = self.sweep.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)));
        best.map_or(f64::NAN, |point| point.share)
    }
}
