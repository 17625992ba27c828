//! How an outcome is put together from what was counted, in simulation or by an emulator.

use crate::background::Background;
use crate::delivery::Delivery;
use crate::outcome::{
    BackgroundOutcome, ConnectionOutcome, DeviceOutcome, EnergyOutcome, MiddleboxOutcome, Outcome,
    PathOutcome, Timeline,
};
use crate::world::World;
use crate::{Experiment, PathSpec};
use link::LinkStats;
use middlebox::{MiddleboxConfig, MiddleboxStats};
use mptcp::{Endpoint, Mode};
use radio::{Battery, Meter, Together};
use traffic::{Direction, TrafficConfig};
use units::{Duration, Instant};
use wire::Span;

/// What was counted on one path.
#[derive(Debug, Clone, Copy)]
pub struct PathTotals<'a> {
    /// Its own meter first, then others that measured the same traffic.
    pub meters: &'a [Meter],
    /// Payload that reached the device, in bytes.
    pub payload_down: u64,
    /// Payload that the device sent, in bytes.
    pub payload_up: u64,
    /// The same with all headers.
    pub wire_down: u64,
    /// The same with all headers.
    pub wire_up: u64,
    /// What became of its packets, down and up.
    pub stats: [LinkStats; 2],
    /// Segments sent again, both ways.
    pub retransmissions: u64,
}

impl PathTotals<'_> {
    /// The path's part of an outcome, over a run of `duration`; `middleboxes` is what its boxes did.
    pub fn outcome(
        &self,
        spec: &PathSpec,
        duration: Duration,
        middleboxes: Vec<MiddleboxOutcome>,
    ) -> PathOutcome {
        let seconds = duration.as_secs_f64();
        let per_second = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 };
        let both = |of: fn(&LinkStats) -> u64| self.stats.iter().map(of).sum();
        PathOutcome {
            name: spec.name.clone(),
            radio: spec.profile.name.clone(),
            payload_down_bytes: self.payload_down,
            payload_up_bytes: self.payload_up,
            wire_down_bytes: self.wire_down,
            wire_up_bytes: self.wire_up,
            rate_down_mbps: per_second(self.payload_down),
            rate_up_mbps: per_second(self.payload_up),
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

    /// The power states of its interface.
    pub fn timeline(&self, spec: &PathSpec) -> Timeline {
        let own = &self.meters[0];
        let states =
            own.timeline().iter().map(|&(at, state)| (at, own.profile().state_name(state).to_owned()));
        Timeline { path: spec.name.clone(), states: states.collect() }
    }
}

impl BackgroundOutcome {
    /// What became of a flow of datagrams.
    pub fn of(flow: &Background, experiment: &Experiment) -> Self {
        let mean = flow.delays.checked_div(u128::from(flow.delivered));
        Self {
            path: experiment.paths.get(flow.spec.path).map(|path| path.name.clone()).unwrap_or_default(),
            direction: if flow.spec.direction == Direction::Down { "down" } else { "up" },
            offered_packets: flow.offered,
            offered_bytes: flow.offered_bytes,
            delivered_packets: flow.delivered,
            delivered_bytes: flow.delivered_bytes,
            mean_delay_s: mean.map(|nanos| nanos as f64 * 1e-9),
            longest_delay_s: flow.longest.as_secs_f64(),
        }
    }
}

impl MiddleboxOutcome {
    /// What a box did.
    pub fn of(config: &MiddleboxConfig, stats: &MiddleboxStats) -> Self {
        let &MiddleboxStats { seen, changed, added, merged, dropped, answered, .. } = stats;
        Self { kind: config.meddling.name(), seen, changed, added, merged, dropped, answered }
    }
}

impl EnergyOutcome {
    /// What a meter counted.
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
    /// The device as a whole: `meters` has one of each path, and the policy changed something `changes`
    /// times.
    pub fn of(
        experiment: &Experiment,
        meters: &[&Meter],
        connections: &[ConnectionOutcome],
        changes: u64,
    ) -> Self {
        let both = Together::new().update(meters.to_vec());
        let joint = experiment.device.joint_power * both;
        let radios: units::Energy = meters.iter().map(|meter| meter.energy()).sum();
        let energy = radios + joint;
        let rate = energy.per(experiment.duration);
        let battery = Battery::new(experiment.device.battery);
        let delivered_mbit: f64 = connections.iter().map(|c| c.delivered_bytes as f64 * 8e-6).sum();
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
            policy_changes: changes,
        }
    }
}

/// Over how long a connection's goodput is taken, in seconds: to its last byte where it is complete, else
/// to its stop or the end of the run.
pub fn goodput_span(config: &TrafficConfig, completed_s: Option<f64>, duration: Duration) -> f64 {
    let end = Instant::ZERO + duration;
    completed_s.unwrap_or_else(|| config.stop.unwrap_or(end).min(end).since(config.start).as_secs_f64())
}

pub(crate) fn outcome(mut world: World<'_>) -> Outcome {
    let experiment = world.experiment;
    let mut paths = Vec::new();
    let mut timelines = Vec::new();
    for (i, (spec, path)) in experiment.paths.iter().zip(&world.network.paths).enumerate() {
        let id = mptcp::PathId(i as u8);
        let ends = world.connections.iter().flat_map(|c| [c.client.subflow(id), c.server.subflow(id)]);
        let totals = PathTotals {
            meters: &path.meters,
            payload_down: path.payload_down,
            payload_up: path.payload_up,
            wire_down: path.wire_down,
            wire_up: path.wire_up,
            stats: [world.network.stats(path.down), world.network.stats(path.up)],
            retransmissions: ends.flatten().map(|info| info.retransmissions).sum(),
        };
        let boxes = path.boxes.iter().flat_map(|boxes| boxes.stats());
        let boxes = boxes.map(|(config, stats)| MiddleboxOutcome::of(config, &stats)).collect();
        paths.push(totals.outcome(spec, experiment.duration, boxes));
        timelines.push(totals.timeline(spec));
    }

    let now = world.now;
    let connections: Vec<ConnectionOutcome> = world
        .connections
        .iter_mut()
        .map(|connection| {
            let config = &connection.config;
            let complete =
                connection.client.is_closed() && connection.server.is_closed() && !connection.failed;
            let completed_s =
                connection.last_byte.filter(|_| complete).map(|last| last.since(config.start).as_secs_f64());
            let span = goodput_span(config, completed_s, experiment.duration);
            ConnectionOutcome {
                kind: config.kind.name(),
                direction: if connection.is_down() { "down" } else { "up" },
                protocol: protocol(&connection.client),
                offered_bytes: connection.app.offered(),
                dropped_bytes: connection.app.dropped(),
                delivered_bytes: connection.delivered,
                corrupted_bytes: connection.corrupted,
                goodput_mbps: if span > 0.0 { connection.delivered as f64 * 8e-6 / span } else { 0.0 },
                completed_s,
                peak_out_of_order_bytes: Some(connection.largest_gap),
                repeated_bytes: Some(connection.client.repeated() + connection.server.repeated()),
                failed: connection.failed,
                video: connection.talk.take().map(|talk| talk.finish(now)),
            }
        })
        .collect();
    let meters: Vec<&Meter> = world.network.paths.iter().map(|path| &path.meters[0]).collect();
    let device = DeviceOutcome::of(experiment, &meters, &connections, world.steering.changes);
    Outcome {
        seed: experiment.seed.get(),
        duration_s: experiment.duration.as_secs_f64(),
        device,
        connections,
        paths,
        background: world.background.iter().map(|flow| BackgroundOutcome::of(flow, experiment)).collect(),
        deliveries: world.deliveries.into_iter().map(Delivery::outcome).collect(),
        segments: world.segments,
        series: world.recorder.into_series(experiment),
        timelines,
        capture: world.capture.map(crate::capture::Capture::into_bytes),
    }
}

/// What a connection speaks in the end.
fn protocol(client: &Endpoint<Span>) -> &'static str {
    match client.mode() {
        Mode::Mptcp if client.speaks_rec() => "mptcp-rec",
        Mode::Mptcp => "mptcp",
        Mode::Offered | Mode::Tcp => "tcp",
    }
}
