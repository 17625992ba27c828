//! Keys of `[transport]` without effect.
//!
//! A value counts as given if no preset has it: the presets fill in keys that the protocol
//! does not use.

use super::{KernelEnds, Warning, World, has, names, second_path, single_path};
use link::Codel;
use mptcp::{Config, EcnMode, HyStartMode, SchedulerKind};
use sim::{Backhaul, Experiment, Hop, Protocol};

pub(super) fn check(
    experiment: &Experiment,
    world: World,
    backhauls: &[Backhaul],
    warnings: &mut Vec<Warning>,
) {
    let config = &experiment.transport.config;
    let kernels = match world {
        World::Kernel(ends) | World::Programs(ends) => Some(ends),
        World::Simulation | World::Stacks => None,
    };
    let rec = config.rec.filter(|_| experiment.transport.protocol == Protocol::Mptcp);
    if let Some(why) = single_path(experiment) {
        check_multipath_keys(experiment, why, warnings);
    } else if let Some(rec) = rec.filter(|_| kernels.is_none()) {
        if rec.path_choice && is_given(|config| &config.scheduler, config) {
            warnings.push(Warning::new(
                format!("the scheduler `{}` has no effect: MPTCP-rec chooses the paths", config.scheduler),
                "set `rec.path_choice = false`, or remove `scheduler`",
            ));
        }
        if rec.rates && is_given(|config| &config.congestion, config) {
            warnings.push(Warning::new(
                format!(
                    "the congestion control `{}` has no effect: the receiver sets the rates in MPTCP-rec",
                    config.congestion
                ),
                "set `rec.rates = false`, or remove `congestion`",
            ));
        }
    }
    check_dependent_keys(experiment, backhauls, warnings);
    if let Some(ends) = kernels {
        check_kernel(config, ends, warnings);
    }
}

/// True if the value differs from all presets.
fn is_given<T: PartialEq>(value: impl Fn(&Config) -> &T, config: &Config) -> bool {
    let presets = [Config::default(), Config::linux(), Config::ns3_mptcp_2012()];
    presets.iter().all(|preset| *value(config) != *value(preset))
}

/// The preset that most switches agree with, for keys that may have the preset's value.
fn nearest_preset(config: &Config) -> Config {
    let switches = [
        config.linux_counting,
        config.frto,
        config.undo,
        config.hystart != HyStartMode::Off,
        config.challenge_acks,
        config.quickack,
    ];
    let set = switches.into_iter().filter(|is_set| *is_set).count();
    if 2 * set > switches.len() { Config::linux() } else { Config::default() }
}

/// Keys that need two subflows.
fn check_multipath_keys(experiment: &Experiment, why: &str, warnings: &mut Vec<Warning>) {
    let config = &experiment.transport.config;
    if is_given(|config| &config.scheduler, config) {
        warnings.push(Warning::new(
            format!("the scheduler `{}` has no effect: {why}", config.scheduler),
            second_path(experiment),
        ));
    }
    let mut keys = Vec::new();
    let tcp = experiment.transport.protocol != Protocol::Mptcp;
    for (key, is_set) in [
        ("opportunistic", config.opportunistic),
        ("penalise", config.penalise),
        ("checksum", config.checksum && tcp),
        ("max_subflows", config.max_subflows != u8::MAX),
    ] {
        keys.extend(is_set.then_some(key));
    }
    if !keys.is_empty() {
        let message = format!("{} {} no effect: {why}", names(&keys), has(&keys));
        warnings.push(Warning::new(message, second_path(experiment)));
    }
}

/// Keys that need another one.
fn check_dependent_keys(experiment: &Experiment, backhauls: &[Backhaul], warnings: &mut Vec<Warning>) {
    let config = &experiment.transport.config;
    let preset = nearest_preset(config);
    if !config.sack {
        let given = [
            ("rack", config.rack && !preset.rack),
            ("dsack", config.dsack && !preset.dsack),
            ("prr", config.prr && !preset.prr),
        ];
        let keys: Vec<&str> = given.into_iter().filter_map(|(key, is_set)| is_set.then_some(key)).collect();
        if !keys.is_empty() {
            warnings.push(Warning::new(
                format!("{} {} no effect without `sack`", names(&keys), has(&keys)),
                "remove `sack = false`",
            ));
        }
    }
    if config.paws && !preset.paws && !config.timestamps {
        warnings
            .push(Warning::new("`paws` has no effect without `timestamps`", "remove `timestamps = false`"));
    }
    let shares = config.scheduler == SchedulerKind::Share || experiment.device.policy.for_device().is_some();
    if config.subflow_buffer != u64::MAX && !shares {
        warnings.push(Warning::new(
            format!("`subflow_buffer` has no effect with the scheduler `{}`", config.scheduler),
            "the scheduler `share` and the policy `emtcp` with its ideal actuator use it",
        ));
    }
    if config.max_addresses != u8::MAX {
        warnings.push(Warning::new(
            "`max_addresses` has no effect: the hosts of a scenario announce no addresses",
            "remove `max_addresses`",
        ));
    }
    if config.ecn == EcnMode::Request && !has_marking_queue(experiment, backhauls) {
        warnings.push(Warning::new(
            "`ecn = \"request\"` has no effect: no queue marks packets",
            "add `queue = { codel = true, ecn = true }` to a direction of a path",
        ));
    }
    if let Some(keepalive) = config.keepalive.filter(|keepalive| keepalive.idle >= experiment.duration) {
        warnings.push(Warning::new(
            format!(
                "`keepalive` has no effect: its idle time of {} is not shorter than the run of {}",
                keepalive.idle, experiment.duration
            ),
            "choose a shorter `idle` or a longer `duration`",
        ));
    }
}

fn has_marking_queue(experiment: &Experiment, backhauls: &[Backhaul]) -> bool {
    let marks = |hop: &Hop| match hop {
        Hop::Link(link) => matches!(link.codel, Some(Codel { ecn: true, .. })),
        Hop::Cell { .. } => false,
    };
    experiment.paths.iter().any(|path| marks(&path.down) || marks(&path.up))
        || backhauls.iter().any(|backhaul| marks(&backhaul.down) || marks(&backhaul.up))
}

/// Keys for which the kernel keeps its own values.
fn check_kernel(config: &Config, ends: KernelEnds, warnings: &mut Vec<Warning>) {
    let given = [
        ("opportunistic", config.opportunistic),
        ("penalise", config.penalise),
        ("max_subflows", config.max_subflows != u8::MAX),
        ("initial_window", is_given(|config| &config.initial_window, config)),
        ("sack", !config.sack),
        ("timestamps", !config.timestamps),
        ("delayed_ack", is_given(|config| &config.delayed_ack, config)),
        ("initial_rto", is_given(|config| &config.initial_rto, config)),
        ("min_rto", is_given(|config| &config.min_rto, config)),
        ("max_rto", is_given(|config| &config.max_rto, config)),
        ("max_retries", is_given(|config| &config.max_retries, config)),
        ("stale_after", is_given(|config| &config.stale_after, config)),
        ("keepalive", config.keepalive.is_some()),
        ("pacing", config.pacing),
    ];
    let keys: Vec<&str> = given.into_iter().filter_map(|(key, is_set)| is_set.then_some(key)).collect();
    if !keys.is_empty() {
        let place = match ends {
            KernelEnds::Both => "on a kernel, which keeps its own values",
            KernelEnds::Device => "at the device, whose kernel keeps its own values",
            KernelEnds::Server => "at the server, whose kernel keeps its own values",
        };
        warnings.push(Warning::new(
            format!("{} {} no effect {place}", names(&keys), has(&keys)),
            "`tandem run` simulates them",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{World, of};

    #[test]
    fn key_without_effect_names_the_end_that_uses_a_kernel() {
        let text = "seed = 1\nduration = '2s'\n[[path]]\nname = 'wifi'\nradio = 'huang2012.wifi'\n\
            down = { rate = '10Mbps', delay = '5ms' }\nup = { rate = '10Mbps', delay = '5ms' }\n\
            [transport]\nprotocol = 'tcp'\npath = 'wifi'\ninitial_window = 30\n[[traffic]]\nkind = 'bulk'\n";
        let read = scenario::Scenario::parse("warned", text, &|_: &str| Err("no files".to_owned()));
        let experiment = read.expect("the scenario is valid").experiment;
        let warned = |stacks| -> Vec<String> {
            let all = of(&experiment, World::of_stacks(stacks)).into_iter();
            all.map(|one| one.message).filter(|message| message.contains("initial_window")).collect()
        };
        for (stacks, place) in [
            (["linux", "linux"], "on a kernel"),
            (["linux", "tandem"], "at the device"),
            (["tandem", "linux"], "at the server"),
        ] {
            assert!(matches!(&*warned(stacks), [one] if one.contains(place)), "{stacks:?}");
        }
        assert!(warned(["tandem", "tandem"]).is_empty());
    }
}
