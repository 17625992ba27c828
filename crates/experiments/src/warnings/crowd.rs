//! Warnings about scenarios with several devices.

use super::{Warning, World, merged, of_member};
use crate::crowd::groups;
use scenario::Crowd as Plan;
use sim::Crowd;

/// Shares of policies that reach no device, cells that no path joins, and settings without effect on
/// any device of a kind with the same policy. `drawn` are the devices of `plan`.
pub fn of_crowd(plan: &Plan, drawn: &Crowd) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (policy, share, _) in plan.adopters().into_iter().filter(|(.., count)| *count == 0) {
        warnings.push(Warning::new(
            format!("`adoption.{policy}` of {share} reaches none of the {} devices", plan.count()),
            "each kind of devices rounds its share to whole devices; raise the share, or `count`",
        ));
    }
    for name in plan.unused_cells() {
        warnings.push(Warning::new(
            format!("no path joins the cell `{name}`"),
            format!("write `cell = \"{name}\"` in a path, or remove the cell"),
        ));
    }
    warnings.extend(of_devices(plan, drawn));
    warnings
}

fn of_devices(plan: &Plan, drawn: &Crowd) -> Vec<Warning> {
    let groups = groups(plan, drawn);
    let names: Vec<String> = groups
        .iter()
        .map(|group| {
            let is_only = groups.iter().filter(|other| other.kind == group.kind).count() == 1;
            if is_only { group.kind.clone() } else { format!("{}, {}", group.kind, group.policy) }
        })
        .collect();
    let common = groups.iter().map(|group| in_common(drawn, &group.members));
    merged(names.iter().map(String::as_str).zip(common))
}

/// The warnings that hold for each of these devices, whatever they have drawn.
fn in_common(drawn: &Crowd, members: &[usize]) -> Vec<Warning> {
    let mut devices = members.iter().map(|&member| &drawn.devices[member]);
    let of = |device| of_member(device, World::Simulation, &drawn.backhauls);
    let mut common = devices.next().map(of).unwrap_or_default();
    while !common.is_empty()
        && let Some(device) = devices.next()
    {
        let own = of(device);
        common.retain(|warning| own.contains(warning));
    }
    common
}
