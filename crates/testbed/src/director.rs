//! What happens when: interfaces come and go, the policy looks and acts, rows are taken, and the end.

use crate::reaction::{Reaction, Reactions};
use crate::topology::{SERVER, Topology, buffer_for};
use crate::traffic::{Flow, Plan, Progress};
use crate::watch::Watch;
use crate::{Error, Outcome};
use agent::{Look, Steering};
use emulator::{Driver, Lateness, Network, Shared};
use linux::clock::Clock;
use linux::socket::{Options, Protocol};
use mptcp::{CongestionKind, SchedulerKind};
use policy::{Action, Actuator, Ledger, PolicyConfig};
use radio::{Meter, State};
use sim::{BackgroundOutcome, ConnectionOutcome, DeviceOutcome, Experiment, Hop, Series, goodput_span};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use traffic::Direction;
use units::{Bytes, Duration, Time};

/// So often somebody who waits for an end is heard.
const LOOK_UP: Duration = Duration::from_millis(20);
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
    /// Where the kernel did something else than the scenario says, in words.
    pub notes: Vec<String>,
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
    fits(experiment)?;
    let (mut topology, devices) = Topology::build(experiment)?;
    let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
    let backups: Vec<_> = experiment.paths.iter().map(|path| path.backup).collect();
    let mut notes = Vec::new();
    let policy = as_on_a_device(&experiment.device.policy, &mut notes);
    let steers = matches!(experiment.transport.protocol, sim::Protocol::Mptcp);
    let watch = Watch::open(experiment, &topology)?;
    let mut director = Director {
        experiment,
        steering: Steering::new(&policy, &kinds, &backups),
        ledgers: experiment
            .paths
            .iter()
            .map(|path| path.allowance.map(|plan| Ledger::new(plan, experiment.duration)))
            .collect(),
        steers,
        watch,
        series: Series::new(experiment),
        rows: Rows::new(experiment),
        reactions: Reactions::default(),
        flows: Vec::new(),
        // Replaced when everything is ready.
        shared: Shared::new(Network::new(experiment), Clock::start()),
        topology: &mut topology,
    };
    // What the policy wants from the start is so before the first byte.
    director.steer(Time::ZERO)?;
    let clock = Clock::start();
    director.shared = Shared::new(Network::new(experiment), clock);
    let emulator = Driver::new(devices, director.shared.clone()).start(true)?;
    let over = Arc::new(AtomicBool::new(false));
    let end = Time::ZERO + experiment.duration;
    for plan in plans(experiment, clock, end, director.topology, &mut notes) {
        let flow = Flow::start(&plan, &director.topology.device, &director.topology.server, &over);
        match flow {
            Ok(flow) => director.flows.push(flow),
            Err(error) => {
                over.store(true, Ordering::Relaxed);
                return Err(error.into());
            }
        }
    }
    let ended = director.work(stop, progress);
    let ended = ended.and_then(|()| if stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) });
    let outcome = ended.map(|()| director.outcome());
    over.store(true, Ordering::Relaxed);
    for flow in std::mem::take(&mut director.flows) {
        flow.join()?;
    }
    let lateness = director.shared.lock().0.lateness().clone();
    let priorities_heard = director.watch.priorities_heard()?;
    emulator.stop()?;
    let outcome = outcome??;
    Ok(Ran { outcome, lateness, priorities_heard, reactions: director.reactions.seen, notes })
}

/// What no kernel can do.
fn fits(experiment: &Experiment) -> Result<(), Error> {
    const MOST: usize = 8;
    if experiment.paths.len() > MOST {
        return Err(Error::Unfit {
            what: format!("{} paths: Linux has at most {MOST} subflows", experiment.paths.len()),
            hint: "`tandem run` simulates any number".to_owned(),
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

/// The policy as a device can follow it.
fn as_on_a_device(policy: &PolicyConfig, notes: &mut Vec<String>) -> PolicyConfig {
    if let PolicyConfig::Emtcp { share, actuator: Actuator::Ideal } = *policy {
        notes.push(
            "policy: a device cannot tell a sender its shares (actuator ideal); mp-prio holds the share instead"
                .to_owned(),
        );
        return PolicyConfig::Emtcp { share, actuator: Actuator::MpPrio };
    }
    *policy
}

/// The kernel's name for a congestion control.
fn congestion(kind: CongestionKind, notes: &mut Vec<String>) -> String {
    match kind {
        CongestionKind::Reno => "reno",
        CongestionKind::Cubic => "cubic",
        CongestionKind::Bbr => "bbr",
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
    end: Time,
    topology: &Topology,
    notes: &mut Vec<String>,
) -> Vec<Plan> {
    let transport = &experiment.transport;
    let config = &transport.config;
    if !matches!(config.scheduler, SchedulerKind::Linux) && transport.protocol == sim::Protocol::Mptcp {
        notes.push(format!("scheduler: Linux has its own alone, not {}", config.scheduler));
    }
    let options = Options {
        congestion: Some(congestion(config.congestion, notes)),
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
        bound_to: bound_to.clone(),
        send_buffer: transport.config.send_buffer,
        seed: seed.derive(&i.to_string()),
        clock,
        end,
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
    at: Time,
}

impl Rows {
    fn new(experiment: &Experiment) -> Self {
        Self {
            paths: vec![(0, 0, 0.0); experiment.paths.len()],
            delivered: vec![0; experiment.traffic.len()],
            energy: 0.0,
            at: Time::ZERO,
        }
    }
}

struct Director<'a> {
    experiment: &'a Experiment,
    topology: &'a mut Topology,
    shared: Shared,
    flows: Vec<Flow>,
    steering: Steering,
    /// The account of each path's data allowance, if it has one.
    ledgers: Vec<Option<Ledger>>,
    /// The protocol is one that can be steered.
    steers: bool,
    watch: Watch,
    series: Series,
    rows: Rows,
    reactions: Reactions,
}

impl Director<'_> {
    /// Everything from the start to the end.
    fn work(&mut self, stop: &AtomicBool, progress: &mut dyn FnMut(f64)) -> Result<(), Error> {
        let end = Time::ZERO + self.experiment.duration;
        let sample = self.experiment.sample;
        let mut next_row = if sample.is_zero() { Time::MAX } else { Time::ZERO + sample };
        let mut next_look = self.steering.interval().map_or(Time::MAX, |interval| Time::ZERO + interval);
        let mut next_watch = Time::ZERO;
        let mut changes: Vec<(Time, usize, bool)> = Vec::new();
        for (path, spec) in self.experiment.paths.iter().enumerate() {
            if spec.join_at > Time::ZERO {
                changes.push((spec.join_at, path, true));
            }
            changes.extend(spec.leave_at.map(|at| (at, path, false)));
        }
        changes.sort_unstable();
        let mut changes = changes.into_iter().peekable();
        let clock = self.shared.clock();
        loop {
            let now = clock.now();
            if now >= end || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            while let Some((_, path, comes)) = changes.next_if(|&(at, ..)| at <= now) {
                // The emulator first: what the kernel sends while the interface comes up counts.
                self.shared.lock().0.set_present(path, comes);
                let changed = if comes { self.topology.come(path) } else { self.topology.go(path) };
                changed?;
                self.steer(now)?;
            }
            if next_look <= now {
                self.steer(now)?;
                let interval = self.steering.interval().unwrap_or(Duration::MAX);
                next_look = (next_look + interval).max(now);
            }
            self.reactions.look(&self.shared.lock().0, now);
            if next_watch <= now {
                self.watch.look()?;
                next_watch = now + Watch::INTERVAL;
            }
            if next_row <= now {
                self.row(now)?;
                next_row = (next_row + sample).max(now);
            }
            progress(now.as_secs_f64() / end.as_secs_f64());
            let change = changes.peek().map_or(Time::MAX, |&(at, ..)| at);
            let next = next_row.min(next_look).min(next_watch).min(change).min(end);
            let wait = next.since(clock.now()).min(LOOK_UP);
            std::thread::sleep(std::time::Duration::from_nanos(wait.as_nanos()));
        }
    }

    /// Shows the policy what the device's counters say, and does what it asks.
    fn steer(&mut self, now: Time) -> Result<(), Error> {
        let mut looks = Vec::new();
        for path in 0..self.experiment.paths.len() {
            let stats = self.topology.route.stats(self.topology.indices[path])?;
            let mut look = Look {
                up: self.topology.is_present(path),
                bytes_down: stats.rx_bytes,
                bytes_up: stats.tx_bytes,
                srtt: self.watch.srtt(path),
                ..Look::default()
            };
            if let Some(ledger) = &mut self.ledgers[path] {
                let (left, until) = ledger.look(now, stats.rx_bytes + stats.tx_bytes);
                (look.allowance_left, look.allowance_until) = (Some(left), Some(until));
            }
            let rate = self.steering.state().paths[path].rate_down;
            let (network, _) = self.shared.lock();
            let meter = &network.paths()[path].meters[0];
            look.awake = meter.state() != State::Idle;
            look.energy_per_mbit = (rate.as_bps() > 0).then(|| meter.profile().energy_per_mbit(rate));
            looks.push(look);
        }
        for action in self.steering.observe(now, &looks) {
            if !self.steers {
                continue;
            }
            match action {
                Action::SetBackup { path, backup } => {
                    self.watch.look()?;
                    let rate = self.steering.state().paths[path].rate_down;
                    let given = Bytes::new(self.watch.not_sent(path));
                    let given = if rate.as_bps() == 0 { Duration::ZERO } else { rate.time_for(given) };
                    let (mut network, at) = self.shared.lock();
                    let spec = &self.experiment.paths[path];
                    let round_trip = mean_delay(&spec.down) + mean_delay(&spec.up);
                    self.reactions.decided(&mut network, at, path, backup, round_trip, given);
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
    fn row(&mut self, now: Time) -> Result<(), Error> {
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
        }
        row.extend([(total - self.rows.energy) / seconds, total]);
        self.rows.energy = total;
        self.series.push(row);
        Ok(())
    }

    fn outcome(&mut self) -> Result<Outcome, Error> {
        self.watch.look()?;
        let experiment = self.experiment;
        let mut connections = Vec::new();
        for (i, (flow, config)) in self.flows.iter().zip(&experiment.traffic).enumerate() {
            let rest = flow.progress.rest();
            if let Some(at) = rest.differs {
                return Err(Error::Differs { connection: i + 1, at });
            }
            connections.push(connection(experiment, config, &flow.progress));
        }
        let (mut network, now) = self.shared.lock();
        network.advance(now.max(Time::ZERO + experiment.duration));
        let mut paths = Vec::new();
        let mut timelines = Vec::new();
        for (path, spec) in experiment.paths.iter().enumerate() {
            let totals = network.totals(path, self.watch.retransmissions(path));
            paths.push(totals.outcome(spec, experiment.duration, network.middleboxes(path)));
            timelines.push(totals.timeline(spec));
        }
        let meters: Vec<&Meter> = network.paths().iter().map(|counts| &counts.meters[0]).collect();
        let device = DeviceOutcome::of(experiment, &meters, &connections, self.steering.changes());
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
            segments: network.segments(),
            series: std::mem::take(&mut self.series),
            timelines,
            capture: network.take_capture(),
        })
    }
}

/// How long one direction takes when nobody waits.
fn mean_delay(hop: &Hop) -> Duration {
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
    let completed_s = rest.complete.then(|| progress.last_byte().since(config.start).as_secs_f64());
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
    }
}
