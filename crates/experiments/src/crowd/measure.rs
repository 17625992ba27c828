//! Measures of a device, and their distribution over the devices of a group.

use crate::display::megabytes;
use crate::stats;
use sim::{ConnectionOutcome, Crowd, Experiment, Outcome};
use traffic::{Kind, TrafficConfig};
use units::Instant;

/// A quantity of one device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measure {
    /// Key in JSON and CSV, with the unit.
    pub(crate) key: String,
    /// Name in tables and charts.
    pub(crate) name: String,
    /// Unit of the values.
    pub(crate) unit: &'static str,
    quantity: Quantity,
}

#[derive(Debug, Clone, PartialEq)]
enum Quantity {
    Goodput,
    Completion,
    Bitrate,
    Stalled,
    InitialLoad,
    Energy,
    /// Payload over the path with this name.
    Path(String),
}

/// The measures that a crowd's devices have, the most important first.
pub(crate) fn measures(crowd: &Crowd) -> Vec<Measure> {
    let traffic = || crowd.devices.iter().flat_map(|device| &device.traffic);
    let has_video = traffic().any(|config| matches!(config.kind, Kind::Video(_)));
    let has_file = traffic().any(|config| matches!(config.kind, Kind::File { .. }));
    let new = |key: &str, name: &str, unit, quantity| Measure {
        key: key.to_owned(),
        name: name.to_owned(),
        unit,
        quantity,
    };
    let mut all = Vec::new();
    if has_video {
        all.extend([
            new("bitrate_mbps", "bitrate", "Mbit/s", Quantity::Bitrate),
            new("stalled_s", "stalled", "s", Quantity::Stalled),
            new("initial_load_s", "load time", "s", Quantity::InitialLoad),
        ]);
    }
    all.push(new("goodput_mbps", "goodput", "Mbit/s", Quantity::Goodput));
    if has_file {
        all.push(new("completion_s", "completion", "s", Quantity::Completion));
    }
    all.push(new("energy_j", "energy", "J", Quantity::Energy));
    let mut names: Vec<&str> = Vec::new();
    for path in crowd.devices.iter().flat_map(|device| &device.paths) {
        if !names.contains(&path.name.as_str()) {
            names.push(&path.name);
        }
    }
    all.extend(names.into_iter().map(|name| Measure {
        key: format!("{name}_mb"),
        name: format!("over {name}"),
        unit: "MB",
        quantity: Quantity::Path(name.to_owned()),
    }));
    all
}

/// Whether a connection or flow of a device starts within the run.
pub(crate) fn starts(device: &Experiment) -> bool {
    let end = Instant::ZERO + device.duration;
    device.traffic.iter().any(|config| config.start < end) || device.background.iter().any(|f| f.start < end)
}

/// The connections that start within the run, with their traffic.
fn started<'a>(
    device: &'a Experiment,
    outcome: &'a Outcome,
) -> impl Iterator<Item = (&'a TrafficConfig, &'a ConnectionOutcome)> + Clone {
    let end = Instant::ZERO + device.duration;
    device.traffic.iter().zip(&outcome.connections).filter(move |(config, _)| config.start < end)
}

/// Mean of these values; `None` without any.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| stats::mean(&values))
}

/// Data of all connections over the time in which at least one of them was open; `None` without any.
fn goodput_mbps<'a>(
    device: &Experiment,
    connections: impl Iterator<Item = (&'a TrafficConfig, &'a ConnectionOutcome)>,
) -> Option<f64> {
    let run_end = Instant::ZERO + device.duration;
    let mut megabits = 0.0;
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for (config, connection) in connections {
        let data = connection.delivered_bytes as f64 * 8e-6;
        let start = config.start.as_secs_f64();
        let end = if data > 0.0 {
            start + data / connection.goodput_mbps
        } else {
            config.stop.unwrap_or(run_end).min(run_end).as_secs_f64()
        };
        megabits += data;
        spans.push((start, end));
    }
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut open, mut until) = (0.0, 0.0_f64);
    for (start, end) in &spans {
        open += (end - start.max(until)).max(0.0);
        until = until.max(*end);
    }
    if spans.is_empty() { None } else { Some(if open > 0.0 { megabits / open } else { 0.0 }) }
}

impl Measure {
    /// Value of a device; `None` if it never starts, or has no such value.
    pub(crate) fn of(&self, device: &Experiment, outcome: &Outcome) -> Option<f64> {
        if !starts(device) {
            return None;
        }
        let started = started(device, outcome);
        let files = started.clone().filter(|(config, _)| matches!(config.kind, Kind::File { .. }));
        let connections = started.clone().map(|(_, connection)| connection);
        let sessions = || connections.clone().filter_map(|connection| connection.video.as_ref());
        let shown = || sessions().filter(|session| !session.initial.open);
        match &self.quantity {
            // A device that sends datagrams only has none.
            Quantity::Goodput => goodput_mbps(device, started),
            // A file that has not arrived counts until the end, so that a full cell does not look fast.
            Quantity::Completion => files
                .map(|(config, file)| {
                    let until_end = || (Instant::ZERO + device.duration).since(config.start).as_secs_f64();
                    file.completed_s.unwrap_or_else(until_end)
                })
                .reduce(f64::max),
            // A video without a picture has no bitrate, and has not stalled.
            Quantity::Bitrate => mean(shown().map(|video| video.kpis().mean_bitrate.as_mbps())),
            Quantity::Stalled => mean(shown().map(|video| video.kpis().stalled.as_secs_f64())),
            Quantity::InitialLoad => mean(sessions().map(|video| video.kpis().initial.as_secs_f64())),
            Quantity::Energy => Some(outcome.device.energy_j),
            Quantity::Path(name) => {
                let path = outcome.paths.iter().find(|path| path.name == *name)?;
                Some(megabytes(path.payload_down_bytes + path.payload_up_bytes))
            }
        }
    }

    /// The measured activity had not ended with the run: the value is a lower bound.
    pub(crate) fn is_unfinished(&self, device: &Experiment, outcome: &Outcome) -> bool {
        let mut started = started(device, outcome);
        match self.quantity {
            Quantity::Completion => started.any(|(config, connection)| {
                matches!(config.kind, Kind::File { .. }) && connection.completed_s.is_none()
            }),
            Quantity::InitialLoad => started
                .any(|(_, connection)| connection.video.as_ref().is_some_and(|session| session.initial.open)),
            _ => false,
        }
    }

    /// Noun for the activity of a device if its value [`is_unfinished`](Self::is_unfinished).
    pub(crate) fn unfinished_noun(&self) -> Option<&'static str> {
        match self.quantity {
            Quantity::Completion => Some("a file that had not arrived"),
            Quantity::InitialLoad => Some("a video without a picture"),
            _ => None,
        }
    }

    /// Whether another measure says about the same of a device.
    pub(crate) fn is_secondary(&self) -> bool {
        matches!(self.quantity, Quantity::Goodput | Quantity::InitialLoad)
    }

    /// Whether equal values are fair: Jain's index is then of interest.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.quantity, Quantity::Goodput | Quantity::Bitrate)
    }
}

/// Devices of a kind with the same policy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) kind: String,
    pub(crate) policy: String,
    /// Indices of the devices.
    pub(crate) members: Vec<usize>,
}

/// The groups of a crowd, given the kind of each device, in the order of their first devices.
pub(crate) fn groups(kinds: &[String], crowd: &Crowd) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::new();
    for (i, (device, kind)) in crowd.devices.iter().zip(kinds).enumerate() {
        let policy = device.device.policy.to_string();
        match all.iter_mut().find(|group| group.kind == *kind && group.policy == policy) {
            Some(group) => group.members.push(i),
            None => all.push(Group { kind: kind.clone(), policy, members: vec![i] }),
        }
    }
    all
}

/// Distribution of a measure over devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Number of devices with a value.
    pub(crate) devices: usize,
    pub(crate) mean: f64,
    pub(crate) least: f64,
    pub(crate) p5: f64,
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    /// Jain's index of fairness: 1 if all values are equal, 1/n if one of n has all.
    pub(crate) jain: f64,
}

impl Spread {
    /// Distribution of these values; NaN without any.
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let sum: f64 = values.iter().sum();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        Self {
            devices: values.len(),
            mean: stats::mean(values),
            least: sorted.first().copied().unwrap_or(f64::NAN),
            p5: quantile(&sorted, 0.05),
            p50: quantile(&sorted, 0.5),
            p95: quantile(&sorted, 0.95),
            jain: sum * sum / (values.len() as f64 * squares),
        }
    }
}

/// Quantile of sorted values, with linear interpolation between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = share * last as f64;
    let low = at as usize;
    let high = (low + 1).min(last);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate_between_values() {
        let sorted = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(quantile(&sorted, 0.5), 3.0);
        assert_eq!(quantile(&sorted, 0.05), 1.2);
        assert_eq!(quantile(&[7.0], 0.95), 7.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn jain_is_one_for_equal_and_one_over_n_for_one_of_n() {
        assert_eq!(Spread::of(&[2.0; 5]).jain, 1.0);
        assert_eq!(Spread::of(&[3.0, 0.0, 0.0, 0.0]).jain, 0.25);
        assert!(Spread::of(&[]).jain.is_nan());
    }
}
