//! `tandem sweep`.

use crate::arguments::{DesignKind, Sweep as Arguments};
use crate::cases;
use crate::failure::{Failure, reason};
use crate::input::{Input, files_in};
use crate::output::{self, Terminal};
use crate::progress::SweepBar;
use crate::provenance::Provenance;
use crate::signals;
use experiments::parallel;
use experiments::setting_place::show_in_settings;
use policy::PolicyConfig;
use report::Page;
use scenario::{InputFile, Scenario};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};
use sweep::{
    Axis, Control, Design, Directory, PartSource, PolicyText, Request, Summary, Sweep, SweepError, run_local,
};

pub(crate) fn run(arguments: &Arguments, terminal: Terminal) -> Result<(), Failure> {
    arguments.plot.check()?;
    let input = Input::read(&arguments.scenario)?;
    let scenario = input.scenario_of(&arguments.set, arguments.duration)?;
    let sweep = Sweep::describe(request(arguments, &input, &scenario)?, &files_in(input.folder()))
        .map_err(|error| failure(error, &input))?;
    let path = arguments.out.clone().unwrap_or_else(|| default_path(&input));
    let open = if arguments.shard.is_some() { Directory::open_for_shard } else { Directory::open };
    let directory = open(&path, &sweep).map_err(|error| failure(error, &input))?;
    let runs = arguments.shard.map_or(0..sweep.runs(), |shard| sweep.shard(shard.number, shard.count));
    run_unfinished(arguments, terminal, &sweep, &directory, runs).map_err(|error| match error {
        Stopped::Failed(error) => failure(error, &input),
        Stopped::Interrupted(failure) => failure,
    })?;
    if let Some(shard) = arguments.shard {
        terminal.note(&format!(
            "shard {} of {} is finished; after the last one, the command without `--shard` merges all",
            shard.number, shard.count
        ));
        return Ok(());
    }
    directory.finish(&sweep).map_err(|error| failure(error, &input))?;
    let summary = Summary::read(&sweep, &PartSource::File(directory.dataset()))
        .map_err(|error| failure(error, &input))?;
    let made_by = provenance(arguments, &input, &scenario, &sweep);
    let (json, page) = pages(&summary, &made_by);
    let write = |name, content: &str| {
        directory.write(name, content.as_bytes()).map_err(|error| failure(error, &input))
    };
    write("result.json", &output::pretty(&json))?;
    write("report.html", &page.to_html())?;
    print(arguments, terminal, &summary, &made_by, (&json, &page))?;
    terminal.note(&format!("\ndataset: {}", directory.dataset().display()));
    terminal.note(&format!("report: {}", path.join("report.html").display()));
    Ok(())
}

fn default_path(input: &Input) -> PathBuf {
    Path::new("tandem-out").join(format!("{}-sweep", input.stem()))
}

/// The sweep that the arguments ask for.
fn request(arguments: &Arguments, input: &Input, scenario: &Scenario) -> Result<Request, Failure> {
    let design = match (arguments.design, arguments.points) {
        (DesignKind::Grid, None) => Design::Grid,
        (DesignKind::Lhs, Some(points)) => Design::Lhs { points },
        (DesignKind::Grid, Some(_)) => {
            return Err(usage(
                "`--points` needs a Latin hypercube",
                "add `--design lhs`, or leave `--points` out",
            ));
        }
        (DesignKind::Lhs, None) => {
            return Err(usage("`--design lhs` needs a number of points", "for example `--points 200`"));
        }
    };
    let axes = arguments.vary.iter().map(|variation| {
        let values = cases::values(variation, input, scenario, "--vary")?;
        let key = values.first().map_or_else(String::new, scenario::Setting::key);
        let texts: Vec<String> = values.iter().map(|value| value.text().to_owned()).collect();
        Axis::new(&key, &texts).map_err(|error| failure(error, input))
    });
    Ok(Request {
        name: input.file.clone(),
        text: scenario.source.clone(),
        design,
        axes: axes.collect::<Result<_, _>>()?,
        policies: arguments.policies.iter().map(policy).collect(),
        seeds: arguments.seeds,
    })
}

/// A policy with the content of its file.
fn policy(policy: &PolicyConfig) -> PolicyText {
    PolicyText { text: policy.to_string(), file: policy.file_text().map(str::to_owned) }
}

enum Stopped {
    Failed(SweepError),
    Interrupted(Failure),
}

/// Runs the unfinished ones of `runs`.
fn run_unfinished(
    arguments: &Arguments,
    terminal: Terminal,
    sweep: &Sweep,
    directory: &Directory,
    runs: Range<u64>,
) -> Result<(), Stopped> {
    let all = runs.end - runs.start;
    let finished = || -> Result<u64, Stopped> {
        let left = directory.unfinished(runs.clone()).map_err(Stopped::Failed)?;
        Ok(all - left.iter().map(|runs| runs.end - runs.start).sum::<u64>())
    };
    let before = finished()?;
    if before > 0 {
        terminal.note(&format!("{before} of {all} runs are finished; {} are left", all - before));
    }
    let stop = signals::interrupt_flag().map_err(Stopped::Interrupted)?;
    let bar = SweepBar::new(terminal, before, all);
    let control = Control { progress: &|done| bar.report(done), stop: &stop };
    let complete = run_local(sweep, directory, runs.clone(), parallel::jobs(arguments.jobs), control);
    bar.finish();
    if complete.map_err(Stopped::Failed)? {
        return Ok(());
    }
    let fate = format!("after {} of {all} runs; the same command goes on with the others", finished()?);
    Err(Stopped::Interrupted(Failure::interrupted(&fate)))
}

/// Result and report, with their origin.
fn pages(summary: &Summary<'_>, made_by: &Provenance) -> (Value, Page) {
    let mut json = summary.to_json();
    made_by.put_into(&mut json);
    (json, made_by.add_to(summary.page()))
}

/// Prints the tables, or draws the chart that the arguments ask for.
fn print(
    arguments: &Arguments,
    terminal: Terminal,
    summary: &Summary<'_>,
    made_by: &Provenance,
    (json, page): (&Value, &Page),
) -> Result<(), Failure> {
    let csv = || made_by.columns(summary.long_table()).to_csv();
    arguments.plot.print_or(page, terminal, || {
        output::print(terminal, arguments.format, &summary.tables(), json, csv)
    })?;
    arguments.plot.write(page, terminal)
}

fn provenance(arguments: &Arguments, input: &Input, scenario: &Scenario, sweep: &Sweep) -> Provenance {
    let files = sweep.spec().scenario.files.iter();
    let files = files.map(|(name, content)| InputFile::new(name, content.as_bytes()));
    let policies: Vec<String> = arguments.policies.iter().map(ToString::to_string).collect();
    files
        .fold(Provenance::new("sweep").scenario(input), Provenance::file)
        .files_of_policies(&arguments.policies)
        .seed(scenario.experiment.seed)
        .option("--policies", (!policies.is_empty()).then(|| policies.join(",")))
        .option("--vary", &arguments.vary)
        .option("--points", arguments.points)
        .option("--set", &arguments.set)
        .option("--duration", arguments.duration)
        .option("--seeds", [arguments.seeds])
}

fn usage(message: &str, hint: &str) -> Failure {
    Failure::Usage { message: message.to_owned(), hint: hint.to_owned() }
}

/// A failure of a sweep, with problems of values shown in `--vary`.
fn failure(error: SweepError, input: &Input) -> Failure {
    match error {
        SweepError::Scenario { settings, text, problems, .. } => {
            Failure::Input(show_in_settings(problems, "--vary", &input.file, &settings, &text))
        }
        SweepError::File { action: "write", path, source } => Failure::Other {
            message: format!("cannot write {}: {}", path.display(), reason(&source)),
            hint: "finished runs are kept: the same command goes on with the others".to_owned(),
        },
        error => Failure::Unreadable { hint: error.hint(), message: error.to_string() },
    }
}
