//! Runs the policies and applies their decisions.

use super::Agent;
use crate::InterfaceSample;
use crate::allowance::CapAction;
use crate::endpoints::Wanted;
use crate::energy::Radio;
use tracing::debug;
use units::{Duration, Instant};

impl Agent {
    /// Runs the policy on the present samples.
    pub(super) fn run_policies(&mut self, now: Instant) {
        self.last_policy_run = Some(now);
        let idle = self.sampling.is_at_rest();
        let updated = self.round_trips.update(now, &self.config, idle, &mut self.diag);
        self.failures.check(now, "list the subflows", updated);
        let clock = self.usage.now();
        let mut samples = Vec::new();
        for (one, path) in self.host.managed().iter().zip(&self.paths) {
            let rule = &self.config.interfaces[path.rule];
            let until = self.usage.next_period(rule);
            samples.push(InterfaceSample {
                up: one.is_up() && !self.is_closed_by_allowance(path),
                bytes_down: path.down,
                bytes_up: path.up,
                srtt: one.addresses.iter().flatten().filter_map(|at| self.round_trips.of(*at)).min(),
                awake: path.radio.as_ref().is_some_and(Radio::is_awake),
                energy_per_mbit: path
                    .radio
                    .as_ref()
                    .and_then(|radio| radio.per_mbit(path.rate_up, path.rate_down)),
                energy: path.radio.as_ref().map(Radio::energy),
                allowance_left: self.usage.remaining(rule),
                allowance_until: until
                    .map(|at| now + Duration::from_secs(at.saturating_sub(clock).max(0) as u64)),
                ..InterfaceSample::default()
            });
        }
        self.players.expire(now);
        let app = self.players.app_state(now);
        self.steering.set_app_state(app);
        for action in self.steering.observe(now, &samples) {
            debug!(?action, "action of the policy");
        }
        for steering in self.rules.iter_mut().filter_map(|rule| rule.steering.as_mut()) {
            steering.set_app_state(app);
            for action in steering.observe(now, &samples) {
                debug!(?action, policy = steering.policy_name(), "action of a rule's policy");
            }
        }
    }

    /// Applies the decisions of policy and allowances to the endpoints.
    pub(super) fn apply_decisions(&mut self, now: Instant) {
        let mut wanted = Vec::new();
        for nth in 0..self.paths.len() {
            let at_cap =
                self.config.interfaces[self.paths[nth].rule].allowance.map(|allowance| allowance.at_cap);
            let kept = self.paths[nth].cap.is_stopped() && at_cap == Some(CapAction::Backup);
            let backup = self.steering.state().paths[nth].backup || kept;
            self.paths[nth].backup_flag.set(now, backup);
            let (path, one) = (&self.paths[nth], &self.host.managed()[nth]);
            let Some(device) = one.index.filter(|_| one.is_attached(now)) else { continue };
            let open = self.steering.wants(nth) && !self.is_closed_by_allowance(path);
            wanted.extend(one.addresses.iter().flatten().map(|address| Wanted {
                name: one.name.clone(),
                device,
                address: *address,
                open,
                backup: path.backup_flag.backup,
            }));
        }
        self.endpoints.apply(now, &wanted);
        self.apply_rules(now, &wanted);
    }
}
