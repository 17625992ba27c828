//! Path manager: addresses announced, withdrawn and accepted, address identifiers, and signals that
//! wait for a subflow (RFC 8684, section 3.4).

use crate::PathId;
use core::net::IpAddr;
use std::vec::Drain;
use units::{Duration, Instant};
use wire::MptcpSignal;

/// Retransmissions of an ADD_ADDR without an echo (Linux `ADD_ADDR_RETRANS_MAX`).
const MAX_ADDRESS_RETRIES: u32 = 3;
/// Wait for the echo of an ADD_ADDR; doubled after each retransmission. Linux waits for two minutes
/// each time (`net.mptcp.add_addr_timeout`), which is longer than most connections live.
const ECHO_TIMEOUT: Duration = Duration::from_secs(1);
/// Largest exponent of the wait before a REMOVE_ADDR is repeated.
const MAX_REMOVAL_BACKOFF: u32 = 6;
/// First identifier for paths that are opened again. Lower ones are for the first opening.
const FIRST_SPARE_ID: u8 = 128;
/// Most signals that wait for a subflow.
const MAX_PENDING_SIGNALS: usize = 32;
/// Most identifiers in one REMOVE_ADDR.
pub(super) const MAX_REMOVED_IDS: usize = 8;

/// Identifiers of one REMOVE_ADDR, and how many of them are used.
pub(super) type RemovedIds = ([u8; MAX_REMOVED_IDS], usize);

/// An address of this end that was announced to the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) id: u8,
    pub(super) ip: IpAddr,
    pub(super) port: Option<u16>,
}

#[derive(Debug, Clone, Copy)]
struct Announcement {
    address: Address,
    tries: u32,
    /// When the ADD_ADDR is sent again.
    retry_at: Option<Instant>,
}

/// A withdrawn address of this end.
///
/// A REMOVE_ADDR is not acknowledged (RFC 8684, section 3.4.2), so it is repeated as often as an
/// ADD_ADDR without an echo. Linux sends it once.
#[derive(Debug, Clone, Copy)]
struct Removal {
    id: u8,
    tries: u32,
    /// Repetitions postponed because the peer was silent.
    postponed: u32,
    sent_at: Instant,
    /// When the REMOVE_ADDR is sent again, if the connection is in use by then. The repetition
    /// alone must not wake a radio.
    retry_at: Option<Instant>,
}

impl Removal {
    /// Wait before the next repetition: doubled by each repetition and each postponement.
    fn wait(&self) -> Duration {
        ECHO_TIMEOUT * (1 << (self.tries + self.postponed).min(MAX_REMOVAL_BACKOFF))
    }
}

/// Result of an ADD_ADDR from the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acceptance {
    /// The address is new.
    New,
    /// The address was accepted before.
    Known,
    /// There are as many addresses as the configuration allows.
    Full,
}

/// Addresses of both ends and signals that wait for a subflow.
#[derive(Debug, Clone)]
pub(super) struct PathManager {
    announced: Vec<Announcement>,
    removals: Vec<Removal>,
    /// Addresses announced by the peer.
    accepted: Vec<Address>,
    /// By path index: identifiers of this end's addresses.
    local_ids: Vec<u8>,
    last_spare_id: u8,
    pending_signals: Vec<MptcpSignal>,
    /// The peer accepts no joins to the address of the first subflow (flag C; RFC 8684, section
    /// 3.1).
    initial_address_denied: bool,
}

impl PathManager {
    pub(super) fn new() -> Self {
        Self {
            announced: Vec::new(),
            removals: Vec::new(),
            accepted: Vec::new(),
            local_ids: Vec::new(),
            last_spare_id: FIRST_SPARE_ID - 1,
            pending_signals: Vec::new(),
            initial_address_denied: false,
        }
    }

    pub(super) fn has_announced(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Records flag C of the peer's MP_CAPABLE.
    pub(super) fn set_initial_address_denied(&mut self, denied: bool) {
        self.initial_address_denied = denied;
    }

    /// The address of the first subflow accepts no joins.
    pub(super) fn denies_initial_address(&self) -> bool {
        self.initial_address_denied
    }

    /// An address of the peer accepts joins.
    pub(super) fn may_join(&self) -> bool {
        !self.initial_address_denied || !self.accepted.is_empty()
    }

    /// Returns an address identifier that is not in use and was used least recently.
    pub(super) fn next_spare_id(&mut self, is_used: impl Fn(u8) -> bool) -> u8 {
        for _ in FIRST_SPARE_ID..=u8::MAX {
            self.last_spare_id = self.last_spare_id.wrapping_add(1).max(FIRST_SPARE_ID);
            if !is_used(self.last_spare_id) {
                break;
            }
        }
        self.last_spare_id
    }

    pub(super) fn set_local_id(&mut self, path: PathId, id: u8) {
        if self.local_ids.len() <= path.index() {
            self.local_ids.resize(path.index() + 1, 0);
        }
        self.local_ids[path.index()] = id;
    }

    /// Identifier of this end's address over `path`.
    pub(super) fn local_id(&self, path: PathId) -> u8 {
        self.local_ids.get(path.index()).copied().unwrap_or(0)
    }

    /// Keeps a signal for the next subflow that is established.
    pub(super) fn hold_signal(&mut self, signal: MptcpSignal) {
        if self.pending_signals.len() < MAX_PENDING_SIGNALS {
            self.pending_signals.push(signal);
        }
    }

    pub(super) fn clear_signals(&mut self) {
        self.pending_signals.clear();
    }

    pub(super) fn take_signals(&mut self) -> Drain<'_, MptcpSignal> {
        self.pending_signals.drain(..)
    }
}

/// Addresses of this end.
impl PathManager {
    /// Records an address to announce.
    pub(super) fn announce(&mut self, address: Address) {
        self.announced.retain(|known| known.address.id != address.id);
        self.cancel_removal(address.id);
        self.announced.push(Announcement { address, tries: 0, retry_at: None });
    }

    /// Addresses that this end has announced, and not withdrawn.
    pub(super) fn announced_addresses(&self) -> Vec<Address> {
        self.announced.iter().map(|known| known.address).collect()
    }

    /// Starts the wait for the echo of an ADD_ADDR that was sent.
    pub(super) fn on_announcement_sent(&mut self, now: Instant, id: u8) {
        if let Some(known) = self.announced.iter_mut().find(|known| known.address.id == id) {
            let retry = known.tries <= MAX_ADDRESS_RETRIES;
            known.retry_at = retry.then(|| now + ECHO_TIMEOUT * (1 << known.tries));
            known.tries += 1;
        }
    }

    /// The peer echoed an ADD_ADDR.
    pub(super) fn on_echo(&mut self, echoed: Address) {
        for known in self.announced.iter_mut().filter(|known| known.address == echoed) {
            known.retry_at = None;
            known.tries = MAX_ADDRESS_RETRIES + 1;
        }
    }

    /// Takes an address if its ADD_ADDR is due for repetition.
    pub(super) fn take_due_announcement(&mut self, now: Instant) -> Option<Address> {
        let is_due = |known: &&mut Announcement| known.retry_at.is_some_and(|at| at <= now);
        while let Some(known) = self.announced.iter_mut().find(is_due) {
            known.retry_at = None;
            if known.tries <= MAX_ADDRESS_RETRIES {
                return Some(known.address);
            }
        }
        None
    }

    /// Forgets announced addresses.
    pub(super) fn withdraw(&mut self, ids: &[u8]) {
        self.announced.retain(|known| !ids.contains(&known.address.id));
    }

    /// Records that the peer is to be told of the removal of `ids`, at most [`MAX_REMOVED_IDS`].
    pub(super) fn record_removal(&mut self, ids: &[u8]) {
        self.removals.retain(|removal| !ids.contains(&removal.id));
        let removal =
            |&id: &u8| Removal { id, tries: 0, postponed: 0, sent_at: Instant::ZERO, retry_at: None };
        self.removals.extend(ids.iter().map(removal));
    }

    /// Cancels the REMOVE_ADDR of an identifier that is in use again: it would end the new subflow.
    pub(super) fn cancel_removal(&mut self, id: u8) {
        self.removals.retain(|removal| removal.id != id);
        self.pending_signals.retain_mut(|signal| match signal {
            MptcpSignal::RemoveAddress { ids, count } => {
                let mut kept = [0; MAX_REMOVED_IDS];
                let others = ids[..usize::from(*count)].iter().filter(|&&other| other != id);
                *count = kept.iter_mut().zip(others).map(|(to, &from)| *to = from).count() as u8;
                *ids = kept;
                *count > 0
            }
            _ => true,
        });
    }

    /// Schedules the repetition of a REMOVE_ADDR that was sent.
    pub(super) fn on_removal_sent(&mut self, now: Instant, ids: &[u8]) {
        for removal in self.removals.iter_mut().filter(|removal| ids.contains(&removal.id)) {
            let retry = removal.tries < MAX_ADDRESS_RETRIES;
            removal.retry_at = retry.then(|| now + removal.wait());
            removal.sent_at = now;
            removal.tries += 1;
        }
        self.removals.retain(|removal| removal.retry_at.is_some());
    }

    /// Takes the identifiers due for another REMOVE_ADDR. `is_used` returns true for the
    /// identifier of an open subflow, `heard_since` if any subflow received a segment after a time.
    pub(super) fn take_due_removals(
        &mut self,
        now: Instant,
        is_used: impl Fn(u8) -> bool,
        heard_since: impl Fn(Instant) -> bool,
    ) -> RemovedIds {
        self.removals.retain(|removal| !is_used(removal.id));
        let (mut ids, mut count) = ([0; MAX_REMOVED_IDS], 0);
        let is_due = |removal: &&mut Removal| removal.retry_at.is_some_and(|at| at <= now);
        for removal in self.removals.iter_mut().filter(is_due) {
            if count == ids.len() || !heard_since(removal.sent_at) {
                removal.retry_at = Some(now + removal.wait());
                removal.postponed += 1;
            } else {
                removal.retry_at = None;
                ids[count] = removal.id;
                count += 1;
            }
        }
        (ids, count)
    }

    /// When the next ADD_ADDR or REMOVE_ADDR is repeated.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        let announcements = self.announced.iter().filter_map(|known| known.retry_at);
        announcements.chain(self.removals.iter().filter_map(|removal| removal.retry_at)).min()
    }
}

/// Addresses of the peer.
impl PathManager {
    /// The identifier stands for another address.
    pub(super) fn conflicts(&self, address: &Address) -> bool {
        self.accepted.iter().any(|known| known.id == address.id && known.ip != address.ip)
    }

    /// Accepts an address of the peer, up to `max` addresses.
    pub(super) fn accept(&mut self, address: Address, max: usize) -> Acceptance {
        if self.accepted.contains(&address) {
            Acceptance::Known
        } else if self.accepted.len() < max {
            self.accepted.push(address);
            Acceptance::New
        } else {
            Acceptance::Full
        }
    }

    /// Forgets the peer's addresses with this identifier. Returns false without any.
    pub(super) fn forget(&mut self, id: u8) -> bool {
        let before = self.accepted.len();
        self.accepted.retain(|known| known.id != id);
        self.accepted.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(id: u8, last: u8) -> Address {
        Address { id, ip: IpAddr::from([10, 0, 0, last]), port: None }
    }

    #[test]
    fn announcement_is_repeated_with_backoff_until_echoed() {
        let mut paths = PathManager::new();
        paths.announce(address(3, 1));
        let mut now = Instant::ZERO;
        let mut sent = 0;
        loop {
            paths.on_announcement_sent(now, 3);
            sent += 1;
            let Some(at) = paths.next_retry() else { break };
            assert_eq!(at, now + ECHO_TIMEOUT * (1 << (sent - 1)));
            now = at;
            if paths.take_due_announcement(now).is_none() {
                break;
            }
        }
        assert_eq!(sent, 1 + u64::from(MAX_ADDRESS_RETRIES));
        paths.announce(address(3, 1));
        paths.on_announcement_sent(now, 3);
        paths.on_echo(address(3, 1));
        assert_eq!(paths.next_retry(), None);
    }

    #[test]
    fn removal_is_repeated_only_while_the_connection_is_in_use() {
        let mut paths = PathManager::new();
        paths.record_removal(&[5]);
        paths.on_removal_sent(Instant::ZERO, &[5]);
        let due = paths.next_retry().expect("a repetition is scheduled");
        assert_eq!(paths.take_due_removals(due, |_| false, |_| false).1, 0);
        let due = paths.next_retry().expect("it was postponed");
        assert_eq!(paths.take_due_removals(due, |_| false, |_| true), ([5, 0, 0, 0, 0, 0, 0, 0], 1));
        paths.take_due_removals(due, |id| id == 5, |_| true);
        assert_eq!(paths.next_retry(), None, "the address is in use again");
    }

    #[test]
    fn removal_outlasts_a_silence_of_the_peer() {
        let mut paths = PathManager::new();
        paths.record_removal(&[5]);
        paths.on_removal_sent(Instant::ZERO, &[5]);
        let mut waits = Vec::new();
        let mut now = Instant::ZERO;
        for _ in 0..9 {
            let due = paths.next_retry().expect("it waits for the peer");
            waits.push(due.since(now).as_nanos() / 1_000_000_000);
            now = due;
            assert_eq!(paths.take_due_removals(now, |_| false, |_| false).1, 0);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64, 64]);
        // All repetitions are left.
        for _ in 0..MAX_ADDRESS_RETRIES {
            let due = paths.next_retry().expect("a repetition is scheduled");
            assert_eq!(paths.take_due_removals(due, |_| false, |_| true).1, 1);
            paths.on_removal_sent(due, &[5]);
        }
        assert_eq!(paths.next_retry(), None);
    }

    #[test]
    fn held_removal_of_an_identifier_in_use_is_cancelled() {
        let removal = |ids: [u8; 8], count| MptcpSignal::RemoveAddress { ids, count };
        let mut paths = PathManager::new();
        paths.record_removal(&[3, 4]);
        paths.hold_signal(removal([3, 4, 0, 0, 0, 0, 0, 0], 2));
        paths.hold_signal(removal([3, 0, 0, 0, 0, 0, 0, 0], 1));
        paths.cancel_removal(3);
        assert_eq!(paths.take_signals().collect::<Vec<_>>(), [removal([4, 0, 0, 0, 0, 0, 0, 0], 1)]);
        assert_eq!(paths.removals.len(), 1);
    }

    #[test]
    fn accepted_addresses_are_bounded_and_keep_their_identifiers() {
        let mut paths = PathManager::new();
        paths.set_initial_address_denied(true);
        assert!(!paths.may_join());
        assert_eq!(paths.accept(address(1, 1), 1), Acceptance::New);
        assert_eq!(paths.accept(address(1, 1), 1), Acceptance::Known);
        assert_eq!(paths.accept(address(2, 2), 1), Acceptance::Full);
        assert!(paths.conflicts(&address(1, 9)) && !paths.conflicts(&address(2, 9)));
        assert!(paths.may_join());
        assert!(paths.forget(1) && !paths.forget(1));
    }

    #[test]
    fn spare_identifiers_skip_those_in_use() {
        let mut paths = PathManager::new();
        assert_eq!(paths.next_spare_id(|id| id == 128), 129);
        assert_eq!(paths.next_spare_id(|_| false), 130);
        paths.last_spare_id = u8::MAX;
        assert_eq!(paths.next_spare_id(|_| false), FIRST_SPARE_ID);
    }
}
