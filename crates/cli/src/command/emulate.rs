//! `tandem emulate`.

use crate::arguments::{Emulate, Sockets};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input::Input;
use crate::kernel::{self, lateness_quantiles, named_reactions};
use crate::output::Terminal;
use crate::provenance::Provenance;
use crate::run_results::RunResults;
use experiments::run::{Kernel, Programs, Run, prepare};
use experiments::warnings::{self, Warning, World};
use linux::signal::Signals;
use sim::Experiment;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use testbed::{End, Stacks};
use units::{Duration, Seed};

/// Exit code after a timeout, as that of timeout(1).
const TIMEOUT_EXIT_CODE: u8 = 124;

/// Note of `--uplink`.
const UPLINK_NOTE: &str = "note: --uplink: traffic of the programs leaves this machine; the delay and rate \
    of the real paths add to those of the scenario";

pub(crate) fn run(arguments: Emulate, terminal: Terminal) -> Result<(), Failure> {
    let input = Input::read(&arguments.scenario)?;
    let scenario = input.scenario(&arguments.set)?;
    let longer = arguments.duration.filter(|limit| *limit > scenario.experiment.duration);
    // Only the rates of channel models last for the scenario's duration.
    let scenario = match longer.filter(|_| scenario.has_channel_models()) {
        None => scenario,
        longer => input.scenario_of(&arguments.set, longer)?,
    };
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let mut experiment = prepare(&scenario, arguments.seed.map(Seed::new), arguments.policy.as_ref())
        .map_err(|error| Failure::policy("--policy", &error))?;
    experiment.capture |= arguments.pcap;
    if folder.is_none() {
        // Neither the time series nor the capture would be written.
        experiment.sample = Duration::ZERO;
        experiment.capture = false;
    }
    let stacks = Stacks { server: arguments.server_stack, ..Stacks::default() };
    let made_by = Provenance::new("emulate")
        .scenario(&input)
        .files_of(&scenario)
        .seed(experiment.seed)
        .option("--server", &arguments.server)
        .option("--server-stack", (!stacks.is_linux()).then(|| stacks.server.name()))
        .option("--mptcp", (arguments.mptcp == Sockets::Asked).then_some("asked"))
        .option("--seed", arguments.seed)
        .option("--policy", &arguments.policy)
        .option("--set", &arguments.set)
        .option("--duration", arguments.duration)
        .flag("--uplink", arguments.uplink)
        .flag("--no-offload", arguments.no_offload)
        .flag("--pcap", arguments.pcap)
        .option("--", [command_line(&arguments.command)]);
    let folder = folder.map(|folder| folder.made_by(&made_by));
    let replaced = Experiment {
        traffic: Vec::new(),
        duration: arguments.duration.unwrap_or(Duration::MAX),
        ..experiment.clone()
    };
    let names = [stacks.device.name(), stacks.server.name()];
    let warned = warnings::of(&replaced, World::of_programs(names));
    terminal.warn(&warned);

    if arguments.uplink {
        terminal.note(UPLINK_NOTE);
        if !Path::new(testbed::RESOLV_CONF).exists() {
            terminal.warn(&[Warning::new(
                format!("the programs resolve no names: {} is missing", testbed::RESOLV_CONF),
                "write `nameserver ADDRESS` into it, or use addresses",
            )]);
        }
    }
    let mut words = arguments.command.into_iter();
    let Some(program) = words.next() else {
        return Err(Failure::Usage { message: "COMMAND is missing".to_owned(), hint: String::new() });
    };
    let mut command = Command::new(program);
    command.args(words);
    let programs = testbed::Programs {
        command,
        server: arguments.server.as_deref().map(server_command).transpose()?,
        server_stack: arguments.server_stack,
        multipath: arguments.mptcp == Sockets::All,
        limit: arguments.duration,
        proxied: None,
        uplink: arguments.uplink,
        offload: !arguments.no_offload,
        finished: Arc::default(),
    };
    let capture = folder.as_ref().filter(|_| experiment.capture).map(Folder::stream).transpose()?;
    let signals = Signals::open().map_err(|error| kernel::failure(&error.into()))?;
    let emulated = testbed::emulate(&experiment, programs, Some(&signals), capture.as_ref())
        .map_err(|error| kernel::failure(&error))?;

    let mut problems: Vec<Warning> = kernel::lost_packets(emulated.lost_packets).into_iter().collect();
    if emulated.server_lacks_udp {
        problems.push(Warning::new(
            "the server's program has a UDP socket, but Tandem's stack at the server carries TCP only",
            "use `--server-stack linux`",
        ));
    }
    let kernel = Kernel {
        release: linux::clock::kernel_release(),
        stacks: names,
        lateness: lateness_quantiles(&emulated.lateness),
        priorities_heard: emulated.priorities_heard,
        reactions: named_reactions(&experiment, &emulated.reactions),
        captured: Vec::new(),
        notes: emulated.notes,
        warnings: problems,
        programs: Some(Programs {
            multipath: [emulated.multipath.requested, emulated.multipath.accepted, emulated.multipath.joined],
            delays: emulated.delays,
        }),
    };
    experiment.duration = emulated.duration;
    experiment.traffic.clear();
    let run = Run::on_kernel(&scenario, experiment, emulated.outcome, kernel);
    terminal.note("");
    kernel::warn_further(terminal, &run, &warned);
    terminal.print_to_stderr(&run.tables());
    if let Some(folder) = folder {
        RunResults::new(&run, &made_by).write(&folder, capture.as_ref())?.announce(terminal);
    }
    match emulated.end {
        End::Exited(0) => Ok(()),
        End::Exited(code) => Err(Failure::Program { code }),
        End::TimedOut | End::Finished => Err(Failure::Program { code: TIMEOUT_EXIT_CODE }),
    }
}

/// The command with its arguments, for the record.
fn command_line(words: &[std::ffi::OsString]) -> String {
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The server's command, with its output on stderr, and outside the process group of the terminal.
fn server_command(line: &str) -> Result<Command, Failure> {
    let stderr = io::stderr().as_fd().try_clone_to_owned().map_err(|error| Failure::Other {
        message: format!("cannot duplicate stderr for the server: {}", crate::failure::reason(&error)),
        hint: String::new(),
    })?;
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(stderr).process_group(0);
    Ok(command)
}
