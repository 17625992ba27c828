//! Traces (being written).

/// A trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {}
