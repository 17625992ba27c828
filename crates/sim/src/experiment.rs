//! Input of a simulation: everything that a run depends on.

use link::{CellConfig, LinkConfig, StationConfig};
use middlebox::MiddleboxConfig;
use policy::{DataPlan, PolicyConfig};
use radio::Profile;
use std::sync::Arc;
use traffic::{Direction, TrafficConfig, Vbr};
use units::{Duration, Energy, Instant, Power, Seed};

/// Configuration of one run. The same experiment gives the same [`Outcome`](crate::Outcome), byte
/// for byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Seed of every random stream.
    pub seed: Seed,
    /// Simulated time.
    pub duration: Duration,
    /// Sampling interval of the recorder; zero records no series.
    pub sample: Duration,
    /// The device under study.
    pub device: Device,
    /// Shared media that paths may cross.
    pub cells: Vec<CellSpec>,
    /// Paths between the device and the server.
    pub paths: Vec<PathSpec>,
    /// Transport protocol and its settings.
    pub transport: Transport,
    /// Applications, each with a connection of its own.
    pub traffic: Vec<TrafficConfig>,
    /// Flows of datagrams that share links and radios with the connections.
    pub background: Vec<BackgroundSpec>,
    /// Captures the packets of connections at the device's interfaces.
    pub capture: bool,
}

/// Several devices that share cells, simulated together in one event loop. The same crowd gives the
/// same [`CrowdOutcome`](crate::CrowdOutcome), byte for byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Crowd {
    /// Seed of the cells and of their backhauls. Each device has the seed of its own experiment.
    pub seed: Seed,
    /// Simulated time, also that of the devices' experiments.
    pub duration: Duration,
    /// Sampling interval of the cells' load; zero records none.
    pub sample: Duration,
    /// Shared media, in place of [`Experiment::cells`]. Stations refer to them by index.
    pub cells: Vec<CellSpec>,
    /// Links or stations behind cells.
    pub backhauls: Vec<Backhaul>,
    /// The devices, each with its paths, transport and traffic.
    pub devices: Vec<Experiment>,
}

/// Connection of a cell's access point to the network. It carries the packets of all stations.
#[derive(Debug, Clone, PartialEq)]
pub struct Backhaul {
    /// Index of the cell into [`Crowd::cells`].
    pub cell: usize,
    /// Towards the cell. A station belongs to another cell.
    pub down: Hop,
    /// From the cell to the network.
    pub up: Hop,
}

/// The parts of a [`Crowd`], or those of an [`Experiment`], which is a crowd of one device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup<'a> {
    pub(crate) seed: Seed,
    pub(crate) duration: Duration,
    /// Sampling interval of the cells' load; zero records none.
    pub(crate) cell_sample: Duration,
    pub(crate) cells: &'a [CellSpec],
    pub(crate) backhauls: &'a [Backhaul],
    pub(crate) devices: &'a [Experiment],
}

impl<'a> From<&'a Crowd> for Setup<'a> {
    fn from(crowd: &'a Crowd) -> Self {
        Self {
            seed: crowd.seed,
            duration: crowd.duration,
            cell_sample: crowd.sample,
            cells: &crowd.cells,
            backhauls: &crowd.backhauls,
            devices: &crowd.devices,
        }
    }
}

impl<'a> From<&'a Experiment> for Setup<'a> {
    fn from(experiment: &'a Experiment) -> Self {
        Self {
            seed: experiment.seed,
            duration: experiment.duration,
            cell_sample: Duration::ZERO,
            cells: &experiment.cells,
            backhauls: &[],
            devices: core::slice::from_ref(experiment),
        }
    }
}

/// The device under study.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Name in results.
    pub name: String,
    /// Capacity of the battery.
    pub battery: Energy,
    /// Policy that manages the device's paths.
    pub policy: PolicyConfig,
    /// Extra power while two or more radios are active at once.
    pub joint_power: Power,
}

/// A named shared medium.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSpec {
    /// Name of the cell.
    pub name: String,
    /// Kind and parameters of the cell.
    pub config: CellConfig,
}

/// A path between device and server, over one interface of the device.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSpec {
    /// Name of the path and of its interface.
    pub name: String,
    /// Power profile of the interface.
    pub profile: Arc<Profile>,
    /// From server to device.
    pub down: Hop,
    /// From device to server.
    pub up: Hop,
    /// Middleboxes between the access link and the server, in order from the device.
    pub middleboxes: Vec<MiddleboxConfig>,
    /// Start as a backup (RFC 8684, section 3.2, flag B).
    pub backup: bool,
    /// Time at which the interface comes up.
    pub join_at: Instant,
    /// Time at which the interface goes away, if it does.
    pub leave_at: Option<Instant>,
    /// Data allowance of the path's contract.
    pub allowance: Option<DataPlan>,
    /// Further profiles that measure the same traffic and do not change the run.
    pub also_measure: Vec<Arc<Profile>>,
}

/// One direction of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Hop {
    /// A link that only this direction uses.
    Link(LinkConfig),
    /// A station of a shared cell.
    Cell {
        /// Index into [`Experiment::cells`].
        cell: usize,
        /// Parameters of the station.
        station: StationConfig,
    },
}

/// A flow of UDP datagrams in one direction of a path, without acknowledgements. It uses queues,
/// links and radios; middleboxes and the capture ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackgroundSpec {
    /// Index into [`Experiment::paths`].
    pub path: usize,
    /// Direction of the datagrams.
    pub direction: Direction,
    /// Start of the flow.
    pub start: Instant,
    /// End of the flow; `None` for the end of the run.
    pub stop: Option<Instant>,
    /// Rates and packet sizes; sizes include the IP header.
    pub packets: Vbr,
}

/// Transport protocol and settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Transport {
    /// TCP over one path, or Multipath TCP.
    pub protocol: Protocol,
    /// Settings of both endpoints.
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
    /// Multipath TCP over all paths.
    Mptcp,
}
