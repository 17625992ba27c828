//! Arguments of `tandem trace`.

use super::{Format, Plot, time};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use link::{SCALE_RANGE, TraceFormat};
use std::path::PathBuf;
use units::{Bitrate, Duration};

/// Show, compare, cut, scale and convert traces of link rates.
///
/// Prints how each file is read, its length, mean, 5th and 95th percentile, and its rate over time.
/// Several files, such as Wi-Fi and LTE measured together, are compared over their common time:
/// their sum, their correlation, and how often the rate falls below --need.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem trace drive.csv
  tandem trace wifi.csv lte.csv --need 5Mbps --out tandem-out/pair
  tandem trace wifi.csv lte.csv --plot cdf.pdf --plot-what cdf:rate
  tandem trace wifi.csv lte.csv --pair >>scenario.toml
  tandem trace x.csv --as second-bytes                 a file without a header
  tandem trace ucc.csv --column UL_bitrate
  tandem trace lte.down --from 10s --length 60s --mean 20Mbps --to seconds-mbps -o lte.csv
  iperf3 -c server -J | tandem trace -

docs/reference/traces.md describes the formats.")]
pub(crate) struct Trace {
    /// Trace files; - for the standard input
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the files, in place of the detected one
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats(|_| true))]
    pub(crate) read_as: Option<String>,
    /// Column of the rate: its name in the header, or its number from 1
    #[arg(long, value_name = "COLUMN")]
    pub(crate) column: Option<String>,
    /// Leave out the time before this
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<Duration>,
    /// Keep this much time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) length: Option<Duration>,
    /// Multiply the rates
    #[arg(long, value_name = "FACTOR", value_parser = scale)]
    pub(crate) scale: Option<f64>,
    /// Scale the rates to this mean
    #[arg(long, value_name = "RATE", conflicts_with = "scale", value_parser = rate)]
    pub(crate) mean: Option<Bitrate>,
    /// Write the trace in this format, to the standard output or --output
    #[arg(long, value_name = "FORMAT", value_parser = formats(|format| format.write.is_some()),
          conflicts_with_all = ["plot", "plot_what"])]
    pub(crate) to: Option<String>,
    /// File for --to; - for the standard output
    #[arg(short, long, value_name = "FILE", requires = "to", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write mean rates over steps of this length, at least 1ms [default: those of the file; 100ms
    /// for mahimahi]
    #[arg(long, value_name = "TIME", requires = "to", value_parser = time)]
    pub(crate) step: Option<Duration>,
    /// Rate below which time counts as a shortfall, of each of several files and of their sum
    #[arg(long, value_name = "RATE", default_value = "5Mbps", value_parser = rate)]
    pub(crate) need: Bitrate,
    /// Print the path tables of a scenario with these files
    #[arg(long, conflicts_with_all = ["to", "length", "mean", "plot", "plot_what"])]
    pub(crate) pair: bool,
    /// Write result.json, series.csv and report.html with charts to this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format of the figures
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}

/// Names of the formats that `is_offered` accepts.
fn formats(is_offered: fn(&TraceFormat) -> bool) -> PossibleValuesParser {
    let names = TraceFormat::REGISTRY.iter().filter(|format| is_offered(format)).map(|format| format.name);
    PossibleValuesParser::new(names)
}

fn rate(text: &str) -> Result<Bitrate, String> {
    let rate: Bitrate = text.parse().map_err(|error: units::UnitError| error.to_string())?;
    if rate == Bitrate::ZERO { Err("a rate above zero, such as `5Mbps`".to_owned()) } else { Ok(rate) }
}

fn scale(text: &str) -> Result<f64, String> {
    let (min, max) = SCALE_RANGE;
    let factor = text.parse().ok().filter(|factor| (min..=max).contains(factor));
    factor.ok_or_else(|| format!("a factor from {min} to {max}, such as `0.5`"))
}
