//! Arguments of `tandem compare`.

use super::{Format, Plot, policy, setting, time};
use clap::{Args, ValueHint};
use policy::PolicyConfig;
use scenario::Setting;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Compare policies, settings or scenarios by simulation.
///
/// Every case runs with the same seeds, on all cores. Prints means with 95 % confidence intervals
/// and the difference of each case to the first. With several scenarios, --policies, --vary and
/// --vary-together, every combination is a case. Over a key with three or more numbers the report
/// draws each figure as a line. Ctrl-C keeps the finished runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem examples --copy wifi-lte              write wifi-lte.toml
  tandem compare wifi-lte.toml --policies none,wifi-first,emtcp
  tandem compare wifi-lte.toml --policies none,emtcp --plot power.pdf --plot-what power
  tandem compare wifi-lte.toml --policies emtcp:0.1,emtcp:0.24,emtcp:0.4 --seeds 30
  tandem compare wifi-lte.toml --policies none,emtcp --format csv > figures.csv
  tandem compare wifi-lte.toml --vary transport.scheduler=min-rtt,blest,ecf,redundant
  tandem compare wifi-lte.toml --vary path.wifi.down.loss=0,0.05 --policies none,qoe
  tandem compare walk.toml --vary-together 'wifi.trace=wifi-*.csv,lte.trace=lte-*.csv' --seeds 1
  tandem compare a.toml b.toml --set transport.congestion=cubic --duration 60s

Policies: none, wifi-only, lte-only, wifi-first, when-needed[:KEY=VALUE]..., qoe[:KEY=VALUE]...,
          allowance[:close|:backup], emtcp[:ideal|:table1|:mp-prio][:SHARE]
Keys: as in docs/reference/scenario.md, with dots in between; after a list of tables, such as path,
      comes the name of an entry or its number from 1. Values that are not TOML are taken as text.
      A shortened key, such as wifi.trace for path.wifi.down.trace, stands for the only key of the
      scenario that fits. Values of trace and manifest may be patterns with *, ? and [ab], from the
      folder of the scenario; the files are taken in alphabetical order.")]
pub(crate) struct Compare {
    /// The scenarios, TOML files (docs/reference/scenario.md); - for the standard input. Each is a case
    #[arg(value_name = "SCENARIO.toml", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Policies, separated by commas; the first is the reference
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = policy)]
    pub(crate) policies: Vec<PolicyConfig>,
    /// A key of the scenario and its values; may be repeated
    #[arg(long, value_name = "KEY=A,B,…", value_parser = variation)]
    pub(crate) vary: Vec<Variation>,
    /// Keys that vary together: the first values of all keys are a case, the second values, and so
    /// on; may be repeated
    #[arg(long, value_name = "KEY=A,B,…,KEY=C,D,…", value_parser = together)]
    pub(crate) vary_together: Vec<Together>,
    /// Override a key of the scenario in all cases; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// Override the duration of the scenario, for example by 20s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<units::Duration>,
    /// Number of seeds, starting with that of the scenario
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// Number of runs at once [default: one per core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Also write the time series of every run to series.csv
    #[arg(long)]
    pub(crate) series: bool,
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

/// Keys that vary together, each with its alternative values.
#[derive(Debug, Clone)]
pub(crate) struct Together(pub(crate) Vec<Variation>);

impl std::fmt::Display for Variation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let values: Vec<&str> = self.0.iter().map(Setting::text).collect();
        write!(f, "{}={}", self.0.first().map_or_else(String::new, Setting::key), values.join(","))
    }
}

impl std::fmt::Display for Together {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
    }
}

pub(super) fn variation(text: &str) -> Result<Variation, String> {
    Setting::alternatives(text).map(Variation).map_err(|error| {
        format!("{error},…\n  hint: for example `transport.scheduler=min-rtt,blest` or `path.lte.down.loss=0,0.01`")
    })
}

fn together(text: &str) -> Result<Together, String> {
    let all = Setting::several_alternatives(text).map_err(|error| {
        format!("{error},…,KEY=VALUE,…\n  hint: for example `wifi.rate=1Mbps,2Mbps,lte.rate=3Mbps,4Mbps`")
    })?;
    Ok(Together(all.into_iter().map(Variation).collect()))
}
