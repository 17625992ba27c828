//! Log entries of the program on stderr: the daemons', and those of a simulation or a test bed.

use crate::failure::Failure;
use crate::output::Terminal;
use std::fmt;
use std::io::{self, IsTerminal};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// Crates with log entries. A filter may leave out the `tandem_` of their targets.
const CRATES: [&str; 6] = ["agent", "link", "mptcp", "policy", "proxy", "sim"];

/// Logs to stderr without timestamps, which the journal adds.
pub(crate) fn log_daemon(filter: &str, terminal: Terminal) -> Result<(), Failure> {
    let filter = if terminal.is_quiet() { "error" } else { filter };
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(terminal.has_colour(io::stderr().is_terminal()))
        .with_target(false)
        .without_time();
    start(layer, targets(filter)?);
    Ok(())
}

/// Logs a run to stderr, with the simulated time of each entry; in a test bed, with the time since
/// the start of the program.
pub(crate) fn log_run(filter: &str, terminal: Terminal) -> Result<(), Failure> {
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(terminal.has_colour(io::stderr().is_terminal()))
        .with_timer(RunTime::default());
    start(layer, targets(filter)?);
    Ok(())
}

/// Installs a layer. Spans are always on: they tell the connection and subflow of an entry.
fn start(layer: impl Layer<Registry> + Send + Sync, targets: Targets) {
    let spans = filter_fn(|metadata| !metadata.is_event()).with_max_level_hint(LevelFilter::INFO);
    tracing_subscriber::registry().with(layer.with_filter(targets.or(spans))).init();
}

/// Reads a filter such as `mptcp=debug,policy=info`.
fn targets(filter: &str) -> Result<Targets, Failure> {
    let hint = "a level (error, warn, info, debug, trace), or levels by crate or module: \
                `mptcp=debug,policy=info`, `mptcp::scheduler=trace`";
    let failure = |message: String, hint: &str| Failure::Usage { message, hint: hint.to_owned() };
    let full: Vec<String> = filter.split(',').map(|directive| full_target(directive.trim())).collect();
    let targets: Targets = full
        .join(",")
        .parse()
        .map_err(|error| failure(format!("invalid log filter `{filter}`: {error}"), hint))?;
    for (target, level) in &targets {
        if !target.is_empty() && !target.starts_with("tandem") {
            let known = format!("crates with log entries: {}", CRATES.join(", "));
            return Err(failure(format!("unknown crate `{target}` in the log filter `{filter}`"), &known));
        }
        if level > STATIC_MAX_LEVEL {
            let message = format!("this build has no log entries of level {level}");
            return Err(failure(
                message,
                "release builds leave them out: use debug, or run a build of `cargo build`",
            ));
        }
    }
    Ok(targets)
}

/// A directive with the full name of its crate.
fn full_target(directive: &str) -> String {
    let name = directive.split([':', '=']).next().unwrap_or_default();
    if CRATES.contains(&name) { format!("tandem_{directive}") } else { directive.to_owned() }
}

/// Simulated time in seconds, or else the time since the start.
#[derive(Debug, Default)]
struct RunTime {
    uptime: tracing_subscriber::fmt::time::Uptime,
}

impl FormatTime for RunTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        match sim::simulated_time() {
            Some(now) => write!(writer, "{:>14.9}s", now.as_secs_f64()),
            None => self.uptime.format_time(writer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn crate_names_may_be_short() {
        let targets = targets("mptcp=debug, policy=info,tandem_link=warn").unwrap();
        assert!(targets.would_enable("tandem_mptcp::subflow", &Level::DEBUG));
        assert!(targets.would_enable("tandem_policy::qoe", &Level::INFO));
        assert!(!targets.would_enable("tandem_policy::qoe", &Level::DEBUG));
        assert!(!targets.would_enable("tandem_link::link", &Level::INFO));
    }

    #[test]
    fn level_alone_holds_for_all() {
        assert!(targets("debug").unwrap().would_enable("tandem_sim", &Level::DEBUG));
    }

    #[test]
    fn invalid_level_or_unknown_crate_is_an_error() {
        for filter in ["mptcp=loud", "mtcp=debug", "loud"] {
            assert!(targets(filter).is_err(), "{filter}");
        }
    }
}
