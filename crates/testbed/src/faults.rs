//! Fault injection: events that a scenario cannot express.

use emulator::RunningDriver;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use units::{Duration, Instant};

/// Tolerated delay of a wake-up; a longer one postpones all later faults and the end of the run.
/// System calls that wait for kernel locks cause such delays, as do other processes.
const MAX_WAKEUP_DELAY: Duration = Duration::from_millis(50);

/// Fault, or recovery from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An interface of the device goes down.
    InterfaceDown {
        /// Index of the path.
        path: usize,
    },
    /// The interface comes up with its previous address.
    InterfaceUp {
        /// Index of the path.
        path: usize,
    },
    /// An interface of the device changes its address, as after a new DHCP lease.
    AddressChange {
        /// Index of the path.
        path: usize,
    },
    /// The server's program ends with all its connections. A file transfer resumes at its last
    /// byte over a new connection; any other connection has failed.
    ServerDown(Teardown),
    /// The server's program starts again.
    ServerUp,
    /// The emulator forwards no packets.
    EmulatorStalls,
    /// The emulator forwards packets again, first the delayed ones.
    EmulatorResumes,
}

impl Fault {
    /// Index of the affected path, if the fault affects one path.
    pub(crate) const fn path(self) -> Option<usize> {
        match self {
            Self::InterfaceDown { path } | Self::InterfaceUp { path } | Self::AddressChange { path } => {
                Some(path)
            }
            Self::ServerDown(_) | Self::ServerUp | Self::EmulatorStalls | Self::EmulatorResumes => None,
        }
    }
}

/// Fate of the connections of a terminated program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teardown {
    /// The kernel closes them: written data still arrives, followed by the end of the stream. This
    /// happens to a killed program that has read all its input.
    Close,
    /// They are reset (MP_FASTCLOSE; RFC 8684, section 3.5), and data in flight is lost.
    Reset,
}

/// State of the server's program, shared with the threads that act as this program.
#[derive(Debug, Default)]
pub(crate) struct ServerState {
    generation: AtomicU64,
    is_down: AtomicBool,
    resets: AtomicBool,
}

impl ServerState {
    /// Ends the program, and begins a new generation.
    pub(crate) fn stop(&self, teardown: Teardown) {
        self.resets.store(teardown == Teardown::Reset, Ordering::SeqCst);
        self.is_down.store(true, Ordering::SeqCst);
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn start(&self) {
        self.is_down.store(false, Ordering::SeqCst);
    }

    /// Number of times that the program has ended.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.is_down.load(Ordering::SeqCst)
    }

    /// Teardown at the last end of the program.
    pub(crate) fn teardown(&self) -> Teardown {
        if self.resets.load(Ordering::SeqCst) { Teardown::Reset } else { Teardown::Close }
    }
}

/// Pending faults of a run, and the components that they affect.
pub(crate) struct FaultSchedule<'a> {
    pub(crate) server: &'a ServerState,
    pub(crate) emulator: &'a RunningDriver,
    /// Sorted by time.
    pending: Vec<(Instant, Fault)>,
    /// Accumulated delay of the run controller, which postpones all pending faults.
    delay: Duration,
}

impl<'a> FaultSchedule<'a> {
    pub(crate) fn new(
        server: &'a ServerState,
        emulator: &'a RunningDriver,
        mut faults: Vec<(Instant, Fault)>,
    ) -> Self {
        faults.sort_by_key(|&(at, _)| at);
        Self { server, emulator, pending: faults, delay: Duration::ZERO }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Total postponement so far.
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// Time of the next fault.
    pub(crate) fn next(&self) -> Instant {
        self.pending.first().map_or(Instant::MAX, |&(at, _)| at + self.delay)
    }

    /// Records a wake-up of the run controller at `now` that was due at `wake_at`. Postpones all
    /// faults if it was too late.
    pub(crate) fn record_wakeup(&mut self, wake_at: Instant, now: Instant) {
        let late = now.since(wake_at);
        if late > MAX_WAKEUP_DELAY {
            self.delay += late;
        }
    }

    /// Removes and returns the next fault if it is due.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Fault> {
        (self.next() <= now).then(|| self.pending.remove(0).1)
    }
}
