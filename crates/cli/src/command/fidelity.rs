//! `tandem fidelity`.

use crate::arguments::Fidelity;
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use crate::{kernel, progress, signals};
use experiments::fidelity::{Case, CaseResult, Measurements, Recorded, cases, measured};
use experiments::parallel;
use scenario::InputFile;
use sim::Outcome;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    let (kernel, release, runs) = match earlier {
        Some(Earlier { recorded, .. }) => {
            let figures = cases.iter().filter_map(|case| recorded.figures(case).cloned()).collect();
            (figures, recorded.release, recorded.runs)
        }
        None => (
            measure_kernel(arguments, &cases, &stop, terminal)?,
            linux::clock::kernel_release(),
            u64::from(arguments.runs),
        ),
    };
    let simulated = simulate(arguments, &cases, terminal);
    let compared = cases.into_iter().zip(simulated).zip(kernel);
    let fidelity = experiments::fidelity::Fidelity {
        compared: compared
            .map(|((case, simulated), kernel)| CaseResult { case, simulated, kernel })
            .collect(),
        release,
        runs: [u64::from(arguments.seeds), runs],
    };

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

/// Each run of each scenario is a job with its own seed, from which the links draw losses.
fn measure_kernel(
    arguments: &Fidelity,
    cases: &[Case],
    stop: &Arc<AtomicBool>,
    terminal: Terminal,
) -> Result<Vec<Measurements>, Failure> {
    // The emulator and both ends of a scenario need two cores.
    let half = NonZeroUsize::new(parallel::jobs(None).get() / 2).unwrap_or(NonZeroUsize::MIN);
    let jobs = arguments.jobs.unwrap_or(half);
    let runs: Vec<(&Case, u64)> =
        cases.iter().flat_map(|case| (0..u64::from(arguments.runs)).map(move |run| (case, run))).collect();
    let bar = progress::bar(terminal, runs.len() as u64, "on the kernel");
    bar.tick();
    let outcomes = parallel::map(jobs, &runs, &|done| bar.set_position(done as u64), |(case, run)| {
        run_on_kernel(case, *run, stop)
    });
    bar.finish_and_clear();
    let outcomes: Vec<Outcome> = outcomes.into_iter().collect::<Result<_, _>>()?;
    Ok(outcomes.chunks(arguments.runs as usize).map(Measurements::of).collect())
}

fn simulate(arguments: &Fidelity, cases: &[Case], terminal: Terminal) -> Vec<Measurements> {
    let bar = progress::bar(terminal, cases.len() as u64, "in simulation");
    let cores = parallel::jobs(None);
    let simulated = parallel::map(cores, cases, &|done| bar.set_position(done as u64), |case| {
        let outcomes = (0..u64::from(arguments.seeds)).map(|run| simulate_once(case, run));
        Measurements::of(&outcomes.collect::<Vec<Outcome>>())
    });
    bar.finish_and_clear();
    simulated
}

/// A run with its own seed, whose connections begin `run` milliseconds later: those of the kernel do
/// not begin at one instant either. Over links that vary a millisecond decides which segment is lost.
fn simulate_once(case: &Case, run: u64) -> Outcome {
    let seed = Seed::new(case.scenario.experiment.seed.get() + run);
    let mut experiment = case.scenario.with_seed(seed);
    for traffic in &mut experiment.traffic {
        traffic.start += Duration::from_millis(run);
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
        let text = fs::read_to_string(path).map_err(|error| unreadable(reason(&error)))?;
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
        .flag("--traces", arguments.traces.is_some())
}

fn selected_cases(arguments: &Fidelity) -> Result<Vec<Case>, Failure> {
    let mut all = cases();
    if let Some(folder) = &arguments.traces {
        let read = |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| error.to_string());
        let measured_cases = measured(&read);
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

/// Runs a case on the kernel. A failure stops the other runs.
fn run_on_kernel(case: &Case, run: u64, stop: &Arc<AtomicBool>) -> Result<Outcome, Failure> {
    let seed = Seed::new(case.scenario.experiment.seed.get() + run);
    let ran = testbed::run(&case.scenario.with_seed(seed), stop, &mut |_| {});
    ran.map(|ran| ran.outcome).map_err(|error| {
        stop.store(true, Ordering::Relaxed);
        kernel::failure(&error)
    })
}
