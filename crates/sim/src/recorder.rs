//! Series: what each path, the connections and the device were doing, at a fixed interval.

use crate::Experiment;
use crate::outcome::{Series, SeriesColumn};
use crate::world::World;
use abr::Sight;
use mptcp::PathId;
use traffic::Kind;

/// Columns of each path, then of each connection, then of the device.
const PATH: [(&str, &str); 8] = [
    ("rate_down_mbps", "Mbit/s"),
    ("rate_up_mbps", "Mbit/s"),
    ("cwnd_kb", "kB"),
    ("srtt_ms", "ms"),
    ("queue_kb", "kB"),
    ("power_w", "W"),
    ("energy_j", "J"),
    ("backup", ""),
];
const CONNECTION: [(&str, &str); 3] =
    [("goodput_mbps", "Mbit/s"), ("out_of_order_kb", "kB"), ("unsent_kb", "kB")];
/// Of a connection that carries video, after its own.
const VIDEO: [(&str, &str); 3] = [("buffer_s", "s"), ("bitrate_mbps", "Mbit/s"), ("waiting", "")];
const DEVICE: [(&str, &str); 2] = [("power_w", "W"), ("energy_j", "J")];

impl Series {
    /// The columns of an experiment's series, without a row; no columns where it takes no series.
    pub fn new(experiment: &Experiment) -> Self {
        let mut columns = Vec::new();
        let mut add = |owner: &str, kinds: &[(&str, &'static str)]| {
            for (name, unit) in kinds {
                columns.push(SeriesColumn { name: format!("{owner}.{name}"), unit, values: Vec::new() });
            }
        };
        if !experiment.sample.is_zero() {
            experiment.paths.iter().for_each(|path| add(&path.name, &PATH));
            for (i, traffic) in experiment.traffic.iter().enumerate() {
                let owner = format!("connection{}", i + 1);
                add(&owner, &CONNECTION);
                if matches!(traffic.kind, Kind::Video(_)) {
                    add(&owner, &VIDEO);
                }
            }
            add("device", &DEVICE);
        }
        Self { interval_s: experiment.sample.as_secs_f64(), columns }
    }

    /// What a row says of a video, in the order of its columns.
    pub fn video(sight: &Sight) -> [f64; 3] {
        let waiting = f64::from(u8::from(sight.waiting));
        [sight.buffer.as_secs_f64(), sight.bitrate.as_mbps(), waiting]
    }

    /// Adds a row: a value for each column, in their order.
    pub fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Recorder {
    columns: Vec<SeriesColumn>,
    seconds: f64,
    /// At the last row: bytes down and up and energy of each path, bytes of each connection.
    paths: Vec<(u64, u64, f64)>,
    connections: Vec<u64>,
    energy: f64,
}

impl Recorder {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let columns = Series::new(experiment).columns;
        Self {
            columns,
            seconds: experiment.sample.as_secs_f64(),
            paths: vec![(0, 0, 0.0); experiment.paths.len()],
            connections: vec![0; experiment.traffic.len()],
            energy: 0.0,
        }
    }

    pub(crate) fn into_series(self, experiment: &Experiment) -> Series {
        Series { interval_s: experiment.sample.as_secs_f64(), columns: self.columns }
    }
}

impl World<'_> {
    /// Takes one row.
    pub(crate) fn record(&mut self) {
        let now = self.now;
        let seconds = self.recorder.seconds;
        let mut row = Vec::with_capacity(self.recorder.columns.len());
        let mut total = 0.0;
        for i in 0..self.network.paths.len() {
            let queue = self.network.queued(now, self.network.paths[i].down);
            let queue = queue + self.network.queued(now, self.network.paths[i].up);
            let path = &mut self.network.paths[i];
            path.meters[0].advance(now);
            let energy = path.meters[0].energy().as_joules();
            total += energy;
            let (down, up, before) = self.recorder.paths[i];
            self.recorder.paths[i] = (path.wire_down, path.wire_up, energy);
            let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
            let (mut cwnd, mut srtt) = (0, 0.0);
            for connection in &mut self.connections {
                if let Some(info) = connection.sender().subflow(PathId(i as u8)).filter(|info| info.up) {
                    cwnd += info.cwnd;
                    srtt = info.srtt.map_or(srtt, |rtt| rtt.as_secs_f64() * 1e3);
                }
            }
            row.extend([
                mbps(path.wire_down - down),
                mbps(path.wire_up - up),
                cwnd as f64 / 1e3,
                srtt,
                queue as f64 / 1e3,
                (energy - before) / seconds,
                energy,
                f64::from(u8::from(path.backup)),
            ]);
        }
        for (i, connection) in self.connections.iter_mut().enumerate() {
            let delivered = connection.delivered;
            let goodput = (delivered - self.recorder.connections[i]) as f64 * 8e-6 / seconds;
            self.recorder.connections[i] = delivered;
            let out_of_order = connection.client.out_of_order() + connection.server.out_of_order();
            let sender = connection.sender();
            let unsent = sender.written() - sender.acknowledged();
            row.extend([goodput, out_of_order as f64 / 1e3, unsent as f64 / 1e3]);
            row.extend(connection.talk.iter().flat_map(|talk| Series::video(&talk.sight(self.now))));
        }
        row.extend([(total - self.recorder.energy) / seconds, total]);
        self.recorder.energy = total;
        for (column, value) in self.recorder.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
    }
}
