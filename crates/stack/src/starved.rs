//! Connections that cannot write for lack of memory.

use crate::ConnectionId;
use std::collections::BTreeSet;

/// The connections, until memory is released.
#[derive(Debug, Default)]
pub(crate) struct Starved {
    ids: BTreeSet<ConnectionId>,
    /// Number of all connections when these were checked last.
    connections: usize,
}

impl Starved {
    pub(crate) fn insert(&mut self, id: ConnectionId, connections: usize) {
        if self.ids.is_empty() {
            self.connections = connections;
        }
        self.ids.insert(id);
    }

    /// Takes the connections that may write again. Their share grows when another connection ends.
    pub(crate) fn take(
        &mut self,
        is_full: bool,
        connections: usize,
        is_over: impl Fn(ConnectionId) -> bool,
    ) -> BTreeSet<ConnectionId> {
        if !is_full {
            return core::mem::take(&mut self.ids);
        }
        let fewer = connections < self.connections;
        self.connections = connections;
        if !fewer {
            return BTreeSet::new();
        }
        let (still, free) = self.ids.iter().partition(|&&id| is_over(id));
        self.ids = still;
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_wait_for_memory_or_for_the_end_of_another() {
        let mut starved = Starved::default();
        let ids = [1, 2].map(ConnectionId);
        for id in ids {
            starved.insert(id, 5);
        }
        assert!(starved.take(true, 5, |_| false).is_empty());
        assert_eq!(starved.take(true, 4, |id| id == ids[1]), BTreeSet::from([ids[0]]));
        assert_eq!(starved.take(false, 4, |_| true), BTreeSet::from([ids[1]]));
        assert!(starved.take(false, 4, |_| false).is_empty());
    }
}
