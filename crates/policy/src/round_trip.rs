//! Round-trip time of a path with several subflows.

use std::collections::BTreeMap;
use units::Duration;

/// Round-trip time of a path: the minimum of the smoothed ones of its subflows that were measured
/// lately. An idle subflow keeps the value of its last data, however long ago that was.
#[derive(Debug, Clone)]
pub struct PathRoundTrip<K> {
    /// Smoothed round-trip times of the subflows at the last observation.
    last: BTreeMap<K, Duration>,
    minimum: Option<Duration>,
}

impl<K> Default for PathRoundTrip<K> {
    fn default() -> Self {
        Self { last: BTreeMap::new(), minimum: None }
    }
}

impl<K: Ord> PathRoundTrip<K> {
    /// The minimum over the subflows with a new value since the previous observation. It stays if no
    /// subflow has one, and is `None` without any value.
    pub fn observe(&mut self, subflows: BTreeMap<K, Duration>) -> Option<Duration> {
        let measured = subflows.iter().filter(|(subflow, srtt)| self.last.get(subflow) != Some(srtt));
        let minimum = measured.map(|(_, srtt)| *srtt).min().or(self.minimum);
        self.minimum = minimum.filter(|_| !subflows.is_empty());
        self.last = subflows;
        self.minimum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subflows_with_a_new_value_count() {
        let mut path = PathRoundTrip::default();
        let mut observe = |values: &[(u8, u64)]| {
            let subflows = values.iter().map(|&(subflow, ms)| (subflow, Duration::from_millis(ms)));
            path.observe(subflows.collect()).map(|srtt| srtt.as_nanos() / 1_000_000)
        };
        assert_eq!(observe(&[]), None);
        assert_eq!(observe(&[(1, 20), (2, 30)]), Some(20));
        assert_eq!(observe(&[(1, 20), (2, 300)]), Some(300), "the first is idle");
        assert_eq!(observe(&[(1, 20), (2, 300)]), Some(300), "no subflow has a new value");
        assert_eq!(observe(&[(1, 250), (2, 310)]), Some(250));
        assert_eq!(observe(&[]), None);
    }
}
