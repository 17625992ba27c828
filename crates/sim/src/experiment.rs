//! What is to be simulated: everything that a run depends on, and nothing else.

use link::{CellConfig, LinkConfig, StationConfig};
use middlebox::MiddleboxConfig;
use policy::{DataPlan, PolicyConfig};
use radio::Profile;
use std::sync::Arc;
use traffic::{Direction, TrafficConfig, Vbr};
use units::{Duration, Energy, Instant, Power, Seed};

/// One run. The same experiment gives the same [`Outcome`](crate::Outcome), byte for byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Where all randomness starts.
    pub seed: Seed,
    /// How much time passes.
    pub duration: Duration,
    /// How often the recorder takes a row of the series; zero takes none.
    pub sample: Duration,
    /// The device whose radios are looked at.
    pub device: Device,
    /// Shared media that paths may cross.
    pub cells: Vec<CellSpec>,
    /// The ways between the device and the server.
    pub paths: Vec<PathSpec>,
    /// What carries the bytes.
    pub transport: Transport,
    /// What the applications do; each has a connection of its own.
    pub traffic: Vec<TrafficConfig>,
    /// Datagrams that share links and radios with the connections.
    pub background: Vec<BackgroundSpec>,
    /// Write down every packet as the device sees it.
    pub capture: bool,
}

/// The device under study.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// What it is called in results.
    pub name: String,
    /// What its battery holds.
    pub battery: Energy,
    /// What it does with its paths.
    pub policy: PolicyConfig,
    /// Extra power while two or more radios are active at once.
    pub joint_power: Power,
}

/// A shared medium with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSpec {
    /// Its name.
    pub name: String,
    /// What it is.
    pub config: CellConfig,
}

/// One way between device and server, over one interface of the device.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSpec {
    /// Its name, which is also that of the interface.
    pub name: String,
    /// What the interface draws.
    pub profile: Arc<Profile>,
    /// From server to device.
    pub down: Hop,
    /// From device to server.
    pub up: Hop,
    /// What stands between the access link and the server and changes segments, from the device on.
    pub middleboxes: Vec<MiddleboxConfig>,
    /// Start as a backup (RFC 8684, section 3.2, flag B).
    pub backup: bool,
    /// When the interface comes up.
    pub join_at: Instant,
    /// When the interface goes away, if it does.
    pub leave_at: Option<Instant>,
    /// How much the contract allows it to carry, and for how long.
    pub allowance: Option<DataPlan>,
    /// Other profiles to measure the same traffic with; they change nothing else.
    pub also_measure: Vec<Arc<Profile>>,
}

/// One direction of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Hop {
    /// A link of its own.
    Link(LinkConfig),
    /// A station of a shared cell.
    Cell {
        /// Index into [`Experiment::cells`].
        cell: usize,
        /// How this direction takes part.
        station: StationConfig,
    },
}

/// Datagrams over UDP in one direction of a path. Nobody acknowledges them: they take their part of
/// queues, links and radios. Middleboxes, which look at TCP, and the capture leave them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundSpec {
    /// Index into [`Experiment::paths`].
    pub path: usize,
    /// Who sends.
    pub direction: Direction,
    /// When they begin.
    pub start: Instant,
    /// When they end; with the run where `None`.
    pub stop: Option<Instant>,
    /// What is sent, headers counted from IP on.
    pub packets: Vbr,
}

/// What carries the bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// One path or all.
    pub protocol: Protocol,
    /// The settings of both endpoints.
    pub config: mptcp::Config,
}

/// The transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP over one path.
    Tcp {
        /// Index into [`Experiment::paths`].
        path: usize,
    },
    /// Multipath TCP over all of them.
    Mptcp,
}
