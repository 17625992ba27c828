//! Reproduction of the paper on LTE-Wi-Fi integration (Kumar, Gupta, Franklin 2017); see
//! docs/background/lwi.md.
//!
//! `paper` holds the printed figures, `model` the test bed and `process` the rates of its links.
//! `calibration` holds the fitted parameters; `fit` repeats the fit, with the sessions of `fluid`.
//! `measure` reads the metrics of a run, `reproduce` runs everything and `variants` the rows with
//! other queues. `tables`, `claims`, `page` and `json` present the results. `kernel` compares the
//! same sessions on Linux, and `browser` the player's page in Chromium.

mod browser;
pub mod calibration;
mod claims;
pub mod fit;
mod fluid;
mod json;
pub mod kernel;
mod long_tables;
mod measure;
pub mod model;
mod page;
pub mod paper;
pub mod process;
mod reproduce;
mod tables;
pub mod variants;

pub use browser::BrowserRun;
pub use measure::{Run, mean_stall};
pub use reproduce::{Metric, Options, Plan, Reproduction, plans, reproduce, reproduce_until};
