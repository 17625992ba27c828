//! The eMTCP paper, reproduced.
//!
//! `paper` holds its printed figures, `model` its test bed, `calibration` what had to be fitted and
//! how, `measure` what is read off a run, `reproduce` the runs, `tables`, `page` and `json` how they
//! are shown. docs/background/emtcp.md tells the whole story.

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
