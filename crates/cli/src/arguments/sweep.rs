//! Arguments of `tandem sweep`.

use super::compare::variation;
use super::{Format, Plot, Variation, policy, setting, time};
use clap::{Args, ValueEnum, ValueHint};
use policy::PolicyConfig;
use scenario::Setting;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Run a scenario at many points into one Parquet dataset.
///
/// Every combination of the varied values, policies and seeds is a run and becomes a row of
/// DIR/sweep.parquet, with all figures of the run. Finished runs are kept as they come: the same
/// command goes on where a sweep was killed or interrupted, and gives the same bytes as a sweep that
/// was not. A Latin hypercube samples ranges instead of listing values.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem examples --copy wifi-lte              write wifi-lte.toml
  tandem sweep wifi-lte.toml --vary wifi.down.rate=5Mbps,10Mbps,20Mbps --seeds 20 --out rates
  tandem sweep wifi-lte.toml --vary wifi.down.rate=5Mbps,20Mbps --vary lte.down.delay=20ms,40ms,80ms \\
    --policies none,wifi-first --seeds 5 --out grid
  tandem sweep wifi-lte.toml --vary wifi.down.rate=1Mbps..50Mbps --vary wifi.down.loss=0..0.05 \\
    --design lhs --points 200 --seeds 5 --out sample
  tandem sweep wifi-lte.toml --vary transport.scheduler=min-rtt,blest --out s --format json
  tandem sweep wifi-lte.toml --vary transport.scheduler=min-rtt,blest --out s --shard 3/8

A value list such as 5Mbps,10Mbps is part of a grid. A range such as 1Mbps..50Mbps needs --design lhs:
each of N equal parts of every range has one of the N points, and lists apply to every point. Keys are
those of `tandem compare`, also in their short form. Python reads the dataset with
pandas.read_parquet(\"DIR/sweep.parquet\"); docs/reference/output.md describes its columns.")]
pub(crate) struct Sweep {
    /// The scenario, a TOML file (docs/reference/scenario.md); - for the standard input
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// A key of the scenario with its values, or with a range A..B; may be repeated
    #[arg(long, value_name = "KEY=A,B,…", value_parser = variation)]
    pub(crate) vary: Vec<Variation>,
    /// Choice of the points: every combination of the values, or a Latin hypercube over the ranges
    #[arg(long, value_name = "DESIGN", default_value = "grid")]
    pub(crate) design: DesignKind,
    /// Number of points of the Latin hypercube
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) points: Option<u32>,
    /// Policies, separated by commas, each at every point [default: the scenario's]
    #[arg(long, visible_alias = "policy", value_name = "A,B,…", value_delimiter = ',', value_parser = policy)]
    pub(crate) policies: Vec<PolicyConfig>,
    /// Override a key of the scenario in all runs; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// Override the duration of the scenario, for example by 20s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<units::Duration>,
    /// Number of seeds of each point, starting with that of the scenario
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seeds: u32,
    /// Number of runs at once [default: one per core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Run only shard I of N and do not merge, so that N processes or machines share a directory;
    /// the command without --shard then merges
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(crate) shard: Option<Shard>,
    /// Directory of the sweep [default: tandem-out/<scenario>-sweep]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}

/// A part of the runs: number and count of the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) number: u32,
    pub(crate) count: u32,
}

fn shard(text: &str) -> Result<Shard, String> {
    let hint = "expected I/N with I from 1 to N\n  hint: `--shard 1/8` to `--shard 8/8` are all shards";
    let (number, count) = text.split_once('/').ok_or(hint)?;
    let (Ok(number), Ok(count)) = (number.parse(), count.parse()) else { return Err(hint.to_owned()) };
    let shard = Shard { number, count };
    if (1..=count).contains(&number) { Ok(shard) } else { Err(hint.to_owned()) }
}

/// Choice of the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DesignKind {
    /// Every combination of the values
    Grid,
    /// A Latin hypercube over the ranges
    Lhs,
}
