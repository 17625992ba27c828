//! Run of a scenario with its own traffic.

use crate::connection_plan::RunContext;
use crate::faults::{Fault, FaultSchedule, ServerState};
use crate::proxied_server::{ProxiedServer, ProxySetup};
use crate::reaction::Reaction;
use crate::run_controller::RunController;
use crate::settings::Settings;
use crate::stacks::Stacks;
use crate::stream::Place;
use crate::topology::{Reach, Topology};
use crate::traffic::{Flow, first_failure};
use crate::translation::{check_stacks, check_supported, connection_plans};
use crate::{Error, Outcome};
use emulator::Lateness;
use linux::diag::Subflow;
use proxy::Totals;
use sim::Experiment;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use units::Instant;

/// Time after a pause of the emulator in which the kernels process the last packets.
const SETTLING_TIME: std::time::Duration = std::time::Duration::from_millis(50);

/// Results of a run on the kernel.
#[derive(Debug, Clone)]
pub struct KernelRun {
    /// Results that a simulation has too.
    pub outcome: Outcome,
    /// Delays between a packet's time in the model and its delivery.
    pub lateness: Lateness,
    /// Number of MP_PRIO options received by the server (`MPTcpExtMPPrioRx`).
    pub priorities_heard: u64,
    /// Reaction to each decision of the policy against a path.
    pub reactions: Vec<Reaction>,
    /// Number of connections that the device opened for each application.
    pub opened: Vec<u64>,
    /// Number of the first failed connection, from 1, and its error.
    pub first_failure: Option<(usize, String)>,
    /// Subflows of the device and of the server in the last sample, at most 250 ms before the end.
    /// With a capture, the sample is taken after the last packet, so both cover the same packets.
    pub subflows: [Vec<Subflow>; 2],
    /// Settings of the device before the first byte and at the end, if it uses the kernel.
    pub settings: Option<[Settings; 2]>,
    /// Counters of the proxy, if there was one.
    pub proxy: Option<Totals>,
    /// Packets that were lost between Tandem's stacks and the emulator, on no link.
    pub lost_packets: u64,
    /// Differences between the scenario and the run on this kernel.
    pub notes: Vec<String>,
    /// Implementations of Multipath TCP at both ends.
    pub stacks: Stacks,
}

/// Options of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Faults and their times.
    pub faults: Vec<(Instant, Fault)>,
    /// The emulator segments and coalesces packets for the kernels
    /// ([`Driver::devices`](emulator::Driver::devices)).
    pub offload: bool,
    /// Places a proxy between the paths and the server.
    pub proxy: Option<ProxySetup>,
    /// Ends the run as soon as all applications have completed or failed.
    pub until_done: bool,
    /// Implementations of Multipath TCP at both ends; `None` for those that the experiment needs
    /// ([`Stacks::of`]).
    pub stacks: Option<Stacks>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { faults: Vec::new(), offload: true, proxy: None, until_done: false, stacks: None }
    }
}

/// Runs an experiment on the kernel, for its full duration. Calls `progress` with the completed
/// share, from 0 to 1. Setting `stop` ends the run early.
///
/// # Errors
/// Fails if a requirement of the system is missing (root, MPTCP, TUN), if a kernel cannot run the
/// experiment, if a connection delivers a wrong byte, and after `stop`.
pub fn run(
    experiment: &Experiment,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(f64),
) -> Result<KernelRun, Error> {
    run_with(experiment, &Setup::default(), stop, progress, None)
}

/// Runs an experiment as [`run`] does, with further options. Writes the packets to `capture`
/// during the run. If a busy system delays a fault, all later faults and the end are postponed
/// equally.
///
/// # Errors
/// As [`run`]; also if a fault affects a missing path, and if the capture cannot be written.
pub fn run_with(
    experiment: &Experiment,
    setup: &Setup,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(f64),
    capture: Option<&File>,
) -> Result<KernelRun, Error> {
    let stacks = Stacks::of(experiment, setup.stacks)?;
    check_supported(experiment, &setup.faults)?;
    check_stacks(stacks, setup)?;
    let (mut topology, devices) = Topology::build(experiment, stacks, setup.offload, Reach::Server)?;
    let mut notes = Vec::new();
    let build_proxied = |proxy| ProxiedServer::build(proxy, experiment, setup.offload, &topology.server);
    let proxied = setup.proxy.as_ref().map(build_proxied).transpose()?;
    let mut controller = RunController::new(experiment, &mut topology, &mut notes)?;
    controller.until_done = setup.until_done;
    controller.capture = capture;
    // The initial decisions of the policy precede the first byte.
    controller.steer(Instant::ZERO)?;
    let before = controller.read_settings()?;
    let emulator = controller.start_emulator(devices, None)?;
    let over = Arc::new(AtomicBool::new(false));
    let server_state = start_flows(&mut controller, setup, proxied.as_ref(), &over, &mut notes)?;
    let mut faults = FaultSchedule::new(&server_state, &emulator, setup.faults.clone());
    let outcome = run_to_end(&mut controller, &mut faults, stop, progress);
    let lost_packets = controller.topology.lost_packets(&emulator);
    let after = controller.read_settings();
    let opened = controller.flows.iter().map(|flow| flow.progress.opened.load(Ordering::Relaxed)).collect();
    let first_failure = first_failure(&controller.flows);
    over.store(true, Ordering::Relaxed);
    for flow in std::mem::take(&mut controller.flows) {
        flow.join()?;
    }
    let lateness = controller.shared.lock().0.lateness().clone();
    let priorities_heard = controller.monitor.priorities_heard(controller.topology)?;
    emulator.stop()?;
    controller.topology.stop_stacks()?;
    let totals = proxied.as_ref().map(ProxiedServer::totals);
    if let Some(proxied) = proxied {
        proxied.stop()?;
    }
    Ok(KernelRun {
        outcome: outcome?,
        lateness,
        priorities_heard,
        reactions: controller.reactions.measured,
        opened,
        first_failure,
        subflows: controller.subflows,
        settings: before.zip(after?).map(Into::into),
        proxy: totals,
        lost_packets,
        notes,
        stacks,
    })
}

/// Starts all connections. Setting `over` ends them. Returns the state of the server's program.
fn start_flows(
    controller: &mut RunController<'_>,
    setup: &Setup,
    proxied: Option<&ProxiedServer>,
    over: &Arc<AtomicBool>,
    notes: &mut Vec<String>,
) -> Result<Arc<ServerState>, Error> {
    let experiment = controller.experiment;
    // Faults may postpone the end, and a final sample follows a capture: `over` ends the
    // connections.
    let is_end_fixed = setup.faults.is_empty() && !experiment.capture;
    let context = RunContext {
        clock: controller.shared.clock(),
        end: if is_end_fixed { Instant::ZERO + experiment.duration } else { Instant::MAX },
        drawn_until: Instant::ZERO + experiment.duration * 2,
        // The proxy opens tunnels to the port of each plan.
        proxy: proxied.is_some().then_some(ProxySetup::PROXY),
        server_state: Arc::default(),
        server_restarts: setup.faults.iter().any(|(_, fault)| matches!(fault, Fault::ServerDown(_))),
    };
    for plan in connection_plans(experiment, &context, controller.topology, notes) {
        let topology = &*controller.topology;
        let server = proxied.map_or(topology.server_place(), |proxied| Place::Kernel(&proxied.server));
        match Flow::start(&plan, topology.device_place(), server, over) {
            Ok(flow) => controller.flows.push(flow),
            Err(error) => {
                over.store(true, Ordering::Relaxed);
                return Err(error.into());
            }
        }
    }
    Ok(context.server_state)
}

/// Controls the run until its end and returns the results.
fn run_to_end(
    controller: &mut RunController<'_>,
    faults: &mut FaultSchedule<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(f64),
) -> Result<Outcome, Error> {
    controller.run(faults, stop, progress)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    if controller.experiment.capture {
        faults.emulator.pause();
        std::thread::sleep(SETTLING_TIME);
        controller.sample_final_subflows()?;
    }
    controller.outcome()
}
