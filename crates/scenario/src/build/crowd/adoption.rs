//! Builds the shares of policies that devices adopt.

use super::super::Builder;
use crate::crowd::Kind;
use policy::PolicyConfig;
use schema::node::Fields;
use schema::shape::list;

impl Builder<'_, '_> {
    /// Shares of policies that devices adopt, in the order of their names.
    pub(super) fn adoption(&mut self, fields: &Fields, kinds: &[Kind]) -> Vec<(PolicyConfig, f64)> {
        let mut adopted: Vec<(PolicyConfig, f64)> = Vec::new();
        let mut sum = 0.0;
        for name in fields.table.names() {
            let Some(share) = fields.number(name).filter(|share| *share > 0.0) else { continue };
            sum += share;
            if sum > 1.0 + 1e-9 {
                self.problems
                    .add(fields.span(name), format!("the shares of the adopted policies sum to {sum:.3}"))
                    .expected("at most 1 in all")
                    .hint("devices without an adopted policy keep the `policy` of their `[[device]]`");
            }
            let Ok(policy) = name.parse::<PolicyConfig>() else { continue };
            self.check_adopted(fields, name, &policy, kinds);
            adopted.push((policy, share));
        }
        adopted
    }

    /// Reports an adopted policy that the paths of a kind cannot serve, or that needs a file.
    fn check_adopted(&mut self, fields: &Fields, name: &str, policy: &PolicyConfig, kinds: &[Kind]) {
        if policy.file().is_some() {
            self.problems
                .add(fields.key_span(name), format!("`{name}` needs a file, which an adopted policy has not"))
                .expected(format!("a policy other than `{name}`"))
                .hint(format!("give `policy` in a `[[device]]` of its own: `{{ name = \"{name}\", … }}`"));
            return;
        }
        let mut fails: Vec<&str> = Vec::new();
        let mut reason = None;
        for kind in kinds.iter().filter(|kind| !kind.template.paths.is_empty()) {
            let radios: Vec<_> = kind.template.paths.iter().map(|path| path.profile.kind).collect();
            if let Err(error) = policy.check(&radios) {
                fails.push(&kind.name);
                reason.get_or_insert(error);
            }
        }
        if let Some(error) = reason {
            self.problems
                .add(fields.key_span(name), format!("{error}: devices {}", list(&fails)))
                .expected("a policy that the radios of every device can follow")
                .hint(error.hint());
        }
    }
}
