//! Usage of all allowances, kept in the state directory.

use super::counters::CounterReading;
use super::trusted_clock::TrustedClock;
use super::usage_file::UsageFile;
use super::{Allowance, Usage, Zone};
use crate::Error;
use crate::config::InterfaceRule;
use crate::store::Store;
use std::rc::Rc;
use tracing::{info, warn};
use units::{Bytes, Duration, Instant};

/// File name in the state directory.
const FILE_NAME: &str = "allowances.json";
/// Minimum interval between writes. A power failure loses at most this much; after a crash of the
/// agent the kernel's counters supply the difference.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// Usage of every rule with an allowance.
#[derive(Debug)]
pub struct UsageStore {
    zone: Zone,
    /// Content of the file, up to date.
    file: UsageFile,
    clock: TrustedClock,
    /// There are unsaved changes.
    changed: bool,
    /// Time of the last attempt to save.
    saved: Option<Instant>,
    store: Option<Rc<Store>>,
}

impl UsageStore {
    /// Loads the stored usage. `wall` is the time in seconds since 1970 by the wall clock, `uptime`
    /// the time since boot.
    ///
    /// # Errors
    /// Fails when the file cannot be read. Invalid content is renamed and replaced.
    pub fn open(
        boot: &str,
        zone: Zone,
        store: Option<Rc<Store>>,
        (wall, uptime): (i64, i64),
    ) -> Result<Self, Error> {
        let kept = store.as_ref().map(|store| store.read(FILE_NAME)).transpose();
        let kept = kept.map_err(|error| Error::state(FILE_NAME, error))?.flatten();
        let mut file = match kept.map(|bytes| UsageFile::parse(&bytes, boot)) {
            Some(Ok(file)) => file,
            Some(Err(why)) => {
                warn!("cannot read the stored usage ({why}): counting restarts; the file was renamed");
                if let Some(store) = &store {
                    store.rename_unreadable(FILE_NAME);
                }
                UsageFile::default()
            }
            None => UsageFile::default(),
        };
        let (time, read_at) = file.clock;
        let clock = if file.boot == boot && time > 0 {
            TrustedClock::resumed(time, read_at).with_jump(file.jump, read_at, uptime)
        } else {
            TrustedClock::new(wall, uptime, time).with_jump_of_earlier_boot(file.jump, wall, uptime)
        };
        if file.boot != boot {
            file.forget_unseen();
        }
        file.enter_boot(boot);
        file.clock = (clock.time(uptime), uptime);
        file.jump = clock.unconfirmed_jump(uptime);
        Ok(Self { zone, file, clock, changed: false, saved: None, store })
    }

    /// Follows the rules of a configuration: a rule with a new pattern continues the usage of those
    /// that are gone, if it applies to their interfaces.
    pub fn follow_rules(&mut self, rules: &[InterfaceRule]) {
        self.changed |= self.file.follow_rules(rules);
    }

    /// Updates the time by the wall clock and the time since boot, both in seconds.
    pub fn update_clock(&mut self, wall: i64, uptime: i64) {
        self.file.clock = (self.clock.update(wall, uptime), uptime);
        self.file.jump = self.clock.unconfirmed_jump(uptime);
        self.changed |= self.file.jump.is_some();
    }

    /// Trusted time, in seconds since 1970.
    pub const fn now(&self) -> i64 {
        self.file.clock.0
    }

    /// Counts a counter reading of an interface for its rule.
    pub fn count(&mut self, rule: &InterfaceRule, name: &str, reading: CounterReading) {
        let carried = self.file.counters.record(name, reading);
        if carried.is_none() {
            // A crash before the first save would lose what the interface carried.
            self.saved = None;
        }
        if rule.allowance.is_none() {
            return;
        }
        self.file.usages.entry(rule.pattern.clone()).or_default();
        // First the period: traffic without agent counts in the present one.
        self.advance(rule);
        let Some(usage) = self.file.usages.get_mut(&rule.pattern) else { return };
        usage.interfaces.insert(name.to_owned());
        usage.used = usage.used.saturating_add(carried.unwrap_or(0));
        self.changed |= carried != Some(0);
    }

    /// Advances the usage of a rule to the present period.
    pub fn advance(&mut self, rule: &InterfaceRule) {
        let now = self.now();
        let usage = self.file.usages.get_mut(&rule.pattern);
        let Some((allowance, usage)) = rule.allowance.as_ref().zip(usage) else { return };
        let period = usage.period;
        if usage.advance(allowance, now, &self.zone, |at| self.clock.has_jumped_over(at)) {
            info!(interfaces = rule.pattern, "a new {} of the allowance starts", allowance.period.name());
        }
        self.changed |= usage.period != period;
    }

    /// Allowance and usage of a rule; `None` without an allowance.
    pub fn of<'a>(&'a self, rule: &'a InterfaceRule) -> Option<(&'a Allowance, &'a Usage)> {
        rule.allowance.as_ref().zip(self.file.usages.get(&rule.pattern))
    }

    /// Remaining allowance; `None` without a limit.
    pub fn remaining(&self, rule: &InterfaceRule) -> Option<Bytes> {
        self.of(rule).map(|(allowance, usage)| usage.remaining(allowance))
    }

    /// Start of the next period, in seconds since 1970.
    pub fn next_period(&self, rule: &InterfaceRule) -> Option<i64> {
        self.of(rule).map(|(allowance, usage)| allowance.period.next(usage.period, &self.zone))
    }

    /// Saves changes when the save interval has passed, or at once if `urgent`.
    ///
    /// # Errors
    /// Fails when the file cannot be written; the old one then remains, and the next attempt
    /// follows after the save interval. `None` when there was nothing to save yet.
    pub fn save(&mut self, now: Instant, urgent: bool) -> Option<Result<(), Error>> {
        let is_due = urgent || self.saved.is_none_or(|at| now.since(at) >= SAVE_INTERVAL);
        let store = self.store.as_ref().filter(|_| self.changed && is_due)?;
        self.saved = Some(now);
        let written =
            store.write(FILE_NAME, &self.file.to_bytes()).map_err(|error| Error::state(FILE_NAME, error));
        self.changed = written.is_err();
        Some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowance::counters::CounterBytes;
    use crate::allowance::{CapAction, Period};
    use policy::InterfaceKind;

    /// 28 November 2026, 00:00 UTC.
    const NOW: i64 = 1_795_824_000;
    const NOVEMBER: i64 = 1_793_491_200;
    const DECEMBER: i64 = NOVEMBER + 30 * 86_400;

    fn rule() -> InterfaceRule {
        let allowance = Allowance {
            data: Bytes::new(5_000_000),
            period: Period::Month { from: 1 },
            at_cap: CapAction::Close,
        };
        let pattern = "wwan*".to_owned();
        InterfaceRule { pattern, kind: InterfaceKind::Lte, profile: None, allowance: Some(allowance) }
    }

    fn reading(index: u32, bytes: u64) -> CounterReading {
        CounterReading { index, bytes: CounterBytes::Directions(bytes, 0) }
    }

    fn used(usage: &UsageStore) -> u64 {
        usage.of(&rule()).map_or(0, |(_, usage)| usage.used)
    }

    #[test]
    fn jump_of_the_clock_neither_loses_nor_resets_the_usage() {
        for jump in [3600, 4 * 86_400, 365 * 86_400, -3600, -365 * 86_400] {
            let mut usage = UsageStore::open("boot", Zone::default(), None, (NOW, 50)).unwrap();
            let mut sent = 0;
            // Every minute for three hours; the clock is wrong in the second half hour.
            for minute in 0..180 {
                let wrong = if (30..60).contains(&minute) { jump } else { 0 };
                usage.update_clock(NOW + 60 * minute + wrong, 50 + 60 * minute);
                usage.count(&rule(), "wwan0", reading(3, 1_000 + sent));
                assert_eq!(used(&usage), sent, "minute {minute} after a jump of {jump} s");
                sent += 10;
            }
        }
    }

    #[test]
    fn usage_survives_a_full_disk_and_a_restart_with_a_wrong_clock() {
        let folder = tempfile::tempdir().unwrap();
        let open = |wall, uptime| {
            let store = Rc::new(Store::lock(&folder.path().join("state")).unwrap());
            UsageStore::open("boot", Zone::default(), Some(store), (wall, uptime)).unwrap()
        };
        let mut usage = open(NOW, 50);
        usage.update_clock(NOW, 50);
        usage.count(&rule(), "wwan0", reading(3, 1_000));
        usage.count(&rule(), "wwan0", reading(3, 1_700));
        assert!(usage.save(Instant::ZERO, true).unwrap().is_ok());
        // A directory in place of the file that is written: as a full disk, without its size.
        let blocker = folder.path().join("state/allowances.json.new");
        std::fs::create_dir(&blocker).unwrap();
        usage.count(&rule(), "wwan0", reading(3, 1_900));
        assert!(usage.save(Instant::from_secs(1), true).unwrap().is_err());
        assert!(usage.save(Instant::from_secs(2), false).is_none(), "not at every sample");
        std::fs::remove_dir(&blocker).unwrap();
        drop(usage);
        let mut usage = open(NOW + 365 * 86_400, 60);
        usage.update_clock(NOW + 365 * 86_400, 60);
        usage.count(&rule(), "wwan0", reading(3, 2_000));
        assert_eq!(used(&usage), 1_000, "the kernel's counters supply the difference");
    }

    fn rule_of(pattern: &str) -> InterfaceRule {
        InterfaceRule { pattern: pattern.to_owned(), ..rule() }
    }

    #[test]
    fn changed_pattern_continues_the_usage_of_its_interfaces() {
        let mut usage = UsageStore::open("boot", Zone::default(), None, (NOW, 50)).unwrap();
        let (all, one, other) = (rule_of("wwan*"), rule_of("wwan0"), rule_of("wlan*"));
        let used = |usage: &UsageStore, rule| usage.of(rule).map(|(_, usage)| usage.used);
        usage.count(&all, "wwan0", reading(3, 1_000));
        usage.count(&all, "wwan0", reading(3, 1_700));
        usage.follow_rules(&[other.clone(), one.clone()]);
        usage.count(&one, "wwan0", reading(3, 2_000));
        assert_eq!((used(&usage, &one), used(&usage, &all)), (Some(1_000), None));
        // A pattern that nothing replaces stays stored.
        usage.follow_rules(&[other]);
        usage.follow_rules(std::slice::from_ref(&one));
        assert_eq!(used(&usage, &one), Some(1_000));
        // An earlier rule with a usage of its own applies to the interface.
        usage.follow_rules(&[one.clone(), all.clone()]);
        assert_eq!((used(&usage, &one), used(&usage, &all)), (Some(1_000), None));
        // Two rules become one.
        usage.count(&all, "wwan1", reading(4, 10));
        usage.count(&all, "wwan1", reading(4, 15));
        let both = rule_of("wwan?");
        usage.follow_rules(std::slice::from_ref(&both));
        assert_eq!(used(&usage, &both), Some(1_005));
    }

    /// A usage store with a state directory, sampled every ten seconds.
    struct Device {
        folder: tempfile::TempDir,
        usage: Option<UsageStore>,
        uptime: i64,
        bytes: u64,
    }

    impl Device {
        /// Boots with a clock that shows `wall`.
        fn boot(&mut self, boot: &str, wall: i64) {
            self.bytes = 0;
            self.restart(boot, &Zone::default(), (wall, 20));
        }

        fn restart(&mut self, boot: &str, zone: &Zone, (wall, uptime): (i64, i64)) {
            if let Some(mut usage) = self.usage.take() {
                assert!(usage.save(Instant::ZERO, true).is_none_or(|saved| saved.is_ok()));
            }
            let store = Rc::new(Store::lock(&self.folder.path().join("state")).unwrap());
            let usage = UsageStore::open(boot, zone.clone(), Some(store), (wall, uptime));
            (self.usage, self.uptime) = (Some(usage.unwrap()), uptime);
        }

        /// Runs for `seconds` with a clock that begins at `wall`; 100 bytes per sample.
        fn run(&mut self, wall: i64, seconds: i64) -> u64 {
            for second in (0..seconds).step_by(10) {
                self.bytes += 100;
                self.sample(wall + second, self.uptime + second);
            }
            self.uptime += seconds;
            self.used()
        }

        fn sample(&mut self, wall: i64, uptime: i64) {
            let usage = self.usage.as_mut().unwrap();
            usage.update_clock(wall, uptime);
            usage.count(&rule(), "wwan0", reading(3, self.bytes));
        }

        fn period(&self) -> i64 {
            self.usage.as_ref().unwrap().file.usages["wwan*"].period
        }

        fn used(&self) -> u64 {
            used(self.usage.as_ref().unwrap())
        }
    }

    /// A device that has used 9 GB in November.
    fn device_in_november() -> Device {
        let folder = tempfile::tempdir().unwrap();
        let mut device = Device { folder, usage: None, uptime: 0, bytes: 0 };
        device.boot("first", NOW);
        device.sample(NOW, 20);
        device.bytes = 9_000_000_000;
        device.sample(NOW + 60, 80);
        device.uptime = 80;
        device
    }

    #[test]
    fn clock_set_back_for_hours_and_corrected_keeps_the_usage() {
        for wrong in [NOW - 528 * 86_400, NOW - 32 * 86_400, NOW - 5 * 365 * 86_400] {
            let mut device = device_in_november();
            device.boot("second", wrong);
            assert_eq!(device.run(wrong, 4000), 9_000_040_000);
            assert_eq!(device.run(NOW + 5000, 4000), 9_000_080_000, "corrected");
            assert_eq!(device.period(), NOVEMBER);
            // The same again, without a boot.
            assert_eq!(device.run(wrong, 4000), 9_000_120_000, "again");
            assert_eq!(device.run(NOW + 13_000, 4000), 9_000_160_000, "corrected again");
        }
    }

    #[test]
    fn traffic_without_agent_counts_in_the_period_in_which_the_next_one_starts() {
        let mut device = device_in_november();
        device.bytes += 5_000;
        let days = 4 * 86_400;
        device.restart("first", &Zone::default(), (NOW + days, 20 + days));
        device.sample(NOW + days, 20 + days);
        assert_eq!((device.used(), device.period()), (5_000, DECEMBER));
        let mut device = device_in_november();
        device.boot("second", NOW + days);
        assert_eq!((device.run(NOW + days, 10), device.period()), (100, DECEMBER), "since boot");
    }

    #[test]
    fn clock_ahead_at_boot_is_corrected_at_once_without_loss() {
        let wrong = NOW + 400 * 86_400;
        let mut device = device_in_november();
        device.boot("second", wrong);
        assert_eq!(device.run(wrong, 600), 6_000);
        assert_eq!(device.run(NOW + 1_000, 10), 9_000_006_100);
        assert_eq!(device.period(), NOVEMBER);
        assert_eq!(device.run(wrong + 2_000, 3_000), 9_000_036_100, "ahead again");
        assert_eq!(device.run(NOW + 5_000, 4_000), 9_000_076_100, "and back");
    }

    #[test]
    fn clock_that_an_earlier_boot_set_ahead_is_corrected_by_short_boots() {
        let mut device = device_in_november();
        let wrong = NOW + 400 * 86_400;
        device.boot("ahead", wrong);
        device.run(wrong, 600);
        for (nth, period) in [false, false, true].into_iter().enumerate() {
            let wall = NOW + 1_000 + 2_000 * nth as i64;
            device.boot(&format!("boot {nth}"), wall);
            device.run(wall, 1_500);
            assert_eq!(device.period() == NOVEMBER, period, "boot {nth}");
        }
        assert_eq!(device.used(), 9_000_051_000);
    }

    #[test]
    fn allowance_of_a_device_without_a_battery_backed_clock_is_renewed() {
        let mut device = device_in_november();
        for day in 1..5 {
            let name = format!("boot {day}");
            let wrong = NOW - 400 * 86_400;
            device.boot(&name, wrong);
            device.run(wrong, 60);
            device.run(NOW + day * 86_400, 3_000);
        }
        assert_eq!((device.period(), device.used()), (DECEMBER, 2 * 30_600 - 600));
    }

    #[test]
    fn interface_that_was_absent_for_a_whole_boot_is_forgotten() {
        let mut device = device_in_november();
        let count = |device: &mut Device, rule: &InterfaceRule, name: &str| {
            device.usage.as_mut().unwrap().count(rule, name, reading(9, 10));
        };
        // Whether `wwan0` and `wwan1` are known.
        let known = |device: &Device| {
            let file = &device.usage.as_ref().unwrap().file;
            ["wwan0", "wwan1"]
                .map(|name| (file.counters.contains(name), file.usages["wwan*"].interfaces.contains(name)))
        };
        count(&mut device, &rule(), "wwan1");
        device.boot("second", NOW);
        assert_eq!(known(&device), [(true, true); 2]);
        device.run(NOW, 60);
        device.boot("third", NOW + 600);
        assert_eq!(known(&device), [(true, true), (false, false)]);
        // The last interface of a rule stays: a changed pattern takes over its usage.
        count(&mut device, &rule_of("x*"), "x0");
        device.boot("fourth", NOW + 1200);
        assert_eq!(known(&device)[0], (false, true));
    }

    #[test]
    fn counters_of_a_new_interface_are_saved_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Rc::new(Store::lock(&folder.path().join("state")).unwrap());
        let mut usage = UsageStore::open("boot", Zone::default(), Some(store), (NOW, 50)).unwrap();
        let saves = [("wwan0", 10, true), ("wwan0", 20, false), ("wwan1", 5, true), ("wwan1", 6, false)];
        for (nth, (name, bytes, saved)) in saves.into_iter().enumerate() {
            usage.count(&rule(), name, reading(if name == "wwan0" { 3 } else { 4 }, bytes));
            let now = Instant::ZERO + Duration::from_secs(nth as u64);
            assert_eq!(usage.save(now, false).is_some(), saved, "after {nth} s");
        }
    }

    #[test]
    fn period_of_an_absent_interface_advances() {
        let mut device = device_in_november();
        device.boot("second", DECEMBER);
        device.usage.as_mut().unwrap().advance(&rule());
        assert_eq!((device.period(), device.used()), (DECEMBER, 0));
        device.usage.as_mut().unwrap().advance(&rule_of("x*"));
        assert_eq!(device.usage.as_ref().unwrap().file.usages.len(), 1, "a rule without usage");
    }

    #[test]
    fn interface_renamed_to_a_name_of_another_rule_is_counted_once() {
        let mut usage = UsageStore::open("boot", Zone::default(), None, (NOW, 50)).unwrap();
        let wifi = rule_of("wlan*");
        usage.count(&rule(), "wwan0", reading(2, 10));
        usage.count(&wifi, "wlan0", reading(3, 1_000));
        usage.count(&wifi, "wlan0", reading(3, 1_500));
        usage.count(&rule(), "wwan0", reading(3, 1_600));
        assert_eq!(used(&usage), 100);
        assert_eq!(usage.of(&wifi).unwrap().1.used, 500);
    }
}
