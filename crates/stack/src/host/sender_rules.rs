//! Rules for the data that a host sends, by interface: shares, offloading and the cost of energy.

use crate::{ConnectionId, OpenSubflow, Stack};
use mptcp::scheduler::Offload;

/// Rules that hold for all connections. An endpoint has them by path, which differs from connection
/// to connection.
#[derive(Debug, Default)]
pub(super) struct SenderRules {
    pub(super) shares: Option<Vec<f64>>,
    pub(super) offload: Option<Offload>,
    /// Joules per byte.
    pub(super) energy_costs: Option<Vec<f64>>,
}

impl SenderRules {
    /// Applies the rules to a connection; again after each new subflow.
    pub(super) fn apply(&self, stack: &mut Stack, id: ConnectionId) {
        let open: Vec<OpenSubflow> = stack.subflows(id).collect();
        let shares = self.shares.as_ref().map(|shares| by_path(&open, shares));
        let costs = self.energy_costs.as_ref().map(|costs| by_path(&open, costs));
        let offload = self.offload.as_ref();
        let offload = offload.map(|rule| Offload { costly: by_path(&open, &rule.costly), ..*rule });
        if shares.is_none() && costs.is_none() && offload.is_none() {
            return;
        }
        stack.update(id, |endpoint| {
            if let Some(shares) = shares {
                endpoint.set_shares(&shares);
            }
            if let Some(costs) = costs {
                endpoint.set_energy_costs(&costs);
            }
            if offload.is_some() {
                endpoint.set_offload(offload);
            }
        });
    }
}

/// Values of interfaces as values of the paths of a connection.
fn by_path<T: Copy + Default>(open: &[OpenSubflow], by_interface: &[T]) -> Vec<T> {
    let count = open.iter().map(|one| one.path.index() + 1).max().unwrap_or(0);
    let mut values = vec![T::default(); count];
    for one in open {
        values[one.path.index()] = by_interface.get(one.interface).copied().unwrap_or_default();
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tuple;
    use mptcp::PathId;

    #[test]
    fn values_follow_the_interfaces_of_the_paths() {
        let address = ([10, 0, 0, 1], 1).into();
        let tuple = Tuple { local: address, remote: address };
        let open = |path, interface| OpenSubflow { path: PathId(path), interface, tuple };
        assert_eq!(by_path(&[open(0, 1), open(2, 0)], &[0.25, 0.75]), [0.75, 0.0, 0.25]);
        assert_eq!(by_path(&[open(0, 5)], &[true]), [false]);
    }
}
