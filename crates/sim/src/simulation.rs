//! Event loop of a run, and the events that concern all connections: paths, policy and recorder.

use crate::build_outcome::build_outcome;
use crate::connection::End;
use crate::delivery::DeliveryRecorder;
use crate::event_source::EventSource;
use crate::experiment::Experiment;
use crate::log_clock;
use crate::outcome::Outcome;
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
    policy: PolicyDriver,
    recorder: Recorder,
}

impl<'a> Simulation<'a> {
    pub(crate) fn new(experiment: &'a Experiment) -> Self {
        Self {
            world: World::new(experiment),
            policy: PolicyDriver::new(experiment),
            recorder: Recorder::new(experiment),
        }
    }

    /// Also records the deliveries of each connection.
    pub(crate) fn with_deliveries(mut self) -> Self {
        let recorder = DeliveryRecorder::new(self.world.experiment.duration);
        self.world.delivery_recorders = vec![recorder; self.world.connections.len()];
        self
    }

    /// Runs to the end, or until `progress` breaks: the simulation is then of no use.
    pub(crate) fn run(&mut self, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> ControlFlow<()> {
        let end = Instant::ZERO + self.world.experiment.duration;
        log_clock::set(Some(Instant::ZERO));
        for (path, spec) in self.world.experiment.paths.iter().enumerate() {
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
        for path in &mut self.world.network.paths {
            for meter in &mut path.meters {
                meter.advance(end);
            }
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        let series = self.recorder.into_series();
        build_outcome(self.world, series, self.policy.changes)
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
        for (i, spec) in world.experiment.paths.iter().enumerate() {
            let next = if spec.join_at > Instant::ZERO { Some(spec.join_at) } else { spec.leave_at };
            world.schedule(EventSource::Path(i), next);
        }
        for i in 0..world.background.len() {
            let next = world.background[i].next();
            world.schedule(EventSource::Background(i), next);
        }
        let sample = world.experiment.sample;
        if !sample.is_zero() {
            world.schedule(EventSource::Recorder, Some(Instant::ZERO + sample));
        }
        // The policy decides before the first connection chooses its paths.
        self.on_policy();
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
            EventSource::Policy => self.on_policy(),
            EventSource::Recorder => self.on_recorder(),
            EventSource::Background(i) => self.world.on_background(i),
            EventSource::Middleboxes(i) => self.world.on_middleboxes(i),
        }
    }

    /// The interface of a path comes up or goes away.
    fn on_path(&mut self, path: usize) {
        let world = &mut self.world;
        let spec = &world.experiment.paths[path];
        let id = PathId(path as u8);
        let leaves = spec.leave_at.is_some_and(|at| at <= world.now);
        world.network.paths[path].present = !leaves;
        debug!(path, up = !leaves, "interface changed");
        for i in 0..world.connections.len() {
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
        self.on_policy();
    }

    fn on_policy(&mut self) {
        let world = &mut self.world;
        let interval = self.policy.run(world);
        for i in 0..world.connections.len() {
            world.settle(i);
        }
        let next = interval.map(|interval| world.now + interval);
        world.schedule(EventSource::Policy, next);
    }

    fn on_recorder(&mut self) {
        let world = &mut self.world;
        self.recorder.record(world.now, &mut world.network, &mut world.connections);
        let next = world.now + world.experiment.sample;
        world.schedule(EventSource::Recorder, Some(next));
    }
}
