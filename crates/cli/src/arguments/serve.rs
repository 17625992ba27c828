//! Arguments of `tandem serve`.

use super::{LogFormat, ServerTlsOptions, listening_address};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// Collect session records from players, and show and compare them.
///
/// Players post a record for each session (docs/reference/session.md): `tandem play --post`, and
/// the player's page, which is served as well if it was built. Records are stored in SQLite;
/// acknowledged records are on disk. Listens on this host only, unless a token is set.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  tandem serve
  tandem serve --content films
  tandem serve --keep 30d --keep-sessions 10000 --keep-size 2GB
  TANDEM_TOKEN=… tandem serve --listen 192.0.2.1:8090 --allow-host films.example.org \\
      --tls-cert films.crt --tls-key films.key        (docs/how-to/collector-tls.md)
  tandem serve unit --content films --keep 30d > tandem-serve.service    a hardened systemd unit

Without --keep… no session is deleted. A database of --max-size, or a full disk, refuses further
records, which players keep and send again.

The API deletes a session by `DELETE /api/sessions/ID`, and selected ones by
`DELETE /api/sessions?label=…&state=…&confirm=COUNT`; the pages ask first.

Certificates are read again when the files change, and at SIGHUP. A file that does not fit is logged
and changes nothing.

Prints the URL of the server. On SIGTERM it finishes open requests and ends."
)]
pub(crate) struct Serve {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    #[command(flatten)]
    pub(crate) options: ServeOptions,
}

/// Options of the server, which a systemd unit carries as well.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Address to listen on; port 0 for any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090", value_parser = listening_address)]
    pub(crate) listen: std::net::SocketAddr,
    /// Database of the sessions [default: tandem-out/sessions.db; of a unit: in its state directory]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) database: Option<PathBuf>,
    /// Delete sessions this long after their arrival, such as 30d or 12h [default: keep them]
    #[arg(long, value_name = "TIME", value_parser = days)]
    pub(crate) keep: Option<units::Duration>,
    /// Maximum number of sessions; the ones that arrived last stay [default: no limit]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) keep_sessions: Option<u32>,
    /// Maximum size of the sessions, such as 2GB; the ones that arrived last stay [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) keep_size: Option<units::Bytes>,
    /// Maximum size of the database, which refuses records beyond it
    #[arg(long, value_name = "SIZE", default_value = "16GiB", value_parser = size)]
    pub(crate) max_size: units::Bytes,
    /// File with the access token in its first line [default: the variable TANDEM_TOKEN, or none]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: ServerTlsOptions,
    /// Accept the token in clear text over networks, for a reverse proxy or tunnel that encrypts
    #[arg(long)]
    pub(crate) clear_token: bool,
    /// Additional host name that browsers may use, besides localhost and addresses
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    #[arg(
        long,
        value_name = "ORIGIN",
        help = "Origin whose pages may post and read records, such as https://example.org"
    )]
    pub(crate) allow_origin: Vec<String>,
    /// Built page of the player [default: web/dist here, or web beside the program]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) web: Option<PathBuf>,
    /// Directory with videos and manifests, served at /content/ to everybody, without the token
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) content: Option<PathBuf>,
    /// Require the token for /content/ too: only the player's page of this server can play it then
    #[arg(long)]
    pub(crate) private_content: bool,
    /// JSON list of segment sizes, served at /content/manifest.mpd and .json with generated content
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) sizes: Option<PathBuf>,
    /// Seed of the generated content
    #[arg(long, value_name = "SEED", default_value = "1")]
    pub(crate) seed: u64,
    /// Listen with Multipath TCP, which accepts TCP as well
    #[arg(long)]
    pub(crate) mptcp: bool,
    /// Append a JSON line for each response: times of request, last write and acknowledgement
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// Parses a time of at least a minute, in days (`30d`) or any other unit of time.
fn days(text: &str) -> Result<units::Duration, String> {
    let time = match text.strip_suffix('d').and_then(|days| days.trim().parse::<u32>().ok()) {
        Some(days) => Ok(units::Duration::from_secs(u64::from(days) * 86_400)),
        None => super::time(text),
    };
    time.map_err(|error| format!("{error}, or days such as `30d`")).and_then(|time| {
        let is_long = time >= units::Duration::from_secs(60);
        if is_long { Ok(time) } else { Err("expected at least a minute, such as `30d`".to_owned()) }
    })
}

/// Parses a size of at least 64 KiB.
fn size(text: &str) -> Result<units::Bytes, String> {
    let size: units::Bytes = text.parse().map_err(|error: units::UnitError| error.to_string())?;
    let is_large = size.get() >= 64 << 10;
    if is_large { Ok(size) } else { Err("expected at least 64KiB, such as `2GB`".to_owned()) }
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Print a hardened systemd unit that serves with these options
    Unit(Box<ServeOptions>),
}
