//! `tandem testbed`.

use crate::arguments::Testbed;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::hidden_folder::remove_unfinished;
use crate::input::Input;
use crate::kernel::{self, lateness_quantiles, named_reactions};
use crate::logging::log_run;
use crate::output::Terminal;
use crate::provenance::Provenance;
use crate::run_results::RunResults;
use crate::{progress, signals};
use experiments::run::{CapturedSubflow, Kernel, Run, prepare};
use experiments::warnings::{self, World};
use std::fs::File;
use std::io::{BufReader, Seek};
use std::path::Path;
use testbed::{StackKind, Stacks};
use units::Seed;

pub(crate) fn run(arguments: &Testbed, terminal: Terminal) -> Result<(), Failure> {
    let Some(file) = arguments.scenario.as_deref() else { return clean(arguments, terminal) };
    arguments.plot.check()?;
    let input = Input::read(file)?;
    let scenario = input.scenario_of(&arguments.set, arguments.duration)?;
    let default = Path::new("tandem-out").join(format!("{}-kernel", input.stem()));
    let folder = Folder::plan(arguments.out.as_deref().unwrap_or(&default))?;
    let mut experiment = prepare(&scenario, arguments.seed.map(Seed::new), arguments.policy.as_ref())
        .map_err(|error| Failure::policy("--policy", &error))?;
    experiment.capture |= arguments.pcap;
    let made_by = Provenance::new("testbed")
        .scenario(&input)
        .files_of(&scenario)
        .files_of_policies(&arguments.policy)
        .seed(experiment.seed)
        .option("--seed", arguments.seed)
        .option("--policy", &arguments.policy)
        .option("--set", &arguments.set)
        .option("--duration", arguments.duration)
        .option("--stack", arguments.stack)
        .flag("--pcap", arguments.pcap)
        .flag("--no-offload", arguments.no_offload);
    let folder = folder.made_by(&made_by);

    let stacks = Stacks::of(&experiment, arguments.stack).map_err(|error| kernel::failure(&error))?;
    let names = [stacks.device.name(), stacks.server.name()];
    let warned = warnings::of(&experiment, World::of_stacks(names));
    terminal.warn(&warned);

    let capture = experiment.capture.then(|| folder.stream()).transpose()?;
    let stop = signals::stop_flag()?;
    let bar = progress::bar(log_run(arguments.log.as_deref(), terminal)?, 1000, "on the kernel");
    let setup =
        testbed::Setup { offload: !arguments.no_offload, stacks: Some(stacks), ..testbed::Setup::default() };
    let mut progress = |share| bar.set_position((share * 1000.0) as u64);
    let ran = testbed::run_with(&experiment, &setup, &stop, &mut progress, capture.as_ref());
    bar.finish_and_clear();
    let ran = ran.map_err(|error| kernel::failure(&error))?;
    let counted = capture.as_ref().filter(|_| stacks.device == StackKind::Linux);
    let captured = counted.map(|file| compare_with_capture(file, &ran.subflows[0])).transpose()?;
    let problems = [kernel::lost_packets(ran.lost_packets), kernel::failed_connection(ran.first_failure)];
    let kernel = Kernel {
        captured: captured.unwrap_or_default(),
        release: linux::clock::kernel_release(),
        stacks: names,
        lateness: lateness_quantiles(&ran.lateness),
        priorities_heard: ran.priorities_heard,
        reactions: named_reactions(&experiment, &ran.reactions),
        notes: ran.notes,
        warnings: problems.into_iter().flatten().collect(),
        programs: None,
    };
    let run = Run::on_kernel(&scenario, experiment, ran.outcome, kernel);
    kernel::warn_further(terminal, &run, &warned);

    let results = RunResults::new(&run, &made_by);
    let written = results.write(&folder, capture.as_ref());
    results.print(terminal, arguments.format, &arguments.plot, written)
}

/// Compares the capture of a run with the kernel's counters, for each subflow of the device.
fn compare_with_capture(
    mut file: &File,
    subflows: &[linux::diag::Subflow],
) -> Result<Vec<CapturedSubflow>, Failure> {
    let failure = |error: &dyn std::fmt::Display| Failure::Other {
        message: format!("cannot read the run's capture: {error}"),
        hint: String::new(),
    };
    file.rewind().map_err(|error| failure(&error))?;
    let read = capture::analyse(BufReader::new(file), &mut |_| {}).map_err(|error| failure(&error))?;
    let seen = read.connections.iter().flat_map(|connection| &connection.subflows);
    let beside = seen.filter_map(|one| {
        let kernel = &subflows.iter().find(|kernel| kernel.local == one.client)?.tcp;
        Some(CapturedSubflow {
            path: one.path.clone(),
            client: one.client.to_string(),
            received: [one.down.in_order_bytes?, kernel.bytes_received],
            // Linux counts the SYN as one byte.
            acknowledged: [one.up.acknowledged_bytes?, kernel.bytes_acked.saturating_sub(1)],
        })
    });
    Ok(beside.collect())
}

/// Removes partial results, the only thing that a killed run can leave: namespaces, devices and
/// sockets end with their process.
fn clean(arguments: &Testbed, terminal: Terminal) -> Result<(), Failure> {
    let folder = arguments.out.as_deref().and_then(Path::parent).unwrap_or(Path::new("tandem-out"));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let removed = remove_unfinished(folder)?;
    terminal.note(&match removed {
        0 => "nothing was left: namespaces, devices and sockets end with their run".to_owned(),
        1 => format!("removed a partial folder of results in {}", folder.display()),
        n => format!("removed {n} partial folders of results in {}", folder.display()),
    });
    Ok(())
}
