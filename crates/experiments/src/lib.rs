//! Experiments with scenarios: one run in detail, several cases over many seeds, and the simulator
//! compared with the Linux kernel.
//!
//! Every module but `files` and `setting_place` takes descriptions and returns tables, charts and report pages. The
//! program reads and writes the files.

pub mod compare;
pub mod crowd;
mod delay;
pub mod describe;
pub mod display;
pub mod fidelity;
pub mod files;
pub mod map;
pub mod page;
pub mod parallel;
pub mod profiles;
pub mod run;
pub mod setting_place;
pub mod stats;
pub mod timeline;
pub mod traces;
pub mod video;
pub mod warnings;
