//! Arguments of `tandem capture`.

use super::{Format, Plot};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Analyse the subflows in a capture of Multipath TCP.
///
/// Reads pcap and pcapng files of any program, with truncated packets, several interfaces, and
/// captures that start in the middle of a connection. Groups subflows into connections, and prints
/// for each subflow: new data, data reinjected from other subflows, retransmissions, round-trip
/// times, out-of-order data, MP_PRIO, ADD_ADDR and other signals.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem capture tandem-out/handover/capture.pcapng
  tandem capture trace.pcap --plot rates.pdf --plot-what rates
  tandem capture trace.pcap --out results       with report, charts and time series
  tandem capture trace.pcap --format json | jq '.connections[].subflows[] | {path, down}'
  zcat trace.pcap.gz | tandem capture -")]
pub(crate) struct Capture {
    /// The capture, a pcap or pcapng file; - for the standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Write result.json, series.csv and report.html to this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}
