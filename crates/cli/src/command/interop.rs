//! `tandem interop`.

mod hostile;

use crate::arguments::Interop;
use crate::failure::Failure;
use crate::output::{self, Terminal};
use crate::progress;
use interop::{CROWD, Case, Crowd, Kind, cases, crowds, long_cases, matrix, play_crowd, run_all};
use linux::kernel_log::KernelLog;
use linux::namespace::Namespace;
use std::fmt::{Display, Write as _};
use std::time::Instant;

pub(crate) fn run(arguments: &Interop, terminal: Terminal) -> Result<(), Failure> {
    if let Some(count) = arguments.hostile {
        require_root("`sudo tandem interop --hostile N`")?;
        return hostile::run(arguments.first, count.get(), terminal);
    }
    let is_chosen = |name: &dyn Display| {
        let name = name.to_string();
        arguments.words.iter().all(|word| name.contains(word.as_str()))
    };
    let all = if arguments.long { long_cases() } else { cases() };
    let cases: Vec<Case> = all.into_iter().filter(|case| is_chosen(case)).collect();
    let crowds: Vec<Crowd> =
        crowds().into_iter().filter(|crowd| arguments.long && is_chosen(crowd)).collect();
    if cases.is_empty() && crowds.is_empty() {
        return Err(Failure::Usage {
            message: "no case has a name with all of these words".to_owned(),
            hint: "`tandem interop --list` prints the names".to_owned(),
        });
    }
    if arguments.list {
        let mut names = String::new();
        for name in cases.iter().map(|case| case as &dyn Display).chain(crowds.iter().map(|crowd| crowd as _))
        {
            _ = writeln!(names, "{name}");
        }
        return output::write(&names);
    }
    let mut hosts = cases.iter().flat_map(|case| [case.client, case.server]);
    let mut of_crowds = crowds.iter().flat_map(|crowd| [crowd.client, crowd.server]);
    let has_kernel = hosts.any(|kind| kind == Kind::Linux) || of_crowds.any(|kind| kind == Kind::Linux);
    if has_kernel {
        // Without privileges every case would fail with the same error.
        require_root("`sudo tandem interop`; without root: `tandem interop tandem-tandem`")?;
    }
    let log = has_kernel.then(KernelLog::open);
    let (mut text, mut failed) = (String::new(), 0);
    if !cases.is_empty() {
        failed += play_cases(&cases, arguments.jobs.get(), terminal, &mut text);
    }
    failed += play_crowds(&crowds, terminal, &mut text);
    match log.map(|log| log.and_then(|mut log| log.defects())) {
        None => {}
        Some(Ok(defects)) => {
            failed += defects.len();
            for defect in defects {
                _ = writeln!(text, "kernel log: {defect}");
            }
        }
        Some(Err(error)) => _ = writeln!(text, "kernel log: not checked ({error})"),
    }
    _ = writeln!(text, "{} cases, {failed} failed", cases.len() + crowds.len());
    output::write(&text)?;
    if failed == 0 { Ok(()) } else { Err(Failure::Reported { code: 1 }) }
}

fn require_root(hint: &str) -> Result<(), Failure> {
    Namespace::create()
        .map(drop)
        .map_err(|error| Failure::MissingRequirement { message: error.to_string(), hint: hint.to_owned() })
}

/// Plays cases, describes them in `text`, and returns the number of those that failed.
fn play_cases(cases: &[Case], jobs: usize, terminal: Terminal, text: &mut String) -> usize {
    let bar = progress::bar(terminal, cases.len() as u64, "cases");
    bar.tick();
    let outcomes = run_all(cases, jobs, |_| bar.inc(1));
    bar.finish_and_clear();
    *text += &matrix(&outcomes);
    let mut failed = 0;
    for outcome in &outcomes {
        if let Some(error) = &outcome.error {
            failed += 1;
            _ = writeln!(text, "{}: {error}", outcome.case);
        }
    }
    failed
}

/// Plays crowds as [`play_cases`] does cases.
fn play_crowds(crowds: &[Crowd], terminal: Terminal, text: &mut String) -> usize {
    let bar = progress::bar(terminal, crowds.len() as u64, "crowds");
    let mut failed = 0;
    for crowd in crowds {
        let start = Instant::now();
        let result = play_crowd(crowd);
        failed += usize::from(result.is_err());
        let outcome = match result {
            Ok(()) => format!("ok, {:.1} s", start.elapsed().as_secs_f64()),
            Err(error) => error,
        };
        _ = writeln!(text, "{crowd}: {CROWD} connections at once: {outcome}");
        bar.inc(1);
    }
    bar.finish_and_clear();
    failed
}
