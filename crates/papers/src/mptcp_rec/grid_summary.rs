//! Aggregation over the grid: change from one scheme to another, paired by seed. Runs of one seed
//! have the same losses and background, so that pairing reduces the variance.

use super::background::Background;
use super::measure::{Metric, Run};
use super::model::{GridPoint, LossKind, PRINTED_BUFFER_KB};
use super::reproduce::Reproduction;
use experiments::stats;
use report::Estimate;

/// Grid points that are aggregated together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Buffers that can show the printed peak offset.
    Printed,
    /// Buffers that are constrained most.
    Small,
    /// Both loss models on every link.
    BothLosses,
    /// All points with the grid's background.
    All,
    /// The points with the other background.
    OtherBackground,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 5] =
        [Self::Printed, Self::Small, Self::BothLosses, Self::All, Self::OtherBackground];

    /// Key in results.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Printed => "printed_buffers",
            Self::Small => "small_buffers",
            Self::BothLosses => "both_losses",
            Self::All => "all",
            Self::OtherBackground => "other_background",
        }
    }

    /// Whether the group contains a point of a grid with this background.
    pub fn contains(self, point: &GridPoint, background: Background) -> bool {
        if self == Self::OtherBackground {
            return point.background != background;
        }
        let belongs = match self {
            Self::Printed => point.buffer_kb >= PRINTED_BUFFER_KB,
            Self::Small => point.is_small(),
            Self::BothLosses => point.loss == LossKind::Both,
            _ => true,
        };
        belongs && point.background == background
    }
}

/// Change from one scheme to another over a group of points, in percent of the other's mean at
/// each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridSummary {
    /// Median over the points of each seed: mean over the seeds and its confidence interval.
    pub median: Estimate,
    /// Lowest and highest mean of a point.
    pub range: (f64, f64),
    /// Number of points.
    pub points: usize,
    /// Points whose mean reaches the paper's figure; `None` if the paper prints none.
    pub reached: Option<usize>,
    /// Points that are better by more than the confidence interval.
    pub better: usize,
    /// Points that are worse by more than the confidence interval.
    pub worse: usize,
}

impl Reproduction {
    /// Mean of a metric over the seeds.
    pub fn estimate(&self, metric: &Metric, scheme: usize, point: usize) -> Estimate {
        stats::estimate(&self.runs(scheme, point).iter().map(metric.of).collect::<Vec<_>>())
    }

    /// Changes from scheme `against` to `scheme` at a point, one per seed, in percent of the mean
    /// of `against`; see [`stats::relative_differences`].
    fn changes(&self, metric: &Metric, scheme: usize, against: usize, point: usize) -> Vec<f64> {
        let values = |scheme| self.runs(scheme, point).iter().map(metric.of);
        stats::relative_differences(&values(against).zip(values(scheme)).collect::<Vec<_>>())
    }

    /// Mean change at a point with its confidence interval, in percent.
    pub fn change(&self, metric: &Metric, scheme: usize, against: usize, point: usize) -> Estimate {
        stats::estimate(&self.changes(metric, scheme, against, point))
    }

    /// Summary of the change from scheme `against` to `scheme` over a group of points.
    pub fn grid_summary(&self, metric: &Metric, scheme: usize, against: usize, group: Group) -> GridSummary {
        let points: Vec<usize> = self.points_of(group).collect();
        let changes: Vec<Vec<f64>> =
            points.iter().map(|&point| self.changes(metric, scheme, against, point)).collect();
        let seeds = changes.iter().map(Vec::len).min().unwrap_or(0);
        let medians: Vec<f64> = (0..seeds)
            .map(|seed| stats::median(&changes.iter().map(|point| point[seed]).collect::<Vec<_>>()))
            .collect();
        let means: Vec<Estimate> = changes.iter().map(|point| stats::estimate(point)).collect();
        let good = if metric.more_is_better { 1.0 } else { -1.0 };
        let count = |holds: &dyn Fn(&Estimate) -> bool| means.iter().filter(|mean| holds(mean)).count();
        let significant = |sign: f64| count(&|e: &Estimate| e.ci95.is_finite() && sign * e.mean > e.ci95);
        GridSummary {
            median: stats::estimate(&medians),
            range: (
                means.iter().map(|e| e.mean).fold(f64::INFINITY, f64::min),
                means.iter().map(|e| e.mean).fold(f64::NEG_INFINITY, f64::max),
            ),
            points: points.len(),
            reached: metric.paper_percent.map(|paper| count(&|e: &Estimate| good * e.mean >= good * paper)),
            better: significant(good),
            worse: significant(-good),
        }
    }

    /// Indices of a group's points.
    pub fn points_of(&self, group: Group) -> impl Iterator<Item = usize> {
        let background = self.background();
        (0..self.grid.len()).filter(move |&i| group.contains(&self.grid[i], background))
    }

    /// Mean of a value over the points where every scheme runs, over the seeds that every scheme
    /// has.
    pub fn common_mean(&self, of: impl Fn(&Run) -> f64, scheme: usize) -> Estimate {
        let points: Vec<&[Run]> = self.common().map(|i| self.runs(scheme, i)).collect();
        let seeds =
            (self.reduced_seeds as usize).min(points.iter().map(|runs| runs.len()).min().unwrap_or(0));
        let means: Vec<f64> = (0..seeds)
            .map(|seed| stats::mean(&points.iter().map(|runs| of(&runs[seed])).collect::<Vec<_>>()))
            .collect();
        stats::estimate(&means)
    }

    /// Change from the baseline to a scheme at the common points of a group: means over the points
    /// of each seed, in percent. The second estimate is the scheme's mean itself.
    pub fn common_change(&self, metric: &Metric, scheme: usize, group: Group) -> (Estimate, Estimate) {
        let background = self.background();
        let points: Vec<usize> =
            self.common().filter(|&i| group.contains(&self.grid[i], background)).collect();
        let over_points = |of: &dyn Fn(usize) -> Vec<f64>| {
            let all: Vec<Vec<f64>> = points.iter().map(|&point| of(point)).collect();
            let seeds = all.iter().map(Vec::len).min().unwrap_or(0);
            let mean = |seed: usize| stats::mean(&all.iter().map(|point| point[seed]).collect::<Vec<_>>());
            stats::estimate(&(0..seeds).map(mean).collect::<Vec<_>>())
        };
        let changes = over_points(&|point| self.changes(metric, scheme, 0, point));
        let values = over_points(&|point| self.runs(scheme, point).iter().map(metric.of).collect());
        (changes, values)
    }

    /// Median of a scheme's means over the points with one buffer.
    pub fn buffer_median(&self, metric: &Metric, scheme: usize, buffer_kb: u64) -> f64 {
        let means: Vec<f64> = (0..self.grid.len())
            .filter(|&i| self.grid[i].buffer_kb == buffer_kb && self.grid[i].background == self.background())
            .map(|i| self.estimate(metric, scheme, i).mean)
            .collect();
        stats::median(&means)
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Work;
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

    /// Two schemes at three points, the first two with 64 KB: goodput by scheme, point and seed.
    fn reproduction(goodput: [[[f64; 3]; 3]; 2]) -> Reproduction {
        let point = |buffer_kb, average| GridPoint {
            buffer_kb,
            loss: LossKind::Uniform,
            average,
            background: Background::Datagrams,
        };
        Reproduction {
            seeds: 3,
            reduced_seeds: 3,
            duration: Duration::from_secs(1),
            grid: vec![point(64, 0.01), point(64, 0.02), point(512, 0.01)],
            schemes: schemes::standard(),
            runs: goodput.map(|points| points.map(|seeds| seeds.map(run).to_vec()).to_vec()).to_vec(),
            shown: Vec::new(),
        }
    }

    #[test]
    fn changes_and_medians_are_paired_by_seed() {
        // Change of 100 % at the first point, 10 % at the second, -50 % at the third.
        let base = [[1.0, 2.0, 3.0], [10.0, 10.0, 10.0], [4.0, 4.0, 4.0]];
        let other = [[3.0, 4.0, 5.0], [11.0, 11.0, 11.0], [2.0, 2.0, 2.0]];
        let result = reproduction([base, other]);
        let metric = Metric::GOODPUT;
        // The residuals from twice the base are 1, 0 and -1, half of the mean of the base.
        assert_eq!(result.change(&metric, 1, 0, 0).mean, 100.0);
        assert_eq!(result.change(&metric, 1, 0, 0).ci95, stats::estimate(&[150.0, 100.0, 50.0]).ci95);
        let all = result.grid_summary(&metric, 1, 0, Group::All);
        // The median of each seed is 10 %.
        assert!((all.median.mean - 10.0).abs() < 1e-9 && all.median.ci95 < 1e-9, "{all:?}");
        assert_eq!((all.range, all.points, all.reached), ((-50.0, 100.0), 3, Some(1)));
        // The first point is not significant: its interval is 124 %.
        assert_eq!((all.better, all.worse), (1, 1));
        let small = result.grid_summary(&metric, 1, 0, Group::Small);
        assert_eq!((small.points, small.worse), (2, 0));
        // The medians of the seeds are 80, 55 and 30 %.
        assert!((small.median.mean - 55.0).abs() < 1e-9);
    }

    #[test]
    fn scheme_compared_with_itself_has_no_change() {
        let same = [[1.0, 2.0, 3.0], [10.0, 11.0, 12.0], [4.0, 5.0, 6.0]];
        let all = reproduction([same, same]).grid_summary(&Metric::GOODPUT, 1, 0, Group::All);
        assert_eq!((all.median.mean, all.better, all.worse, all.reached), (0.0, 0, 0, Some(0)));
    }
}
