//! Programs of the user on the device and the server, in place of the scenario's traffic.

use crate::faults::{FaultSchedule, ServerState};
use crate::proxied_server::{ProxiedServer, ProxySetup};
use crate::reaction::Reaction;
use crate::relay::Relay;
use crate::run_controller::RunController;
use crate::stacks::{StackKind, Stacks};
use crate::topology::{Reach, SERVER, Topology};
use crate::translation::{check_supported, congestion_name, note_multipath, note_receiver_driven};
use crate::uplink::Uplink;
use crate::{Error, Outcome};
use emulator::{Lateness, Network, Transit};
use linux::mib::Mib;
use linux::namespace::Namespace;
use linux::program::{Foreground, Program, Sockets};
use linux::signal::Signals;
use linux::socket::{self, Options};
use linux::tun::Tun;
use sim::{Experiment, Hop, Protocol};
use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::RangeInclusive;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time;
use units::{Duration, Instant};

/// State of a listening socket in `/proc/net/tcp`.
const TCP_LISTEN: &str = "0A";
/// State of a socket without a peer in `/proc/net/udp`.
const UDP_UNCONNECTED: &str = "07";
/// Maximum time until the server's program listens. Then the command starts anyway.
const LISTEN_TIMEOUT: time::Duration = time::Duration::from_secs(10);
/// Time in which a program that starts may look names up.
const LOOKUP_TIME: time::Duration = time::Duration::from_secs(3);
/// Interval at which a waiting thread checks its condition.
const POLL_INTERVAL: time::Duration = time::Duration::from_millis(10);
/// Time between SIGTERM and SIGKILL for a program.
const TERMINATION_GRACE: time::Duration = time::Duration::from_secs(2);
/// Maximum wait for a signal before a check for the end of the run.
const SIGNAL_POLL_MILLIS: u32 = 50;
/// Duration of a run without a limit.
const UNLIMITED: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Environment variable with the server's address, for both programs.
const SERVER_VARIABLE: &str = "TANDEM_SERVER";

/// The programs of a run, and its options. Both find the server's address in the environment
/// variable `TANDEM_SERVER`.
#[derive(Debug)]
pub struct Programs {
    /// Command on the device.
    pub command: Command,
    /// Command on the server. It starts before the device's command and is terminated after it.
    /// Its output should not go to the stdout of the command.
    pub server: Option<Command>,
    /// Implementation of Multipath TCP at the server. With Tandem's stack, the server's program uses
    /// TCP on its own host, and a relay joins both.
    pub server_stack: StackKind,
    /// All TCP sockets of both programs become MPTCP sockets, if the scenario uses MPTCP.
    /// Otherwise a program must request MPTCP itself.
    pub multipath: bool,
    /// Maximum duration of the command.
    pub limit: Option<Duration>,
    /// Places a proxy between the paths and a server of the caller.
    pub proxied: Option<ProxiedContent>,
    /// The device reaches the real network through the server, by relayed connections and UDP flows
    /// that leave from the namespace of the calling thread.
    pub uplink: bool,
    /// The emulator segments and coalesces packets for the kernels
    /// ([`Driver::devices`](emulator::Driver::devices)).
    pub offload: bool,
    /// Set by the caller to end the run when the command has done its work.
    pub finished: Arc<AtomicBool>,
}

/// Content of the caller's server behind a proxy, which supports HTTP at [`ProxySetup::PROXY`].
#[derive(Debug)]
pub struct ProxiedContent {
    /// The proxy and its link to the server.
    pub setup: ProxySetup,
    /// Receives a TCP socket that listens at [`ProxySetup::CONTENT`], before the command starts.
    pub listener: Sender<TcpListener>,
}

/// Cause of the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The command exited with this code, or 128 plus the number of a signal.
    Exited(u8),
    /// The command exceeded its maximum duration and was terminated.
    TimedOut,
    /// The caller set [`Programs::finished`], and the command was terminated.
    Finished,
}

/// The device's MPTCP counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MptcpCounters {
    /// Connections that requested MPTCP (`MPTcpExtMPCapableSYNTX`).
    pub requested: u64,
    /// Connections for which the server accepted MPTCP (`MPTcpExtMPCapableSYNACKRX`).
    pub accepted: u64,
    /// Subflows that joined them (`MPTcpExtMPJoinSynAckRx`).
    pub joined: u64,
}

/// Results of a run of the user's programs.
#[derive(Debug, Clone)]
pub struct EmulatedRun {
    /// Traffic of the device's interfaces and energy of its radios, without connections.
    pub outcome: Outcome,
    /// Cause of the end.
    pub end: End,
    /// Duration from the start of the command.
    pub duration: Duration,
    /// Delays between a packet's time in the model and its delivery.
    pub lateness: Lateness,
    /// Mean delay of the packets on each path, down and up: in total, and beyond the path's own
    /// delay. The latter is due to queueing and transmission.
    pub delays: Vec<[Option<(Duration, Duration)>; 2]>,
    /// MPTCP counters of the device.
    pub multipath: MptcpCounters,
    /// Number of MP_PRIO options received by the server.
    pub priorities_heard: u64,
    /// Reaction to each decision of the policy against a path.
    pub reactions: Vec<Reaction>,
    /// Packets that were lost between Tandem's stack and the emulator, on no link.
    pub lost_packets: u64,
    /// The server's program has a UDP socket behind Tandem's stack, which carries TCP only.
    pub server_lacks_udp: bool,
    /// Differences between the scenario and the run on this kernel.
    pub notes: Vec<String>,
}

/// Runs programs over an experiment's paths until the command has ended, with the experiment's
/// policy and without its traffic. Time zero is just before the start of the command.
///
/// The command has the terminal and the standard streams. `signals` are forwarded to it, except
/// signals that the terminal has already sent to it. `capture` is as in
/// [`run_with`](crate::run_with).
///
/// # Errors
/// Fails if a requirement of the system is missing, if a program cannot be started, if the
/// server's program exits before the command starts, and after a signal before that.
pub fn emulate(
    experiment: &Experiment,
    programs: Programs,
    signals: Option<&Signals>,
    capture: Option<&File>,
) -> Result<EmulatedRun, Error> {
    check_supported(experiment, &[])?;
    check_server(&programs)?;
    let stacks = Stacks { server: programs.server_stack, ..Stacks::default() };
    let Programs { command, server, multipath, limit, proxied, uplink, offload, finished, .. } = programs;
    let experiment_duration = experiment.duration;
    let experiment =
        &Experiment { traffic: Vec::new(), duration: limit.unwrap_or(UNLIMITED), ..experiment.clone() };
    let mut notes = Vec::new();
    let reach = if uplink { Reach::Everything } else { Reach::Server };
    let (mut topology, devices) = Topology::build(experiment, stacks, offload, reach)?;
    let build_proxied = |content| build_proxied_server(content, experiment, offload, &topology);
    let proxied = proxied.map(build_proxied).transpose()?;
    let mut controller = RunController::new(experiment, &mut topology, &mut notes)?;
    controller.capture = capture;
    controller.set_allowance_period(limit.unwrap_or(experiment_duration));
    controller.steer(Instant::ZERO)?;
    let sockets = configure_sockets(experiment, controller.topology, multipath, &mut notes)?;
    let control = Control { finished, ..Control::default() };
    let foreground = Foreground::remember();
    let emulation = Emulation { controller, devices, proxied, uplink, sockets, foreground };
    let result = std::thread::scope(|scope| {
        if let Some(signals) = signals {
            scope.spawn(|| forward_signals(signals, &control));
        }
        scope.spawn(|| stop_when_finished(&control));
        let result = emulation.run(command, server, &control);
        control.over.store(true, Ordering::Relaxed);
        control.lock_program().take();
        result
    });
    result.map(|run| {
        notes.extend(run.notes);
        EmulatedRun { notes, ..run }
    })
}

/// State shared by the threads of a run.
#[derive(Debug, Default)]
struct Control {
    /// The caller declares the work of the command done.
    finished: Arc<AtomicBool>,
    /// Ends the control loop.
    stop: Arc<AtomicBool>,
    /// Ends the other threads.
    over: AtomicBool,
    /// The running command.
    program: Mutex<Option<Arc<Program>>>,
}

impl Control {
    fn lock_program(&self) -> MutexGuard<'_, Option<Arc<Program>>> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run before the start of its programs.
struct Emulation<'a> {
    controller: RunController<'a>,
    devices: Vec<[Tun; 2]>,
    proxied: Option<ProxiedServer>,
    uplink: bool,
    sockets: Sockets,
    foreground: Foreground,
}

impl Emulation<'_> {
    /// Runs the programs until the command has ended, and collects the results.
    fn run(self, command: Command, server: Option<Command>, control: &Control) -> Result<EmulatedRun, Error> {
        let Self { mut controller, devices, proxied, uplink, sockets, foreground } = self;
        let server_sockets = match controller.topology.stacks.server {
            StackKind::Linux => &sockets,
            StackKind::Tandem => &Sockets::Unchanged,
        };
        let mut notes = Vec::new();
        let start_server =
            |server| start_server(server, &controller.topology.server, server_sockets, control, &mut notes);
        let server = server.map(start_server).transpose()?;
        // After the server's program, so that its listeners come first.
        let host = &controller.topology.server;
        let uplink = uplink.then(|| Uplink::start(host)).transpose()?;
        let open_hook = |uplink: &Uplink| uplink.hook(host, listener_congestion(&sockets));
        let hook = uplink.as_ref().map(open_hook).transpose()?;
        let resolv_conf = uplink.as_ref().map(|uplink| uplink.resolv_conf.clone());
        let emulator = controller.start_emulator(devices, hook)?;
        let relay = start_relay(&controller)?;
        let place = (&controller.topology.device, resolv_conf);
        let program = start_command(command, place, &sockets, control)?;
        let server_state = ServerState::default();
        let mut no_faults = FaultSchedule::new(&server_state, &emulator, Vec::new());
        controller.run(&mut no_faults, &control.stop, &mut |_| {})?;
        let ended_at = controller.shared.clock().now();
        let lost_packets = controller.topology.lost_packets(&emulator);
        let end = match program.exit_code() {
            Some(code) => End::Exited(code),
            None if control.finished.load(Ordering::Relaxed) => End::Finished,
            None => End::TimedOut,
        };
        controller.ended_at = Some(ended_at);
        // Before the termination of the programs, which may take time and cause traffic.
        let multipath = controller.topology.device.run(read_mptcp_counters)?;
        let mut outcome = controller.outcome()?;
        // The bytes that reached the applications are unknown.
        outcome.device.efficiency_mbit_per_j = None;
        let priorities_heard = controller.monitor.priorities_heard(controller.topology)?;
        let server_lacks_udp = relay.is_some() && has_udp(&controller.topology.server)?;
        let (lateness, delays) = {
            let (network, _) = controller.shared.lock();
            (network.lateness().clone(), delays(controller.experiment, &network))
        };
        if !matches!(end, End::Exited(_)) {
            program.terminate(TERMINATION_GRACE);
        }
        drop(foreground);
        if let Some(server) = server {
            server.terminate(TERMINATION_GRACE);
        }
        emulator.stop()?;
        drop(relay);
        controller.topology.stop_stacks()?;
        drop(uplink);
        if let Some(proxied) = proxied {
            proxied.stop()?;
        }
        Ok(EmulatedRun {
            outcome,
            end,
            duration: ended_at.since(Instant::ZERO),
            lateness,
            delays,
            multipath,
            priorities_heard,
            reactions: controller.reactions.measured,
            lost_packets,
            server_lacks_udp,
            notes,
        })
    }
}

/// Checks that Tandem's stack can serve the programs.
fn check_server(programs: &Programs) -> Result<(), Error> {
    let unsupported =
        |reason: &str| Err(Error::Unsupported { reason: reason.to_owned(), hint: String::new() });
    match programs.server_stack {
        StackKind::Tandem if programs.uplink => {
            unsupported("Tandem's stack at the server has no relay to the real network")
        }
        StackKind::Tandem if programs.proxied.is_some() => {
            unsupported("the proxy before the server uses the kernel's sockets")
        }
        StackKind::Linux | StackKind::Tandem => Ok(()),
    }
}

/// Gives the programs' sockets the protocol and the congestion control of the experiment. Notes
/// unsupported properties of the transport.
fn configure_sockets(
    experiment: &Experiment,
    topology: &Topology,
    multipath: bool,
    notes: &mut Vec<String>,
) -> Result<Sockets, Error> {
    let transport = &experiment.transport;
    let is_mptcp = transport.protocol == Protocol::Mptcp;
    match topology.stacks.server {
        StackKind::Linux if is_mptcp => note_multipath(transport, notes),
        StackKind::Tandem if is_mptcp => note_receiver_driven(transport, notes),
        _ => {}
    }
    let congestion = congestion_name(&transport.config.congestion, notes);
    if is_mptcp && multipath {
        return Ok(Sockets::Mptcp(Some(congestion)));
    }
    topology.set_default_congestion(&congestion, notes)?;
    Ok(Sockets::Unchanged)
}

/// Relays connections from Tandem's stack at the server to the server's program.
fn start_relay(controller: &RunController<'_>) -> Result<Option<Relay>, Error> {
    let (topology, transport) = (&controller.topology, &controller.experiment.transport);
    let config = mptcp::Config { mptcp: transport.protocol == Protocol::Mptcp, ..transport.config.clone() };
    let start = |host| Relay::start(host, &topology.server, config);
    Ok(topology.server_host().map(start).transpose()?)
}

/// Builds the proxy and the server's host, and sends the listening socket to the caller.
fn build_proxied_server(
    ProxiedContent { setup, listener }: ProxiedContent,
    experiment: &Experiment,
    offload: bool,
    topology: &Topology,
) -> Result<ProxiedServer, Error> {
    let proxied = ProxiedServer::build(&setup, experiment, offload, &topology.server)?;
    let listen = || socket::listen(ProxySetup::CONTENT, socket::Protocol::Tcp, &Options::default());
    let listening = proxied.server.run(listen)?;
    // Fails if the caller has dropped the receiver. Then the port is closed.
    let _ = listener.send(listening);
    Ok(proxied)
}

/// Congestion control of the relay's connections to the device, as of the server's program.
fn listener_congestion(sockets: &Sockets) -> Option<String> {
    match sockets {
        Sockets::Mptcp(congestion) => congestion.clone(),
        Sockets::Unchanged => None,
    }
}

/// Starts the command on the device, with a `/etc/resolv.conf` of its own if there is one, unless a
/// signal has arrived before.
fn start_command(
    mut command: Command,
    (device, resolv_conf): (&Namespace, Option<String>),
    sockets: &Sockets,
    control: &Control,
) -> Result<Arc<Program>, Error> {
    command.env(SERVER_VARIABLE, SERVER.to_string());
    let stop = Arc::clone(&control.stop);
    let on_exit = move || stop.store(true, Ordering::Relaxed);
    // Holding the lock delays the handling of signals until the command has started.
    let mut running = control.lock_program();
    if control.stop.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    let program = Arc::new(Program::start(device, command, sockets, resolv_conf, on_exit)?);
    *running = Some(Arc::clone(&program));
    Ok(program)
}

/// Starts the server's program and waits until it listens, at most for [`LISTEN_TIMEOUT`]. Adds a
/// note if it does not.
fn start_server(
    mut command: Command,
    host: &Namespace,
    sockets: &Sockets,
    control: &Control,
    notes: &mut Vec<String>,
) -> Result<Program, Error> {
    command.env(SERVER_VARIABLE, SERVER.to_string());
    let program = Program::start(host, command, sockets, None, || {})?;
    let started = time::Instant::now();
    while !has_listener(host, started.elapsed())? {
        if started.elapsed() >= LISTEN_TIMEOUT {
            let seconds = LISTEN_TIMEOUT.as_secs();
            notes
                .push(format!("the server's program does not listen: the command started after {seconds} s"));
            break;
        }
        if let Some(code) = program.wait(POLL_INTERVAL) {
            return Err(Error::ServerExited { code });
        }
        if control.stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
    }
    Ok(program)
}

/// True if a TCP or UDP socket of the host waits for clients, this time after the start of its
/// program. Within [`LOOKUP_TIME`] a UDP socket at a port that the kernel chose may be that of a
/// name lookup.
fn has_listener(host: &Namespace, elapsed: time::Duration) -> Result<bool, Error> {
    host.run(|| {
        let chosen = chosen_ports();
        let is_own = |port| elapsed > LOOKUP_TIME || !chosen.contains(&port);
        Ok(has_server(["tcp", "tcp6"], TCP_LISTEN, |_| true)
            || has_server(["udp", "udp6"], UDP_UNCONNECTED, is_own))
    })
}

/// True if a UDP socket of the host has no peer.
fn has_udp(host: &Namespace) -> Result<bool, Error> {
    host.run(|| Ok(has_server(["udp", "udp6"], UDP_UNCONNECTED, |_| true)))
}

/// True if a socket of the present namespace is in this state, at a port that `is_own` accepts.
fn has_server(tables: [&str; 2], state: &str, is_own: impl Fn(u16) -> bool) -> bool {
    tables.iter().any(|table| {
        let text = fs::read_to_string(format!("/proc/thread-self/net/{table}")).unwrap_or_default();
        ports_in_state(&text, state).any(&is_own)
    })
}

/// Local ports of the sockets in this state, from a table such as `/proc/net/tcp`.
fn ports_in_state(table: &str, state: &str) -> impl Iterator<Item = u16> {
    table.lines().skip(1).filter_map(move |line| {
        let mut columns = line.split_ascii_whitespace().skip(1);
        let (local, _remote, found) = (columns.next()?, columns.next()?, columns.next()?);
        let (_, port) = local.rsplit_once(':')?;
        (found == state).then(|| u16::from_str_radix(port, 16).ok())?
    })
}

/// Ports that the kernel of the present namespace gives to sockets without a port of their own.
fn chosen_ports() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = text.split_ascii_whitespace().filter_map(|bound| bound.parse().ok());
    bounds.next().unwrap_or(32768)..=bounds.next().unwrap_or(60999)
}

/// Ends the control loop as soon as the caller declares the work done.
fn stop_when_finished(control: &Control) {
    while !control.over.load(Ordering::Relaxed) {
        if control.finished.load(Ordering::Relaxed) {
            control.stop.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Forwards signals to the command. A signal before its start stops the run.
fn forward_signals(signals: &Signals, control: &Control) {
    while !control.over.load(Ordering::Relaxed) {
        // Without a readable descriptor no signal can be forwarded; SIGKILL still works.
        let Ok(received) = signals.next(SIGNAL_POLL_MILLIS) else { return };
        let Some(signal) = received else { continue };
        match control.lock_program().as_ref() {
            Some(program) if !signal.from_terminal => program.signal(signal.number),
            // The program's init has it too, and forwards it to a program in another process group.
            Some(_) => {}
            None => control.stop.store(true, Ordering::Relaxed),
        }
    }
}

fn read_mptcp_counters() -> Result<MptcpCounters, Error> {
    let counters = Mib::read()?;
    let counter = |name| counters.counter(name).unwrap_or(0);
    Ok(MptcpCounters {
        requested: counter("MPTcpExtMPCapableSYNTX"),
        accepted: counter("MPTcpExtMPCapableSYNACKRX"),
        joined: counter("MPTcpExtMPJoinSynAckRx"),
    })
}

/// Mean delays of each path; see [`EmulatedRun::delays`].
fn delays(experiment: &Experiment, network: &Network) -> Vec<[Option<(Duration, Duration)>; 2]> {
    let delay = |transit: Transit, hop: &Hop| {
        let mean = transit.mean()?;
        let propagation = mean_delay(hop).as_nanos();
        Some((mean, Duration::from_nanos(mean.as_nanos().saturating_sub(propagation))))
    };
    let paths = experiment.paths.iter().zip(network.paths());
    paths
        .map(|(spec, counts)| {
            let [down, up] = counts.transit;
            [delay(down, &spec.down), delay(up, &spec.up)]
        })
        .collect()
}

/// Mean delay of a hop without queueing.
fn mean_delay(hop: &Hop) -> Duration {
    let delay = match hop {
        Hop::Link(link) => link.delay,
        Hop::Cell { station, .. } => station.delay,
    };
    delay.mean()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_sockets_in_the_state() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue\n\
            10: 0100007F:1F90 00000000:0000 07 00000000:00000000\n\
            11: 0100007F:8235 0100007F:0035 01 00000000:00000000\n\
            12: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 07 0\n\
            13: cut\n";
        assert_eq!(ports_in_state(table, UDP_UNCONNECTED).collect::<Vec<_>>(), [8080, 443]);
        assert_eq!(ports_in_state(table, TCP_LISTEN).count(), 0);
    }
}
