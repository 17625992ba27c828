//! Journal of changes to the kernel path manager, to undo them.
//!
//! An entry is written before the first change of each object. The agent undoes its changes when it
//! ends; the next start does so after a crash. The journal names boot and network namespace: after
//! a reboot there is nothing to undo. Changes of other programs are kept.

use linux::pm::{Endpoint, Flags, Limits};
use linux::process;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Version of the file format.
const VERSION: u32 = 1;

/// Changes to undo.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Journal {
    version: u32,
    /// Boot and network namespace of the changes.
    place: Place,
    /// Addresses of endpoints that the agent added.
    added: Vec<IpAddr>,
    /// Original state of endpoints that were changed or removed.
    before: Vec<Before>,
    /// Limits before the first change, and as last set.
    limits: Option<[(u32, u32); 2]>,
    /// The agent selected the userspace path manager.
    #[serde(default)]
    taken_over: bool,
}

/// Scope of the changes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Boot ID, from `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// Inode of the network namespace. Another namespace may have it later.
    pub namespace: u64,
    /// Cookie of the network namespace; `None` in the journals of earlier versions and before Linux
    /// 5.14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie: Option<u64>,
}

impl Place {
    /// Boot and network namespace of the calling thread.
    ///
    /// # Errors
    /// Fails when `/proc` is not mounted.
    pub fn here() -> Result<Self, linux::Error> {
        Ok(Self {
            boot: process::boot_id()?,
            namespace: process::network_namespace()?,
            cookie: process::network_namespace_cookie(),
        })
    }
}

/// Original state of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    id: u8,
    address: IpAddr,
    port: u16,
    device: u32,
    flags: u32,
    /// The agent removed it.
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

/// A step that undoes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Remove an added endpoint.
    Remove(Endpoint),
    /// Add a removed endpoint again.
    Add(Endpoint),
    /// Restore the backup flag.
    SetBackup(Endpoint, bool),
    /// Restore the limits.
    SetLimits(Limits),
}

impl Journal {
    /// Journal without changes.
    pub fn new(place: Place) -> Self {
        Self { version: VERSION, place, ..Self::default() }
    }

    /// Parses the form written by [`Self::to_bytes`].
    ///
    /// # Errors
    /// Returns a description of the defect.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let journal: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if journal.version != VERSION {
            return Err(format!("version {} instead of {VERSION}", journal.version));
        }
        Ok(journal)
    }

    /// Serialised form.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// True when the journal belongs to `place`.
    pub fn belongs_to(&self, place: &Place) -> bool {
        let has_cookies = self.place.cookie.is_some() && place.cookie.is_some();
        (&self.place.boot, self.place.namespace) == (&place.boot, place.namespace)
            && (!has_cookies || self.place.cookie == place.cookie)
    }

    /// True when there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.before.is_empty() && self.limits.is_none() && !self.taken_over
    }

    /// Notes an endpoint before it is added. Returns true when the journal changed.
    pub fn note_added(&mut self, address: IpAddr) -> bool {
        if self.is_ours(address) || self.removed(address).is_some() {
            return false;
        }
        self.added.push(address);
        true
    }

    /// Notes that an added endpoint no longer exists. Returns true when the journal changed.
    pub fn forget_added(&mut self, address: IpAddr) -> bool {
        let count = self.added.len();
        self.added.retain(|added| *added != address);
        self.added.len() != count
    }

    /// True when the agent added the endpoint of this address.
    pub fn is_ours(&self, address: IpAddr) -> bool {
        self.added.contains(&address)
    }

    /// Notes an endpoint before it is changed. Returns true when the journal changed.
    pub fn note_changed(&mut self, endpoint: &Endpoint) -> bool {
        if self.is_ours(endpoint.address) || self.before.iter().any(|one| one.address == endpoint.address) {
            return false;
        }
        self.before.push(endpoint.into());
        true
    }

    /// Notes an endpoint before it is removed. Returns true when the journal changed. An implicit one
    /// does not return: only the kernel can make it, and does so for the next subflow.
    pub fn note_removed(&mut self, endpoint: &Endpoint) -> bool {
        if self.is_ours(endpoint.address) || endpoint.flags.implicit {
            return false;
        }
        self.note_changed(endpoint);
        self.mark(endpoint.address, true)
    }

    /// Notes that a removed endpoint exists again. Returns true when the journal changed.
    pub fn note_returned(&mut self, address: IpAddr) -> bool {
        self.mark(address, false)
    }

    fn mark(&mut self, address: IpAddr, removed: bool) -> bool {
        let one = self.before.iter_mut().find(|one| one.address == address);
        one.is_some_and(|one| std::mem::replace(&mut one.removed, removed) != removed)
    }

    /// Original state of a removed endpoint.
    pub fn removed(&self, address: IpAddr) -> Option<Endpoint> {
        self.before.iter().find(|one| one.address == address && one.removed).map(Before::endpoint)
    }

    /// Original states of all removed endpoints.
    pub fn all_removed(&self) -> impl Iterator<Item = Endpoint> {
        self.before.iter().filter(|one| one.removed).map(Before::endpoint)
    }

    /// Original state of a changed or removed endpoint.
    pub fn original(&self, address: IpAddr) -> Option<Endpoint> {
        self.before.iter().find(|one| one.address == address).map(Before::endpoint)
    }

    /// Notes the limits before they are set. Returns true when the journal changed.
    pub fn note_limits(&mut self, before: Limits, set: Limits) -> bool {
        let pair = |limits: Limits| (limits.subflows, limits.accepted_addresses);
        let first = self.limits.map_or(pair(before), |[first, _]| first);
        let new = Some([first, pair(set)]);
        std::mem::replace(&mut self.limits, new) != new
    }

    /// Notes the selected path manager before it changes. Returns true when the journal changed.
    pub fn note_userspace_selected(&mut self, taken_over: bool) -> bool {
        std::mem::replace(&mut self.taken_over, taken_over) != taken_over
    }

    /// True when the agent has selected the userspace path manager.
    pub fn is_userspace_selected(&self) -> bool {
        self.taken_over
    }

    /// Steps that undo the changes, given the present endpoints and limits.
    pub fn undo_steps(&self, now: &[Endpoint], limits: Limits) -> Vec<Step> {
        let mut steps = Vec::new();
        // Removals first: they free address IDs for restored endpoints.
        let ours = now.iter().filter(|endpoint| endpoint.port == 0 && self.is_ours(endpoint.address));
        steps.extend(ours.map(|endpoint| Step::Remove(*endpoint)));
        for before in &self.before {
            let was = before.endpoint();
            // An implicit one is the kernel's; the restored endpoint replaces it.
            let is_there =
                |one: &&Endpoint| one.address == was.address && one.port == was.port && !one.flags.implicit;
            match now.iter().find(is_there) {
                Some(is) if is.flags.backup != was.flags.backup => {
                    steps.push(Step::SetBackup(*is, was.flags.backup));
                }
                Some(_) => {}
                None if before.removed => steps.push(Step::Add(was)),
                // Another program removed it.
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

    /// Forgets the changes that are undone or need no undoing.
    pub fn retain_unfinished(&mut self, now: &[Endpoint], limits: Limits) {
        let steps = self.undo_steps(now, limits);
        let is_left = |address: IpAddr| {
            steps.iter().any(|step| match step {
                Step::Remove(one) | Step::Add(one) | Step::SetBackup(one, _) => one.address == address,
                Step::SetLimits(_) => false,
            })
        };
        self.added.retain(|address| is_left(*address));
        self.before.retain(|before| is_left(before.address));
        if !steps.iter().any(|step| matches!(step, Step::SetLimits(_))) {
            self.limits = None;
        }
    }
}

#[cfg(test)]
mod tests;
