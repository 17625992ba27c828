//! The device and its policy.

use super::Builder;
use crate::node::{Fields, Node, Value};
use policy::{Actuator, PolicyConfig};
use sim::{Device, PathSpec};

impl Builder<'_, '_> {
    /// `paths` is there if they were all read well, so that a policy can be held against them.
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
        match &node.value {
            Value::Text(name) => name.parse().unwrap_or_default(),
            Value::Table(fields) => {
                let named: PolicyConfig =
                    fields.text("name").and_then(|n| n.parse().ok()).unwrap_or_default();
                if let PolicyConfig::Emtcp { .. } = named {
                    return PolicyConfig::Emtcp {
                        share: fields.number("share").unwrap_or_default(),
                        actuator: match fields.text("actuator") {
                            Some("mp-prio") => Actuator::MpPrio,
                            _ => Actuator::Ideal,
                        },
                    };
                }
                if let Some(name) = fields.text("name") {
                    let why = format!("for `{name}`");
                    self.not_with(fields, &["share", "actuator"], &why, "it is for `emtcp`");
                }
                named
            }
            _ => PolicyConfig::default(),
        }
    }
}
