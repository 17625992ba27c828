//! The device and its policy.

use super::Builder;
use policy::{PolicyConfig, WhenNeededParameters};
use quantities::Quantities as _;
use schema::node::{Fields, Node, Value};
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
                if let Some(name) = fields.text("name") {
                    for (owner, keys) in SETTINGS.iter().filter(|(owner, _)| *owner != name) {
                        let (why, hint) = (format!("for `{name}`"), format!("it is for `{owner}`"));
                        self.not_with(fields, keys, &why, &hint);
                    }
                }
                with_settings(named, fields)
            }
            _ => PolicyConfig::default(),
        }
    }
}

/// Which settings belong to which policy.
const SETTINGS: [(&str, &[&str]); 4] = [
    ("emtcp", &["share", "actuator"]),
    ("allowance", &["at_cap"]),
    ("qoe", &["margin"]),
    ("when-needed", &["late", "hold", "longest_hold", "memory", "queueing", "silent", "standby", "enough"]),
];

/// The policy with what the file says about it.
fn with_settings(named: PolicyConfig, fields: &Fields) -> PolicyConfig {
    let word = |key: &str| fields.text(key).unwrap_or_default();
    match named {
        PolicyConfig::Emtcp { .. } => PolicyConfig::Emtcp {
            share: fields.number("share").unwrap_or_default(),
            actuator: word("actuator").parse().unwrap_or_default(),
        },
        PolicyConfig::Allowance { .. } => {
            PolicyConfig::Allowance { at_cap: word("at_cap").parse().unwrap_or_default() }
        }
        PolicyConfig::Qoe { margin } => PolicyConfig::Qoe { margin: fields.time("margin").unwrap_or(margin) },
        PolicyConfig::WhenNeeded(default) => PolicyConfig::WhenNeeded(WhenNeededParameters {
            late: fields.time("late").unwrap_or(default.late),
            hold: fields.time("hold").unwrap_or(default.hold),
            longest_hold: fields.time("longest_hold").unwrap_or(default.longest_hold),
            memory: fields.time("memory").unwrap_or(default.memory),
            queueing: fields.time("queueing").unwrap_or(default.queueing),
            silent: fields.time("silent").unwrap_or(default.silent),
            standby: fields.time("standby").unwrap_or(default.standby),
            enough: fields.rate("enough"),
        }),
        PolicyConfig::None | PolicyConfig::WifiOnly | PolicyConfig::LteOnly | PolicyConfig::WifiFirst => {
            named
        }
    }
}
