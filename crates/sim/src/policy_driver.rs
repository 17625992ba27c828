//! Policy driver: measures the device's paths for its policy, and applies the policy's actions.

use crate::connection::Connection;
use crate::experiment::{Experiment, Protocol};
use crate::network::Path;
use crate::world::World;
use mptcp::PathId;
use mptcp::scheduler::Offload;
use policy::{Action, Channel, DeviceState, Ledger, PathRoundTrip, PathState, Policy};
use radio::JointActivity;
use std::collections::BTreeMap;
use tracing::{debug, info_span};
use units::{Bytes, Duration, Energy, Instant};

#[derive(Debug)]
pub(crate) struct PolicyDriver {
    /// Index of the device.
    device: usize,
    policy: Box<dyn Policy>,
    state: DeviceState,
    actions: Vec<Action>,
    last_observed: Instant,
    paths: Vec<PathObserver>,
    /// Joint activity of the radios.
    joint: JointActivity,
    /// Shares of the last [`Action::Share`].
    shares: Option<Vec<f64>>,
    /// Number of actions that changed a priority, the shares or the rule of offloading.
    pub(crate) changes: u64,
}

/// Measurements of one path between observations.
#[derive(Debug)]
struct PathObserver {
    /// Bytes with all headers at the last observation.
    wire_down: u64,
    wire_up: u64,
    /// Round-trip time over the connections, by their index.
    round_trip: PathRoundTrip<usize>,
    /// Account of the data allowance, if there is one.
    ledger: Option<Ledger>,
}

impl PolicyDriver {
    pub(crate) fn new(device: usize, experiment: &Experiment) -> Self {
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        let observer = |path: &crate::experiment::PathSpec| PathObserver {
            wire_down: 0,
            wire_up: 0,
            round_trip: PathRoundTrip::default(),
            ledger: path.allowance.map(|plan| Ledger::new(plan, experiment.duration)),
        };
        Self {
            device,
            policy: experiment.device.policy.build(&kinds),
            state: DeviceState::new(kinds.iter().map(|&kind| PathState::new(kind)).collect()),
            actions: Vec::new(),
            last_observed: Instant::ZERO,
            paths: experiment.paths.iter().map(observer).collect(),
            joint: JointActivity::new(),
            shares: None,
            changes: 0,
        }
    }

    /// Runs the policy on the current state and applies its actions. Returns the interval until the
    /// policy wants to run again.
    pub(crate) fn run(&mut self, world: &mut World<'_>) -> Option<Duration> {
        self.observe(world);
        let _span = info_span!("policy").entered();
        self.policy.observe(world.now, &self.state, &mut self.actions);
        let interval = self.policy.interval();
        let mut actions = core::mem::take(&mut self.actions);
        if let Protocol::Mptcp = world.devices[self.device].experiment.transport.protocol {
            for action in actions.drain(..) {
                self.apply(&action, world);
            }
        }
        actions.clear();
        self.actions = actions;
        interval
    }

    fn observe(&mut self, world: &mut World<'_>) {
        let now = world.now;
        let span = now.since(self.last_observed);
        self.last_observed = now;
        let device = &world.devices[self.device];
        let connections = &mut world.connections[device.connections.clone()];
        device.paths.clone().for_each(|path| world.network.count_sent(now, path));
        let paths = &mut world.network.paths[device.paths.clone()];
        let videos = connections.iter().filter_map(|connection| connection.video.as_ref());
        self.state.app = crate::video::app_state(now, videos.map(|video| video.sight(now)));
        let observers = self.paths.iter_mut().zip(&mut self.state.paths);
        for (i, (path, (observer, state))) in paths.iter_mut().zip(observers).enumerate() {
            observer.observe_path(now, span, path, state);
            observer.observe_subflows(connections, PathId(i as u8), state);
        }
        let meters = paths.iter().map(|path| &path.meters[0]);
        let radios: Energy = meters.clone().map(radio::Meter::energy).sum();
        let joint = device.experiment.device.joint_power * self.joint.update(meters);
        self.state.energy = Some(radios + joint);
        let delivered = connections.iter().map(|connection| connection.delivered).sum();
        self.state.delivered = Some(Bytes::new(delivered));
    }

    fn apply(&mut self, action: &Action, world: &mut World<'_>) {
        let device = &world.devices[self.device];
        let (first_path, own) = (device.paths.start, device.connections.clone());
        let connections = &mut world.connections[own.clone()];
        match action {
            Action::SetBackup { path, backup } => {
                if world.network.paths[first_path + *path].backup != *backup {
                    self.changes += 1;
                    debug!(path, backup, "priority set");
                }
                world.network.paths[first_path + *path].backup = *backup;
                for connection in connections {
                    connection.client.set_priority(PathId(*path as u8), *backup);
                }
            }
            Action::Open { path } => {
                debug!(path, "path opened");
                world.network.paths[first_path + *path].wanted = true;
                own.for_each(|i| world.open_paths(i));
            }
            Action::Close { path } => {
                debug!(path, "path closed");
                world.network.paths[first_path + *path].wanted = false;
                for connection in connections {
                    connection.client.remove(PathId(*path as u8), true);
                    connection.set_rejoin(PathId(*path as u8), None);
                }
            }
            Action::Share { path_shares } => {
                if self.shares.as_ref() != Some(path_shares) {
                    self.changes += 1;
                    self.shares = Some(path_shares.clone());
                }
                for connection in connections {
                    connection.sender().set_shares(path_shares);
                }
            }
            Action::Offload { costly, share } => {
                self.changes += 1;
                for connection in connections {
                    let rule = Offload { costly: costly.clone(), share: *share };
                    connection.sender().set_offload(Some(rule));
                }
            }
        }
    }
}

impl PathObserver {
    /// Measures the interface of a path over the last `span`.
    fn observe_path(&mut self, now: Instant, span: Duration, path: &mut Path, state: &mut PathState) {
        let received = path.wire_down - self.wire_down;
        let sent = path.wire_up - self.wire_up;
        (self.wire_down, self.wire_up) = (path.wire_down, path.wire_up);
        state.up = path.present && path.wanted;
        state.backup = path.backup;
        state.bytes_down = path.wire_down;
        state.bytes_up = path.wire_up;
        state.rate_down = Bytes::new(received).per(span);
        state.rate_up = Bytes::new(sent).per(span);
        // The policy decides for how long an idle interface still counts as receiving.
        state.channel = if received > 0 { Channel::Rx } else { Channel::Idle };
        let meter = &mut path.meters[0];
        meter.advance(now);
        state.awake = meter.state() != radio::State::Idle;
        state.energy = Some(meter.energy());
        state.energy_per_mbit = meter.profile().energy_per_mbit_carried(state.rate_up, state.rate_down);
        if let Some(ledger) = &mut self.ledger {
            let (left, until) = ledger.remaining(now, path.wire_down + path.wire_up);
            (state.allowance_left, state.allowance_until) = (Some(left), Some(until));
        }
    }

    /// Sums the windows and queues of a path's subflows over all connections, and measures its
    /// round-trip time.
    fn observe_subflows(&mut self, connections: &mut [Connection], path: PathId, state: &mut PathState) {
        (state.cwnd, state.queued) = (None, 0);
        let mut round_trips = BTreeMap::new();
        for (i, connection) in connections.iter_mut().enumerate() {
            if let Some(info) = connection.sender().subflow(path).filter(|info| info.up) {
                round_trips.extend(info.srtt.map(|srtt| (i, srtt)));
                state.cwnd = Some(state.cwnd.unwrap_or(0) + info.cwnd);
                state.queued += info.in_flight + info.queued;
            }
        }
        state.srtt = self.round_trip.observe(round_trips);
    }
}
