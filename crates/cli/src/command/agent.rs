//! `tandem agent`.

use crate::arguments::{Agent, AgentCommand, AgentStatus, Format};
use crate::command::testbed::{ENDING, not_heard, stop_on};
use crate::failure::{Failure, reason};
use crate::output::{self, Talk};
use agent::config::{Config, EXAMPLE};
use agent::daemon::{Options, Signals};
use agent::status::{Status, query, tables};
use signal_hook::consts::SIGHUP;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub(crate) fn run(arguments: &Agent, talk: Talk) -> Result<(), Failure> {
    match &arguments.command {
        Some(AgentCommand::Status(arguments)) => status(arguments, talk),
        Some(AgentCommand::ExampleConfig) => output::data(EXAMPLE),
        Some(AgentCommand::Unit { config }) => {
            let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/local/bin/tandem"));
            output::data(&agent::systemd_unit(&program.display().to_string(), &config.display().to_string()))
        }
        None => daemon(arguments, talk),
    }
}

fn daemon(arguments: &Agent, talk: Talk) -> Result<(), Failure> {
    let path = arguments.config.as_deref().unwrap_or(Path::new("/etc/tandem/agent.toml"));
    let config = read(path)?;
    log(arguments.log.as_deref().unwrap_or(&config.log), talk)?;
    let options = Options { dry_run: arguments.dry_run, state: state(&config), socket: socket(&config) };
    // Where a person started it and closes the terminal, it ends.
    let is_service = !io::stdin().is_terminal();
    let (stop, reload) = (stop_on(if is_service { &ENDING[..2] } else { &ENDING })?, Arc::default());
    if is_service {
        signal_hook::flag::register(SIGHUP, Arc::clone(&reload)).map_err(|error| not_heard(&error))?;
    }
    let signals = Signals { stop: &stop, reload: &reload, read: &|| read(path).map_err(|why| why.to_text()) };
    agent::daemon::run(config, &options, &signals).map_err(|error| {
        let (message, hint) = (error.to_string(), error.hint().to_owned());
        if error.is_missing_requirement() {
            Failure::Lacks { message, hint }
        } else {
            Failure::Other { message, hint }
        }
    })
}

fn read(path: &Path) -> Result<Config, Failure> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| Failure::Unreadable {
        message: format!("cannot read the configuration {name}: {}", reason(&error)),
        hint: "`tandem agent example-config` prints one to begin with".to_owned(),
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = |file: &str| fs::read_to_string(folder.join(file)).map_err(|error| reason(&error));
    Config::parse(&name, &bytes, &files).map_err(Failure::Input)
}

/// Where systemd says, or where it would.
pub(crate) fn folder(variable: &str, otherwise: &str) -> PathBuf {
    // Of several directories the first is meant.
    let told = std::env::var_os(variable).filter(|told| !told.is_empty());
    let first = told.and_then(|told| Some(PathBuf::from(told.to_str()?.split(':').next()?)));
    first.unwrap_or_else(|| PathBuf::from(otherwise))
}

fn state(config: &Config) -> PathBuf {
    config.state.clone().unwrap_or_else(|| folder("STATE_DIRECTORY", "/var/lib/tandem"))
}

fn socket(config: &Config) -> PathBuf {
    let default = || folder("RUNTIME_DIRECTORY", "/run/tandem").join("agent.sock");
    config.socket.clone().unwrap_or_else(default)
}

/// Logs to stderr, where a service's log is taken from; with times only where a person reads it.
pub(crate) fn log(filter: &str, talk: Talk) -> Result<(), Failure> {
    let filter = if talk.quiet() { "error" } else { filter };
    let targets: Targets = filter.parse().map_err(|error| Failure::Usage {
        message: format!("`{filter}` is nothing that can be logged: {error}"),
        hint: "error, warn, info, debug or trace, or such as `info,tandem_agent::endpoints=debug`".to_owned(),
    })?;
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(talk.coloured(io::stderr().is_terminal()))
        .with_target(false)
        // Whoever keeps the log has the time.
        .without_time();
    tracing_subscriber::registry().with(targets).with(layer).init();
    Ok(())
}

fn status(arguments: &AgentStatus, talk: Talk) -> Result<(), Failure> {
    let path = match (&arguments.socket, &arguments.config) {
        (Some(socket), _) => socket.clone(),
        (None, Some(config)) => socket(&read(config)?),
        (None, None) => PathBuf::from("/run/tandem/agent.sock"),
    };
    loop {
        let text = query(&path, "/status").map_err(|error| unanswered(&path, &error))?;
        let status: Status = serde_json::from_str(&text).map_err(|error| Failure::Other {
            message: format!("the agent at {} answers what cannot be read: {error}", path.display()),
            hint: "is it of the same version?".to_owned(),
        })?;
        if arguments.watch && arguments.format == Format::Table {
            // To the top left, and away with what was there.
            output::data("\u{1b}[H\u{1b}[2J")?;
        }
        show(&status, arguments.format, talk)?;
        if !arguments.watch {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn show(status: &Status, format: Format, talk: Talk) -> Result<(), Failure> {
    let tables = tables(status);
    let json = serde_json::to_value(status).unwrap_or_default();
    output::print(talk, format, &tables, &json, || {
        tables.first().map(report::Table::to_csv).unwrap_or_default()
    })
}

fn unanswered(path: &Path, error: &io::Error) -> Failure {
    let message = format!("no agent answers at {}: {}", path.display(), reason(error));
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => "only its user and group may ask it: try it as root",
        _ => "is it running? `--config FILE` or `--socket PATH` says where it listens",
    };
    Failure::Other { message, hint: hint.to_owned() }
}
