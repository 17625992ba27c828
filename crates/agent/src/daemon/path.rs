//! State of one managed interface.

use crate::config::InterfaceRule;
use crate::energy::{Carried, Radio};
use linux::route::LinkStats;
use units::{Bitrate, Duration, Instant};

/// Averaging window of the rates.
const RATE_WINDOW: Duration = Duration::from_millis(500);
/// Minimum time between two switches to backup; the kernel's scheduler reacts no faster.
const SHORTEST_PERIOD: Duration = Duration::from_millis(500);

/// State of a managed interface.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) rule: usize,
    pub(super) radio: Radio,
    /// Last counters, with the interface index they belong to.
    last: Option<(u32, LinkStats)>,
    /// Bytes since the start of the agent, and since the previous sample.
    pub(super) down: u64,
    pub(super) up: u64,
    pub(super) lately: (u64, u64),
    pub(super) rate_down: Bitrate,
    pub(super) rate_up: Bitrate,
    /// The allowance is used up.
    pub(super) capped: bool,
    /// Remaining allowance when it was used up. It stays used up until more remains.
    pub(super) margin: u64,
    pub(super) switch: Switch,
    /// The warning on costly switching was logged.
    pub(super) told_costly: bool,
}

impl Path {
    pub(super) fn new(rule: usize, config: &InterfaceRule, backup: bool) -> Self {
        Self {
            rule,
            radio: Radio::new(config.profile.clone()),
            last: None,
            down: 0,
            up: 0,
            lately: (0, 0),
            rate_down: Bitrate::ZERO,
            rate_up: Bitrate::ZERO,
            capped: false,
            margin: 0,
            switch: Switch::new(backup),
            told_costly: false,
        }
    }

    /// Records a counter reading; `None` while the interface is absent.
    pub(super) fn look(&mut self, seen: Option<(u32, LinkStats)>, span: Duration, first: bool) {
        self.lately = (0, 0);
        if let Some((index, now)) = seen {
            self.lately = match self.last {
                Some((before, last))
                    if before == index && now.rx_bytes >= last.rx_bytes && now.tx_bytes >= last.tx_bytes =>
                {
                    (now.rx_bytes - last.rx_bytes, now.tx_bytes - last.tx_bytes)
                }
                // Traffic before the start of the agent does not count.
                None if first => (0, 0),
                // New interface, or its counters were reset.
                _ => (now.rx_bytes, now.tx_bytes),
            };
            self.last = seen;
        }
        self.down += self.lately.0;
        self.up += self.lately.1;
        let mean = |rate: Bitrate, bytes: u64| {
            let now = units::Bytes::new(bytes).per(span).as_bps() as f64;
            let weight = span.as_secs_f64() / RATE_WINDOW.max(span).as_secs_f64();
            let mean = rate.as_bps() as f64 + (now - rate.as_bps() as f64) * weight;
            // Less than a byte per second counts as zero.
            Bitrate::from_bps(if mean < 8.0 { 0 } else { mean as u64 })
        };
        if !span.is_zero() {
            self.rate_down = mean(self.rate_down, self.lately.0);
            self.rate_up = mean(self.rate_up, self.lately.1);
        }
    }

    /// Bytes of both directions since the previous sample.
    pub(super) fn carried(&self) -> u64 {
        self.lately.0 + self.lately.1
    }

    /// Interface index and counter, sum of both directions.
    pub(super) fn counters(&self) -> Option<(u32, u64)> {
        self.last.map(|(index, stats)| (index, stats.rx_bytes + stats.tx_bytes))
    }

    /// Passes the last sample to the radio model.
    pub(super) fn draw(&mut self, now: Instant, total: u64, paths: u64, elsewhere: f64) {
        let carried =
            Carried { down: self.lately.0, up: self.lately.1, total, paths, backup: self.switch.backup };
        self.radio.look(now, &carried, elsewhere);
    }
}

/// Backup flag with a minimum time between two changes in the same direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch {
    pub(super) backup: bool,
    /// Last change to regular, and to backup.
    became: [Option<Instant>; 2],
}

impl Switch {
    pub(super) const fn new(backup: bool) -> Self {
        Self { backup, became: [None; 2] }
    }

    /// Requests a value. It takes effect now, or on a later call after the minimum time.
    pub(super) fn set(&mut self, now: Instant, backup: bool) {
        let became = &mut self.became[usize::from(backup)];
        if self.backup == backup || became.is_some_and(|at| now.since(at) < SHORTEST_PERIOD) {
            return;
        }
        *became = Some(now);
        self.backup = backup;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stats(rx_bytes: u64, tx_bytes: u64) -> LinkStats {
        LinkStats { rx_bytes, tx_bytes, ..LinkStats::default() }
    }

    #[test]
    fn counters_that_begin_anew_are_counted_from_nothing() {
        let profile = std::sync::Arc::new(radio::Profile::silent("s", radio::InterfaceKind::Wifi));
        let rule = InterfaceRule { pattern: "w".to_owned(), profile, allowance: None };
        let mut path = Path::new(0, &rule, false);
        let tick = Duration::from_millis(500);
        path.look(Some((3, stats(1_000, 100))), Duration::ZERO, true);
        assert_eq!((path.down, path.up), (0, 0), "what was before the agent");
        path.look(Some((3, stats(1_500, 200))), tick, false);
        assert_eq!((path.down, path.up), (500, 100));
        path.look(None, tick, false);
        path.look(Some((9, stats(70, 7))), tick, false);
        assert_eq!((path.down, path.up), (570, 107), "another interface of the same name");
        path.look(Some((9, stats(20, 7))), tick, false);
        assert_eq!((path.down, path.up), (590, 114), "its driver began anew");
        assert_eq!(path.rate_down, Bitrate::from_bps(20 * 16));
        assert_eq!(path.counters(), Some((9, 27)));
    }

    proptest! {
        #[test]
        fn a_path_becomes_a_backup_no_more_than_twice_a_second(
            wishes in prop::collection::vec((0_u64..400, any::<bool>()), 0..200),
        ) {
            let mut switch = Switch::new(false);
            let (mut now, mut became) = (Instant::ZERO, Vec::new());
            for (span, wish) in wishes {
                now += Duration::from_millis(span);
                let before = switch.backup;
                switch.set(now, wish);
                if switch.backup && !before {
                    became.push(now);
                }
            }
            prop_assert!(became.windows(2).all(|two| two[1].since(two[0]) >= SHORTEST_PERIOD));
            // A request after the minimum time always takes effect.
            switch.set(now + SHORTEST_PERIOD, true);
            prop_assert!(switch.backup);
        }
    }
}
