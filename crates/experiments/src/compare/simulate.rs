//! Runs every case with every seed, in parallel, until it is stopped.

use super::finished::Finished;
use super::page::code;
use super::{Case, Compared, Comparison, Options, delay, keys, metrics};
use crate::crowd::{self, CrowdFigures};
use crate::describe;
use crate::parallel;
use crate::run::prepare;
use crate::warnings::{self, Warning, World};
use core::ops::ControlFlow;
use policy::PolicyError;
use scenario::{Scenario, UsedTrace};
use sim::Experiment;
use std::sync::atomic::{AtomicBool, Ordering};
use units::{Duration, Seed};

/// Progress of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Index of the run: all cases with the first seed, then all with the second, and so on.
    pub run: usize,
    /// Index of its case.
    pub case: usize,
    /// Simulated share: 0 at the start, 1 at the end.
    pub share: f64,
}

/// Connection of a comparison to its caller.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Receives the progress of runs, from several threads.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Ends the comparison once it is true. Finished runs are kept.
    pub stop: &'a AtomicBool,
}

/// Runs every case with every seed. `scenarios` are the files without settings; the first gives
/// title and first seed.
///
/// # Errors
/// A policy does not fit the paths of its case.
pub fn compare(
    scenarios: &[Scenario],
    options: &Options,
    control: Control<'_>,
) -> Result<Comparison, PolicyError> {
    let first = scenarios.first().map_or(0, |scenario| scenario.experiment.seed.get());
    let seeds: Vec<Seed> =
        (0..u64::from(options.seeds.max(1))).map(|i| Seed::new(first.wrapping_add(i))).collect();
    let mut cases: Vec<Compared> =
        options.cases.iter().map(|case| prepare_case(case, seeds[0])).collect::<Result<_, _>>()?;
    // A stopped comparison has about the same number of seeds in every case.
    let work: Vec<(usize, usize)> =
        (0..seeds.len()).flat_map(|seed| (0..options.cases.len()).map(move |case| (case, seed))).collect();
    let outcomes = parallel::map_until(options.jobs, &work, |run, &(case, seed)| {
        let progress = |share| {
            (control.progress)(Progress { run, case, share });
            if control.stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        run_once(&options.cases[case], seeds[seed], seed == 0, options.series, &progress)
    });
    for ((case, _), outcome) in work.into_iter().zip(outcomes) {
        cases[case].outcomes.push(outcome);
    }
    let mut traces: Vec<UsedTrace> = Vec::new();
    for trace in options.cases.iter().flat_map(|case| case.scenario.traces_with_seed(seeds[0])) {
        if !traces.contains(&trace) {
            traces.push(trace);
        }
    }
    let of_crowd = crowd::metrics(options.cases.iter().map(|case| (&case.scenario, case.policy.as_ref())));
    let mut all = comparison(scenarios, seeds, cases);
    if !of_crowd.is_empty() {
        all.metrics = of_crowd.into_iter().map(metrics::Metric::of_crowd).collect();
    }
    Ok(Comparison { traces, ..all })
}

/// A case without outcomes.
fn prepare_case(case: &Case, seed: Seed) -> Result<Compared, PolicyError> {
    let plan = crowd::plan(&case.scenario, case.policy.as_ref())?;
    let crowd = plan.map(|plan| (plan.draw(seed), plan));
    let experiment = prepare(&case.scenario, Some(seed), case.policy.as_ref())?;
    Ok(Compared {
        name: case.name(),
        file: case.file.clone(),
        settings: case.settings.clone(),
        facts: match &crowd {
            Some((drawn, plan)) => crowd::facts(plan, drawn),
            None => describe::facts(&experiment),
        },
        of_crowd: crowd.map(|(drawn, plan)| warnings::of_crowd(&plan, &drawn)).unwrap_or_default(),
        experiment,
        outcomes: Vec::new(),
    })
}

/// One run; `None` if it was stopped. Only the first run of a case keeps its timelines, which are
/// drawn; series are kept if asked.
fn run_once(
    case: &Case,
    seed: Seed,
    is_first: bool,
    keeps_series: bool,
    progress: &dyn Fn(f64) -> ControlFlow<()>,
) -> Option<Finished> {
    if case.scenario.crowd.is_some() {
        return run_crowd(case, seed, progress);
    }
    let mut experiment =
        prepare(&case.scenario, Some(seed), case.policy.as_ref()).expect("the policy was checked before");
    if !is_first && !keeps_series {
        experiment.sample = Duration::ZERO;
    }
    // A comparison writes no captures.
    experiment.capture = false;
    if progress(0.0).is_break() {
        return None;
    }
    let mut outcome = sim::run_until(&experiment, &mut |share| progress(share))?;
    if !is_first {
        outcome.timelines.clear();
    }
    delay::keep_drawn_distributions(&mut outcome);
    // A finished run counts, also if it was to stop.
    let _ = progress(1.0);
    Some(Finished::Device(Box::new(outcome)))
}

/// One run of several devices; `None` if it was stopped.
fn run_crowd(case: &Case, seed: Seed, progress: &dyn Fn(f64) -> ControlFlow<()>) -> Option<Finished> {
    let plan = crowd::plan(&case.scenario, case.policy.as_ref());
    let devices = plan.expect("the policy was checked before")?.draw(seed);
    if progress(0.0).is_break() {
        return None;
    }
    let outcome = sim::run_crowd(&devices, &mut |share| progress(share))?;
    let _ = progress(1.0);
    Some(Finished::Crowd(CrowdFigures::of(&devices, &outcome)))
}

fn comparison(scenarios: &[Scenario], seeds: Vec<Seed>, cases: Vec<Compared>) -> Comparison {
    let experiments = cases.iter().map(|case| (case.name.as_str(), &case.experiment));
    let is_of_crowds = scenarios.iter().any(|scenario| scenario.crowd.is_some());
    let mut warnings = if is_of_crowds {
        warnings::merged(cases.iter().map(|case| (case.name.as_str(), case.of_crowd.clone())))
    } else {
        warnings::of_cases(experiments)
    };
    warnings.extend(equal_cases(&cases));
    let title = match scenarios {
        [] => String::new(),
        [one] => one.title.clone(),
        several => format!("{} scenarios", several.len()),
    };
    Comparison {
        title,
        description: scenarios.first().filter(|_| scenarios.len() == 1).and_then(|s| s.description.clone()),
        sources: scenarios.iter().map(|scenario| (scenario.title.clone(), scenario.source.clone())).collect(),
        repeats: seeds.len() > 1 && cases.iter().all(Compared::repeats),
        traces: Vec::new(),
        metrics: metrics::common(cases.iter().map(|case| &case.experiment)),
        keys: keys::keys(&cases),
        seeds,
        cases,
        warnings,
    }
}

/// A warning for each case whose runs equal those of an earlier case without another explanation.
fn equal_cases(cases: &[Compared]) -> Vec<Warning> {
    let equals = |a: &Compared, b: &Compared| {
        let mut pairs = a.outcomes.iter().zip(&b.outcomes).filter_map(|(a, b)| a.as_ref().zip(b.as_ref()));
        let mut pairs = pairs.by_ref().peekable();
        pairs.peek().is_some() && pairs.all(|(a, b)| a.equals(b))
    };
    let mut warnings = Vec::new();
    let unexplained = |case: &&Compared| {
        case.of_crowd.is_empty() && warnings::of(&case.experiment, World::Simulation).is_empty()
    };
    for (i, case) in cases.iter().enumerate().filter(|(_, case)| unexplained(case)) {
        let Some(first) = cases[..i].iter().find(|first| equals(first, case)) else { continue };
        let message =
            format!("{} and {} gave the same runs, byte for byte", code(&first.name), code(&case.name));
        warnings.push(Warning::new(message, reason_of_equality(&first.experiment, &case.experiment)));
    }
    warnings
}

/// The probable reason why two different experiments had the same outcome.
fn reason_of_equality(a: &Experiment, b: &Experiment) -> &'static str {
    if a.transport.config.scheduler == b.transport.config.scheduler {
        return "the varied settings have no effect on this traffic over these paths";
    }
    "these schedulers choose alike until a slow path would block the window or delay the end of the data: \
     try a smaller `transport.recv_buffer`, paths that differ more, or traffic of kind `file`"
}
