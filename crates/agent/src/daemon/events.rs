//! Processing of kernel events: links, addresses, MPTCP connections.

use super::Agent;
use super::interface_state::InterfaceState;
use super::rules::RuleSteering;
use crate::{Error, Steering};
use linux::pm::Event;
use linux::route::{Address, Change, Link, Route};
use policy::InterfaceKind;
use tracing::{debug, info, warn};
use units::Duration;

/// Time for which events are left unread after an overrun or an error.
const EVENT_PAUSE: Duration = Duration::from_millis(100);
/// Overruns and errors after which the agent stops to discard events: the sockets may report them
/// for ever.
const MAX_DISCARD_FAILURES: usize = 8;
/// Delay before another attempt to list the kernel's state.
const LIST_RETRY_DELAY: Duration = Duration::from_secs(1);

impl Agent {
    /// Processes link and address changes. After an overrun or an error everything is listed again.
    pub(super) fn process_link_changes(&mut self) {
        loop {
            match self.monitor.next(std::time::Duration::ZERO) {
                Ok(Some(change)) => {
                    if !self.host.apply(change) {
                        return self.pause_events();
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    debug!("{error}");
                    return self.pause_events();
                }
            }
        }
        self.update_managed();
    }

    /// Stops reading events for a moment, then lists everything again. A flood of events or a
    /// persistent error would otherwise occupy the processor.
    fn pause_events(&mut self) {
        self.has_lost_events = true;
        let at = self.clock.now() + EVENT_PAUSE;
        self.list_at = Some(self.list_at.map_or(at, |planned| planned.min(at)));
    }

    /// Lists everything again; plans another attempt on failure.
    pub(super) fn list_or_retry(&mut self) {
        let now = self.clock.now();
        self.list_at = None;
        let listed = self.list_all();
        if self.failures.check(now, "list interfaces, addresses and endpoints", listed).is_none() {
            self.list_at = Some(now + LIST_RETRY_DELAY);
            self.reopen_route();
        }
    }

    /// Reads and drops the events that are queued at present.
    fn discard_events(&mut self) {
        let now = std::time::Duration::ZERO;
        let mut failures = 0;
        while failures < MAX_DISCARD_FAILURES {
            let link = self.monitor.next(now);
            let connection = self.events.as_mut().map_or(Ok(None), |events| events.next(now));
            if matches!((&link, &connection), (Ok(None), Ok(None))) {
                return;
            }
            let has_failed = matches!(link, Err(_) | Ok(Some(Change::Overrun)))
                || matches!(connection, Err(_) | Ok(Some(Event::Overrun)));
            failures += usize::from(has_failed);
        }
    }

    /// Replaces the socket for requests, in case it is broken.
    pub(super) fn reopen_route(&mut self) {
        if let Ok(route) = Route::open() {
            self.route = route;
        }
    }

    /// Processes path manager events.
    pub(super) fn process_mptcp_events(&mut self) {
        let Some(events) = &mut self.events else { return };
        let now = self.clock.now();
        let mut lost = false;
        loop {
            let event = match events.next(std::time::Duration::ZERO) {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    debug!("{error}");
                    lost = true;
                    break;
                }
            };
            if event == Event::Overrun {
                lost = true;
                break;
            }
            // Without rules, the kernel's path manager has the new connections.
            let is_new = matches!(event, Event::Established(_));
            if let Some(connections) = &mut self.connections
                && !(is_new && self.config.connections.is_empty())
            {
                lost |= !connections.process_event(now, &event);
                // Sample at once: until then the connection has only one subflow.
                self.samples.request();
                continue;
            }
            let local = match event {
                Event::Established(connection) => connection.local.ip(),
                _ => continue,
            };
            let backup =
                self.host.managed().iter().zip(&self.paths).any(|(managed, path)| {
                    path.backup_flag.backup && managed.addresses.contains(&Some(local))
                });
            if backup {
                self.pending_marks.insert(local);
                self.pending_marks_since.get_or_insert(now);
            }
        }
        if lost {
            self.pause_events();
        }
    }

    /// Lists links, addresses and endpoints again.
    pub(super) fn list_all(&mut self) -> Result<(), Error> {
        let (links, addresses) = self.list_kernel()?;
        self.host.set(links, addresses);
        self.update_managed();
        Ok(())
    }

    /// Lists the kernel's links and addresses, and refreshes endpoints and connections.
    pub(super) fn list_kernel(&mut self) -> Result<(Vec<Link>, Vec<Address>), Error> {
        if std::mem::take(&mut self.has_lost_events) {
            // Events from before the loss would overwrite the newer listing.
            self.discard_events();
        }
        #[cfg(test)]
        if self.kernel_lists_nothing {
            return Err(Error::System(linux::Error::System {
                doing: "list the links".to_owned(),
                source: rustix::io::Errno::NOBUFS.into(),
            }));
        }
        let listing = (self.route.links()?, self.route.addresses()?);
        self.endpoints.refresh()?;
        if let (Some(connections), Some(diag)) = (&mut self.connections, &mut self.diag) {
            connections.list(diag)?;
        }
        Ok(listing)
    }

    /// Updates the managed interfaces; a change makes the policy run at once.
    pub(super) fn update_managed(&mut self) {
        let before = self.host.managed().to_vec();
        self.host.update_managed(self.clock.now(), &self.config.interfaces);
        if before != self.host.managed() {
            for (nth, one) in self.host.managed().iter().enumerate() {
                if before.get(nth) != Some(one) {
                    debug!(interface = one.name, up = one.is_up(), addresses = ?one.addresses, "changed");
                }
            }
            self.last_policy_run = None;
            self.samples.request();
        }
        self.warn_unmatched();
        self.rebuild_policies();
    }

    /// Warns about patterns that match no interface, once for each time that this becomes so.
    fn warn_unmatched(&mut self) {
        let unmatched = self.host.unmatched(&self.config.interfaces);
        for rule in unmatched.iter().filter(|rule| !self.unmatched.contains(rule)) {
            let pattern = &self.config.interfaces[*rule].pattern;
            warn!("{}", crate::check::unmatched_text(pattern, &self.host.link_names()));
        }
        self.unmatched = unmatched;
    }

    /// Adds state for new interfaces and rebuilds the policy for all of them.
    pub(super) fn rebuild_policies(&mut self) {
        let mut has_new = false;
        for (nth, one) in self.host.managed().iter().enumerate() {
            if self.paths.get(nth).is_some_and(|path| path.name == one.name) {
                continue;
            }
            has_new = true;
            // A policy without actions keeps the flags that the agent found.
            let backup = one.addresses.iter().flatten().any(|at| self.endpoints.was_backup(*at));
            let rule = &self.config.interfaces[one.rule];
            let radio = rule.profile.as_ref().map(|profile| &*profile.name);
            info!(interface = one.name, kind = %rule.kind, radio, "managed");
            let kept = self.retained.remove(&one.name);
            let state = kept.unwrap_or_else(|| InterfaceState::new(one, rule, backup));
            match self.paths.get_mut(nth) {
                Some(absent) => *absent = state,
                None => self.paths.push(state),
            }
        }
        if !has_new && !self.steering.state().paths.is_empty() {
            return;
        }
        let kinds: Vec<InterfaceKind> =
            self.paths.iter().map(|path| self.config.interfaces[path.rule].kind).collect();
        let backups: Vec<bool> = self.paths.iter().map(|path| path.backup_flag.backup).collect();
        self.steering = Steering::new(&self.config.policy, &kinds, &backups);
        self.rules = self
            .config
            .connections
            .iter()
            .map(|rule| RuleSteering::new(rule.policy.as_ref(), &kinds))
            .collect();
        self.last_policy_run = None;
    }
}
