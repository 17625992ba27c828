//! The command line. Doc comments here are the help texts, in which `<paper>` is a placeholder.
#![allow(rustdoc::invalid_html_tags, reason = "doc comments here are help texts")]

use clap::builder::PossibleValuesParser;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use policy::{PolicyConfig, PolicyError};
use scenario::{Setting, SettingError};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Which radio should carry which byte, and what does that cost?
///
/// Tandem simulates devices with more than one radio: Multipath TCP over Wi-Fi, LTE and others, what
/// each radio draws, and policies that choose between them. The same scenario and seed give the same
/// result, byte for byte.
#[derive(Debug, Parser)]
#[command(name = "tandem", version, styles = STYLES, max_term_width = 100, after_help = "\
Examples:
  tandem run scenarios/wifi-lte.toml
  tandem compare scenarios/wifi-lte.toml --policies none,wifi-first,emtcp
  tandem reproduce emtcp
  sudo tandem testbed scenarios/wifi-lte.toml
  sudo tandem emulate scenarios/wifi-lte.toml -- bash
  sudo tandem agent --config /etc/tandem/agent.toml
  tandem proxy --upstream proxy.example:1080
  tandem play https://example.org/film.mpd
  tandem serve
  tandem capture trace.pcapng
  tandem profiles huang2012.lte

Exit codes: 0 done, 2 bad command line, 3 bad input file, 4 the system lacks something, 1 the rest.
`tandem help COMMAND` says more about a command.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// When to use colours (NO_COLOR is heeded)
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Colour,
    /// No progress and no remarks: only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Run),
    Compare(Compare),
    Reproduce(Reproduce),
    Testbed(Testbed),
    Emulate(Emulate),
    Fidelity(Fidelity),
    Capture(Capture),
    Agent(Agent),
    Proxy(Proxy),
    Play(Box<Play>),
    Serve(Serve),
    Profiles(Profiles),
    /// Print the JSON Schema of scenario files
    #[command(after_help = "\
Example, for an editor with a TOML language server:
  tandem schema > scenario.schema.json")]
    Schema,
    Completions(Completions),
}

/// Simulate a scenario.
///
/// Prints what the device drew, what each path carried and what each connection got, and writes a
/// directory with result.json, series.csv and report.html. The directory appears complete or not at
/// all.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem run scenarios/wifi-lte.toml
  tandem run scenarios/wifi-lte.toml --policy emtcp:mp-prio:0.4 --seed 7
  tandem run scenarios/handover.toml --pcap --out /tmp/handover
  tandem run scenarios/wifi-lte.toml --set transport.scheduler=blest --set path.lte.down.rate=20Mbps
  tandem run scenarios/wifi-lte.toml --format json | jq .device.energy_j")]
pub(crate) struct Run {
    /// The scenario, a TOML file (docs/reference/scenario.md)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// Another seed than the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Another policy than the scenario's, such as wifi-first or emtcp:mp-prio:0.4
    #[arg(long, value_name = "P", value_parser = policy)]
    pub(crate) policy: Option<PolicyConfig>,
    /// Another value of a key than the scenario's (docs/reference/scenario.md); may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// Where to write the results [default: tandem-out/<scenario>]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write every packet, as the device sees it, to capture.pcapng
    #[arg(long)]
    pub(crate) pcap: bool,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Run a scenario on the real kernel.
///
/// Makes a device and a server in network namespaces of their own, with the scenario's links between
/// them emulated in real time. Linux's own Multipath TCP carries the bytes of real sockets, and the
/// scenario's policy steers it. It prints and writes what `tandem run` does, and takes as long as the
/// scenario says. It needs root, changes no setting of the host, and leaves nothing behind, however it
/// ends: nothing that it makes has a name that could outlive it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem testbed scenarios/wifi-lte.toml
  sudo tandem testbed scenarios/wifi-lte.toml --policy wifi-first --duration 20s
  sudo tandem testbed scenarios/handover.toml --pcap --out /tmp/handover
  sudo tandem testbed --clean                 remove half-written results of a run that was killed")]
pub(crate) struct Testbed {
    /// The scenario, a TOML file (docs/reference/scenario.md)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath, required_unless_present = "clean")]
    pub(crate) scenario: Option<PathBuf>,
    /// Another seed than the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Another policy than the scenario's, such as wifi-first or emtcp:mp-prio:0.4
    #[arg(long, value_name = "P", value_parser = policy)]
    pub(crate) policy: Option<PolicyConfig>,
    /// Another value of a key than the scenario's (docs/reference/scenario.md); may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// Another duration than the scenario's, such as 20s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<units::Duration>,
    /// Where to write the results [default: tandem-out/<scenario>-kernel]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write every packet, as the device's interfaces see it, to capture.pcapng
    #[arg(long)]
    pub(crate) pcap: bool,
    /// Let the kernels split into packets what they send, and not the emulator: slower, and no packet is another
    #[arg(long)]
    pub(crate) no_offload: bool,
    /// Remove what a killed run left beside the results, and run nothing
    #[arg(long, conflicts_with_all = ["scenario", "seed", "policy", "set", "duration", "pcap"])]
    pub(crate) clean: bool,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Run any program over a scenario's links.
///
/// Makes the device and the server of `tandem testbed`, with the scenario's emulated links, radios and policy,
/// and runs COMMAND on the device in place of the scenario's traffic. The server is 10.77.255.1 (also in the
/// variable TANDEM_SERVER), and nothing else can be reached. COMMAND has the terminal, the standard streams and
/// the signals, and its exit code is that of tandem; then stderr tells what each path carried. It needs root,
/// changes no setting of the host, and leaves nothing behind, however it ends: what COMMAND has started ends with it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem emulate scenarios/wifi-lte.toml --server 'python3 -m http.server' -- \\
      curl -o copy http://10.77.255.1:8000/file
  sudo tandem emulate scenarios/wifi-lte.toml --server 'iperf3 -s' -- iperf3 -c 10.77.255.1 -R
  sudo tandem emulate scenarios/handover.toml --policy wifi-first -- bash
  sudo tandem emulate scenarios/wifi-lte.toml --duration 20s --out results --pcap -- ping 10.77.255.1

Exit codes: that of COMMAND, or 128 and the number of the signal that ended it; 124 its --duration was
over, 126 it cannot be run, 127 there is none. Before it runs: 2 bad command line, 3 bad input file, 4 the
system lacks something, 1 the rest.")]
pub(crate) struct Emulate {
    /// The scenario, a TOML file (docs/reference/scenario.md)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// What to run on the device
    #[arg(value_name = "COMMAND", last = true, required = true, num_args = 1.., value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<std::ffi::OsString>,
    /// What to run on the server, by `sh -c`; COMMAND begins when it listens, or 3 s later. What it prints goes to
    /// stderr
    #[arg(long, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    pub(crate) server: Option<String>,
    /// Which TCP sockets are Multipath TCP's, where the scenario has it
    #[arg(long, value_name = "WHICH", default_value = "all")]
    pub(crate) mptcp: Sockets,
    /// Another seed than the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Another policy than the scenario's, such as wifi-first or emtcp:mp-prio:0.4
    #[arg(long, value_name = "P", value_parser = policy)]
    pub(crate) policy: Option<PolicyConfig>,
    /// Another value of a key than the scenario's (docs/reference/scenario.md); may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) set: Vec<Setting>,
    /// End COMMAND after so long, such as 20s; the scenario's own duration does not
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<units::Duration>,
    /// Let the kernels split into packets what they send, and not the emulator: slower, and no packet is another
    #[arg(long)]
    pub(crate) no_offload: bool,
    /// Write result.json, series.csv and report.html there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Also write every packet, as the device's interfaces see it, to capture.pcapng there
    #[arg(long, requires = "out")]
    pub(crate) pcap: bool,
}

/// Which sockets of programs are MPTCP's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sockets {
    /// Those of every program, which need not know of it
    All,
    /// Those of programs that ask for it, such as by `mptcpize run`
    Asked,
}

/// Run a matrix of scenarios in simulation and on the real kernel.
///
/// One TCP connection and Multipath TCP, Reno and CUBIC, 1 to 100 Mbit/s, 10 to 200 ms, up to 2 % loss,
/// equal and unequal paths, small buffers, a path that dies: printed are the goodput in both worlds and
/// how far the simulator is from the kernel. It needs root, takes some minutes, and leaves nothing
/// behind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem fidelity
  sudo tandem fidelity --only cubic --runs 3
  sudo tandem fidelity --traces ../traces       with measured Wi-Fi and cellular, too")]
pub(crate) struct Fidelity {
    /// Only scenarios whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Option<String>,
    /// How many times each scenario runs on the kernel
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// How many seeds each scenario is simulated with
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// How many scenarios at once [default: one a core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// A folder with measured traces to run over as well
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) traces: Option<PathBuf>,
    /// Where to write the results [default: tandem-out/fidelity]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Say who carried what in a capture of Multipath TCP.
///
/// Reads pcap and pcapng of any origin: tandem, tcpdump, Wireshark; cut packets, several interfaces, captures
/// that start in the middle. Joins subflows to connections, and prints what each subflow carried: new data,
/// data that another had carried before, and what was sent again; round-trip times, what waited beyond a gap,
/// MP_PRIO, ADD_ADDR and other signals.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem capture tandem-out/handover/capture.pcapng
  tandem capture trace.pcap --out results       with a report, charts and a series
  tandem capture trace.pcap --format json | jq '.connections[].subflows[] | {path, down}'
  zcat trace.pcap.gz | tandem capture -")]
pub(crate) struct Capture {
    /// The capture, a pcap or pcapng file; - is the standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Write result.json, series.csv and report.html there
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Steer this device: Linux's own Multipath TCP, by a policy.
///
/// Reads from the kernel's counters which interface is in use, and marks interfaces as backup and back
/// (MP_PRIO), or closes them, as the policy wants. It needs CAP_NET_ADMIN and nothing else, opens no network
/// port, and puts back what it changed when it ends; where it is killed, the next start does. Programs use
/// Multipath TCP of themselves, or by `mptcpize run PROGRAM`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  tandem agent example-config > agent.toml
  sudo tandem agent --config agent.toml --dry-run
  sudo tandem agent --config agent.toml
  sudo tandem agent status --watch
  tandem agent unit > tandem-agent.service    a hardened service of systemd"
)]
pub(crate) struct Agent {
    #[command(subcommand)]
    pub(crate) command: Option<AgentCommand>,
    /// What to do, a TOML file (docs/how-to/agent.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub(crate) config: Option<PathBuf>,
    /// Change nothing: say what would be done, until it is ended
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// What to log, in place of what the file says: error, warn, info, debug, trace, also by module
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    Status(AgentStatus),
    /// Print a commented configuration with every key
    ExampleConfig,
    /// Print a hardened service of systemd
    Unit {
        /// Where the configuration will be
        #[arg(long, value_name = "FILE", default_value = "/etc/tandem/agent.toml", value_hint = ValueHint::FilePath)]
        config: PathBuf,
    },
}

/// Ask the agent how things stand.
///
/// Prints for each interface its rate, its share of all, the state of its radio, what that drew, and its
/// allowance; for each connection its subflows, their round-trip times, and what they carried. Totals of a
/// connection outlive its subflows.
#[derive(Debug, Args)]
pub(crate) struct AgentStatus {
    /// The agent's socket [default: that of the configuration, or /run/tandem/agent.sock]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) socket: Option<PathBuf>,
    /// The agent's configuration, for where its socket is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "socket")]
    pub(crate) config: Option<PathBuf>,
    /// Print it again every second, until it is ended
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Carry any program's TCP over Multipath TCP.
///
/// Takes requests of HTTP (also CONNECT) and SOCKS5 over Multipath TCP, and leads to servers that know TCP only.
/// With --upstream it is a device's half: programs use it as their proxy, on this host, and it carries what they
/// say over Multipath TCP to the other half. It listens on this host alone unless it is told whom it serves, and
/// leads to no private address unless it is told to.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  tandem proxy                                          on 127.0.0.1:1080
  tandem proxy --listen 192.0.2.1:1080 --allow 198.51.100.0/24
  tandem proxy --upstream proxy.example:1080            a device's half
  curl --proxy http://127.0.0.1:1080 http://example.org/
  tandem proxy example-config > proxy.toml
  tandem proxy --config proxy.toml
  tandem proxy status
  tandem proxy rules --port 3129 --interface wlan0      for connections that know of no proxy

SIGHUP reads the configuration again; SIGTERM lets what goes on finish; a second one ends it at once."
)]
pub(crate) struct Proxy {
    #[command(subcommand)]
    pub(crate) command: Option<ProxyCommand>,
    /// What to do, a TOML file (docs/how-to/proxy.md)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:1080]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "config")]
    pub(crate) listen: Vec<std::net::SocketAddr>,
    /// Clients that it serves, such as 192.0.2.0/24
    #[arg(long, value_name = "NETWORK", value_parser = network, conflicts_with = "config")]
    pub(crate) allow: Vec<proxy::network::Network>,
    /// Private networks that it may lead to, such as 10.1.0.0/16
    #[arg(long, value_name = "NETWORK", value_parser = network, conflicts_with = "config")]
    pub(crate) allow_destination: Vec<proxy::network::Network>,
    /// The other half, to which everything is carried
    #[arg(long, value_name = "HOST:PORT", value_parser = destination, conflicts_with = "config")]
    pub(crate) upstream: Option<proxy::destination::Destination>,
    /// Tell this agent (`tandem agent`) how players stand, by the CMCD of their requests
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath, conflicts_with = "config")]
    pub(crate) agent: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProxyCommand {
    Status(ProxyStatus),
    /// Print a commented configuration with every key
    ExampleConfig,
    Rules(ProxyRules),
}

/// Ask the proxy how things stand.
///
/// Prints where it listens, and its counters since it began.
#[derive(Debug, Args)]
pub(crate) struct ProxyStatus {
    /// The proxy's socket [default: that of the configuration, or /run/tandem/proxy.sock]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) socket: Option<PathBuf>,
    /// The proxy's configuration, for where its socket is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "socket")]
    pub(crate) config: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Print the rules of nftables that hand connections to a transparent listener.
///
/// They are commands of a shell, which change this host when root runs them.
#[derive(Debug, Args)]
pub(crate) struct ProxyRules {
    /// The port of the transparent listener
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// An interface that clients are behind [default: any]
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Vec<String>,
    /// A port of servers [default: any]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) to: Vec<u16>,
    /// The mark of packets, and the number of the routing table
    #[arg(long, value_name = "N", default_value = "3129", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) mark: u32,
}

fn network(text: &str) -> Result<proxy::network::Network, String> {
    text.parse().map_err(|()| "it is no network such as 192.0.2.0/24 or 2001:db8::/32".to_owned())
}

fn destination(text: &str) -> Result<proxy::destination::Destination, String> {
    text.parse().map_err(|()| "it is no host and port such as proxy.example:1080".to_owned())
}

/// Simulate a scenario under several policies or settings, side by side.
///
/// Every case runs with the same seeds, on all cores. Printed are means with their 95 % intervals,
/// and how far each case is from the first. With several of --policies and --vary, every combination is a
/// case; over a key that takes three numbers or more, the report draws each figure as a line.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem compare scenarios/wifi-lte.toml --policies none,wifi-first,emtcp
  tandem compare scenarios/wifi-lte.toml --policies emtcp:0.1,emtcp:0.24,emtcp:0.4 --seeds 30
  tandem compare scenarios/wifi-lte.toml --policies none,emtcp --format csv > figures.csv
  tandem compare scenarios/wifi-lte.toml --vary transport.scheduler=min-rtt,blest,ecf,redundant
  tandem compare scenarios/wifi-lte.toml --vary path.wifi.down.loss=0,0.05 --policies none,qoe

Policies: none, wifi-only, lte-only, wifi-first, when-needed[:KEY=VALUE]..., qoe[:margin=TIME],
          allowance[:close|:backup], emtcp[:ideal|:mp-prio][:SHARE]
Keys: those of docs/reference/scenario.md, with dots between; of several tables, such as paths, the next part
      is one's name or its number from 0. Values that are no TOML are texts: no quotes are needed.")]
pub(crate) struct Compare {
    /// The scenario, a TOML file (docs/reference/scenario.md)
    #[arg(value_name = "SCENARIO.toml", value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// The policies, with commas between; the others are compared with the first
    #[arg(long, value_name = "A,B,…", required_unless_present = "vary", value_delimiter = ',', value_parser = policy)]
    pub(crate) policies: Vec<PolicyConfig>,
    /// A key of the scenario and the values that it takes in turn; may be given several times
    #[arg(long, value_name = "KEY=A,B,…", value_parser = variation)]
    pub(crate) vary: Vec<Variation>,
    /// How many seeds, from the scenario's on
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: u32,
    /// How many runs at once [default: one a core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Where to write the results [default: tandem-out/<scenario>-compare]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Reproduce a published paper beside its printed figures.
///
/// Prints each figure of the paper beside ours, with its interval, and writes a directory with
/// result.json, runs.csv and report.html. Of eMTCP it says what was calibrated and what is predicted; of
/// MPTCP-rec, whose table of losses is lost, what comes out over a grid of losses and buffers, beside
/// the schedulers of today. Of LWI it fits the links to the rows of one link, and predicts those of both.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem reproduce emtcp
  tandem reproduce lwi
  tandem reproduce lwi --policies qoe,wifi-first           and what they save, over both links
  tandem reproduce mptcp-rec
  tandem reproduce mptcp-rec --seeds 3 --duration 30s      a first look, in some seconds
  tandem reproduce emtcp --format json | jq .best_share
  tandem reproduce emtcp --calibrate          redo the fit on cases 1 and 2
  sudo tandem reproduce emtcp --on kernel     the four cases over Linux's own Multipath TCP
  sudo tandem reproduce lwi --on kernel       180 viewers over it, through a proxy, and six in Chromium")]
pub(crate) struct Reproduce {
    /// Which paper
    pub(crate) paper: Paper,
    /// In simulation, or on the real kernel (root; emtcp takes 150 s, lwi half an hour)
    #[arg(long, value_name = "WORLD", default_value = "sim")]
    pub(crate) on: World,
    /// How long each run is, such as 30s; only for mptcp-rec [default: the paper's 120s]
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    pub(crate) duration: Option<units::Duration>,
    /// How many seeds for each case [default: 30; of emtcp on the kernel 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: Option<u32>,
    /// How many runs at once [default: one a core; on the kernel 16 of emtcp, 5 a core of lwi]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Where to write the results [default: tandem-out/<paper>, tandem-out/<paper>-kernel]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// The fitted parameters, of emtcp and lwi [default: calibration/<paper>.toml if it is there, else those built in]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) calibration: Option<PathBuf>,
    /// Fit the parameters again first, and write them to the file they are read from
    #[arg(long, conflicts_with = "on")]
    pub(crate) calibrate: bool,
    /// Of lwi: also play over both links under these policies, such as qoe,wifi-first
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = policy)]
    pub(crate) policies: Vec<PolicyConfig>,
    /// Of lwi on the kernel: what the proxy may hold of a video on its way, such as 256KiB [default: as Linux has it]
    #[arg(long, value_name = "SIZE", value_parser = some_buffer)]
    pub(crate) send_buffer: Option<units::Bytes>,
    /// Of lwi on the kernel: how much longer than a round trip a subflow may take to send what it has before the proxy writes more; 0s writes at once [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = any_time)]
    pub(crate) ahead: Option<units::Duration>,
    /// Of lwi on the kernel: do not play the player's page in Chromium, where it is installed
    #[arg(long)]
    pub(crate) no_page: bool,
    /// How to print the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// What runs a reproduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum World {
    /// The simulator
    Sim,
    /// Linux, over emulated links
    Kernel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Paper {
    /// Chen, Yuan, Muntean: energy-aware Multipath TCP, 2013
    Emtcp,
    /// Cao and others: receiver-driven rates and path choice against buffer blocking, 2016
    MptcpRec,
    /// Kumar, Gupta, Franklin: YouTube over LTE and Wi-Fi, 2017
    Lwi,
}

/// Play adaptive video over real sockets, without a picture, and say what a viewer would get.
///
/// MANIFEST is a DASH manifest (an MPD, static), a JSON list of the sizes of segments as the simulator Sabre has
/// it, or with --duration one file, played in byte ranges. What is downloaded is not decoded. The figures: wait for
/// the first picture, stalls, bitrates, MOS (docs/background/player.md); with --out the record of the session too
/// (docs/reference/session.md), as input of ITU-T P.1203, and a report with a chart.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem play https://example.org/film.mpd
  tandem play https://example.org/film.mpd --proxy http://127.0.0.1:1080 --out tandem-out/film
  tandem play sizes.json --server http://192.0.2.1:8080/ --rule bola --runs 10
  tandem play http://192.0.2.1/film.mp4 --duration 66s --mptcp
  tandem play film.mpd --post http://127.0.0.1:8090/ --label bus

Exit codes: 0 played, or left by --for or a signal; 1 where something ended a session before its time, or it was
not taken by the collector; 3 where the manifest makes no sense.")]
pub(crate) struct Play {
    /// The manifest, or with --duration the file: an address of http: or https:, or a manifest on this disk
    #[arg(value_name = "MANIFEST", value_hint = ValueHint::AnyPath)]
    pub(crate) manifest: String,
    /// Where segments are whose sizes alone a manifest on this disk says, and what its addresses are relative to
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<url::Url>,
    /// It is one file that plays so long, such as 66s
    #[arg(long, value_name = "TIME", value_parser = any_time)]
    pub(crate) duration: Option<units::Duration>,
    #[arg(long, value_name = "RULE", default_value = "bola", value_parser = rule, help = rule_help())]
    pub(crate) rule: abr::Rule,
    /// Only this bitrate, counted from 0, the lowest: no adaptation
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<usize>,
    /// The most that the buffer may hold
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = any_time)]
    pub(crate) buffer: units::Duration,
    /// What has to be in the buffer before the first picture; at least one segment has
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = any_time)]
    pub(crate) startup: units::Duration,
    /// What has to be in it before a stall ends, likewise
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = any_time)]
    pub(crate) resume: units::Duration,
    /// Never give up a segment on its way for a smaller one
    #[arg(long)]
    pub(crate) no_abandon: bool,
    /// The viewer leaves after so long
    #[arg(long = "for", value_name = "TIME", value_parser = any_time)]
    pub(crate) limit: Option<units::Duration>,
    /// How many sessions, one after the other
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    // Said apart from documentation, which would take it for a link.
    #[arg(
        long,
        value_name = "PROXY",
        help = "Through this proxy: http://[USER:PASSWORD@]HOST:PORT or socks5://…"
    )]
    pub(crate) proxy: Option<player::Proxy>,
    /// Open sockets of Multipath TCP
    #[arg(long)]
    pub(crate) mptcp: bool,
    /// How often a request that fails is tried again
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) retries: u32,
    /// How the server is told of buffer and bitrates (CTA-5004)
    #[arg(long, value_name = "WHERE", default_value = "query")]
    pub(crate) cmcd: CmcdMode,
    /// CMCD's name of the content
    #[arg(long, value_name = "ID")]
    pub(crate) content_id: Option<String>,
    /// Words to find the session by
    #[arg(long, value_name = "WORDS")]
    pub(crate) label: Option<String>,
    /// Send each record to this collector (`tandem serve`); a token for it is read from TANDEM_TOKEN
    #[arg(long, value_name = "URL")]
    pub(crate) post: Option<url::Url>,
    /// Tell this agent (`tandem agent`) ten times a second how the player stands
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    pub(crate) agent: Option<PathBuf>,
    /// Hold every byte against what a content server makes from this seed
    #[arg(long, value_name = "SEED", hide = true)]
    pub(crate) verify: Option<u64>,
    /// Where to write records and report
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// How to print the figures; json prints the record of a single session
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Collect the records of sessions, and show and compare them.
///
/// Players send a record for each session (docs/reference/session.md): `tandem play --post`, and the player's page, which is
/// served here too where it was built. Records are kept in SQLite; one that was acknowledged is on the disk.
/// Listens on this host alone, unless there is a token that others have to know.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem serve
  tandem serve --content films
  TANDEM_TOKEN=… tandem serve --listen 192.0.2.1:8090 --allow-host films.example.org

Ends on SIGTERM once what is being answered has been. Prints the address where it serves.")]
pub(crate) struct Serve {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    pub(crate) listen: std::net::SocketAddr,
    /// Where sessions are kept
    #[arg(long, value_name = "FILE", default_value = "tandem-out/sessions.db", value_hint = ValueHint::FilePath)]
    pub(crate) database: PathBuf,
    /// The token that is asked for is the first line of this file [default: what TANDEM_TOKEN holds, or none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// A name under which browsers may know it, beside localhost and addresses
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    #[arg(
        long,
        value_name = "ORIGIN",
        help = "An origin whose pages may send and read, such as https://example.org"
    )]
    pub(crate) allow_origin: Vec<String>,
    /// The player's page, built [default: web/dist, where it is here or beside the program]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) web: Option<PathBuf>,
    /// Films and manifests, to be served at /content/
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) content: Option<PathBuf>,
    /// A JSON list of the sizes of segments, to be served at /content/manifest.mpd and .json with bytes made up
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sizes: Option<PathBuf>,
    /// Of the bytes that are made up
    #[arg(long, value_name = "SEED", default_value = "1")]
    pub(crate) seed: u64,
    /// Open sockets of Multipath TCP, which take plain TCP too
    #[arg(long)]
    pub(crate) mptcp: bool,
    /// Write a line of JSON for each answer: when it was asked for, written and acknowledged
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
}

/// Where CMCD goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CmcdMode {
    /// Into header fields
    Header,
    /// Into the query of each address
    Query,
    /// Nowhere
    Off,
}

/// List the radio power profiles, or show one as TOML.
///
/// A profile that is shown can be changed and used: `radio = { file = "mine.toml" }` in a scenario.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem profiles
  tandem profiles huang2012.lte > mine.toml
  tandem profiles --format json")]
pub(crate) struct Profiles {
    /// The profile to show
    #[arg(value_parser = PossibleValuesParser::new(profile_names()), hide_possible_values = true)]
    pub(crate) name: Option<String>,
    /// How to print the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
}

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem completions bash > ~/.local/share/bash-completion/completions/tandem
  tandem completions zsh > ~/.zfunc/_tandem
  tandem completions fish > ~/.config/fish/completions/tandem.fish")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned text, for people
    Table,
    /// One JSON document, for programs
    Json,
    /// Comma-separated values, for spreadsheets
    Csv,
}

/// Any duration.
fn any_time(text: &str) -> Result<units::Duration, String> {
    text.parse().map_err(|error: units::UnitError| error.to_string())
}

/// Help of `--rule`, with the registered rules.
fn rule_help() -> String {
    let names: Vec<&str> = abr::RULES.iter().map(|rule| rule.name).collect();
    format!("How bitrates are chosen: {} (docs/background/player.md)", names.join(", "))
}

fn rule(text: &str) -> Result<abr::Rule, String> {
    text.parse().map_err(|error: abr::RuleError| error.to_string())
}

/// A buffer that holds some segments.
fn some_buffer(text: &str) -> Result<units::Bytes, String> {
    let size: units::Bytes = text.parse().map_err(|error: units::UnitError| error.to_string())?;
    if !(16_384..=1 << 30).contains(&size.get()) {
        return Err("from 16KiB to 1GiB".to_owned());
    }
    Ok(size)
}

/// A duration of which something can be measured.
fn some_time(text: &str) -> Result<units::Duration, String> {
    let time: units::Duration = text.parse().map_err(|error: units::UnitError| error.to_string())?;
    if time < units::Duration::from_secs(1) {
        return Err("at least a second is needed to measure anything".to_owned());
    }
    Ok(time)
}

fn setting(text: &str) -> Result<Setting, String> {
    text.parse().map_err(|error: SettingError| format!("{error}\n  hint: {}", error.hint()))
}

/// The values that one key takes in turn.
#[derive(Debug, Clone)]
pub(crate) struct Variation(pub(crate) Vec<Setting>);

fn variation(text: &str) -> Result<Variation, String> {
    Setting::alternatives(text).map(Variation).map_err(|error| {
        format!(
            "{error}s\n  hint: such as `transport.scheduler=min-rtt,blest` or `path.lte.down.loss=0,0.01`"
        )
    })
}

fn policy(text: &str) -> Result<PolicyConfig, String> {
    text.parse().map_err(|error: PolicyError| format!("{error}\n  hint: {}", error.hint()))
}

fn profile_names() -> Vec<clap::builder::Str> {
    radio::profiles().into_iter().map(|profile| profile.name.into()).collect()
}
