//! What the agent changed of the kernel's path manager, so that it can be put back: at its end, or by the next
//! start where it was killed.
//!
//! It is written before each first change of a kind, and knows the boot and the network namespace that it is
//! of: after a reboot there is nothing to put back. Only what the agent did is undone; what somebody else
//! changed meanwhile stays.

use linux::pm::{Endpoint, Flags, Limits};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The version of what is written.
const VERSION: u32 = 1;

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    version: u32,
    /// The boot and the namespace that it is of.
    place: Place,
    /// Endpoints that were added, by address.
    added: Vec<IpAddr>,
    /// Endpoints that were there before and were changed or removed, as they were.
    before: Vec<Before>,
    /// The limits as they were, and as they were set.
    limits: Option<[(u32, u32); 2]>,
    /// The kernel's path manager was chosen, and is not now.
    #[serde(default)]
    taken_over: bool,
}

/// Where endpoints are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The boot, as `/proc/sys/kernel/random/boot_id` tells it.
    pub boot: String,
    /// The number of the network namespace.
    pub namespace: u64,
}

/// An endpoint as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    id: u8,
    address: IpAddr,
    port: u16,
    device: u32,
    flags: u32,
    /// It was removed.
    removed: bool,
}

impl From<&Endpoint> for Before {
    fn from(endpoint: &Endpoint) -> Self {
        let Endpoint { id, address, port, device, flags } = *endpoint;
        Self { id, address, port, device, flags: flags.bits(), removed: false }
    }
}

impl Before {
    fn endpoint(&self) -> Endpoint {
        let Self { id, address, port, device, flags, .. } = *self;
        Endpoint { id, address, port, device, flags: Flags::from_bits(flags) }
    }
}

/// A step that puts something back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Remove an endpoint.
    Remove(Endpoint),
    /// Add it again.
    Add(Endpoint),
    /// Mark it as it was.
    SetBackup(Endpoint, bool),
    /// Set the limits.
    SetLimits(Limits),
}

impl Journal {
    /// Nothing was changed yet at `place`.
    pub fn new(place: Place) -> Self {
        Self { version: VERSION, place, ..Self::default() }
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// Where it is not such a text; says in a few words why.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let journal: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if journal.version != VERSION {
            return Err(format!("it is of version {}, not {VERSION}", journal.version));
        }
        Ok(journal)
    }

    /// As a text.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether it is of this boot and namespace.
    pub fn is_of(&self, place: &Place) -> bool {
        self.place == *place
    }

    /// Whether there is nothing to put back.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.before.is_empty() && self.limits.is_none() && !self.taken_over
    }

    /// Notes that an endpoint is about to be added; true where that is news.
    pub fn note_added(&mut self, address: IpAddr) -> bool {
        if self.is_ours(address) || self.removed(address).is_some() {
            return false;
        }
        self.added.push(address);
        true
    }

    /// Notes that an endpoint which was added is gone.
    pub fn forget_added(&mut self, address: IpAddr) {
        self.added.retain(|added| *added != address);
    }

    /// Whether the agent added the endpoint of that address.
    pub fn is_ours(&self, address: IpAddr) -> bool {
        self.added.contains(&address)
    }

    /// Notes that an endpoint is about to be changed; true where that is news.
    pub fn note_changed(&mut self, endpoint: &Endpoint) -> bool {
        if self.is_ours(endpoint.address) || self.before.iter().any(|one| one.address == endpoint.address) {
            return false;
        }
        self.before.push(endpoint.into());
        true
    }

    /// Notes that an endpoint is about to be removed which was there before; true where that is news.
    pub fn note_removed(&mut self, endpoint: &Endpoint) -> bool {
        if self.is_ours(endpoint.address) {
            return false;
        }
        self.note_changed(endpoint);
        self.mark(endpoint.address, true)
    }

    /// Notes that an endpoint which was removed is there again.
    pub fn note_returned(&mut self, address: IpAddr) {
        self.mark(address, false);
    }

    fn mark(&mut self, address: IpAddr, removed: bool) -> bool {
        let one = self.before.iter_mut().find(|one| one.address == address);
        one.is_some_and(|one| std::mem::replace(&mut one.removed, removed) != removed)
    }

    /// An endpoint that was removed, as it was.
    pub fn removed(&self, address: IpAddr) -> Option<Endpoint> {
        self.before.iter().find(|one| one.address == address && one.removed).map(Before::endpoint)
    }

    /// Notes that the limits are about to be set; true where that is news.
    pub fn note_limits(&mut self, before: Limits, set: Limits) -> bool {
        let pair = |limits: Limits| (limits.subflows, limits.accepted_addresses);
        let first = self.limits.map_or(pair(before), |[first, _]| first);
        let new = Some([first, pair(set)]);
        std::mem::replace(&mut self.limits, new) != new
    }

    /// Notes that new connections are about to be managed one by one, or by the kernel again; true where that is
    /// news.
    pub fn note_taken_over(&mut self, taken_over: bool) -> bool {
        std::mem::replace(&mut self.taken_over, taken_over) != taken_over
    }

    /// Whether new connections are managed one by one, and were not before.
    pub fn is_taken_over(&self) -> bool {
        self.taken_over
    }

    /// What puts back how it was, where it is `now` so.
    pub fn undo_steps(&self, now: &[Endpoint], limits: Limits) -> Vec<Step> {
        let mut steps = Vec::new();
        // First those that are to go: their identifiers may be those of others before.
        let ours = now.iter().filter(|endpoint| endpoint.port == 0 && self.is_ours(endpoint.address));
        steps.extend(ours.map(|endpoint| Step::Remove(*endpoint)));
        for before in &self.before {
            let was = before.endpoint();
            match now.iter().find(|one| one.address == was.address && one.port == was.port) {
                Some(is) if is.flags.backup != was.flags.backup => {
                    steps.push(Step::SetBackup(*is, was.flags.backup));
                }
                Some(_) => {}
                None if before.removed => steps.push(Step::Add(was)),
                // Somebody else removed it.
                None => {}
            }
        }
        if let Some([before, set]) = self.limits
            && (limits.subflows, limits.accepted_addresses) == set
        {
            steps.push(Step::SetLimits(Limits { subflows: before.0, accepted_addresses: before.1 }));
        }
        steps
    }
}

#[cfg(test)]
mod tests;
