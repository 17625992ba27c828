//! An ideal battery.

use units::{Duration, Energy, Power};

/// An ideal battery: its capacity does not depend on the current.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Battery {
    /// Energy of the full battery.
    pub capacity: Energy,
}

impl Battery {
    /// Creates a battery with this capacity.
    pub const fn new(capacity: Energy) -> Self {
        Self { capacity }
    }

    /// Returns the energy left after `drawn`, at least zero.
    pub fn remaining(&self, drawn: Energy) -> Energy {
        Energy::from_joules((self.capacity.as_joules() - drawn.as_joules()).max(0.0))
    }

    /// Returns the charge level after `drawn`, from 0 to 1; 0 for a battery without capacity.
    pub fn level(&self, drawn: Energy) -> f64 {
        let capacity = self.capacity.as_joules();
        if capacity > 0.0 { self.remaining(drawn).as_joules() / capacity } else { 0.0 }
    }

    /// Returns true if `drawn` is at least the capacity.
    pub fn is_empty(&self, drawn: Energy) -> bool {
        drawn >= self.capacity
    }

    /// Returns the time a full battery lasts at the mean power; [`Duration::MAX`] at zero power.
    pub fn lifespan(&self, mean: Power) -> Duration {
        self.capacity / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifespan_is_capacity_over_mean_power() {
        // Table IV of the eMTCP paper: 300 J at 0.052 J/s and at 0.505 J/s.
        let battery = Battery::new(Energy::from_joules(300.0));
        let at = |watts| battery.lifespan(Power::from_watts(watts)).as_secs_f64();
        assert!((at(0.052) - 5769.23).abs() < 0.005);
        assert!((at(0.505) - 594.06).abs() < 0.005);
        assert_eq!(battery.lifespan(Power::ZERO), Duration::MAX);
    }

    #[test]
    fn charge_does_not_fall_below_zero() {
        let battery = Battery::new(Energy::from_joules(10.0));
        assert_eq!(battery.remaining(Energy::from_joules(4.0)), Energy::from_joules(6.0));
        assert_eq!(battery.level(Energy::from_joules(4.0)), 0.6);
        assert!(!battery.is_empty(Energy::from_joules(9.9)));
        assert_eq!(battery.remaining(Energy::from_joules(11.0)), Energy::ZERO);
        assert!(battery.is_empty(Energy::from_joules(10.0)));
        assert_eq!(Battery::new(Energy::ZERO).level(Energy::ZERO), 0.0);
    }
}
