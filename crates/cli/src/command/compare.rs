//! `tandem compare`.

use crate::arguments::Compare;
use crate::command::run::does_not_fit;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::{self, Talk};
use crate::{input, progress};
use std::path::Path;
use study::compare::{Options, compare};
use study::parallel;

pub(crate) fn run(arguments: &Compare, talk: Talk) -> Result<(), Failure> {
    for (i, policy) in arguments.policies.iter().enumerate() {
        if arguments.policies[..i].contains(policy) {
            return Err(Failure::Usage {
                message: format!("--policies: `{policy}` is there twice"),
                hint: "name each policy once; `emtcp:0.1,emtcp:0.4` are two".to_owned(),
            });
        }
    }
    let scenario = input::scenario(&arguments.scenario)?;
    let default = Path::new("tandem-out").join(format!("{}-compare", input::stem(&arguments.scenario)));
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let options = Options {
        policies: arguments.policies.clone(),
        seeds: arguments.seeds,
        jobs: parallel::jobs(arguments.jobs),
    };

    let runs = options.policies.len() as u64 * u64::from(options.seeds);
    let bar = progress::bar(talk, runs, "comparing");
    let comparison = compare(&scenario, &options, &|done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let comparison = comparison.map_err(|error| does_not_fit("--policies", &error))?;

    let json = comparison.to_json();
    let (result, page) = (output::pretty(&json), comparison.page().to_html());
    folder.write(&[
        ("result.json", result.as_bytes()),
        ("runs.csv", comparison.runs_table().to_csv().as_bytes()),
        ("report.html", page.as_bytes()),
    ])?;
    let csv = || comparison.long_table().to_csv();
    let printed = output::print(talk, arguments.format, &comparison.tables(), &json, csv);
    talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
    printed
}
