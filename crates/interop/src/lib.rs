//! Interoperation of the Multipath TCP endpoint with the Linux kernel.
//!
//! [`cases`] lists the tasks of two hosts: every plan with Linux and Tandem as client and as
//! server, over IPv4 and IPv6. [`run_all`] plays them over emulated links between network
//! namespaces, and compares every byte. [`page`] describes them.

mod case;
mod catalogue;
mod checks;
mod crowd;
mod host;
mod kernel_application;
mod kernel_host;
mod network;
mod objects;
mod oracle;
mod page;
mod plan;
mod play;
mod progress;
mod run;
mod stack_host;

pub use case::{Case, Kind, cases, long_cases};
pub use catalogue::plans;
pub use crowd::{CROWD, Crowd, crowds, play_crowd};
pub use objects::{OBJECT_BYTES, ObjectServer, PATHS, measure_objects};
pub use page::{matrix, page};
pub use plan::{Action, Expected, Join, Plan, Reset};
pub use play::{play, play_captured};
pub use run::{Outcome, run_all};
