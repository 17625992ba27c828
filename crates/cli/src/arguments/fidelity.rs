//! Arguments of `tandem fidelity`.

use super::Format;
use clap::{Args, ValueHint};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Compare the simulator with the real kernel over a matrix of scenarios.
///
/// The matrix has TCP and Multipath TCP, Reno and CUBIC, 1 to 100 Mbit/s, 10 to 200 ms, up to 2 %
/// loss, equal and unequal paths, small buffers, a failing path, and generated links: rates that
/// rise or fall within seconds, 300 Mbit/s to 2 Gbit/s, pairs of Wi-Fi and LTE. Prints the goodput
/// on both and the deviation of the simulator. Needs root, except with `--kernel`; takes 40 minutes
/// on two cores, and leaves nothing behind. Ctrl-C keeps the scenarios that are finished; with
/// `--kernel` it ends the command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem fidelity
  sudo tandem fidelity --only cubic --runs 10
  sudo tandem fidelity --only Generated         only the generated links
  sudo tandem fidelity --traces measured        also over measured Wi-Fi and cellular traces
  tandem fidelity --kernel tandem-out/fidelity/result.json --out again
                                                simulates only: after a change of the endpoint")]
pub(crate) struct Fidelity {
    /// Run only scenarios whose name or group contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// Number of runs of each scenario on the kernel
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Take the kernel's figures from a `result.json` of this command, and only simulate
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["runs", "jobs"])]
    pub(crate) kernel: Option<PathBuf>,
    /// Number of simulated seeds of each scenario
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// Number of scenarios at once on the kernel [default: one per two cores]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Directory with measured traces to run over as well
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) traces: Option<PathBuf>,
    /// Directory for the results [default: tandem-out/fidelity]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}
