//! Builds the device and its policy.

use super::Builder;
use policy::PolicyConfig;
use quantities::Quantities as _;
use schema::node::{Fields, Node, Value};
use sim::{Device, PathSpec};

impl Builder<'_, '_> {
    /// `paths` is given if they have no problem, so that the policy can be checked against them.
    pub(super) fn device(&mut self, fields: Option<&Fields>, paths: Option<&Vec<PathSpec>>) -> Device {
        let policy = fields.and_then(|f| f.get("policy")).map(|node| self.policy(node)).unwrap_or_default();
        if let (Some(fields), Some(paths)) = (fields, paths) {
            let kinds: Vec<_> = paths.iter().map(|p| p.profile.kind).collect();
            if let Err(error) = policy.check(&kinds) {
                self.problems
                    .add(fields.span("policy"), error.to_string())
                    .expected("a policy that these radios can follow")
                    .hint(error.hint());
            }
        }
        Device {
            name: fields.and_then(|f| f.text("name")).unwrap_or("device").to_owned(),
            battery: fields.and_then(|f| f.energy("battery")).unwrap_or_default(),
            policy,
            joint_power: fields.and_then(|f| f.power("joint_power")).unwrap_or_default(),
        }
    }

    fn policy(&mut self, node: &Node) -> PolicyConfig {
        let (policy, span) = match &node.value {
            Value::Text(name) => (name.parse().unwrap_or_default(), node.span.clone()),
            Value::Table(fields) => (self.policy_table(fields), fields.span("map")),
            _ => return PolicyConfig::default(),
        };
        let Some(path) = policy.file() else { return policy };
        let Some(text) = self.read_file(path, &span) else { return PolicyConfig::default() };
        let read = policy.with_file(&self.shown(path), &text);
        read.map_err(|found| self.problems.add_referenced(&span, found)).unwrap_or_default()
    }

    /// A policy with the parameters of its entry in the registry.
    fn policy_table(&mut self, fields: &Fields) -> PolicyConfig {
        let Some(name) = fields.text("name") else { return PolicyConfig::default() };
        for other in policy::REGISTRY.iter().filter(|entry| entry.name != name) {
            let keys = other.parameters.names();
            let (why, hint) = (format!("for `{name}`"), format!("it needs the policy `{}`", other.name));
            self.not_with(fields, &keys, &why, &hint);
        }
        let entry = policy::REGISTRY.iter().find(|entry| entry.name == name);
        entry.map(|entry| (entry.configure)(fields)).unwrap_or_default()
    }
}
