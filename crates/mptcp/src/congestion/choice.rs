//! The congestion control that a configuration names: a registered one, or one from another crate.

use super::{CongestionControl, CongestionKind};
use crate::UnknownName;
use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

/// Settings of the endpoint that an algorithm may take into account.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CongestionSettings {
    /// Count windows as Linux does; see [`Config::linux_counting`](crate::Config::linux_counting).
    pub linux_counting: bool,
    /// Follow CUBIC's curve as Linux does; see [`Config::linux_curve`](crate::Config::linux_curve).
    pub linux_curve: bool,
}

/// Builds a congestion control from another crate, one for each subflow.
pub trait CongestionFactory: fmt::Debug + Send + Sync {
    /// Returns the name for tables and reports.
    fn name(&self) -> &str;
    /// Builds the algorithm of a new subflow.
    fn build(&self, settings: &CongestionSettings) -> Box<dyn CongestionControl>;
}

/// The congestion control of an endpoint: a registered one, or one from another crate.
#[derive(Debug, Clone)]
pub enum CongestionChoice {
    /// An algorithm of this crate.
    Registered(CongestionKind),
    /// An algorithm of another crate. Two choices are equal if they share the factory.
    Custom(Arc<dyn CongestionFactory>),
}

impl CongestionChoice {
    /// Returns the name in scenarios, tables and reports.
    pub fn name(&self) -> &str {
        match self {
            Self::Registered(kind) => kind.name(),
            Self::Custom(factory) => factory.name(),
        }
    }

    /// Builds the algorithm of a new subflow.
    pub fn build(&self, settings: &CongestionSettings) -> Box<dyn CongestionControl> {
        match self {
            Self::Registered(kind) => kind.build(settings),
            Self::Custom(factory) => factory.build(settings),
        }
    }

    /// Returns true if the algorithm weighs the energy cost of each path.
    pub fn uses_energy_costs(&self) -> bool {
        self.build(&CongestionSettings::default()).uses_energy_costs()
    }
}

impl Default for CongestionChoice {
    fn default() -> Self {
        Self::Registered(CongestionKind::default())
    }
}

impl From<CongestionKind> for CongestionChoice {
    fn from(kind: CongestionKind) -> Self {
        Self::Registered(kind)
    }
}

impl<F: CongestionFactory + 'static> From<Arc<F>> for CongestionChoice {
    fn from(factory: Arc<F>) -> Self {
        Self::Custom(factory)
    }
}

impl PartialEq for CongestionChoice {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Registered(a), Self::Registered(b)) => a == b,
            (Self::Custom(a), Self::Custom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl PartialEq<CongestionKind> for CongestionChoice {
    fn eq(&self, kind: &CongestionKind) -> bool {
        matches!(self, Self::Registered(own) if own == kind)
    }
}

impl fmt::Display for CongestionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CongestionChoice {
    type Err = UnknownName;
    fn from_str(name: &str) -> Result<Self, UnknownName> {
        name.parse().map(Self::Registered)
    }
}
