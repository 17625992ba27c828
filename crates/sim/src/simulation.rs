//! Event loop of a run, and the events that concern all connections: paths, policy and recorder.

use crate::build_outcome::build_outcome;
use crate::cells::{CellRecorder, CrowdOutcome};
use crate::connection::End;
use crate::delivery::DeliveryRecorder;
use crate::event_source::EventSource;
use crate::experiment::Setup;
use crate::log_clock;
use crate::policy_driver::PolicyDriver;
use crate::recorder::Recorder;
use crate::world::World;
use core::ops::ControlFlow;
use mptcp::PathId;
use tracing::{debug, info};
use units::Instant;

/// Events between two reports of progress: some milliseconds, so that a run stops promptly.
const PROGRESS_INTERVAL_EVENTS: u64 = 1 << 14;

#[derive(Debug)]
pub(crate) struct Simulation<'a> {
    world: World<'a>,
    /// One for each device.
    policies: Vec<PolicyDriver>,
    /// One for each device.
    recorders: Vec<Recorder>,
    cells: CellRecorder,
}

impl<'a> Simulation<'a> {
    pub(crate) fn new(setup: Setup<'a>) -> Self {
        let devices = setup.devices.iter().enumerate();
        Self {
            world: World::new(setup),
            policies: devices.map(|(i, experiment)| PolicyDriver::new(i, experiment)).collect(),
            recorders: setup.devices.iter().map(Recorder::new).collect(),
            cells: CellRecorder::new(&setup),
        }
    }

    /// Also records the deliveries of each connection.
    pub(crate) fn with_deliveries(mut self) -> Self {
        let recorder = DeliveryRecorder::new(self.world.setup.duration);
        self.world.delivery_recorders = vec![recorder; self.world.connections.len()];
        self
    }

    /// Runs to the end, or until `progress` breaks: the simulation is then of no use.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> ControlFlow<()> {
        let end = Instant::ZERO + self.world.setup.duration;
        log_clock::set(Some(Instant::ZERO));
        let devices = self.world.setup.devices.iter();
        for (path, spec) in devices.flat_map(|device| &device.paths).enumerate() {
            info!(path, name = %spec.name, kind = ?spec.profile.kind, "path");
        }
        self.schedule_first_events();
        let mut report = |at: Instant| progress(at.as_secs_f64() / end.as_secs_f64());
        let mut events: u64 = 0;
        while let Some((at, source)) = self.world.queue.next().filter(|&(at, _)| at <= end) {
            self.world.now = at;
            if log_clock::is_on() {
                log_clock::set(Some(at));
            }
            self.handle_event(source);
            events += 1;
            if events.is_multiple_of(PROGRESS_INTERVAL_EVENTS) {
                report(at)?;
            }
        }
        self.world.now = end;
        log_clock::set(None);
        let network = &mut self.world.network;
        for path in 0..network.paths.len() {
            network.count_sent(end, path);
            for meter in &mut network.paths[path].meters {
                meter.advance(end);
            }
        }
        ControlFlow::Continue(())
    }

    /// Outcomes of all devices and cells.
    pub(crate) fn into_outcome(mut self) -> CrowdOutcome {
        let cells = self.cells.into_outcome(&mut self.world);
        let changes = self.policies.iter().map(|policy| policy.changes);
        let series = self.recorders.into_iter().map(Recorder::into_series);
        build_outcome(self.world, series.zip(changes), cells)
    }

    fn schedule_first_events(&mut self) {
        let world = &mut self.world;
        for i in 0..world.network.media.len() {
            let next = world.network.media[i].next();
            world.schedule(EventSource::Medium(i), next);
        }
        for i in 0..world.connections.len() {
            world.schedule(EventSource::App(i), Some(world.connections[i].config.start));
        }
        let devices = world.setup.devices;
        for (i, spec) in devices.iter().flat_map(|device| &device.paths).enumerate() {
            let next = if spec.join_at > Instant::ZERO { Some(spec.join_at) } else { spec.leave_at };
            world.schedule(EventSource::Path(i), next);
        }
        for i in 0..world.background.len() {
            let next = world.background[i].next();
            world.schedule(EventSource::Background(i), next);
        }
        for (i, sample) in devices.iter().map(|device| device.sample).enumerate() {
            if !sample.is_zero() {
                world.schedule(EventSource::Recorder(i), Some(Instant::ZERO + sample));
            }
        }
        if !world.setup.cell_sample.is_zero() {
            world.schedule(EventSource::Cells, Some(Instant::ZERO + world.setup.cell_sample));
        }
        // The policies decide before the first connection chooses its paths.
        (0..devices.len()).for_each(|device| self.on_policy(device));
    }

    /// Handles the first event of the queue. A medium reschedules its event in place; other sources
    /// are removed first.
    fn handle_event(&mut self, source: EventSource) {
        if !matches!(source, EventSource::Medium(_)) {
            self.world.queue.pop();
        }
        match source {
            EventSource::Medium(i) => self.world.on_medium(i),
            EventSource::Client(i) => self.world.on_end_timer(i, End::Client),
            EventSource::Server(i) => self.world.on_end_timer(i, End::Server),
            EventSource::App(i) => self.world.on_app(i),
            EventSource::Path(i) => self.on_path(i),
            EventSource::Policy(i) => self.on_policy(i),
            EventSource::Recorder(i) => self.on_recorder(i),
            EventSource::Cells => self.on_cells(),
            EventSource::Background(i) => self.world.on_background(i),
            EventSource::Middleboxes(i) => self.world.on_middleboxes(i),
        }
    }

    /// The interface of a path comes up or goes away.
    fn on_path(&mut self, path: usize) {
        let world = &mut self.world;
        let index = world.network.paths[path].device;
        let device = &world.devices[index];
        let (experiment, connections) = (device.experiment, device.connections.clone());
        let id = PathId((path - device.paths.start) as u8);
        let spec = &experiment.paths[id.index()];
        let leaves = spec.leave_at.is_some_and(|at| at <= world.now);
        world.network.count_sent(world.now, path);
        world.network.paths[path].present = !leaves;
        debug!(path, up = !leaves, "interface changed");
        for i in connections {
            if leaves {
                world.connections[i].client.remove(id, false);
                world.connections[i].set_rejoin(id, None);
            } else {
                world.open_paths(i);
            }
            world.settle(i);
        }
        let next = if leaves { None } else { spec.leave_at };
        world.schedule(EventSource::Path(path), next);
        self.on_policy(index);
    }

    fn on_policy(&mut self, device: usize) {
        let world = &mut self.world;
        let interval = self.policies[device].run(world);
        for i in world.devices[device].connections.clone() {
            world.settle(i);
        }
        let next = interval.map(|interval| world.now + interval);
        world.schedule(EventSource::Policy(device), next);
    }

    fn on_recorder(&mut self, device: usize) {
        let world = &mut self.world;
        self.recorders[device].record(world, device);
        let next = world.now + world.devices[device].experiment.sample;
        world.schedule(EventSource::Recorder(device), Some(next));
    }

    fn on_cells(&mut self) {
        let world = &mut self.world;
        self.cells.record(world.now, &mut world.network.media);
        let next = world.now + world.setup.cell_sample;
        world.schedule(EventSource::Cells, Some(next));
    }
}
