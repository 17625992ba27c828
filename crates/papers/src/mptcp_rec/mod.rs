//! The MPTCP-rec paper, reproduced.
//!
//! `paper` holds its printed figures, `model` its network and the grid of what did not survive, `schemes`
//! what is held against what, `measure` what is read off a run, `reproduce` the runs, `over_grid` how they
//! are summed up, `tables`, `page` and `json` how they are shown.

mod json;
mod measure;
pub mod model;
mod over_grid;
mod page;
pub mod paper;
mod reproduce;
pub mod schemes;
mod tables;

pub use measure::{Figure, Run, Work};
pub use over_grid::Group;
pub use reproduce::{Options, Reproduction, Shown, reproduce};
