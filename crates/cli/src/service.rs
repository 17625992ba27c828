//! Shared parts of the daemons `tandem agent` and `tandem proxy`.

use crate::failure::Failure;
use crate::output::Terminal;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The directory in an environment variable of systemd, or its default. The first of several
/// counts.
pub(crate) fn directory(variable: &str, default: &str) -> PathBuf {
    let value = std::env::var_os(variable).filter(|value| !value.is_empty());
    let first = value.and_then(|value| Some(PathBuf::from(value.to_str()?.split(':').next()?)));
    first.unwrap_or_else(|| PathBuf::from(default))
}

/// Logs to stderr without timestamps, which the journal adds.
pub(crate) fn start_logging(filter: &str, terminal: Terminal) -> Result<(), Failure> {
    let filter = if terminal.is_quiet() { "error" } else { filter };
    let targets: Targets = filter.parse().map_err(|error| Failure::Usage {
        message: format!("invalid log filter `{filter}`: {error}"),
        hint: "error, warn, info, debug or trace, or by module: `info,tandem_agent::endpoints=debug`"
            .to_owned(),
    })?;
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(terminal.has_colour(io::stderr().is_terminal()))
        .with_target(false)
        .without_time();
    tracing_subscriber::registry().with(targets).with(layer).init();
    Ok(())
}
