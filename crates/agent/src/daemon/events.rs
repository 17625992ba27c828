//! Processing of kernel events: links, addresses, MPTCP connections.

use super::Agent;
use super::interface_state::InterfaceState;
use super::rules::RuleSteering;
use crate::{Error, Steering};
use linux::pm::Event;
use policy::InterfaceKind;
use tracing::{debug, info, warn};

impl Agent {
    /// Processes link and address changes.
    pub(super) fn process_link_changes(&mut self) -> Result<(), Error> {
        while let Some(change) = self.monitor.next(std::time::Duration::ZERO)? {
            if !self.host.apply(change) {
                return self.list_all();
            }
        }
        self.update_managed();
        Ok(())
    }

    /// Processes path manager events.
    pub(super) fn process_mptcp_events(&mut self) -> Result<(), Error> {
        let Some(events) = &mut self.events else { return Ok(()) };
        let now = self.clock.now();
        let mut lost = false;
        while let Some(event) = events.next(std::time::Duration::ZERO)? {
            if let Some(connections) = &mut self.connections {
                lost |= !connections.process_event(now, &event);
                // Sample at once: until then the connection has only one subflow.
                self.last_sample = None;
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
        if lost && let (Some(connections), Some(diag)) = (&mut self.connections, &mut self.diag) {
            connections.list(diag)?;
        }
        Ok(())
    }

    /// Lists links, addresses and endpoints again.
    pub(super) fn list_all(&mut self) -> Result<(), Error> {
        let (links, addresses) = (self.route.links()?, self.route.addresses()?);
        self.host.set(links, addresses);
        self.endpoints.refresh()?;
        self.update_managed();
        Ok(())
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
            self.last_sample = None;
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
        let managed = self.host.managed();
        if self.paths.len() == managed.len() && !self.steering.state().paths.is_empty() {
            return;
        }
        for one in &managed[self.paths.len()..] {
            let there = self.endpoints.now().iter();
            let mut there = there.filter(|endpoint| one.addresses.contains(&Some(endpoint.address)));
            // A policy without actions keeps the present flags.
            let backup = there.any(|endpoint| endpoint.flags.backup);
            let rule = &self.config.interfaces[one.rule];
            let radio = rule.profile.as_ref().map(|profile| &*profile.name);
            info!(interface = one.name, kind = %rule.kind, radio, "managed");
            let kept = self.retained.remove(&one.name);
            self.paths.push(kept.unwrap_or_else(|| InterfaceState::new(one.rule, rule, backup)));
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
