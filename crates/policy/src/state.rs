//! The state that a policy observes and the actions it can take.

use radio::InterfaceKind;
use units::{Bitrate, Bytes, Duration, Energy, Instant};

/// State of a device at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceState {
    /// Its paths; a path keeps its index.
    pub paths: Vec<PathState>,
    /// State of the application, if it reports one.
    pub app: Option<AppState>,
    /// Energy of all radios since the start; joint activity of several radios is included where the
    /// driver models it. `None` if the energy of a radio is unknown.
    pub energy: Option<Energy>,
    /// Data that the receiving applications have read since the start, over all connections; `None`
    /// if the driver cannot know.
    pub delivered: Option<Bytes>,
}

/// State of one path: an interface, and the subflow over it.
///
/// Every driver knows `kind`, `up` and the byte counters. A field that a driver cannot know is
/// `None`, or zero where zero has no effect.
#[derive(Debug, Clone, PartialEq)]
pub struct PathState {
    /// Kind of radio.
    pub kind: InterfaceKind,
    /// Channel state as the driver observes it; `Idle` if it observes none.
    pub channel: Channel,
    /// The interface has a link, and the policy has not closed the path ([`Action::Close`]).
    pub up: bool,
    /// Bytes received on the interface since the start.
    pub bytes_down: u64,
    /// Bytes sent on the interface since the start.
    pub bytes_up: u64,
    /// Receive rate since the previous observation.
    pub rate_down: Bitrate,
    /// Send rate since the previous observation.
    pub rate_up: Bitrate,
    /// Smoothed round-trip time of the path; of several subflows see [`PathRoundTrip`](crate::PathRoundTrip).
    pub srtt: Option<Duration>,
    /// Bytes that the sender has assigned to this path and that have not arrived; 0 if unknown.
    pub queued: u64,
    /// Congestion window of the subflow's sender, in bytes.
    pub cwnd: Option<u64>,
    /// The subflow is marked as backup (RFC 8684, section 3.3.8).
    pub backup: bool,
    /// Energy per megabit of both directions at the present rates of this path, in joules; `None`
    /// without traffic or a power profile.
    pub energy_per_mbit: Option<f64>,
    /// Energy of the radio since the start; `None` without a power profile.
    pub energy: Option<Energy>,
    /// The radio has left its idle state, so a transfer costs no promotion.
    pub awake: bool,
    /// Remaining data allowance of the path; `None` without a limit.
    pub allowance_left: Option<Bytes>,
    /// Time at which the allowance is renewed; `None` without a limit or if unknown.
    pub allowance_until: Option<Instant>,
}

impl DeviceState {
    /// A device with these paths at the start.
    pub fn new(paths: Vec<PathState>) -> Self {
        Self { paths, ..Self::default() }
    }

    /// True if some path that is not costly is up.
    pub(crate) fn preferred_up(&self) -> bool {
        self.paths.iter().any(|path| path.up && is_preferred(path.kind))
    }

    /// Sums a counter over the preferred paths and over the costly ones.
    pub(crate) fn sums(&self, counter: impl Fn(&PathState) -> u64) -> [u64; 2] {
        let mut sums = [0_u64; 2];
        for path in &self.paths {
            let sum = &mut sums[usize::from(!is_preferred(path.kind))];
            *sum = sum.saturating_add(counter(path));
        }
        sums
    }

    /// Marks every costly path as backup or as regular, where it is not marked so already.
    pub(crate) fn mark_costly(&self, backup: bool, actions: &mut Vec<Action>) {
        let paths = self.paths.iter().enumerate();
        let changed = paths.filter(|(_, path)| !is_preferred(path.kind) && path.backup != backup);
        actions.extend(changed.map(|(path, _)| Action::SetBackup { path, backup }));
    }
}

impl PathState {
    /// An unused path of this kind that is up.
    pub fn new(kind: InterfaceKind) -> Self {
        Self {
            kind,
            channel: Channel::Idle,
            up: true,
            bytes_down: 0,
            bytes_up: 0,
            rate_down: Bitrate::ZERO,
            rate_up: Bitrate::ZERO,
            srtt: None,
            queued: 0,
            cwnd: None,
            backup: false,
            energy_per_mbit: None,
            energy: None,
            awake: false,
            allowance_left: None,
            allowance_until: None,
        }
    }

    /// Bytes carried in both directions since the start.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes_down.saturating_add(self.bytes_up)
    }
}

/// Channel state of an interface (Chen et al. 2013, section III).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channel {
    /// Receiving data.
    Rx,
    /// Waiting for data.
    #[default]
    Idle,
}

/// State of a video player, as it reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppState {
    /// Playback time in the buffer.
    pub buffer: Option<Duration>,
    /// Time by which the player needs the data it waits for.
    pub deadline: Option<Instant>,
    /// Missing bytes of the data it waits for.
    pub missing: Option<Bytes>,
    /// Bitrate at which it plays that data.
    pub bitrate: Option<Bitrate>,
    /// Total length of the stalls of all players, present ones included; `None` if unknown.
    pub stalled: Option<Duration>,
    /// It needs nothing more from the network.
    pub done: bool,
}

/// An action of a device on one of its paths.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Marks a path as backup or as regular, by `MP_PRIO` (RFC 8684, section 3.3.8).
    SetBackup {
        /// Index of the path.
        path: usize,
        /// True: the peer uses the path only while no regular path is left.
        backup: bool,
    },
    /// Opens a subflow on a path, now or as soon as the path is up.
    Open {
        /// Index of the path.
        path: usize,
    },
    /// Closes the subflow of a path and keeps it closed until [`Action::Open`].
    Close {
        /// Index of the path.
        path: usize,
    },
    /// Sets the share of the data that the sender puts on each path. No real device can do this: it
    /// is for models that include the sender.
    Share {
        /// One share per path, each from 0 to 1, with the sum 1.
        path_shares: Vec<f64>,
    },
    /// Has the sender move data from costly paths to the others, segment by segment, by Table I of
    /// the eMTCP paper. No real device can do this: it is for models that include the sender.
    Offload {
        /// One flag per path.
        costly: Vec<bool>,
        /// Largest share of the costly paths' data to move, from 0 to 1.
        share: f64,
    },
}

/// True for every kind but the costly ones.
pub(crate) fn is_preferred(kind: InterfaceKind) -> bool {
    !kind.is_costly()
}

/// Reason why a policy that divides costly paths from preferred ones never acts: it has no paths of
/// one sort.
pub(crate) fn undivided(kinds: &[InterfaceKind]) -> Option<String> {
    let preferred = kinds.iter().filter(|&&kind| is_preferred(kind)).count();
    let reason = match preferred {
        0 => "every path is cellular or satellite",
        all if all == kinds.len() => "no path is cellular or satellite",
        _ => return None,
    };
    Some(reason.to_owned())
}
