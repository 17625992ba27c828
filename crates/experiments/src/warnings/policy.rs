//! Policies that cannot act in an experiment.

use super::{Warning, World, second_path, single_path};
use sim::Experiment;
use traffic::Kind;

pub(super) fn check(experiment: &Experiment, world: World, warnings: &mut Vec<Warning>) {
    let policy = &experiment.device.policy;
    let name = policy.name();
    let plans: Vec<&str> =
        experiment.paths.iter().filter(|path| path.allowance.is_some()).map(|path| &*path.name).collect();
    if !policy.is_none()
        && let Some(why) = single_path(experiment)
    {
        warnings.push(Warning::new(
            format!("the policy `{policy}` has no effect: {why}"),
            second_path(experiment).replace("the setting", "the policy"),
        ));
        return;
    }
    let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
    if let Some(why) = policy.idle_reason(&kinds) {
        warnings.push(Warning::new(
            format!("the policy `{policy}` has no effect: {why}"),
            "choose another policy, or paths with other kinds of `radio`",
        ));
    } else if name == "qoe" && !has_video(experiment) {
        warnings.push(match world {
            World::Programs(_) => Warning::new(
                "the policy `qoe` has no effect: the buffer of a player in COMMAND is not known to it",
                "choose another policy; `tandem testbed` plays the video of a scenario",
            ),
            World::Simulation | World::Kernel(_) | World::Stacks => Warning::new(
                "the policy `qoe` has no effect: no traffic is a video",
                "add a `[[traffic]]` with `kind = \"video\"`, or choose another policy",
            ),
        });
    }
    if name == "allowance" && plans.is_empty() {
        warnings.push(Warning::new(
            "the policy `allowance` has no effect: no path has an allowance",
            "add `allowance = \"2GB\"` to the path whose data is limited",
        ));
    }
    let is_registered = policy::REGISTRY.iter().any(|entry| entry.name == name);
    if is_registered && name != "allowance" && !plans.is_empty() {
        warnings.push(Warning::in_all_cases(
            format!(
                "the allowance of {} has no effect: the policy `{policy}` does not read it",
                super::names(&plans)
            ),
            "use the policy `allowance`, or remove the key",
        ));
    }
}

fn has_video(experiment: &Experiment) -> bool {
    experiment.traffic.iter().any(|traffic| matches!(traffic.kind, Kind::Video(_)))
}
