//! Log entries on stderr: of the daemons, of a simulation and of a test bed.

use crate::arguments::LogFormat;
use crate::failure::Failure;
use crate::output::Terminal;
use std::io::{self, IsTerminal, Stderr};
use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing_subscriber::filter::{FilterExt, Targets, filter_fn};
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{DefaultFields, Format, Writer};
use tracing_subscriber::fmt::time::{FormatTime, Uptime};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// Crates with log entries. A filter may leave out the `tandem_` of their targets.
const CRATES: [&str; 6] = ["agent", "link", "mptcp", "policy", "proxy", "sim"];

/// Hint for an invalid filter.
const FILTER_HINT: &str = "a level (error, warn, info, debug, trace), or levels by crate or module: \
                           `mptcp=debug,policy=info`, `mptcp::scheduler=trace`";

/// Logs to stderr: text without timestamps, which the journal adds, or JSON with them.
pub(crate) fn log_daemon(filter: &str, format: LogFormat, terminal: Terminal) -> Result<(), Failure> {
    let filter = if terminal.is_quiet() { "error" } else { filter };
    let targets = targets(filter)?;
    match format {
        LogFormat::Text => start(stderr_layer(terminal).with_target(false).without_time(), targets),
        LogFormat::Json => {
            let layer = fmt::layer().with_writer(io::stderr).json().flatten_event(true);
            start(layer.with_span_list(false), targets);
        }
    }
    Ok(())
}

/// Logs a run to stderr if it has a filter, with the simulated time of each entry; in a test bed,
/// with the time since the start of the program. Returns the terminal for the progress bar, which
/// is hidden by a log: both write to stderr.
pub(crate) fn log_run(filter: Option<&str>, terminal: Terminal) -> Result<Terminal, Failure> {
    let Some(filter) = filter else { return Ok(terminal) };
    let targets = targets(filter)?;
    check_entries_exist(filter, &targets)?;
    start(stderr_layer(terminal).with_timer(RunTime::default()), targets);
    Ok(terminal.without_progress())
}

fn stderr_layer(terminal: Terminal) -> fmt::Layer<Registry, DefaultFields, Format, fn() -> Stderr> {
    fmt::layer()
        .with_writer(io::stderr as fn() -> Stderr)
        .with_ansi(terminal.has_colour(io::stderr().is_terminal()))
}

/// Installs a layer. Spans are always on: they tell the connection and subflow of an entry.
fn start(layer: impl Layer<Registry> + Send + Sync, targets: Targets) {
    let spans = filter_fn(|metadata| !metadata.is_event()).with_max_level_hint(LevelFilter::INFO);
    tracing_subscriber::registry().with(layer.with_filter(targets.or(spans))).init();
}

/// Reads a filter such as `mptcp=debug,policy=info`.
fn targets(filter: &str) -> Result<Targets, Failure> {
    let full: Vec<String> = filter.split(',').map(|directive| full_target(directive.trim())).collect();
    full.join(",").parse().map_err(|error| Failure::Usage {
        message: format!("invalid log filter `{filter}`: {error}"),
        hint: FILTER_HINT.to_owned(),
    })
}

/// Refuses a filter of a run for entries that cannot come: of an unknown crate, or of a level that
/// this build leaves out. A daemon's filter may name any library.
fn check_entries_exist(filter: &str, targets: &Targets) -> Result<(), Failure> {
    for (target, level) in targets {
        if !target.is_empty() && !target.starts_with("tandem") {
            return Err(Failure::Usage {
                message: format!("unknown crate `{target}` in the log filter `{filter}`"),
                hint: format!("crates with log entries: {}", CRATES.join(", ")),
            });
        }
        if level > STATIC_MAX_LEVEL {
            return Err(Failure::Usage {
                message: format!("this build has no log entries of level {level}"),
                hint: "release builds leave them out: use debug, or run a build of `cargo build`".to_owned(),
            });
        }
    }
    Ok(())
}

/// A directive with the full name of its crate.
fn full_target(directive: &str) -> String {
    let name = directive.split([':', '=']).next().unwrap_or_default();
    if CRATES.contains(&name) { format!("tandem_{directive}") } else { directive.to_owned() }
}

/// Simulated time in seconds, or else the time since the start.
#[derive(Debug, Default)]
struct RunTime {
    uptime: Uptime,
}

impl FormatTime for RunTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> std::fmt::Result {
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
    fn invalid_level_is_an_error() {
        for filter in ["mptcp=loud", "loud=loud"] {
            assert!(targets(filter).is_err(), "{filter}");
        }
    }

    #[test]
    fn only_a_run_refuses_unknown_crates() {
        for filter in ["mtcp=debug", "loud"] {
            let targets = targets(filter).expect("a daemon's filter may name any library");
            assert!(check_entries_exist(filter, &targets).is_err(), "{filter}");
        }
    }
}
