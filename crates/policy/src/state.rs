//! What a policy sees and what it can do.

use radio::InterfaceKind;
use units::{Bitrate, Bytes, Duration, Instant};

/// A device at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceState {
    /// Its paths; a path's index never changes.
    pub paths: Vec<PathState>,
    /// What the application tells about itself, where it does.
    pub app: Option<AppState>,
}

/// One path of a device: an interface, and the subflow over it.
///
/// Only `kind`, `up` and the byte counters are known everywhere. What a device cannot know is
/// `None`, or zero where that does no harm.
#[derive(Debug, Clone, PartialEq)]
pub struct PathState {
    /// What kind of radio it is.
    pub kind: InterfaceKind,
    /// What the driver itself sees the interface do at this moment; `Idle` where it sees nothing.
    /// The detector of eMTCP adds what the counters show.
    pub channel: Channel,
    /// The interface has a link, so that a subflow lives there or could.
    pub up: bool,
    /// Received since the beginning, in bytes on the interface.
    pub bytes_down: u64,
    /// Sent since the beginning, in bytes on the interface.
    pub bytes_up: u64,
    /// Receive rate of the recent past.
    pub rate_down: Bitrate,
    /// Send rate of the recent past.
    pub rate_up: Bitrate,
    /// Smoothed round-trip time of the subflow.
    pub srtt: Option<Duration>,
    /// Bytes that the sender has put on this path and that have not arrived yet; 0 if not known.
    pub queued: u64,
    /// Congestion window of the subflow's sender, in bytes.
    pub cwnd: Option<u64>,
    /// The subflow is marked as backup (RFC 8684, section 3.3.8).
    pub backup: bool,
    /// What a megabit over this path costs at its present rate, in joules.
    pub energy_per_mbit: Option<f64>,
    /// The radio is out of its idle state, so that a byte now costs no promotion.
    pub awake: bool,
    /// What is left of the path's data allowance; `None` where there is no limit.
    pub allowance_left: Option<Bytes>,
    /// When the allowance is renewed; `None` where there is no limit, or nobody knows.
    pub allowance_until: Option<Instant>,
}

impl PathState {
    /// A path of this kind that is up and on which nothing has happened yet.
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
            awake: false,
            allowance_left: None,
            allowance_until: None,
        }
    }
}

/// Channel state of an interface (Chen et al. 2013, section III).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channel {
    /// It receives data.
    Rx,
    /// It waits for data.
    #[default]
    Idle,
}

/// What an application tells about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppState {
    /// How much it has to play, where it is a player.
    pub buffer: Option<Duration>,
    /// When it needs what it is waiting for.
    pub deadline: Option<Instant>,
    /// Still to come of what it is waiting for.
    pub missing: Option<Bytes>,
    /// How fast it plays what it gets.
    pub bitrate: Option<Bitrate>,
    /// It needs nothing more from the network.
    pub done: bool,
}

/// Something a device can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Mark a path as backup or as regular, by `MP_PRIO` (RFC 8684, section 3.3.8).
    SetBackup {
        /// Index of the path.
        path: usize,
        /// True: the peer uses it only while no regular path is left.
        backup: bool,
    },
    /// Open a subflow on a path, now or as soon as the path is up.
    Open {
        /// Index of the path.
        path: usize,
    },
    /// Close the subflow of a path and open none there until told to.
    Close {
        /// Index of the path.
        path: usize,
    },
    /// Tell the sender which part of the data goes over which path. No real device can: this is the
    /// paper's model of what offloading would ideally do.
    Share {
        /// One share a path, each in [0, 1], 1 in sum.
        path_shares: Vec<f64>,
    },
}
