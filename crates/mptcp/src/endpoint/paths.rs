//! Paths and addresses as the application controls them: priority, shares, removal, announcement
//! (RFC 8684, sections 3.3.8 and 3.4).

use super::Endpoint;
use super::event::{Event, Failure};
use super::path_manager::{Acceptance, Address, MAX_REMOVED_IDS};
use super::reset_reason;
use super::timers::Timer;
use crate::scheduler::Offload;
use crate::subflow::State;
use crate::{PathId, crypto};
use core::net::IpAddr;
use tracing::debug;
use units::Instant;
use wire::{MptcpSignal, Payload};

impl<P: Payload> Endpoint<P> {
    /// Makes the subflow over `path` a backup or a regular subflow, and asks the peer to do the
    /// same (MP_PRIO). Does nothing without an open subflow.
    pub fn set_priority(&mut self, path: PathId, backup: bool) {
        let Some(subflow) = self.subflows.get_mut(path.index()) else { return };
        if !subflow.is_open() || subflow.is_local_backup() == backup {
            return;
        }
        subflow.set_local_backup(backup);
        if self.handshake.is_mptcp() {
            self.signal_priority(path.index());
        }
    }

    /// Tells the peer whether a subflow is a backup (MP_PRIO).
    pub(super) fn signal_priority(&mut self, i: usize) {
        let backup = self.subflows[i].is_local_backup();
        self.subflows[i].queue_signal(MptcpSignal::Priority { backup, address_id: None });
        self.transmit_pending = true;
    }

    /// Sets the identifier of this end's address over `path`. The answer to a join names it (RFC
    /// 8684, section 3.2). Without it the identifier is 0, the address of the first subflow.
    pub fn set_address_id(&mut self, path: PathId, id: u8) {
        self.paths.set_local_id(path, id);
    }

    /// Sets the share of the data for each path, by path index. Shares need not add up to 1.
    ///
    /// The `share` scheduler follows them exactly. For any other scheduler a share below an equal
    /// part is an upper bound, and the excess goes to the other paths.
    pub fn set_shares(&mut self, shares: &[f64]) {
        debug!(parent: &self.log, ?shares, "shares set");
        self.data_sender.set_shares(shares);
        self.transmit_pending = true;
    }

    /// Sets the rule that moves data off costly paths, piece by piece, or removes it.
    ///
    /// It reconsiders each pick of the scheduler by Table I of the eMTCP paper.
    pub fn set_offload(&mut self, rule: Option<Offload>) {
        debug!(parent: &self.log, ?rule, "offload set");
        self.data_sender.set_offload(rule);
        self.transmit_pending = true;
    }

    /// Ends the subflow over `path`. Its undelivered data goes over the other subflows, and one of
    /// them tells the peer that the address is gone (REMOVE_ADDR). With `reachable` the path still
    /// carries a reset.
    pub fn remove(&mut self, path: PathId, reachable: bool) {
        let i = path.index();
        let Some(subflow) = self.subflows.get(i) else { return };
        if !subflow.is_open() {
            return;
        }
        let id = subflow.local_id();
        if reachable && subflow.state() != State::SynSent {
            self.reset_subflow(i, Failure::Removed, reset_reason::UNSPECIFIED);
        } else {
            self.subflow_lost(i, Failure::Removed);
        }
        if self.subflows.iter().any(|s| s.is_open() && s.local_id() == id) {
            // Other subflows use the address: a server has only one.
            return;
        }
        self.send_removal(&[id], Some(path));
    }

    /// Announces an address of this end (ADD_ADDR), with retransmissions until the peer echoes it.
    /// Announcing it again lets the peer retry paths that failed.
    pub fn announce(&mut self, id: u8, address: IpAddr, port: Option<u16>) {
        let address = Address { id, ip: address, port };
        debug!(parent: &self.log, id, %address.ip, "address announced");
        self.paths.announce(address);
        self.arm_address_timer();
        self.send_announcement(address);
    }

    /// Tells the peer that addresses of this end are gone (REMOVE_ADDR); the peer ends its subflows
    /// to them. For an address that still works, use [`remove`](Self::remove).
    pub fn withdraw(&mut self, ids: &[u8]) {
        debug!(parent: &self.log, ?ids, "addresses withdrawn");
        self.paths.withdraw(ids);
        for chunk in ids.chunks(MAX_REMOVED_IDS) {
            self.send_removal(chunk, None);
        }
        self.arm_address_timer();
    }

    /// Sends a signal over the best subflow other than `except`, or over the next that is
    /// established.
    fn send_signal(&mut self, signal: MptcpSignal, except: Option<PathId>) {
        if !self.handshake.is_mptcp() {
            return;
        }
        let usable = self.subflows.iter_mut().filter(|s| s.is_established() && Some(s.path()) != except);
        if let Some(subflow) = usable.min_by_key(|s| (s.is_stale(), s.is_backup(), s.sender().srtt())) {
            subflow.queue_signal(signal);
            self.transmit_pending = true;
        } else {
            self.paths.hold_signal(signal);
        }
    }

    /// Sends the addresses that were announced before the keys were known.
    pub(super) fn send_announcements(&mut self) {
        for address in self.paths.announced_addresses() {
            self.send_announcement(address);
        }
    }

    fn send_announcement(&mut self, address: Address) {
        let Address { id, ip, port } = address;
        let Some(peer) = self.handshake.remote_key() else { return };
        let hmac = crypto::address_hmac(self.handshake.local_key(), peer, id, ip, port);
        let signal = MptcpSignal::AddAddress { address_id: id, address: ip, port, hmac: Some(hmac) };
        self.send_signal(signal, None);
    }

    fn send_removal(&mut self, ids: &[u8], except: Option<PathId>) {
        self.paths.record_removal(ids);
        self.arm_address_timer();
        let mut padded = [0; MAX_REMOVED_IDS];
        padded[..ids.len()].copy_from_slice(ids);
        let signal = MptcpSignal::RemoveAddress { ids: padded, count: ids.len() as u8 };
        self.send_signal(signal, except);
    }

    /// Records that a signal was put into a segment.
    pub(super) fn on_signal_sent(&mut self, now: Instant, signal: &MptcpSignal) {
        match *signal {
            MptcpSignal::AddAddress { address_id, hmac: Some(_), .. } => {
                self.paths.on_announcement_sent(now, address_id);
                self.arm_address_timer();
            }
            MptcpSignal::RemoveAddress { ids, count } => {
                self.paths.on_removal_sent(now, &ids[..usize::from(count)]);
                self.arm_address_timer();
            }
            _ => {}
        }
    }

    fn arm_address_timer(&mut self) {
        self.timers.set_or_stop(Timer::Address, self.paths.next_retry());
    }

    /// Repeats the ADD_ADDRs and REMOVE_ADDRs that are due.
    pub(super) fn on_address_timeout(&mut self, now: Instant) {
        while let Some(address) = self.paths.take_due_announcement(now) {
            self.send_announcement(address);
        }
        let subflows = &self.subflows;
        let is_used = |id| subflows.iter().any(|s| s.is_open() && s.local_id() == id);
        let heard_since = |at| subflows.iter().any(|s| s.is_open() && s.last_heard() > at);
        let (ids, count) = self.paths.take_due_removals(now, is_used, heard_since);
        if count > 0 {
            self.send_signal(MptcpSignal::RemoveAddress { ids, count: count as u8 }, None);
        }
        self.arm_address_timer();
    }

    /// Handles an ADD_ADDR with an HMAC, or the echo of one without.
    pub(super) fn on_add_address(&mut self, i: usize, address: Address, hmac: Option<u64>) {
        let Some(hmac) = hmac else {
            self.paths.on_echo(address);
            self.arm_address_timer();
            return;
        };
        let Some(peer) = self.handshake.remote_key() else { return };
        let Address { id, ip, port } = address;
        let expected = crypto::address_hmac(peer, self.handshake.local_key(), id, ip, port);
        // An ADD_ADDR with a wrong HMAC, or for an identifier of another address, is ignored (RFC
        // 8684, section 3.4.1). Another port of the same address is a new destination.
        if hmac != expected || self.paths.conflicts(&address) {
            return;
        }
        // The HMAC proves that the peer has both keys.
        self.confirm_mptcp();
        let echo = MptcpSignal::AddAddress { address_id: id, address: ip, port, hmac: None };
        self.subflows[i].queue_signal(echo);
        self.transmit_pending = true;
        match self.paths.accept(address, usize::from(self.config.max_addresses)) {
            Acceptance::New => self.report(Event::AddressAdded(id, ip, port)),
            // The echo was lost, or the peer wants failed paths to be retried.
            Acceptance::Known => self.subflows.iter_mut().for_each(|s| s.set_permanently_refused(false)),
            Acceptance::Full => {}
        }
    }

    /// Handles a REMOVE_ADDR: ends every subflow of that address. An unknown identifier is ignored
    /// (RFC 8684, section 3.4.2).
    pub(super) fn on_remove_address(&mut self, id: u8) {
        let mut known = self.paths.forget(id);
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_open() && self.subflows[i].remote_id() == id {
                known = true;
                self.reset_subflow(i, Failure::Removed, reset_reason::UNSPECIFIED);
            }
        }
        if known && !self.ended {
            self.report(Event::AddressRemoved(id));
        }
    }
}
