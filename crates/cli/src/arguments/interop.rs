//! Arguments of `tandem interop`.

use clap::Args;
use std::num::NonZeroUsize;

/// Let Tandem's endpoint and the kernel's Multipath TCP talk to each other, case by case.
///
/// Linux and Tandem are client and server in every combination, over IPv4 and IPv6: handshakes,
/// data, joins, announced and removed addresses, priorities, aborts, middleboxes, losses and
/// fallbacks. Every byte is compared, and counters of the kernel must tell of no violation. Prints a
/// matrix; the exit code is 1 if a case fails. Needs root, and leaves nothing behind.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem interop
  sudo tandem interop add-addr tandem-linux ipv6
  tandem interop tandem-tandem                  without root")]
pub(crate) struct Interop {
    /// Play only cases whose names contain all of these words
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// Number of cases at once
    #[arg(long, value_name = "J", default_value = "4")]
    pub(crate) jobs: NonZeroUsize,
    /// List the cases instead
    #[arg(long)]
    pub(crate) list: bool,
}
