//! Bytes held in the buffers of all connections.

/// Sum over the connections, and its limit.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
    held: u64,
}

impl Memory {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, held: 0 }
    }
    pub(crate) fn held(&self) -> u64 {
        self.held
    }
    /// The limit is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.held >= self.limit
    }
    /// A segment may still complete data that its connection holds: the limit is not exceeded twice.
    pub(crate) fn has_reserve(&self) -> bool {
        self.held < 2 * self.limit
    }
    /// A connection holds `now` bytes, and held `before`.
    pub(crate) fn update(&mut self, before: u64, now: u64) {
        self.held = (self.held + now).saturating_sub(before);
    }
    /// The limit is reached, and a connection that holds `own` bytes, one of `connections`, has more
    /// than an equal part.
    pub(crate) fn is_over(&self, own: u64, connections: usize) -> bool {
        self.is_full() && own >= self.limit / (connections.max(1) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_connections_above_an_equal_part_are_limited() {
        let mut memory = Memory::new(1000);
        memory.update(0, 900);
        assert!(!memory.is_over(900, 2));
        memory.update(0, 200);
        assert!(memory.is_over(900, 2) && !memory.is_over(200, 2));
        memory.update(900, 0);
        assert_eq!(memory.held(), 200);
    }
}
