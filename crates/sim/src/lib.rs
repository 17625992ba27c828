//! Virtual time: an [`Experiment`] in, an [`Outcome`] out.
//!
//! [`run`] pushes the sans-IO machines of the other crates (endpoints, links, cells, radios,
//! applications, a policy) through simulated time. One seed gives one outcome, byte for byte: events
//! at equal times happen in the order in which they were scheduled (with very many connections in the order of
//! their sources), and every random source has a stream of its own.
//!
//! `agenda` says what happens next; `world` does it; `network` carries packets over `media`; `host` holds the
//! connections, `video` those who ask for video over them; `background` is what passes beside them; `steer` shows the device to its policy and does what that asks; `recorder` writes
//! down series; `capture` writes down packets; `delivery` records what became of data on its way.

mod agenda;
mod assemble;
mod background;
mod capture;
mod crossing;
mod delivery;
mod experiment;
mod host;
mod lookahead;
mod media;
mod network;
mod outcome;
mod packet;
mod recorder;
mod steer;
mod video;
mod world;

pub use agenda::Agenda;
pub use assemble::{PathTotals, goodput_span};
pub use background::Background;
pub use capture::SNAPLEN;
pub use delivery::{
    DelayOutcome, DelayPoint, DeliveryOutcome, Histogram, OffsetOutcome, OptionCounts, SegmentCounts,
    WorkOutcome,
};
pub use experiment::{BackgroundSpec, CellSpec, Device, Experiment, Hop, PathSpec, Protocol, Transport};
pub use media::{Medium, Port, Ports, media};
pub use outcome::{
    BackgroundOutcome, ConnectionOutcome, DeviceOutcome, EnergyOutcome, MiddleboxOutcome, Outcome,
    PathOutcome, Series, SeriesColumn, Timeline,
};
pub use video::app_state;

/// Simulates one experiment from beginning to end.
pub fn run(experiment: &Experiment) -> Outcome {
    run_with(experiment, &mut |_| {})
}

/// Simulates one experiment and records what became of the data of each connection on its way
/// ([`Outcome::deliveries`]). Everything else comes out as by [`run`].
pub fn run_recorded(experiment: &Experiment) -> Outcome {
    let mut world = world::World::new(experiment).with_deliveries();
    world.run(&mut |_| {});
    world.into_outcome()
}

/// In which order a run with many connections goes through what happens. Its outcome is the same, to the byte; what
/// differs is the time that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Event by event: faster with few connections.
    Events,
    /// Wherever that is possible, all ends on one side and then all on the other, connection by connection, through
    /// spans of time in which they cannot hear of anybody else: faster with many.
    Connections,
}

/// Simulates one experiment as [`run_recorded`] does, in an order of one's own choice. With few connections the
/// others settle who is first of events at equal times in another way than this does.
pub fn run_in(experiment: &Experiment, order: Order) -> Outcome {
    let mut world = world::World::new(experiment).with_deliveries().in_order(order);
    world.run(&mut |_| {});
    world.into_outcome()
}

/// Simulates one experiment; `progress` is told the share that is done, from 0 to 1, now and then.
pub fn run_with(experiment: &Experiment, progress: &mut dyn FnMut(f64)) -> Outcome {
    let mut world = world::World::new(experiment);
    world.run(progress);
    world.into_outcome()
}
