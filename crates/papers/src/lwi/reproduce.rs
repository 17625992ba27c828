//! Runs all simulations of the reproduction.

use super::calibration::Calibration;
use super::measure::{Run, mean_stall};
use super::model::{self, Setup, with_queue};
use super::paper::{Access, Clip};
use super::process::mean_and_variation;
use super::variants::{Model, Variants, printed_setups};
use core::ops::ControlFlow;
use experiments::parallel;
use experiments::stats;
use policy::PolicyConfig;
use qoe::MOS_UNIT;
use report::Estimate;
use std::num::NonZeroUsize;
use units::{Duration, Seed};

/// Length of a session over which the report gives the rates of the links.
const TYPICAL_SESSION: Duration = Duration::from_secs(100);

/// Size and parameters of the reproduction.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of seeds, from seed 1, of each setup and video.
    pub seeds: u64,
    /// Number of runs at once; it does not affect the results.
    pub jobs: NonZeroUsize,
    /// The fitted parameters.
    pub calibration: Calibration,
    /// Policies to run with both links.
    pub policies: Vec<PolicyConfig>,
    /// Also run the paper's rows with other queues, and with a buffer for the whole video.
    pub variants: bool,
}

/// One planned run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Access networks, scheduler and policy.
    pub setup: Setup,
    /// The video.
    pub clip: Clip,
    /// The seed.
    pub seed: u64,
}

/// All runs of these setups, for simulation or for a kernel; [`experiment`](super::model::experiment) gives the experiment of
/// each.
pub fn plans(setups: &[Setup], seeds: u64) -> Vec<Plan> {
    let each = |setup: Setup| {
        Clip::ALL.into_iter().flat_map(move |clip| {
            let setup = setup.clone();
            (1..=seeds).map(move |seed| Plan { setup: setup.clone(), clip, seed })
        })
    };
    setups.iter().cloned().flat_map(each).collect()
}

/// A metric by which setups are compared.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Key in JSON and CSV, with the unit.
    pub key: &'static str,
    /// Name in tables and charts.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Number of decimals in tables.
    pub decimals: usize,
    /// Reads the value from a run.
    pub of: fn(&Run) -> f64,
}

impl Metric {
    /// Number of stalls (Table III).
    pub const STALLS: Self =
        Self { key: "stalls", title: "stalls", unit: "", decimals: 2, of: |run| run.stalls as f64 };
    /// MOS (Fig. 6).
    pub const MOS: Self = Self { key: "mos", title: "MOS", unit: MOS_UNIT, decimals: 3, of: |run| run.mos };
    /// Initial load time (Fig. 7).
    pub const LOAD_TIME: Self =
        Self { key: "initial_load_s", title: "load time", unit: "s", decimals: 2, of: |run| run.load_s };
    /// Time until the whole video has arrived (Fig. 8).
    pub const FETCH_TIME: Self = Self {
        key: "fetched_s",
        title: "video fetched after",
        unit: "s",
        decimals: 1,
        of: |run| run.fetched_s,
    };
    /// Share of the payload over Wi-Fi (Fig. 5).
    pub const OVER_WIFI: Self = Self {
        key: "over_wifi_percent",
        title: "over Wi-Fi",
        unit: "%",
        decimals: 1,
        of: Run::over_wifi_percent,
    };
    /// Payload over LTE, which a policy should reduce.
    pub const OVER_LTE: Self = Self {
        key: "lte_mb",
        title: "over LTE",
        unit: "MB",
        decimals: 1,
        of: |run| run.payload[1] as f64 * 1e-6,
    };
    /// Energy of the LTE radio, tails included.
    pub const LTE_ENERGY: Self =
        Self { key: "lte_j", title: "LTE energy", unit: "J", decimals: 1, of: |run| run.radio_j[1] };
    /// Energy of both radios.
    pub const ENERGY: Self = Self {
        key: "radios_j",
        title: "total energy",
        unit: "J",
        decimals: 1,
        of: |run| run.radio_j.iter().sum(),
    };
}

/// The whole reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Number of seeds, from seed 1.
    pub seeds: u64,
    /// The fitted parameters.
    pub calibration: Calibration,
    /// The setups, one per table row.
    pub setups: Vec<Setup>,
    /// By setup and video, in the order of seeds.
    runs: Vec<[Vec<Run>; 2]>,
    /// The rows of the paper with other parameters.
    pub variants: Variants,
}

/// Simulates everything; `progress` receives the number of finished runs and of all runs.
pub fn reproduce(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Reproduction {
    reproduce_until(options, &parallel::to_the_end(progress)).expect("nothing stops the runs")
}

/// Like [`reproduce`], until `progress` breaks. Then there is no result.
pub fn reproduce_until(
    options: &Options,
    progress: &(dyn Fn(usize, usize) -> ControlFlow<()> + Sync),
) -> Option<Reproduction> {
    let setups: Vec<Setup> =
        Setup::all().into_iter().chain(Setup::with_policies(&options.policies)).collect();
    let models = if options.variants { Model::all(&options.calibration) } else { Vec::new() };
    let main = Model { queue: model::QUEUE, calibration: options.calibration };
    let each =
        core::iter::once((main, setups)).chain(models.into_iter().map(|model| (model, printed_setups())));
    let work: Vec<(Model, Plan)> = each
        .flat_map(|(model, setups)| plans(&setups, options.seeds).into_iter().map(move |plan| (model, plan)))
        .collect();
    let total = work.len();
    let done = |done| progress(done, total);
    let outcomes = parallel::map_while(options.jobs, &work, &done, |(model, plan)| {
        let Plan { setup, clip, seed } = plan;
        Run::read(&sim::run(&with_queue(setup, *clip, &model.calibration, model.queue, *seed)))
    })?;
    let mut found: Vec<(Model, Vec<Plan>, Vec<Option<Run>>)> = Vec::new();
    for ((model, plan), run) in work.into_iter().zip(outcomes) {
        if found.last().is_none_or(|last| last.0 != model) {
            found.push((model, Vec::new(), Vec::new()));
        }
        if let Some((_, plans, runs)) = found.last_mut() {
            plans.push(plan);
            runs.push(run);
        }
    }
    let mut results = found.into_iter().map(|(model, plans, runs)| {
        (model.queue, Reproduction::new(options.seeds, model.calibration, &plans, runs))
    });
    let main = results
        .next()
        .map_or_else(|| Reproduction::new(options.seeds, options.calibration, &[], []), |(_, result)| result);
    let variants = Variants::new(results.collect(), options.calibration.buffer);
    Some(Reproduction { variants, ..main })
}

impl Reproduction {
    /// Groups the results of `plans`, given in their order. `None` stands for a run without video.
    pub fn new(
        seeds: u64,
        calibration: Calibration,
        plans: &[Plan],
        outcomes: impl IntoIterator<Item = Option<Run>>,
    ) -> Self {
        let mut setups: Vec<Setup> = Vec::new();
        let mut runs: Vec<[Vec<Run>; 2]> = Vec::new();
        for (plan, run) in plans.iter().zip(outcomes) {
            let at = setups.iter().position(|setup| *setup == plan.setup).unwrap_or_else(|| {
                setups.push(plan.setup.clone());
                runs.push(Default::default());
                setups.len() - 1
            });
            runs[at][plan.clip as usize].extend(run);
        }
        Self { seeds, calibration, setups, runs, variants: Variants::default() }
    }

    /// The runs of a setup in the order of seeds.
    pub fn runs(&self, setup: usize, clip: Clip) -> &[Run] {
        self.runs.get(setup).map_or(&[], |clips| &clips[clip as usize])
    }

    /// The runs of all setups.
    pub fn all_runs(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().flatten().flatten()
    }

    /// Index of the setup that the paper prints for these access networks, if it was run.
    pub fn row(&self, access: Access) -> Option<usize> {
        self.setups.iter().position(|setup| setup.printed() == Some(access))
    }

    /// Mean and confidence interval over the runs with a finite value.
    pub fn estimate(&self, metric: &Metric, setup: usize, clip: Clip) -> Estimate {
        let values: Vec<f64> =
            self.runs(setup, clip).iter().map(metric.of).filter(|v| v.is_finite()).collect();
        stats::estimate(&values)
    }

    /// Mean length over all stalls.
    pub fn mean_stall(&self, setup: usize, clip: Clip) -> Estimate {
        mean_stall(self.runs(setup, clip))
    }

    /// Change of a metric from one link to both, in percent of the mean over one link. Changes are
    /// paired by seed, because runs of one seed have the same link rates.
    pub fn change_percent(&self, metric: &Metric, over: Access, clip: Clip) -> Estimate {
        let (Some(one), Some(both)) = (self.row(over), self.row(Access::Both)) else {
            return Estimate::exact(f64::NAN);
        };
        let values = |setup| self.runs(setup, clip).iter().map(metric.of);
        // A run without the value, such as an unfinished one, leaves its pair out.
        let pairs: Vec<(f64, f64)> =
            values(one).zip(values(both)).filter(|(one, both)| one.is_finite() && both.is_finite()).collect();
        stats::relative_difference(&pairs)
    }

    /// Share of the runs with this level of the stall frequency, in percent.
    pub fn at_level_percent(&self, setup: usize, clip: Clip, level: u8) -> f64 {
        let runs = self.runs(setup, clip);
        let at_level = runs.iter().filter(|run| run.frequency_level == level).count();
        100.0 * at_level as f64 / runs.len() as f64
    }

    /// Mean rate of a link over all seeds and a typical session time, in Mbit/s, and its
    /// coefficient of variation.
    pub fn rate(&self, access: Access) -> (f64, f64) {
        let runs = (1..=self.seeds).map(|seed| {
            let [wifi, lte] = self.calibration.draw(TYPICAL_SESSION, Seed::new(seed));
            if access == Access::Lte { lte } else { wifi }
        });
        mean_and_variation(TYPICAL_SESSION, runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::{LinkConfig, Rate};
    use sim::Hop;
    use units::Instant;

    #[test]
    fn mean_rates_are_those_of_the_links_that_are_run() {
        let calibration = Calibration::shipped();
        let result = Reproduction::new(2, calibration, &[], []);
        for (path, access) in [Access::Wifi, Access::Lte].into_iter().enumerate() {
            let runs = (1..=2).map(|seed| {
                let setup = Setup::plain(access, mptcp::SchedulerKind::MinRtt);
                let experiment = model::experiment(&setup, Clip::FourK, &calibration, seed);
                let Hop::Link(LinkConfig { rate: Rate::Steps(steps), .. }) = &experiment.paths[path].down
                else {
                    panic!("a link in steps")
                };
                let end = Instant::ZERO + TYPICAL_SESSION;
                steps.iter().copied().filter(|&(at, _)| at < end).collect()
            });
            assert_eq!(result.rate(access), mean_and_variation(TYPICAL_SESSION, runs));
        }
    }
}
