//! Counts of numbers by size, in constant room.

/// Each power of two is divided into so many classes.
const CLASSES: u64 = 128;
/// Of `CLASSES`, in bits.
const BITS: u32 = CLASSES.trailing_zeros();

/// How often numbers came, by class: those below 256 each for itself, above that 128 classes for each
/// power of two, so that a quantile is at most 1/128 below the true one.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
}

impl Histogram {
    /// Counts a number.
    pub fn add(&mut self, value: u64) {
        let class = class(value);
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.count += 1;
    }

    /// How many numbers there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lowest number of the class that a share `q` of all numbers, from 0 to 1, does not go beyond;
    /// `None` where there was none.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = ((q * self.count as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (class, count) in self.counts.iter().enumerate() {
            below += count;
            if below >= rank {
                return Some(lowest(class as u64));
            }
        }
        None
    }

    /// How many were 0, then 1, 2 to 3, 4 to 7 and so on, up to the largest.
    pub fn by_power_of_two(&self) -> Vec<u64> {
        let mut powers = Vec::new();
        for (class, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let power = (u64::BITS - lowest(class as u64).leading_zeros()) as usize;
            if powers.len() <= power {
                powers.resize(power + 1, 0);
            }
            powers[power] += count;
        }
        powers
    }
}

fn class(value: u64) -> usize {
    // How far a number has to be shifted until it has one bit more than a class.
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    (u64::from(shift) * CLASSES + (value >> shift)) as usize
}

fn lowest(class: u64) -> u64 {
    let shift = (class / CLASSES).saturating_sub(1);
    (class - shift * CLASSES) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_numbers_are_exact() {
        let mut histogram = Histogram::default();
        (1..=100).for_each(|value| histogram.add(value));
        let quantiles = [0.0, 0.01, 0.5, 0.95, 0.99, 1.0].map(|q| histogram.quantile(q).unwrap());
        assert_eq!(quantiles, [1, 1, 50, 95, 99, 100]);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn powers_of_two_are_counted_apart() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 2, 3, 4, 7, 8, 1424, 2047, 2048] {
            histogram.add(value);
        }
        assert_eq!(histogram.by_power_of_two(), [1, 1, 2, 2, 1, 0, 0, 0, 0, 0, 0, 2, 1]);
    }

    proptest! {
        #[test]
        fn a_class_begins_at_most_a_128th_below_its_numbers(value: u64) {
            let lowest = lowest(class(value) as u64);
            prop_assert!(lowest <= value && value - lowest <= lowest / CLASSES);
            prop_assert_eq!(class(lowest), class(value));
        }
    }
}
