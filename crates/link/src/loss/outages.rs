//! Scheduled outages.

use super::Transmission;
use units::Instant;

/// Periods in which every packet is lost.
#[derive(Debug, Clone)]
pub(crate) struct Outages {
    /// Sorted, disjoint and non-empty.
    periods: Vec<(Instant, Instant)>,
    next: usize,
}

impl Outages {
    pub(crate) fn new(periods: &[(Instant, Instant)]) -> Self {
        let mut sorted = periods.to_vec();
        sorted.retain(|(from, to)| from < to);
        sorted.sort_unstable();
        let mut periods: Vec<(Instant, Instant)> = Vec::with_capacity(sorted.len());
        for (from, to) in sorted {
            match periods.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => periods.push((from, to)),
            }
        }
        Self { periods, next: 0 }
    }

    /// Returns true if any part of the transmission, or its first instant, is in an outage.
    ///
    /// The beginnings of successive transmissions never decrease.
    #[inline]
    pub(crate) fn overlap(&mut self, packet: &Transmission) -> bool {
        while let Some(&(from, to)) = self.periods.get(self.next) {
            if to <= packet.begin {
                self.next += 1;
            } else {
                return from <= packet.begin || from < packet.end;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_match_every_transmission_that_overlaps_them() {
        let ms = Instant::from_millis;
        // Unsorted and overlapping; one period is empty.
        let mut outages =
            Outages::new(&[(ms(30), ms(40)), (ms(10), ms(15)), (ms(14), ms(20)), (ms(5), ms(5))]);
        let mut hit = |a, b| outages.overlap(&Transmission { begin: ms(a), end: ms(b), size: 1500 });
        assert!(!hit(0, 10));
        assert!(hit(9, 11) && hit(10, 10) && hit(15, 16) && hit(19, 25));
        assert!(!hit(20, 30));
        assert!(hit(25, 50));
        assert!(!hit(40, 50));
    }
}
