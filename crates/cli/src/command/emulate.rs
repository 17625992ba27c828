//! `tandem emulate`.

use crate::arguments::{Emulate, Sockets};
use crate::command::run::does_not_fit;
use crate::command::testbed::{failure, late, reactions};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::input;
use crate::output::{self, Talk};
use experiments::run::{Kernel, Programs, Run, prepare};
use linux::signal::Signals;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use testbed::End;
use units::{Duration, Seed};

/// What timeout(1) answers where the time was over.
const TIME_IS_UP: u8 = 124;

pub(crate) fn run(arguments: Emulate, talk: Talk) -> Result<(), Failure> {
    let scenario = input::scenario(&arguments.scenario, &arguments.set)?;
    let folder = arguments.out.as_deref().map(Folder::plan).transpose()?;
    let mut experiment = prepare(&scenario, arguments.seed.map(Seed::new), arguments.policy.as_ref())
        .map_err(|error| does_not_fit("--policy", &error))?;
    experiment.capture = arguments.pcap;
    if folder.is_none() {
        // Nobody would see it.
        experiment.sample = Duration::ZERO;
    }
    let mut words = arguments.command.into_iter();
    let Some(program) = words.next() else {
        return Err(Failure::Usage { message: "there is no COMMAND".to_owned(), hint: String::new() });
    };
    let mut command = Command::new(program);
    command.args(words);
    let programs = testbed::Programs {
        command,
        server: arguments.server.as_deref().map(on_server).transpose()?,
        multipath: arguments.mptcp == Sockets::All,
        limit: arguments.duration,
        behind: None,
        offload: !arguments.no_offload,
        enough: Arc::default(),
    };
    let capture = folder.as_ref().filter(|_| arguments.pcap).map(Folder::stream).transpose()?;
    let signals = Signals::open().map_err(|error| failure(&error.into()))?;
    let emulated = testbed::emulate(&experiment, programs, Some(&signals), capture.as_ref())
        .map_err(|error| failure(&error))?;

    let kernel = Kernel {
        release: linux::clock::kernel_release(),
        lateness: late(&emulated.lateness),
        priorities_heard: emulated.priorities_heard,
        reactions: reactions(&experiment, &emulated.reactions),
        captured: Vec::new(),
        notes: emulated.notes,
        programs: Some(Programs {
            multipath: [emulated.multipath.asked, emulated.multipath.agreed, emulated.multipath.joined],
            delays: emulated.delays,
        }),
    };
    experiment.duration = emulated.took;
    experiment.traffic.clear();
    let run = Run::on_kernel(&scenario, experiment, emulated.outcome, kernel);
    talk.remark("");
    talk.show(&run.tables());
    if let Some(folder) = folder {
        let (result, series, page) = (output::pretty(&run.to_json()), run.series_csv(), run.page().to_html());
        let files = [
            ("result.json", result.as_bytes()),
            ("series.csv", series.as_bytes()),
            ("report.html", page.as_bytes()),
        ];
        folder.write_with(&files, capture.as_ref().map(|file| ("capture.pcapng", file)))?;
        talk.remark(&format!("\nreport: {}", folder.file("report.html").display()));
    }
    match emulated.end {
        End::Ended(0) => Ok(()),
        End::Ended(code) => Err(Failure::Program { code }),
        End::TimeIsUp | End::Enough => Err(Failure::Program { code: TIME_IS_UP }),
    }
}

/// The server's command: it prints where it is in nobody's way, and what the terminal sends is not for it.
fn on_server(line: &str) -> Result<Command, Failure> {
    let stderr = io::stderr().as_fd().try_clone_to_owned().map_err(|error| Failure::Other {
        message: format!("cannot give the server a stream to print to: {}", crate::failure::reason(&error)),
        hint: String::new(),
    })?;
    let mut command = Command::new("sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(stderr).process_group(0);
    Ok(command)
}
