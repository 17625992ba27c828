//! Addresses that one end tells the other of (RFC 8684, section 3.4).

use super::{Endpoint, Event, Failure};
use crate::{PathId, crypto};
use core::net::IpAddr;
use units::{Duration, Instant};
use wire::{MptcpSignal, Payload};

/// ADD_ADDRs sent again for want of an echo (Linux `ADD_ADDR_RETRANS_MAX`).
const AGAIN: u32 = 3;
/// Before the first of these; twice as long before each next. (Linux waits for two minutes each time,
/// `net.mptcp.add_addr_timeout`, which is longer than most connections live.)
const ECHO_WAIT: Duration = Duration::from_secs(1);

/// An address of this end that the peer was told of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcement {
    id: u8,
    address: IpAddr,
    port: Option<u16>,
    tries: u32,
    /// When it is told again.
    at: Option<Instant>,
}

/// An address of this end that the peer was told is gone. Nothing answers that (RFC 8684, section 3.4.2), so it
/// is told again as often as an ADD_ADDR without an echo; Linux tells it once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removal {
    id: u8,
    tries: u32,
    told: Instant,
    /// When it is told again, if the connection is in use: for nothing else a radio is not woken.
    at: Option<Instant>,
}

impl<P: Payload> Endpoint<P> {
    /// Tells the peer of another address of this end (ADD_ADDR), again and again until it is echoed. To
    /// tell of the same once more refreshes it: the peer may try again what failed.
    pub fn announce(&mut self, id: u8, address: IpAddr, port: Option<u16>) {
        self.announced.retain(|known| known.id != id);
        self.removed.retain(|gone| gone.id != id);
        self.announced.push(Announcement { id, address, port, tries: 0, at: None });
        self.tell(id, address, port);
    }

    fn tell(&mut self, id: u8, address: IpAddr, port: Option<u16>) {
        let Some(peer) = self.remote_key else { return };
        let hmac = Some(crypto::address_hmac(self.local_key, peer, id, address, port));
        self.signal(MptcpSignal::AddAddress { address_id: id, address, port, hmac }, None);
    }

    /// An ADD_ADDR goes out.
    pub(super) fn announced_now(&mut self, now: Instant, id: u8) {
        if let Some(known) = self.announced.iter_mut().find(|known| known.id == id) {
            known.at = (known.tries <= AGAIN).then(|| now + ECHO_WAIT * (1 << known.tries));
            known.tries += 1;
            self.arm_rare();
        }
    }

    /// When the next ADD_ADDR or REMOVE_ADDR is due.
    pub(super) fn announcement_due(&self) -> Option<Instant> {
        let removed = self.removed.iter().filter_map(|gone| gone.at);
        self.announced.iter().filter_map(|known| known.at).chain(removed).min()
    }

    /// Tells the peer that an address of this end is gone.
    pub(super) fn tell_removed(&mut self, some: &[u8], except: Option<PathId>) {
        let mut ids = [0; 8];
        ids[..some.len()].copy_from_slice(some);
        self.removed.retain(|gone| !some.contains(&gone.id));
        let gone = |&id: &u8| Removal { id, tries: 0, told: Instant::ZERO, at: None };
        self.removed.extend(some.iter().map(gone));
        self.signal(MptcpSignal::RemoveAddress { ids, count: some.len() as u8 }, except);
    }

    /// A REMOVE_ADDR goes out.
    pub(super) fn removed_now(&mut self, now: Instant, ids: &[u8]) {
        for gone in self.removed.iter_mut().filter(|gone| ids.contains(&gone.id)) {
            gone.at = (gone.tries < AGAIN).then(|| now + ECHO_WAIT * (1 << gone.tries));
            gone.told = now;
            gone.tries += 1;
        }
        self.removed.retain(|gone| gone.at.is_some());
        self.arm_rare();
    }

    fn remove_again(&mut self, now: Instant) {
        let (subflows, removed) = (&self.subflows, &mut self.removed);
        // An address that came back.
        removed.retain(|gone| !subflows.iter().any(|s| s.is_open() && s.local_id() == gone.id));
        let (mut ids, mut count) = ([0; 8], 0);
        for gone in removed.iter_mut().filter(|gone| gone.at.is_some_and(|at| at <= now)) {
            if count == ids.len() || !subflows.iter().any(|s| s.is_open() && s.last_heard() > gone.told) {
                gone.at = Some(now + ECHO_WAIT * (1 << gone.tries));
                gone.tries += 1;
            } else {
                gone.at = None;
                ids[count] = gone.id;
                count += 1;
            }
        }
        removed.retain(|gone| gone.tries <= AGAIN);
        if count > 0 {
            self.signal(MptcpSignal::RemoveAddress { ids, count: count as u8 }, None);
        }
    }

    pub(super) fn announce_again(&mut self, now: Instant) {
        for n in 0..self.announced.len() {
            let known = &mut self.announced[n];
            if known.at.is_some_and(|at| at <= now) {
                known.at = None;
                let Announcement { id, address, port, tries, .. } = *known;
                if tries <= AGAIN {
                    self.tell(id, address, port);
                }
            }
        }
        self.remove_again(now);
    }

    /// Tells the peer that these addresses of this end are no more (REMOVE_ADDR): it ends its subflows
    /// to them. An address that still works is better left with [`remove`](Self::remove).
    pub fn withdraw(&mut self, ids: &[u8]) {
        self.announced.retain(|known| !ids.contains(&known.id));
        self.arm_rare();
        for some in ids.chunks(8) {
            self.tell_removed(some, None);
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
        let Some(hmac) = hmac else {
            // The echo of ours.
            for known in &mut self.announced {
                if (known.id, known.address, known.port) == (id, address, port) {
                    known.at = None;
                    known.tries = AGAIN + 1;
                }
            }
            self.arm_rare();
            return;
        };
        let Some(peer) = self.remote_key else { return };
        // Section 3.4.1: one whose HMAC is wrong is ignored, and so is one whose identifier stands for
        // another address. Another port of the same is another place to try.
        let other = self.accepted.iter().any(|known| known.0 == id && known.1 != address);
        if hmac != crypto::address_hmac(peer, self.local_key, id, address, port) || other {
            return;
        }
        let echo = MptcpSignal::AddAddress { address_id: id, address, port, hmac: None };
        self.subflows[i].queue_signal(echo);
        self.work = true;
        if self.accepted.contains(&(id, address, port)) {
            // Our echo was lost, or it was refreshed: what failed may be tried again.
            for subflow in &mut self.subflows {
                subflow.set_permanently_refused(false);
            }
        } else if self.accepted.len() < usize::from(self.config.max_addresses) {
            self.accepted.push((id, address, port));
            self.events.push_back(Event::AddressAdded(id, address, port));
        }
    }

    /// Section 3.4.2: every subflow of that address ends; an unknown one is ignored.
    pub(super) fn on_remove_address(&mut self, id: u8) {
        let told = self.accepted.len();
        self.accepted.retain(|known| known.0 != id);
        let mut known = self.accepted.len() < told;
        for i in 0..self.subflows.len() {
            if self.subflows[i].is_open() && self.subflows[i].remote_id() == id {
                known = true;
                self.reset_subflow(i, Failure::Removed, 0);
            }
        }
        if known && !self.ended {
            self.events.push_back(Event::AddressRemoved(id));
        }
    }
}
