//! Policies that cannot act in an experiment.

use super::{Warning, World, second_path, single_path};
use abr::Video;
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
    } else if name == "qoe" && videos(experiment).next().is_none() {
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
    if let Some(video) = videos(experiment).find(|video| {
        video.player.max_buffer <= policy.insufficient_buffer(video.manifest.segment_duration())
    }) {
        warnings.push(Warning::new(
            format!(
                "the policy `{policy}` hardly acts: a player's buffer of {} with segments of {} is too short for it",
                video.player.max_buffer,
                video.manifest.segment_duration()
            ),
            "give the player a longer `buffer`, or the policy a shorter `rescue`",
        ));
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

fn videos(experiment: &Experiment) -> impl Iterator<Item = &Video> {
    experiment.traffic.iter().filter_map(|traffic| match &traffic.kind {
        Kind::Video(video) => Some(&**video),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{World, of};

    #[test]
    fn player_buffer_without_room_for_rescue_and_a_segment_is_reported() {
        let warned = |policy: &str, buffer: &str| -> Vec<String> {
            let link = "down = { rate = '10Mbps', delay = '5ms' }\nup = { rate = '10Mbps', delay = '5ms' }\n";
            let text = format!(
                "duration = '10s'\n[device]\npolicy = {policy}\n\
                 [[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n{link}\
                 [[path]]\nname = 'lte'\nradio = 'huang2012.lte'\n{link}\
                 [[traffic]]\nkind = 'video'\nbuffer = '{buffer}'\n\
                 manifest = {{ bitrates = ['5Mbps'], duration = '8s', segment = '2s' }}\n"
            );
            let read = scenario::Scenario::parse("warned", &text, &|_: &str| Err("no files".to_owned()));
            let experiment = read.expect("the scenario is valid").experiment;
            of(&experiment, World::Simulation).into_iter().map(|one| one.message).collect()
        };
        let message =
            "the policy `qoe` hardly acts: a player's buffer of 5s with segments of 2s is too short for it";
        assert_eq!(warned("'qoe'", "5s"), [message]);
        assert!(warned("'qoe'", "6s").is_empty());
        assert!(warned("{ name = 'qoe', rescue = '1s' }", "5s").is_empty());
        assert!(warned("'wifi-first'", "5s").is_empty());
    }
}
