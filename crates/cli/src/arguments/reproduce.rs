//! Arguments of `tandem reproduce`.

use super::{Format, Plot, policy, time};
use clap::{Args, ValueEnum, ValueHint};
use policy::PolicyConfig;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Reproduce the figures of a published paper.
///
/// Prints each figure of the paper next to the reproduced one with its confidence interval, and
/// writes a directory with result.json, runs.csv and report.html. For eMTCP it separates calibrated
/// from predicted figures. For MPTCP-rec, whose loss rates are not known, it runs a grid of losses
/// and buffers, and compares with current schedulers. For LWI it calibrates the links with the
/// results over one link, and predicts those over both.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem reproduce emtcp
  tandem reproduce emtcp --plot fig4.pdf --plot-what fig-4
  tandem reproduce lwi
  tandem reproduce lwi --policies qoe,wifi-first           also under these policies, over both links
  tandem reproduce mptcp-rec
  tandem reproduce mptcp-rec --seeds 3 --duration 30s      a short version, some seconds
  tandem reproduce emtcp --format json | jq .best_share
  tandem reproduce emtcp --calibrate          calibrate again with cases 1 and 2
  sudo tandem reproduce emtcp --on kernel     the four cases over the kernel's Multipath TCP
  sudo tandem reproduce lwi --on kernel       180 viewers through a proxy, and six in Chromium")]
pub(crate) struct Reproduce {
    /// The paper
    pub(crate) paper: Paper,
    /// Where to run: simulator, or real kernel (root; emtcp takes 150 s, lwi half an hour)
    #[arg(long, value_name = "WORLD", default_value = "sim")]
    pub(crate) on: World,
    /// mptcp-rec: duration of each run, such as 30s [default: 120s, as in the paper]
    #[arg(long, value_name = "TIME", value_parser = time_of_a_second)]
    pub(crate) duration: Option<units::Duration>,
    /// mptcp-rec: protocols of the background traffic
    #[arg(long, value_name = "KIND", default_value = "udp")]
    pub(crate) background: RecBackground,
    /// Number of seeds of each case [default: 30; emtcp on the kernel: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) seeds: Option<u32>,
    /// Number of runs at once [default: one per core; on the kernel: emtcp 16, lwi 5 per core]
    #[arg(long, value_name = "J")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Directory for the results [default: tandem-out/<paper>, tandem-out/<paper>-kernel]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// emtcp, lwi: calibration file [default: calibration/<paper>.toml if it exists, otherwise
    /// built in]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) calibration: Option<PathBuf>,
    /// emtcp, lwi: calibrate first, and write the calibration file
    #[arg(long, conflicts_with = "on")]
    pub(crate) calibrate: bool,
    /// lwi: also play over both links under these policies, such as qoe,wifi-first
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', value_parser = policy)]
    pub(crate) policies: Vec<PolicyConfig>,
    /// lwi on the kernel: send buffer of the proxy, such as 256KiB [default: that of Linux]
    #[arg(long, value_name = "SIZE", value_parser = buffer_size)]
    pub(crate) send_buffer: Option<units::Bytes>,
    /// lwi on the kernel: the proxy writes more data once a subflow will drain within an RTT plus
    /// this time; 0s writes at once [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) ahead: Option<units::Duration>,
    /// lwi on the kernel: do not play the player's page in Chromium
    #[arg(long)]
    pub(crate) no_page: bool,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}

/// Where a reproduction runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum World {
    /// The simulator
    Sim,
    /// Linux, over emulated links
    Kernel,
}

/// Background traffic of the MPTCP-rec paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecBackground {
    /// Datagrams, whose rate is the paper's at any load
    Udp,
    /// 90 % over TCP, which backs off, as in the paper
    Tcp,
}

impl From<RecBackground> for papers::mptcp_rec::Background {
    fn from(background: RecBackground) -> Self {
        match background {
            RecBackground::Udp => Self::Datagrams,
            RecBackground::Tcp => Self::Tcp,
        }
    }
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

fn buffer_size(text: &str) -> Result<units::Bytes, String> {
    let size: units::Bytes = text.parse().map_err(|error: units::UnitError| error.to_string())?;
    if !(16_384..=1 << 30).contains(&size.get()) {
        return Err("expected a size from 16KiB to 1GiB".to_owned());
    }
    Ok(size)
}

fn time_of_a_second(text: &str) -> Result<units::Duration, String> {
    let time: units::Duration = text.parse().map_err(|error: units::UnitError| error.to_string())?;
    if time < units::Duration::from_secs(1) {
        return Err("expected at least 1s".to_owned());
    }
    Ok(time)
}
