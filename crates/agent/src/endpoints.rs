//! Keeps the endpoints of the kernel path manager as intended, and restores them.

use crate::Error;
use crate::journal::{Journal, Place, Step};
use crate::store::Store;
use linux::pm::path_manager;
use linux::pm::{Endpoint, Flags, Limits, PathManager};
use std::net::IpAddr;
use std::rc::Rc;
use tracing::{debug, info, warn};
use units::{Duration, Instant};

/// Name of the journal in the state directory.
pub(crate) const JOURNAL: &str = "changes.json";
/// Limit of the kernel (MPTCP_PM_ADDR_MAX).
const MAX_ENDPOINTS: u32 = 8;
/// Delay before a rejected change is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(2);

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

/// Endpoints of the kernel, and the journal of changes.
#[derive(Debug)]
pub struct Endpoints {
    manager: PathManager,
    journal: Journal,
    /// `None` in a dry run, which changes nothing.
    store: Option<Rc<Store>>,
    now: Vec<Endpoint>,
    limits: Limits,
    /// No changes are attempted before this time.
    retry_at: Option<Instant>,
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
        let mut endpoints =
            Self { manager, journal: Journal::new(place.clone()), store, now, limits, retry_at: None };
        let Some(store) = endpoints.store.clone() else { return Ok(endpoints) };
        let left = store.read(JOURNAL).map_err(|error| Error::state(JOURNAL, error))?;
        match left.map(|bytes| Journal::parse(&bytes)) {
            Some(Ok(journal)) if journal.belongs_to(&place) && !journal.is_empty() => {
                info!("undoing the changes of an agent that was killed");
                endpoints.journal = journal;
                endpoints.restore()?;
                endpoints.journal = Journal::new(place);
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

    /// Reads the endpoints again: other programs may change them too.
    ///
    /// # Errors
    /// Fails when the kernel cannot list them.
    pub fn refresh(&mut self) -> Result<(), Error> {
        // A dry run keeps its simulated endpoints instead.
        if self.store.is_some() {
            self.now = self.manager.endpoints()?;
        }
        Ok(())
    }

    /// Applies `wanted`, the complete list: endpoints of the agent that are missing from it are
    /// removed. Rejected changes are logged and repeated later.
    ///
    /// # Errors
    /// Fails when the journal cannot be written; a change that cannot be undone is not made.
    pub fn apply(&mut self, now: Instant, wanted: &[Wanted]) -> Result<(), Error> {
        if self.retry_at.is_some_and(|until| now < until) {
            return Ok(());
        }
        self.retry_at = None;
        self.raise_limits(now, wanted)?;
        // Removals first: they free room for additions.
        let left = |endpoint: &&Endpoint| {
            self.journal.is_ours(endpoint.address)
                && !wanted.iter().any(|one| one.address == endpoint.address)
        };
        for endpoint in self.now.iter().filter(left).copied().collect::<Vec<_>>() {
            info!(address = %endpoint.address, "{}", self.log_text("address removed: endpoint removed"));
            self.remove(now, &endpoint)?;
        }
        for one in wanted.iter().filter(|one| !one.open) {
            if let Some(endpoint) = self.endpoint_of(one.address) {
                info!(interface = one.name, address = %one.address, "{}", self.log_text("endpoint removed: its subflows close"));
                self.remove(now, &endpoint)?;
            }
        }
        for one in wanted.iter().filter(|one| one.open) {
            match self.endpoint_of(one.address) {
                None => self.add(now, one)?,
                Some(endpoint) if endpoint.flags.backup != one.backup => {
                    self.set_backup(now, one, &endpoint)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Selects the userspace path manager for new connections, or the kernel's again.
    ///
    /// # Errors
    /// Fails when the kernel lacks the path manager or denies the change; otherwise as
    /// [`Self::apply`].
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
            self.save()?;
            if let Err(error) = path_manager::select(path_manager::USERSPACE) {
                self.journal.note_userspace_selected(false);
                self.save()?;
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
        self.save()
    }

    /// Repeats the backup mark of an endpoint. The first subflow of a connection starts without the
    /// mark.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn repeat_backup_mark(&mut self, now: Instant, address: IpAddr) -> Result<(), Error> {
        let Some(endpoint) = self.endpoint_of(address).filter(|endpoint| endpoint.flags.backup) else {
            return Ok(());
        };
        debug!(%address, "new connection on a backup interface: repeating the mark");
        if self.is_dry_run() {
            return Ok(());
        }
        // MP_PRIO is sent only on a change of the flag.
        let again = [false, true].into_iter().try_for_each(|flag| self.manager.set_backup(endpoint.id, flag));
        self.check_result(now, again);
        Ok(())
    }

    /// Undoes all changes.
    ///
    /// # Errors
    /// Fails when the kernel cannot list its state, or the journal cannot be removed. Rejected
    /// steps are logged, and the others still made.
    pub fn restore(&mut self) -> Result<(), Error> {
        let Some(store) = self.store.clone() else { return Ok(()) };
        // Another program may have selected a path manager since.
        if self.journal.note_userspace_selected(false)
            && path_manager::current().as_deref() == Some(path_manager::USERSPACE)
            && let Err(error) = path_manager::select(path_manager::KERNEL)
        {
            warn!("{error}");
        }
        self.now = self.manager.endpoints()?;
        self.limits = self.manager.limits()?;
        for step in self.journal.undo_steps(&self.now, self.limits) {
            debug!(?step, "undoing");
            let done = match step {
                Step::Remove(endpoint) => self.manager.remove(endpoint.id, endpoint.address),
                Step::Add(endpoint) => self.manager.add(&endpoint),
                Step::SetBackup(endpoint, backup) => self.manager.set_backup(endpoint.id, backup),
                Step::SetLimits(limits) => self.manager.set_limits(limits),
            };
            if let Err(error) = done {
                warn!("{error}");
            }
        }
        self.now = self.manager.endpoints()?;
        self.limits = self.manager.limits()?;
        store.remove(JOURNAL).map_err(|error| Error::state(JOURNAL, error))
    }

    fn is_dry_run(&self) -> bool {
        self.store.is_none()
    }

    /// Log text of a change, marked in a dry run.
    fn log_text(&self, what: &str) -> String {
        if self.is_dry_run() { format!("dry run: {what}") } else { what.to_owned() }
    }

    /// Endpoint of an address. Endpoints with their own port only announce it.
    fn endpoint_of(&self, address: IpAddr) -> Option<Endpoint> {
        self.now.iter().find(|endpoint| endpoint.address == address && endpoint.port == 0).copied()
    }

    fn save(&self) -> Result<(), Error> {
        let Some(store) = &self.store else { return Ok(()) };
        store.write(JOURNAL, &self.journal.to_bytes()).map_err(|error| Error::state(JOURNAL, error))
    }

    /// Logs a rejected change; returns true when the kernel made it.
    fn check_result(&mut self, now: Instant, done: Result<(), linux::Error>) -> bool {
        let Err(error) = done else { return true };
        warn!("{error}; retrying in {RETRY_DELAY}");
        self.retry_at = Some(now + RETRY_DELAY);
        false
    }

    fn raise_limits(&mut self, now: Instant, wanted: &[Wanted]) -> Result<(), Error> {
        let open = wanted.iter().filter(|one| one.open).count() as u32;
        let limits = Limits { subflows: self.limits.subflows.max(open.min(MAX_ENDPOINTS)), ..self.limits };
        if limits == self.limits {
            return Ok(());
        }
        info!(
            subflows = limits.subflows,
            "{}",
            self.log_text("subflow limit raised to the number of interfaces")
        );
        if self.journal.note_limits(self.limits, limits) {
            self.save()?;
        }
        let done = if self.is_dry_run() { Ok(()) } else { self.manager.set_limits(limits) };
        if self.check_result(now, done) {
            self.limits = limits;
        }
        Ok(())
    }

    fn add(&mut self, now: Instant, one: &Wanted) -> Result<(), Error> {
        let flags = Flags { subflow: true, backup: one.backup, ..Flags::default() };
        let new = Endpoint { id: 0, address: one.address, port: 0, device: one.device, flags };
        // An endpoint that existed before returns with its attributes.
        let before = self.journal.removed(one.address);
        let mut endpoint =
            before.map_or(new, |was| Endpoint { flags: Flags { backup: one.backup, ..was.flags }, ..was });
        info!(interface = one.name, address = %one.address, backup = one.backup, "{}", self.log_text("endpoint added"));
        if self.journal.note_added(one.address) {
            self.save()?;
        }
        if self.is_dry_run() {
            endpoint.id =
                (1..=u8::MAX).find(|id| !self.now.iter().any(|one| one.id == *id)).unwrap_or_default();
            self.now.push(endpoint);
            return Ok(());
        }
        let mut done = self.manager.add(&endpoint);
        if done.is_err() && endpoint.id != 0 {
            // Its address ID has been taken since.
            endpoint.id = 0;
            done = self.manager.add(&endpoint);
        }
        if self.check_result(now, done) {
            self.journal.note_returned(one.address);
        } else {
            // Another program may have added it; then it is not the agent's.
            self.journal.forget_added(one.address);
        }
        // The kernel has chosen the address ID.
        self.refresh()
    }

    fn remove(&mut self, now: Instant, endpoint: &Endpoint) -> Result<(), Error> {
        if self.journal.note_removed(endpoint) {
            self.save()?;
        }
        let done =
            if self.is_dry_run() { Ok(()) } else { self.manager.remove(endpoint.id, endpoint.address) };
        if self.check_result(now, done) {
            self.journal.forget_added(endpoint.address);
            self.now.retain(|one| one.id != endpoint.id);
        } else {
            // Another program may have removed it.
            self.refresh()?;
        }
        Ok(())
    }

    fn set_backup(&mut self, now: Instant, one: &Wanted, endpoint: &Endpoint) -> Result<(), Error> {
        let backup = one.backup;
        info!(interface = one.name, address = %one.address, backup, "{}", self.log_text("backup flag changed (MP_PRIO)"));
        if self.journal.note_changed(endpoint) {
            self.save()?;
        }
        let done = if self.is_dry_run() { Ok(()) } else { self.manager.set_backup(endpoint.id, backup) };
        if self.check_result(now, done) {
            for there in self.now.iter_mut().filter(|there| there.id == endpoint.id) {
                there.flags.backup = backup;
            }
        } else {
            self.refresh()?;
        }
        Ok(())
    }
}
