//! Experiments on experiments: one scenario looked at closely, several policies side by side, a
//! published paper beside its printed figures.
//!
//! Everything here takes descriptions and gives tables, charts and pages; the program reads and
//! writes the files.

pub mod calibration;
pub mod compare;
mod describe;
pub mod emtcp;
pub mod fidelity;
mod figure;
pub mod lwi;
pub mod mptcp_rec;
pub mod parallel;
pub mod profiles;
pub mod run;
pub mod stats;
