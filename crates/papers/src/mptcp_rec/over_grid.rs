//! The grid summed up: one scheme against another, seed by seed, since runs of one seed have their
//! luck in common.

use super::measure::{Figure, Run};
use super::model::GridPoint;
use super::reproduce::Reproduction;
use experiments::stats;
use report::Estimate;

/// Points that are summed up together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Those with a constrained buffer, which the paper is about.
    Small,
    /// All.
    All,
}

impl Group {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Small, Self::All];

    /// Whether a point is one of them.
    pub fn has(self, point: &GridPoint) -> bool {
        self == Self::All || point.is_small()
    }
}

/// What one scheme changes against another over points, in percent of the other's mean at each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverGrid {
    /// The median over the points, seed by seed: mean over the seeds and its interval.
    pub median: Estimate,
    /// Of the points' means, the lowest and the highest.
    pub range: (f64, f64),
    /// How many points.
    pub points: usize,
    /// At how many the mean is at least on the paper's figure; `None` where the paper prints none.
    pub reached: Option<usize>,
    /// At how many it is better beyond the interval.
    pub better: usize,
    /// At how many it is worse beyond the interval.
    pub worse: usize,
}

impl Reproduction {
    /// Mean of a figure over the seeds.
    pub fn estimate(&self, figure: &Figure, scheme: usize, point: usize) -> Estimate {
        stats::estimate(&self.runs(scheme, point).iter().map(figure.of).collect::<Vec<_>>())
    }

    /// What a scheme changes against another at a point, seed by seed, in percent of the other's mean.
    fn changes(&self, figure: &Figure, scheme: usize, against: usize, point: usize) -> Vec<f64> {
        let (ours, theirs) = (self.runs(scheme, point), self.runs(against, point));
        let mean = stats::mean(&theirs.iter().map(figure.of).collect::<Vec<_>>());
        let change = |(a, b): (&Run, &Run)| 100.0 * ((figure.of)(a) - (figure.of)(b)) / mean;
        ours.iter().zip(theirs).map(change).collect()
    }

    /// The mean of these, with its interval.
    pub fn change(&self, figure: &Figure, scheme: usize, against: usize, point: usize) -> Estimate {
        stats::estimate(&self.changes(figure, scheme, against, point))
    }

    /// What a scheme changes against another over the points of a group.
    pub fn over_grid(&self, figure: &Figure, scheme: usize, against: usize, group: Group) -> OverGrid {
        let points: Vec<usize> = (0..self.grid.len()).filter(|&i| group.has(&self.grid[i])).collect();
        let changes: Vec<Vec<f64>> =
            points.iter().map(|&point| self.changes(figure, scheme, against, point)).collect();
        let seeds = changes.iter().map(Vec::len).min().unwrap_or(0);
        let medians: Vec<f64> = (0..seeds)
            .map(|seed| stats::median(&changes.iter().map(|point| point[seed]).collect::<Vec<_>>()))
            .collect();
        let means: Vec<Estimate> = changes.iter().map(|point| stats::estimate(point)).collect();
        let good = if figure.more_is_better { 1.0 } else { -1.0 };
        let count = |holds: &dyn Fn(&Estimate) -> bool| means.iter().filter(|mean| holds(mean)).count();
        let beyond = |sign: f64| count(&|e: &Estimate| e.ci95.is_finite() && sign * e.mean > e.ci95);
        OverGrid {
            median: stats::estimate(&medians),
            range: (
                means.iter().map(|e| e.mean).fold(f64::INFINITY, f64::min),
                means.iter().map(|e| e.mean).fold(f64::NEG_INFINITY, f64::max),
            ),
            points: points.len(),
            reached: figure.paper_percent.map(|paper| count(&|e: &Estimate| good * e.mean >= good * paper)),
            better: beyond(good),
            worse: beyond(-good),
        }
    }

    /// Mean of something over the points at which every scheme runs, seed by seed, with the seeds that
    /// every scheme has.
    pub fn over_common(&self, of: impl Fn(&Run) -> f64, scheme: usize) -> Estimate {
        let points: Vec<&[Run]> = (0..self.grid.len())
            .filter(|&i| self.grid[i].is_common())
            .map(|i| self.runs(scheme, i))
            .collect();
        let seeds = (self.fewer_seeds as usize).min(points.iter().map(|runs| runs.len()).min().unwrap_or(0));
        let means: Vec<f64> = (0..seeds)
            .map(|seed| stats::mean(&points.iter().map(|runs| of(&runs[seed])).collect::<Vec<_>>()))
            .collect();
        stats::estimate(&means)
    }

    /// The median over the points of a buffer of a scheme's means.
    pub fn over_losses(&self, figure: &Figure, scheme: usize, buffer_kb: u64) -> f64 {
        let means: Vec<f64> = (0..self.grid.len())
            .filter(|&i| self.grid[i].buffer_kb == buffer_kb)
            .map(|i| self.estimate(figure, scheme, i).mean)
            .collect();
        stats::median(&means)
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Work;
    use super::super::model::LossKind;
    use super::super::schemes;
    use super::*;
    use units::Duration;

    fn run(goodput_mbps: f64) -> Run {
        Run {
            goodput_mbps,
            delay_ms: 100.0,
            delay_p95_ms: 200.0,
            jitter_ms: 1.0,
            peak_out_of_order: 1000.0,
            out_of_order_p95: 500.0,
            joules_per_mb: 1.0,
            psnr_db: 30.0,
            path_mbps: [0.0; 3],
            work: [Work { segments: 1.0, options: 1.0, experimental: 0.0 }; 2],
        }
    }

    /// Two schemes at three points, a buffer of 64 KB at the first two: goodput by scheme, point and seed.
    fn of(goodput: [[[f64; 3]; 3]; 2]) -> Reproduction {
        let point = |buffer_kb, average| GridPoint { buffer_kb, loss: LossKind::Uniform, average };
        Reproduction {
            seeds: 3,
            fewer_seeds: 3,
            duration: Duration::from_secs(1),
            grid: vec![point(64, 0.01), point(64, 0.02), point(512, 0.01)],
            schemes: schemes::standard(),
            runs: goodput.map(|points| points.map(|seeds| seeds.map(run).to_vec()).to_vec()).to_vec(),
            shown: Vec::new(),
        }
    }

    #[test]
    fn changes_are_those_of_the_pairs_and_the_median_is_taken_seed_by_seed() {
        // Twice as good at the first point, by a tenth at the second, half as good at the third.
        let base = [[1.0, 2.0, 3.0], [10.0, 10.0, 10.0], [4.0, 4.0, 4.0]];
        let other = [[2.0, 4.0, 6.0], [11.0, 11.0, 11.0], [2.0, 2.0, 2.0]];
        let result = of([base, other]);
        let figure = Figure::GOODPUT;
        // Of a mean of 2: 50, 100 and 150 %.
        assert_eq!(result.change(&figure, 1, 0, 0).mean, 100.0);
        assert_eq!(result.change(&figure, 1, 0, 0).ci95, stats::estimate(&[50.0, 100.0, 150.0]).ci95);
        let all = result.over_grid(&figure, 1, 0, Group::All);
        // Each seed has 10 % in its middle.
        assert!((all.median.mean - 10.0).abs() < 1e-9 && all.median.ci95 < 1e-9, "{all:?}");
        assert_eq!((all.range, all.points, all.reached), ((-50.0, 100.0), 3, Some(1)));
        // The first is as uncertain as it is good (124 %).
        assert_eq!((all.better, all.worse), (1, 1));
        let small = result.over_grid(&figure, 1, 0, Group::Small);
        assert_eq!((small.points, small.worse), (2, 0));
        // 30, 55 and 80 %.
        assert!((small.median.mean - 55.0).abs() < 1e-9);
    }

    #[test]
    fn a_scheme_changes_nothing_against_itself() {
        let same = [[1.0, 2.0, 3.0], [10.0, 11.0, 12.0], [4.0, 5.0, 6.0]];
        let all = of([same, same]).over_grid(&Figure::GOODPUT, 1, 0, Group::All);
        assert_eq!((all.median.mean, all.better, all.worse, all.reached), (0.0, 0, 0, Some(0)));
    }
}
