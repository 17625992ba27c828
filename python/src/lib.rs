//! The native module `tandem_mptcp._native`: scenarios in, results out.
//!
//! The Python package above it owns names, types and documentation for users. A class here holds a
//! value of the Rust crates and hands out text (JSON, HTML, SVG), bytes and Arrow data.

mod background;
mod capture;
mod errors;
mod interrupt;
mod page;
mod papers;
mod policies;
mod profiles;
mod run;
mod scenario;
mod series;
mod steer;
mod sweep;
mod values;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::capture::{Capture, capture};
    #[pymodule_export]
    use crate::page::Page;
    #[pymodule_export]
    use crate::papers::{Reproduction, reproduce};
    #[pymodule_export]
    use crate::profiles::{profile_toml, profiles};
    #[pymodule_export]
    use crate::run::Run;
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::series::Columns;
    #[pymodule_export]
    use crate::steer::{
        Action, Candidate, CoupledSubflow, Coupling, RateSample, SchedulerContext, SubflowView, Window,
    };
    #[pymodule_export]
    use crate::sweep::{Sweep, SweepDirectory, SweepQueue, SweepSummary, part_name};
    #[pymodule_export]
    use crate::values::{document, value};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
