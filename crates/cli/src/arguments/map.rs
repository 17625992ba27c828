//! Arguments of `tandem map`.

use super::{Format, Plot};
use clap::{Args, ValueHint};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Map which policy is the best for which radios and traffic.
///
/// For pairs of radios, kinds of traffic and rates, it simulates every policy and finds the one that
/// draws the least energy without a loss of throughput, or of MOS for video. It writes the map for the
/// policy `best-known`, and judges that policy at points with other rates and links.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem map                                  minutes; writes tandem-out/map
  tandem map --seeds 1 --quiet
  tandem map --plot map.pdf
  tandem run scenario.toml --policy best-known:map=tandem-out/map/map.toml")]
pub(crate) struct Map {
    /// Number of seeds of each point and policy
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Number of runs at once [default: one per core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Directory for the results [default: tandem-out/map]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}
