//! Time in which several radios were active at once.

use crate::Meter;
use units::{Duration, Instant};

/// Adds up the time in which two or more of a set of radios were active.
///
/// Radios share a processor and a power supply, so their joint power may differ from the sum of
/// each alone. A device model can charge a joint power for exactly this time.
///
/// Pass the same meters in the same order to each update. An update reads only the time since the
/// last one, up to the time that all meters have reached.
#[derive(Debug, Clone, Default)]
pub struct JointActivity {
    done: Instant,
    total: Duration,
    /// Index of the first span of each meter that may extend beyond `done`.
    cursors: Vec<usize>,
    edges: Vec<(Instant, bool)>,
}

impl JointActivity {
    /// Starts at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the time since the last update; returns the total time with two or more radios active.
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
            // A packet at the very end of the inactivity time may still extend a span that ended at
            // `now`.
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

    /// Returns the total time as of the last update.
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
    fn only_overlapping_activity_counts() {
        let (mut a, mut b, mut c) = (meter(), meter(), meter());
        a.on_packet(Instant::from_secs(1), Direction::Up, 1); // 1..3
        b.on_packet(Instant::from_secs(2), Direction::Up, 1); // 2..4
        c.on_packet(Instant::from_millis(2500), Direction::Up, 1); // 2.5..4.5
        for meter in [&mut a, &mut b, &mut c] {
            meter.advance(Instant::from_secs(10));
        }
        let mut joint = JointActivity::new();
        assert_eq!(joint.update([&a, &b]), Duration::from_secs(1));
        let mut joint = JointActivity::new();
        assert_eq!(joint.update([&a, &b, &c]), Duration::from_secs(2), "three radios at once count once");
        assert_eq!(JointActivity::new().update([&a]), Duration::ZERO);
        assert_eq!(JointActivity::new().update([]), Duration::ZERO);
    }

    #[test]
    fn small_updates_add_up_to_one_large_update() {
        let (mut a, mut b) = (meter(), meter());
        let mut often = JointActivity::new();
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
        let once = JointActivity::new().update([&a, &b]);
        assert!(once > Duration::ZERO);
        assert_eq!(often.total(), once);
    }
}
