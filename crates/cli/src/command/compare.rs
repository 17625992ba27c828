//! `tandem compare`.

use crate::arguments::{Compare, Variation};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::{self, Terminal};
use crate::{input, progress};
use experiments::compare::{Case, Options, compare};
use experiments::parallel;
use policy::PolicyConfig;
use scenario::{Scenario, Setting};
use std::path::Path;

pub(crate) fn run(arguments: &Compare, terminal: Terminal) -> Result<(), Failure> {
    let scenario = input::scenario(&arguments.scenario, &[])?;
    let default = Path::new("tandem-out").join(format!("{}-compare", input::stem(&arguments.scenario)));
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let options = Options {
        cases: cases(arguments, &scenario)?,
        seeds: arguments.seeds,
        jobs: parallel::jobs(arguments.jobs),
    };

    let runs = options.cases.len() as u64 * u64::from(options.seeds);
    let bar = progress::bar(terminal, runs, "comparing");
    let comparison = compare(&scenario, &options, &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let comparison = comparison.map_err(|error| Failure::policy("--policies", &error))?;

    terminal.warn(comparison.warnings());
    let json = comparison.to_json();
    let (result, page) = (output::pretty(&json), comparison.page().to_html());
    folder.write(&[
        ("result.json", result.as_bytes()),
        ("runs.csv", comparison.runs_table().to_csv().as_bytes()),
        ("report.html", page.as_bytes()),
    ])?;
    let csv = || comparison.long_table().to_csv();
    let printed = output::print(terminal, arguments.format, &comparison.tables(), &json, csv);
    terminal.note(&format!("\nreport: {}", folder.file("report.html").display()));
    printed
}

/// Every policy with every combination of values; the last key varies fastest.
fn cases(arguments: &Compare, scenario: &Scenario) -> Result<Vec<Case>, Failure> {
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
            settings => input::apply(&arguments.scenario, scenario, "--vary", settings)?,
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
