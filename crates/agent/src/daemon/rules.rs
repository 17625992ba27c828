//! Rules for connections.

use super::interface_state::BackupFlag;
use super::{Agent, Diag, Steering, Wanted};
use crate::Error;
use crate::allowance::CapAction;
use crate::connections::{Connections, PathChoice};
use policy::{InterfaceKind, PolicyConfig};
use units::Instant;

/// State of one rule.
pub(super) struct RuleSteering {
    /// `None` when the device's policy applies.
    pub(super) steering: Option<Steering>,
    backup_flags: Vec<BackupFlag>,
}

impl RuleSteering {
    pub(super) fn new(policy: Option<&PolicyConfig>, kinds: &[InterfaceKind]) -> Self {
        Self {
            steering: policy.map(|policy| Steering::new(policy, kinds, &vec![false; kinds.len()])),
            backup_flags: vec![BackupFlag::new(false); kinds.len()],
        }
    }
}

impl Agent {
    /// Selects the userspace path manager if `wanted`, for rules, or the kernel's again.
    pub(super) fn select_path_manager(&mut self, wanted: bool) -> Result<(), Error> {
        if wanted && self.connections.is_none() && !self.dry_run {
            let diag = match &mut self.diag {
                Some(diag) => diag,
                none => none.insert(Diag::open()?),
            };
            let connections = Connections::open(diag)?;
            self.endpoints.select_path_manager(true)?;
            self.connections = Some(connections);
            return Ok(());
        }
        self.endpoints.select_path_manager(wanted)
    }

    /// Applies the rules; connections without a rule follow the device's policy.
    pub(super) fn apply_rules(&mut self, now: Instant, wanted: &[Wanted]) {
        if self.config.connections.is_empty() {
            self.connections.take_if(|connections| connections.is_empty());
        }
        let Some(connections) = &mut self.connections else { return };
        let way = |one: &Wanted| PathChoice {
            address: one.address,
            device: one.device,
            open: one.open,
            backup: one.backup,
        };
        let ordinary: Vec<PathChoice> = wanted.iter().map(way).collect();
        let mut ways: Vec<Vec<PathChoice>> = Vec::new();
        for (rule, said) in self.rules.iter_mut().zip(&self.config.connections) {
            let mut own = ordinary.clone();
            for (nth, (path, one)) in self.paths.iter().zip(self.host.managed()).enumerate() {
                let allowance = self.config.interfaces[path.rule].allowance;
                let at_cap = allowance.filter(|_| path.cap.is_stopped()).map(|allowance| allowance.at_cap);
                let places = wanted.iter().zip(&mut own).filter(|(wanted, _)| wanted.name == one.name);
                let of_rule = rule.steering.as_ref().map(|steering| {
                    let backup = steering.state().paths[nth].backup || at_cap == Some(CapAction::Backup);
                    rule.backup_flags[nth].set(now, backup);
                    (steering.wants(nth) && at_cap != Some(CapAction::Close), rule.backup_flags[nth].backup)
                });
                for (_, way) in places {
                    (way.open, way.backup) = of_rule.unwrap_or((way.open, way.backup));
                    way.open &= !said.excludes(&one.name);
                }
            }
            ways.push(own);
        }
        let rules = &self.config.connections;
        connections.apply(now, &|remote| {
            let rule = rules.iter().position(|rule| rule.remote.matches(remote));
            rule.map_or(&ordinary, |rule| &ways[rule])
        });
    }
}
