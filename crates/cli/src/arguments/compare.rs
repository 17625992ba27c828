//! Arguments of `tandem compare`.

use super::{Format, Plot, policy};
use clap::{Args, ValueHint};
use policy::PolicyConfig;
use scenario::Setting;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Compare policies or settings by simulation.
///
/// Every case runs with the same seeds, on all cores. Prints means with 95 % confidence intervals
/// and the difference of each case to the first. With several of --policies and --vary, every
/// combination is a case. Over a key with three or more numbers the report draws each figure as a
/// line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem compare scenarios/wifi-lte.toml --policies none,wifi-first,emtcp
  tandem compare scenarios/wifi-lte.toml --policies none,emtcp --plot power.pdf --plot-what power
  tandem compare scenarios/wifi-lte.toml --policies emtcp:0.1,emtcp:0.24,emtcp:0.4 --seeds 30
  tandem compare scenarios/wifi-lte.toml --policies none,emtcp --format csv > figures.csv
  tandem compare scenarios/wifi-lte.toml --vary transport.scheduler=min-rtt,blest,ecf,redundant
  tandem compare scenarios/wifi-lte.toml --vary path.wifi.down.loss=0,0.05 --policies none,qoe

Policies: none, wifi-only, lte-only, wifi-first, when-needed[:KEY=VALUE]..., qoe[:margin=TIME],
          allowance[:close|:backup], emtcp[:ideal|:mp-prio][:SHARE]
Keys: as in docs/reference/scenario.md, with dots in between; after a list of tables, such as path,
      comes the name of an entry or its number from 1. Values that are not TOML are taken as text.")]
pub(crate) struct Compare {
    /// The scenario, a TOML file (docs/reference/scenario.md)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Policies, separated by commas; the first is the reference
    #[arg(long, value_name = "A,B,…", required_unless_present = "vary", value_delimiter = ',', value_parser = policy)]
    pub(crate) policies: Vec<PolicyConfig>,
    /// A key of the scenario and its values; may be repeated
    #[arg(long, value_name = "KEY=A,B,…", value_parser = variation)]
    pub(crate) vary: Vec<Variation>,
    /// Number of seeds, starting with that of the scenario
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// Number of runs at once [default: one per core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Directory for the results [default: tandem-out/<scenario>-compare]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}

/// A key of the scenario with its alternative values.
#[derive(Debug, Clone)]
pub(crate) struct Variation(pub(crate) Vec<Setting>);

impl std::fmt::Display for Variation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values: Vec<&str> = self.0.iter().map(Setting::text).collect();
        write!(f, "{}={}", self.0.first().map_or_else(String::new, Setting::key), values.join(","))
    }
}

fn variation(text: &str) -> Result<Variation, String> {
    Setting::alternatives(text).map(Variation).map_err(|error| {
        format!("{error},…\n  hint: for example `transport.scheduler=min-rtt,blest` or `path.lte.down.loss=0,0.01`")
    })
}
