//! Check of a configuration against this machine, without any change.

use crate::Error;
use crate::config::{Config, InterfaceRule};
use crate::daemon::requirements;
use crate::host::{Host, ManagedInterface};
use linux::route::Route;
use report::{Cell, Column, Row, Table};
use units::Instant;

/// Result of a check.
#[derive(Debug)]
pub struct Check {
    policy: String,
    rules: Vec<CheckedRule>,
    /// Interfaces that no rule matches.
    unmanaged: Vec<String>,
    requirements: Vec<(&'static str, Result<(), Error>)>,
    warnings: Vec<String>,
}

#[derive(Debug)]
struct CheckedRule {
    pattern: String,
    kind: String,
    radio: Option<String>,
    /// Matching interfaces with their state.
    interfaces: Vec<String>,
}

impl Check {
    /// Compares `config` with the interfaces, the kernel and the privileges of this process.
    ///
    /// # Errors
    /// Fails when the kernel does not list its interfaces.
    pub fn of(config: &Config) -> Result<Self, Error> {
        let mut route = Route::open()?;
        let mut host = Host::default();
        host.set(route.links()?, route.addresses()?);
        host.update_managed(Instant::ZERO, &config.interfaces);
        let names = host.link_names();
        let unmatched = host.unmatched(&config.interfaces);
        let warnings =
            unmatched.iter().map(|rule| unmatched_text(&config.interfaces[*rule].pattern, &names)).collect();
        let rules = config.interfaces.iter().enumerate().map(|(nth, rule)| checked(nth, rule, &host));
        let is_managed = |name: &str| config.interfaces.iter().any(|rule| rule.matches(name));
        Ok(Self {
            policy: config.policy.to_string(),
            rules: rules.collect(),
            unmanaged: names.iter().filter(|name| !is_managed(name)).map(|name| (*name).to_owned()).collect(),
            requirements: vec![
                ("Multipath TCP in the kernel", requirements::check_kernel()),
                ("privilege to change the network", requirements::check_privilege()),
                ("path manager free for the agent", requirements::check_path_manager()),
            ],
            warnings,
        })
    }

    /// Tables of interfaces and requirements.
    pub fn tables(&self) -> Vec<Table> {
        let mut interfaces = Table::new(format!("interfaces, for the policy {}", self.policy))
            .column(Column::text("match"))
            .column(Column::text("kind"))
            .column(Column::text("radio"))
            .column(Column::text("interfaces here"));
        for rule in &self.rules {
            let found =
                if rule.interfaces.is_empty() { "none".to_owned() } else { rule.interfaces.join(", ") };
            interfaces = interfaces.row(Row::new([
                Cell::text(&*rule.pattern),
                Cell::text(&*rule.kind),
                Cell::text(rule.radio.as_deref().unwrap_or("–")),
                Cell::text(found),
            ]));
        }
        if !self.unmanaged.is_empty() {
            interfaces = interfaces.note(format!("left alone: {}", self.unmanaged.join(", ")));
        }
        let mut system =
            Table::new("system").column(Column::text("requirement")).column(Column::text("state"));
        for (name, state) in &self.requirements {
            let state = state.as_ref().map_or_else(ToString::to_string, |()| "met".to_owned());
            system = system.row(Row::new([Cell::text(*name), Cell::text(state)]));
        }
        vec![interfaces, system]
    }

    /// Descriptions of settings without effect on this machine.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The first requirement that is not met.
    pub fn into_missing(self) -> Option<Error> {
        self.requirements.into_iter().find_map(|(_, state)| state.err())
    }
}

fn checked(nth: usize, rule: &InterfaceRule, host: &Host) -> CheckedRule {
    let here = host.managed().iter().filter(|one| one.rule == nth && one.index.is_some());
    CheckedRule {
        pattern: rule.pattern.clone(),
        kind: rule.kind.to_string(),
        radio: rule.profile.as_ref().map(|profile| profile.name.clone()),
        interfaces: here.map(state).collect(),
    }
}

/// Name of an interface with its state.
fn state(one: &ManagedInterface) -> String {
    let addresses: Vec<String> = one.addresses.iter().flatten().map(ToString::to_string).collect();
    match (one.running, addresses.is_empty()) {
        (false, _) => format!("{} (no link)", one.name),
        (true, true) => format!("{} (no address)", one.name),
        (true, false) => format!("{} ({})", one.name, addresses.join(", ")),
    }
}

/// Checks kernel and privileges.
///
/// # Errors
/// The requirement that is not met.
pub fn requirements() -> Result<(), Error> {
    requirements::check_requirements(false)
}

/// Warning about a pattern that matches none of the interfaces `names`.
pub(crate) fn unmatched_text(pattern: &str, names: &[&str]) -> String {
    format!("`match = \"{pattern}\"` matches no interface; the interfaces here: {}", names.join(", "))
}
