//! `tandem testbed`.

use crate::arguments::Testbed;
use crate::command::run::does_not_fit;
use crate::failure::{Failure, reason};
use crate::folder::Folder;
use crate::output::{self, Talk};
use crate::{input, progress};
use experiments::run::{CapturedSubflow, Kernel, Reaction, Run, prepare};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use units::Seed;

pub(crate) fn run(arguments: &Testbed, talk: Talk) -> Result<(), Failure> {
    let Some(file) = arguments.scenario.as_deref() else { return clean(arguments, talk) };
    let scenario = input::scenario(file, &arguments.set)?;
    let default = Path::new("tandem-out").join(format!("{}-kernel", input::stem(file)));
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let mut experiment = prepare(&scenario, arguments.seed.map(Seed::new), arguments.policy.as_ref())
        .map_err(|error| does_not_fit("--policy", &error))?;
    experiment.capture = arguments.pcap;
    experiment.duration = arguments.duration.unwrap_or(experiment.duration);

    let capture = arguments.pcap.then(|| folder.stream()).transpose()?;
    let stop = stop_on_signals()?;
    let bar = progress::bar(talk, 1000, "on the kernel");
    let setup = testbed::Setup { offload: !arguments.no_offload, ..testbed::Setup::default() };
    let mut progress = |share| bar.set_position((share * 1000.0) as u64);
    let ran = testbed::run_with(&experiment, &setup, &stop, &mut progress, capture.as_ref());
    bar.finish_and_clear();
    let ran = ran.map_err(|error| failure(&error))?;
    let captured = capture.as_ref().map(|file| beside_capture(file, &ran.subflows[0])).transpose()?;
    let kernel = Kernel {
        captured: captured.unwrap_or_default(),
        release: linux::clock::kernel_release(),
        lateness: late(&ran.lateness),
        priorities_heard: ran.priorities_heard,
        reactions: reactions(&experiment, &ran.reactions),
        notes: ran.notes,
        programs: None,
    };
    let run = Run::on_kernel(&scenario, experiment, ran.outcome, kernel);

    let json = run.to_json();
    let (result, series, page) = (output::pretty(&json), run.series_csv(), run.page().to_html());
    let files = [
        ("result.json", result.as_bytes()),
        ("series.csv", series.as_bytes()),
        ("report.html", page.as_bytes()),
    ];
    folder.write_with(&files, capture.as_ref().map(|file| ("capture.pcapng", file)))?;
    let printed = output::print(talk, arguments.format, &run.tables(), &json, || run.long_table().to_csv());
    talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
    printed
}

/// What a run's capture says of each subflow of the device, beside what the kernel has counted of it.
fn beside_capture(
    mut file: &File,
    subflows: &[linux::diag::Subflow],
) -> Result<Vec<CapturedSubflow>, Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::Other {
        message: format!("cannot read the run's capture: {error}"),
        hint: String::new(),
    };
    file.rewind().map_err(|error| cannot(&error))?;
    let read = capture::analyse(BufReader::new(file), &mut |_| {}).map_err(|error| cannot(&error))?;
    let seen = read.connections.iter().flat_map(|connection| &connection.subflows);
    let beside = seen.filter_map(|one| {
        let kernel = &subflows.iter().find(|kernel| kernel.local == one.client)?.tcp;
        Some(CapturedSubflow {
            path: one.path.clone(),
            client: one.client.to_string(),
            received: [one.down.in_order_bytes?, kernel.bytes_received],
            // Linux counts the SYN.
            acknowledged: [one.up.acknowledged_bytes?, kernel.bytes_acked.saturating_sub(1)],
        })
    });
    Ok(beside.collect())
}

/// Median, 99th percentile and longest.
pub(crate) fn late(lateness: &testbed::Lateness) -> [units::Duration; 3] {
    [lateness.quantile(0.5), lateness.quantile(0.99), lateness.longest()]
}

/// With the names of paths in place of their numbers.
pub(crate) fn reactions(experiment: &sim::Experiment, reactions: &[testbed::Reaction]) -> Vec<Reaction> {
    let named = |reaction: &testbed::Reaction| Reaction {
        path: experiment.paths[reaction.path].name.clone(),
        total: reaction.took,
        signalling: reaction.order,
        sender: reaction.sender,
        link: reaction.link,
        committed_time: reaction.needed,
        committed: reaction.given,
    };
    reactions.iter().map(named).collect()
}

/// A flag that becomes true on Ctrl-C, SIGTERM or SIGHUP.
pub(crate) fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    stop_on(&ENDING)
}

/// The signals that end a program.
pub(crate) const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

pub(crate) fn stop_on(signals: &[i32]) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for &signal in signals {
        // A second one ends the program at once, should the first be of no avail.
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| not_heard(&error))?;
    }
    Ok(stop)
}

pub(crate) fn not_heard(error: &std::io::Error) -> Failure {
    Failure::Other { message: format!("cannot listen for signals: {error}"), hint: String::new() }
}

/// Namespaces, devices and sockets go with the process that made them. What a `kill -9` can leave is a
/// folder of results that was being written.
fn clean(arguments: &Testbed, talk: Talk) -> Result<(), Failure> {
    let folder = arguments.out.as_deref().and_then(Path::parent).unwrap_or(Path::new("tandem-out"));
    let removed = Folder::remove_unfinished(folder)?;
    talk.remark(&match removed {
        0 => "nothing was left: namespaces, devices and sockets end with the run that made them".to_owned(),
        1 => format!("removed an unfinished folder of results in {}", folder.display()),
        n => format!("removed {n} unfinished folders of results in {}", folder.display()),
    });
    Ok(())
}

/// Why a run on the kernel has no outcome, as the program tells it.
pub(crate) fn failure(error: &testbed::Error) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    match error {
        testbed::Error::System(linux::Error::Lacks { .. }) => Failure::Lacks { message, hint },
        testbed::Error::System(linux::Error::Program { name, source }) => Failure::NotRun {
            message: format!("cannot run `{name}`: {}", reason(source)),
            found: source.kind() != std::io::ErrorKind::NotFound,
        },
        testbed::Error::Unfit { .. } => Failure::Usage { message, hint },
        _ => Failure::Other { message, hint },
    }
}
