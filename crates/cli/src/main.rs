//! The program `tandem`: arguments in, calls out. What the commands compute is in `experiments` and `papers`.

mod arguments;
mod command;
mod failure;
mod fold;
mod folder;
mod input;
mod output;
mod page;
mod progress;

use arguments::{Arguments, Command};
use clap::Parser as _;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is no error; and where else could one say that printing failed?
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let talk = output::Talk::new(arguments.global.color, arguments.global.quiet);
    match run(arguments.command, talk) {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(failure) => {
            talk.failure(&failure);
            ExitCode::from(failure.code())
        }
    }
}

fn run(command: Command, talk: output::Talk) -> Result<(), Failure> {
    match command {
        Command::Run(arguments) => command::run::run(&arguments, talk),
        Command::Compare(arguments) => command::compare::run(&arguments, talk),
        Command::Reproduce(arguments) => command::reproduce::run(&arguments, talk),
        Command::Testbed(arguments) => command::testbed::run(&arguments, talk),
        Command::Emulate(arguments) => command::emulate::run(arguments, talk),
        Command::Fidelity(arguments) => command::fidelity::run(&arguments, talk),
        Command::Capture(arguments) => command::capture::run(&arguments, talk),
        Command::Agent(arguments) => command::agent::run(&arguments, talk),
        Command::Proxy(arguments) => command::proxy::run(&arguments, talk),
        Command::Play(arguments) => command::play::run(&arguments, talk),
        Command::Serve(arguments) => command::serve::run(&arguments, talk),
        Command::Profiles(arguments) => command::profiles::run(&arguments, talk),
        Command::Schema => command::schema::run(),
        Command::Completions(arguments) => command::completions::run(&arguments),
    }
}
