//! A finished run of a comparison.

use super::Metric;
use super::metrics::Quantity;
use crate::crowd::CrowdFigures;
use sim::Outcome;

/// Result of a run with one device, or with several.
#[derive(Debug, Clone)]
pub(super) enum Finished {
    Device(Box<Outcome>),
    Crowd(CrowdFigures),
}

impl Finished {
    /// Outcome of a run with one device.
    pub(super) fn device(&self) -> Option<&Outcome> {
        match self {
            Self::Device(outcome) => Some(outcome),
            Self::Crowd(_) => None,
        }
    }

    /// Figures of a run with several devices.
    pub(super) fn crowd(&self) -> Option<&CrowdFigures> {
        match self {
            Self::Device(_) => None,
            Self::Crowd(figures) => Some(figures),
        }
    }

    /// Value of a metric; `None` if the run has none.
    pub(super) fn value(&self, metric: &Metric) -> Option<f64> {
        match (self, metric.quantity) {
            (Self::Crowd(figures), Quantity::OfCrowd { .. }) => figures.values.get(&metric.key).copied(),
            (Self::Device(outcome), _) => metric.value(outcome),
            (Self::Crowd(_), _) => None,
        }
    }

    /// Whether a run with another seed gave the same result.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device(a), Self::Device(b)) => a.device == b.device && a.connections == b.connections,
            (Self::Crowd(a), Self::Crowd(b)) => a == b,
            _ => false,
        }
    }

    /// Whether another case gave the same result; names of policies may differ.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device(a), Self::Device(b)) => {
                let (a_device, b_device) = (&a.device, &b.device);
                let same_device = a_device.energy_j == b_device.energy_j
                    && a_device.joint_energy_j == b_device.joint_energy_j
                    && a_device.battery_left == b_device.battery_left;
                same_device
                    && a.paths == b.paths
                    && a.connections == b.connections
                    && a.background == b.background
            }
            (Self::Crowd(a), Self::Crowd(b)) => a.devices == b.devices,
            _ => false,
        }
    }
}
