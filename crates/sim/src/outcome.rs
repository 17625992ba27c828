//! What came of a run.

use crate::Experiment;
use crate::background::Background;
use crate::world::World;
use link::LinkStats;
use middlebox::{MiddleboxConfig, MiddleboxStats};
use mptcp::Mode;
use radio::{Battery, Meter, Together};
use serde::Serialize;
use traffic::Direction;
use units::Time;

/// Everything that a run measured. Serialises in a fixed order; the capture is left to the caller.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The seed of the run.
    pub seed: u64,
    /// Simulated time, in seconds.
    pub duration_s: f64,
    /// The device as a whole.
    pub device: DeviceOutcome,
    /// One for each `[[traffic]]`.
    pub connections: Vec<ConnectionOutcome>,
    /// One for each `[[path]]`.
    pub paths: Vec<PathOutcome>,
    /// One for each flow of datagrams.
    pub background: Vec<BackgroundOutcome>,
    /// Segments that reached an endpoint.
    pub segments: u64,
    /// Rows at a fixed interval.
    #[serde(skip)]
    pub series: Series,
    /// The power states of each path's interface.
    #[serde(skip)]
    pub timelines: Vec<Timeline>,
    /// A pcapng file, if one was asked for.
    #[serde(skip)]
    pub capture: Option<Vec<u8>>,
}

/// The device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceOutcome {
    /// Its name.
    pub name: String,
    /// The policy's name.
    pub policy: String,
    /// Drawn by all its radios, in joules.
    pub energy_j: f64,
    /// Of which because two radios were active at once.
    pub joint_energy_j: f64,
    /// Mean power, in watts.
    pub energy_rate_w: f64,
    /// How long a full battery lasts at that power, in seconds; `null` where nothing was drawn.
    pub lifespan_s: Option<f64>,
    /// What is left of the battery at the end, from 0 to 1.
    pub battery_left: f64,
    /// Megabits delivered to applications per joule.
    pub efficiency_mbit_per_j: Option<f64>,
    /// How often the policy changed a priority or the shares.
    pub policy_changes: u64,
}

/// One application and its connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionOutcome {
    /// What kind of application.
    pub kind: &'static str,
    /// `down` or `up`.
    pub direction: &'static str,
    /// `mptcp` or `tcp`, as it came out of the handshake.
    pub protocol: &'static str,
    /// What the application wanted to write, in bytes.
    pub offered_bytes: u64,
    /// What found the send buffer full and was dropped, in bytes.
    pub dropped_bytes: u64,
    /// What the other application read, in bytes.
    pub delivered_bytes: u64,
    /// Of which in segments that a middlebox had changed: no checksum found it.
    pub corrupted_bytes: u64,
    /// Delivered over the time from start to the last byte if it is complete, else to the stop or the
    /// end of the run, in Mbit/s.
    pub goodput_mbps: f64,
    /// From start to the last byte, in seconds, if everything written was delivered and closed.
    pub completed_s: Option<f64>,
    /// The most that waited beyond a gap, in bytes.
    pub peak_out_of_order_bytes: u64,
    /// Sent over one path after another had it, in bytes: reinjected, sent again opportunistically, or
    /// copied by the redundant scheduler.
    pub repeated_bytes: u64,
    /// The connection was lost.
    pub failed: bool,
}

/// One path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathOutcome {
    /// Its name.
    pub name: String,
    /// Its radio's profile.
    pub radio: String,
    /// Payload that reached the device, in bytes.
    pub payload_down_bytes: u64,
    /// Payload that the device sent, in bytes.
    pub payload_up_bytes: u64,
    /// The same with all headers.
    pub wire_down_bytes: u64,
    /// The same with all headers.
    pub wire_up_bytes: u64,
    /// Mean payload rate to the device, in Mbit/s.
    pub rate_down_mbps: f64,
    /// Mean payload rate from the device, in Mbit/s.
    pub rate_up_mbps: f64,
    /// Packets dropped at a full queue, or early by CoDel, both ways.
    pub dropped_packets: u64,
    /// Packets that CoDel marked instead of dropping them, both ways.
    pub marked_packets: u64,
    /// Packets lost on the way, both ways.
    pub lost_packets: u64,
    /// Packets damaged on the way, both ways; lost like the others, but not among them.
    pub damaged_packets: u64,
    /// Packets that became two on the way, both ways.
    pub doubled_packets: u64,
    /// Segments sent again, both ways.
    pub retransmissions: u64,
    /// What its middleboxes did, from the device on.
    pub middleboxes: Vec<MiddleboxOutcome>,
    /// What its interface drew.
    pub energy: EnergyOutcome,
    /// What the same traffic draws under other profiles.
    pub also: Vec<EnergyOutcome>,
}

/// One flow of datagrams beside the connections. What was not delivered was dropped, lost, damaged, or
/// is still under way.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BackgroundOutcome {
    /// The path's name.
    pub path: String,
    /// `down` or `up`.
    pub direction: &'static str,
    /// Datagrams that were sent.
    pub offered_packets: u64,
    /// The same in bytes, with all headers.
    pub offered_bytes: u64,
    /// Datagrams that arrived, doubles counted.
    pub delivered_packets: u64,
    /// The same in bytes, with all headers.
    pub delivered_bytes: u64,
    /// How long those were under way in the mean, in seconds; `null` where none arrived.
    pub mean_delay_s: Option<f64>,
    /// The longest, in seconds.
    pub longest_delay_s: f64,
}

fn background_of(flow: &Background, experiment: &Experiment) -> BackgroundOutcome {
    let mean = flow.delays.checked_div(u128::from(flow.delivered));
    BackgroundOutcome {
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

/// What a middlebox did, in segments of both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MiddleboxOutcome {
    /// What it is.
    pub kind: &'static str,
    /// Came to it.
    pub seen: u64,
    /// Left it otherwise than they came.
    pub changed: u64,
    /// Pieces beyond the first of what it cut.
    pub added: u64,
    /// Became part of another.
    pub merged: u64,
    /// It dropped.
    pub dropped: u64,
    /// Resets that it sent.
    pub answered: u64,
}

fn middlebox_of(config: &MiddleboxConfig, stats: &MiddleboxStats) -> MiddleboxOutcome {
    let &MiddleboxStats { seen, changed, added, merged, dropped, answered, .. } = stats;
    MiddleboxOutcome { kind: config.meddling.name(), seen, changed, added, merged, dropped, answered }
}

/// Where an interface's energy went, in joules.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnergyOutcome {
    /// The profile.
    pub radio: String,
    /// All of it.
    pub total_j: f64,
    /// Waiting for paging.
    pub idle_j: f64,
    /// Waking up.
    pub promotion_j: f64,
    /// Being active, apart from what the data rate adds.
    pub active_j: f64,
    /// What the data itself added.
    pub data_j: f64,
    /// Staying awake after the last packet.
    pub tail_j: f64,
}

/// Rows at a fixed interval, by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Seconds between rows; the first row is at one interval.
    pub interval_s: f64,
    /// The columns, all of one length.
    pub columns: Vec<SeriesColumn>,
}

/// One column of a [`Series`].
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesColumn {
    /// `owner.quantity_unit`, such as `wifi.rate_down_mbps`.
    pub name: String,
    /// The unit for an axis.
    pub unit: &'static str,
    /// A value for each row.
    pub values: Vec<f64>,
}

impl Series {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&SeriesColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}

/// The power states of one path's interface: from when on, and which.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// The path.
    pub path: String,
    /// In order of time.
    pub states: Vec<(Time, String)>,
}

fn energy_of(meter: &Meter) -> EnergyOutcome {
    let parts = meter.breakdown();
    EnergyOutcome {
        radio: meter.profile().name.clone(),
        total_j: meter.energy().as_joules(),
        idle_j: parts.idle.as_joules(),
        promotion_j: parts.promotion.as_joules(),
        active_j: parts.active.as_joules(),
        data_j: parts.data.as_joules(),
        tail_j: parts.tail.as_joules(),
    }
}

pub(crate) fn outcome(mut world: World<'_>) -> Outcome {
    let experiment = world.experiment;
    let seconds = experiment.duration.as_secs_f64();
    let per_second = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 };

    let mut paths = Vec::new();
    let mut timelines = Vec::new();
    for (i, (spec, path)) in experiment.paths.iter().zip(&world.network.paths).enumerate() {
        let (down, up) = (world.network.stats(path.down), world.network.stats(path.up));
        let id = mptcp::PathId(i as u8);
        let repeated = world
            .connections
            .iter()
            .flat_map(|c| [c.client.subflow(id), c.server.subflow(id)])
            .flatten()
            .map(|info| info.retransmissions)
            .sum();
        let own = &path.meters[0];
        let both = |of: fn(&LinkStats) -> u64| of(&down) + of(&up);
        let middleboxes = path.boxes.iter().flat_map(|boxes| boxes.stats());
        paths.push(PathOutcome {
            name: spec.name.clone(),
            radio: spec.profile.name.clone(),
            payload_down_bytes: path.payload_down,
            payload_up_bytes: path.payload_up,
            wire_down_bytes: path.wire_down,
            wire_up_bytes: path.wire_up,
            rate_down_mbps: per_second(path.payload_down),
            rate_up_mbps: per_second(path.payload_up),
            dropped_packets: both(|s| s.dropped_full + s.dropped_early),
            marked_packets: both(|s| s.marked),
            lost_packets: both(|s| s.lost),
            damaged_packets: both(|s| s.corrupted),
            doubled_packets: both(|s| s.duplicated),
            retransmissions: repeated,
            middleboxes: middleboxes.map(|(config, stats)| middlebox_of(config, &stats)).collect(),
            energy: energy_of(own),
            also: path.meters[1..].iter().map(energy_of).collect(),
        });
        let states =
            own.timeline().iter().map(|&(at, state)| (at, own.profile().state_name(state).to_owned()));
        timelines.push(Timeline { path: spec.name.clone(), states: states.collect() });
    }

    let end = Time::ZERO + experiment.duration;
    let connections: Vec<ConnectionOutcome> = world
        .connections
        .iter_mut()
        .map(|connection| {
            let config = &connection.config;
            let kind = config.kind.name();
            let direction = if connection.is_down() { "down" } else { "up" };
            let complete =
                connection.client.is_closed() && connection.server.is_closed() && !connection.failed;
            let start = connection.config.start;
            let completed_s =
                connection.last_byte.filter(|_| complete).map(|last| last.since(start).as_secs_f64());
            let whole = config.stop.unwrap_or(end).min(end).since(start).as_secs_f64();
            let span = completed_s.unwrap_or(whole);
            ConnectionOutcome {
                kind,
                direction,
                protocol: if connection.client.mode() == Mode::Mptcp { "mptcp" } else { "tcp" },
                offered_bytes: connection.app.offered(),
                dropped_bytes: connection.app.dropped(),
                delivered_bytes: connection.delivered,
                corrupted_bytes: connection.corrupted,
                goodput_mbps: if span > 0.0 { connection.delivered as f64 * 8e-6 / span } else { 0.0 },
                completed_s,
                peak_out_of_order_bytes: connection.largest_gap,
                repeated_bytes: connection.client.repeated() + connection.server.repeated(),
                failed: connection.failed,
            }
        })
        .collect();

    let mut together = Together::new();
    let both = together.update(world.network.paths.iter().map(|path| &path.meters[0]).collect::<Vec<_>>());
    let joint = experiment.device.joint_power * both;
    let radios: units::Energy = world.network.paths.iter().map(|path| path.meters[0].energy()).sum();
    let energy = radios + joint;
    let rate = energy.per(experiment.duration);
    let battery = Battery::new(experiment.device.battery);
    let delivered_mbit: f64 = connections.iter().map(|c| c.delivered_bytes as f64 * 8e-6).sum();
    let joules = energy.as_joules();
    let device = DeviceOutcome {
        name: experiment.device.name.clone(),
        policy: experiment.device.policy.to_string(),
        energy_j: joules,
        joint_energy_j: joint.as_joules(),
        energy_rate_w: rate.as_watts(),
        lifespan_s: (joules > 0.0).then(|| battery.lifespan(rate).as_secs_f64()),
        battery_left: battery.level(energy),
        efficiency_mbit_per_j: (joules > 0.0).then(|| delivered_mbit / joules),
        policy_changes: world.steering.changes,
    };
    Outcome {
        seed: experiment.seed.get(),
        duration_s: seconds,
        device,
        connections,
        paths,
        background: world.background.iter().map(|flow| background_of(flow, experiment)).collect(),
        segments: world.segments,
        series: world.recorder.into_series(experiment),
        timelines,
        capture: world.capture.map(crate::capture::Capture::into_bytes),
    }
}
