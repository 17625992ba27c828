//! Which paths are costly.

use crate::DeviceState;
use crate::wifi_first::preferred;
use radio::InterfaceKind;
use units::{Duration, Instant};

/// Divides the paths into cheap and costly ones.
///
/// By energy per megabit where it is known of every path that is up: the sorted values are cut where
/// the step from one to the next is the greatest factor. Until it is known, by kind: cellular is
/// costly. Energy per megabit depends on the rate and so on what a policy does; a division that
/// swung with it would drive itself in circles, so a new one has to stand for [`Costs::SETTLE`].
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    costly: Vec<bool>,
    /// Another division, and since when it has been seen.
    rival: Option<(Vec<bool>, Instant)>,
}

impl Costs {
    /// How long another division has to be seen before it is taken.
    pub(crate) const SETTLE: Duration = Duration::from_secs(5);
    /// Below this factor two energies are the same.
    const DISTINCT: f64 = 1.2;

    /// By kind, until more is known.
    pub(crate) fn new(kinds: &[InterfaceKind]) -> Self {
        Self { costly: kinds.iter().map(|&kind| !preferred(kind)).collect(), rival: None }
    }

    /// One flag a path: true for the costly ones.
    pub(crate) fn costly(&self) -> &[bool] {
        &self.costly
    }

    /// Looks at the energies.
    pub(crate) fn observe(&mut self, now: Instant, state: &DeviceState) {
        for path in state.paths.iter().skip(self.costly.len()) {
            self.costly.push(!preferred(path.kind));
        }
        self.costly.truncate(state.paths.len());
        let Some(seen) = divide(state, &self.costly).filter(|seen| *seen != self.costly) else {
            self.rival = None;
            return;
        };
        match &self.rival {
            Some((rival, since)) if *rival == seen => {
                if now.since(*since) >= Self::SETTLE {
                    self.costly = seen;
                    self.rival = None;
                }
            }
            _ => self.rival = Some((seen, now)),
        }
    }
}

/// The division by energy, with paths that are down left as they are; `None` where the energies do
/// not say.
fn divide(state: &DeviceState, present: &[bool]) -> Option<Vec<bool>> {
    let mut energies = Vec::with_capacity(state.paths.len());
    for path in state.paths.iter().filter(|path| path.up) {
        energies.push(path.energy_per_mbit.filter(|e| e.is_finite() && *e > 0.0)?);
    }
    energies.sort_by(f64::total_cmp);
    let (factor, limit) =
        energies.windows(2).map(|pair| (pair[1] / pair[0], pair[1])).max_by(|a, b| a.0.total_cmp(&b.0))?;
    if factor < Costs::DISTINCT {
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
        DeviceState { paths: energies.iter().zip(kinds).map(path).collect(), app: None }
    }

    #[test]
    fn without_energies_cellular_is_costly() {
        assert_eq!(Costs::new(&[Wifi, Lte, Bluetooth, ThreeG]).costly(), [false, true, false, true]);
    }

    #[test]
    fn energies_are_cut_at_the_greatest_step() {
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
    fn a_passing_swing_changes_nothing_and_a_lasting_one_does() {
        let kinds = [Wifi, Lte];
        let (usual, swung) = (state(&[Some(0.1), Some(0.5)], &kinds), state(&[Some(2.0), Some(0.5)], &kinds));
        let mut costs = Costs::new(&kinds);
        for second in 0..20 {
            costs.observe(Instant::from_secs(second), if second % 5 == 0 { &usual } else { &swung });
            assert_eq!(costs.costly(), [false, true]);
        }
        costs.observe(Instant::from_secs(21), &swung);
        assert_eq!(costs.costly(), [true, false]);
    }

    #[test]
    fn a_path_that_is_down_keeps_its_place() {
        let mut down = state(&[Some(0.1), None, Some(0.5)], &[Wifi, Bluetooth, Lte]);
        down.paths[1].up = false;
        assert_eq!(divide(&down, &[false, true, true]).unwrap(), [false, true, true]);
    }
}
