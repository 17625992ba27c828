//! `qoe`: cellular paths only when the others would miss what a player needs next.

use crate::wifi_first::preferred;
use crate::{Action, AppState, DeviceState, Policy};
use radio::InterfaceKind;
use units::{Duration, Time};

/// Marks cellular paths as backup while the others bring what a player waits for in time, and as regular while they
/// do not.
///
/// The idea is that of MP-DASH (Han, Qian, Ji, Gopalakrishnan, CoNEXT 2016): a segment has a deadline, and the
/// preferred paths alone may carry it as long as they meet that. Here the deadline is when the player's buffer has only
/// [a margin](Self::new) left, or half of what it holds where that is less; and what the preferred paths carry is taken
/// for the lower of two averages of what they brought while the player waited for data: a short one, which follows a
/// link that weakens at once, and a longer one, which does not trust a link that has just become better.
///
/// Cellular paths help too while there is no picture: at the start, and in a stall. They stop once the preferred
/// paths meet the deadline with [some time to spare](Self::RELIEF). Of an application that tells nothing this policy
/// knows nothing, and leaves every path in use.
#[derive(Debug, Clone)]
pub struct Qoe {
    /// Without a path to prefer there is nothing to be backup for.
    possible: bool,
    margin: Duration,
    /// The last look: when, and what the preferred paths had received; only where the player waited for data then.
    seen: Option<(Time, u64)>,
    /// What the preferred paths bring, in bytes a second: shortly, and longer. Unknown at first.
    rates: Option<[f64; 2]>,
    /// Cellular paths help, and since when.
    helping: Option<Time>,
}

impl Qoe {
    /// How often the player is looked at.
    pub const INTERVAL: Duration = Duration::from_millis(100);
    /// What is to be left in the buffer when a segment comes, unless told otherwise.
    pub const MARGIN: Duration = Duration::from_secs(4);
    /// Cellular paths stop helping once the preferred ones meet a deadline in this part of the time.
    pub const RELIEF: f64 = 0.8;
    /// So long they help at least.
    const HOLD: Duration = Duration::from_millis(500);
    /// Time constants of the two averages, in seconds.
    const AVERAGES: [f64; 2] = [0.5, 4.0];

    /// For a device with `kinds`; `margin` is to be left in the buffer when a segment comes.
    pub fn new(margin: Duration, kinds: &[InterfaceKind]) -> Self {
        let possible = kinds.iter().any(|&kind| preferred(kind));
        Self { possible, margin, seen: None, rates: None, helping: None }
    }

    /// What the preferred paths are believed to bring, in bytes a second.
    fn rate(&self) -> Option<f64> {
        self.rates.map(|[short, long]| short.min(long))
    }

    /// Reads the counters.
    fn measure(&mut self, now: Time, state: &DeviceState, waits_for_data: bool) {
        let paths = state.paths.iter().filter(|path| preferred(path.kind));
        let bytes = paths.fold(0_u64, |sum, path| sum.saturating_add(path.bytes_down));
        if let Some((last, before)) = self.seen {
            let span = now.since(last);
            // Two looks at once, where a path has come or gone, say nothing of a rate.
            if span < Self::INTERVAL / 2 {
                return;
            }
            let seconds = span.as_secs_f64();
            let rate = bytes.saturating_sub(before) as f64 / seconds;
            let rates = self.rates.get_or_insert([rate; 2]);
            for (average, constant) in rates.iter_mut().zip(Self::AVERAGES) {
                *average += (rate - *average) * (seconds / (constant + seconds));
            }
        }
        self.seen = waits_for_data.then_some((now, bytes));
    }

    /// Whether the preferred paths would miss what the player needs, had they only this part of the time there is.
    fn late(&self, app: &AppState, buffer: Duration, part: f64) -> bool {
        let missing = app.missing.map_or(0, units::Bytes::get) as f64;
        let slack = buffer.saturating_sub(self.margin.min(buffer / 2)).as_secs_f64();
        missing > 0.0 && self.rate().is_none_or(|rate| missing > rate * slack * part)
    }

    /// Whether cellular paths are to help.
    fn helps(&self, now: Time, app: &AppState) -> bool {
        let Some(buffer) = app.buffer else { return true };
        if app.done {
            return false;
        }
        if buffer.is_zero() {
            return true;
        }
        match self.helping {
            None => self.late(app, buffer, 1.0),
            Some(since) => now.since(since) < Self::HOLD || self.late(app, buffer, Self::RELIEF),
        }
    }
}

impl Policy for Qoe {
    fn name(&self) -> &'static str {
        "qoe"
    }

    fn observe(&mut self, now: Time, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.possible {
            return;
        }
        let app = state.app.unwrap_or_default();
        self.measure(now, state, app.missing.is_some_and(|missing| missing.get() > 0));
        let relieved = state.paths.iter().any(|path| path.up && preferred(path.kind));
        let helps = !relieved || self.helps(now, &app);
        self.helping = if helps { Some(self.helping.unwrap_or(now)) } else { None };
        let wrong = state.paths.iter().enumerate().filter(|(_, p)| !preferred(p.kind) && p.backup == helps);
        actions.extend(wrong.map(|(path, _)| Action::SetBackup { path, backup: !helps }));
    }

    fn interval(&self) -> Option<Duration> {
        Some(Self::INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathState;
    use InterfaceKind::{Lte, Wifi};
    use proptest::prelude::*;
    use units::{Bitrate, Bytes};

    /// A player with so much in its buffer and so much to come, on a device whose Wi-Fi brings `mbps`.
    struct Device {
        policy: Qoe,
        state: DeviceState,
        now: Time,
    }

    impl Device {
        fn new() -> Self {
            let kinds = [Wifi, Lte];
            let paths = kinds.iter().map(|&kind| PathState::new(kind)).collect();
            let state = DeviceState { paths, app: None };
            Self { policy: Qoe::new(Qoe::MARGIN, &kinds), state, now: Time::ZERO }
        }

        fn tell(&mut self, buffer_s: f64, missing: u64) {
            self.state.app = Some(AppState {
                buffer: Some(Duration::from_secs_f64(buffer_s)),
                deadline: None,
                missing: Some(Bytes::new(missing)),
                bitrate: Some(Bitrate::from_mbps(8.0)),
                done: false,
            });
        }

        /// True where LTE is in use after so many looks, in which Wi-Fi brings so much.
        fn looks(&mut self, count: u32, mbps: f64) -> bool {
            for _ in 0..count {
                let mut actions = Vec::new();
                self.policy.observe(self.now, &self.state, &mut actions);
                for action in actions {
                    let Action::SetBackup { path, backup } = action else { panic!("{action:?}") };
                    assert_eq!(path, 1, "Wi-Fi stays in use");
                    self.state.paths[path].backup = backup;
                }
                self.now += Qoe::INTERVAL;
                self.state.paths[0].bytes_down += (mbps * 12_500.0) as u64;
            }
            !self.state.paths[1].backup
        }
    }

    #[test]
    fn without_a_word_of_the_application_every_path_is_used() {
        assert!(Device::new().looks(50, 1.0));
    }

    #[test]
    fn before_the_first_picture_and_in_a_stall_every_path_is_used() {
        let mut device = Device::new();
        device.tell(0.0, 1_000_000);
        assert!(device.looks(50, 100.0));
    }

    #[test]
    fn wifi_that_meets_the_deadline_carries_the_segment_alone() {
        let mut device = Device::new();
        device.tell(0.0, 1_000_000);
        assert!(device.looks(10, 16.0));
        device.tell(10.0, 1_000_000);
        assert!(!device.looks(10, 16.0));
        // A megabyte at 16 Mbit/s takes half a second. Of a small buffer half is margin.
        device.tell(1.1, 1_000_000);
        assert!(!device.looks(2, 16.0));
        device.tell(0.9, 1_000_000);
        assert!(device.looks(2, 16.0));
        // To stop, it has to be there in 0.8 of the time.
        device.tell(1.1, 1_000_000);
        assert!(device.looks(10, 16.0));
        device.tell(1.3, 1_000_000);
        assert!(!device.looks(2, 16.0));
    }

    #[test]
    fn wifi_that_weakens_is_helped_before_the_buffer_is_dry() {
        let mut device = Device::new();
        device.tell(20.0, 2_000_000);
        assert!(!device.looks(30, 16.0));
        // 2 MB at 1 Mbit/s take 16 s, and the buffer has as long to spare; a second later it has not.
        device.looks(30, 1.0);
        device.tell(19.0, 2_000_000);
        assert!(device.looks(1, 1.0));
    }

    #[test]
    fn a_player_that_has_all_needs_no_path() {
        let mut device = Device::new();
        device.tell(0.0, 1_000_000);
        assert!(device.looks(5, 1.0));
        let app = device.state.app.as_mut().unwrap();
        (app.done, app.missing) = (true, Some(Bytes::ZERO));
        assert!(!device.looks(5, 1.0));
    }

    #[test]
    fn where_wifi_is_gone_lte_is_used() {
        let mut device = Device::new();
        device.tell(30.0, 0);
        assert!(!device.looks(10, 16.0));
        device.state.paths[0].up = false;
        assert!(device.looks(1, 0.0));
    }

    proptest! {
        /// Whatever the counters and the player say: nothing but the cellular path's priority is touched, and
        /// with a dry buffer, or one that will be dry before the segment has come, it is in use.
        #[test]
        fn a_player_in_need_has_every_path(
            looks in proptest::collection::vec((0.0..30.0_f64, 0_u64..5_000_000, 0.0..100.0_f64), 1..60)
        ) {
            let mut device = Device::new();
            for (buffer, missing, mbps) in looks {
                device.tell(buffer, missing);
                let used = device.looks(1, mbps);
                let dry = device.state.app.unwrap().buffer.unwrap().is_zero();
                let rate = device.policy.rate().unwrap_or(0.0);
                if dry || missing as f64 > rate * buffer {
                    prop_assert!(used, "{missing} bytes at {rate} B/s, {buffer} s");
                }
            }
        }

        /// Asked again at the same moment, it asks for nothing more.
        #[test]
        fn actions_are_asked_for_once(buffer in 0.0..30.0_f64, missing in 0_u64..5_000_000) {
            let mut device = Device::new();
            device.tell(buffer, missing);
            device.looks(3, 5.0);
            let mut actions = Vec::new();
            device.policy.observe(device.now, &device.state, &mut actions);
            for action in actions.drain(..) {
                let Action::SetBackup { path, backup } = action else { panic!("{action:?}") };
                device.state.paths[path].backup = backup;
            }
            device.policy.observe(device.now, &device.state, &mut actions);
            prop_assert!(actions.is_empty());
        }
    }
}
