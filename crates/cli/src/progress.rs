//! Progress bars on terminals.

use crate::output::Terminal;
use experiments::compare::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Steps of a bar over a share.
const STEPS: f64 = 1000.0;
/// Share from which a run that is under way says how long it takes.
const MIN_SHARE: f64 = 0.02;

/// A progress bar on stderr, hidden in pipes and with `--quiet`.
pub(crate) fn bar(terminal: Terminal, steps: u64, what: &str) -> ProgressBar {
    bar_with(terminal, steps, what, "{msg} {wide_bar} {percent:>3} %  {eta} left")
}

/// A bar over the share of one task, with the time left by that share.
pub(crate) fn share_bar(terminal: Terminal, what: &str) -> (ProgressBar, impl FnMut(f64) + use<>) {
    let bar = bar_with(terminal, STEPS as u64, what, "{msg} {wide_bar} {percent:>3} %  {prefix}");
    let (shown, begun) = (bar.clone(), Instant::now());
    (bar, move |share: f64| {
        if share >= MIN_SHARE {
            let left = begun.elapsed().mul_f64((1.0 - share).max(0.0) / share);
            shown.set_prefix(format!("{} left", in_words(left)));
        }
        shown.set_position((share * STEPS) as u64);
    })
}

fn bar_with(terminal: Terminal, steps: u64, what: &str, template: &str) -> ProgressBar {
    let target =
        if terminal.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(steps), target);
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style);
    bar.set_message(what.to_owned());
    bar
}

/// The bar of a comparison: "12 of 30 runs, 1 min 20 s left".
pub(crate) struct RunsBar {
    bar: ProgressBar,
    begun: Instant,
    work: Mutex<Work>,
}

impl RunsBar {
    /// A bar over runs of these simulated durations, by case, with every seed.
    pub(crate) fn new(terminal: Terminal, cases_s: &[f64], seeds: usize, jobs: NonZeroUsize) -> Self {
        let bar = bar_with(terminal, STEPS as u64, "comparing", "{msg} {wide_bar} {percent:>3} %  {prefix}");
        Self { bar, begun: Instant::now(), work: Mutex::new(Work::new(cases_s, seeds, jobs)) }
    }

    /// Takes the progress of a run.
    pub(crate) fn report(&self, progress: Progress) {
        let now = self.begun.elapsed();
        let Ok(mut work) = self.work.lock() else { return };
        work.report(progress, now);
        let left = work.left(now).map_or_else(String::new, |left| format!(", {} left", in_words(left)));
        self.bar.set_prefix(format!("{} of {} runs{left}", work.finished(), work.runs.len()));
        self.bar.set_position((work.share(now) * STEPS) as u64);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The bar of a sweep: "640 of 2000 runs, 3 min 20 s left".
pub(crate) struct SweepBar {
    bar: ProgressBar,
    begun: Instant,
    /// Runs that an earlier process finished.
    before: u64,
    runs: u64,
}

impl SweepBar {
    pub(crate) fn new(terminal: Terminal, before: u64, runs: u64) -> Self {
        let bar = bar_with(terminal, runs, "sweeping", "{msg} {wide_bar} {percent:>3} %  {prefix}");
        bar.set_position(before);
        Self { bar, begun: Instant::now(), before, runs }
    }

    /// Takes the number of runs that this process has finished.
    pub(crate) fn report(&self, done: u64) {
        let left = self.runs.saturating_sub(self.before + done);
        let time_left = self.begun.elapsed().mul_f64(left as f64 / done.max(1) as f64);
        let all = self.before + done;
        self.bar.set_prefix(format!("{all} of {} runs, {} left", self.runs, in_words(time_left)));
        self.bar.set_position(all);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Time that the runs of a comparison have taken and will take.
///
/// Cases differ in their speed, so a run takes the mean of the finished runs of its case; before
/// one is finished, the time of a running one over its share; before that, the mean of all other
/// cases per simulated second.
#[derive(Debug)]
struct Work {
    /// Simulated duration by case.
    cases_s: Vec<f64>,
    jobs: NonZeroUsize,
    runs: Vec<RunState>,
}

#[derive(Debug, Clone, Copy)]
struct RunState {
    case: usize,
    share: f64,
    begun: Duration,
    /// Time that the run took, once it is finished.
    took: Option<Duration>,
}

impl Work {
    fn new(cases_s: &[f64], seeds: usize, jobs: NonZeroUsize) -> Self {
        let run = |case| RunState { case, share: 0.0, begun: Duration::ZERO, took: None };
        let runs = (0..seeds).flat_map(|_| (0..cases_s.len()).map(run)).collect();
        Self { cases_s: cases_s.to_vec(), jobs, runs }
    }

    fn report(&mut self, progress: Progress, now: Duration) {
        let Some(run) = self.runs.get_mut(progress.run) else { return };
        if progress.share <= 0.0 {
            run.begun = now;
        }
        run.share = progress.share;
        if progress.share >= 1.0 {
            run.took = Some(now.saturating_sub(run.begun));
        }
    }

    fn finished(&self) -> usize {
        self.runs.iter().filter(|run| run.took.is_some()).count()
    }

    /// Estimated seconds of a run by case; `None` without any information.
    fn costs(&self, now: Duration) -> Option<Vec<f64>> {
        let mean =
            |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let known: Vec<Option<f64>> = (0..self.cases_s.len())
            .map(|case| {
                let own = || self.runs.iter().filter(move |run| run.case == case);
                let finished = own().filter_map(|run| Some(run.took?.as_secs_f64())).collect();
                let running = own()
                    .filter(|run| run.share >= MIN_SHARE)
                    .map(|run| now.saturating_sub(run.begun).as_secs_f64() / run.share)
                    .collect();
                mean(finished).or_else(|| mean(running))
            })
            .collect();
        let speeds = known.iter().zip(&self.cases_s).filter(|(_, seconds)| **seconds > 0.0);
        let speed = mean(speeds.filter_map(|(cost, seconds)| Some((*cost)? / seconds)).collect())?;
        Some(known.iter().zip(&self.cases_s).map(|(cost, s)| cost.unwrap_or(speed * s)).collect())
    }

    /// Estimated time until all runs are finished.
    fn left(&self, now: Duration) -> Option<Duration> {
        let costs = self.costs(now)?;
        let rest = |run: &RunState| costs[run.case] * (1.0 - run.share).max(0.0);
        let total: f64 = self.runs.iter().map(rest).sum();
        let longest = self.runs.iter().map(rest).fold(0.0, f64::max);
        Some(Duration::from_secs_f64((total / self.jobs.get() as f64).max(longest)))
    }

    /// Share of the work that is done, from 0 to 1.
    fn share(&self, now: Duration) -> f64 {
        let Some(costs) = self.costs(now) else { return 0.0 };
        let total: f64 = self.runs.iter().map(|run| costs[run.case]).sum();
        let done: f64 = self.runs.iter().map(|run| costs[run.case] * run.share).sum();
        if total > 0.0 { done / total } else { 0.0 }
    }
}

/// A time in words: `1 h 5 min`, `1 min 20 s`, `8 s`.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

    fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn time_left_weighs_runs_by_their_case() {
        // Two cases of 10 and 100 simulated seconds, with three seeds.
        let mut work = Work::new(&[10.0, 100.0], 3, JOBS);
        assert_eq!(work.left(at(0.0)), None);
        for run in 0..2 {
            work.report(Progress { run, case: run, share: 0.0 }, at(0.0));
        }
        work.report(Progress { run: 0, case: 0, share: 1.0 }, at(1.0));
        // The other case takes 10 s a run at this speed: 2 x 1 s and 3 x 10 s on two cores.
        assert_eq!(work.left(at(1.0)), Some(at(16.0)));
        // It is slower: half of the first run takes 10 s.
        work.report(Progress { run: 1, case: 1, share: 0.5 }, at(10.0));
        assert_eq!(work.left(at(10.0)), Some(at((2.0 + 10.0 + 40.0) / 2.0)));
        work.report(Progress { run: 1, case: 1, share: 1.0 }, at(20.0));
        assert_eq!((work.finished(), work.left(at(20.0))), (2, Some(at(21.0))));
        assert!((work.share(at(20.0)) - 21.0 / 63.0).abs() < 1e-9);
    }

    #[test]
    fn last_run_cannot_be_shared_by_cores() {
        let mut work = Work::new(&[10.0], 1, JOBS);
        work.report(Progress { run: 0, case: 0, share: 0.0 }, at(0.0));
        work.report(Progress { run: 0, case: 0, share: 0.25 }, at(2.0));
        assert_eq!(work.left(at(2.0)), Some(at(6.0)));
    }

    #[test]
    fn time_is_given_in_words() {
        assert_eq!(in_words(at(7.2)), "8 s");
        assert_eq!(in_words(at(80.0)), "1 min 20 s");
        assert_eq!(in_words(at(3900.0)), "1 h 5 min");
    }
}
