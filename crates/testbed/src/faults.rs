//! What goes wrong in a run beyond what a scenario can say.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Something goes wrong, or is well again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An interface of the device goes down.
    InterfaceDown {
        /// The path's number.
        path: usize,
    },
    /// It comes up, with the address it had.
    InterfaceUp {
        /// The path's number.
        path: usize,
    },
    /// An interface of the device loses its address and has another one, as after a new lease of DHCP.
    AddressChange {
        /// The path's number.
        path: usize,
    },
    /// The program on the server ends, with all its connections. A file is asked for again from where it
    /// broke off; any other connection has failed.
    ServerDown(Ending),
    /// It is started again.
    ServerUp,
    /// The emulator stalls: no packet moves.
    EmulatorStalls,
    /// It goes on, with all that waited.
    EmulatorResumes,
}

impl Fault {
    /// The path it is about, if it is about one.
    pub(crate) const fn path(self) -> Option<usize> {
        match self {
            Self::InterfaceDown { path } | Self::InterfaceUp { path } | Self::AddressChange { path } => {
                Some(path)
            }
            Self::ServerDown(_) | Self::ServerUp | Self::EmulatorStalls | Self::EmulatorResumes => None,
        }
    }
}

/// What becomes of the connections of a program that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The kernel closes them: what was written still arrives, then the end of the stream. So it is when a
    /// program is killed that has read all it was sent.
    Close,
    /// They are reset (MP_FASTCLOSE; RFC 8684, section 3.5), and what was under way is lost.
    Reset,
}

/// Whether the program on the server runs; those who are that program look here.
#[derive(Debug, Default)]
pub(crate) struct Server {
    deaths: AtomicU64,
    down: AtomicBool,
    resets: AtomicBool,
}

impl Server {
    pub(crate) fn end(&self, ending: Ending) {
        self.resets.store(ending == Ending::Reset, Ordering::SeqCst);
        self.down.store(true, Ordering::SeqCst);
        self.deaths.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn begin(&self) {
        self.down.store(false, Ordering::SeqCst);
    }

    /// How often it has ended.
    pub(crate) fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::SeqCst)
    }

    pub(crate) fn runs(&self) -> bool {
        !self.down.load(Ordering::SeqCst)
    }

    /// How it ended last.
    pub(crate) fn ending(&self) -> Ending {
        if self.resets.load(Ordering::SeqCst) { Ending::Reset } else { Ending::Close }
    }
}
