//! Translates an experiment into the settings of a kernel.

use crate::Error;
use crate::connection_plan::{ConnectionPlan, RunContext};
use crate::faults::Fault;
use crate::run::Setup;
use crate::stack_end::tcp_path;
use crate::stacks::{StackKind, Stacks};
use crate::stream::SocketSettings;
use crate::topology::{SERVER, Topology, buffer_for_window};
use linux::socket::{Options, Protocol};
use mptcp::{CongestionChoice, CongestionKind, SchedulerKind};
use policy::PolicyConfig;
use sim::{Experiment, Transport};
use stack::Host;
use std::net::SocketAddr;
use std::sync::Arc;
use traffic::Direction;
use units::Instant;

/// Linux's maximum number of subflows.
const MAX_PATHS: usize = 8;
/// Port of the first connection's server; the other connections use the next ports.
const FIRST_PORT: u16 = 5001;

/// Checks that a kernel can run the experiment with these faults.
pub(crate) fn check_supported(experiment: &Experiment, faults: &[(Instant, Fault)]) -> Result<(), Error> {
    let paths = experiment.paths.len();
    if paths > MAX_PATHS {
        return Err(Error::Unsupported {
            reason: format!("{paths} paths: Linux supports at most {MAX_PATHS} subflows"),
            hint: "`tandem run` simulates any number".to_owned(),
        });
    }
    if let Some(path) = faults.iter().filter_map(|(_, fault)| fault.path()).find(|&path| path >= paths) {
        return Err(Error::Unsupported {
            reason: format!("a fault affects path {} of {paths}", path + 1),
            hint: String::new(),
        });
    }
    if experiment.traffic.len() > usize::from(u16::MAX - FIRST_PORT) {
        return Err(Error::Unsupported {
            reason: format!("{} connections: more than there are free ports", experiment.traffic.len()),
            hint: "`tandem run` simulates any number".to_owned(),
        });
    }
    Ok(())
}

/// Checks that the stacks can run with these options.
pub(crate) fn check_stacks(stacks: Stacks, setup: &Setup) -> Result<(), Error> {
    let unsupported =
        |reason: &str| Err(Error::Unsupported { reason: reason.to_owned(), hint: String::new() });
    if stacks.server == StackKind::Tandem && setup.proxy.is_some() {
        return unsupported("`server=tandem`: the proxy before the server uses the kernel's sockets");
    }
    let changes_address = |(_, fault): &(Instant, Fault)| matches!(fault, Fault::AddressChange { .. });
    if stacks.device == StackKind::Tandem && setup.faults.iter().any(changes_address) {
        return unsupported("`device=tandem`: the addresses of Tandem's stack are fixed");
    }
    Ok(())
}

/// True if an end that uses the kernel sends data.
pub(crate) fn sends_by_kernel(experiment: &Experiment, stacks: Stacks) -> bool {
    let sends = |end: Direction| experiment.traffic.iter().any(|one| one.direction == end);
    stacks.device == StackKind::Linux && sends(Direction::Up)
        || stacks.server == StackKind::Linux && sends(Direction::Down)
}

/// Returns the policy in a form that a device can apply. Notes a difference.
pub(crate) fn policy_for_device(policy: &PolicyConfig, notes: &mut Vec<String>) -> PolicyConfig {
    policy.for_device().map_or_else(
        || policy.clone(),
        |applied| {
            notes.push(format!(
                "the policy `{policy}` is replaced by `{applied}`: a device cannot set the shares of a sender"
            ));
            applied
        },
    )
}

/// Returns the kernel's name of a congestion control. Notes a substitution.
pub(crate) fn congestion_name(choice: &CongestionChoice, notes: &mut Vec<String>) -> String {
    match choice {
        CongestionChoice::Registered(CongestionKind::Reno) => "reno",
        CongestionChoice::Registered(CongestionKind::Cubic) => "cubic",
        CongestionChoice::Registered(CongestionKind::Bbr) => "bbr",
        other => {
            notes.push(format!(
                "the congestion control `{other}` has no effect: Linux has `reno`, `cubic` and `bbr`, and each \
                 subflow uses `reno`"
            ));
            "reno"
        }
    }
    .to_owned()
}

/// Notes properties of Multipath TCP that Linux lacks.
pub(crate) fn note_multipath(transport: &Transport, notes: &mut Vec<String>) {
    let config = &transport.config;
    if config.scheduler != SchedulerKind::Linux && transport.protocol == sim::Protocol::Mptcp {
        notes.push(format!(
            "the scheduler `{}` has no effect: Linux has only its own, which scenarios call `linux`",
            config.scheduler
        ));
    }
    note_receiver_driven(transport, notes);
}

/// Notes that a kernel at one end has no MPTCP-rec.
pub(crate) fn note_receiver_driven(transport: &Transport, notes: &mut Vec<String>) {
    if transport.config.rec.is_some() {
        notes.push("MPTCP-rec has no effect: Linux lacks it, and the run uses standard MPTCP".to_owned());
    }
}

/// Plans the connections of an experiment. Notes unsupported properties of the transport.
pub(crate) fn connection_plans(
    experiment: &Experiment,
    context: &RunContext,
    topology: &Topology,
    notes: &mut Vec<String>,
) -> Vec<ConnectionPlan> {
    let sends_by_kernel = sends_by_kernel(experiment, topology.stacks);
    if sends_by_kernel {
        note_multipath(&experiment.transport, notes);
    }
    // Only a sender has a congestion control to note.
    let mut unneeded = Vec::new();
    let noted = if sends_by_kernel { notes } else { &mut unneeded };
    let options = kernel_options(experiment, noted);
    let protocol = match experiment.transport.protocol {
        sim::Protocol::Tcp { .. } => Protocol::Tcp,
        sim::Protocol::Mptcp => Protocol::Mptcp,
    };
    let device = topology.device_host().map_or_else(
        || {
            let bind_device = tcp_path(experiment).and_then(|path| topology.paths.interface(path));
            let bind_device = bind_device.map(str::to_owned);
            SocketSettings::Kernel { protocol, options: Options { bind_device, ..options.clone() } }
        },
        |host| stack_sockets(experiment, host),
    );
    let server = topology.server_host().map_or_else(
        || SocketSettings::Kernel {
            protocol: if context.proxy.is_some() { Protocol::Tcp } else { protocol },
            // Web servers set TCP_NODELAY too. Otherwise Nagle's algorithm (RFC 9293, section 3.7.4)
            // delays the last partial segment until all data before it is acknowledged.
            options: Options { no_delay: true, ..options.clone() },
        },
        |host| stack_sockets(experiment, host),
    );
    let sockets = [device, server];
    let seed = experiment.seed.derive("connection");
    let plan = |(i, traffic): (usize, &traffic::TrafficConfig)| ConnectionPlan {
        context: context.clone(),
        traffic: traffic.clone(),
        server: SocketAddr::new(SERVER, FIRST_PORT + i as u16),
        sockets: sockets.clone(),
        send_buffer: experiment.transport.config.send_buffer,
        seed: seed.derive(&i.to_string()),
    };
    experiment.traffic.iter().enumerate().map(plan).collect()
}

/// Options of the sockets of a kernel. Notes a congestion control that it lacks.
fn kernel_options(experiment: &Experiment, notes: &mut Vec<String>) -> Options {
    let config = &experiment.transport.config;
    Options {
        congestion: Some(congestion_name(&config.congestion, notes)),
        // The kernel's send buffer grows with the congestion window. A fixed large buffer would
        // let the first subflow take all data before others have joined. The writers enforce the
        // scenario's limit instead.
        send_buffer: None,
        // With autotuning, the window grows up to the limit in `net.ipv4.tcp_rmem`. Without, the
        // window is the whole buffer from the start; the kernel doubles the value of SO_RCVBUF.
        receive_buffer: config.autotune.is_none().then(|| buffer_for_window(config.recv_buffer) as usize / 2),
        ..Options::default()
    }
}

/// The sockets of an end with Tandem's stack, as in simulation.
fn stack_sockets(experiment: &Experiment, host: &Host) -> SocketSettings {
    let path = tcp_path(experiment);
    let config = mptcp::Config { mptcp: path.is_none(), ..experiment.transport.config.clone() };
    SocketSettings::Stack { host: host.clone(), config: Arc::new(config), path }
}
