//! The program `tandem`: parses arguments, calls the libraries, writes files.

mod arguments;
mod chromium;
mod command;
mod failure;
mod folder;
mod input;
mod kernel;
mod live_capture;
mod logging;
mod output;
mod player_page;
mod plot;
mod progress;
mod provenance;
mod service;
mod signals;

use arguments::{Arguments, Command};
use clap::Parser as _;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is not an error, and there is no other place to report one.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let terminal = output::Terminal::new(arguments.global.color, arguments.global.quiet);
    match run(arguments.command, terminal) {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal.report(&failure);
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: Command, terminal: output::Terminal) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => command::run::run(&arguments, terminal),
        Command::Compare(arguments) => command::compare::run(&arguments, terminal),
        Command::Reproduce(arguments) => command::reproduce::run(&arguments, terminal),
        Command::Testbed(arguments) => command::testbed::run(&arguments, terminal),
        Command::Emulate(arguments) => command::emulate::run(arguments, terminal),
        Command::Fidelity(arguments) => command::fidelity::run(&arguments, terminal),
        Command::Capture(arguments) => command::capture::run(&arguments, terminal),
        Command::Agent(arguments) => command::agent::run(&arguments, terminal),
        Command::Proxy(arguments) => command::proxy::run(&arguments, terminal),
        Command::Play(arguments) => command::play::run(&arguments, terminal),
        Command::Serve(arguments) => command::serve::run(&arguments, terminal),
        Command::Profiles(arguments) => command::profiles::run(&arguments, terminal),
        Command::Schema => command::schema::run(),
        Command::Completions(arguments) => command::completions::run(&arguments),
    }
}
