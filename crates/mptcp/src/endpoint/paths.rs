//! Paths that come and go, and their priorities (RFC 8684, sections 3.3.8 and 3.4).

use super::{Endpoint, Failure, Mode};
use crate::PathId;
use crate::subflow::State;
use wire::{MptcpSignal, Payload};

/// Signals that wait for a subflow to carry them.
const MOST_WAITING: usize = 32;

impl<P: Payload> Endpoint<P> {
    /// Makes the subflow over `path` a backup, or a regular one, and asks the peer to treat it so
    /// (MP_PRIO). Nothing happens where no subflow is.
    pub fn set_priority(&mut self, path: PathId, backup: bool) {
        let Some(subflow) = self.subflows.get_mut(path.index()) else { return };
        if !subflow.is_open() || subflow.is_local_backup() == backup {
            return;
        }
        subflow.set_local_backup(backup);
        if self.mode == Mode::Mptcp {
            subflow.queue_signal(MptcpSignal::Priority { backup, address_id: None });
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

    /// Ends the subflow over `path`. What it has not delivered goes over the others; the peer is told
    /// over one of them that the address is gone (REMOVE_ADDR). `reachable` says whether the path
    /// still carries a reset.
    pub fn remove(&mut self, path: PathId, reachable: bool) {
        let i = path.index();
        let Some(subflow) = self.subflows.get(i) else { return };
        if !subflow.is_open() {
            return;
        }
        let id = subflow.local_id();
        if reachable && subflow.state() != State::SynSent {
            self.reset_subflow(i, Failure::Removed, 0);
        } else {
            self.subflow_lost(i, Failure::Removed);
        }
        if self.subflows.iter().any(|s| s.is_open() && s.local_id() == id) {
            // The address carries others still: a server has but one.
            return;
        }
        self.tell_removed(&[id], Some(path));
    }

    /// Sends a signal over the best subflow other than `except`, or over the next that comes up.
    pub(super) fn signal(&mut self, signal: MptcpSignal, except: Option<PathId>) {
        if self.mode != Mode::Mptcp {
            return;
        }
        let usable = self.subflows.iter_mut().filter(|s| s.is_established() && Some(s.path()) != except);
        if let Some(subflow) = usable.min_by_key(|s| (s.is_stale(), s.is_backup(), s.sender().srtt())) {
            subflow.queue_signal(signal);
            self.work = true;
        } else if self.waiting.len() < MOST_WAITING {
            self.waiting.push(signal);
        }
    }
}
