//! Traffic of interfaces by the kernel's counters.
//!
//! The counters restart with the interface and with the machine. The last reading of each is
//! stored, so traffic while no agent runs is counted by the next one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Last counter reading of every managed interface, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counters(BTreeMap<String, CounterReading>);

/// Index of an interface without a reading since the counters restarted; the kernel begins at 1.
const UNSEEN: u32 = 0;

/// A counter reading of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterReading {
    /// Interface index; a different index is a different interface.
    pub index: u32,
    /// Bytes since the counters began.
    pub bytes: CounterBytes,
}

/// Bytes of a counter reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CounterBytes {
    /// Bytes received and sent.
    Directions(u64, u64),
    /// Sum of both, in files of earlier versions.
    Sum(u64),
}

/// Increment of a counter; a counter below its earlier value restarted at zero.
pub fn increment(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

impl CounterBytes {
    fn sum(self) -> u64 {
        match self {
            Self::Directions(received, sent) => received.saturating_add(sent),
            Self::Sum(sum) => sum,
        }
    }

    /// Bytes since an earlier reading. Each direction may restart on its own.
    fn since(self, before: Self) -> u64 {
        match (before, self) {
            (Self::Directions(received_before, sent_before), Self::Directions(received, sent)) => {
                increment(received_before, received).saturating_add(increment(sent_before, sent))
            }
            _ => increment(before.sum(), self.sum()),
        }
    }
}

impl Counters {
    /// Records a reading and returns the bytes since the previous one; `None` at the first reading
    /// of an unknown interface, because the period of that traffic is unknown.
    pub fn record(&mut self, name: &str, now: CounterReading) -> Option<u64> {
        let known = self.0.get(name).copied();
        let before = known.filter(|known| known.index == now.index).or_else(|| self.take(now.index));
        self.0.insert(name.to_owned(), now);
        match before {
            Some(before) => Some(now.bytes.since(before.bytes)),
            // The counters of a new interface of this name began at zero.
            None => known.map(|_| now.bytes.sum()),
        }
    }

    /// Removes the reading of an interface that was renamed: it keeps its index and its counters.
    fn take(&mut self, index: u32) -> Option<CounterReading> {
        let (name, _) = self.0.iter().find(|(_, known)| known.index == index)?;
        let name = name.clone();
        self.0.remove(&name)
    }

    /// Restarts all counters at zero, as the machine does. The names stay known.
    pub fn restart(&mut self) {
        let restarted = CounterReading { index: UNSEEN, bytes: CounterBytes::Directions(0, 0) };
        self.0.values_mut().for_each(|known| *known = restarted);
    }

    /// Keeps the interfaces with a reading since the last restart.
    pub fn retain_seen(&mut self) {
        self.0.retain(|_, known| known.index != UNSEEN);
    }

    /// True if the interface is known.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds readings, which replace those of the same names.
    pub fn extend(&mut self, readings: BTreeMap<String, CounterReading>) {
        self.0.extend(readings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(counters: &mut Counters, name: &str, index: u32, bytes: u64) -> Option<u64> {
        let bytes = CounterBytes::Directions(bytes, 0);
        counters.record(name, CounterReading { index, bytes })
    }

    #[test]
    fn counter_resets_lose_no_traffic() {
        let mut counters = Counters::default();
        assert_eq!(record(&mut counters, "wwan0", 3, 1_000), None, "first reading");
        assert_eq!(record(&mut counters, "wwan0", 3, 1_500), Some(500));
        assert_eq!(record(&mut counters, "wwan0", 9, 200), Some(200), "new interface of the same name");
        assert_eq!(record(&mut counters, "wwan0", 9, 50), Some(50), "reset by the driver");
        assert_eq!(record(&mut counters, "wwan1", 10, 99), None);
        counters.restart();
        assert_eq!(record(&mut counters, "wwan0", 9, 60), Some(60), "everything since boot");
        assert_eq!(record(&mut counters, "wwan0", 9, 61), Some(1));
    }

    #[test]
    fn one_counter_that_wraps_leaves_the_other_direction_alone() {
        let reading = |received, sent| {
            let bytes = CounterBytes::Directions(received, sent);
            CounterReading { index: 3, bytes }
        };
        let mut counters = Counters::default();
        counters.record("wwan0", reading(4_000_000_000, 1_000_000_000));
        assert_eq!(counters.record("wwan0", reading(100, 1_000_000_500)), Some(600));
        assert_eq!(counters.record("wwan0", reading(200, 20)), Some(120));
    }

    #[test]
    fn renamed_interface_is_counted_once() {
        let mut counters = Counters::default();
        record(&mut counters, "wwan0", 3, 1_000);
        assert_eq!(record(&mut counters, "wwan7", 3, 1_600), Some(600));
        assert_eq!(record(&mut counters, "wwan0", 3, 1_700), Some(100));
        // To the name of an interface that is gone.
        record(&mut counters, "wlan0", 2, 10);
        assert_eq!(record(&mut counters, "wlan0", 3, 1_800), Some(100));
    }

    proptest! {
        #[test]
        fn traffic_is_the_sum_of_counter_increments(
            readings in prop::collection::vec((1_u32..4, any::<u64>(), any::<bool>()), 0..50),
        ) {
            let mut counters = Counters::default();
            let mut last = None;
            for (index, bytes, rebooted) in readings {
                if rebooted {
                    counters.restart();
                }
                let expected = match last {
                    None => None,
                    Some((interface, before)) if !rebooted && interface == index && bytes >= before => {
                        Some(bytes - before)
                    }
                    // Counters restart with the machine, the interface or its driver.
                    Some(_) => Some(bytes),
                };
                prop_assert_eq!(record(&mut counters, "w", index, bytes), expected);
                last = Some((index, bytes));
            }
        }
    }
}
