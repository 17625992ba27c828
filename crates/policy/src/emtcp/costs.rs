//! Division of the paths into cheap and costly ones.

use crate::DeviceState;
use crate::state::is_preferred;
use radio::InterfaceKind;
use units::{Duration, Instant};

/// Divides the paths into cheap and costly ones.
///
/// The criterion is energy per megabit, once it is known for every path that is up: the sorted
/// values are divided at the step with the largest factor. Until then cellular paths are costly.
/// Energy per megabit depends on the rate and so on the policy itself; to avoid an oscillation, a
/// new division counts only after [`Costs::SETTLING_TIME`].
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    costly: Vec<bool>,
    /// A different division and the time since which it has been observed.
    candidate: Option<(Vec<bool>, Instant)>,
}

impl Costs {
    /// Time for which a different division has to be observed before it counts.
    pub(crate) const SETTLING_TIME: Duration = Duration::from_secs(5);
    /// Smallest factor between two energies that counts as different.
    const MIN_FACTOR: f64 = 1.2;

    /// The division by kind, before energies are known.
    pub(crate) fn new(kinds: &[InterfaceKind]) -> Self {
        Self { costly: kinds.iter().map(|&kind| !is_preferred(kind)).collect(), candidate: None }
    }

    /// One flag per path: true for a costly one.
    pub(crate) fn costly(&self) -> &[bool] {
        &self.costly
    }

    /// Updates the division from the energies.
    pub(crate) fn observe(&mut self, now: Instant, state: &DeviceState) {
        for path in state.paths.iter().skip(self.costly.len()) {
            self.costly.push(!is_preferred(path.kind));
        }
        self.costly.truncate(state.paths.len());
        let Some(seen) = divide(state, &self.costly).filter(|seen| *seen != self.costly) else {
            self.candidate = None;
            return;
        };
        match &self.candidate {
            Some((candidate, since)) if *candidate == seen => {
                if now.since(*since) >= Self::SETTLING_TIME {
                    self.costly = seen;
                    self.candidate = None;
                }
            }
            _ => self.candidate = Some((seen, now)),
        }
    }
}

/// The division by energy; a path that is down keeps its `present` flag. `None` if an energy is
/// unknown or all are about equal.
fn divide(state: &DeviceState, present: &[bool]) -> Option<Vec<bool>> {
    let mut energies = Vec::with_capacity(state.paths.len());
    for path in state.paths.iter().filter(|path| path.up) {
        energies.push(path.energy_per_mbit.filter(|e| e.is_finite() && *e > 0.0)?);
    }
    energies.sort_by(f64::total_cmp);
    let (factor, limit) =
        energies.windows(2).map(|pair| (pair[1] / pair[0], pair[1])).max_by(|a, b| a.0.total_cmp(&b.0))?;
    if factor < Costs::MIN_FACTOR {
        return None;
    }
    let costly = |(path, present): (&crate::PathState, &bool)| match path.energy_per_mbit {
        Some(energy) if path.up => energy >= limit,
        _ => *present,
    };
    Some(state.paths.iter().zip(present).map(costly).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathState;
    use InterfaceKind::{Bluetooth, Lte, ThreeG, Wifi};

    fn state(energies: &[Option<f64>], kinds: &[InterfaceKind]) -> DeviceState {
        let path = |(e, kind): (&Option<f64>, &InterfaceKind)| PathState {
            energy_per_mbit: *e,
            ..PathState::new(*kind)
        };
        DeviceState::new(energies.iter().zip(kinds).map(path).collect())
    }

    #[test]
    fn cellular_paths_are_costly_without_energies() {
        assert_eq!(Costs::new(&[Wifi, Lte, Bluetooth, ThreeG]).costly(), [false, true, false, true]);
    }

    #[test]
    fn energies_are_divided_at_the_largest_factor() {
        let cases: [(&[f64], Option<&[bool]>); 6] = [
            (&[0.06, 0.5], Some(&[false, true])),
            (&[0.5, 0.06], Some(&[true, false])),
            (&[0.06, 0.5, 0.9], Some(&[false, true, true])),
            (&[0.06, 0.08, 0.5], Some(&[false, false, true])),
            (&[0.5, 0.55], None),
            (&[0.5], None),
        ];
        for (energies, wanted) in cases {
            let energies: Vec<_> = energies.iter().copied().map(Some).collect();
            let kinds = vec![Wifi; energies.len()];
            assert_eq!(divide(&state(&energies, &kinds), &vec![false; kinds.len()]).as_deref(), wanted);
        }
        assert_eq!(divide(&state(&[Some(0.1), None], &[Wifi, Lte]), &[false, true]), None);
        assert_eq!(divide(&state(&[Some(0.1), Some(f64::NAN)], &[Wifi, Lte]), &[false, true]), None);
    }

    #[test]
    fn only_a_lasting_change_of_energies_changes_the_division() {
        let kinds = [Wifi, Lte];
        let (usual, changed) =
            (state(&[Some(0.1), Some(0.5)], &kinds), state(&[Some(2.0), Some(0.5)], &kinds));
        let mut costs = Costs::new(&kinds);
        for second in 0..20 {
            costs.observe(Instant::from_secs(second), if second % 5 == 0 { &usual } else { &changed });
            assert_eq!(costs.costly(), [false, true]);
        }
        costs.observe(Instant::from_secs(21), &changed);
        assert_eq!(costs.costly(), [true, false]);
    }

    #[test]
    fn path_that_is_down_keeps_its_flag() {
        let mut down = state(&[Some(0.1), None, Some(0.5)], &[Wifi, Bluetooth, Lte]);
        down.paths[1].up = false;
        assert_eq!(divide(&down, &[false, true, true]).unwrap(), [false, true, true]);
    }
}
