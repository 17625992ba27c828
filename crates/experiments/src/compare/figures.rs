//! What is compared.

use crate::display::megabytes;
use crate::video::all_fetched_s;
use abr::Session;
use sim::{Experiment, Outcome};
use traffic::Kind;

/// More connections than this are not told one by one.
const MOST_CONNECTIONS: usize = 4;

/// One quantity of a run.
#[derive(Debug, Clone)]
pub(super) struct Figure {
    /// Its name for programs, with the unit.
    pub(super) key: String,
    /// Its name for people.
    pub(super) name: String,
    /// Its unit.
    pub(super) unit: &'static str,
    pub(super) quantity: Quantity,
}

/// Where it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    Goodput,
    ConnectionGoodput(usize),
    Completion(usize),
    Video(usize, Seen),
    Power,
    Energy,
    Efficiency,
    Lifespan,
    PathBytes(usize),
    PathEnergy(usize),
    OutOfOrder,
}

/// What a viewer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Load,
    Stalls,
    Stalled,
    Bitrate,
    Switches,
    Fetched,
    Mos,
    Linear,
}

impl Seen {
    /// With their keys, names and units.
    const ALL: [(Self, &'static str, &'static str, &'static str); 8] = [
        (Self::Mos, "mos", "MOS", ""),
        (Self::Linear, "linear", "linear score", ""),
        (Self::Load, "initial_load_s", "load time", "s"),
        (Self::Stalls, "stalls", "stalls", ""),
        (Self::Stalled, "stalled_s", "stalled", "s"),
        (Self::Bitrate, "mean_bitrate_mbps", "bitrate", "Mbit/s"),
        (Self::Switches, "switches", "changes of bitrate", ""),
        (Self::Fetched, "fetched_s", "whole video there", "s"),
    ];

    fn of(self, session: &Session) -> Option<f64> {
        let kpis = session.kpis();
        Some(match self {
            Self::Load => kpis.initial.as_secs_f64(),
            Self::Stalls => session.stalls.len() as f64,
            Self::Stalled => kpis.stalled.as_secs_f64(),
            Self::Bitrate => kpis.mean_bitrate.as_mbps(),
            Self::Switches => kpis.switches as f64,
            Self::Fetched => return all_fetched_s(session),
            Self::Mos => kpis.mos,
            Self::Linear => kpis.linear,
        })
    }
}

impl Figure {
    fn new(key: impl Into<String>, name: impl Into<String>, unit: &'static str, quantity: Quantity) -> Self {
        Self { key: key.into(), name: name.into(), unit, quantity }
    }

    /// Its name, as it heads a chart.
    pub(super) fn title(&self) -> String {
        let mut title = self.name.clone();
        title[..1].make_ascii_uppercase();
        title
    }

    /// What a run says; `None` where it has nothing to say, such as of a file that did not arrive.
    pub(super) fn value(&self, outcome: &Outcome) -> Option<f64> {
        let device = &outcome.device;
        match self.quantity {
            Quantity::Goodput => {
                let bytes: u64 = outcome.connections.iter().map(|c| c.delivered_bytes).sum();
                (outcome.duration_s > 0.0).then(|| bytes as f64 * 8e-6 / outcome.duration_s)
            }
            Quantity::ConnectionGoodput(i) => outcome.connections.get(i).map(|c| c.goodput_mbps),
            Quantity::Completion(i) => outcome.connections.get(i).and_then(|c| c.completed_s),
            Quantity::Video(i, seen) => seen.of(outcome.connections.get(i)?.video.as_ref()?),
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
        }
    }
}

/// The figures of an experiment's runs, those that matter first.
pub(super) fn figures(experiment: &Experiment) -> Vec<Figure> {
    let mut all = vec![Figure::new("goodput_mbps", "goodput", "Mbit/s", Quantity::Goodput)];
    let connections = experiment.traffic.len();
    if (2..=MOST_CONNECTIONS).contains(&connections) {
        for i in 0..connections {
            let (key, name) =
                (format!("connection{}_goodput_mbps", i + 1), format!("goodput, connection {}", i + 1));
            all.push(Figure::new(key, name, "Mbit/s", Quantity::ConnectionGoodput(i)));
        }
    }
    let files = experiment.traffic.iter().enumerate().filter(|(_, t)| matches!(t.kind, Kind::File { .. }));
    for (i, _) in files.take(MOST_CONNECTIONS) {
        let name = if connections == 1 {
            "completion".to_owned()
        } else {
            format!("completion, connection {}", i + 1)
        };
        let key = format!("connection{}_completion_s", i + 1);
        all.push(Figure::new(key, name, "s", Quantity::Completion(i)));
    }
    let videos = experiment.traffic.iter().enumerate().filter(|(_, t)| matches!(t.kind, Kind::Video(_)));
    for (i, _) in videos.take(MOST_CONNECTIONS) {
        for (seen, key, name, unit) in Seen::ALL {
            let name =
                if connections == 1 { name.to_owned() } else { format!("{name}, connection {}", i + 1) };
            let key = format!("connection{}_{key}", i + 1);
            all.push(Figure::new(key, name, unit, Quantity::Video(i, seen)));
        }
    }
    all.extend([
        Figure::new("energy_rate_w", "mean power", "W", Quantity::Power),
        Figure::new("energy_j", "energy", "J", Quantity::Energy),
        Figure::new("efficiency_mbit_per_j", "efficiency", "Mbit/J", Quantity::Efficiency),
        Figure::new("lifespan_s", "battery lasts", "s", Quantity::Lifespan),
    ]);
    for (i, path) in experiment.paths.iter().enumerate() {
        let name = &path.name;
        all.push(Figure::new(format!("{name}_mb"), format!("over {name}"), "MB", Quantity::PathBytes(i)));
    }
    for (i, path) in experiment.paths.iter().enumerate() {
        let name = &path.name;
        all.push(Figure::new(
            format!("{name}_energy_j"),
            format!("energy of {name}"),
            "J",
            Quantity::PathEnergy(i),
        ));
    }
    all.push(Figure::new("peak_out_of_order_kb", "peak out of order", "kB", Quantity::OutOfOrder));
    all
}
