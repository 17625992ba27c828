//! Reload of the configuration.

use super::{Agent, SamplingInterval, Steering};
use crate::Error;
use crate::allowance::cap_gate::CapGate;
use crate::config::{Config, InterfaceRule};
use crate::host::Host;
use tracing::{info, warn};

impl Agent {
    /// Applies a new configuration. Interfaces whose kind and profile are unchanged keep their state.
    ///
    /// # Errors
    /// Fails when the kernel cannot list its state, or the path manager cannot be selected; the
    /// present configuration then stays.
    pub(super) fn reload(&mut self, config: Config) -> Result<(), Error> {
        // Listed before anything is replaced: without interfaces every endpoint would be removed.
        let (links, addresses) = match self.list_kernel() {
            Ok(listing) => listing,
            Err(error) => {
                self.reopen_route();
                return Err(error);
            }
        };
        self.select_path_manager(!config.connections.is_empty())?;
        let now = &self.config;
        let places = (&now.socket, &now.metrics, &now.players, &now.state, &now.zone, &now.log);
        let new =
            (&config.socket, &config.metrics, &config.players, &config.state, &config.zone, &config.log);
        if places != new {
            warn!("changes of socket, metrics, players, state, zone and log take effect at the next start");
        }
        for remark in &config.remarks {
            info!("{remark}");
        }
        for (one, mut path) in self.host.managed().iter().zip(std::mem::take(&mut self.paths)) {
            let is_same = |rule: &InterfaceRule| {
                let before = &self.config.interfaces[path.rule];
                rule.matches(&one.name) && rule.kind == before.kind && rule.profile == before.profile
            };
            // The first matching rule applies.
            let rule = config.interfaces.iter().position(|rule| rule.matches(&one.name));
            if let Some(rule) = rule.filter(|rule| is_same(&config.interfaces[*rule])) {
                if self.config.interfaces[path.rule].allowance != config.interfaces[rule].allowance {
                    path.cap = CapGate::default();
                }
                path.rule = rule;
                self.retained.insert(one.name.clone(), path);
            }
        }
        self.sampling = SamplingInterval::new(config.busy, config.rest);
        self.host = Host::new(&config.interfaces);
        self.unmatched.clear();
        self.steering = Steering::new(&config.policy, &[], &[]);
        self.config = config;
        self.usage.follow_rules(&self.config.interfaces);
        self.host.set(links, addresses);
        self.list_at = None;
        self.update_managed();
        self.retained.clear();
        self.samples.request();
        self.last_policy_run = None;
        info!(policy = %self.config.policy, "configuration reloaded");
        Ok(())
    }
}
