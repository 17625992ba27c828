//! `tandem compare`.

use crate::arguments::{Compare, Variation};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input::Input;
use crate::output::{self, Terminal};
use crate::progress;
use crate::provenance::Provenance;
use experiments::compare::{Case, Options, compare};
use experiments::parallel;
use policy::PolicyConfig;
use scenario::{Scenario, Setting};
use std::path::Path;

pub(crate) fn run(arguments: &Compare, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let input = Input::read(&arguments.scenario)?;
    let scenario = input.scenario(&[])?;
    let default = Path::new("tandem-out").join(format!("{}-compare", input.stem()));
    let cases = cases(arguments, &input, &scenario)?;
    let made_by = cases
        .iter()
        .fold(Provenance::new("compare").scenario(&input), |made_by, case| made_by.files_of(&case.scenario))
        .seed(scenario.experiment.seed)
        .option("--policies", list(&arguments.policies))
        .option("--vary", arguments.vary.iter().map(ToString::to_string))
        .option("--seeds", [arguments.seeds]);
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?.made_by(&made_by);
    let options = Options { cases, seeds: arguments.seeds, jobs: parallel::jobs(arguments.jobs) };

    let runs = options.cases.len() as u64 * u64::from(options.seeds);
    let bar = progress::bar(terminal, runs, "comparing");
    let comparison = compare(&scenario, &options, &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let comparison = comparison.map_err(|error| Failure::policy("--policies", &error))?;

    terminal.warn(comparison.warnings());
    let mut json = comparison.to_json();
    made_by.put_into(&mut json);
    let page = comparison.page();
    let (result, report) = (output::pretty(&json), page.to_html());
    let written = folder.write(&[
        ("result.json", result.as_bytes()),
        ("runs.csv", made_by.id_column(comparison.runs_table()).to_csv().as_bytes()),
        ("report.html", report.as_bytes()),
    ])?;
    let csv = || made_by.columns(comparison.long_table()).to_csv();
    let printed = arguments.plot.print_or(&page, terminal, || {
        output::print(terminal, arguments.format, &comparison.tables(), &json, csv)
    });
    written.announce(terminal);
    arguments.plot.write(&page, terminal)?;
    printed
}

/// The policies as on the command line, if there are any.
fn list(policies: &[PolicyConfig]) -> Option<String> {
    let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| names.join(","))
}

/// Every policy with every combination of values; the last key varies fastest.
fn cases(arguments: &Compare, input: &Input, scenario: &Scenario) -> Result<Vec<Case>, Failure> {
    let mut combinations: Vec<Vec<Setting>> = vec![Vec::new()];
    for Variation(settings) in &arguments.vary {
        combinations = combinations
            .iter()
            .flat_map(|list| settings.iter().map(move |one| list.iter().chain([one]).cloned().collect()))
            .collect();
    }
    let policies: Vec<Option<PolicyConfig>> = match arguments.policies.as_slice() {
        [] => vec![None],
        policies => policies.iter().cloned().map(Some).collect(),
    };
    let mut cases: Vec<Case> = Vec::new();
    for settings in combinations {
        let scenario = match settings.as_slice() {
            [] => scenario.clone(),
            settings => input.apply(scenario, "--vary", settings)?,
        };
        for policy in &policies {
            let case =
                Case { scenario: scenario.clone(), settings: settings.clone(), policy: policy.clone() };
            if cases.iter().any(|other| other.name() == case.name()) {
                return Err(Failure::Usage {
                    message: format!("`{}` is given twice", case.name()),
                    hint:
                        "give each policy and each value once; `emtcp:0.1,emtcp:0.4` are different policies"
                            .to_owned(),
                });
            }
            cases.push(case);
        }
    }
    Ok(cases)
}
