//! Warnings: settings of an experiment that have no effect, and figures that are probably mistakes.
//!
//! A setting that never has an effect where it stands is an error of the scenario's reader. The
//! settings here have none in combination with others, which `--set`, `--policy` or `--duration`
//! may have changed after the file was read. To add a warning, push it in one of the modules below.

mod crowd;
mod paths;
mod policy;
mod radio;
mod times;
mod traces;
mod transport;

pub use crowd::of_crowd;
pub use traces::of_trace;

use serde_json::{Value, json};
use sim::{Backhaul, Experiment, Protocol};

/// A setting without effect, or a suspicious figure. The run is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The problem: which setting, and why it has no effect.
    pub message: String,
    /// The next step for the user; may be empty.
    pub hint: String,
    /// Whether cases of a comparison may ignore the setting as long as one case uses it.
    concerns_all_cases: bool,
}

impl Warning {
    /// A warning with a hint, which may be empty.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), concerns_all_cases: false }
    }

    /// A warning that a comparison repeats only if it holds in every case.
    fn in_all_cases(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { concerns_all_cases: true, ..Self::new(message, hint) }
    }
}

/// The means by which an experiment runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The simulator.
    Simulation,
    /// Linux kernels at these ends, with the scenario's traffic.
    Kernel(KernelEnds),
    /// Linux kernels at these ends, with programs in place of the scenario's traffic.
    Programs(KernelEnds),
    /// Real packets between Tandem's own endpoints.
    Stacks,
}

/// Ends that use a Linux kernel. The other end, if any, uses Tandem's endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelEnds {
    /// The device and the server.
    Both,
    /// Only the device.
    Device,
    /// Only the server.
    Server,
}

impl World {
    /// The world of a run with these implementations at the device and at the server.
    pub fn of_stacks(stacks: [&str; 2]) -> Self {
        KernelEnds::of(stacks).map_or(Self::Stacks, Self::Kernel)
    }

    /// The world of programs over these implementations at the device and at the server.
    pub fn of_programs(stacks: [&str; 2]) -> Self {
        KernelEnds::of(stacks).map_or(Self::Stacks, Self::Programs)
    }
}

impl KernelEnds {
    fn of(stacks: [&str; 2]) -> Option<Self> {
        match stacks.map(|stack| stack == "tandem") {
            [false, false] => Some(Self::Both),
            [false, true] => Some(Self::Device),
            [true, false] => Some(Self::Server),
            [true, true] => None,
        }
    }
}

/// The warnings about one experiment.
pub fn of(experiment: &Experiment, world: World) -> Vec<Warning> {
    of_member(experiment, world, &[])
}

/// The warnings about a device behind cells with these backhauls.
pub(crate) fn of_member(experiment: &Experiment, world: World, backhauls: &[Backhaul]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    policy::check(experiment, world, &mut warnings);
    transport::check(experiment, world, backhauls, &mut warnings);
    paths::check(experiment, &mut warnings);
    times::check(experiment, &mut warnings);
    traces::check(experiment, &mut warnings);
    radio::check(experiment, &mut warnings);
    warnings
}

/// The warnings about several cases, each once. A warning that does not hold in all cases names
/// those in which it holds.
pub fn of_cases<'e>(cases: impl IntoIterator<Item = (&'e str, &'e Experiment)>) -> Vec<Warning> {
    merged(cases.into_iter().map(|(name, experiment)| (name, of(experiment, World::Simulation))))
}

/// The warnings of several cases, each once, with the cases if it does not hold in all.
pub(crate) fn merged<'e>(cases: impl IntoIterator<Item = (&'e str, Vec<Warning>)>) -> Vec<Warning> {
    let mut found: Vec<(Warning, Vec<&str>)> = Vec::new();
    let mut count = 0;
    for (name, warnings) in cases {
        count += 1;
        for warning in warnings {
            match found.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, names)) => names.push(name),
                None => found.push((warning, vec![name])),
            }
        }
    }
    let shown = found.into_iter().filter_map(|(warning, names)| match names.as_slice() {
        all if all.len() == count => Some(warning),
        _ if warning.concerns_all_cases => None,
        some => {
            let names = some.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let message = format!("{names}: {}", warning.message);
            Some(Warning { message, ..warning })
        }
    });
    shown.collect()
}

/// The member `warnings` of `result.json`.
pub fn to_json(warnings: &[Warning]) -> Value {
    let one = |warning: &Warning| json!({"message": warning.message, "hint": warning.hint});
    warnings.iter().map(one).collect()
}

/// The reason why all data uses one path, if it does.
fn single_path(experiment: &Experiment) -> Option<&'static str> {
    match experiment.transport.protocol {
        Protocol::Tcp { .. } => Some("TCP uses one path"),
        Protocol::Mptcp if experiment.paths.len() < 2 => Some("the device has one path"),
        Protocol::Mptcp => None,
    }
}

/// A way to get a second path, for hints.
fn second_path(experiment: &Experiment) -> &'static str {
    match experiment.transport.protocol {
        Protocol::Tcp { .. } if experiment.paths.len() > 1 => {
            "set `transport.protocol` to `mptcp`, or remove the setting"
        }
        _ => "add a second `[[path]]` and `protocol = \"mptcp\"`, or remove the setting",
    }
}

/// Names as a list: "`a`, `b` and `c`".
fn names(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// "has" or "have", by number.
fn has(keys: &[&str]) -> &'static str {
    if keys.len() == 1 { "has" } else { "have" }
}
