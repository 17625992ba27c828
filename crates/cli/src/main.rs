//! The program `tandem`: parses arguments, calls the libraries, writes files.

mod arguments;
mod cases;
mod chromium;
mod command;
mod examples;
mod failure;
mod folder;
mod hidden_folder;
mod input;
mod kernel;
mod large_pages;
mod live_capture;
mod logging;
mod new_file;
mod output;
mod package;
mod player_page;
mod plot;
mod progress;
mod provenance;
mod run_results;
mod service;
mod signals;
mod starter;
mod tls_files;
mod unit;

use arguments::Command;
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match arguments::parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is not an error, and there is no other place to report one.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    if arguments.command.only_simulates() {
        large_pages::request();
    }
    let terminal = output::Terminal::new(arguments.global.color, arguments.global.quiet);
    let code = match run(arguments.command, terminal) {
        Ok(()) | Err(Failure::ClosedPipe) => 0,
        Err(failure) => {
            terminal.report(&failure);
            failure.code()
        }
    };
    ExitCode::from(signals::exit_code().unwrap_or(code))
}

fn run(command: Command, terminal: output::Terminal) -> Result<(), Failure> {
    match command {
        Command::Init(arguments) => command::init::run(&arguments, terminal),
        Command::Examples(arguments) => command::examples::run(&arguments, terminal),
        Command::Check(arguments) => command::check::run(&arguments, terminal),
        Command::Run(arguments) => command::run::run(&arguments, terminal),
        Command::Compare(arguments) => command::compare::run(&arguments, terminal),
        Command::Sweep(arguments) => command::sweep::run(&arguments, terminal),
        Command::Map(arguments) => command::map::run(&arguments, terminal),
        Command::Reproduce(arguments) => command::reproduce::run(&arguments, terminal),
        Command::Testbed(arguments) => command::testbed::run(&arguments, terminal),
        Command::Emulate(arguments) => command::emulate::run(arguments, terminal),
        Command::Interop(arguments) => command::interop::run(&arguments, terminal),
        Command::Fidelity(arguments) => command::fidelity::run(&arguments, terminal),
        Command::Capture(arguments) => command::capture::run(&arguments, terminal),
        Command::Trace(arguments) => command::trace::run(&arguments, terminal),
        Command::Agent(arguments) => command::agent::run(&arguments, terminal),
        Command::Proxy(arguments) => command::proxy::run(&arguments, terminal),
        Command::Gateway(arguments) => command::gateway::run(&arguments, terminal),
        Command::Play(arguments) => command::play::run(&arguments, terminal),
        Command::Serve(arguments) => command::serve::run(&arguments, terminal),
        Command::Profiles(arguments) => command::profiles::run(&arguments, terminal),
        Command::Schema(arguments) => command::schema::run(&arguments),
        Command::Completions(arguments) => command::completions::run(&arguments),
        Command::PackageFiles(arguments) => command::package_files::run(&arguments),
    }
}
