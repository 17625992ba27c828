//! `tandem fidelity`.

use crate::arguments::Fidelity;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::{self, Terminal};
use crate::provenance::Provenance;
use crate::{kernel, progress, signals};
use experiments::fidelity::{Case, CaseResult, Measurements, cases, measured};
use experiments::parallel;
use sim::Outcome;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Seed;

pub(crate) fn run(arguments: &Fidelity, terminal: Terminal) -> Result<(), Failure> {
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(Path::new("tandem-out/fidelity")))?;
    let cases = selected_cases(arguments)?;
    let made_by = provenance(arguments, &cases);
    let folder = folder.made_by(&made_by);
    let stop = signals::stop_flag()?;
    let cores = parallel::jobs(None);
    // One scenario per core, so that scenarios do not slow down each other.
    let jobs = arguments.jobs.unwrap_or(cores);
    // Each run of each scenario is a job with its own seed, from which the links draw losses.
    let runs: Vec<(&Case, u64)> =
        cases.iter().flat_map(|case| (0..u64::from(arguments.runs)).map(move |run| (case, run))).collect();
    let bar = progress::bar(terminal, runs.len() as u64, "on the kernel");
    bar.tick();
    let on_kernel = parallel::map(jobs, &runs, &|done| bar.set_position(done as u64), |(case, run)| {
        run_on_kernel(case, *run, &stop)
    });
    bar.finish_and_clear();
    let on_kernel: Vec<Outcome> = on_kernel.into_iter().collect::<Result<_, _>>()?;

    let bar = progress::bar(terminal, cases.len() as u64, "in simulation");
    let simulated = parallel::map(cores, &cases, &|done| bar.set_position(done as u64), |case| {
        let first = case.scenario.experiment.seed.get();
        let seeds = first..first + u64::from(arguments.seeds);
        let outcomes: Vec<Outcome> =
            seeds.map(|seed| sim::run(&case.scenario.with_seed(Seed::new(seed)))).collect();
        Measurements::of(&outcomes)
    });
    bar.finish_and_clear();
    let kernels = on_kernel.chunks(arguments.runs as usize).map(Measurements::of);
    let compared = cases.into_iter().zip(simulated).zip(kernels);
    let fidelity = experiments::fidelity::Fidelity {
        compared: compared
            .map(|((case, simulated), kernel)| CaseResult { case, simulated, kernel })
            .collect(),
        release: linux::clock::kernel_release(),
        runs: [u64::from(arguments.seeds), u64::from(arguments.runs)],
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

/// Everything that determines the results, apart from the kernel.
fn provenance(arguments: &Fidelity, cases: &[Case]) -> Provenance {
    let made_by =
        cases.iter().fold(Provenance::new("fidelity"), |made_by, case| made_by.files_of(&case.scenario));
    made_by
        .option("--only", &arguments.only)
        .option("--runs", [arguments.runs])
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
