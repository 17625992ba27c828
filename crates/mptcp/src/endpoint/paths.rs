//! Paths that come and go, and their priorities (RFC 8684, sections 3.3.8 and 3.4).

use super::{Endpoint, Event, Failure, Mode};
use crate::subflow::State;
use crate::{PathId, crypto};
use core::net::IpAddr;
use wire::{MptcpSignal, Payload};

impl<P: Payload> Endpoint<P> {
    /// Makes the subflow over `path` a backup, or a regular one, and asks the peer to treat it so
    /// (MP_PRIO). Nothing happens where no subflow is.
    pub fn set_priority(&mut self, path: PathId, backup: bool) {
        let Some(subflow) = self.subflows.get_mut(path.index()) else { return };
        if !subflow.is_open() || subflow.backup_here == backup {
            return;
        }
        subflow.backup_here = backup;
        if self.mode == Mode::Mptcp {
            subflow.signals.push_back(MptcpSignal::Priority { backup, address_id: None });
            self.work = true;
        }
    }

    /// Sets the share of the data that each path is to carry, by path index. The shares need not add
    /// up to 1. The `share` scheduler holds them exactly; for any other, a share below an equal part
    /// is an upper bound, and what the path may not take goes to the others.
    pub fn set_shares(&mut self, shares: &[f64]) {
        self.scheduler.set_shares(shares);
        self.work = true;
    }

    /// Tells the peer of another address of this end (ADD_ADDR).
    pub fn announce(&mut self, id: u8, address: IpAddr, port: Option<u16>) {
        let Some(peer) = self.remote_key else { return };
        let hmac = Some(crypto::address_hmac(self.local_key, peer, id, address, port));
        self.signal(MptcpSignal::AddAddress { address_id: id, address, port, hmac }, None);
    }

    /// Ends the subflow over `path`. What it has not delivered goes over the others; the peer is told
    /// over one of them that the address is gone (REMOVE_ADDR). `reachable` says whether the path
    /// still carries a reset.
    pub fn remove(&mut self, path: PathId, reachable: bool) {
        let i = path.index();
        let Some(subflow) = self.subflows.get(i) else { return };
        if !subflow.is_open() {
            return;
        }
        let id = subflow.local_id;
        if reachable && subflow.state != State::SynSent {
            self.reset_subflow(i, Failure::Removed, 0);
        } else {
            self.subflow_lost(i, Failure::Removed);
        }
        if self.subflows.iter().any(|s| s.is_open() && s.local_id == id) {
            // The address carries others still: a server has but one.
            return;
        }
        let mut ids = [0; 8];
        ids[0] = id;
        self.signal(MptcpSignal::RemoveAddress { ids, count: 1 }, Some(path));
    }

    /// Sends a signal over the best subflow other than `except`.
    fn signal(&mut self, signal: MptcpSignal, except: Option<PathId>) {
        if self.mode != Mode::Mptcp {
            return;
        }
        let usable =
            self.subflows.iter_mut().filter(|s| s.state == State::Established && Some(s.path) != except);
        if let Some(subflow) = usable.min_by_key(|s| (s.stale, s.is_backup(), s.sender.rtt.srtt())) {
            subflow.signals.push_back(signal);
            self.work = true;
        }
    }

    pub(super) fn on_add_address(
        &mut self,
        i: usize,
        id: u8,
        address: IpAddr,
        port: Option<u16>,
        hmac: Option<u64>,
    ) {
        let (Some(hmac), Some(peer)) = (hmac, self.remote_key) else { return };
        // Section 3.4.1: one whose HMAC is wrong is ignored.
        if hmac != crypto::address_hmac(peer, self.local_key, id, address, port) {
            return;
        }
        let echo = MptcpSignal::AddAddress { address_id: id, address, port, hmac: None };
        self.subflows[i].signals.push_back(echo);
        self.events.push_back(Event::AddressAdded(id, address, port));
        self.work = true;
    }

    /// Section 3.4.2: every subflow of that address ends; an unknown one is ignored.
    pub(super) fn on_remove_address(&mut self, id: u8) {
        let mut known = false;
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_open() && self.subflows[i].remote_id == id {
                known = true;
                self.reset_subflow(i, Failure::Removed, 0);
            }
        }
        if known {
            self.events.push_back(Event::AddressRemoved(id));
        }
    }
}
