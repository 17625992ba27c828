//! Results of the reproduction: cases, sweep, actuators, combinations, alternatives.

use super::calibration::Calibration;
use super::claims::Figures;
use super::grid::{self, Combination, Family};
use super::measure::{Measured, psnr_of};
use super::model::Stream;
use super::paper::{BATTERY_J, Case};
use super::plan::{EMTCP_TABLE_ONE, Plan};
use super::sensitivity::{Sensitivity, sensitivity};
use core::ops::ControlFlow;
use experiments::parallel;
use experiments::stats::{estimate, mean};
use mptcp::CongestionKind;
use qoe::Level;
use report::Estimate;
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;

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
    /// How the sender takes data, in a multipath case.
    pub stream: Stream,
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
    pub(super) fn new(case: Case, stream: Stream, calibration: &Calibration, runs: Vec<Measured>) -> Self {
        let over = |figure: &dyn Fn(&Measured) -> f64| estimate(&runs.iter().map(figure).collect::<Vec<_>>());
        let psnr = |m: &Measured| {
            psnr_of(case, &m.goodput_mbps, calibration.psnr_interval_s, calibration.psnr_clamp_db)
        };
        let psnr_db = over(&|m| psnr(m).0);
        Self {
            case,
            stream,
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
    /// Further models of cases 3 and 4, with their identifiers.
    pub others: Vec<(&'static str, CaseResult)>,
    /// Stream models with each congestion control.
    pub families: Vec<Family>,
    /// These with each base share of power.
    pub combinations: Vec<Combination>,
    /// Offload shares 0 to 1 in steps of 0.04.
    pub sweep: Vec<SweepPoint>,
    /// Each actuator with the servers that it works with.
    pub actuators: Vec<ActuatorResult>,
    /// Choices of parameters that the paper does not give.
    pub sensitivity: Vec<Sensitivity>,
    /// First run of each case, for its timeline.
    pub shown: Vec<(Experiment, Outcome)>,
}

/// Runs everything; `progress` receives the number of finished runs and of all runs.
pub fn reproduce(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Reproduction {
    reproduce_until(options, &parallel::to_the_end(progress)).expect("nothing stops the runs")
}

/// Like [`reproduce`], until `progress` breaks. Then there is no result.
pub fn reproduce_until(
    options: &Options,
    progress: &(dyn Fn(usize, usize) -> ControlFlow<()> + Sync),
) -> Option<Reproduction> {
    let sweep_seeds = reduced_seeds(options.seeds);
    let plan = Plan::new(options, sweep_seeds);
    let (results, shown) = plan.run(options.jobs, progress)?;

    let result = |batch: usize| results[batch].clone();
    let cases: Vec<CaseResult> = plan.cases.iter().map(|&batch| result(batch)).collect();
    let sweep: Vec<SweepPoint> =
        plan.sweep.iter().map(|&(share, batch)| SweepPoint { share, result: result(batch) }).collect();
    let actuators = plan.actuators.iter().map(|row| ActuatorResult {
        server: row.server,
        policy: row.policy.to_string(),
        result: result(row.batch),
    });
    let families: Vec<Family> = plan.families.iter().map(|planned| planned.family(&results)).collect();
    Some(Reproduction {
        seeds: options.seeds,
        sweep_seeds,
        calibration: options.calibration.clone(),
        actuators: actuators.collect(),
        sensitivity: sensitivity(&plan.choices, &results, &cases, &sweep),
        others: plan.others.iter().map(|&(id, batch)| (id, result(batch))).collect(),
        combinations: grid::combinations(&families, &cases),
        families,
        sweep,
        shown,
        cases,
    })
}

/// Seeds of a sweep point or a variant when each case runs `seeds` of them.
fn reduced_seeds(seeds: u64) -> u64 {
    (seeds / 3).max(seeds.min(10))
}

impl Reproduction {
    /// Results of a case.
    pub fn case(&self, case: Case) -> &CaseResult {
        self.cases.iter().find(|result| result.case == case).expect("all four cases run")
    }

    /// The family of the stream model with this congestion control.
    fn family(&self, stream: Stream, congestion: CongestionKind) -> &Family {
        let wanted = |family: &&Family| family.stream == stream && family.congestion == congestion;
        self.families.iter().find(wanted).expect("the grid has every family")
    }

    /// Figures of the model with two streams and exact shares.
    pub fn figures_of_two_streams(&self) -> Figures {
        let (mptcp, emtcp) = (self.case(Case::Mptcp), self.case(Case::Emtcp));
        Figures::new(mptcp, emtcp, &self.sweep, &|run| run.energy_rate_w)
    }

    /// Figures of the model with two streams and Table I for each segment.
    pub fn figures_of_table_one(&self) -> Figures {
        let emtcp = self.others.iter().find(|(id, _)| *id == EMTCP_TABLE_ONE).expect("planned");
        let sweep = &self.family(Stream::TwoStreamsTableOne, CongestionKind::Reno).sweep;
        Figures::new(self.case(Case::Mptcp), &emtcp.1, sweep, &|run| run.energy_rate_w)
    }

    /// The share of the sweep with the highest energy efficiency.
    pub fn best_share(&self) -> f64 {
        let efficiency =
            |point: &SweepPoint| point.result.throughput_mbps.mean / point.result.energy_rate_w.mean;
        let best = self.sweep.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)));
        best.map_or(f64::NAN, |point| point.share)
    }
}
