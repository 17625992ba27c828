//! Python classes of the arguments of a congestion control.

use super::shown;
use super::values::value_class;
use mptcp::congestion;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use units::Duration;

/// Largest congestion window, in bytes: 1 TiB.
const MAX_CWND_BYTES: u64 = 1 << 40;

value_class! {
    /// State of the subflow of a congestion control.
    SubflowView {
        /// Simulated time, in seconds.
        now_s: f64,
        /// Maximum segment size, in bytes.
        mss_bytes: u64,
        /// Smoothed round-trip time, in seconds.
        srtt_s: f64,
        /// Bytes in flight before the event.
        in_flight_bytes: u64,
        /// Round-trip time measured by this acknowledgement, in seconds; None without a sample.
        rtt_s: Option<f64>,
        /// Lowest round-trip time so far, in seconds; None before the first sample.
        min_rtt_s: Option<f64>,
        /// Offset up to which the peer has acknowledged; differences are bytes delivered.
        una_bytes: u64,
        /// True during loss recovery.
        recovering: bool,
    }
}

value_class! {
    /// Delivery rate sample of one acknowledgement.
    RateSample {
        /// Bytes delivered so far, those of this acknowledgement included.
        delivered_bytes: u64,
        /// Bytes delivered when the acknowledged segment was sent.
        prior_delivered_bytes: u64,
        /// Bytes delivered by this acknowledgement, in order or not.
        newly_delivered_bytes: u64,
        /// Bytes found lost by this acknowledgement.
        newly_lost_bytes: u64,
        /// Time over which ``delivered_bytes - prior_delivered_bytes`` arrived, in seconds; 0 if
        /// unknown.
        interval_s: f64,
        /// The application limited sending during the interval: the rate is a lower bound.
        app_limited: bool,
        /// Round-trip time measured by this acknowledgement, in seconds; None without a sample.
        rtt_s: Option<f64>,
        /// Bytes in flight after this acknowledgement.
        in_flight_bytes: u64,
    }
}

value_class! {
    /// A subflow of the connection, as a coupled congestion control sees it.
    CoupledSubflow {
        /// Number of the path in the scenario, from 0.
        path: usize,
        /// Congestion window, in bytes; the slow-start threshold during fast recovery.
        cwnd_bytes: u64,
        /// Smoothed round-trip time, in seconds, at least a microsecond.
        srtt_s: f64,
        /// Window per round-trip time, in bytes per second.
        rate_bytes_per_s: f64,
        /// Energy cost of a byte, in joules; None if unknown or if ``uses_energy_costs`` is False.
        energy_cost_j_per_byte: Option<f64>,
        /// Value that the subflow's own control returned from ``shared_value``.
        shared_value: u64,
    }
}

value_class! {
    /// The subflows of a connection in use. Empty unless the congestion control is ``coupled``,
    /// and for an acknowledgement within slow start.
    Coupling {
        /// The subflows in the order of their paths, the own one included: a tuple of
        /// ``CoupledSubflow``.
        subflows: Py<PyAny>,
        /// The control's own subflow; None if there are none.
        own: Option<Py<CoupledSubflow>>,
    }
}

/// Congestion window and slow-start threshold. A congestion control changes them.
#[pyclass(module = "tandem_mptcp._native")]
#[derive(Debug)]
pub(crate) struct Window(congestion::Window);

#[pymethods]
impl Window {
    #[new]
    #[pyo3(signature = (cwnd_bytes, ssthresh_bytes))]
    fn new(cwnd_bytes: &Bound<'_, PyAny>, ssthresh_bytes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut window = Self(congestion::Window { cwnd: 1, ssthresh: 0 });
        window.set_cwnd_bytes(cwnd_bytes)?;
        window.set_ssthresh_bytes(ssthresh_bytes)?;
        Ok(window)
    }

    /// Congestion window, in bytes: an int from 1 to 2**40.
    #[getter]
    fn cwnd_bytes(&self) -> u64 {
        self.0.cwnd
    }

    #[setter]
    fn set_cwnd_bytes(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.cwnd = integer("cwnd_bytes", value, 1, MAX_CWND_BYTES)?;
        Ok(())
    }

    /// Slow-start threshold, in bytes: an int from 0 to 2**64 - 1, which is its first value.
    #[getter]
    fn ssthresh_bytes(&self) -> u64 {
        self.0.ssthresh
    }

    #[setter]
    fn set_ssthresh_bytes(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.ssthresh = integer("ssthresh_bytes", value, 0, u64::MAX)?;
        Ok(())
    }

    /// True while the window is below the threshold.
    #[getter]
    fn in_slow_start(&self) -> bool {
        self.0.in_slow_start()
    }

    /// Grows the window by the acknowledged bytes up to the threshold (RFC 5681, section 3.1).
    /// Returns the bytes left for congestion avoidance.
    fn slow_start(&mut self, acked_bytes: &Bound<'_, PyAny>) -> PyResult<u64> {
        let left = self.0.slow_start(integer("acked_bytes", acked_bytes, 0, MAX_CWND_BYTES)?);
        self.0.cwnd = self.0.cwnd.min(MAX_CWND_BYTES);
        Ok(left)
    }

    /// Sets the threshold to half the flight size, at least two segments (RFC 5681, Eq. 4).
    fn halve(&mut self, subflow: &SubflowView) {
        let half = subflow.in_flight_bytes.min(self.0.cwnd) / 2;
        self.0.ssthresh = half.max(subflow.mss_bytes.saturating_mul(2));
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd_bytes={}, ssthresh_bytes={})", self.0.cwnd, self.0.ssthresh)
    }

    fn __getnewargs__(&self) -> (u64, u64) {
        (self.0.cwnd, self.0.ssthresh)
    }
}

impl Window {
    pub(super) fn of(window: congestion::Window) -> Self {
        Self(window)
    }

    pub(super) fn inner(&self) -> congestion::Window {
        self.0
    }
}

impl SubflowView {
    pub(super) fn of(view: &congestion::SubflowView) -> Self {
        Self {
            now_s: view.now.as_secs_f64(),
            mss_bytes: view.mss,
            srtt_s: view.srtt.as_secs_f64(),
            in_flight_bytes: view.in_flight,
            rtt_s: view.rtt.map(Duration::as_secs_f64),
            min_rtt_s: (view.min_rtt != Duration::MAX).then(|| view.min_rtt.as_secs_f64()),
            una_bytes: view.una,
            recovering: view.recovering,
        }
    }
}

impl RateSample {
    pub(super) fn of(sample: &congestion::RateSample) -> Self {
        Self {
            delivered_bytes: sample.delivered,
            prior_delivered_bytes: sample.prior_delivered,
            newly_delivered_bytes: sample.newly_delivered,
            newly_lost_bytes: sample.newly_lost,
            interval_s: sample.interval.as_secs_f64(),
            app_limited: sample.app_limited,
            rtt_s: sample.rtt.map(Duration::as_secs_f64),
            in_flight_bytes: sample.in_flight,
        }
    }
}

/// An integer from `min` to `max`.
fn integer(name: &str, value: &Bound<'_, PyAny>, min: u64, max: u64) -> PyResult<u64> {
    let message = || format!("{name} is an int from {min} to {max}, not {}", shown(value));
    match value.extract::<u64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => Err(PyTypeError::new_err(message())),
        _ => Err(PyValueError::new_err(message())),
    }
}
