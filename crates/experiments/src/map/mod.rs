//! The map of best policies: for each pair of radios, kind of traffic and rate, the policy that draws
//! the least energy without a loss of throughput, or of MOS for video.
//!
//! The map is made from [`points::of_map`] and judged at [`points::held_out`], with other
//! rates and links. [`measure`] runs both.

mod json;
mod page;
pub mod points;
mod tables;
#[cfg(test)]
mod tests;
mod watch;

pub use points::{Point, Traffic};

use crate::parallel;
use crate::stats::mean;
use policy::{BestKnown, Demand, Map, MapCase, PolicyConfig};
use report::Estimate;
use scenario::Scenario;
use sim::{Experiment, Outcome};
use std::num::NonZeroUsize;
use std::sync::Arc;
use units::Seed;

/// Share of plain Multipath TCP's throughput that a policy must deliver.
pub const MIN_THROUGHPUT: f64 = 0.99;
/// Imperceptible loss of MOS against plain Multipath TCP.
pub const MAX_MOS_LOSS: f64 = 0.05;

/// The points to measure, and how often.
#[derive(Debug, Clone)]
pub struct Options {
    /// Points of the map.
    pub points: Vec<Point>,
    /// Points that judge it.
    pub held_out: Vec<Point>,
    /// Number of seeds of each point.
    pub seeds: u64,
    /// Number of runs at once.
    pub jobs: NonZeroUsize,
}

/// The policies that a map chooses from. Plain Multipath TCP, the first, is the reference.
pub fn fixed_policies() -> Vec<PolicyConfig> {
    const TEXTS: [&str; 9] = [
        "none",
        "wifi-first",
        "wifi-only",
        "lte-only",
        "when-needed",
        "qoe",
        "emtcp:mp-prio:0.24",
        "emtcp:mp-prio:0.5",
        "emtcp:mp-prio:0.75",
    ];
    TEXTS.iter().filter_map(|text| text.parse().ok()).collect()
}

/// Results of a policy at a point, by seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The policy.
    pub policy: PolicyConfig,
    /// Energy of the radios, in joules.
    pub energy_j: Vec<f64>,
    /// Mean goodput of the connections, in Mbit/s.
    pub goodput_mbps: Vec<f64>,
    /// MOS of the viewer, for each seed with a picture; empty for other traffic than video.
    pub mos: Vec<f64>,
}

impl Measured {
    /// Mean energy with its interval.
    pub fn energy(&self) -> Estimate {
        Estimate::of(&self.energy_j)
    }
    /// Mean goodput with its interval.
    pub fn goodput(&self) -> Estimate {
        Estimate::of(&self.goodput_mbps)
    }
    /// Mean MOS with its interval; `None` without a picture, and for other traffic than video.
    pub fn mean_mos(&self) -> Option<Estimate> {
        (!self.mos.is_empty()).then(|| Estimate::of(&self.mos))
    }

    /// Whether it delivers as much as the reference: the same MOS for video, else the same goodput.
    /// Fewer seeds with a picture are a loss.
    fn loses_nothing(&self, reference: &Self) -> bool {
        if self.mos.len() < reference.mos.len() {
            return false;
        }
        match (self.mean_mos(), reference.mean_mos()) {
            (Some(ours), Some(theirs)) => ours.mean >= theirs.mean - MAX_MOS_LOSS,
            _ => self.goodput().mean >= reference.goodput().mean * MIN_THROUGHPUT,
        }
    }
}

/// A point with the results of each policy that fits its radios.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    /// The point.
    pub point: Point,
    /// Results; the reference first.
    pub policies: Vec<Measured>,
}

impl MeasuredPoint {
    /// Results of plain Multipath TCP.
    pub fn reference(&self) -> &Measured {
        &self.policies[0]
    }
    /// The policy of least energy without a loss.
    pub fn best(&self) -> &Measured {
        let fit = self.policies.iter().filter(|one| one.loses_nothing(self.reference()));
        fit.min_by(|a, b| a.energy().mean.total_cmp(&b.energy().mean)).unwrap_or(self.reference())
    }
    /// Share of plain Multipath TCP's energy that the best policy saves.
    pub fn saved(&self) -> f64 {
        1.0 - self.best().energy().mean / self.reference().energy().mean
    }
    fn of(&self, policy: &PolicyConfig) -> Option<&Measured> {
        self.policies.iter().find(|one| one.policy == *policy)
    }
}

/// Means of a policy over the held-out points, relative to plain Multipath TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The policy.
    pub policy: PolicyConfig,
    /// Energy; 1 is that of plain Multipath TCP.
    pub energy: f64,
    /// Goodput of all traffic but video.
    pub goodput: f64,
    /// Difference of MOS over the points with video.
    pub mos: f64,
    /// Number of points at which it loses throughput or MOS, of `points`.
    pub losses: usize,
    /// Share of the energy saved without a loss: a point with a loss counts as one without a saving.
    pub saved: f64,
    /// Number of points with radios that it fits.
    pub points: usize,
}

/// The map, and its judgement at points from which it was not made.
#[derive(Debug, Clone)]
pub struct BestPolicies {
    /// The points of the map.
    pub points: Vec<MeasuredPoint>,
    /// The held-out points, with `best-known` as the last policy of each.
    pub held_out: Vec<MeasuredPoint>,
    /// The map.
    pub map: Map,
    /// Number of seeds.
    pub seeds: u64,
}

impl BestPolicies {
    /// Each policy over all held-out points; `best-known` is the last.
    pub fn judgement(&self) -> Vec<Judged> {
        let mut policies = fixed_policies();
        policies.extend(
            self.held_out.first().and_then(|first| first.policies.last()).map(|last| last.policy.clone()),
        );
        policies.iter().filter_map(|policy| judge(policy, &self.held_out)).collect()
    }

    /// The fixed policies that save as much without a loss as `best-known`; empty if it beats all.
    pub fn as_good_as_best_known(&self) -> Vec<Judged> {
        let mut judged = self.judgement();
        let Some(known) = judged.pop() else { return Vec::new() };
        judged.into_iter().filter(|one| one.saved >= known.saved).collect()
    }
}

fn judge(policy: &PolicyConfig, points: &[MeasuredPoint]) -> Option<Judged> {
    let (mut energies, mut goodputs, mut mos) = (Vec::new(), Vec::new(), Vec::new());
    let (mut losses, mut saved) = (0, 0.0);
    for point in points {
        let Some(ours) = point.of(policy) else { continue };
        let theirs = point.reference();
        energies.push(ours.energy().mean / theirs.energy().mean);
        match (ours.mean_mos(), theirs.mean_mos()) {
            (Some(ours), Some(theirs)) => mos.push(ours.mean - theirs.mean),
            (None, Some(_)) => {}
            _ => goodputs.push(ours.goodput().mean / theirs.goodput().mean),
        }
        if ours.loses_nothing(theirs) {
            saved += 1.0 - ours.energy().mean / theirs.energy().mean;
        } else {
            losses += 1;
        }
    }
    (!energies.is_empty()).then(|| Judged {
        policy: policy.clone(),
        energy: mean(&energies),
        goodput: mean(&goodputs),
        mos: mean(&mos),
        losses,
        saved: saved / points.len() as f64,
        points: energies.len(),
    })
}

/// Measures every point with every policy, makes the map, and judges it at the held-out points.
/// `progress` receives the numbers of finished and of all runs.
pub fn measure(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> BestPolicies {
    let fixed = fixed_policies();
    let for_map = |point: &Point| fitting(&fixed, point);
    let (map_runs, judging_runs) = (runs(options, &options.points, &for_map), options.held_out.len());
    let judging_runs = runs(options, &options.held_out, &for_map) + judging_runs * options.seeds as usize;
    let total = options.points.len() + map_runs + judging_runs;
    let demands = parallel::map(options.jobs, &options.points, &|at| progress(at, total), watch::demand);
    let done = options.points.len();
    let points = measured(options, &options.points, &for_map, &|at| progress(done + at, total));
    let map =
        Map { cases: points.iter().zip(demands).filter_map(|(point, seen)| case(point, seen?)).collect() };
    let done = done + map_runs;
    let known = PolicyConfig::from(BestKnown { map: Arc::new(map.clone()), ..BestKnown::default() });
    let for_judging = |point: &Point| {
        let mut policies = for_map(point);
        policies.push(known.clone());
        policies
    };
    let held_out = measured(options, &options.held_out, &for_judging, &|at| progress(done + at, total));
    BestPolicies { points, held_out, map, seeds: options.seeds }
}

/// The case of a map for a point; the paper's radios are in no device.
fn case(point: &MeasuredPoint, demand: Demand) -> Option<MapCase> {
    let (preferred, costly) = point.point.kinds();
    let policy = point.best().policy.clone();
    (!point.point.pair.is_of_paper).then_some(MapCase { preferred, costly, demand, policy })
}

/// The policies that fit the radios of a point; `qoe` only for video.
fn fitting(policies: &[PolicyConfig], point: &Point) -> Vec<PolicyConfig> {
    let (preferred, costly) = point.kinds();
    let fits = |policy: &&PolicyConfig| {
        policy.check(&[preferred, costly]).is_ok()
            && (policy.name() != "qoe" || point.traffic == Traffic::Video)
    };
    policies.iter().filter(fits).cloned().collect()
}

type PoliciesOf<'a> = &'a (dyn Fn(&Point) -> Vec<PolicyConfig> + Sync);

fn runs(options: &Options, points: &[Point], policies: PoliciesOf<'_>) -> usize {
    points.iter().map(|point| policies(point).len() * options.seeds as usize).sum()
}

/// Runs each policy with each seed at each point.
fn measured(
    options: &Options,
    points: &[Point],
    policies: PoliciesOf<'_>,
    done: &(dyn Fn(usize) + Sync),
) -> Vec<MeasuredPoint> {
    let scenarios: Vec<Scenario> = points.iter().map(Point::scenario).collect();
    let mut work = Vec::new();
    for (point, scenario) in points.iter().zip(&scenarios) {
        for policy in policies(point) {
            work.extend((1..=options.seeds).map(|seed| (scenario, policy.clone(), Seed::new(seed))));
        }
    }
    let results = parallel::map(options.jobs, &work, done, |(scenario, policy, seed)| {
        RunResult::of(&sim::run(&Experiment {
            device: sim::Device { policy: policy.clone(), ..scenario.experiment.device.clone() },
            ..scenario.with_seed(*seed)
        }))
    });
    let mut results = results.chunks(options.seeds as usize);
    let of_policy = |(policy, runs): (PolicyConfig, &[RunResult])| Measured {
        policy,
        energy_j: runs.iter().map(|run| run.energy_j).collect(),
        goodput_mbps: runs.iter().map(|run| run.goodput_mbps).collect(),
        mos: runs.iter().filter_map(|run| run.mos).collect(),
    };
    let of_point = |point: &Point| MeasuredPoint {
        point: point.clone(),
        policies: policies(point).into_iter().zip(&mut results).map(of_policy).collect(),
    };
    points.iter().map(of_point).collect()
}

struct RunResult {
    energy_j: f64,
    /// Mean of the connections.
    goodput_mbps: f64,
    mos: Option<f64>,
}

impl RunResult {
    fn of(outcome: &Outcome) -> Self {
        let goodputs: Vec<f64> = outcome.connections.iter().map(|one| one.goodput_mbps).collect();
        Self {
            energy_j: outcome.device.energy_j,
            goodput_mbps: mean(&goodputs),
            mos: outcome.connections.iter().find_map(|one| one.video.as_ref()?.kpis().mos),
        }
    }
}
