//! What happens when: interfaces come and go, the policy looks and acts, rows are taken, and the end.

use crate::edge::{Behind, Edge};
use crate::faults::{Fault, Server};
use crate::reaction::{Reaction, Reactions};
use crate::settings::Settings;
use crate::topology::{SERVER, Topology, buffer_for};
use crate::traffic::{Flow, Plan, Progress};
use crate::watch::Watch;
use crate::{Error, Outcome};
use agent::{InterfaceSample, Steering};
use emulator::{Driver, Lateness, Network, Running, Shared};
use linux::clock::Clock;
use linux::diag::Subflow;
use linux::socket::{Options, Protocol};
use mptcp::{CongestionChoice, CongestionKind, SchedulerKind};
use policy::{Action, Ledger, PolicyConfig};
use proxy::Totals;
use radio::{Meter, State};
use sim::{BackgroundOutcome, ConnectionOutcome, DeviceOutcome, Experiment, Hop, Series, goodput_span};
use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use traffic::Direction;
use units::{Duration, Instant};

/// So often somebody who waits for an end is heard.
const LOOK_UP: Duration = Duration::from_millis(20);
/// Who is awake later than this was held up: by a system call that waits for the kernel's locks, or because
/// others had the processor.
const HELD_UP: Duration = Duration::from_millis(50);
/// So long after the emulator has stopped its last packets have long been heard.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(50);
/// The port of the first connection's server.
const FIRST_PORT: u16 = 5001;

/// A run on the kernel.
#[derive(Debug, Clone)]
pub struct Ran {
    /// What came of it, as in a simulation.
    pub outcome: Outcome,
    /// How far behind the model packets were written.
    pub lateness: Lateness,
    /// How often MP_PRIO reached the server (its counter `MPTcpExtMPPrioRx`).
    pub priorities_heard: u64,
    /// How soon each path fell silent that the policy wanted no more.
    pub reactions: Vec<Reaction>,
    /// How many connections the device opened for each application.
    pub opened: Vec<u64>,
    /// Subflows of the device and of the server when they were last looked at before the end; they are
    /// looked at every 250 ms. Where there is a capture, at its end: they and it have seen the same packets.
    pub subflows: [Vec<Subflow>; 2],
    /// What the device was set to before the first byte, and at the end.
    pub settings: [Settings; 2],
    /// What the proxy counted, where there is one.
    pub proxy: Option<Totals>,
    /// Where the kernel did something else than the scenario says, in words.
    pub notes: Vec<String>,
}

/// What a run has beyond its experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// What goes wrong, and when.
    pub faults: Vec<(Instant, Fault)>,
    /// The emulator segments and sums up for the kernels ([`Driver::devices`]).
    pub offload: bool,
    /// The paths lead to a proxy, and the server is behind it.
    pub edge: Option<Edge>,
    /// It ends as soon as every application has come to its end: what is left of its time would be idle.
    pub until_done: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { faults: Vec::new(), offload: true, edge: None, until_done: false }
    }
}

/// Runs an experiment on the kernel, as long as it says. `progress` is told the share that is done, from 0
/// to 1, now and then; where `stop` becomes true, it ends early.
///
/// # Errors
/// Where the system lacks something (root, MPTCP, TUN), where the experiment asks for what a kernel cannot
/// do, where a connection delivers other bytes than were written, and where it was stopped.
pub fn run(
    experiment: &Experiment,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(f64),
) -> Result<Ran, Error> {
    run_with(experiment, &Setup::default(), stop, progress, None)
}

/// Runs an experiment as [`run`] does, and lets faults happen at their times. Where the system is so busy
/// that this comes late, what is still to happen, and the end, are put off as much: they keep their distances.
///
/// # Errors
/// As [`run`]; where a fault is about a path that is not there, and where the capture cannot be written.
pub fn run_with(
    experiment: &Experiment,
    setup: &Setup,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(f64),
    capture: Option<&File>,
) -> Result<Ran, Error> {
    fits(experiment, &setup.faults)?;
    let (mut topology, devices) = Topology::build(experiment, setup.offload)?;
    let mut notes = Vec::new();
    let behind = match &setup.edge {
        Some(edge) => Some(Behind::build(edge, experiment, setup.offload, &topology.server)?),
        None => None,
    };
    let mut director = Director::new(experiment, &mut topology, &mut notes)?;
    director.until_done = setup.until_done;
    director.capture = capture;
    // What the policy wants from the start is so before the first byte.
    director.steer(Instant::ZERO)?;
    let before = Settings::of(&director.topology.device)?;
    let clock = Clock::start();
    director.shared = Shared::new(Network::new(experiment), clock);
    let emulator = Driver::new(devices, director.shared.clone()).start(true)?;
    let over = Arc::new(AtomicBool::new(false));
    let end = Instant::ZERO + experiment.duration;
    let mut faults = setup.faults.clone();
    faults.sort_by_key(|&(at, _)| at);
    let restarts = faults.iter().any(|(_, fault)| matches!(fault, Fault::ServerDown(_)));
    let program = Arc::new(Server::default());
    // The proxy leads it to the port of the plan.
    let proxy = behind.is_some().then_some(Edge::PROXY);
    for mut plan in plans(experiment, clock, end, proxy, director.topology, &mut notes) {
        plan.resumes = restarts && matches!(plan.config.kind, traffic::Kind::File { .. });
        plan.program = Arc::clone(&program);
        // Faults that come late put off the end: connections are then told of it, and do not look for it.
        // So they are where something is looked at after the end.
        plan.end = if faults.is_empty() && !experiment.capture { end } else { Instant::MAX };
        let server = behind.as_ref().map_or(&director.topology.server, |behind| &behind.content);
        let flow = Flow::start(&plan, &director.topology.device, server, &over);
        match flow {
            Ok(flow) => director.flows.push(flow),
            Err(error) => {
                over.store(true, Ordering::Relaxed);
                return Err(error.into());
            }
        }
    }
    let mut happens = Happens { program: &program, emulator: &emulator, faults, behind: Duration::ZERO };
    let ended = director.work(&mut happens, stop, progress);
    let ended = ended.and_then(|()| if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) });
    let ended = ended.and_then(|()| {
        if experiment.capture {
            emulator.pause();
            std::thread::sleep(SETTLED);
            director.look_last()?;
        }
        Ok(())
    });
    let outcome = ended.map(|()| director.outcome());
    let after = Settings::of(&director.topology.device);
    let opened = director.flows.iter().map(|flow| flow.progress.opened.load(Ordering::Relaxed)).collect();
    over.store(true, Ordering::Relaxed);
    for flow in std::mem::take(&mut director.flows) {
        flow.join()?;
    }
    let lateness = director.shared.lock().0.lateness().clone();
    let priorities_heard = director.watch.priorities_heard()?;
    emulator.stop()?;
    let proxy = behind.as_ref().map(Behind::totals);
    if let Some(behind) = behind {
        behind.stop()?;
    }
    let outcome = outcome??;
    Ok(Ran {
        outcome,
        lateness,
        priorities_heard,
        reactions: director.reactions.seen,
        opened,
        subflows: director.subflows,
        settings: [before, after?],
        proxy,
        notes,
    })
}

/// What the scenario does not say, and whom it happens to.
pub(crate) struct Happens<'a> {
    program: &'a Server,
    emulator: &'a Running,
    /// Those that are still to come, by time.
    faults: Vec<(Instant, Fault)>,
    /// How long the director was held up so far. All that is still to come is put off by as much.
    behind: Duration,
}

impl<'a> Happens<'a> {
    /// Nothing but what the scenario says.
    pub(crate) fn nothing(program: &'a Server, emulator: &'a Running) -> Self {
        Self { program, emulator, faults: Vec::new(), behind: Duration::ZERO }
    }

    /// When the next is due.
    fn next(&self) -> Instant {
        self.faults.first().map_or(Instant::MAX, |&(at, _)| at + self.behind)
    }

    /// The director, who wanted to be awake at `wanted`, is so at `now`.
    fn woke(&mut self, wanted: Instant, now: Instant) {
        let late = now.since(wanted);
        if late > HELD_UP {
            self.behind += late;
        }
    }

    /// Takes the next where it is due.
    fn take(&mut self, now: Instant) -> Option<Fault> {
        (self.next() <= now).then(|| self.faults.remove(0).1)
    }
}

/// What no kernel can do.
pub(crate) fn fits(experiment: &Experiment, faults: &[(Instant, Fault)]) -> Result<(), Error> {
    const MOST: usize = 8;
    if experiment.paths.len() > MOST {
        return Err(Error::Unfit {
            what: format!("{} paths: Linux has at most {MOST} subflows", experiment.paths.len()),
            hint: "`tandem run` simulates any number".to_owned(),
        });
    }
    let paths = experiment.paths.len();
    if let Some(path) = faults.iter().filter_map(|(_, fault)| fault.path()).find(|&path| path >= paths) {
        return Err(Error::Unfit {
            what: format!("a fault of path {}: there are {paths}", path + 1),
            hint: String::new(),
        });
    }
    if experiment.traffic.len() > usize::from(u16::MAX - FIRST_PORT) {
        return Err(Error::Unfit {
            what: format!("{} connections: there are not so many ports", experiment.traffic.len()),
            hint: "`tandem run` simulates any number".to_owned(),
        });
    }
    Ok(())
}

/// The policy in the form that a device can carry out.
fn for_device(policy: &PolicyConfig, notes: &mut Vec<String>) -> PolicyConfig {
    policy.for_device().map_or_else(
        || policy.clone(),
        |carried_out| {
            notes.push(format!(
                "policy {policy}: a device cannot set its sender's shares; {carried_out} holds the share instead"
            ));
            carried_out
        },
    )
}

/// The kernel's name for a congestion control.
pub(crate) fn congestion(choice: &CongestionChoice, notes: &mut Vec<String>) -> String {
    match choice {
        CongestionChoice::Registered(CongestionKind::Reno) => "reno",
        CongestionChoice::Registered(CongestionKind::Cubic) => "cubic",
        CongestionChoice::Registered(CongestionKind::Bbr) => "bbr",
        other => {
            notes.push(format!("congestion: Linux has no {other}; reno runs on each subflow"));
            "reno"
        }
    }
    .to_owned()
}

fn plans(
    experiment: &Experiment,
    clock: Clock,
    end: Instant,
    proxy: Option<SocketAddr>,
    topology: &Topology,
    notes: &mut Vec<String>,
) -> Vec<Plan> {
    let transport = &experiment.transport;
    let config = &transport.config;
    if config.scheduler != SchedulerKind::Linux && transport.protocol == sim::Protocol::Mptcp {
        notes.push(format!("scheduler: Linux has its own alone, not {}", config.scheduler));
    }
    if config.rec.is_some() {
        notes.push("protocol: Linux does not speak MPTCP-rec; this is its MPTCP".to_owned());
    }
    let options = Options {
        congestion: Some(congestion(&config.congestion, notes)),
        // The kernel lets a socket's send buffer grow with its window: were it large at once, the first
        // subflow would swallow what is written before another has joined. How far ahead an application
        // may write is looked after where it writes.
        send_buffer: None,
        // Without autotuning the window is all of the buffer from the start; with it, it grows up to that.
        // The kernel takes twice what a socket is given.
        receive_buffer: config.autotune.is_none().then(|| buffer_for(config.recv_buffer) as usize / 2),
        ..Options::default()
    };
    let (protocol, bound_to) = match transport.protocol {
        sim::Protocol::Tcp { path } => (Protocol::Tcp, Some(topology.interface(path).to_owned())),
        sim::Protocol::Mptcp => (Protocol::Mptcp, None),
    };
    let seed = experiment.seed.derive("connection");
    let plan = |(i, config): (usize, &traffic::TrafficConfig)| Plan {
        config: config.clone(),
        protocol,
        server: SocketAddr::new(SERVER, FIRST_PORT + i as u16),
        options: options.clone(),
        proxy,
        bound_to: bound_to.clone(),
        send_buffer: transport.config.send_buffer,
        seed: seed.derive(&i.to_string()),
        clock,
        end,
        program: Arc::default(),
        resumes: false,
    };
    experiment.traffic.iter().enumerate().map(plan).collect()
}

/// What the last row of the series was taken from.
#[derive(Debug)]
struct Rows {
    /// Bytes down and up and energy of each path.
    paths: Vec<(u64, u64, f64)>,
    delivered: Vec<u64>,
    energy: f64,
    at: Instant,
}

impl Rows {
    fn new(experiment: &Experiment) -> Self {
        Self {
            paths: vec![(0, 0, 0.0); experiment.paths.len()],
            delivered: vec![0; experiment.traffic.len()],
            energy: 0.0,
            at: Instant::ZERO,
        }
    }
}

pub(crate) struct Director<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) topology: &'a mut Topology,
    pub(crate) shared: Shared,
    flows: Vec<Flow>,
    steering: Steering,
    /// The account of each path's data allowance, if it has one.
    ledgers: Vec<Option<Ledger>>,
    /// The protocol is one that can be steered.
    steers: bool,
    pub(crate) watch: Watch,
    /// What it saw last before the end, at which all connections are closed.
    subflows: [Vec<Subflow>; 2],
    series: Series,
    rows: Rows,
    pub(crate) reactions: Reactions,
    /// Where what is captured goes while it goes on.
    pub(crate) capture: Option<&'a File>,
    until_done: bool,
    /// When all were done, where that ended it.
    done_at: Option<Instant>,
}

impl<'a> Director<'a> {
    /// One whose network nobody drives yet.
    pub(crate) fn new(
        experiment: &'a Experiment,
        topology: &'a mut Topology,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        let backups: Vec<_> = experiment.paths.iter().map(|path| path.backup).collect();
        let policy = for_device(&experiment.device.policy, notes);
        Ok(Self {
            experiment,
            steering: Steering::new(&policy, &kinds, &backups),
            ledgers: ledgers(experiment, experiment.duration),
            steers: matches!(experiment.transport.protocol, sim::Protocol::Mptcp),
            watch: Watch::open(experiment, topology)?,
            series: Series::new(experiment),
            rows: Rows::new(experiment),
            reactions: Reactions::default(),
            flows: Vec::new(),
            subflows: Default::default(),
            shared: Shared::new(Network::new(experiment), Clock::start()),
            capture: None,
            until_done: false,
            done_at: None,
            topology,
        })
    }

    /// Data allowances that say no time are to last so long, and not as long as the run.
    pub(crate) fn spread_allowances(&mut self, over: Duration) {
        self.ledgers = ledgers(self.experiment, over);
    }

    /// Everything from the start to the end.
    pub(crate) fn work(
        &mut self,
        happens: &mut Happens<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<(), Error> {
        let sample = self.experiment.sample;
        let mut next_row = if sample.is_zero() { Instant::MAX } else { Instant::ZERO + sample };
        let mut next_look =
            self.steering.interval().map_or(Instant::MAX, |interval| Instant::ZERO + interval);
        let mut next_watch = Instant::ZERO;
        let mut changes: Vec<(Instant, usize, bool)> = Vec::new();
        for (path, spec) in self.experiment.paths.iter().enumerate() {
            if spec.join_at > Instant::ZERO {
                changes.push((spec.join_at, path, true));
            }
            changes.extend(spec.leave_at.map(|at| (at, path, false)));
        }
        changes.sort_unstable();
        let mut changes = changes.into_iter().peekable();
        let clock = self.shared.clock();
        let faulty = !happens.faults.is_empty();
        let mut wanted = clock.now();
        loop {
            let now = clock.now();
            if faulty {
                happens.woke(wanted, now);
            }
            let end = Instant::ZERO + self.experiment.duration + happens.behind;
            if now >= end || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.until_done && self.flows.iter().all(|flow| flow.progress.rest().is_over()) {
                self.done_at = Some(now);
                return Ok(());
            }
            while let Some((_, path, comes)) = changes.next_if(|&(at, ..)| at <= now) {
                self.set_present(now, path, comes)?;
            }
            while let Some(fault) = happens.take(now) {
                match fault {
                    Fault::InterfaceDown { path } => self.set_present(now, path, false)?,
                    Fault::InterfaceUp { path } => self.set_present(now, path, true)?,
                    Fault::AddressChange { path } => self.topology.readdress(path)?,
                    Fault::ServerDown(ending) => happens.program.end(ending),
                    Fault::ServerUp => happens.program.begin(),
                    Fault::EmulatorStalls => happens.emulator.pause(),
                    Fault::EmulatorResumes => happens.emulator.resume(),
                }
            }
            if next_look <= now {
                self.steer(now)?;
                let interval = self.steering.interval().unwrap_or(Duration::MAX);
                next_look = (next_look + interval).max(now);
            }
            self.reactions.look(&self.shared.lock().0, now);
            if next_watch <= now {
                self.watch.look()?;
                // Later than that, connections may be closing.
                if clock.now() < end {
                    self.subflows = self.watch.latest();
                }
                self.write_capture()?;
                next_watch = now + Watch::INTERVAL;
            }
            if next_row <= now {
                self.row(now)?;
                next_row = (next_row + sample).max(now);
            }
            progress(now.as_secs_f64() / end.as_secs_f64());
            let change = changes.peek().map_or(Instant::MAX, |&(at, ..)| at);
            let next = next_row.min(next_look).min(next_watch).min(change).min(happens.next()).min(end);
            wanted = next.max(now).min(now + LOOK_UP);
            let wait = wanted.since(clock.now());
            std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
        }
    }

    /// Looks at the subflows once more: nothing moves, and they have heard all that is in the capture.
    fn look_last(&mut self) -> Result<(), Error> {
        self.watch.look()?;
        self.subflows = self.watch.latest();
        Ok(())
    }

    /// Writes what was captured since it did so last.
    fn write_capture(&self) -> Result<(), Error> {
        let Some(mut file) = self.capture else { return Ok(()) };
        let bytes = self.shared.lock().0.take_capture();
        bytes.map_or(Ok(()), |bytes| file.write_all(&bytes)).map_err(Error::Capture)
    }

    /// An interface of the device comes or goes.
    fn set_present(&mut self, now: Instant, path: usize, comes: bool) -> Result<(), Error> {
        // The emulator first: what the kernel sends while the interface comes up counts.
        self.shared.lock().0.set_present(path, comes);
        let changed = if comes { self.topology.come(path) } else { self.topology.go(path) };
        changed?;
        self.steer(now)
    }

    /// Shows the policy what the device's counters say, and does what it asks.
    pub(crate) fn steer(&mut self, now: Instant) -> Result<(), Error> {
        let mut looks = Vec::new();
        for path in 0..self.experiment.paths.len() {
            let stats = self.topology.route.stats(self.topology.indices[path])?;
            let mut look = InterfaceSample {
                up: self.topology.is_present(path),
                bytes_down: stats.rx_bytes,
                bytes_up: stats.tx_bytes,
                srtt: self.watch.srtt(path),
                ..InterfaceSample::default()
            };
            if let Some(ledger) = &mut self.ledgers[path] {
                let (left, until) = ledger.remaining(now, stats.rx_bytes + stats.tx_bytes);
                (look.allowance_left, look.allowance_until) = (Some(left), Some(until));
            }
            let rate = self.steering.state().paths[path].rate_down;
            let (network, _) = self.shared.lock();
            let meter = &network.paths()[path].meters[0];
            look.awake = meter.state() != State::Idle;
            look.energy_per_mbit = (rate.as_bps() > 0).then(|| meter.profile().energy_per_mbit(rate));
            looks.push(look);
        }
        let sights = self.flows.iter().filter_map(|flow| flow.progress.sight(now));
        self.steering.set_app_state(sim::app_state(now, sights));
        for action in self.steering.observe(now, &looks) {
            if !self.steers {
                continue;
            }
            match action {
                Action::SetBackup { path, backup } => {
                    let rate = self.steering.state().paths[path].rate_down;
                    let (mut network, at) = self.shared.lock();
                    self.reactions.decided(&mut network, at, path, backup, rate);
                    drop(network);
                    self.topology.hands.set_backup(path, backup)?;
                }
                Action::Open { path } => self.topology.open(path)?,
                Action::Close { path } => self.topology.close(path)?,
                Action::Share { .. } => {}
            }
        }
        Ok(())
    }

    /// Takes a row of the series.
    fn row(&mut self, now: Instant) -> Result<(), Error> {
        self.watch.look()?;
        let seconds = now.since(self.rows.at).as_secs_f64();
        self.rows.at = now;
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
            let before = (counts.wire_down, counts.wire_up, energy);
            let (down, up, before) = std::mem::replace(&mut self.rows.paths[path], before);
            row.extend([
                mbps(counts.wire_down - down),
                mbps(counts.wire_up - up),
                self.watch.cwnd(path) as f64 / 1e3,
                self.watch.srtt(path).map_or(0.0, |rtt| rtt.as_secs_f64() * 1e3),
                queue as f64 / 1e3,
                (energy - before) / seconds,
                energy,
                f64::from(u8::from(self.topology.hands.interfaces()[path].backup)),
            ]);
        }
        drop(network);
        for (flow, before) in self.flows.iter().zip(&mut self.rows.delivered) {
            let delivered = flow.progress.delivered.load(Ordering::Relaxed);
            let written = flow.progress.written.load(Ordering::Relaxed);
            let goodput = mbps(delivered - std::mem::replace(before, delivered));
            // The kernel does not tell what waits beyond a gap.
            row.extend([goodput, f64::NAN, written.saturating_sub(delivered) as f64 / 1e3]);
            row.extend(flow.progress.sight(now).iter().flat_map(Series::video));
        }
        row.extend([(total - self.rows.energy) / seconds, total]);
        self.rows.energy = total;
        self.series.push(row);
        Ok(())
    }

    pub(crate) fn outcome(&mut self) -> Result<Outcome, Error> {
        self.watch.look()?;
        self.write_capture()?;
        let shorter = self
            .done_at
            .map(|at| Experiment { duration: at.since(Instant::ZERO), ..self.experiment.clone() });
        let experiment = shorter.as_ref().unwrap_or(self.experiment);
        let mut connections = Vec::new();
        for (i, (flow, config)) in self.flows.iter().zip(&experiment.traffic).enumerate() {
            let rest = flow.progress.rest();
            if let Some(at) = rest.differs {
                return Err(Error::Differs { connection: i + 1, at });
            }
            // What has come whole plays on to its end, whoever does not wait for that.
            let until = if rest.complete { self.experiment.duration } else { experiment.duration };
            let session = flow.progress.finish(Instant::ZERO + until);
            connections
                .push(ConnectionOutcome { video: session, ..connection(experiment, config, &flow.progress) });
        }
        let (mut network, now) = self.shared.lock();
        network.advance(now.max(Instant::ZERO + experiment.duration));
        let mut paths = Vec::new();
        let mut timelines = Vec::new();
        for (path, spec) in experiment.paths.iter().enumerate() {
            let totals = network.totals(path, self.watch.retransmissions(path));
            paths.push(totals.outcome(spec, experiment.duration, network.middleboxes(path)));
            timelines.push(totals.timeline(spec));
        }
        let meters: Vec<&Meter> = network.paths().iter().map(|counts| &counts.meters[0]).collect();
        let device = DeviceOutcome::of(experiment, &meters, &connections, self.steering.priority_changes());
        Ok(Outcome {
            seed: experiment.seed.get(),
            duration_s: experiment.duration.as_secs_f64(),
            device,
            connections,
            paths,
            background: network
                .background()
                .iter()
                .map(|flow| BackgroundOutcome::of(flow, experiment))
                .collect(),
            deliveries: Vec::new(),
            segments: network.segments(),
            series: std::mem::take(&mut self.series),
            timelines,
            capture: if self.capture.is_some() { None } else { network.take_capture() },
        })
    }
}

fn ledgers(experiment: &Experiment, over: Duration) -> Vec<Option<Ledger>> {
    let paths = experiment.paths.iter();
    paths.map(|path| path.allowance.map(|plan| Ledger::new(plan, over))).collect()
}

/// How long one direction takes when nobody waits.
pub(crate) fn mean_delay(hop: &Hop) -> Duration {
    let delay = match hop {
        Hop::Link(link) => link.delay,
        Hop::Cell { station, .. } => station.delay,
    };
    delay.mean()
}

fn connection(
    experiment: &Experiment,
    config: &traffic::TrafficConfig,
    progress: &Progress,
) -> ConnectionOutcome {
    let rest = progress.rest();
    let delivered = progress.delivered.load(Ordering::Relaxed);
    let completed_s = (rest.complete && rest.failed.is_none())
        .then(|| progress.last_byte().since(config.start).as_secs_f64());
    let span = goodput_span(config, completed_s, experiment.duration);
    ConnectionOutcome {
        kind: config.kind.name(),
        direction: if config.direction == Direction::Down { "down" } else { "up" },
        protocol: if rest.mptcp == Some(true) { "mptcp" } else { "tcp" },
        offered_bytes: rest.offered,
        dropped_bytes: rest.dropped,
        delivered_bytes: delivered,
        corrupted_bytes: 0,
        goodput_mbps: if span > 0.0 { delivered as f64 * 8e-6 / span } else { 0.0 },
        completed_s,
        peak_out_of_order_bytes: None,
        repeated_bytes: None,
        failed: rest.failed.is_some(),
        video: None,
    }
}
