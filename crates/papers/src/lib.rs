//! Reproductions of published papers: the model of each paper's test bed, its calibration, and its
//! printed figures beside the measured ones.
//!
//! Like `experiments`, these modules return tables and report pages; the program writes the files.

pub mod emtcp;
pub mod lwi;
pub mod mptcp_rec;
