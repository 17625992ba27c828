//! How long several radios were active at once.

use crate::Meter;
use units::{Duration, Instant};

/// Adds up the time in which two or more of a set of radios were active.
///
/// The power of several radios is not always the sum of each alone: one processor and one supply serve
/// them all. A device that models this charges a joint power for exactly this time.
///
/// Feed it the same meters in the same order each time. It looks only at what is new since the last
/// call, up to the time that all of them have reached.
#[derive(Debug, Clone, Default)]
pub struct Together {
    done: Instant,
    total: Duration,
    /// The first span of each meter that may reach beyond `done`.
    cursors: Vec<usize>,
    edges: Vec<(Instant, bool)>,
}

impl Together {
    /// Nothing yet, from time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks at what is new, and says how long two or more were active in all.
    pub fn update<'a>(&mut self, meters: impl IntoIterator<Item = &'a Meter> + Clone) -> Duration {
        let Some(now) = meters.clone().into_iter().map(Meter::now).min() else { return self.total };
        if now <= self.done {
            return self.total;
        }
        self.edges.clear();
        for (index, meter) in meters.into_iter().enumerate() {
            if self.cursors.len() <= index {
                self.cursors.push(0);
            }
            let mut ended = 0;
            for (from, to) in meter.active_spans_from(self.cursors[index]) {
                let (from, to) = (from.max(self.done), to.min(now));
                if from < to {
                    self.edges.push((from, true));
                    self.edges.push((to, false));
                }
                ended += usize::from(to < now);
            }
            // A span that ended at `now` may yet grow: a packet at the very end of the inactivity time.
            self.cursors[index] = (self.cursors[index] + ended).min(meter.closed_spans());
        }
        self.edges.sort_unstable();
        let mut active = 0_u32;
        let mut last = self.done;
        for &(at, begins) in &self.edges {
            if active >= 2 {
                self.total += at - last;
            }
            last = at;
            active = if begins { active + 1 } else { active.saturating_sub(1) };
        }
        self.done = now;
        self.total
    }

    /// As of the last update.
    pub fn total(&self) -> Duration {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, InterfaceKind, Profile};

    fn meter() -> Meter {
        Meter::new(Profile {
            inactivity: Duration::from_secs(2),
            ..Profile::silent("test", InterfaceKind::Other)
        })
    }

    #[test]
    fn only_the_time_that_two_share_counts() {
        let (mut a, mut b, mut c) = (meter(), meter(), meter());
        a.on_packet(Instant::from_secs(1), Direction::Up, 1); // 1..3
        b.on_packet(Instant::from_secs(2), Direction::Up, 1); // 2..4
        c.on_packet(Instant::from_millis(2500), Direction::Up, 1); // 2.5..4.5
        for meter in [&mut a, &mut b, &mut c] {
            meter.advance(Instant::from_secs(10));
        }
        let mut together = Together::new();
        assert_eq!(together.update([&a, &b]), Duration::from_secs(1));
        let mut together = Together::new();
        assert_eq!(together.update([&a, &b, &c]), Duration::from_secs(2), "three at once count once");
        assert_eq!(Together::new().update([&a]), Duration::ZERO);
        assert_eq!(Together::new().update([]), Duration::ZERO);
    }

    #[test]
    fn many_small_updates_give_what_one_gives() {
        let (mut a, mut b) = (meter(), meter());
        let mut often = Together::new();
        for step in 0..4_000_u64 {
            let now = Instant::from_millis(step * 10);
            if step % 317 == 0 {
                a.on_packet(now, Direction::Down, 100);
            }
            if step % 203 < 2 || step % 400 == 0 {
                b.on_packet(now, Direction::Down, 100);
            }
            a.advance(now);
            b.advance(now);
            often.update([&a, &b]);
        }
        let once = Together::new().update([&a, &b]);
        assert!(once > Duration::ZERO);
        assert_eq!(often.total(), once);
    }
}
