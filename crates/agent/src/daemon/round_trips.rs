//! Round trips of subflows, for policies that look at them.

use crate::Error;
use crate::config::Config;
use linux::diag::{Diag, Filter};
use linux::socket::TcpState;
use policy::PolicyConfig;
use std::collections::BTreeMap;
use std::net::IpAddr;
use units::{Duration, Instant};

/// Listing sockets costs by their number: one list takes no more than this part of the time between two.
const MAX_LIST_SHARE: u64 = 200;
/// So often at most.
const MIN_LIST_INTERVAL: Duration = Duration::from_millis(100);

/// The least smoothed round trip of the subflows from each address, of those that sent lately.
#[derive(Debug, Default)]
pub(super) struct RoundTrips {
    by_address: BTreeMap<IpAddr, Duration>,
    /// What each socket had sent when it was last looked at.
    sent: BTreeMap<u64, u64>,
    /// Nothing is listed before.
    next_list: Instant,
}

impl RoundTrips {
    /// Asks the kernel, where a policy uses_round_trips at round trips, something is carried, and enough time has passed.
    ///
    /// # Errors
    /// Where the kernel does not list sockets.
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
            // Only who sends measures: of one that receives it is what the handshake took.
            if one.tcp.state == TcpState::Established && has_sent && !srtt.is_zero() {
                let least = self.by_address.entry(one.local.ip()).or_insert(srtt);
                *least = srtt.min(*least);
            }
        })?;
        self.next_list = now + MIN_LIST_INTERVAL.max(list_start.now().since(Instant::ZERO) * MAX_LIST_SHARE);
        Ok(())
    }

    /// That of an address, where something was sent from there lately.
    pub(super) fn of(&self, address: IpAddr) -> Option<Duration> {
        self.by_address.get(&address).copied()
    }
}
