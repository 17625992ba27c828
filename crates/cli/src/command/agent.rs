//! `tandem agent`.

use crate::arguments::{Agent, AgentCommand, AgentStatus, Format};
use crate::failure::{Failure, reason};
use crate::input::shown;
use crate::logging::log_daemon;
use crate::output::{self, Terminal};
use crate::service::{ServiceManager, directory};
use crate::signals::daemon_flags;
use crate::unit::{self, Unit};
use agent::config::{Config, EXAMPLE};
use agent::daemon::{Lifecycle, Options, Signals};
use agent::status::{Status, explanations, query, tables};
use experiments::files;
use experiments::warnings::Warning;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn run(arguments: &Agent, terminal: Terminal) -> Result<(), Failure> {
    match &arguments.command {
        Some(AgentCommand::Status(arguments)) => status(arguments, terminal),
        Some(AgentCommand::ExampleConfig) => output::write(EXAMPLE),
        Some(AgentCommand::Unit { config }) => {
            let config = unit::absolute(config)?;
            let arguments = [OsStr::new("agent"), OsStr::new("--config"), config.as_os_str()];
            Unit::Agent { has_rules: unit::has_connection_rules(&config) }.print(arguments)
        }
        None if arguments.check => check(arguments, terminal),
        None => daemon(arguments, terminal),
    }
}

/// Compares the configuration with this machine.
fn check(arguments: &Agent, terminal: Terminal) -> Result<(), Failure> {
    let config = read(config_path(arguments))?;
    let check = agent::check::Check::of(&config).map_err(|error| failure(&error))?;
    output::print_tables(terminal, &check.tables())?;
    let hint = "`ip link` lists the interfaces; `*` in a pattern matches any text";
    let warnings: Vec<Warning> = check.warnings().iter().map(|text| Warning::new(text, hint)).collect();
    terminal.warn(&warnings);
    check.into_missing().map_or(Ok(()), |error| Err(failure(&error)))
}

fn config_path(arguments: &Agent) -> &Path {
    arguments.config.as_deref().unwrap_or(Path::new("/etc/tandem/agent.toml"))
}

fn daemon(arguments: &Agent, terminal: Terminal) -> Result<(), Failure> {
    let path = config_path(arguments);
    let config = read(path)?;
    log_daemon(arguments.log.as_deref().unwrap_or(&config.log), arguments.log_format, terminal)?;
    let options = Options { dry_run: arguments.dry_run, state: state(&config), socket: socket(&config) };
    let (stop, reload) = daemon_flags(!io::stdin().is_terminal())?;
    let manager = ServiceManager::new();
    let report = |state| match state {
        Lifecycle::Ready => ServiceManager::ready(),
        Lifecycle::Alive => manager.alive(),
        Lifecycle::Stopping => ServiceManager::stopping(),
    };
    let read_again = || read(path).map_err(|why| why.to_text());
    let signals = Signals { stop: &stop, reload: &reload, read: &read_again, report: &report };
    agent::daemon::run(config, &options, &signals).map_err(|error| failure(&error))
}

/// The failure of the program for an error of the agent.
pub(crate) fn failure(error: &agent::Error) -> Failure {
    let (message, hint) = (error.to_string(), error.hint().to_owned());
    if error.is_missing_requirement() {
        Failure::MissingRequirement { message, hint }
    } else {
        Failure::Other { message, hint }
    }
}

/// Reads a configuration of the agent.
pub(crate) fn read(path: &Path) -> Result<Config, Failure> {
    let name = path.display().to_string();
    let bytes = files::read_bytes(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read the configuration {name}: {}", reason(&error)),
        hint: "`tandem agent example-config` prints one to start from".to_owned(),
    })?;
    parse(path, &bytes)
}

/// Parses the content of the configuration `path` of the agent.
pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Config, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = |file: &str| files::read(&folder.join(file));
    Config::parse(&shown(path), bytes, &read).map_err(Failure::Input)
}

fn state(config: &Config) -> PathBuf {
    config.state.clone().unwrap_or_else(|| directory("STATE_DIRECTORY", "/var/lib/tandem"))
}

fn socket(config: &Config) -> PathBuf {
    let default = || directory("RUNTIME_DIRECTORY", "/run/tandem").join("agent.sock");
    config.socket.clone().unwrap_or_else(default)
}

fn status(arguments: &AgentStatus, terminal: Terminal) -> Result<(), Failure> {
    let path = match (&arguments.socket, &arguments.config) {
        (Some(socket), _) => socket.clone(),
        (None, Some(config)) => socket(&read(config)?),
        (None, None) => PathBuf::from("/run/tandem/agent.sock"),
    };
    loop {
        let text = query(&path, "/status").map_err(|error| unanswered(&path, &error))?;
        let status: Status = serde_json::from_str(&text).map_err(|error| Failure::Other {
            message: format!("invalid answer of the agent at {}: {error}", path.display()),
            hint: "agent and `tandem agent status` may be of different versions".to_owned(),
        })?;
        if arguments.watch && arguments.format == Format::Table {
            // Move the cursor home and clear the screen.
            output::write("\u{1b}[H\u{1b}[2J")?;
        }
        show(&status, arguments, terminal)?;
        if !arguments.watch {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn show(status: &Status, arguments: &AgentStatus, terminal: Terminal) -> Result<(), Failure> {
    let mut tables = tables(status);
    if arguments.explain {
        tables.extend(explanations(status));
    }
    let json = serde_json::to_value(status).unwrap_or_default();
    output::print(terminal, arguments.format, &tables, &json, || {
        tables.first().map(report::Table::to_csv).unwrap_or_default()
    })
}

fn unanswered(path: &Path, error: &io::Error) -> Failure {
    let message = format!("no agent answers at {}: {}", path.display(), reason(error));
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "only its user and group have access: try it as root",
        _ => "is it running? `--config FILE` or `--socket PATH` selects its socket",
    };
    Failure::Other { message, hint: hint.to_owned() }
}
