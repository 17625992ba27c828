//! `tandem compare`.

use crate::arguments::Compare;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input::Input;
use crate::output::{self, Terminal};
use crate::progress::RunsBar;
use crate::provenance::Provenance;
use crate::{cases, signals};
use experiments::compare::{Case, Comparison, Control, Options, compare};
use experiments::parallel;
use scenario::Scenario;
use std::path::Path;

pub(crate) fn run(arguments: &Compare, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let inputs: Vec<Input> =
        Input::read_all(&arguments.scenarios)?.into_iter().map(Input::of_several_devices).collect();
    let scenarios: Vec<Scenario> = inputs
        .iter()
        .map(|input| input.scenario_of(&arguments.set, arguments.duration))
        .collect::<Result<_, _>>()?;
    check_numbers_of_devices(&scenarios)?;
    if arguments.series && scenarios.iter().any(|scenario| scenario.crowd.is_some()) {
        return Err(Failure::Usage {
            message: "--series: runs of several devices have no common series".to_owned(),
            hint: "`tandem run` writes the load of the cells over time to series.csv".to_owned(),
        });
    }
    let cases = cases::cases(arguments, &inputs, &scenarios)?;
    let made_by = provenance(arguments, &inputs, &scenarios, &cases);
    let default = Path::new("tandem-out").join(format!("{}-compare", inputs[0].stem()));
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?.made_by(&made_by);
    let jobs = parallel::jobs(arguments.jobs);
    let options = Options { cases, seeds: arguments.seeds, jobs, series: arguments.series };

    let stop = signals::interrupt_flag()?;
    let durations: Vec<f64> =
        options.cases.iter().map(|case| case.scenario.experiment.duration.as_secs_f64()).collect();
    let bar = RunsBar::new(terminal, &durations, arguments.seeds as usize, jobs);
    let control = Control { progress: &|progress| bar.report(progress), stop: &stop };
    let comparison = compare(&scenarios, &options, control);
    bar.finish();
    let comparison = comparison.map_err(|error| Failure::policy("--policies", &error))?;
    if comparison.finished() == 0 {
        return Err(Failure::interrupted("before any run was finished; nothing was written"));
    }
    deliver(arguments, terminal, &comparison, &made_by, folder)?;
    if comparison.is_complete() {
        return Ok(());
    }
    Err(Failure::interrupted(&format!(
        "after {} of {} runs; their results are written",
        comparison.finished(),
        comparison.planned()
    )))
}

/// Rejects scenarios of one device beside others of several: they have no figures in common.
fn check_numbers_of_devices(scenarios: &[Scenario]) -> Result<(), Failure> {
    let several = scenarios.iter().filter(|scenario| scenario.crowd.is_some()).count();
    if several == 0 || several == scenarios.len() {
        return Ok(());
    }
    Err(Failure::Usage {
        message: "scenarios of one device and of several have no figures in common".to_owned(),
        hint: "compare either kind with its own, or write the one device as `[[device]]` with `count = 1`"
            .to_owned(),
    })
}

/// Writes the directory and prints the tables.
fn deliver(
    arguments: &Compare,
    terminal: Terminal,
    comparison: &Comparison,
    made_by: &Provenance,
    folder: Folder,
) -> Result<(), Failure> {
    terminal.warn(comparison.warnings());
    let mut json = comparison.to_json();
    made_by.put_into(&mut json);
    let page = made_by.add_to(comparison.page());
    let (result, report) = (output::pretty(&json), page.to_html());
    let runs = made_by.id_column(comparison.runs_table()).to_csv();
    let series = arguments.series.then(|| made_by.id_in_series(&comparison.series_csv()));
    let mut files = vec![
        ("result.json", result.as_bytes()),
        ("runs.csv", runs.as_bytes()),
        ("report.html", report.as_bytes()),
    ];
    files.extend(series.iter().map(|series| ("series.csv", series.as_bytes())));
    let folder = if comparison.is_complete() { folder } else { folder.incomplete() };
    // Printed even if it cannot be written.
    let written = folder.write(&files);
    let csv = || made_by.columns(comparison.long_table()).to_csv();
    let printed = arguments.plot.print_or(&page, terminal, || {
        output::print(terminal, arguments.format, &comparison.tables(), &json, csv)
    });
    written?.announce(terminal);
    arguments.plot.write(&page, terminal)?;
    printed
}

fn provenance(arguments: &Compare, inputs: &[Input], scenarios: &[Scenario], cases: &[Case]) -> Provenance {
    let policies: Vec<String> = arguments.policies.iter().map(ToString::to_string).collect();
    let made_by = inputs.iter().fold(Provenance::new("compare"), Provenance::scenario);
    cases
        .iter()
        .fold(made_by, |made_by, case| made_by.files_of(&case.scenario))
        .files_of_policies(&arguments.policies)
        .seed(scenarios[0].experiment.seed)
        .option("--policies", (!policies.is_empty()).then(|| policies.join(",")))
        .option("--vary", &arguments.vary)
        .option("--vary-together", &arguments.vary_together)
        .option("--set", &arguments.set)
        .option("--duration", arguments.duration)
        .option("--seeds", [arguments.seeds])
        .flag("--series", arguments.series)
}
