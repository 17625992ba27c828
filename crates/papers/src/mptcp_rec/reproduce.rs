//! Runs all simulations of the reproduction.

use super::background::Background;
use super::measure::Run;
use super::model::{GridPoint, PRINTED_BUFFER_KB, experiment};
use super::schemes::{Role, Scheme};
use core::ops::ControlFlow;
use experiments::parallel;
use sim::{DeliveryOutcome, Experiment};
use std::num::NonZeroUsize;
use units::Duration;

/// Size and parameters of the reproduction.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of seeds, from seed 1, of the schemes that the paper compares.
    pub seeds: u64,
    /// Duration of each run.
    pub duration: Duration,
    /// Number of runs at once; it does not affect the results.
    pub jobs: NonZeroUsize,
    /// The points to run: [`model::grid`](super::model::grid), or a part of it.
    pub grid: Vec<GridPoint>,
    /// The schemes to compare: [`schemes::all`](super::schemes::all). The first is the baseline of
    /// the paper's ratios; the first with [`Role::Proposed`] is compared with it.
    pub schemes: Vec<Scheme>,
}

/// The whole reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Number of seeds, at every point, of the schemes that the paper compares.
    pub seeds: u64,
    /// Number of seeds of the other schemes.
    pub reduced_seeds: u64,
    /// Duration of each run.
    pub duration: Duration,
    /// The points.
    pub grid: Vec<GridPoint>,
    /// The schemes.
    pub schemes: Vec<Scheme>,
    /// By scheme and point, in the order of seeds; empty at points where a scheme does not run.
    pub(super) runs: Vec<Vec<Vec<Run>>>,
    /// Runs with seed 1 for the charts over time.
    pub shown: Vec<Shown>,
}

/// One run with its data over time.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Index into [`Reproduction::schemes`].
    pub scheme: usize,
    /// The simulated experiment.
    pub experiment: Experiment,
    /// Delivery of its data over time.
    pub delivery: DeliveryOutcome,
}

/// Seeds of the other schemes when the paper's two schemes run `seeds` of them.
fn reduced_seeds(seeds: u64) -> u64 {
    (seeds / 3).max(seeds.min(10))
}

/// Number of seeds of a scheme at a point.
fn seeds_at(scheme: usize, schemes: &[Scheme], is_common: bool, seeds: u64) -> u64 {
    let proposed = schemes.iter().position(|scheme| scheme.role == Role::Proposed);
    match schemes[scheme].role {
        _ if scheme == 0 || Some(scheme) == proposed => seeds,
        Role::Reading if is_common => seeds,
        _ if is_common => reduced_seeds(seeds),
        Role::Standard => reduced_seeds(seeds),
        _ => 0,
    }
}

/// Background of a grid, apart from its points for comparison.
fn main_background(grid: &[GridPoint]) -> Background {
    grid.first().map_or(Background::Datagrams, |point| point.background)
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
    let Options { grid, schemes, .. } = options;
    let background = main_background(grid);
    let is_common = |point: &GridPoint| point.is_common(background);
    // Charts over time show a buffer that fits the printed peak, and both loss models.
    let shown_at = grid
        .iter()
        .position(|point| is_common(point) && point.buffer_kb == PRINTED_BUFFER_KB)
        .or_else(|| grid.iter().position(is_common))
        .unwrap_or(0);
    // They show the baseline and the proposed scheme, or the second baseline without a proposed
    // one.
    let compared = schemes.iter().position(|scheme| scheme.role == Role::Proposed).unwrap_or(1);

    let mut work: Vec<(usize, usize, u64)> = Vec::new();
    for scheme in 0..schemes.len() {
        for (i, point) in grid.iter().enumerate() {
            let seeds = seeds_at(scheme, schemes, is_common(point), options.seeds);
            work.extend((1..=seeds).map(|seed| (scheme, i, seed)));
        }
    }
    let total = work.len();
    let done = |done| progress(done, total);
    let results = parallel::map_while(options.jobs, &work, &done, |&(scheme, i, seed)| {
        let experiment = experiment(&grid[i], &schemes[scheme].config, seed, options.duration);
        let mut outcome = sim::run_recorded(&experiment);
        let run = Run::read(&outcome);
        let is_shown = seed == 1 && i == shown_at && (scheme == 0 || scheme == compared);
        let shown = is_shown.then(|| outcome.deliveries.pop()).flatten();
        (run, shown.map(|delivery| Shown { scheme, experiment, delivery }))
    })?;
    let mut runs = vec![vec![Vec::new(); grid.len()]; schemes.len()];
    let mut shown = Vec::new();
    for (&(scheme, i, _), (run, over_time)) in work.iter().zip(results) {
        runs[scheme][i].push(run);
        shown.extend(over_time);
    }
    Some(Reproduction {
        seeds: options.seeds,
        reduced_seeds: reduced_seeds(options.seeds),
        duration: options.duration,
        grid: grid.clone(),
        schemes: schemes.clone(),
        runs,
        shown,
    })
}

impl Reproduction {
    /// Background of the grid, apart from its points for comparison.
    pub fn background(&self) -> Background {
        main_background(&self.grid)
    }
    /// Indices of the points where every scheme runs.
    pub fn common(&self) -> impl Iterator<Item = usize> {
        let background = self.background();
        (0..self.grid.len()).filter(move |&i| self.grid[i].is_common(background))
    }
    /// Index of the paper's scheme in [`schemes`](Self::schemes), if it is there.
    pub fn proposed(&self) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme.role == Role::Proposed)
    }
    /// Indices of the baselines: the candidates for the paper's "standard MPTCP", the chosen one
    /// first.
    pub fn standards(&self) -> impl Iterator<Item = usize> {
        let standard = |&i: &usize| i == 0 || self.schemes[i].role == Role::Standard;
        (0..self.schemes.len()).filter(standard)
    }
    /// The runs of a scheme at a point in the order of seeds; empty if it did not run there.
    pub fn runs(&self, scheme: usize, point: usize) -> &[Run] {
        self.runs.get(scheme).and_then(|points| points.get(point)).map_or(&[], Vec::as_slice)
    }
}
