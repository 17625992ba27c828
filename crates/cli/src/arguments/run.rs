//! Arguments of `tandem run`.

use super::{Format, Plot, policy, seed, setting, time};
use clap::{Args, ValueHint};
use policy::PolicyConfig;
use scenario::Setting;
use std::path::PathBuf;

/// Simulate a scenario.
///
/// Prints the energy of the device, the traffic of each path and the goodput of each connection,
/// and writes a directory with result.json, series.csv and report.html. The directory is written as
/// a whole or not at all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem examples --copy wifi-lte handover     write wifi-lte.toml and handover.toml
  tandem run wifi-lte.toml
  tandem run wifi-lte.toml --plot goodput.pdf --plot-what goodput
  tandem run wifi-lte.toml --policy emtcp:mp-prio:0.4 --seed 7
  tandem run wifi-lte.toml --duration 5s
  tandem run handover.toml --pcap --out /tmp/handover
  tandem run cafe.toml --device phone-7
  tandem run wifi-lte.toml --set transport.scheduler=blest --set path.lte.down.rate=20Mbps
  tandem run handover.toml --log mptcp=debug,policy=debug 2>handover.log
  tandem run wifi-lte.toml --format json | jq .device.energy_j")]
pub(crate) struct Run {
    /// The scenario, a TOML file (docs/reference/scenario.md); - for the standard input
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Override the seed of the scenario
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Override the policy of the scenario, for example by wifi-first or emtcp:mp-prio:0.4
    #[arg(long, value_name = "P", value_parser = policy)]
    pub(crate) policy: Option<PolicyConfig>,
    /// Override a key of the scenario (docs/reference/scenario.md); may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// Override the duration of the scenario, for example by 20s
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) duration: Option<units::Duration>,
    /// Directory for the results [default: tandem-out/<scenario>]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Of a scenario with several devices, show this one among the others, for example phone-7
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Also write the packets of connections at the device's interfaces to capture.pcapng
    #[arg(long)]
    pub(crate) pcap: bool,
    /// Log state changes, losses, reinjections and decisions to stderr, by crate: mptcp, link,
    /// policy, sim (docs/reference/log.md)
    #[arg(long, value_name = "FILTER")]
    pub(crate) log: Option<String>,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}
