//! The redirection of connections to the gateway's proxy, which a program `nft` holds.
//!
//! If that program ends, connections are direct until another one holds the rules.

use linux::Error;
use linux::nft::HeldTable;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Name of the nftables table.
pub(super) const TABLE: &str = "tandem_gateway";
/// Time between attempts to redirect again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Redirection {
    /// Chains of the table.
    rules: String,
    /// `None` while connections are direct against our will.
    table: Option<HeldTable>,
    next_attempt: Instant,
}

impl Redirection {
    pub(super) fn begin(rules: String) -> Result<Self, Error> {
        let table = Some(HeldTable::add(TABLE, &rules)?);
        Ok(Self { rules, table, next_attempt: Instant::now() })
    }

    /// Redirects again if the table is gone.
    pub(super) fn keep(&mut self) {
        if self.table.take_if(|table| !table.is_held()).is_some() {
            warn!("nft ended: connections are direct until they are redirected again");
            self.next_attempt = Instant::now();
        }
        if self.table.is_some() || Instant::now() < self.next_attempt {
            return;
        }
        match HeldTable::add(TABLE, &self.rules) {
            Ok(table) => {
                info!("outgoing TCP connections are redirected again");
                self.table = Some(table);
            }
            Err(error) => {
                warn!("cannot redirect connections, next attempt in {RETRY_INTERVAL:?}: {error}");
                self.next_attempt = Instant::now() + RETRY_INTERVAL;
            }
        }
    }
}
