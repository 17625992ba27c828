//! Arguments of `tandem interop`.

use clap::Args;
use std::num::{NonZeroU64, NonZeroUsize};

/// Let Tandem's endpoint and the kernel's Multipath TCP talk to each other, case by case.
///
/// Linux and Tandem are client and server in every combination, over IPv4 and IPv6: handshakes,
/// data, joins, announced and removed addresses, priorities, aborts, middleboxes, losses and
/// fallbacks. Every byte is compared, counters of the kernel must tell of no violation, and the kernel's
/// log of no warning. Prints a matrix; the exit code is 1 if a case fails. Needs root, and leaves nothing
/// behind.
///
/// With `--hostile`, peers that break the protocol attack Linux and Tandem with the same packets. The
/// exit code is 1 if the two differ in a way that no rule explains by an RFC.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo tandem interop
  sudo tandem interop add-addr tandem-linux ipv6
  tandem interop tandem-tandem                    without root
  sudo tandem interop --long                      more seeds, and 1,000 connections at once
  sudo tandem interop --hostile 2000
  sudo tandem interop --hostile 1 --first 1222    one exchange again")]
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
    /// Repeat cases with losses with other seeds, and play 1,000 connections at once; some minutes
    #[arg(long)]
    pub(crate) long: bool,
    /// Play this number of exchanges with hostile clients instead, and as many with hostile servers
    #[arg(long, value_name = "N", conflicts_with_all = ["words", "long", "list", "jobs"])]
    pub(crate) hostile: Option<NonZeroU64>,
    /// Number of the first exchange
    #[arg(long, value_name = "K", default_value = "0", requires = "hostile")]
    pub(crate) first: u64,
}
