//! Python classes of the arguments of a scheduler.

use super::values::value_class;
use pyo3::prelude::*;
use pyo3::types::PyString;

value_class! {
    /// A subflow that may carry the next data.
    Candidate {
        /// Number of the path in the scenario, from 0.
        path: usize,
        /// Name of the path.
        path_name: Py<PyString>,
        /// Smoothed round-trip time, in seconds.
        srtt_s: f64,
        /// Variation of the round-trip time (RTTVAR of RFC 6298), in seconds.
        rtt_variation_s: f64,
        /// Payload of a full segment, in bytes.
        mss_bytes: u64,
        /// Congestion window, in bytes.
        cwnd_bytes: u64,
        /// True while the window is below the slow-start threshold.
        slow_start: bool,
        /// Bytes in flight, and bytes that wait for the subflow's window.
        queued_bytes: u64,
        /// Bytes that the subflow could send at once.
        room_bytes: u64,
    }
}

value_class! {
    /// The data to be scheduled, and the state of the connection.
    SchedulerContext {
        /// Simulated time, in seconds.
        now_s: f64,
        /// Length of the next piece, in bytes.
        len_bytes: u64,
        /// Bytes written and not yet scheduled, the next piece included.
        unsent_bytes: u64,
        /// Send window of the connection, in bytes: the smaller of the peer's receive window and the
        /// send buffer.
        window_bytes: u64,
    }
}
