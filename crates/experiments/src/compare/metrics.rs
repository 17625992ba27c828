//! Metrics of a comparison.

use super::delay::DelayMetric;
use crate::crowd::CrowdMetric;
use crate::display::megabytes;
use crate::video::all_fetched_s;
use abr::Session;
use qoe::{EMOS_UNIT, MOS_UNIT};
use sim::{Experiment, Outcome};
use traffic::Kind;

/// Maximum number of connections with metrics of their own.
const MAX_CONNECTIONS: usize = 4;

/// One metric of a run.
#[derive(Debug, Clone)]
pub struct Metric {
    /// Key in JSON and CSV, with the unit.
    pub key: String,
    /// Name in tables and charts.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    pub(super) quantity: Quantity,
    /// Shown in the tables of means and differences; otherwise only in `result.json` and CSV.
    pub in_tables: bool,
}

/// Quantity that a metric reads from an outcome. Numbers are indices of connections and paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Goodput,
    ConnectionGoodput(usize),
    Completion(usize),
    Video(usize, VideoMetric),
    Delay(usize, DelayMetric),
    Power,
    Energy,
    Efficiency,
    Lifespan,
    PathBytes(usize),
    PathEnergy(usize),
    OutOfOrder,
    /// A figure of several devices, in this table.
    OfCrowd {
        table: &'static str,
        is_drawn: bool,
    },
}

impl Quantity {
    /// Whether a sweep has a chart of this quantity.
    pub(super) fn is_drawn(self) -> bool {
        if let Self::Delay(_, metric) = self {
            return metric.is_drawn();
        }
        if let Self::OfCrowd { is_drawn, .. } = self {
            return is_drawn;
        }
        !matches!(
            self,
            Self::ConnectionGoodput(_)
                | Self::Energy
                | Self::Video(_, VideoMetric::Switches | VideoMetric::Fetched)
        )
    }
}

/// Quantity that a metric reads from a video session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VideoMetric {
    Load,
    Stalls,
    Stalled,
    Bitrate,
    Switches,
    Fetched,
    Mos,
    Emos,
    Linear,
}

impl VideoMetric {
    /// All of them with key, name and unit.
    const ALL: [(Self, &'static str, &'static str, &'static str); 9] = [
        (Self::Mos, "mos", "MOS", MOS_UNIT),
        (Self::Emos, "emos", "eMOS", EMOS_UNIT),
        (Self::Linear, "linear", "linear QoE", ""),
        (Self::Load, "initial_load_s", "load time", "s"),
        (Self::Stalls, "stalls", "stalls", ""),
        (Self::Stalled, "stalled_s", "stalled", "s"),
        (Self::Bitrate, "mean_bitrate_mbps", "bitrate", "Mbit/s"),
        (Self::Switches, "switches", "bitrate switches", ""),
        (Self::Fetched, "fetched_s", "video fetched after", "s"),
    ];

    /// Value in a session. Without a picture it has only the wait for one: no stalls and a bitrate of
    /// zero would look better or worse than any session that played.
    fn of(self, session: &Session) -> Option<f64> {
        let kpis = session.kpis();
        let shown = |value: f64| (!session.initial.open).then_some(value);
        match self {
            Self::Load => Some(kpis.initial.as_secs_f64()),
            Self::Stalls => shown(session.stalls.len() as f64),
            Self::Stalled => shown(kpis.stalled.as_secs_f64()),
            Self::Bitrate => shown(kpis.mean_bitrate.as_mbps()),
            Self::Switches => shown(kpis.switches as f64),
            Self::Fetched => all_fetched_s(session),
            Self::Mos => kpis.mos,
            Self::Emos => kpis.emos,
            Self::Linear => kpis.linear,
        }
    }
}

impl Metric {
    fn new(key: impl Into<String>, name: impl Into<String>, unit: &'static str, quantity: Quantity) -> Self {
        Self { key: key.into(), name: name.into(), unit, quantity, in_tables: true }
    }

    /// A figure of several devices.
    pub(super) fn of_crowd(metric: CrowdMetric) -> Self {
        let CrowdMetric { key, name, unit, group, in_tables } = metric;
        let quantity = Quantity::OfCrowd { table: group, is_drawn: in_tables };
        Self { in_tables, ..Self::new(key, name, unit, quantity) }
    }

    /// Table of the metric, if cases are rows: `traffic`, `video`, `delay`, `energy` or `paths`.
    pub fn group(&self) -> &'static str {
        match self.quantity {
            Quantity::Power | Quantity::Energy | Quantity::Efficiency | Quantity::Lifespan => "energy",
            Quantity::PathBytes(_) | Quantity::PathEnergy(_) => "paths",
            Quantity::Video(..) => "video",
            Quantity::Delay(..) => "delay",
            Quantity::OfCrowd { table, .. } => table,
            _ => "traffic",
        }
    }

    /// Whether a sweep has a chart of the metric.
    pub fn is_drawn(&self) -> bool {
        self.quantity.is_drawn()
    }

    /// Whether the metric has a table over two keys.
    pub fn is_main(&self) -> bool {
        self.is_drawn()
            && !matches!(
                self.quantity,
                Quantity::OfCrowd { .. }
                    | Quantity::Lifespan
                    | Quantity::PathBytes(_)
                    | Quantity::PathEnergy(_)
                    | Quantity::OutOfOrder
                    | Quantity::Video(_, VideoMetric::Linear)
            )
    }

    /// Whether the metric is a mean of the devices with one policy.
    pub(super) fn is_of_policy(&self) -> bool {
        matches!(self.quantity, Quantity::OfCrowd { table: "devices by policy", .. })
    }

    /// Title of a chart of the metric.
    pub fn title(&self) -> String {
        let mut title = self.name.clone();
        title[..1].make_ascii_uppercase();
        title
    }

    /// Key of a chart of the metric: its name, with hyphens.
    pub fn chart_key(&self) -> String {
        match self.quantity {
            Quantity::Power => "power".to_owned(),
            Quantity::OutOfOrder => "out-of-order".to_owned(),
            _ => self.name.to_lowercase().replace(", ", " ").replace(' ', "-"),
        }
    }

    /// Value in a run; `None` if the run has none, such as the completion time of an unfinished
    /// file.
    pub fn value(&self, outcome: &Outcome) -> Option<f64> {
        let device = &outcome.device;
        match self.quantity {
            Quantity::Goodput => {
                let bytes: u64 = outcome.connections.iter().map(|c| c.delivered_bytes).sum();
                (outcome.duration_s > 0.0).then(|| bytes as f64 * 8e-6 / outcome.duration_s)
            }
            Quantity::ConnectionGoodput(i) => outcome.connections.get(i).map(|c| c.goodput_mbps),
            Quantity::Completion(i) => outcome.connections.get(i).and_then(|c| c.completed_s),
            Quantity::Video(i, video_metric) => {
                video_metric.of(outcome.connections.get(i)?.video.as_ref()?)
            }
            Quantity::Delay(i, delay_metric) => delay_metric.of(outcome.connections.get(i)?),
            Quantity::Power => Some(device.energy_rate_w),
            Quantity::Energy => Some(device.energy_j),
            Quantity::Efficiency => device.efficiency_mbit_per_j,
            Quantity::Lifespan => device.lifespan_s,
            Quantity::PathBytes(i) => {
                outcome.paths.get(i).map(|p| megabytes(p.payload_down_bytes + p.payload_up_bytes))
            }
            Quantity::PathEnergy(i) => outcome.paths.get(i).map(|p| p.energy.total_j),
            Quantity::OutOfOrder => outcome
                .connections
                .iter()
                .filter_map(|c| Some(c.peak_out_of_order_bytes? as f64 * 1e-3))
                .reduce(f64::max),
            Quantity::OfCrowd { .. } => None,
        }
    }
}

/// The metrics that the runs of all experiments have, the most important first.
pub(super) fn common<'e>(experiments: impl IntoIterator<Item = &'e Experiment>) -> Vec<Metric> {
    let mut experiments = experiments.into_iter();
    let mut all = experiments.next().map_or_else(Vec::new, metrics);
    for experiment in experiments {
        let others = metrics(experiment);
        all.retain(|metric| {
            others.iter().any(|other| other.key == metric.key && other.quantity == metric.quantity)
        });
    }
    all
}

/// The metrics of an experiment's runs, the most important first.
pub fn metrics(experiment: &Experiment) -> Vec<Metric> {
    let mut all = vec![Metric::new("goodput_mbps", "goodput", "Mbit/s", Quantity::Goodput)];
    let connections = experiment.traffic.len();
    if (2..=MAX_CONNECTIONS).contains(&connections) {
        for i in 0..connections {
            let (key, name) =
                (format!("connection{}_goodput_mbps", i + 1), format!("goodput, connection {}", i + 1));
            all.push(Metric::new(key, name, "Mbit/s", Quantity::ConnectionGoodput(i)));
        }
    }
    let files = experiment.traffic.iter().enumerate().filter(|(_, t)| matches!(t.kind, Kind::File { .. }));
    for (i, _) in files.take(MAX_CONNECTIONS) {
        let name = if connections == 1 {
            "completion".to_owned()
        } else {
            format!("completion, connection {}", i + 1)
        };
        let key = format!("connection{}_completion_s", i + 1);
        all.push(Metric::new(key, name, "s", Quantity::Completion(i)));
    }
    let videos = experiment.traffic.iter().enumerate().filter(|(_, t)| matches!(t.kind, Kind::Video(_)));
    for (i, _) in videos.take(MAX_CONNECTIONS) {
        for (video_metric, key, name, unit) in VideoMetric::ALL {
            let name =
                if connections == 1 { name.to_owned() } else { format!("{name}, connection {}", i + 1) };
            let key = format!("connection{}_{key}", i + 1);
            all.push(Metric::new(key, name, unit, Quantity::Video(i, video_metric)));
        }
    }
    for i in 0..connections.min(MAX_CONNECTIONS) {
        for (delay_metric, key, name, unit, in_tables) in DelayMetric::all(connections) {
            let name =
                if connections == 1 { name.to_owned() } else { format!("{name}, connection {}", i + 1) };
            let key = format!("connection{}_{key}", i + 1);
            let metric = Metric::new(key, name, unit, Quantity::Delay(i, delay_metric));
            all.push(Metric { in_tables, ..metric });
        }
    }
    all.extend([
        Metric::new("energy_rate_w", "mean power", "W", Quantity::Power),
        Metric::new("energy_j", "energy", "J", Quantity::Energy),
        Metric::new("efficiency_mbit_per_j", "efficiency", "Mbit/J", Quantity::Efficiency),
        Metric::new("lifespan_s", "battery lasts", "s", Quantity::Lifespan),
    ]);
    for (i, path) in experiment.paths.iter().enumerate() {
        let name = &path.name;
        all.push(Metric::new(format!("{name}_mb"), format!("over {name}"), "MB", Quantity::PathBytes(i)));
    }
    for (i, path) in experiment.paths.iter().enumerate() {
        let name = &path.name;
        all.push(Metric::new(
            format!("{name}_energy_j"),
            format!("energy of {name}"),
            "J",
            Quantity::PathEnergy(i),
        ));
    }
    all.push(Metric::new("peak_out_of_order_kb", "peak out of order", "kB", Quantity::OutOfOrder));
    all
}
