//! Figures of radio profiles that no radio of a device has: probably a wrong unit.

use super::Warning;
use crate::describe;
use radio::{Profile, Stage};
use sim::Experiment;
use units::{Duration, Power};

/// Power above which a figure is doubtful, in watts. The highest figure of a built-in profile is
/// below 4 W.
const MAX_WATTS: f64 = 20.0;
/// Power for each Mbit/s above which a figure is doubtful, in watts.
const MAX_WATTS_PER_MBPS: f64 = 10.0;
/// Length of a tail above which it is doubtful. That of 3G in built-in profiles is below 20 s.
const MAX_TAIL: Duration = Duration::from_secs(120);

pub(super) fn check(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    for profile in describe::profiles(experiment) {
        check_powers(profile, warnings);
        let tail = profile.tail.iter().fold(Duration::ZERO, |sum, stage| sum + stage.duration);
        // A tail without end is a profile's way to say that the radio never sleeps.
        if tail > MAX_TAIL && tail != Duration::MAX {
            warnings.push(Warning::new(
                format!("the tail of the radio `{}` lasts {tail}", profile.name),
                "tails of published profiles last at most 20 s: check the unit",
            ));
        }
        if profile.idle.power > profile.active && profile.active > Power::ZERO {
            let (idle, active) = (profile.idle.power, profile.active);
            warnings.push(Warning::new(
                format!(
                    "the radio `{}` draws more while idle ({idle}) than while active ({active})",
                    profile.name
                ),
                "exchange `idle` and `active`, or check their units",
            ));
        }
    }
}

fn check_powers(profile: &Profile, warnings: &mut Vec<Warning>) {
    let stage = |stage: &Stage| format!("power of the stage `{}`", stage.name);
    let stages = profile.promotion.iter().chain(&profile.tail);
    let mut figures = vec![
        ("`active`".to_owned(), profile.active, MAX_WATTS),
        ("`idle`".to_owned(), profile.idle.power, MAX_WATTS),
        ("`up_per_mbps`".to_owned(), profile.up_per_mbps, MAX_WATTS_PER_MBPS),
        ("`down_per_mbps`".to_owned(), profile.down_per_mbps, MAX_WATTS_PER_MBPS),
    ];
    figures.extend(stages.map(|one| (stage(one), one.power, MAX_WATTS)));
    for (figure, power, max) in figures {
        if power.as_watts() > max {
            warnings.push(Warning::new(
                format!("the {figure} of the radio `{}` is {power}", profile.name),
                format!("radios of devices stay below {max} W: check the unit (mW, W)"),
            ));
        }
    }
}
