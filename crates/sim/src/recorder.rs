//! Recorder of the time series: samples paths, connections and device at a fixed interval.

use crate::connection::Connection;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::series::Series;
use crate::world::World;
use mptcp::PathId;
use policy::PathRoundTrip;
use radio::JointActivity;
use std::collections::BTreeMap;
use units::{Instant, Power};

#[derive(Debug)]
pub(crate) struct Recorder {
    series: Series,
    paths: Vec<PathSample>,
    /// Round-trip time of each path over the connections, by their index.
    round_trips: Vec<PathRoundTrip<usize>>,
    connections: Vec<ConnectionSample>,
    joint: JointActivity,
    /// Power of the device while two or more radios are active.
    joint_power: Power,
    /// Energy of the device at the last row, in joules.
    energy_j: f64,
}

/// Counters of a path at the last row.
#[derive(Debug, Clone, Copy, Default)]
struct PathSample {
    wire_down: u64,
    wire_up: u64,
    energy_j: f64,
}

/// Totals of a connection at the last row.
#[derive(Debug, Clone, Copy, Default)]
struct ConnectionSample {
    /// Bytes delivered.
    delivered: u64,
    /// Messages read, and the sum of their delays.
    delays: (u64, u128),
}

impl Recorder {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        Self {
            series: Series::new(experiment),
            paths: vec![PathSample::default(); experiment.paths.len()],
            round_trips: vec![PathRoundTrip::default(); experiment.paths.len()],
            connections: vec![ConnectionSample::default(); experiment.traffic.len()],
            joint: JointActivity::new(),
            joint_power: experiment.device.joint_power,
            energy_j: 0.0,
        }
    }

    pub(crate) fn into_series(self) -> Series {
        self.series
    }

    /// Adds one row.
    pub(crate) fn record(&mut self, world: &mut World<'_>, device: usize) {
        let (now, network, device) = (world.now, &mut world.network, &world.devices[device]);
        let connections = &mut world.connections[device.connections.clone()];
        let mut row = Vec::with_capacity(self.series.columns.len());
        let mut energy_j = 0.0;
        for i in 0..device.paths.len() {
            energy_j += self.sample_path((device.paths.start, i), now, network, connections, &mut row);
        }
        self.sample_connections(now, connections, &mut row);
        let meters = network.paths[device.paths.clone()].iter().map(|path| &path.meters[0]);
        energy_j += (self.joint_power * self.joint.update(meters)).as_joules();
        row.extend([(energy_j - self.energy_j) / self.series.interval_s, energy_j]);
        self.energy_j = energy_j;
        self.series.push(row);
    }

    /// Appends the columns of a path. Returns the energy of its radio so far, in joules.
    fn sample_path(
        &mut self,
        (first_path, i): (usize, usize),
        now: Instant,
        network: &mut Network,
        connections: &mut [Connection],
        row: &mut Vec<f64>,
    ) -> f64 {
        let seconds = self.series.interval_s;
        let path = first_path + i;
        network.count_sent(now, path);
        let queue = network.queued(now, network.paths[path].down);
        let queue = queue + network.queued(now, network.paths[path].up);
        let path = &mut network.paths[path];
        path.meters[0].advance(now);
        let energy_j = path.meters[0].energy().as_joules();
        let sample = PathSample { wire_down: path.wire_down, wire_up: path.wire_up, energy_j };
        let last = core::mem::replace(&mut self.paths[i], sample);
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        let (mut cwnd, mut round_trips) = (0, BTreeMap::new());
        for (nth, connection) in connections.iter_mut().enumerate() {
            if let Some(info) = connection.sender().subflow(PathId(i as u8)).filter(|info| info.up) {
                cwnd += info.cwnd;
                round_trips.extend(info.srtt.map(|srtt| (nth, srtt)));
            }
        }
        let srtt = self.round_trips[i].observe(round_trips);
        row.extend([
            mbps(sample.wire_down - last.wire_down),
            mbps(sample.wire_up - last.wire_up),
            cwnd as f64 / 1e3,
            srtt.map_or(0.0, |srtt| srtt.as_secs_f64() * 1e3),
            queue as f64 / 1e3,
            (energy_j - last.energy_j) / seconds,
            energy_j,
            f64::from(u8::from(path.backup)),
        ]);
        energy_j
    }

    /// Appends the columns of all connections.
    fn sample_connections(&mut self, now: Instant, connections: &mut [Connection], row: &mut Vec<f64>) {
        let seconds = self.series.interval_s;
        for (connection, last) in connections.iter_mut().zip(&mut self.connections) {
            let sample =
                ConnectionSample { delivered: connection.delivered, delays: connection.delays.totals() };
            let last = core::mem::replace(last, sample);
            let goodput = (sample.delivered - last.delivered) as f64 * 8e-6 / seconds;
            let out_of_order = connection.client.out_of_order() + connection.server.out_of_order();
            let sender = connection.sender();
            let unsent = sender.written() - sender.acknowledged();
            row.extend([goodput, out_of_order as f64 / 1e3, unsent as f64 / 1e3]);
            match &connection.video {
                Some(video) => row.extend(Series::video(&video.sight(now))),
                None => row.push(Series::delay(sample.delays, last.delays)),
            }
        }
    }
}
