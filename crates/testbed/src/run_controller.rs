//! Control loop of a run: interfaces come and go, the policy runs, faults occur, and samples are
//! taken.

use crate::Error;
use crate::faults::{Fault, FaultSchedule};
use crate::reaction::{Decision, ReactionMeter};
use crate::settings::Settings;
use crate::stacks::StackKind;
use crate::subflow_monitor::SubflowMonitor;
use crate::topology::Topology;
use crate::traffic::Flow;
use crate::translation::{policy_for_device, sends_by_kernel};
use agent::{InterfaceSample, Steering};
use emulator::{Driver, FlowHook, Network, RunningDriver, SharedNetwork};
use linux::clock::Clock;
use linux::diag::Subflow;
use linux::tun::Tun;
use mptcp::scheduler::Offload;
use policy::{Action, Ledger};
use radio::{JointActivity, State};
use sim::{Experiment, Series};
use std::fs::File;
use std::io::Write;
use std::iter::Peekable;
use std::sync::atomic::{AtomicBool, Ordering};
use std::vec::IntoIter;
use units::{Bytes, Duration, Instant};

/// Interval at which the loop checks whether it must stop.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Times of the next periodic tasks, and the scenario's changes of interfaces.
struct Timers {
    policy: Instant,
    subflows: Instant,
    row: Instant,
    /// Time, path, and whether its interface comes up; in order.
    interface_changes: Peekable<IntoIter<(Instant, usize, bool)>>,
}

impl Timers {
    /// Timers at the start of a run. `policy_interval` is `None` if the policy runs only once.
    fn new(experiment: &Experiment, policy_interval: Option<Duration>) -> Self {
        let sample = experiment.sample;
        let mut changes: Vec<(Instant, usize, bool)> = Vec::new();
        for (path, spec) in experiment.paths.iter().enumerate() {
            if spec.join_at > Instant::ZERO {
                changes.push((spec.join_at, path, true));
            }
            changes.extend(spec.leave_at.map(|at| (at, path, false)));
        }
        changes.sort_unstable();
        Self {
            policy: policy_interval.map_or(Instant::MAX, |interval| Instant::ZERO + interval),
            subflows: Instant::ZERO,
            row: if sample.is_zero() { Instant::MAX } else { Instant::ZERO + sample },
            interface_changes: changes.into_iter().peekable(),
        }
    }

    /// Time of the next task or change.
    fn next(&mut self) -> Instant {
        let change = self.interface_changes.peek().map_or(Instant::MAX, |&(at, ..)| at);
        self.row.min(self.policy).min(self.subflows).min(change)
    }

    /// Number of rows that are due at `now`. The next one is then due after it.
    fn take_due_rows(&mut self, now: Instant, sample: Duration) -> u64 {
        let mut due = 0;
        while self.row <= now {
            self.row += sample;
            due += 1;
        }
        due
    }
}

/// Totals at the last row of the series.
#[derive(Debug)]
struct LastRow {
    /// Bytes down, bytes up and energy of each path.
    paths: Vec<(u64, u64, f64)>,
    /// Delivered bytes of each connection.
    delivered: Vec<u64>,
    /// Messages read on each connection, and the sum of their delays.
    delays: Vec<(u64, u128)>,
    energy: f64,
    joint: JointActivity,
}

impl LastRow {
    fn new(experiment: &Experiment) -> Self {
        Self {
            paths: vec![(0, 0, 0.0); experiment.paths.len()],
            delivered: vec![0; experiment.traffic.len()],
            delays: vec![(0, 0); experiment.traffic.len()],
            energy: 0.0,
            joint: JointActivity::new(),
        }
    }
}

/// Controls the hosts of a run and records its results.
pub(crate) struct RunController<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) topology: &'a mut Topology,
    pub(crate) shared: SharedNetwork,
    pub(crate) flows: Vec<Flow>,
    pub(crate) steering: Steering,
    /// Divisions of the sent data that the policy chose before a stack ran.
    early_divisions: Vec<Action>,
    /// Account of each path's data allowance, if it has one.
    ledgers: Vec<Option<Ledger>>,
    is_mptcp: bool,
    pub(crate) monitor: SubflowMonitor,
    /// Subflows in the last sample before the end, which closes all connections.
    pub(crate) subflows: [Vec<Subflow>; 2],
    pub(crate) series: Series,
    last_row: LastRow,
    pub(crate) reactions: ReactionMeter,
    /// File to which the capture is written during the run.
    pub(crate) capture: Option<&'a File>,
    /// Ends the run as soon as all connections have completed or failed.
    pub(crate) until_done: bool,
    /// Time at which the run ended, if before the experiment's duration.
    pub(crate) ended_at: Option<Instant>,
}

impl<'a> RunController<'a> {
    /// Creates a controller. Its network starts with [`start_emulator`](Self::start_emulator).
    pub(crate) fn new(
        experiment: &'a Experiment,
        topology: &'a mut Topology,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        let backups: Vec<_> = experiment.paths.iter().map(|path| path.backup).collect();
        // Tandem's stack as the sender takes the actions that a kernel lacks, as in simulation.
        let is_whole = !experiment.traffic.is_empty() && !sends_by_kernel(experiment, topology.stacks);
        let policy = &experiment.device.policy;
        let policy = if is_whole { policy.clone() } else { policy_for_device(policy, notes) };
        Ok(Self {
            experiment,
            steering: Steering::new(&policy, &kinds, &backups),
            early_divisions: Vec::new(),
            ledgers: ledgers(experiment, experiment.duration),
            is_mptcp: matches!(experiment.transport.protocol, sim::Protocol::Mptcp),
            monitor: SubflowMonitor::open(experiment, topology)?,
            series: Series::new(experiment),
            last_row: LastRow::new(experiment),
            reactions: ReactionMeter::default(),
            flows: Vec::new(),
            subflows: Default::default(),
            shared: SharedNetwork::new(Network::new(experiment), Clock::start()),
            capture: None,
            until_done: false,
            ended_at: None,
            topology,
        })
    }

    /// Sets the period of data allowances that do not specify one.
    pub(crate) fn set_allowance_period(&mut self, period: Duration) {
        self.ledgers = ledgers(self.experiment, period);
    }

    /// Reads the settings of a device that uses the kernel.
    pub(crate) fn read_settings(&self) -> Result<Option<Settings>, Error> {
        let is_kernel = self.topology.stacks.device == StackKind::Linux;
        Ok(is_kernel.then(|| Settings::read(&self.topology.device)).transpose()?)
    }

    /// Starts the emulator and the clock of the run.
    pub(crate) fn start_emulator(
        &mut self,
        devices: Vec<[Tun; 2]>,
        on_flow: Option<FlowHook>,
    ) -> Result<RunningDriver, Error> {
        let clock = Clock::start();
        self.topology.start_stacks(self.experiment, clock)?;
        for action in std::mem::take(&mut self.early_divisions) {
            self.apply(&action)?;
        }
        self.shared = SharedNetwork::new(Network::new(self.experiment), clock);
        Ok(Driver::new(devices, self.shared.clone()).on_flow(on_flow).start(true)?)
    }

    /// Controls the run until its end, or until `stop` is set. It also ends with a thread of the
    /// emulator or of a stack, whose error [`stop_stacks`](Topology::stop_stacks) or the emulator
    /// returns.
    pub(crate) fn run(
        &mut self,
        faults: &mut FaultSchedule<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), Error> {
        let mut timers = Timers::new(self.experiment, self.steering.interval());
        let clock = self.shared.clock();
        let has_faults = !faults.is_empty();
        let mut wake_at = clock.now();
        loop {
            let now = clock.now();
            if has_faults {
                faults.record_wakeup(wake_at, now);
            }
            let end = Instant::ZERO + self.experiment.duration + faults.delay();
            let is_complete = faults.emulator.is_running() && self.topology.stacks_run();
            if stop.load(Ordering::Relaxed) || !is_complete {
                return Ok(());
            }
            if now >= end {
                return self.record_rows(now, timers.take_due_rows(end, self.experiment.sample));
            }
            if self.until_done && self.flows.iter().all(|flow| flow.progress.status().is_final()) {
                self.ended_at = Some(now);
                return Ok(());
            }
            while let Some((_, path, comes_up)) = timers.interface_changes.next_if(|&(at, ..)| at <= now) {
                self.set_interface_up(now, path, comes_up)?;
            }
            while let Some(fault) = faults.pop_due(now) {
                self.inject(fault, faults, now)?;
            }
            self.run_due_tasks(&mut timers, now, end)?;
            progress(now.as_secs_f64() / end.as_secs_f64());
            let next = timers.next().min(faults.next()).min(end);
            wake_at = next.max(now).min(now + STOP_POLL_INTERVAL);
            let wait = wake_at.since(clock.now());
            std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
        }
    }

    /// Runs the periodic tasks that are due at `now`, and sets their next times. `end` is the end
    /// of the run.
    fn run_due_tasks(&mut self, timers: &mut Timers, now: Instant, end: Instant) -> Result<(), Error> {
        if timers.policy <= now {
            self.steer(now)?;
            let interval = self.steering.interval().unwrap_or(Duration::MAX);
            timers.policy = (timers.policy + interval).max(now);
        }
        self.reactions.poll(&self.shared.lock().0, now);
        if timers.subflows <= now {
            self.monitor.sample(self.topology)?;
            // After the end, connections may already be closing.
            if self.shared.clock().now() < end {
                self.subflows = self.monitor.latest();
            }
            self.write_capture()?;
            timers.subflows = now + SubflowMonitor::INTERVAL;
        }
        self.record_rows(now, timers.take_due_rows(now, self.experiment.sample))
    }

    fn inject(&mut self, fault: Fault, faults: &FaultSchedule<'_>, now: Instant) -> Result<(), Error> {
        match fault {
            Fault::InterfaceDown { path } => self.set_interface_up(now, path, false)?,
            Fault::InterfaceUp { path } => self.set_interface_up(now, path, true)?,
            Fault::AddressChange { path } => self.topology.paths.change_address(path)?,
            Fault::ServerDown(teardown) => faults.server.stop(teardown),
            Fault::ServerUp => faults.server.start(),
            Fault::EmulatorStalls => faults.emulator.pause(),
            Fault::EmulatorResumes => faults.emulator.resume(),
        }
        Ok(())
    }

    /// Samples the subflows while the emulator is paused. The kernels have processed all packets
    /// of the capture.
    pub(crate) fn sample_final_subflows(&mut self) -> Result<(), Error> {
        self.monitor.sample(self.topology)?;
        self.subflows = self.monitor.latest();
        Ok(())
    }

    /// Appends the packets captured since the last call to the file.
    pub(crate) fn write_capture(&self) -> Result<(), Error> {
        let Some(mut file) = self.capture else { return Ok(()) };
        let bytes = self.shared.lock().0.take_capture();
        bytes.map_or(Ok(()), |bytes| file.write_all(&bytes)).map_err(Error::Capture)
    }

    /// Brings an interface of the device up, or takes it down.
    fn set_interface_up(&mut self, now: Instant, path: usize, up: bool) -> Result<(), Error> {
        // First in the emulator, which thus counts the packets that the kernel sends meanwhile.
        {
            let (mut network, at) = self.shared.lock();
            network.set_present(at, path, up);
        }
        let changed =
            if up { self.topology.paths.bring_up(path) } else { self.topology.paths.take_down(path) };
        changed?;
        self.steer(now)
    }

    /// Runs the policy once and applies its actions.
    pub(crate) fn steer(&mut self, now: Instant) -> Result<(), Error> {
        if self.experiment.device.policy.reads_round_trips() {
            self.monitor.sample(self.topology)?;
        }
        let paths = 0..self.experiment.paths.len();
        let samples: Vec<_> = paths.map(|path| self.sample_interface(now, path)).collect();
        let sights = self.flows.iter().filter_map(|flow| flow.progress.sight(now));
        self.steering.set_app_state(sim::app_state(now, sights));
        let delivered = self.flows.iter().map(|flow| flow.progress.delivered.load(Ordering::Relaxed)).sum();
        // User programs that replace the traffic keep their data to themselves.
        self.steering.set_delivered((!self.flows.is_empty()).then_some(Bytes::new(delivered)));
        let actions = self.steering.observe(now, &samples);
        // Plain TCP has no subflows to control.
        if self.is_mptcp {
            for action in &actions {
                self.apply(action)?;
            }
        }
        Ok(())
    }

    /// Reads the counters of a path's interface, its radio and its data allowance. The emulator
    /// counts background traffic too, which no kernel sees.
    fn sample_interface(&mut self, now: Instant, path: usize) -> InterfaceSample {
        let state = &self.steering.state().paths[path];
        let (mut network, at) = self.shared.lock();
        network.advance(at);
        let counts = &network.paths()[path];
        let meter = &counts.meters[0];
        let used = counts.wire_down + counts.wire_up;
        let allowance = self.ledgers[path].as_mut().map(|ledger| ledger.remaining(now, used));
        InterfaceSample {
            up: self.topology.paths.is_up(path),
            bytes_down: counts.wire_down,
            bytes_up: counts.wire_up,
            srtt: self.monitor.srtt(path),
            energy: Some(meter.energy()),
            awake: meter.state() != State::Idle,
            energy_per_mbit: meter.profile().energy_per_mbit_carried(state.rate_up, state.rate_down),
            allowance_left: allowance.map(|(left, _)| left),
            allowance_until: allowance.map(|(_, until)| until),
            ..InterfaceSample::default()
        }
    }

    fn apply(&mut self, action: &Action) -> Result<(), Error> {
        match *action {
            Action::SetBackup { path, backup } => {
                let rate = self.steering.state().paths[path].rate_down;
                let (mut network, at) = self.shared.lock();
                if backup {
                    self.reactions.start(&mut network, Decision { path, at, rate });
                } else {
                    self.reactions.cancel(path);
                }
                drop(network);
                self.topology.paths.set_backup(path, backup)?;
            }
            Action::Open { path } => self.topology.paths.open_path(path)?,
            Action::Close { path } => self.topology.paths.close_path(path)?,
            Action::Share { .. } | Action::Offload { .. }
                if self.topology.sender_hosts().next().is_none() =>
            {
                self.early_divisions.push(action.clone());
            }
            Action::Share { ref path_shares } => {
                self.topology.sender_hosts().for_each(|host| host.set_shares(path_shares));
            }
            Action::Offload { ref costly, share } => {
                let rule = Offload { costly: costly.clone(), share };
                self.topology.sender_hosts().for_each(|host| host.set_offload(&rule));
            }
        }
        Ok(())
    }

    /// Adds the rows that are due to the series. Several are due if the loop was late: they are
    /// equal, with means over their time.
    fn record_rows(&mut self, now: Instant, due: u64) -> Result<(), Error> {
        if due == 0 {
            return Ok(());
        }
        self.monitor.sample(self.topology)?;
        let seconds = (self.experiment.sample * due).as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / seconds;
        let mut row = Vec::new();
        let mut total = 0.0;
        let (mut network, at) = self.shared.lock();
        network.advance(at);
        for path in 0..self.experiment.paths.len() {
            let queue = network.queued(at, path);
            let counts = &network.paths()[path];
            let energy = counts.meters[0].energy().as_joules();
            total += energy;
            let totals = (counts.wire_down, counts.wire_up, energy);
            let (down, up, before) = std::mem::replace(&mut self.last_row.paths[path], totals);
            row.extend([
                mbps(counts.wire_down - down),
                mbps(counts.wire_up - up),
                self.monitor.cwnd(path) as f64 / 1e3,
                self.monitor.srtt(path).map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3),
                queue as f64 / 1e3,
                (energy - before) / seconds,
                energy,
                f64::from(u8::from(self.topology.paths.is_backup(path))),
            ]);
        }
        let meters = network.paths().iter().map(|counts| &counts.meters[0]);
        let joint_time = self.last_row.joint.update(meters);
        total += (self.experiment.device.joint_power * joint_time).as_joules();
        drop(network);
        let last = self.last_row.delivered.iter_mut().zip(&mut self.last_row.delays);
        for (flow, (before, delays_before)) in self.flows.iter().zip(last) {
            let delivered = flow.progress.delivered.load(Ordering::Relaxed);
            let unacknowledged = flow.progress.unacknowledged.load(Ordering::Relaxed);
            let goodput = mbps(delivered - std::mem::replace(before, delivered));
            // The kernel does not expose the size of the out-of-order queue.
            let out_of_order = flow.progress.out_of_order().map_or(f64::NAN, |bytes| bytes as f64 / 1e3);
            row.extend([goodput, out_of_order, unacknowledged as f64 / 1e3]);
            if let Some(sight) = flow.progress.sight(now) {
                row.extend(Series::video(&sight));
            } else {
                let delays = flow.progress.delay_totals();
                row.push(Series::delay(delays, std::mem::replace(delays_before, delays)));
            }
        }
        row.extend([(total - self.last_row.energy) / seconds, total]);
        self.last_row.energy = total;
        (0..due).for_each(|_| self.series.push(row.iter().copied()));
        Ok(())
    }
}

/// Accounts of the paths' data allowances. `period` is the default period.
fn ledgers(experiment: &Experiment, period: Duration) -> Vec<Option<Ledger>> {
    let paths = experiment.paths.iter();
    paths.map(|path| path.allowance.map(|plan| Ledger::new(plan, period))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_loop_takes_each_missed_row() {
        let mut timers = Timers {
            policy: Instant::MAX,
            subflows: Instant::MAX,
            row: Instant::from_millis(10),
            interface_changes: Vec::new().into_iter().peekable(),
        };
        let due = [9, 10, 19, 45, 50]
            .map(|ms| timers.take_due_rows(Instant::from_millis(ms), Duration::from_millis(10)));
        assert_eq!(due, [0, 1, 0, 3, 1]);
    }
}
