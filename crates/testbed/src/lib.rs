//! A scenario on the real kernel: the same file, the same links, the same policy, the same tables.
//!
//! [`run`] makes two network namespaces, a device and a server, and between them the scenario's paths as
//! links that the [`emulator`] pushes in real time. The kernel's Multipath TCP carries the bytes of real
//! sockets, the [`agent`] steers it with the scenario's policy, and the radio models are told of what the
//! interfaces carry. What comes of it is the [`Outcome`] that a simulation has too.
//!
//! Nothing of it has a name in the system: however the process ends, namespaces, devices, addresses and
//! sockets end with it, and no setting of the host is changed.
//!
//! | File | What it is |
//! |---|---|
//! | `topology` | hosts, devices, addresses, routes, endpoints |
//! | `traffic`, `content` | real sockets, and bytes that say whether they are the right ones |
//! | `video` | a player and its server over such sockets, by HTTP/1.1 |
//! | `director` | what happens when: interfaces come and go, the policy looks, rows are taken |
//! | `edge` | a proxy, and a server behind it that speaks TCP alone |
//! | `emulate` | somebody's own programs in place of the scenario's traffic |
//! | `faults` | what goes wrong beyond what a scenario can say |
//! | `settings` | what a host is set to, before and after |
//! | `reaction` | how soon a path falls silent that is not to be used |
//! | `watch` | what the kernel knows of its subflows |

mod content;
mod director;
mod edge;
mod emulate;
mod faults;
mod reaction;
mod settings;
mod topology;
mod traffic;
mod video;
mod watch;

pub use director::{Ran, Setup, run, run_with};
pub use edge::Edge;
pub use emulate::{Content, Emulated, End, Multipath, Programs, emulate};
pub use emulator::Lateness;
pub use faults::{Ending, Fault};
pub use reaction::Reaction;
pub use settings::Settings;
pub use sim::Outcome;

use thiserror::Error;

/// Why there is no outcome.
#[derive(Debug, Error)]
pub enum Error {
    /// The system lacks something, or refused something.
    #[error(transparent)]
    System(#[from] linux::Error),
    /// The proxy cannot be started.
    #[error(transparent)]
    Proxy(#[from] proxy::Error),
    /// Somebody asked it to stop.
    #[error("stopped before its end")]
    Stopped,
    /// The server's program ended before the other was started.
    #[error("the server's program ended with {code} before anybody connected")]
    ServerEnded {
        /// Its exit code.
        code: u8,
    },
    /// The capture cannot be written.
    #[error("cannot write the capture: {0}")]
    Capture(#[source] std::io::Error),
    /// The scenario asks for what cannot be had on a kernel.
    #[error("{what}")]
    Unfit {
        /// What.
        what: String,
        /// What can be done.
        hint: String,
    },
    /// A connection delivered other bytes than were written.
    #[error("connection {connection}: byte {at} of the stream is not the one that was written")]
    Differs {
        /// The connection's number, from 1.
        connection: usize,
        /// The place in its stream.
        at: u64,
    },
}

impl Error {
    /// What would help; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::System(error) => error.hint(),
            Self::Unfit { hint, .. } => hint,
            Self::Stopped | Self::Proxy(_) => "",
            Self::Capture(_) => "it is kept beside the results until the end; `--out DIR` writes elsewhere",
            Self::ServerEnded { .. } => "it is run by `sh -c` and has to stay in the foreground",
            Self::Differs { .. } => {
                "`--pcap` shows what was on the paths; without middleboxes this is a fault of Tandem or the kernel"
            }
        }
    }
}
