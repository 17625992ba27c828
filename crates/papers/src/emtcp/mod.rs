//! Reproduction of the eMTCP paper (Chen, Yuan, Muntean 2013); see docs/background/emtcp.md.
//!
//! `paper` holds the printed figures, `model` the test bed and `calibration` the fitted parameters.
//! `measure` reads the figures of a run, `plan` plans the runs, `reproduce` collects their results.
//! `grid` combines stream models, congestion controls and base shares of power; `claims` holds each
//! against the printed figures. `tables`, `page` and `json` present them. `kernel` compares the same
//! cases on the Linux kernel.

pub mod calibration;
pub mod claims;
pub mod grid;
mod grid_view;
mod json;
pub mod kernel;
pub mod measure;
pub mod model;
mod page;
pub mod paper;
mod plan;
mod reproduce;
mod sensitivity;
mod tables;

pub use reproduce::{
    ActuatorResult, CaseResult, Options, Reproduction, SweepPoint, reproduce, reproduce_until,
};
pub use sensitivity::Sensitivity;
