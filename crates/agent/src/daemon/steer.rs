//! Runs the policies and applies their decisions.

use super::Agent;
use crate::InterfaceSample;
use crate::allowance::CapAction;
use crate::endpoints::Wanted;
use crate::energy::Radio;
use std::collections::BTreeSet;
use tracing::{debug, warn};
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
        self.warn_shared_addresses(&wanted);
        let wanted = one_per_address(&wanted);
        let applied = self.endpoints.apply(now, &wanted);
        self.failures.check(now, "list the endpoints", applied);
        self.apply_rules(now, &wanted);
    }

    /// Warns of each address that several interfaces have, once for each time that this becomes so.
    fn warn_shared_addresses(&mut self, wanted: &[Wanted]) {
        let mut shared = BTreeSet::new();
        for (nth, one) in wanted.iter().enumerate() {
            if let Some(other) = wanted[..nth].iter().find(|other| other.address == one.address)
                && shared.insert(one.address)
                && !self.shared_addresses.contains(&one.address)
            {
                let (name, other) = (&one.name, &other.name);
                warn!(address = %one.address, "{other} and {name} have the same address: one of them is used");
            }
        }
        self.shared_addresses = shared;
    }
}

/// One entry per address. Of several interfaces an open one is chosen, and a regular one before a
/// backup.
fn one_per_address(wanted: &[Wanted]) -> Vec<Wanted> {
    let rank = |one: &Wanted| (!one.open, one.backup);
    let mut chosen: Vec<Wanted> = Vec::new();
    for one in wanted {
        match chosen.iter_mut().find(|other| other.address == one.address) {
            None => chosen.push(one.clone()),
            Some(other) if rank(one) < rank(other) => other.clone_from(one),
            Some(_) => {}
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_and_regular_interface_is_chosen_of_several_with_an_address() {
        let one = |name: &str, last: u8, open, backup| Wanted {
            name: name.to_owned(),
            device: 1,
            address: [10, 0, 0, last].into(),
            open,
            backup,
        };
        let wanted = [
            one("lan0", 1, false, false),
            one("lte0", 1, true, true),
            one("usb0", 2, true, true),
            one("wlan0", 1, true, false),
            one("wlan1", 1, true, false),
        ];
        let names = |wanted: &[Wanted]| -> Vec<String> {
            one_per_address(wanted).into_iter().map(|one| one.name).collect()
        };
        assert_eq!(names(&wanted), ["wlan0", "usb0"]);
        assert_eq!(names(&wanted[..3]), ["lte0", "usb0"]);
        assert_eq!(names(&wanted[..1]), ["lan0"]);
    }
}
