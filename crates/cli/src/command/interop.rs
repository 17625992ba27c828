//! `tandem interop`.

use crate::arguments::Interop;
use crate::failure::Failure;
use crate::output::{self, Terminal};
use crate::progress;
use interop::{Case, Kind, cases, matrix, run_all};
use linux::namespace::Namespace;
use std::fmt::Write as _;

pub(crate) fn run(arguments: &Interop, terminal: Terminal) -> Result<(), Failure> {
    let chosen = |case: &Case| {
        let name = case.to_string();
        arguments.words.iter().all(|word| name.contains(word.as_str()))
    };
    let cases: Vec<Case> = cases().into_iter().filter(chosen).collect();
    if cases.is_empty() {
        return Err(Failure::Usage {
            message: "no case has a name with all of these words".to_owned(),
            hint: "`tandem interop --list` prints the names".to_owned(),
        });
    }
    if arguments.list {
        let mut names = String::new();
        for case in &cases {
            _ = writeln!(names, "{case}");
        }
        return output::write(&names);
    }
    if cases.iter().any(|case| case.client == Kind::Linux || case.server == Kind::Linux) {
        // Without privileges every case would fail with the same error.
        Namespace::create().map_err(|error| Failure::MissingRequirement {
            message: error.to_string(),
            hint: "`sudo tandem interop`; without root: `tandem interop tandem-tandem`".to_owned(),
        })?;
    }
    let bar = progress::bar(terminal, cases.len() as u64, "cases");
    bar.tick();
    let outcomes = run_all(&cases, arguments.jobs.get(), |_| bar.inc(1));
    bar.finish_and_clear();
    let mut text = matrix(&outcomes);
    let failed: Vec<_> = outcomes.iter().filter(|outcome| outcome.error.is_some()).collect();
    for outcome in &failed {
        _ = writeln!(text, "{}: {}", outcome.case, outcome.error.as_deref().unwrap_or_default());
    }
    _ = writeln!(text, "{} cases, {} failed", outcomes.len(), failed.len());
    output::write(&text)?;
    if failed.is_empty() { Ok(()) } else { Err(Failure::Reported { code: 1 }) }
}
