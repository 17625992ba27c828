//! Translates an experiment into the settings of a kernel.

use crate::Error;
use crate::faults::Fault;
use crate::topology::{SERVER, Topology, buffer_for_window};
use crate::traffic::{ConnectionPlan, RunContext};
use linux::socket::{Options, Protocol};
use mptcp::{CongestionChoice, CongestionKind, SchedulerKind};
use policy::PolicyConfig;
use sim::{Experiment, Transport};
use std::net::SocketAddr;
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
    if config.rec.is_some() {
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
    let transport = &experiment.transport;
    let config = &transport.config;
    note_multipath(transport, notes);
    let options = Options {
        congestion: Some(congestion_name(&config.congestion, notes)),
        // The kernel's send buffer grows with the congestion window. A fixed large buffer would
        // let the first subflow take all data before others have joined. The writers enforce the
        // scenario's limit instead.
        send_buffer: None,
        // With autotuning, the window grows up to the limit in `net.ipv4.tcp_rmem`. Without, the
        // window is the whole buffer from the start; the kernel doubles the value of SO_RCVBUF.
        receive_buffer: config.autotune.is_none().then(|| buffer_for_window(config.recv_buffer) as usize / 2),
        ..Options::default()
    };
    let (protocol, interface) = match transport.protocol {
        sim::Protocol::Tcp { path } => (Protocol::Tcp, Some(topology.interface(path).to_owned())),
        sim::Protocol::Mptcp => (Protocol::Mptcp, None),
    };
    let seed = experiment.seed.derive("connection");
    let plan = |(i, traffic): (usize, &traffic::TrafficConfig)| ConnectionPlan {
        context: context.clone(),
        traffic: traffic.clone(),
        protocol,
        server: SocketAddr::new(SERVER, FIRST_PORT + i as u16),
        options: options.clone(),
        interface: interface.clone(),
        send_buffer: config.send_buffer,
        seed: seed.derive(&i.to_string()),
    };
    experiment.traffic.iter().enumerate().map(plan).collect()
}
