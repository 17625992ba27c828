//! All the runs of the reproduction.

use super::measure::Run;
use super::model::{GridPoint, SMALL_KB, experiment};
use super::schemes::{Role, Scheme};
use experiments::parallel;
use sim::{DeliveryOutcome, Experiment};
use std::num::NonZeroUsize;
use units::Duration;

/// What to reproduce.
#[derive(Debug, Clone)]
pub struct Options {
    /// Seeds 1 to this for the schemes that the paper compares.
    pub seeds: u64,
    /// Of each run.
    pub duration: Duration,
    /// Runs at once. Changes nothing but the time it takes.
    pub jobs: NonZeroUsize,
    /// The points to run at: [`model::grid`](super::model::grid), or a part of it.
    pub grid: Vec<GridPoint>,
    /// What is held against what: [`schemes::all`](super::schemes::all). The first is what the paper's figures
    /// are held against; a first of [`Role::Proposed`] is what they are about.
    pub schemes: Vec<Scheme>,
}

/// The whole reproduction.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Seeds of the schemes that the paper compares, at every point.
    pub seeds: u64,
    /// Seeds of the others.
    pub fewer_seeds: u64,
    /// Of each run.
    pub duration: Duration,
    /// The points.
    pub grid: Vec<GridPoint>,
    /// The schemes.
    pub schemes: Vec<Scheme>,
    /// By scheme and point, in order of seeds; empty where a scheme does not run.
    pub(super) runs: Vec<Vec<Vec<Run>>>,
    /// Over time, with the first seed.
    pub shown: Vec<Shown>,
}

/// One run, looked at closely.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Index into [`Reproduction::schemes`].
    pub scheme: usize,
    /// What was run.
    pub experiment: Experiment,
    /// What became of its data.
    pub delivery: DeliveryOutcome,
}

/// How many times the others are run when the paper's two schemes are run `seeds` times.
fn fewer(seeds: u64) -> u64 {
    (seeds / 3).max(seeds.min(10))
}

/// With how many seeds a scheme runs at a point.
fn seeds_at(scheme: usize, schemes: &[Scheme], point: &GridPoint, seeds: u64) -> u64 {
    let proposed = schemes.iter().position(|scheme| scheme.role == Role::Proposed);
    if scheme == 0 || Some(scheme) == proposed {
        seeds
    } else if schemes[scheme].role == Role::Standard || point.is_common() {
        fewer(seeds)
    } else {
        0
    }
}

/// Runs everything; `progress` is told how many runs of how many are done.
pub fn reproduce(options: &Options, progress: &(dyn Fn(usize, usize) + Sync)) -> Reproduction {
    let Options { grid, schemes, .. } = options;
    // The point that is shown over time: a constrained buffer, and both kinds of loss.
    let shown_at = grid
        .iter()
        .position(|point| point.is_common() && point.buffer_kb == SMALL_KB)
        .or_else(|| grid.iter().position(GridPoint::is_common))
        .unwrap_or(0);
    let proposed = schemes.iter().position(|scheme| scheme.role == Role::Proposed);
    // Beside the paper's baseline; the other one where nothing is proposed yet.
    let beside = proposed.unwrap_or(1);

    let mut work: Vec<(usize, usize, u64)> = Vec::new();
    for scheme in 0..schemes.len() {
        for (i, point) in grid.iter().enumerate() {
            let seeds = seeds_at(scheme, schemes, point, options.seeds);
            work.extend((1..=seeds).map(|seed| (scheme, i, seed)));
        }
    }
    let total = work.len();
    let done = |done| progress(done, total);
    let results = parallel::map(options.jobs, &work, &done, |&(scheme, i, seed)| {
        let experiment = experiment(&grid[i], &schemes[scheme].config, seed, options.duration);
        let mut outcome = sim::run_recorded(&experiment);
        let run = Run::read(&outcome);
        let is_shown = seed == 1 && i == shown_at && (scheme == 0 || scheme == beside);
        let shown = is_shown.then(|| outcome.deliveries.pop()).flatten();
        (run, shown.map(|delivery| Shown { scheme, experiment, delivery }))
    });
    let mut runs = vec![vec![Vec::new(); grid.len()]; schemes.len()];
    let mut shown = Vec::new();
    for (&(scheme, i, _), (run, closely)) in work.iter().zip(results) {
        runs[scheme][i].push(run);
        shown.extend(closely);
    }
    Reproduction {
        seeds: options.seeds,
        fewer_seeds: fewer(options.seeds),
        duration: options.duration,
        grid: grid.clone(),
        schemes: schemes.clone(),
        runs,
        shown,
    }
}

impl Reproduction {
    /// What the paper proposes: an index into [`schemes`](Self::schemes), where there is one.
    pub fn proposed(&self) -> Option<usize> {
        self.schemes.iter().position(|scheme| scheme.role == Role::Proposed)
    }
    /// What it is held against: indices of those that the paper may have meant, the chosen one first.
    pub fn standards(&self) -> impl Iterator<Item = usize> {
        let standard = |&i: &usize| i == 0 || self.schemes[i].role == Role::Standard;
        (0..self.schemes.len()).filter(standard)
    }
    /// The runs of a scheme at a point, in order of seeds; none where it did not run there.
    pub fn runs(&self, scheme: usize, point: usize) -> &[Run] {
        self.runs.get(scheme).and_then(|points| points.get(point)).map_or(&[], Vec::as_slice)
    }
}
