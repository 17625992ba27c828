//! The device's policy: shown what the device can know, and obeyed.

use crate::world::World;
use crate::{Experiment, Protocol};
use mptcp::PathId;
use policy::{Action, Channel, DeviceState, Ledger, PathState, Policy};
use units::{Bytes, Duration, Instant};

#[derive(Debug)]
pub(crate) struct Steering {
    policy: Box<dyn Policy>,
    state: DeviceState,
    actions: Vec<Action>,
    last: Instant,
    /// Bytes down and up at the last look.
    seen: Vec<(u64, u64)>,
    /// The account of each path's data allowance, if it has one.
    ledgers: Vec<Option<Ledger>>,
    /// The shares that were set last.
    shares: Option<Vec<f64>>,
    /// How often the policy changed something.
    pub(crate) changes: u64,
}

impl Steering {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        Self {
            policy: experiment.device.policy.build(&kinds),
            state: DeviceState { paths: kinds.iter().map(|&kind| PathState::new(kind)).collect(), app: None },
            actions: Vec::new(),
            last: Instant::ZERO,
            seen: vec![(0, 0); experiment.paths.len()],
            ledgers: experiment
                .paths
                .iter()
                .map(|path| path.allowance.map(|plan| Ledger::new(plan, experiment.duration)))
                .collect(),
            shares: None,
            changes: 0,
        }
    }
}

impl World<'_> {
    /// Shows the device to its policy and does what it asks. Returns how soon it wants to look again.
    pub(crate) fn observe(&mut self) -> Option<Duration> {
        self.look();
        let steering = &mut self.steering;
        steering.policy.observe(self.now, &steering.state, &mut steering.actions);
        let interval = steering.policy.interval();
        let mut actions = core::mem::take(&mut self.steering.actions);
        if let Protocol::Mptcp = self.experiment.transport.protocol {
            for action in actions.drain(..) {
                self.act(&action);
            }
        }
        actions.clear();
        self.steering.actions = actions;
        interval
    }

    fn look(&mut self) {
        let now = self.now;
        let span = now.since(self.steering.last);
        self.steering.last = now;
        let talks = self.connections.iter().filter_map(|connection| connection.talk.as_ref());
        self.steering.state.app = crate::video::app_state(now, talks.map(|talk| talk.sight(now)));
        for (i, path) in self.network.paths.iter_mut().enumerate() {
            let state = &mut self.steering.state.paths[i];
            let (down, up) = self.steering.seen[i];
            state.up = path.present && path.wanted;
            state.backup = path.backup;
            state.bytes_down = path.wire_down;
            state.bytes_up = path.wire_up;
            state.rate_down = Bytes::new(path.wire_down - down).per(span);
            state.rate_up = Bytes::new(path.wire_up - up).per(span);
            // How long a quiet interface still counts as receiving is for the policy to say.
            state.channel = if path.wire_down > down { Channel::Rx } else { Channel::Idle };
            self.steering.seen[i] = (path.wire_down, path.wire_up);
            let meter = &mut path.meters[0];
            meter.advance(now);
            state.awake = meter.state() != radio::State::Idle;
            let rate = state.rate_down;
            state.energy_per_mbit = (rate.as_bps() > 0).then(|| meter.profile().energy_per_mbit(rate));
            if let Some(ledger) = &mut self.steering.ledgers[i] {
                let (left, until) = ledger.look(now, path.wire_down + path.wire_up);
                (state.allowance_left, state.allowance_until) = (Some(left), Some(until));
            }
            let id = PathId(i as u8);
            (state.srtt, state.cwnd, state.queued) = (None, None, 0);
            for connection in &mut self.connections {
                if let Some(info) = connection.sender().subflow(id).filter(|info| info.up) {
                    state.srtt = info.srtt.or(state.srtt);
                    state.cwnd = Some(state.cwnd.unwrap_or(0) + info.cwnd);
                    state.queued += info.in_flight + info.queued;
                }
            }
        }
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::SetBackup { path, backup } => {
                self.steering.changes += u64::from(self.network.paths[*path].backup != *backup);
                self.network.paths[*path].backup = *backup;
                for connection in &mut self.connections {
                    connection.client.set_priority(PathId(*path as u8), *backup);
                }
            }
            Action::Open { path } => {
                self.network.paths[*path].wanted = true;
                (0..self.connections.len()).for_each(|i| self.open_paths(i));
            }
            Action::Close { path } => {
                self.network.paths[*path].wanted = false;
                for connection in &mut self.connections {
                    connection.client.remove(PathId(*path as u8), true);
                    connection.set_rejoin(PathId(*path as u8), None);
                }
            }
            Action::Share { path_shares } => {
                if self.steering.shares.as_ref() != Some(path_shares) {
                    self.steering.changes += 1;
                    self.steering.shares = Some(path_shares.clone());
                }
                for connection in &mut self.connections {
                    connection.sender().set_shares(path_shares);
                }
            }
        }
    }
}
