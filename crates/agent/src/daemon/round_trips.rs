//! Round-trip times of subflows, for policies that use them.

use crate::Error;
use crate::config::Config;
use linux::diag::{Diag, Filter};
use linux::socket::TcpState;
use policy::PolicyConfig;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant};

/// Listing sockets takes at most 1/200 of the time between two listings.
const MAX_LIST_SHARE: u64 = 200;
/// Minimum time between two listings.
const MIN_LIST_INTERVAL: Duration = Duration::from_millis(100);

/// Minimum smoothed round-trip time of the subflows from each local address that sent data lately.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    by_address: BTreeMap<IpAddr, Duration>,
    /// Acknowledged bytes of each socket at the last listing, by socket cookie.
    sent: BTreeMap<u64, u64>,
    /// Time of the next listing.
    next_list: Instant,
}

impl RoundTrips {
    /// Lists the sockets when a policy uses round-trip times, there is traffic, and the time has
    /// come.
    ///
    /// # Errors
    /// Fails when the kernel cannot list sockets.
    pub(super) fn update(
        &mut self,
        now: Instant,
        config: &Config,
        idle: bool,
        diag: &mut Option<Diag>,
    ) -> Result<(), Error> {
        let uses_round_trips = |policy: &PolicyConfig| policy.reads_round_trips();
        let wanted = uses_round_trips(&config.policy)
            || config.connections.iter().any(|rule| rule.policy.as_ref().is_some_and(uses_round_trips));
        if !wanted || idle || now < self.next_list {
            if idle || !wanted {
                self.by_address.clear();
            }
            return Ok(());
        }
        let diag = match diag {
            Some(diag) => diag,
            none => none.insert(Diag::open()?),
        };
        let list_start = linux::clock::Clock::start();
        let before = std::mem::take(&mut self.sent);
        self.by_address.clear();
        diag.for_each_subflow(&Filter::default(), |one| {
            let sent = one.tcp.bytes_acked;
            let has_sent = before.get(&one.cookie).is_some_and(|before| *before != sent);
            self.sent.insert(one.cookie, sent);
            let srtt = Duration::from_micros(u64::from(one.tcp.srtt_us));
            // Only a sender measures round-trip times; a receiver's value dates from the handshake.
            if one.tcp.state == TcpState::Established && has_sent && !srtt.is_zero() {
                let least = self.by_address.entry(one.local.ip()).or_insert(srtt);
                *least = srtt.min(*least);
            }
        })?;
        self.next_list = now + MIN_LIST_INTERVAL.max(list_start.now().since(Instant::ZERO) * MAX_LIST_SHARE);
        Ok(())
    }

    /// Round-trip time of a local address, if it sent data lately.
    pub(super) fn of(&self, address: IpAddr) -> Option<Duration> {
        self.by_address.get(&address).copied()
    }
}
