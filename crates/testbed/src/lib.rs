//! Runs a scenario on the real kernel: the same file, links, policy and tables as in simulation.
//!
//! [`run()`] creates a device and a server in two network namespaces, or at Tandem's [`stack`]. The
//! [`emulator`] forwards packets between them in real time, the [`agent`] applies the policy, and
//! the result is an [`Outcome`]. Namespaces and devices end with the process; the host's settings
//! stay unchanged.
//!
//! `topology` sets up the hosts, `traffic` and `video` are the applications, `run_controller` is
//! the control loop of a run. [`emulate()`] runs a user's programs in place of
//! the scenario's traffic, and `uplink` connects them to the real network.

mod connection_plan;
mod datagrams;
mod device_paths;
mod emulate;
mod faults;
mod kernel_paths;
mod outcome;
mod proxied_server;
mod reaction;
mod relay;
mod run;
mod run_controller;
mod seeded_bytes;
mod settings;
mod stack_end;
mod stacks;
mod stream;
mod subflow_monitor;
mod topology;
mod traffic;
mod translation;
mod uplink;
mod video;

pub use emulate::{EmulatedRun, End, MptcpCounters, Programs, ProxiedContent, emulate};
pub use emulator::Lateness;
pub use faults::{Fault, Teardown};
pub use proxied_server::ProxySetup;
pub use reaction::Reaction;
pub use run::{KernelRun, Setup, run, run_with};
pub use settings::Settings;
pub use sim::Outcome;
pub use stacks::{StackKind, Stacks};
pub use uplink::RESOLV_CONF;

use thiserror::Error;

/// Error of a run on the kernel.
#[derive(Debug, Error)]
pub enum Error {
    /// A requirement of the system is missing, or a system call failed.
    #[error(transparent)]
    System(#[from] linux::Error),
    /// The proxy cannot be started.
    #[error(transparent)]
    Proxy(#[from] proxy::Error),
    /// The caller stopped the run.
    #[error("the run was stopped before its end")]
    Stopped,
    /// The server's program exited before the command was started.
    #[error("the server's program ended with {code} before the command started")]
    ServerExited {
        /// Exit code of the program.
        code: u8,
    },
    /// The capture cannot be written.
    #[error("cannot write the capture: {0}")]
    Capture(#[source] std::io::Error),
    /// A kernel cannot run the experiment.
    #[error("{reason}")]
    Unsupported {
        /// Unsupported property of the experiment.
        reason: String,
        /// Alternative; may be empty.
        hint: String,
    },
    /// A connection delivered a byte that was not written.
    #[error("connection {connection}: byte {at} of the stream differs from the byte written")]
    Corrupted {
        /// Number of the connection, from 1.
        connection: usize,
        /// Offset of the byte in the stream.
        at: u64,
    },
}

impl Error {
    /// Suggests a remedy; may be empty.
    pub fn hint(&self) -> &str {
        match self {
            Self::System(error) => error.hint(),
            Self::Unsupported { hint, .. } => hint,
            Self::Stopped | Self::Proxy(_) => "",
            Self::Capture(_) => {
                "the capture is written next to the results until the run ends; \
                 `--out DIR` selects another directory"
            }
            Self::ServerExited { .. } => {
                "`sh -c` runs the server's program, which must stay in the foreground"
            }
            Self::Corrupted { .. } => {
                "`--pcap` records the packets on the paths; without middleboxes this is a bug of Tandem or \
                 the kernel"
            }
        }
    }
}
