//! Accepted connections that have not completed their handshake, oldest first.

use crate::ConnectionId;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(crate) struct HalfOpen {
    /// Also holds connections that were established or ended since, until they are oldest.
    queue: VecDeque<ConnectionId>,
    count: usize,
}

impl HalfOpen {
    /// Number of connections.
    pub(crate) fn len(&self) -> usize {
        self.count
    }
    pub(crate) fn push(&mut self, id: ConnectionId) {
        self.queue.push_back(id);
        self.count += 1;
    }
    /// A connection was established or has ended.
    pub(crate) fn on_left(&mut self) {
        self.count = self.count.saturating_sub(1);
        if self.count == 0 {
            self.queue.clear();
        }
    }
    /// Returns the oldest connection for which `is_half_open` is true; forgets those before it.
    pub(crate) fn oldest(&mut self, is_half_open: impl Fn(ConnectionId) -> bool) -> Option<ConnectionId> {
        while let Some(&id) = self.queue.front() {
            if is_half_open(id) {
                return Some(id);
            }
            self.queue.pop_front();
        }
        None
    }
    /// Forgets connections that are not half-open once they are most of the queue.
    pub(crate) fn compact(&mut self, is_half_open: impl Fn(ConnectionId) -> bool) {
        if self.queue.len() > 2 * self.count + 16 {
            self.queue.retain(|&id| is_half_open(id));
        }
    }
}
