//! The redirection of connections to the gateway's proxy, which a program `nft` holds.
//!
//! If that program ends, connections are direct until another one holds the rules. A thread starts it:
//! `nft` may take seconds, in which the gateway has to answer signals and its watchdog. Redirected
//! connections need the table to their end.

use linux::Error;
use linux::nft::HeldTable;
use proxy::front::redirected::Rules;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// Name of the nftables table.
pub(super) const TABLE: &str = "tandem_gateway";
/// Time between attempts to redirect again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Redirection {
    rules: Rules,
    state: State,
}

enum State {
    Held(HeldTable),
    /// Connections are direct against our will.
    Lost {
        next_attempt: Instant,
        has_failed: bool,
    },
    Adding {
        attempt: JoinHandle<Result<HeldTable, Error>>,
        has_failed: bool,
    },
}

impl Redirection {
    pub(super) fn begin(rules: Rules) -> Result<Self, Error> {
        let state = State::Held(HeldTable::add(TABLE, &rules.to_chains())?);
        Ok(Self { rules, state })
    }

    /// Ends the redirection of new connections.
    pub(super) fn stop_redirecting_new(&mut self) -> Result<(), Error> {
        if let State::Held(table) = &mut self.state {
            return table.bypass_chains(self.rules.chains());
        }
        // An attempt under way drops its table at its end.
        self.state = State::Lost { next_attempt: Instant::now(), has_failed: false };
        Ok(())
    }

    /// Redirects again if the table is gone. Returns at once.
    pub(super) fn keep(&mut self) {
        let lost = State::Lost { next_attempt: Instant::now(), has_failed: false };
        self.state = match std::mem::replace(&mut self.state, lost) {
            State::Held(mut table) => {
                if table.is_held() {
                    State::Held(table)
                } else {
                    warn!("nft ended: connections are direct until they are redirected again");
                    State::Lost { next_attempt: Instant::now(), has_failed: false }
                }
            }
            State::Lost { next_attempt, has_failed } if Instant::now() >= next_attempt => {
                let rules = self.rules.to_chains();
                match thread::Builder::new().spawn(move || HeldTable::add(TABLE, &rules)) {
                    Ok(attempt) => State::Adding { attempt, has_failed },
                    Err(error) => State::after_failure(has_failed, &error.to_string()),
                }
            }
            State::Adding { attempt, has_failed } if attempt.is_finished() => match attempt.join() {
                Ok(Ok(table)) => {
                    info!("outgoing TCP connections are redirected again");
                    State::Held(table)
                }
                Ok(Err(error)) => State::after_failure(has_failed, &error.to_string()),
                Err(_) => State::after_failure(has_failed, "a panic"),
            },
            waiting => waiting,
        };
    }
}

impl State {
    fn after_failure(has_failed_before: bool, reason: &str) -> Self {
        if has_failed_before {
            debug!("cannot redirect connections: {reason}");
        } else {
            warn!("cannot redirect connections, tried again every {RETRY_INTERVAL:?}: {reason}");
        }
        Self::Lost { next_attempt: Instant::now() + RETRY_INTERVAL, has_failed: true }
    }
}
