//! Arguments of `tandem testbed`.

use super::{Format, Plot, policy, positive_time, seed, setting};
use clap::{Args, ValueHint};
use policy::PolicyConfig;
use scenario::Setting;
use std::path::PathBuf;
use testbed::Stacks;

/// Run a scenario on the real kernel.
///
/// Creates a device and a server in network namespaces and emulates the links of the scenario
/// between them in real time. The kernel's Multipath TCP carries the data of real sockets, steered
/// by the policy of the scenario; with --stack, Tandem's own endpoint takes its place at one end or
/// at both. Output and files are those of `tandem run`; a run takes the duration of the scenario. Needs root, changes no setting of the host, and leaves nothing behind,
/// however it ends.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem testbed scenario.toml
  sudo tandem testbed scenario.toml --policy wifi-first --duration 20s
  sudo tandem testbed handover.toml --pcap --out /tmp/handover
  sudo tandem testbed scenario.toml --stack server=tandem --set transport.scheduler=redundant
  sudo tandem testbed --clean                 remove partial results of killed runs")]
pub(crate) struct Testbed {
    /// The scenario, a TOML file (`tandem init` writes one, `tandem examples` lists more)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath, required_unless_present = "clean")]
    pub(crate) scenario: Option<PathBuf>,
    /// Override the seed of the scenario
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Override the policy of the scenario, for example by wifi-first or emtcp:mp-prio:0.4
    #[arg(long, value_name = "P", value_parser = policy)]
    pub(crate) policy: Option<PolicyConfig>,
    /// Override a key of the scenario (`tandem schema --markdown`); may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// Override the duration of the scenario, for example by 20s
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub(crate) duration: Option<units::Duration>,
    /// Implementation of Multipath TCP at each end, linux or tandem: for example
    /// device=linux,server=tandem. An end without a name uses Linux; MPTCP-rec needs tandem at both,
    /// which is then the default
    #[arg(long, value_name = "END=STACK,...", value_parser = stacks)]
    pub(crate) stack: Option<Stacks>,
    /// Directory for the results [default: tandem-out/<scenario>-kernel]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write the packets of connections at the device's interfaces to capture.pcapng
    #[arg(long)]
    pub(crate) pcap: bool,
    /// Disable segmentation offload: the kernel, not the emulator, splits data into packets
    /// (slower)
    #[arg(long)]
    pub(crate) no_offload: bool,
    /// Remove partial results of killed runs, and run nothing
    #[arg(long, conflicts_with_all = ["scenario", "seed", "policy", "set", "duration", "stack", "pcap", "log"])]
    pub(crate) clean: bool,
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

fn stacks(text: &str) -> Result<Stacks, String> {
    text.parse().map_err(|error| format!("{error}\n  hint: such as `device=linux,server=tandem`"))
}
