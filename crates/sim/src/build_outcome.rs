//! Builds the outcome of a run from its counters. The emulator uses the same conversions.

use crate::background::Background;
use crate::cells::{CellOutcome, CrowdOutcome};
use crate::connection::Connection;
use crate::delay::{message_name, video_delays};
use crate::delivery::DeliveryRecorder;
use crate::experiment::{Experiment, PathSpec};
use crate::network::{Network, Path};
use crate::outcome::{
    BackgroundOutcome, ConnectionOutcome, DeviceOutcome, EnergyOutcome, MiddleboxOutcome, Outcome,
    PathOutcome, Timeline,
};
use crate::series::Series;
use crate::world::{Member, World};
use link::LinkStats;
use middlebox::{MiddleboxConfig, MiddleboxStats};
use mptcp::{Endpoint, Mode, PathId};
use radio::{Battery, JointActivity, Meter};
use std::vec;
use traffic::{Direction, Kind, TrafficConfig};
use units::{Duration, Instant};
use wire::Span;

/// Counters of one path.
#[derive(Debug, Clone, Copy)]
pub struct PathTotals<'a> {
    /// Meter of the interface, then the meters of further profiles for the same traffic.
    pub meters: &'a [Meter],
    /// Payload that the device received, in bytes.
    pub payload_down: u64,
    /// Payload that the device sent, in bytes.
    pub payload_up: u64,
    /// Traffic that the device received, in bytes with all headers.
    pub wire_down: u64,
    /// Traffic that the device sent, in bytes with all headers.
    pub wire_up: u64,
    /// Packet counters of the links, down and up.
    pub stats: [LinkStats; 2],
    /// Retransmitted segments, both directions.
    pub retransmissions: u64,
}

impl PathTotals<'_> {
    /// Outcome of the path over a run of `duration`.
    pub fn outcome(
        &self,
        spec: &PathSpec,
        duration: Duration,
        middleboxes: Vec<MiddleboxOutcome>,
    ) -> PathOutcome {
        let seconds = duration.as_secs_f64();
        let mbps = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 };
        let both = |count: fn(&LinkStats) -> u64| self.stats.iter().map(count).sum();
        PathOutcome {
            name: spec.name.clone(),
            radio: spec.profile.name.clone(),
            payload_down_bytes: self.payload_down,
            payload_up_bytes: self.payload_up,
            wire_down_bytes: self.wire_down,
            wire_up_bytes: self.wire_up,
            rate_down_mbps: mbps(self.payload_down),
            rate_up_mbps: mbps(self.payload_up),
            dropped_packets: both(|s| s.dropped_full + s.dropped_early),
            marked_packets: both(|s| s.marked),
            lost_packets: both(|s| s.lost),
            damaged_packets: both(|s| s.corrupted),
            doubled_packets: both(|s| s.duplicated),
            retransmissions: self.retransmissions,
            middleboxes,
            energy: EnergyOutcome::of(&self.meters[0]),
            also: self.meters[1..].iter().map(EnergyOutcome::of).collect(),
        }
    }

    /// Power states of the path's interface.
    pub fn timeline(&self, spec: &PathSpec) -> Timeline {
        let own = &self.meters[0];
        let states =
            own.timeline().iter().map(|&(at, state)| (at, own.profile().state_name(state).to_owned()));
        Timeline { path: spec.name.clone(), states: states.collect() }
    }
}

impl BackgroundOutcome {
    /// Outcome of a background flow.
    pub fn of(flow: &Background, experiment: &Experiment) -> Self {
        let [delay, jitter] = flow.delays.outcome();
        let (count, sum) = flow.delays.totals();
        let mean = sum.checked_div(u128::from(count));
        Self {
            path: experiment.paths.get(flow.spec.path).map(|path| path.name.clone()).unwrap_or_default(),
            direction: if flow.spec.direction == Direction::Down { "down" } else { "up" },
            offered_packets: flow.offered,
            offered_bytes: flow.offered_bytes,
            delivered_packets: flow.delivered,
            delivered_bytes: flow.delivered_bytes,
            mean_delay_s: mean.map(|nanos| nanos as f64 * 1e-9),
            longest_delay_s: delay.max_s.unwrap_or(0.0),
            delay,
            jitter,
        }
    }
}

impl MiddleboxOutcome {
    /// Outcome of a middlebox.
    pub fn of(config: &MiddleboxConfig, stats: &MiddleboxStats) -> Self {
        let &MiddleboxStats { seen, changed, added, merged, dropped, answered, .. } = stats;
        Self { kind: config.kind.name(), seen, changed, added, merged, dropped, answered }
    }
}

impl EnergyOutcome {
    /// Energy measured by a meter.
    pub fn of(meter: &Meter) -> Self {
        let parts = meter.breakdown();
        Self {
            radio: meter.profile().name.clone(),
            total_j: meter.energy().as_joules(),
            idle_j: parts.idle.as_joules(),
            promotion_j: parts.promotion.as_joules(),
            active_j: parts.active.as_joules(),
            data_j: parts.data.as_joules(),
            tail_j: parts.tail.as_joules(),
        }
    }
}

impl DeviceOutcome {
    /// Outcome of the device: `meters` has the meter of each interface, and `policy_changes` counts
    /// the changes of priorities and shares.
    pub fn of(
        experiment: &Experiment,
        meters: &[&Meter],
        connections: &[ConnectionOutcome],
        policy_changes: u64,
    ) -> Self {
        let joint_time = JointActivity::new().update(meters.to_vec());
        let joint = experiment.device.joint_power * joint_time;
        let radios: units::Energy = meters.iter().map(|meter| meter.energy()).sum();
        let energy = radios + joint;
        let rate = energy.per(experiment.duration);
        let battery = Battery::new(experiment.device.battery);
        // An empty sum of floats is -0.0.
        let delivered_mbit = connections.iter().map(|c| c.delivered_bytes as f64 * 8e-6).sum::<f64>() + 0.0;
        let joules = energy.as_joules();
        Self {
            name: experiment.device.name.clone(),
            policy: experiment.device.policy.to_string(),
            energy_j: joules,
            joint_energy_j: joint.as_joules(),
            energy_rate_w: rate.as_watts(),
            lifespan_s: (joules > 0.0).then(|| battery.lifespan(rate).as_secs_f64()),
            battery_left: battery.level(energy),
            efficiency_mbit_per_j: (joules > 0.0).then(|| delivered_mbit / joules),
            policy_changes,
        }
    }
}

/// Data of a connection that the receiving application has read at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes read.
    pub bytes: u64,
    /// Time of the last byte; `None` without any.
    pub last_byte: Option<Instant>,
    /// Whether the connection was closed, without a failure, after its last byte. Subflows may still be
    /// closing.
    pub is_closed: bool,
}

impl Received {
    /// Time from the start of the application to the last byte, in seconds; `None` unless the
    /// connection was closed and all data was read. A file that its stop cuts off is incomplete.
    pub fn completed_s(&self, config: &TrafficConfig) -> Option<f64> {
        let is_whole = match config.kind {
            Kind::File { size } => self.bytes == size.get(),
            _ => true,
        };
        let last = self.last_byte.filter(|_| self.is_closed && is_whole)?;
        Some(last.since(config.start).as_secs_f64())
    }

    /// Mean goodput of a connection in a run of `duration`, in Mbit/s: over the time from its start
    /// to the last byte if it is complete, else to the end of the run, or to the later of its stop
    /// and its last byte.
    pub fn goodput_mbps(&self, config: &TrafficConfig, duration: Duration) -> f64 {
        let run_end = Instant::ZERO + duration;
        let until_end = || {
            let stopped = config.stop.map(|stop| stop.max(self.last_byte.unwrap_or(stop)));
            stopped.unwrap_or(run_end).min(run_end).since(config.start).as_secs_f64()
        };
        let seconds = self.completed_s(config).unwrap_or_else(until_end);
        if seconds > 0.0 { self.bytes as f64 * 8e-6 / seconds } else { 0.0 }
    }
}

/// Builds the outcome of a run that has ended. `devices` has the series and the changes of policy
/// of each device.
pub(crate) fn build_outcome(
    mut world: World<'_>,
    devices: impl Iterator<Item = (Series, u64)>,
    cells: Vec<CellOutcome>,
) -> CrowdOutcome {
    let members = core::mem::take(&mut world.devices);
    let mut connections = core::mem::take(&mut world.connections).into_iter();
    let mut deliveries = core::mem::take(&mut world.delivery_recorders).into_iter();
    let outcome = |(member, (series, changes)): (&Member<'_>, (Series, u64))| Outcome {
        deliveries: deliveries
            .by_ref()
            .take(member.connections.len())
            .map(DeliveryRecorder::into_outcome)
            .collect(),
        capture: world
            .capture
            .take_if(|_| member.experiment.capture)
            .map(crate::capture::Capture::into_bytes),
        ..device_outcome(&world, member, &mut connections, series, changes)
    };
    let devices = members.iter().zip(devices).map(outcome).collect();
    CrowdOutcome { devices, cells }
}

/// Outcome of a device, without deliveries and capture. `connections` begins with those of the
/// device; each is released once its outcome is known.
fn device_outcome(
    world: &World<'_>,
    member: &Member<'_>,
    connections: &mut vec::IntoIter<Connection>,
    series: Series,
    policy_changes: u64,
) -> Outcome {
    let experiment = member.experiment;
    let mut paths = Vec::new();
    let mut timelines = Vec::new();
    let members_paths = &world.network.paths[member.paths.clone()];
    let own = &connections.as_slice()[..member.connections.len()];
    for (i, (spec, path)) in experiment.paths.iter().zip(members_paths).enumerate() {
        let totals = path_totals(path, PathId(i as u8), &world.network, own);
        let chain = path.middleboxes.iter().flat_map(|chain| chain.stats());
        let middleboxes = chain.map(|(config, stats)| MiddleboxOutcome::of(config, &stats)).collect();
        paths.push(totals.outcome(spec, experiment.duration, middleboxes));
        timelines.push(totals.timeline(spec));
    }
    let now = world.now;
    let segments = own.iter().map(|connection| connection.segments).sum();
    let own = connections.by_ref().take(member.connections.len());
    let connections: Vec<ConnectionOutcome> =
        own.map(|connection| connection_outcome(connection, experiment, now)).collect();
    let meters: Vec<&Meter> = members_paths.iter().map(|path| &path.meters[0]).collect();
    let device = DeviceOutcome::of(experiment, &meters, &connections, policy_changes);
    let background = world.background[member.background.clone()].iter();
    Outcome {
        seed: experiment.seed.get(),
        duration_s: experiment.duration.as_secs_f64(),
        device,
        connections,
        paths,
        background: background.map(|flow| BackgroundOutcome::of(flow, experiment)).collect(),
        deliveries: Vec::new(),
        segments,
        series,
        timelines,
        capture: None,
    }
}

fn path_totals<'a>(
    path: &'a Path,
    id: PathId,
    network: &Network,
    connections: &[Connection],
) -> PathTotals<'a> {
    let subflows = connections.iter().flat_map(|c| [c.client.subflow(id), c.server.subflow(id)]);
    PathTotals {
        meters: &path.meters,
        payload_down: path.payload_down,
        payload_up: path.payload_up,
        wire_down: path.wire_down,
        wire_up: path.wire_up,
        stats: [network.stats(path.down), network.stats(path.up)],
        retransmissions: subflows.flatten().map(|info| info.retransmissions).sum(),
    }
}

/// Outcome of a connection after a run that ended at `now`.
fn connection_outcome(
    mut connection: Connection,
    experiment: &Experiment,
    now: Instant,
) -> ConnectionOutcome {
    let names = experiment.paths.iter().map(|path| &*path.name);
    let head_of_line = connection.head_of_line_outcome(names);
    let video = connection.video.take().map(|video| video.finish(now));
    let [delay, jitter] = video.as_ref().map_or_else(|| connection.delays.outcome(), video_delays);
    let config = &connection.config;
    let is_closed = |end: &Endpoint<Span>| end.is_closed() || end.is_data_closed();
    let received = Received {
        bytes: connection.delivered,
        last_byte: connection.last_byte,
        is_closed: is_closed(&connection.client) && is_closed(&connection.server) && !connection.failed,
    };
    ConnectionOutcome {
        kind: config.kind.name(),
        direction: if connection.is_down() { "down" } else { "up" },
        protocol: protocol_name(&connection.client),
        offered_bytes: connection.app.offered(),
        dropped_bytes: connection.app.dropped(),
        delivered_bytes: connection.delivered,
        corrupted_bytes: connection.corrupted,
        goodput_mbps: received.goodput_mbps(config, experiment.duration),
        completed_s: received.completed_s(config),
        peak_out_of_order_bytes: Some(connection.peak_out_of_order),
        repeated_bytes: Some(connection.client.reinjected_bytes() + connection.server.reinjected_bytes()),
        message: message_name(&config.kind),
        delay,
        jitter,
        head_of_line: Some(head_of_line),
        failed: connection.failed,
        video,
    }
}

/// Protocol of a connection after the handshake and any fallback.
fn protocol_name(client: &Endpoint<Span>) -> &'static str {
    match client.mode() {
        Mode::Mptcp if client.uses_rec() => "mptcp-rec",
        Mode::Mptcp => "mptcp",
        Mode::Offered | Mode::Tcp => "tcp",
    }
}
