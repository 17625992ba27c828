//! Trace files that a scenario uses.

use link::TraceSummary;

/// A trace file that gives the rate of one direction of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedTrace {
    /// The path's name.
    pub path: String,
    /// True for the direction from the server to the device.
    pub down: bool,
    /// The file, as the scenario names it.
    pub file: String,
    /// SHA-256 of the file, in lower-case hexadecimal digits.
    pub sha256: String,
    /// Name of the format, given or detected.
    pub format: &'static str,
    /// Length, mean and percentiles of the rate.
    pub summary: TraceSummary,
}
