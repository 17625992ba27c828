//! Packet-level simulation of Multipath TCP in virtual time: an [`Experiment`] in, an [`Outcome`]
//! out.
//!
//! [`run`] drives the sans-IO machines of the other crates: endpoints, links, cells, radios,
//! applications and a policy. The same experiment gives the same outcome, byte for byte: events at
//! equal times are first in, first out, and every random stream has a seed of its own. Modules:
//! `simulation` is the event loop, `world` its state, `ingress` and `egress` move packets between
//! `connection` and `network`.

mod background;
mod build_outcome;
mod capture;
mod cells;
mod connection;
mod delay;
mod delivery;
mod egress;
mod event_queue;
mod event_source;
mod experiment;
mod handlers;
mod ingress;
mod log_clock;
mod media;
mod network;
mod outcome;
mod packet;
mod policy_driver;
mod recorder;
mod series;
mod simulation;
mod video;
mod world;

pub use background::Background;
pub use build_outcome::{PathTotals, Received};
pub use capture::SNAPLEN;
pub use cells::{BackhaulOutcome, CellOutcome, CellPackets, CellSample, CrowdOutcome};
pub use connection::energy_costs;
pub use delay::{
    Cdf, DelayRecorder, Distribution, HeadOfLineOutcome, Samples, WaitedFor, message_name, video_delays,
};
pub use delivery::{
    DelayOutcome, DelayPoint, DeliveryOutcome, Histogram, OffsetOutcome, OptionCounts, SegmentCounts,
    WorkOutcome,
};
pub use event_queue::{EventQueue, Slot};
pub use experiment::{
    BackgroundSpec, Backhaul, CellSpec, Crowd, Device, Experiment, Hop, PathSpec, Protocol, Transport,
};
pub use log_clock::simulated_time;
pub use media::{Medium, Port, Ports, media};
pub use outcome::{
    BackgroundOutcome, ConnectionOutcome, DeviceOutcome, EnergyOutcome, MiddleboxOutcome, Outcome,
    PathOutcome, Timeline,
};
pub use series::{Series, SeriesColumn};
pub use video::app_state;

use core::ops::ControlFlow;
use experiment::Setup;
use simulation::Simulation;

/// Simulates one experiment from beginning to end.
pub fn run(experiment: &Experiment) -> Outcome {
    let mut simulation = Simulation::new(Setup::from(experiment));
    let _ = simulation.run(&mut |_| ControlFlow::Continue(()));
    of_one_device(simulation)
}

/// Simulates one experiment and also records the deliveries of each connection
/// ([`Outcome::deliveries`]). The rest of the outcome is the same as that of [`run`].
pub fn run_recorded(experiment: &Experiment) -> Outcome {
    let mut simulation = Simulation::new(Setup::from(experiment)).with_deliveries();
    let _ = simulation.run(&mut |_| ControlFlow::Continue(()));
    of_one_device(simulation)
}

/// Simulates one experiment; calls `progress` from time to time with the completed share, from 0 to 1.
/// Returns `None` as soon as `progress` breaks.
pub fn run_until(
    experiment: &Experiment,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Option<Outcome> {
    let mut simulation = Simulation::new(Setup::from(experiment));
    simulation.run(progress).is_continue().then(|| of_one_device(simulation))
}

/// Simulates several devices that share cells; `progress` as for [`run_until`].
pub fn run_crowd(crowd: &Crowd, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Option<CrowdOutcome> {
    let mut simulation = Simulation::new(Setup::from(crowd));
    simulation.run(progress).is_continue().then(|| simulation.into_outcome())
}

fn of_one_device(simulation: Simulation<'_>) -> Outcome {
    simulation.into_outcome().devices.pop().expect("an experiment is a crowd of one device")
}
