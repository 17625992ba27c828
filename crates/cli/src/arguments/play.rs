//! Arguments of `tandem play`.

use super::{ClientTlsOptions, Format, Plot, positive_time, time};
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Play adaptive video over real sockets without decoding it, and report the quality of experience.
///
/// MANIFEST is a static DASH manifest (MPD), a JSON list of segment sizes in the format of the
/// simulator Sabre, or with --duration a single file, requested in byte ranges. Reports startup
/// delay, stalls, bitrates and scores (docs/background/player.md). With --out it also writes the
/// record of the session (docs/reference/session.md), the input of ITU-T P.1203, and a report with
/// a chart.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tandem play https://example.org/film.mpd
  tandem play https://example.org/film.mpd --proxy http://127.0.0.1:1080 --out tandem-out/film
  tandem play sizes.json --server http://192.0.2.1:8080/ --rule bola --runs 10
  tandem play http://192.0.2.1/film.mp4 --duration 66s --mptcp
  tandem play film.mpd --post http://127.0.0.1:8090/ --label bus
  tandem play film.mpd --post https://films.example.org:8090/ --ca ca.crt

The state of a session is finished, left (--for or a signal ended it) or failed, with a reason. A
failed session has a record too, which is written and posted; without a picture it has no score.

Exit codes: 0 finished or left; 1 a session failed, or the collector refused it; 3 invalid local
manifest.")]
pub(crate) struct Play {
    /// Manifest, or with --duration the file: an http: or https: URL, or the path of a manifest
    #[arg(value_name = "MANIFEST", value_hint = ValueHint::AnyPath)]
    pub(crate) manifest: String,
    /// Server of the segments of a local manifest; base of its relative URLs
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<url::Url>,
    /// MANIFEST is a single file with this playing time, such as 66s
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    pub(crate) duration: Option<units::Duration>,
    #[arg(long, value_name = "RULE", default_value = "bola", value_parser = rule, help = rule_help())]
    pub(crate) rule: abr::Rule,
    /// Play only this bitrate, counted from 0 for the lowest
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<usize>,
    /// Capacity of the playback buffer
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = time)]
    pub(crate) buffer: units::Duration,
    /// Buffer level at which playback starts; at least one segment
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub(crate) startup: units::Duration,
    /// Buffer level at which a stall ends; at least one segment
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    pub(crate) resume: units::Duration,
    /// Never abandon a segment download for a lower bitrate
    #[arg(long)]
    pub(crate) no_abandon: bool,
    /// Stop after this time
    #[arg(long = "for", value_name = "TIME", value_parser = positive_time)]
    pub(crate) limit: Option<units::Duration>,
    /// Number of sessions, one after another
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    // Not a doc comment: rustdoc would take the placeholder for a link.
    #[arg(long, value_name = "PROXY", help = "Proxy to use: http://[USER:PASSWORD@]HOST:PORT or socks5://…")]
    pub(crate) proxy: Option<player::Proxy>,
    /// Use Multipath TCP sockets
    #[arg(long)]
    pub(crate) mptcp: bool,
    /// Number of retries of a failed request
    #[arg(long, value_name = "N", default_value = "4")]
    pub(crate) retries: u32,
    /// Where to send CMCD (CTA-5004), which reports buffer level and bitrates
    #[arg(long, value_name = "WHERE", default_value = "query")]
    pub(crate) cmcd: CmcdMode,
    /// Content ID for CMCD
    #[arg(long, value_name = "ID")]
    pub(crate) content_id: Option<String>,
    /// Label of the session
    #[arg(long, value_name = "WORDS")]
    pub(crate) label: Option<String>,
    /// Name of this device, for the record
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    /// Post each record to this collector (`tandem serve`), with the token from TANDEM_TOKEN
    #[arg(long, value_name = "URL")]
    pub(crate) post: Option<url::Url>,
    #[command(flatten)]
    pub(crate) tls: ClientTlsOptions,
    /// Send the token to the collector in clear text over a network
    #[arg(long)]
    pub(crate) clear_token: bool,
    /// Report the state of the player ten times per second to this agent (`tandem agent`)
    #[arg(long, value_name = "SOCKET", value_hint = ValueHint::FilePath)]
    pub(crate) agent: Option<PathBuf>,
    /// Compare every byte with the content that a content server generates from this seed
    #[arg(long, value_name = "SEED", hide = true)]
    pub(crate) verify: Option<u64>,
    /// Directory for records and report
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Output format; json prints the record of a single session
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) plot: Plot,
}

/// Transport of CMCD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CmcdMode {
    /// Request headers
    Header,
    /// Query of each URL
    Query,
    /// No CMCD
    Off,
}

/// Help of `--rule`, with the registered rules.
fn rule_help() -> String {
    let names: Vec<&str> = abr::RULES.iter().map(|rule| rule.name).collect();
    format!("Adaptation rule: {} (`tandem schema --markdown` describes them)", names.join(", "))
}

fn rule(text: &str) -> Result<abr::Rule, String> {
    text.parse().map_err(|error: abr::RuleError| error.to_string())
}
