//! Reproduction of the eMTCP paper (Chen, Yuan, Muntean 2013); see docs/background/emtcp.md.
//!
//! `paper` holds the printed figures, `model` the test bed and `calibration` the fitted parameters.
//! `measure` reads the figures of a run, `reproduce` plans the runs, `tables`, `page` and `json`
//! present them. `kernel` compares the same cases on the Linux kernel.

pub mod calibration;
mod json;
pub mod kernel;
pub mod measure;
pub mod model;
mod page;
pub mod paper;
mod reproduce;
mod tables;

pub use reproduce::{ActuatorResult, CaseResult, Options, Reproduction, Sensitivity, SweepPoint, reproduce};
