//! Arguments of `tandem check`.

use super::Format;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Check files without running anything.
///
/// Finds the kind of each file by its content: a scenario, a configuration of the agent or the
/// proxy, a radio profile, a DASH manifest, a list of segment sizes, or a trace. Prints a line for
/// each valid file. Problems and warnings go to stderr, with `--format json` and `csv` to stdout;
/// the exit code is 3 if a file is invalid.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem check scenario.toml
  tandem check *.toml traces/*.csv
  tandem check --as agent /etc/tandem/agent.toml
  tandem check film.mpd film.json
  tandem check --format json scenario.toml
  tandem examples wifi-lte | tandem check -")]
pub(crate) struct Check {
    /// Files to check; - for the standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files [default: by content]
    #[arg(long = "as", value_name = "KIND")]
    pub(crate) kind: Option<FileKind>,
    /// Output format: `json` and `csv` have file, line, column, key, message and hint of each problem
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
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
