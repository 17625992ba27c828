//! State of one managed interface.

use crate::allowance::cap_gate::CapGate;
use crate::allowance::counters::{CounterBytes, CounterReading, increment};
use crate::config::InterfaceRule;
use crate::energy::{Carried, Radio};
use crate::host::ManagedInterface;
use linux::route::LinkStats;
use units::{Bitrate, Duration, Instant};

/// Averaging window of the rates.
const RATE_WINDOW: Duration = Duration::from_millis(500);
/// Minimum time between two switches to backup; the kernel's scheduler reacts no faster.
const MIN_SWITCH_INTERVAL: Duration = Duration::from_millis(500);

/// State of a managed interface.
#[derive(Debug)]
pub(super) struct InterfaceState {
    pub(super) name: String,
    pub(super) rule: usize,
    /// `None` without a power profile.
    pub(super) radio: Option<Radio>,
    /// Last counters, with the interface index they belong to.
    last_counters: Option<(u32, LinkStats)>,
    /// Bytes since the first reading.
    pub(super) down: u64,
    pub(super) up: u64,
    /// Bytes since the previous sample, down and up.
    pub(super) delta: [u64; 2],
    pub(super) rate_down: Bitrate,
    pub(super) rate_up: Bitrate,
    /// State of the allowance.
    pub(super) cap: CapGate,
    pub(super) backup_flag: BackupFlag,
    /// The warning on costly switching was logged.
    pub(super) warned_costly: bool,
}

impl InterfaceState {
    pub(super) fn new(one: &ManagedInterface, config: &InterfaceRule, backup: bool) -> Self {
        Self {
            name: one.name.clone(),
            rule: one.rule,
            radio: config.profile.clone().map(Radio::new),
            last_counters: None,
            down: 0,
            up: 0,
            delta: [0; 2],
            rate_down: Bitrate::ZERO,
            rate_up: Bitrate::ZERO,
            cap: CapGate::default(),
            backup_flag: BackupFlag::new(backup),
            warned_costly: false,
        }
    }

    /// Records a counter reading; `None` while the interface is absent.
    pub(super) fn record_sample(&mut self, seen: Option<(u32, LinkStats)>, mut span: Duration) {
        self.delta = [0; 2];
        if let Some((index, now)) = seen {
            self.delta = match self.last_counters {
                Some((before, last)) if before == index => {
                    [increment(last.rx_bytes, now.rx_bytes), increment(last.tx_bytes, now.tx_bytes)]
                }
                // Traffic before the first reading does not count.
                None => [0; 2],
                // New interface: its traffic may be older than the last sample.
                Some(_) => {
                    span = Duration::ZERO;
                    [now.rx_bytes, now.tx_bytes]
                }
            };
            self.last_counters = seen;
        }
        self.down += self.delta[0];
        self.up += self.delta[1];
        let mean = |rate: Bitrate, bytes: u64| {
            let now = units::Bytes::new(bytes).per(span).as_bps() as f64;
            let weight = span.as_secs_f64() / RATE_WINDOW.max(span).as_secs_f64();
            let mean = rate.as_bps() as f64 + (now - rate.as_bps() as f64) * weight;
            // Less than a byte per second counts as zero.
            Bitrate::from_bps(if mean < 8.0 { 0 } else { mean as u64 })
        };
        if !span.is_zero() {
            self.rate_down = mean(self.rate_down, self.delta[0]);
            self.rate_up = mean(self.rate_up, self.delta[1]);
        }
    }

    /// Takes over the counters of an interface that was renamed, and keeps its index.
    pub(super) fn adopt_counters(&mut self, other: &mut Self) {
        self.last_counters = other.last_counters.take();
    }

    /// Last counter reading.
    pub(super) fn counters(&self) -> Option<CounterReading> {
        let (index, stats) = self.last_counters?;
        Some(CounterReading { index, bytes: CounterBytes::Directions(stats.rx_bytes, stats.tx_bytes) })
    }

    /// Passes the last sample to the radio model.
    pub(super) fn update_radio(&mut self, now: Instant, total: [u64; 2], paths: u64, elsewhere: [f64; 2]) {
        let carried = Carried { bytes: self.delta, total, paths, backup: self.backup_flag.backup };
        if let Some(radio) = &mut self.radio {
            radio.update(now, &carried, elsewhere);
        }
    }
}

/// Backup flag with a minimum time between two changes in the same direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackupFlag {
    pub(super) backup: bool,
    /// Last change to regular, and to backup.
    last_change: [Option<Instant>; 2],
}

impl BackupFlag {
    pub(super) const fn new(backup: bool) -> Self {
        Self { backup, last_change: [None; 2] }
    }

    /// Requests a value. It takes effect now, or on a later call after the minimum time.
    pub(super) fn set(&mut self, now: Instant, backup: bool) {
        let last_change = &mut self.last_change[usize::from(backup)];
        if self.backup == backup || last_change.is_some_and(|at| now.since(at) < MIN_SWITCH_INTERVAL) {
            return;
        }
        *last_change = Some(now);
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

    fn path() -> InterfaceState {
        let kind = radio::InterfaceKind::Wifi;
        let rule = InterfaceRule { pattern: "w".to_owned(), kind, profile: None, allowance: None };
        InterfaceState::new(&ManagedInterface::absent("w", 0), &rule, false)
    }

    #[test]
    fn reset_counters_count_from_zero() {
        let mut path = path();
        let tick = Duration::from_millis(500);
        path.record_sample(Some((3, stats(1_000, 100))), Duration::ZERO);
        assert_eq!((path.down, path.up), (0, 0), "traffic before the agent");
        path.record_sample(Some((3, stats(1_500, 200))), tick);
        assert_eq!((path.down, path.up), (500, 100));
        path.record_sample(None, tick);
        path.record_sample(Some((9, stats(70, 7))), tick);
        assert_eq!((path.down, path.up), (570, 107), "new interface of the same name");
        assert_eq!(path.rate_down, Bitrate::ZERO, "its bytes are no rate");
        path.record_sample(Some((9, stats(20, 7))), tick);
        assert_eq!((path.down, path.up), (590, 107), "reset by the driver");
        assert_eq!(path.rate_down, Bitrate::from_bps(20 * 16));
        assert_eq!(
            path.counters(),
            Some(CounterReading { index: 9, bytes: CounterBytes::Directions(20, 7) })
        );
    }

    #[test]
    fn one_reset_counter_leaves_the_other_direction_alone() {
        let mut path = path();
        path.record_sample(Some((3, stats(4_000_000_000, 1_000_000_000))), Duration::ZERO);
        path.record_sample(Some((3, stats(100, 1_000_000_500))), Duration::from_millis(500));
        assert_eq!((path.down, path.up), (100, 500));
    }

    #[test]
    fn traffic_before_an_interface_is_managed_does_not_count() {
        let mut path = path();
        path.record_sample(None, Duration::ZERO);
        path.record_sample(Some((3, stats(4_000_000_000, 1_000_000_000))), Duration::ZERO);
        assert_eq!((path.down, path.up), (0, 0));
    }

    proptest! {
        #[test]
        fn interface_becomes_backup_at_most_twice_per_second(
            requests in prop::collection::vec((0_u64..400, any::<bool>()), 0..200),
        ) {
            let mut switch = BackupFlag::new(false);
            let (mut now, mut last_change) = (Instant::ZERO, Vec::new());
            for (span, requested) in requests {
                now += Duration::from_millis(span);
                let before = switch.backup;
                switch.set(now, requested);
                if switch.backup && !before {
                    last_change.push(now);
                }
            }
            prop_assert!(last_change.windows(2).all(|two| two[1].since(two[0]) >= MIN_SWITCH_INTERVAL));
            // A request after the minimum time always takes effect.
            switch.set(now + MIN_SWITCH_INTERVAL, true);
            prop_assert!(switch.backup);
        }
    }
}
