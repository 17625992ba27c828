//! Sweeps: many runs of one scenario with varied keys, policies and seeds.
//!
//! A [`Sweep`] numbers its runs. Any machine can [run a batch](Sweep::run_batch) of them from the
//! JSON of its [`Spec`]; [`merge`] joins the parts to one Parquet file. Its bytes depend on the
//! description alone, not on the order or the number of the parts. A [`Directory`] keeps the parts
//! of a sweep that may be killed, and [`run_local`] uses all cores.

mod axis;
mod batch;
mod columns;
mod dataset;
mod describe;
mod directory;
mod error;
mod hypercube;
mod local;
mod queue;
mod spec;
mod summary;
mod sweep;
mod value;

pub use axis::{Axis, Values};
pub use batch::Part;
pub use dataset::{PartSource, merge};
pub use describe::Request;
pub use directory::{Directory, part_name, unfinished};
pub use error::SweepError;
pub use local::{Control, run_local};
pub use queue::Queue;
pub use spec::{Design, Kind, Outcome, PolicyText, ScenarioText, Spec};
pub use summary::Summary;
pub use sweep::{Point, Sweep};
pub use value::{Si, si};
