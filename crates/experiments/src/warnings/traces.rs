//! Traces with an improbable mean rate: probably another unit.

use super::Warning;
use link::{LinkConfig, Rate, Trace};
use sim::{Experiment, Hop};
use units::Bitrate;

/// Mean rates of a link: from an IoT radio to a wired link, 10 kbit/s to 20 Gbit/s.
const MIN_MEAN: Bitrate = Bitrate::from_bps(10_000);
const MAX_MEAN: Bitrate = Bitrate::from_bps(20_000_000_000);

pub(super) fn check(experiment: &Experiment, warnings: &mut Vec<Warning>) {
    for path in &experiment.paths {
        let [down, up] = [&path.down, &path.up].map(doubtful_mean);
        let found = match (down, up) {
            (Some(down), Some(up)) if down == up => vec![("down and up", down)],
            (down, up) => [("down", down), ("up", up)]
                .into_iter()
                .filter_map(|(direction, mean)| Some((direction, mean?)))
                .collect(),
        };
        for (directions, mean) in found {
            warnings.push(doubtful(&format!("`{}`, {directions},", path.name), mean));
        }
    }
}

/// The warning about a trace file, if its mean rate is doubtful.
pub fn of_trace(name: &str, trace: &Trace) -> Option<Warning> {
    doubtful_rate(trace).map(|mean| doubtful(name, mean))
}

fn doubtful(owner: &str, mean: Bitrate) -> Warning {
    let side = if mean < MIN_MEAN { "below 10 kbit/s" } else { "above 20 Gbit/s" };
    Warning::new(
        format!("the trace of {owner} has a mean rate of {mean}, {side}"),
        "the unit is probably another: the table of traces says how the file was read; choose a `format` or \
         `column`, or change the header (docs/reference/traces.md)",
    )
}

fn doubtful_mean(hop: &Hop) -> Option<Bitrate> {
    let Hop::Link(LinkConfig { rate: Rate::Trace(trace), .. }) = hop else { return None };
    doubtful_rate(trace)
}

fn doubtful_rate(trace: &Trace) -> Option<Bitrate> {
    Some(trace.mean_rate()).filter(|mean| !(MIN_MEAN..=MAX_MEAN).contains(mean))
}
