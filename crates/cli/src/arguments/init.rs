//! Arguments of `tandem init`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Write a commented scenario to start from.
///
/// Without options it is the example wifi-lte. With --traces each trace becomes a path, named after
/// its file; two files that differ in `down` and `up` are the directions of one path. With
/// --capture paths, delays, mean rates and traffic are those of a capture. Values that are not in
/// the input are marked as assumed. Existing files are never replaced.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem init
  tandem init walk.toml --from wifi-weakens
  tandem init bus.toml --traces wifi.csv lte.csv
  tandem init train.toml --traces wifi.csv lte.down lte.up
  tandem init seen.toml --capture trace.pcapng

Then: `tandem check FILE`, `tandem run FILE`. `tandem examples` lists what --from takes.")]
pub(crate) struct Init {
    /// File to write
    #[arg(value_name = "FILE", default_value = "scenario.toml", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Start from this example (`tandem examples`)
    #[arg(long, value_name = "NAME", default_value = "wifi-lte")]
    pub(crate) from: String,
    /// Make one path of each trace
    #[arg(long, value_name = "TRACE", num_args = 1.., value_hint = ValueHint::FilePath, conflicts_with = "from")]
    pub(crate) traces: Vec<PathBuf>,
    /// Take paths and traffic from a capture (pcap, pcapng)
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath, conflicts_with_all = ["from", "traces"])]
    pub(crate) capture: Option<PathBuf>,
}
