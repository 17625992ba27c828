//! Arguments of `tandem emulate`.

use super::{policy, positive_time, seed, setting};
use clap::{Args, ValueEnum, ValueHint};
use policy::PolicyConfig;
use scenario::Setting;
use std::path::PathBuf;
use testbed::StackKind;

/// Run any program over the links of a scenario.
///
/// Creates the device and the server of `tandem testbed`, with the links, radios and policy of the
/// scenario, and runs COMMAND on the device in place of the scenario's traffic. The server has the
/// address 10.77.255.1 (also in the variable TANDEM_SERVER); without --uplink, no other host is
/// reachable. COMMAND gets terminal, standard streams and signals, and tandem exits with its exit code. The traffic of
/// each path is printed to stderr. Needs root, changes no setting of the host, and leaves nothing
/// behind: all processes that COMMAND started end with it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem emulate scenario.toml --server 'python3 -m http.server' -- \\
      curl -o copy http://10.77.255.1:8000/file
  sudo tandem emulate scenario.toml --server 'iperf3 -s' -- iperf3 -c 10.77.255.1 -R
  sudo tandem emulate scenario.toml --set transport.scheduler=redundant --server-stack tandem \\
      --server 'python3 -m http.server' -- curl -o copy http://10.77.255.1:8000/file
  sudo tandem emulate handover.toml --policy wifi-first -- bash
  sudo tandem emulate scenario.toml --duration 20s --out results --pcap -- ping 10.77.255.1
  sudo tandem emulate scenario.toml --uplink -- curl -o page https://example.org/

Exit codes: that of COMMAND, or 128 plus the number of the signal that ended it; 124 after --duration,
126 if COMMAND cannot be run, 127 if it does not exist. Before it runs: 2 invalid command line,
3 invalid input file, 4 missing system requirement, 1 any other failure.")]
pub(crate) struct Emulate {
    /// The scenario, a TOML file (`tandem init` writes one, `tandem examples` lists more)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Program to run on the device, with its arguments
    #[arg(value_name = "COMMAND", last = true, required = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<std::ffi::OsString>,
    /// Command to run on the server by `sh -c`. COMMAND starts when it listens, or after 10 s. Its
    /// output goes to stderr
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub(crate) server: Option<String>,
    /// Implementation of Multipath TCP at the server: the kernel, or Tandem's endpoint with the
    /// scheduler and the congestion control of the scenario. COMMAND of --server then uses plain TCP
    /// behind it, and UDP and ping do not reach it
    #[arg(
        long,
        value_name = "STACK",
        default_value = "linux",
        requires_if("tandem", "server"),
        value_parser = server_stack
    )]
    pub(crate) server_stack: StackKind,
    /// Which TCP sockets use Multipath TCP, if the scenario does
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) mptcp: Sockets,
    /// Override the seed of the scenario
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Override the policy of the scenario, for example by wifi-first or emtcp:mp-prio:0.4
    #[arg(long, value_name = "P", value_parser = policy)]
    pub(crate) policy: Option<PolicyConfig>,
    /// Override a key of the scenario (`tandem schema --markdown`); may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// End COMMAND after this time, such as 20s. The duration of the scenario does not end it;
    /// without --duration, the rates of a channel model repeat after it, and it is the default
    /// period of an allowance
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub(crate) duration: Option<units::Duration>,
    /// Let COMMAND reach the real network over the links: a relay on the server forwards its TCP
    /// connections, its UDP and its name lookups. The machine's own addresses stay unreachable
    #[arg(long)]
    pub(crate) uplink: bool,
    /// Disable segmentation offload: the kernel, not the emulator, splits data into packets
    /// (slower)
    #[arg(long)]
    pub(crate) no_offload: bool,
    /// Write result.json, series.csv and report.html to this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write the packets of connections at the device's interfaces to capture.pcapng in that
    /// directory
    #[arg(long, requires = "out")]
    pub(crate) pcap: bool,
}

/// The sockets that use Multipath TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sockets {
    /// All TCP sockets, also of unmodified programs
    All,
    /// Sockets of programs that request it, for example under `mptcpize run`
    Asked,
}

fn server_stack(text: &str) -> Result<StackKind, String> {
    text.parse()
}
