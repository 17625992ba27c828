//! `tandem fidelity`.

use crate::arguments::Fidelity;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use crate::{kernel, progress, signals};
use experiments::fidelity::{Case, CaseResult, Measurements, Recorded, cases, measured};
use experiments::{files, parallel};
use scenario::InputFile;
use sim::Outcome;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use units::{Duration, Seed};

pub(crate) fn run(arguments: &Fidelity, terminal: Terminal) -> Result<(), Failure> {
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(Path::new("tandem-out/fidelity")))?;
    let mut cases = selected_cases(arguments)?;
    let earlier = arguments.kernel.as_deref().map(Earlier::read).transpose()?;
    if let Some(earlier) = &earlier {
        earlier.keep_known(&mut cases, terminal)?;
    }
    let made_by = provenance(arguments, &cases, earlier.as_ref());
    let folder = folder.made_by(&made_by);
    let stop = signals::stop_flag()?;
    // Only figures from a file are still there after a stop; what this run has measured is not.
    let may_stop = earlier.is_some();
    let (kernel, release, runs, failure) = if let Some(Earlier { recorded, .. }) = earlier {
        let figures = cases.iter().map(|case| recorded.figures(case).cloned()).collect();
        (figures, recorded.release, recorded.runs, None)
    } else {
        let (figures, failure) = measure_kernel(arguments, &cases, &stop, terminal);
        (figures, linux::clock::kernel_release(), u64::from(arguments.runs), failure)
    };
    let planned = cases.len();
    let measured: Vec<(Case, Measurements)> =
        cases.into_iter().zip(kernel).filter_map(|(case, figures)| Some((case, figures?))).collect();
    let finished = measured.len();
    if finished == 0 {
        return Err(failure.unwrap_or_else(|| {
            Failure::interrupted("before any scenario was finished; nothing was written")
        }));
    }
    let compared = simulate(arguments, measured, may_stop.then_some(&*stop), terminal)
        .ok_or_else(|| Failure::interrupted("; nothing was written"))?;
    let runs = [u64::from(arguments.seeds), runs];
    let fidelity = experiments::fidelity::Fidelity { compared, release, runs };
    let folder = if finished == planned { folder } else { folder.incomplete() };
    deliver(arguments, &fidelity, &made_by, &folder, terminal)?;
    match failure {
        Some(failure) => Err(failure),
        None if finished < planned => Err(Failure::interrupted(&format!(
            "after {finished} of {planned} scenarios; their results are written"
        ))),
        None => Ok(()),
    }
}

fn deliver(
    arguments: &Fidelity,
    fidelity: &experiments::fidelity::Fidelity,
    made_by: &Provenance,
    folder: &Folder,
    terminal: Terminal,
) -> Result<(), Failure> {
    let mut json = fidelity.to_json();
    made_by.put_into(&mut json);
    let (text, page) = (output::pretty(&json), made_by.add_to(fidelity.page()).to_html());
    let written = folder.write(&[("result.json", text.as_bytes()), ("report.html", page.as_bytes())]);
    let tables = fidelity.tables();
    let printed = output::print(terminal, arguments.format, &tables, &json, || {
        made_by.columns(tables[0].clone()).to_csv()
    });
    written?.announce(terminal);
    printed
}

/// Figures of each scenario whose runs have all finished, and the failure that ended the others. Each
/// run is a job with its own seed, from which the links draw losses.
fn measure_kernel(
    arguments: &Fidelity,
    cases: &[Case],
    stop: &Arc<AtomicBool>,
    terminal: Terminal,
) -> (Vec<Option<Measurements>>, Option<Failure>) {
    let jobs = kernel_jobs(arguments);
    let runs: Vec<(&Case, u64)> =
        cases.iter().flat_map(|case| (0..u64::from(arguments.runs)).map(move |run| (case, run))).collect();
    let bar = progress::bar(terminal, runs.len() as u64, "on the kernel");
    bar.tick();
    let failure = Mutex::new(None);
    let outcomes = parallel::map_until(jobs, &runs, |_, (case, run)| {
        match testbed::run(&case.scenario.with_seed(seed(case, *run)), stop, &mut |_| {}) {
            Ok(ran) => {
                bar.inc(1);
                Some(ran.outcome)
            }
            Err(error) => {
                // The runs beside a failed one are stopped: theirs is not the reason.
                if !matches!(error, testbed::Error::Stopped) {
                    failure.lock().expect("no thread panicked").get_or_insert(kernel::failure(&error));
                }
                stop.store(true, Ordering::Relaxed);
                None
            }
        }
    });
    bar.finish_and_clear();
    let figures = outcomes.chunks(arguments.runs as usize).map(|runs| {
        let runs: Option<Vec<Outcome>> = runs.iter().cloned().collect();
        runs.map(|runs| Measurements::of(&runs))
    });
    (figures.collect(), failure.into_inner().expect("no thread panicked"))
}

/// Scenarios at once: the emulator and both ends of one need two cores.
fn kernel_jobs(arguments: &Fidelity) -> NonZeroUsize {
    let half = NonZeroUsize::new(parallel::jobs(None).get() / 2).unwrap_or(NonZeroUsize::MIN);
    arguments.jobs.unwrap_or(half)
}

fn seed(case: &Case, run: u64) -> Seed {
    Seed::new(case.scenario.experiment.seed.get() + run)
}

/// Simulates each measured case. `None` if `stop` was set meanwhile.
fn simulate(
    arguments: &Fidelity,
    measured: Vec<(Case, Measurements)>,
    stop: Option<&AtomicBool>,
    terminal: Terminal,
) -> Option<Vec<CaseResult>> {
    let bar = progress::bar(terminal, measured.len() as u64, "in simulation");
    let stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    let simulated = parallel::map_until(parallel::jobs(None), &measured, |_, (case, _)| {
        let seeds = 0..u64::from(arguments.seeds);
        let outcomes = seeds.map(|run| (!stopped()).then(|| simulate_once(case, run)));
        let outcomes: Vec<Outcome> = outcomes.collect::<Option<_>>()?;
        bar.inc(1);
        Some(Measurements::of(&outcomes))
    });
    bar.finish_and_clear();
    let compared = measured.into_iter().zip(simulated);
    compared
        .map(|((case, kernel), simulated)| Some(CaseResult { case, simulated: simulated?, kernel }))
        .collect()
}

/// A run with its own seed, whose connections begin up to 9 ms later: those of the kernel do not
/// begin at one instant either. Over links that vary a millisecond decides which segment is lost.
fn simulate_once(case: &Case, run: u64) -> Outcome {
    let mut experiment = case.scenario.with_seed(seed(case, run));
    for traffic in &mut experiment.traffic {
        traffic.start += Duration::from_millis(run % 10);
    }
    sim::run(&experiment)
}

/// The file of `--kernel`.
struct Earlier {
    recorded: Recorded,
    file: InputFile,
}

impl Earlier {
    fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let unreadable = |why: String| Failure::Unreadable {
            message: format!("--kernel: {name}: {why}"),
            hint: "it takes a result.json of `tandem fidelity`".to_owned(),
        };
        let text = files::read(path).map_err(unreadable)?;
        let recorded = Recorded::parse(&text).map_err(unreadable)?;
        let file = InputFile::new(name, text.as_bytes());
        Ok(Self { recorded, file })
    }

    /// Leaves out the scenarios that the kernel did not run.
    fn keep_known(&self, cases: &mut Vec<Case>, terminal: Terminal) -> Result<(), Failure> {
        let (selected, name) = (cases.len(), &self.file.name);
        cases.retain(|case| self.recorded.figures(case).is_some());
        if cases.is_empty() {
            return Err(Failure::Unreadable {
                message: format!("--kernel: {name} has none of the {selected} selected scenarios"),
                hint: "scenarios are compared by name and text; `sudo tandem fidelity` runs them".to_owned(),
            });
        }
        if cases.len() < selected {
            let left_out = selected - cases.len();
            terminal
                .note(&format!("{left_out} of {selected} scenarios are left out: they are not in {name}"));
        }
        Ok(())
    }
}

/// Everything that determines the results, apart from the kernel.
fn provenance(arguments: &Fidelity, cases: &[Case], earlier: Option<&Earlier>) -> Provenance {
    let mut made_by =
        cases.iter().fold(Provenance::new("fidelity"), |made_by, case| made_by.files_of(&case.scenario));
    if let Some(earlier) = earlier {
        made_by = made_by.file(earlier.file.clone());
    }
    made_by
        .option("--only", &arguments.only)
        .option("--runs", earlier.is_none().then_some(arguments.runs))
        .option("--seeds", [arguments.seeds])
        .option("--jobs", earlier.is_none().then(|| kernel_jobs(arguments)))
        .flag("--traces", arguments.traces.is_some())
}

fn selected_cases(arguments: &Fidelity) -> Result<Vec<Case>, Failure> {
    let mut all = cases();
    if let Some(folder) = &arguments.traces {
        let read = |file: &str| files::read(&folder.join(file));
        let has = |file: &str| folder.join(file).exists();
        let measured_cases = measured(&read, has).map_err(Failure::Input)?;
        if measured_cases.is_empty() {
            return Err(Failure::Unreadable {
                message: format!("{} contains none of the measured traces", folder.display()),
                hint: "expected pairs such as mpwl_7_1_wifi.csv and mpwl_7_1_cellular.csv".to_owned(),
            });
        }
        all.extend(measured_cases);
    }
    let wanted = arguments.only.as_deref().unwrap_or("");
    all.retain(|case| case.name.contains(wanted) || case.group.contains(wanted));
    if all.is_empty() {
        let names = cases().into_iter().map(|case| case.name).collect::<Vec<_>>().join("; ");
        return Err(Failure::Usage {
            message: format!("no scenario or group contains `{wanted}`"),
            hint: format!("the scenarios are: {names}"),
        });
    }
    Ok(all)
}
