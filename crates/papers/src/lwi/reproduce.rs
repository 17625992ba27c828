//! All the runs of the reproduction.

use super::calibration::Calibration;
use super::measure::{Run, mean_stall};
use super::model::{Way, experiment};
use super::paper::{Access, Clip};
use experiments::parallel;
use experiments::stats;
use policy::PolicyConfig;
use report::Estimate;
use std::num::NonZeroUsize;
use units::Duration;

/// What to reproduce, and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seeds 1 to this for each way and video.
    pub seeds: u64,
    /// Runs at once. Changes nothing but the time it takes.
    pub jobs: NonZeroUsize,
    /// The fitted parameters.
    pub calibration: Calibration,
    /// Both links also under these policies.
    pub policies: Vec<PolicyConfig>,
}

/// One run that is to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Over what.
    pub way: Way,
    /// Which video.
    pub clip: Clip,
    /// With which seed.
    pub seed: u64,
}

/// Every run, for whoever makes them: each [`experiment`] of it in simulation, or on a kernel.
pub fn plans(ways: &[Way], seeds: u64) -> Vec<Plan> {
    let each = |way: Way| {
        Clip::ALL.into_iter().flat_map(move |clip| {
            let way = way.clone();
            (1..=seeds).map(move |seed| Plan { way: way.clone(), clip, seed })
        })
    };
    ways.iter().cloned().flat_map(each).collect()
}

/// A figure that ways are compared by.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name for programs, with the unit.
    pub key: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Digits after the point.
    pub decimals: usize,
    /// Its value.
    pub of: fn(&Run) -> f64,
}

impl Figure {
    /// Of Table III.
    pub const STALLS: Self =
        Self { key: "stalls", title: "stalls", unit: "", decimals: 2, of: |run| run.stalls as f64 };
    /// Fig. 6.
    pub const MOS: Self = Self { key: "mos", title: "MOS", unit: "", decimals: 3, of: |run| run.mos };
    /// Fig. 7.
    pub const LOAD: Self =
        Self { key: "initial_load_s", title: "load time", unit: "s", decimals: 2, of: |run| run.load_s };
    /// Fig. 8.
    pub const FETCHED: Self = Self {
        key: "fetched_s",
        title: "whole video there after",
        unit: "s",
        decimals: 1,
        of: |run| run.fetched_s,
    };
    /// Fig. 5.
    pub const OVER_WIFI: Self = Self {
        key: "over_wifi_percent",
        title: "over Wi-Fi",
        unit: "%",
        decimals: 1,
        of: Run::over_wifi_percent,
    };
    /// What a policy is to save.
    pub const OVER_LTE: Self = Self {
        key: "lte_mb",
        title: "over LTE",
        unit: "MB",
        decimals: 1,
        of: |run| run.payload[1] as f64 * 1e-6,
    };
    /// With its tails.
    pub const LTE_ENERGY: Self =
        Self { key: "lte_j", title: "LTE’s radio", unit: "J", decimals: 1, of: |run| run.radio_j[1] };
    /// Wi-Fi’s too.
    pub const ENERGY: Self = Self {
        key: "radios_j",
        title: "both radios",
        unit: "J",
        decimals: 1,
        of: |run| run.radio_j.iter().sum(),
    };
}

/// The whole reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Seeds 1 to this.
    pub seeds: u64,
    /// With what.
    pub calibration: Calibration,
    /// The rows.
    pub ways: Vec<Way>,
    /// By way and video, in the order of seeds.
    runs: Vec<[Vec<Run>; 2]>,
}

/// Simulates everything; `progress` is told how many runs of how many are done.
pub fn reproduce(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Reproduction {
    let ways: Vec<Way> = Way::all().into_iter().chain(Way::under(&options.policies)).collect();
    let plans = plans(&ways, options.seeds);
    let total = plans.len();
    let outcomes = parallel::map(options.jobs, &plans, &|done| progress(done, total), |plan| {
        Run::read(&sim::run(&experiment(&plan.way, plan.clip, &options.calibration, plan.seed)))
    });
    Reproduction::new(options.seeds, options.calibration, &plans, outcomes)
}

impl Reproduction {
    /// From what came of the [`plans`], in their order; a run that played nothing is left out.
    pub fn new(
        seeds: u64,
        calibration: Calibration,
        plans: &[Plan],
        outcomes: impl IntoIterator<Item = Option<Run>>,
    ) -> Self {
        let mut ways: Vec<Way> = Vec::new();
        let mut runs: Vec<[Vec<Run>; 2]> = Vec::new();
        for (plan, run) in plans.iter().zip(outcomes) {
            let at = ways.iter().position(|way| *way == plan.way).unwrap_or_else(|| {
                ways.push(plan.way.clone());
                runs.push(Default::default());
                ways.len() - 1
            });
            runs[at][plan.clip as usize].extend(run);
        }
        Self { seeds, calibration, ways, runs }
    }

    /// The runs of a row.
    pub fn runs(&self, way: usize, clip: Clip) -> &[Run] {
        self.runs.get(way).map_or(&[], |clips| &clips[clip as usize])
    }

    /// Those of all rows.
    pub fn all_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().flatten().flatten()
    }

    /// The row that the paper prints of this access, if it is here.
    pub fn row(&self, access: Access) -> Option<usize> {
        self.ways.iter().position(|way| way.printed() == Some(access))
    }

    /// Mean and interval over runs; runs that say nothing are left out.
    pub fn estimate(&self, figure: &Figure, way: usize, clip: Clip) -> Estimate {
        let values: Vec<f64> = self.runs(way, clip).iter().map(figure.of).filter(|v| v.is_finite()).collect();
        stats::estimate(&values)
    }

    /// Of all stalls.
    pub fn mean_stall(&self, way: usize, clip: Clip) -> Estimate {
        mean_stall(self.runs(way, clip))
    }

    /// By how much a figure over both links is above that over one, in percent of the latter's mean; seed by seed,
    /// since the links of one seed vary alike.
    pub fn change_percent(&self, figure: &Figure, over: Access, clip: Clip) -> Estimate {
        let (Some(one), Some(both)) = (self.row(over), self.row(Access::Both)) else {
            return Estimate::exact(f64::NAN);
        };
        let values = |way| self.runs(way, clip).iter().map(figure.of);
        let mean = stats::mean(&values(one).collect::<Vec<_>>());
        let pairs = values(one).zip(values(both));
        stats::estimate(&pairs.map(|(one, both)| 100.0 * (both - one) / mean).collect::<Vec<_>>())
    }

    /// Which part of the runs had this level of the frequency of stalls, in percent.
    pub fn at_level_percent(&self, way: usize, clip: Clip, level: u8) -> f64 {
        let runs = self.runs(way, clip);
        let there = runs.iter().filter(|run| run.frequency_level == level).count();
        100.0 * there as f64 / runs.len() as f64
    }

    /// Which rate a link had, in the mean of the runs and the time that a session may take, in Mbit/s; and its
    /// standard deviation as a part of that.
    pub fn rate(&self, access: Access) -> (f64, f64) {
        let name = if access == Access::Lte { "lte" } else { "wifi" };
        let seeds = (1..=self.seeds).map(|seed| units::Seed::new(seed).derive(name));
        self.calibration.process(access).mean_and_variation(Duration::from_secs(100), seeds)
    }
}
