//! Somebody's own programs on the device and the server, in place of the scenario's traffic.

use crate::director::{Director, Happens, congestion, fits, mean_delay};
use crate::edge::{Behind, Edge};
use crate::faults::Server;
use crate::reaction::Reaction;
use crate::topology::{SERVER, Topology};
use crate::{Error, Outcome};
use emulator::{Driver, Lateness, Network, Shared, Transit};
use linux::clock::Clock;
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::program::{Foreground, Program, Sockets};
use linux::signal::Signals;
use linux::socket::{self, Options};
use sim::{Experiment, Hop, Protocol};
use std::cell::OnceCell;
use std::fs::{self, File};
use std::net::TcpListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time;
use units::{Duration, Instant};

/// So long a server's program may take until it listens; then the other one begins anyway.
const LISTENS: time::Duration = time::Duration::from_secs(3);
/// So often it is looked whether it does.
const LOOK: time::Duration = time::Duration::from_millis(10);
/// So long a program may take to end when it is asked to.
const GRACE: time::Duration = time::Duration::from_secs(2);
/// So often somebody who waits for signals looks whether they are still wanted, in milliseconds.
const LISTEN: u32 = 50;
/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// What is to run, and how. Both find the server's address in the variable `TANDEM_SERVER`.
#[derive(Debug)]
pub struct Programs {
    /// On the device.
    pub command: Command,
    /// On the server, from before the other begins until after it has ended. What it prints should not go
    /// where the other prints.
    pub server: Option<Command>,
    /// TCP sockets of both are Multipath TCP's, where the scenario has that, and not only those of programs
    /// that ask for it.
    pub multipath: bool,
    /// After so long the command is asked to end, and soon is.
    pub limit: Option<Duration>,
    /// The paths lead to a proxy, and what the device asks for is behind it.
    pub behind: Option<Content>,
    /// The emulator segments and sums up for the kernels ([`Driver::devices`]).
    pub offload: bool,
    /// Where somebody makes it true, the command has done what it was to do, and is ended.
    pub enough: Arc<AtomicBool>,
}

/// Content behind a proxy, which speaks HTTP at [`Edge::PROXY`].
#[derive(Debug)]
pub struct Content {
    /// The proxy, and the way from there.
    pub edge: Edge,
    /// Who serves it gets a socket that listens at [`Edge::CONTENT`], of plain TCP, before the command begins.
    pub serves: Sender<TcpListener>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The command ended with this exit code, or 128 and the number of a signal.
    Ended(u8),
    /// It was ended, since its time was over.
    TimeIsUp,
    /// It was ended, since it had done what it was to do.
    Enough,
}

/// What came of the connections that the device opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Multipath {
    /// Connections that asked for Multipath TCP (`MPTcpExtMPCapableSYNTX`).
    pub asked: u64,
    /// Of which the server agreed to so many (`MPTcpExtMPCapableSYNACKRX`).
    pub agreed: u64,
    /// Subflows that joined them (`MPTcpExtMPJoinSynAckRx`).
    pub joined: u64,
}

/// A run of somebody's programs.
#[derive(Debug, Clone)]
pub struct Emulated {
    /// What the device's interfaces carried and its radios drew; of connections it says nothing.
    pub outcome: Outcome,
    /// How it ended.
    pub end: End,
    /// How long it took, from the start of the command.
    pub took: Duration,
    /// How far behind the model packets were written.
    pub lateness: Lateness,
    /// For each path, down and up: how long packets were under way in the mean, and of that how long beyond
    /// the path's own delay, waiting and being sent.
    pub delays: Vec<[Option<(Duration, Duration)>; 2]>,
    /// What came of connections.
    pub multipath: Multipath,
    /// How often MP_PRIO reached the server.
    pub priorities_heard: u64,
    /// How soon each path fell silent that the policy wanted no more.
    pub reactions: Vec<Reaction>,
    /// Where something else was done than was said, in words.
    pub notes: Vec<String>,
}

/// Runs programs over an experiment's paths, with its policy and without its traffic, until the command has
/// ended. Its time begins with the command.
///
/// The command has the terminal and the standard streams; `signals`, where somebody has taken them, are passed on to
/// it, but for those that the terminal has sent to it already. `capture` is as in [`run_with`](crate::run_with).
///
/// # Errors
/// Where the system lacks something, the programs cannot be started or the server's ends before the other
/// begins, and where a signal came before that.
pub fn emulate(
    experiment: &Experiment,
    programs: Programs,
    signals: Option<&Signals>,
    capture: Option<&File>,
) -> Result<Emulated, Error> {
    fits(experiment, &[])?;
    let Programs { mut command, server, multipath, limit, behind, offload, enough } = programs;
    let open = Experiment { traffic: Vec::new(), duration: limit.unwrap_or(FOR_EVER), ..experiment.clone() };
    let done = OnceCell::new();
    let mut notes = Vec::new();
    let (mut topology, devices) = Topology::build(&open, offload)?;
    let behind = behind.map(|content| serve(content, &open, offload, &topology)).transpose()?;
    let mut director = Director::new(&open, &mut topology, &mut notes)?;
    director.capture = capture;
    director.spread_allowances(limit.unwrap_or(experiment.duration));
    director.steer(Instant::ZERO)?;
    let sockets = match experiment.transport.protocol {
        Protocol::Mptcp if multipath => {
            Sockets::Mptcp(Some(congestion(&experiment.transport.config.congestion, &mut notes)))
        }
        _ => Sockets::Unchanged,
    };

    let (stop, over) = (Arc::<AtomicBool>::default(), AtomicBool::new(false));

    let running: Mutex<Option<Arc<Program>>> = Mutex::new(None);
    let foreground = Foreground::remember();
    std::thread::scope(|scope| {
        if let Some(signals) = signals {
            scope.spawn(|| pass_on(signals, &running, &stop, &over));
        }
        scope.spawn(|| wait_for(&enough, &stop, &over));
        let emulated = (|| {
            let server = server.map(|server| start_server(server, &director, &sockets, &stop)).transpose()?;
            let clock = Clock::start();
            director.shared = Shared::new(Network::new(&open), clock);
            let emulator = Driver::new(devices, director.shared.clone()).start(true)?;
            command.env("TANDEM_SERVER", SERVER.to_string());
            let ended = Arc::clone(&stop);
            let then = move || ended.store(true, Ordering::Relaxed);
            let program = {
                // Until it has begun, signals wait.
                let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
                }
                let program = Arc::new(Program::start(&director.topology.device, command, &sockets, then)?);
                *running = Some(Arc::clone(&program));
                program
            };
            director.work(&mut Happens::nothing(&Server::default(), &emulator), &stop, &mut |_| {})?;
            let took = clock.now().since(Instant::ZERO);
            let end = match program.exit_code() {
                Some(code) => End::Ended(code),
                None if enough.load(Ordering::Relaxed) => End::Enough,
                None => End::TimeIsUp,
            };
            if !matches!(end, End::Ended(_)) {
                program.terminate(GRACE);
            }
            drop(foreground);
            director.experiment = done.get_or_init(|| Experiment { duration: took, ..open.clone() });
            let multipath = director.topology.device.run(count)?;
            let mut outcome = director.outcome()?;
            // What reached applications is for them to know.
            outcome.device.efficiency_mbit_per_j = None;
            let priorities_heard = director.watch.priorities_heard()?;
            if let Some(server) = server {
                server.terminate(GRACE);
            }
            let (lateness, delays) = {
                let (network, _) = director.shared.lock();
                (network.lateness().clone(), delays(&open, &network))
            };
            emulator.stop()?;
            if let Some(behind) = behind {
                behind.stop()?;
            }
            let reactions = std::mem::take(&mut director.reactions.seen);
            let notes = Vec::new();
            Ok(Emulated {
                outcome,
                end,
                took,
                lateness,
                delays,
                multipath,
                priorities_heard,
                reactions,
                notes,
            })
        })();
        over.store(true, Ordering::Relaxed);
        running.lock().unwrap_or_else(PoisonError::into_inner).take();
        emulated
    })
    .map(|emulated| Emulated { notes, ..emulated })
}

/// Makes the proxy and what is behind it, and says where to serve.
fn serve(
    Content { edge, serves }: Content,
    experiment: &Experiment,
    offload: bool,
    topology: &Topology,
) -> Result<Behind, Error> {
    let behind = Behind::build(&edge, experiment, offload, &topology.server)?;
    let listening =
        behind.content.run(|| socket::listen(Edge::CONTENT, socket::Protocol::Tcp, &Options::default()))?;
    // Where nobody wants to serve, nobody is served.
    let _ = serves.send(listening);
    Ok(behind)
}

/// Passes on that it is enough.
fn wait_for(enough: &AtomicBool, stop: &AtomicBool, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        if enough.load(Ordering::Relaxed) {
            stop.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(LOOK);
    }
}

/// Starts the server's program and waits until it listens, or long enough.
fn start_server(
    mut command: Command,
    director: &Director<'_>,
    sockets: &Sockets,
    stop: &AtomicBool,
) -> Result<Program, Error> {
    command.env("TANDEM_SERVER", SERVER.to_string());
    let host = &director.topology.server;
    let program = Program::start(host, command, sockets, || {})?;
    let begun = time::Instant::now();
    while !listens(host)? && begun.elapsed() < LISTENS {
        if let Some(code) = program.wait(LOOK) {
            return Err(Error::ServerEnded { code });
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
    }
    Ok(program)
}

/// Whether somebody waits for connections or datagrams there.
fn listens(host: &Namespace) -> Result<bool, Error> {
    /// TCP_LISTEN, as `/proc/net/tcp` has it.
    const LISTEN: &str = "0A";
    host.run(|| {
        let any = |name: &str, state: &str| {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
            // The fourth column is the state.
            text.lines()
                .skip(1)
                .any(|line| line.split_ascii_whitespace().nth(3).is_some_and(|s| s.contains(state)))
        };
        Ok(any("tcp", LISTEN) || any("tcp6", LISTEN) || any("udp", "") || any("udp6", ""))
    })
}

/// Gives the command the signals that we are sent. Before it has begun, they say that it is not to.
fn pass_on(signals: &Signals, running: &Mutex<Option<Arc<Program>>>, stop: &AtomicBool, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        // Where signals cannot be read, nobody can be told; the program can still be killed.
        let Ok(heard) = signals.next(LISTEN) else { return };
        let Some(signal) = heard else { continue };
        match running.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(program) if !signal.from_terminal => program.signal(signal.number),
            Some(_) => {}
            None => stop.store(true, Ordering::Relaxed),
        }
    }
}

fn count() -> Result<Multipath, Error> {
    let counters = Mib::read()?;
    let counter = |name| counters.counter(name).unwrap_or(0);
    Ok(Multipath {
        asked: counter("MPTcpExtMPCapableSYNTX"),
        agreed: counter("MPTcpExtMPCapableSYNACKRX"),
        joined: counter("MPTcpExtMPJoinSynAckRx"),
    })
}

fn delays(experiment: &Experiment, network: &Network) -> Vec<[Option<(Duration, Duration)>; 2]> {
    let of = |transit: Transit, hop: &Hop| {
        let mean = transit.mean()?;
        let own = mean_delay(hop).as_nanos();
        Some((mean, Duration::from_nanos(mean.as_nanos().saturating_sub(own))))
    };
    let paths = experiment.paths.iter().zip(network.paths());
    paths
        .map(|(spec, counts)| {
            let [down, up] = counts.transit;
            [of(down, &spec.down), of(up, &spec.up)]
        })
        .collect()
}
