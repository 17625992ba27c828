//! All the runs of the reproduction.

use super::calibration::{Calibration, refit_cell, split_power};
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

/// What to reproduce, and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seeds 1 to this for each case.
    pub seeds: u64,
    /// Runs at once.
    pub jobs: NonZeroUsize,
    /// The fitted parameters.
    pub calibration: Calibration,
}

/// A case over all seeds.
#[derive(Debug, Clone)]
pub struct CaseResult {
    /// Which.
    pub case: Case,
    /// In order of seeds.
    pub runs: Vec<Measured>,
    /// Delivered to the application, in Mbit/s.
    pub throughput_mbps: Estimate,
    /// Drawn under the paper's profile, in W.
    pub energy_rate_w: Estimate,
    /// Drawn under the measured profiles, in W.
    pub measured_rate_w: Estimate,
    /// Mean PSNR over intervals, in dB.
    pub psnr_db: Estimate,
    /// Its standard deviation over intervals, in dB.
    pub psnr_sd_db: Estimate,
    /// Of the paper's battery, in seconds.
    pub lifespan_s: Estimate,
    /// Payload over Wi-Fi, in Mbit/s.
    pub wifi_mbps: Estimate,
    /// Payload over LTE, in Mbit/s.
    pub lte_mbps: Estimate,
    /// The level of the mean PSNR (Table III).
    pub quality: Level,
    /// How often the policy changed something.
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

    /// Megabits per joule.
    pub fn efficiency(&self) -> Estimate {
        estimate(&self.runs.iter().map(|m| m.throughput_mbps / m.energy_rate_w).collect::<Vec<_>>())
    }
}

/// One offload share of the sweep.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    /// The share.
    pub share: f64,
    /// Its runs.
    pub result: CaseResult,
}

/// The multipath cases under another choice where the paper is silent.
#[derive(Debug, Clone)]
pub struct Sensitivity {
    /// What kind of choice.
    pub group: &'static str,
    /// The choice.
    pub choice: String,
    /// It is the one of the reproduction.
    pub chosen: bool,
    /// Case 3's throughput and energy rate.
    pub mptcp: (f64, f64),
    /// Case 4's.
    pub emtcp: (f64, f64),
    /// The best share of the sweep, where it was swept.
    pub best_share: Option<f64>,
}

/// A way to hold the share, against a kind of server.
#[derive(Debug, Clone)]
pub struct ActuatorResult {
    /// How the server divides data without being told.
    pub server: &'static str,
    /// The policy's name.
    pub policy: String,
    /// Its runs.
    pub result: CaseResult,
}

/// The whole reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Seeds for each case.
    pub seeds: u64,
    /// Seeds for each share of the sweep and each variant.
    pub sweep_seeds: u64,
    /// The fitted parameters.
    pub calibration: Calibration,
    /// The four cases.
    pub cases: Vec<CaseResult>,
    /// Offload shares 0 to 1 in steps of 0.04.
    pub sweep: Vec<SweepPoint>,
    /// Ideal and mp-prio.
    pub actuators: Vec<ActuatorResult>,
    /// Other choices.
    pub sensitivity: Vec<Sensitivity>,
    /// The first seed of each case, for its series.
    pub shown: Vec<(Experiment, Outcome)>,
}

/// Shares 0, 0.04, … 1 (Fig. 4).
fn shares() -> impl Iterator<Item = f64> {
    (0..=25).map(|step| f64::from(step) / 25.0)
}

/// How many times a sweep point or a variant is run when a case is run `seeds` times.
fn fewer(seeds: u64) -> u64 {
    (seeds / 3).max(seeds.min(10))
}

/// Runs everything; `progress` is told how many runs of how many are done.
pub fn reproduce(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Reproduction {
    let calibration = &options.calibration;
    let sweep_seeds = fewer(options.seeds);
    let mut plan: Vec<(Case, Calibration, Variant, u64)> = Vec::new();
    let mut add = |case: Case, calibration: &Calibration, variant: Variant, seeds: u64| {
        plan.push((case, calibration.clone(), variant, seeds));
        plan.len() - 1
    };

    let cases: Vec<usize> =
        Case::ALL.iter().map(|&case| add(case, calibration, Variant::default(), options.seeds)).collect();
    let sweep: Vec<(f64, usize)> =
        shares().map(|s| (s, add(Case::Emtcp, calibration, Variant::share(s), sweep_seeds))).collect();

    let emtcp = |actuator| PolicyConfig::from(Emtcp { actuator, ..Emtcp::PAPER });
    let none = PolicyConfig::default;
    let own = "two streams, as in the paper";
    let linux = "Linux's scheduler, unmodified";
    let mut actuators: Vec<(&'static str, PolicyConfig, usize)> =
        vec![(own, none(), cases[2]), (own, emtcp(Actuator::Ideal), cases[3])];
    for (server, scheduler, policy) in [
        (own, SchedulerKind::Share, emtcp(Actuator::MpPrio)),
        (linux, SchedulerKind::Linux, none()),
        (linux, SchedulerKind::Linux, emtcp(Actuator::MpPrio)),
    ] {
        let variant = Variant { scheduler, policy: Some(policy.clone()), ..Variant::default() };
        actuators.push((server, policy, add(Case::Emtcp, calibration, variant, options.seeds)));
    }

    let mut variants: Vec<(&'static str, String, Option<usize>, usize)> = Vec::new();
    for mac in [Mac::None, Mac::Dsss] {
        // With other timing the other sinks have to leave as much in case 1: that fit is redone.
        let refitted = refit_cell(calibration, mac, options.jobs);
        let variant = Variant { mac, ..Variant::default() };
        let three = add(Case::Mptcp, &refitted, variant.clone(), sweep_seeds);
        let four = add(Case::Emtcp, &refitted, variant, sweep_seeds);
        variants.push(("Wi-Fi timing", mac_name(mac).into(), Some(three), four));
    }
    for congestion in [CongestionKind::Cubic, CongestionKind::Lia] {
        let variant = Variant { congestion, ..Variant::default() };
        let three = add(Case::Mptcp, calibration, variant.clone(), sweep_seeds);
        let four = add(Case::Emtcp, calibration, variant, sweep_seeds);
        variants.push(("Congestion control", congestion.name().into(), Some(three), four));
    }
    for scheduler in [SchedulerKind::RoundRobin, SchedulerKind::MinRtt, SchedulerKind::Linux] {
        let variant = Variant { scheduler, ..Variant::default() };
        let three = add(Case::Mptcp, calibration, variant, sweep_seeds);
        variants.push(("Scheduler of plain MPTCP", scheduler.name().into(), Some(three), cases[3]));
    }

    // One list of runs, so that no core waits for the last of a case.
    let runs: Vec<(usize, u64)> =
        plan.iter().enumerate().flat_map(|(i, entry)| (1..=entry.3).map(move |seed| (i, seed))).collect();
    let total = runs.len();
    let done = AtomicUsize::new(0);
    let told = |_| progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
    let measured = parallel::map(options.jobs, &runs, &told, |&(i, seed)| {
        let (case, calibration, variant, _) = &plan[i];
        let experiment = experiment(*case, calibration, variant, seed);
        // The first run of each case is shown second by second.
        if i < Case::ALL.len() && seed == 1 {
            let outcome = sim::run(&experiment);
            (read(&outcome, *case), Some((experiment, outcome)))
        } else {
            (measure(&experiment, *case), None)
        }
    });
    let mut grouped: Vec<Vec<Measured>> = vec![Vec::new(); plan.len()];
    let mut shown = Vec::new();
    for (&(i, _), (figures, outcome)) in runs.iter().zip(measured) {
        grouped[i].push(figures);
        shown.extend(outcome);
    }
    let results: Vec<CaseResult> =
        plan.iter().zip(grouped).map(|(entry, runs)| CaseResult::new(entry.0, &entry.1, runs)).collect();

    let sweep: Vec<SweepPoint> =
        sweep.into_iter().map(|(share, i)| SweepPoint { share, result: results[i].clone() }).collect();
    let cases: Vec<CaseResult> = cases.into_iter().map(|i| results[i].clone()).collect();
    let mut sensitivity = base_shares(&cases, &sweep);
    sensitivity.extend(chosen_rows(&cases));
    let pair = |result: &CaseResult| (result.throughput_mbps.mean, result.energy_rate_w.mean);
    sensitivity.extend(variants.into_iter().map(|(group, choice, three, four)| Sensitivity {
        group,
        choice,
        chosen: false,
        mptcp: three.map_or((f64::NAN, f64::NAN), |i| pair(&results[i])),
        emtcp: if group.starts_with("Scheduler") { (f64::NAN, f64::NAN) } else { pair(&results[four]) },
        best_share: None,
    }));
    let order = ["Base share of power", "Wi-Fi timing", "Congestion control", "Scheduler of plain MPTCP"];
    sensitivity.sort_by_key(|row| order.iter().position(|group| *group == row.group));
    Reproduction {
        seeds: options.seeds,
        sweep_seeds,
        calibration: calibration.clone(),
        sweep,
        actuators: actuators
            .into_iter()
            .map(|(server, policy, i)| ActuatorResult {
                server,
                policy: policy.to_string(),
                result: results[i].clone(),
            })
            .collect(),
        sensitivity,
        shown,
        cases,
    }
}

const fn mac_name(mac: Mac) -> &'static str {
    match mac {
        Mac::None => "no overhead",
        Mac::Ofdm => "OFDM, 802.11a",
        Mac::Dsss => "DSSS, 802.11b",
    }
}

/// The choices that were made, beside those that were not.
fn chosen_rows(cases: &[CaseResult]) -> Vec<Sensitivity> {
    let pair = |i: usize| (cases[i].throughput_mbps.mean, cases[i].energy_rate_w.mean);
    let row = |group, choice: &str| Sensitivity {
        group,
        choice: choice.into(),
        chosen: true,
        mptcp: pair(2),
        emtcp: pair(3),
        best_share: None,
    };
    vec![
        row("Wi-Fi timing", mac_name(Mac::Ofdm)),
        row("Congestion control", CongestionKind::Reno.name()),
        Sensitivity {
            emtcp: (f64::NAN, f64::NAN),
            ..row("Scheduler of plain MPTCP", "two streams of 1 Mbit/s")
        },
    ]
}

/// Energy is linear in what was received: other divisions of the same power need no other runs.
fn base_shares(cases: &[CaseResult], sweep: &[SweepPoint]) -> Vec<Sensitivity> {
    let wire =
        |runs: &[Measured], figure: fn(&Measured) -> f64| mean(&runs.iter().map(figure).collect::<Vec<_>>());
    let wifi_at = wire(&cases[0].runs, |m| m.wifi_wire_mbps);
    let lte_at = wire(&cases[1].runs, |m| m.lte_wire_mbps);
    let chosen = super::calibration::BASE_SHARE;
    [0.0, 0.25, chosen, 0.75, 1.0]
        .into_iter()
        .map(|share| {
            let power =
                |case: Case, at: f64| split_power(Power::from_watts(case.printed().energy_rate_w), share, at);
            let (wifi, lte) = (power(Case::TcpWifi, wifi_at), power(Case::TcpLte, lte_at));
            let rate = |result: &CaseResult| {
                if share == chosen {
                    return result.energy_rate_w.mean;
                }
                let part = |(base, per): (Power, Power), at: f64| base.as_watts() + per.as_watts() * at;
                part(wifi, wire(&result.runs, |m| m.wifi_wire_mbps))
                    + part(lte, wire(&result.runs, |m| m.lte_wire_mbps))
            };
            let efficiency = |point: &SweepPoint| point.result.throughput_mbps.mean / rate(&point.result);
            let best = sweep.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)));
            Sensitivity {
                group: "Base share of power",
                choice: format!("{:.0} %", share * 100.0),
                chosen: share == chosen,
                mptcp: (cases[2].throughput_mbps.mean, rate(&cases[2])),
                emtcp: (cases[3].throughput_mbps.mean, rate(&cases[3])),
                best_share: best.map(|point| point.share),
            }
        })
        .collect()
}

impl Reproduction {
    /// The case's results.
    pub fn case(&self, case: Case) -> &CaseResult {
        self.cases.iter().find(|result| result.case == case).expect("all four were run")
    }

    /// The share at which the sweep's energy efficiency is highest.
    pub fn best_share(&self) -> f64 {
        let efficiency =
            |point: &SweepPoint| point.result.throughput_mbps.mean / point.result.energy_rate_w.mean;
        let best = self.sweep.iter().max_by(|a, b| efficiency(a).total_cmp(&efficiency(b)));
        best.map_or(f64::NAN, |point| point.share)
    }
}
