//! Keeps the endpoints of the kernel path manager as intended, and restores them.

use crate::Error;
use crate::journal::{Journal, Place, Step};
use crate::store::Store;
use linux::pm::path_manager;
use linux::pm::{Endpoint, Flags, Limits, PathManager};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use tracing::{debug, info, warn};
use units::{Duration, Instant};

/// Name of the journal in the state directory.
pub(crate) const JOURNAL: &str = "changes.json";
/// Limit of the kernel (MPTCP_PM_ADDR_MAX).
const MAX_ENDPOINTS: usize = 8;
/// Delay before a rejected addition is repeated, and between two warnings about one change.
const RETRY_DELAY: Duration = Duration::from_secs(2);
/// Attempts to undo all changes, and the delay between two.
const RESTORE_ATTEMPTS: usize = 10;
const RESTORE_RETRY_DELAY: std::time::Duration = std::time::Duration::from_millis(100);

const USERSPACE_SELECTED: &str = "new connections use the userspace path manager";

/// Intended state of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Interface name.
    pub name: String,
    /// Interface index.
    pub device: u32,
    /// Local address.
    pub address: IpAddr,
    /// The endpoint should exist.
    pub open: bool,
    /// Its subflows should be backups.
    pub backup: bool,
}

/// A change that the kernel may reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Add(IpAddr),
    Remove(IpAddr),
    SetBackup(IpAddr),
    SetLimits,
}

/// Endpoints of the kernel, and the journal of changes.
#[derive(Debug)]
pub struct Endpoints {
    manager: PathManager,
    journal: Journal,
    /// `None` in a dry run, which changes nothing.
    store: Option<Rc<Store>>,
    now: Vec<Endpoint>,
    limits: Limits,
    /// Rejected changes. Additions and limits are not attempted again before their time; others are,
    /// without a further warning.
    rejected: BTreeMap<Change, Instant>,
    /// The kernel had no room for an endpoint.
    lacks_room: bool,
    /// `now` may differ from the kernel's state.
    is_stale: bool,
    /// The reason why the journal could not be written, and the time of the next attempt.
    unrecorded: Option<(String, Instant)>,
}

impl Endpoints {
    /// Opens the path manager and undoes the changes of a killed agent. Without a store nothing is
    /// changed, only logged.
    ///
    /// # Errors
    /// Fails when the kernel has no MPTCP, or without CAP_NET_ADMIN.
    pub fn open(place: Place, store: Option<Rc<Store>>) -> Result<Self, Error> {
        let mut manager = PathManager::open()?;
        let limits = manager.limits()?;
        let now = manager.endpoints()?;
        let mut endpoints = Self {
            manager,
            journal: Journal::new(place.clone()),
            store,
            now,
            limits,
            rejected: BTreeMap::new(),
            lacks_room: false,
            is_stale: false,
            unrecorded: None,
        };
        let Some(store) = endpoints.store.clone() else { return Ok(endpoints) };
        let left = store.read(JOURNAL).map_err(|error| Error::state(JOURNAL, error))?;
        match left.map(|bytes| Journal::parse(&bytes)) {
            Some(Ok(journal)) if journal.belongs_to(&place) && !journal.is_empty() => {
                info!("undoing the changes of an agent that was killed");
                endpoints.journal = journal;
                match endpoints.restore() {
                    // The end of this agent undoes the rest.
                    Err(error @ Error::NotUndone { .. }) => {
                        warn!("{error}");
                        endpoints.journal.retain_unfinished(&endpoints.now, endpoints.limits);
                    }
                    restored => {
                        restored?;
                        endpoints.journal = Journal::new(place);
                    }
                }
            }
            Some(Err(why)) => {
                warn!("cannot read the journal of changes ({why}); the file was renamed");
                store.rename_unreadable(JOURNAL);
            }
            _ => {}
        }
        Ok(endpoints)
    }

    /// Endpoints as last read.
    pub fn now(&self) -> &[Endpoint] {
        &self.now
    }

    /// True when the endpoint of this address was a backup before the agent changed it.
    pub fn was_backup(&self, address: IpAddr) -> bool {
        if self.journal.is_ours(address) {
            return false;
        }
        let original = self.journal.original(address);
        original.or(self.endpoint_of(address)).is_some_and(|endpoint| endpoint.flags.backup)
    }

    /// The reason why changes are not recorded at present, for the status.
    pub fn unrecorded(&self) -> Option<&str> {
        self.unrecorded.as_ref().map(|(reason, _)| &**reason)
    }

    /// Reads the endpoints again: other programs may change them too.
    ///
    /// # Errors
    /// Fails when the kernel cannot list them.
    pub fn refresh(&mut self) -> Result<(), Error> {
        // A dry run keeps its simulated endpoints instead.
        if self.store.is_some() {
            self.is_stale = true;
            self.now = self.manager.endpoints()?;
            self.is_stale = false;
        }
        Ok(())
    }

    /// Applies `wanted`, the complete list: removes the agent's endpoints for other addresses, and
    /// replaces them if the address is on another interface. Rejected changes are logged and
    /// repeated; only additions and limits wait before. Changes are made even when the journal
    /// cannot be written: an allowance holds on a full disk too.
    ///
    /// # Errors
    /// Fails, without a change, when the kernel cannot list its endpoints.
    pub fn apply(&mut self, now: Instant, wanted: &[Wanted]) -> Result<(), Error> {
        if self.is_stale {
            self.refresh()?;
        }
        self.rejected.retain(|_, until| now < *until);
        if self.unrecorded.as_ref().is_some_and(|(_, retry_at)| *retry_at <= now) {
            self.save(now);
        }
        self.raise_limits(now, wanted);
        // Removals first: they free room for additions.
        self.remove_unwanted(now, wanted);
        let returning = self.returning(wanted);
        let mut without_room = None;
        for one in wanted.iter().chain(&returning).filter(|one| one.open) {
            // An implicit endpoint opens no subflows; the kernel replaces it by the added one.
            match self.endpoint_of(one.address).filter(|endpoint| !endpoint.flags.implicit) {
                None if self.now.len() >= MAX_ENDPOINTS => without_room = Some(one),
                None => self.add(now, one),
                Some(endpoint) if endpoint.flags.backup != one.backup => {
                    self.set_backup(now, one, &endpoint);
                }
                Some(_) => {}
            }
        }
        if let Some(one) = without_room
            && !self.lacks_room
        {
            warn!(interface = one.name, address = %one.address, "no endpoint can be added: the kernel has its maximum of {MAX_ENDPOINTS}");
        }
        self.lacks_room = without_room.is_some();
        Ok(())
    }

    /// Selects the userspace path manager for new connections, or the kernel's again.
    ///
    /// # Errors
    /// Fails when the kernel lacks the path manager or denies the change.
    pub fn select_path_manager(&mut self, userspace: bool) -> Result<(), Error> {
        if userspace == self.journal.is_userspace_selected() {
            return Ok(());
        }
        info!(
            "{}",
            self.log_text(if userspace {
                USERSPACE_SELECTED
            } else {
                "new connections use the kernel path manager"
            })
        );
        if self.is_dry_run() {
            self.journal.note_userspace_selected(userspace);
            return Ok(());
        }
        if userspace {
            self.journal.note_userspace_selected(true);
            self.save(Instant::ZERO);
            if let Err(error) = path_manager::select(path_manager::USERSPACE) {
                self.journal.note_userspace_selected(false);
                self.save(Instant::ZERO);
                return Err(Error::System(linux::Error::Lacks {
                    what: format!("cannot apply rules for connections: {error}"),
                    hint: "use Linux 5.19 or later; a systemd service needs \
                        ProtectKernelTunables=no to select the path manager"
                        .to_owned(),
                }));
            }
            return Ok(());
        }
        path_manager::select(path_manager::KERNEL)?;
        self.journal.note_userspace_selected(false);
        self.save(Instant::ZERO);
        Ok(())
    }

    /// Repeats the backup mark of an endpoint. With some kernels the first subflow of a connection
    /// starts without the mark.
    pub fn repeat_backup_mark(&mut self, now: Instant, address: IpAddr) {
        let Some(endpoint) = self.endpoint_of(address).filter(|endpoint| endpoint.flags.backup) else {
            return;
        };
        debug!(%address, "new connection on a backup interface: repeating the mark");
        if self.is_dry_run() {
            return;
        }
        // MP_PRIO is sent only on a change of the flag.
        let again = [false, true].into_iter().try_for_each(|flag| self.manager.set_backup(endpoint.id, flag));
        // The endpoint may have been left without the flag.
        self.is_stale |= !self.check_result(now, Change::SetBackup(address), again);
    }

    /// Undoes all changes. Repeats failed attempts for a moment.
    ///
    /// # Errors
    /// Fails when the kernel cannot list its state or rejects a step, or the journal cannot be
    /// removed. The journal then keeps the changes for the next start.
    pub fn restore(&mut self) -> Result<(), Error> {
        let mut restored = self.try_restore();
        for _ in 1..RESTORE_ATTEMPTS {
            if restored.is_ok() {
                break;
            }
            std::thread::sleep(RESTORE_RETRY_DELAY);
            restored = self.try_restore();
        }
        restored
    }

    fn try_restore(&mut self) -> Result<(), Error> {
        let Some(store) = self.store.clone() else { return Ok(()) };
        let (mut failed, mut last) = (0, None);
        if self.journal.is_userspace_selected() {
            // Another program may have selected a path manager since.
            if path_manager::current().as_deref() == Some(path_manager::USERSPACE) {
                last = path_manager::select(path_manager::KERNEL).err();
                failed += usize::from(last.is_some());
            }
            if last.is_none() {
                self.journal.note_userspace_selected(false);
            }
        }
        self.now = self.manager.endpoints()?;
        self.limits = self.manager.limits()?;
        let steps = self.journal.undo_steps(&self.now, self.limits);
        let all = steps.len() + failed;
        for step in steps {
            debug!(?step, "undoing");
            let done = match step {
                Step::Remove(endpoint) => self.manager.remove(endpoint.id, endpoint.address),
                Step::Add(endpoint) => self.add_with_free_id(endpoint),
                Step::SetBackup(endpoint, backup) => self.manager.set_backup(endpoint.id, backup),
                Step::SetLimits(limits) => self.manager.set_limits(limits),
            };
            if let Err(error) = done {
                debug!("{error}");
                failed += 1;
                last = Some(error);
            }
        }
        self.now = self.manager.endpoints()?;
        self.limits = self.manager.limits()?;
        if let Some(last) = last {
            return Err(Error::NotUndone { failed, all, last });
        }
        store.remove(JOURNAL).map_err(|error| Error::state(JOURNAL, error))
    }

    fn is_dry_run(&self) -> bool {
        self.store.is_none()
    }

    /// Log text of a change, marked in a dry run.
    fn log_text(&self, what: &str) -> String {
        if self.is_dry_run() { format!("dry run: {what}") } else { what.to_owned() }
    }

    /// True when the agent added the endpoint. Those with their own port are of other programs.
    fn is_ours(&self, endpoint: &Endpoint) -> bool {
        endpoint.port == 0 && self.journal.is_ours(endpoint.address)
    }

    /// Endpoint of an address. Endpoints with their own port only announce it.
    fn endpoint_of(&self, address: IpAddr) -> Option<Endpoint> {
        self.now.iter().find(|endpoint| endpoint.address == address && endpoint.port == 0).copied()
    }

    /// Writes the journal. On failure, another attempt follows.
    fn save(&mut self, now: Instant) {
        let Some(store) = &self.store else { return };
        match store.write(JOURNAL, &self.journal.to_bytes()) {
            Ok(()) => {
                if self.unrecorded.take().is_some() {
                    info!("changes are recorded again");
                }
            }
            Err(error) => {
                let reason = format!(
                    "changes cannot be recorded, and would remain after kill -9: {}",
                    Error::state(JOURNAL, error)
                );
                if self.unrecorded.is_none() {
                    warn!("{reason}");
                }
                self.unrecorded = Some((reason, now + RETRY_DELAY));
            }
        }
    }

    /// Notes and logs a rejected change; returns true when the kernel made it.
    fn check_result(&mut self, now: Instant, change: Change, done: Result<(), linux::Error>) -> bool {
        let Err(error) = done else { return true };
        self.rejected.entry(change).or_insert_with(|| {
            warn!("{error}; will try again");
            now + RETRY_DELAY
        });
        false
    }

    fn raise_limits(&mut self, now: Instant, wanted: &[Wanted]) {
        let open = wanted.iter().filter(|one| one.open).count().min(MAX_ENDPOINTS) as u32;
        let limits = Limits { subflows: self.limits.subflows.max(open), ..self.limits };
        if limits == self.limits || self.rejected.contains_key(&Change::SetLimits) {
            return;
        }
        if self.journal.note_limits(self.limits, limits) {
            self.save(now);
        }
        let done = if self.is_dry_run() { Ok(()) } else { self.manager.set_limits(limits) };
        if self.check_result(now, Change::SetLimits, done) {
            info!(
                subflows = limits.subflows,
                "{}",
                self.log_text("subflow limit raised to the number of interfaces")
            );
            self.limits = limits;
        }
    }

    /// Endpoints of other programs that were removed with their interface, which is open again.
    fn returning(&self, wanted: &[Wanted]) -> Vec<Wanted> {
        let is_further = |was: &Endpoint| !wanted.iter().any(|one| one.address == was.address);
        let removed = self.journal.all_removed().filter(is_further);
        let returning = removed.filter_map(|was| {
            let interface = wanted.iter().find(|one| one.open && one.device == was.device)?;
            Some(Wanted { address: was.address, backup: was.flags.backup, ..interface.clone() })
        });
        returning.collect()
    }

    /// Removes endpoints of closed interfaces, and the agent's endpoints of addresses that left their
    /// interface.
    fn remove_unwanted(&mut self, now: Instant, wanted: &[Wanted]) {
        let left = |endpoint: &&Endpoint| {
            self.is_ours(endpoint)
                && !wanted.iter().any(|one| (one.address, one.device) == (endpoint.address, endpoint.device))
        };
        for endpoint in self.now.iter().filter(left).copied().collect::<Vec<_>>() {
            self.remove(now, &endpoint, None, "address left the interface: endpoint removed");
        }
        for one in wanted.iter().filter(|one| !one.open) {
            // Another program may have added endpoints for further addresses of the interface.
            let is_open = |address| wanted.iter().any(|one| one.open && one.address == address);
            let is_closed = |endpoint: &&Endpoint| {
                endpoint.port == 0
                    && (endpoint.address == one.address
                        || endpoint.device == one.device && !is_open(endpoint.address))
            };
            for endpoint in self.now.iter().filter(is_closed).copied().collect::<Vec<_>>() {
                self.remove(now, &endpoint, Some(&one.name), "endpoint removed: its subflows close");
            }
        }
    }

    fn add(&mut self, now: Instant, one: &Wanted) {
        if self.rejected.contains_key(&Change::Add(one.address)) {
            return;
        }
        let endpoint = self.endpoint_to_add(one);
        if self.journal.note_added(one.address) {
            self.save(now);
        }
        let done = if self.is_dry_run() {
            self.simulate_addition(endpoint);
            Ok(())
        } else {
            self.add_with_free_id(endpoint)
        };
        // Another program may have added it; then it is not the agent's. Without an answer of the
        // kernel it may have been added.
        let is_refused = matches!(done, Err(linux::Error::Refused { .. }));
        if self.check_result(now, Change::Add(one.address), done) {
            info!(interface = one.name, address = %one.address, backup = one.backup, "{}", self.log_text("endpoint added"));
            if self.journal.note_returned(one.address) {
                self.save(now);
            }
        } else if is_refused && self.journal.forget_added(one.address) {
            self.save(now);
        }
        self.refresh_after_change();
    }

    /// New endpoint for an address. A removed endpoint of another program returns with its attributes;
    /// its address may have moved to another interface.
    fn endpoint_to_add(&self, one: &Wanted) -> Endpoint {
        match self.journal.removed(one.address) {
            Some(was) => Endpoint {
                device: if was.device == 0 { 0 } else { one.device },
                flags: Flags { backup: one.backup, ..was.flags },
                ..was
            },
            None => Endpoint {
                device: one.device,
                flags: Flags { subflow: true, backup: one.backup, ..Flags::default() },
                ..Endpoint::subflow(0, one.address)
            },
        }
    }

    /// Adds an endpoint to the simulated ones of a dry run.
    fn simulate_addition(&mut self, endpoint: Endpoint) {
        self.now.retain(|one| one.address != endpoint.address || one.port != 0);
        let is_free = |id: &u8| !self.now.iter().any(|one| one.id == *id);
        let id = (1..=u8::MAX).find(is_free).unwrap_or_default();
        self.now.push(Endpoint { id, ..endpoint });
    }

    /// Adds an endpoint; lets the kernel choose the address ID if its own has been taken since.
    fn add_with_free_id(&mut self, endpoint: Endpoint) -> Result<(), linux::Error> {
        let added = self.manager.add(&endpoint);
        if added.is_err() && endpoint.id != 0 {
            return self.manager.add(&Endpoint { id: 0, ..endpoint });
        }
        added
    }

    /// Reads the endpoints after a change: the kernel has chosen the address ID, or another program
    /// has interfered. After a failure the next [`Self::apply`] reads them.
    fn refresh_after_change(&mut self) {
        if let Err(error) = self.refresh() {
            debug!("{error}");
        }
    }

    fn remove(&mut self, now: Instant, endpoint: &Endpoint, interface: Option<&str>, what: &str) {
        let address = endpoint.address;
        if self.journal.note_removed(endpoint) {
            self.save(now);
        }
        let done = if self.is_dry_run() { Ok(()) } else { self.manager.remove(endpoint.id, address) };
        if self.check_result(now, Change::Remove(address), done) {
            info!(interface, %address, "{}", self.log_text(what));
            // After a crash the next start would remove another program's endpoint of this address.
            if self.journal.forget_added(address) {
                self.save(now);
            }
            self.now.retain(|one| one.id != endpoint.id);
        } else {
            self.refresh_after_change();
        }
    }

    fn set_backup(&mut self, now: Instant, one: &Wanted, endpoint: &Endpoint) {
        let backup = one.backup;
        if self.journal.note_changed(endpoint) {
            self.save(now);
        }
        let done = if self.is_dry_run() { Ok(()) } else { self.manager.set_backup(endpoint.id, backup) };
        if self.check_result(now, Change::SetBackup(endpoint.address), done) {
            info!(interface = one.name, address = %one.address, backup, "{}", self.log_text("backup flag changed (MP_PRIO)"));
            for there in self.now.iter_mut().filter(|there| there.id == endpoint.id) {
                there.flags.backup = backup;
            }
        } else {
            self.refresh_after_change();
        }
    }
}

#[cfg(test)]
mod tests;
