//! Arguments of `tandem check`.

use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Check files without running anything.
///
/// Finds the kind of each file by its content: a scenario, a configuration of the agent or the
/// proxy, a radio profile, a DASH manifest, a list of segment sizes, or a trace. Prints a line for
/// each valid file. Problems and warnings go to stderr; the exit code is 3 if a file is invalid.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem check scenario.toml
  tandem check *.toml traces/*.csv
  tandem check --as agent /etc/tandem/agent.toml
  tandem check film.mpd film.json")]
pub(crate) struct Check {
    /// Files to check
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files [default: by content]
    #[arg(long = "as", value_name = "KIND")]
    pub(crate) kind: Option<FileKind>,
}

/// Kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    /// Scenario of run, compare, testbed and emulate
    Scenario,
    /// Configuration of the agent
    Agent,
    /// Configuration of the proxy
    Proxy,
    /// Radio profile
    Profile,
    /// DASH manifest (MPD)
    Manifest,
    /// JSON list of segment sizes
    Sizes,
    /// Trace of a link
    Trace,
}
