//! Arguments of `tandem examples`.

use super::Format;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// List the shipped scenarios, show one, or copy some.
///
/// The scenarios and their traces are part of the program. Without a name they are listed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem examples
  tandem examples wifi-lte | less
  tandem examples --copy wifi-weakens handover --to experiments
  tandem examples film.json > film.json
  tandem examples wifi-lte | tandem run -")]
pub(crate) struct Examples {
    /// Name of a scenario or file: shows it, or copies it with --copy
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Copy the named scenarios, with the files that they name
    #[arg(long, requires = "names")]
    pub(crate) copy: bool,
    /// Directory for the copies [default: the current one]
    #[arg(long, value_name = "DIR", requires = "copy", value_hint = ValueHint::DirPath)]
    pub(crate) to: Option<PathBuf>,
    /// Output format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table", conflicts_with = "names")]
    pub(crate) format: Format,
}
