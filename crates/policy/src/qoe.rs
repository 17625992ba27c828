//! `qoe`: cellular paths only when the others would miss what a player needs next.

use crate::wifi_first::preferred;
use crate::{Action, AppState, DeviceState, Policy};
use radio::InterfaceKind;
use units::{Duration, Instant};

/// Marks cellular paths as backup while the others bring what a player waits for in time, and as regular once it is
/// time that they help.
///
/// The idea is that of MP-DASH (Han, Qian, Ji, Gopalakrishnan, CoNEXT 2016): a segment has a deadline, and the
/// preferred paths alone may carry it as long as they meet that. Of the deadline a guard is kept free. A segment that
/// the preferred paths would miss is no reason yet: as long as all paths together would still bring it, the buffer
/// is there to be used, and the preferred paths may become better. So cellular paths help when
///
/// ```text
/// missing / preferred > buffer - near,   and   missing / (preferred + TRUST x cellular) > buffer - guard
/// ```
///
/// with `preferred` the lower of a short and a longer average of what the preferred paths brought while the player
/// waited for data, and `cellular` what the cellular paths brought since they began to help, this time or the last: their
/// windows are small after a rest, and what they brought until they had grown counts. They stop when either no longer
/// holds by some measure. Preferred paths that bring less than the video needs meet no deadline: what is left of a
/// segment may be little, but the time that they take for it is missing for the next.
///
/// Cellular paths help too while there is no picture, at the start and in a stall, and from there on, or from a buffer
/// that was low, until it would outlast a weakness of the preferred paths. Of an application that tells nothing this
/// policy knows nothing, and leaves every path in use.
#[derive(Debug, Clone)]
pub struct Qoe {
    /// Without a path to prefer there is nothing to be backup for.
    possible: bool,
    guard: Guard,
    preferred: Preferred,
    cellular: Cellular,
    /// Cellular paths help, and since when.
    helping: Option<Instant>,
}

impl Qoe {
    /// How often the player is looked at.
    pub const INTERVAL: Duration = Duration::from_millis(100);
    /// What is to be left in the buffer when a segment comes, where the preferred paths bring nothing at all, until
    /// experience says otherwise, and unless told otherwise.
    pub const MARGIN: Duration = Duration::from_secs(8);
    /// This part of what cellular paths brought is believed to come again.
    const TRUST: f64 = 0.5;
    /// Cellular paths stop helping once the preferred ones meet a deadline in this part of the time.
    const RELIEF: f64 = 0.8;
    /// They also stop once the segment would come so much earlier than it has to, in seconds.
    const EASE: f64 = 1.5;
    /// So long they help at least.
    const HOLD: Duration = Duration::from_millis(300);

    /// For a device with `kinds`; `margin` is to be left in the buffer when a segment comes while the preferred paths
    /// bring nothing, until experience says otherwise.
    pub fn new(margin: Duration, kinds: &[InterfaceKind]) -> Self {
        Self {
            possible: kinds.iter().any(|&kind| preferred(kind)),
            guard: Guard::new(margin.as_secs_f64()),
            preferred: Preferred::default(),
            cellular: Cellular::default(),
            helping: None,
        }
    }

    /// Whether cellular paths are to help.
    fn helps(&self, now: Instant, app: &AppState) -> bool {
        let Some(buffer) = app.buffer else { return true };
        if app.done {
            return false;
        }
        if buffer.is_zero() || self.guard.poor {
            return true;
        }
        let missing = app.missing.map_or(0.0, |missing| missing.get() as f64);
        if missing <= 0.0 {
            return false;
        }
        // Before anything has come nobody knows.
        let Some([short, long]) = self.preferred.rates else { return true };
        let rate = short.min(long);
        let needed = app.bitrate.map_or(0.0, |rate| rate.as_bps() as f64 / 8.0);
        let buffer = buffer.as_secs_f64();
        let [near, guard] = self.guard.seconds(buffer, if needed > 0.0 { short / needed } else { 0.0 });
        let alone = if short < needed { f64::INFINITY } else { missing / rate };
        let together = missing / (rate + Self::TRUST * self.cellular.rate.unwrap_or(0.0));
        match self.helping {
            // Until the next look it would be too late.
            None => alone > buffer - near && together > buffer - guard - Self::INTERVAL.as_secs_f64(),
            Some(since) if now.since(since) < Self::HOLD => true,
            Some(_) => alone > Self::RELIEF * (buffer - near) && together > buffer - guard - Self::EASE,
        }
    }
}

/// What is kept free of a deadline.
///
/// When the preferred paths bring what the video needs, that is a little: what they bring may become less until the
/// next look, and a change takes a round trip. When they bring less it is more, up to the margin: what is under
/// way on a path that has stopped is sent again elsewhere only after a timeout, and cellular paths begin with small
/// windows. How long all that takes, only these paths can tell, so the margin is where learning begins. Each time that
/// the buffer nearly ran dry adds to it, and to what is kept free in any case: where cellular paths are weak at times
/// as well, nothing helps but a full buffer. Where cellular paths helped, and there was something left at the worst moment
/// until the buffer was as full as the margin again, so much need not have been kept free: half of it is not, from then on.
/// That is learned once a dip, however often they helped in it, since one weakness of the preferred paths can be many
/// helps; and only of dips into which the buffer went with its margin, since another one says nothing of it.
#[derive(Debug, Clone)]
struct Guard {
    /// All in seconds; what was learned may be less than nothing.
    margin: f64,
    more: f64,
    /// The buffer at the last look.
    buffer: f64,
    /// It has held the margin, and no cellular path has helped since.
    full: bool,
    dip: Option<Dip>,
    /// Since the beginning, or since it was low, it has not held what is kept free where the preferred paths bring
    /// nothing, nor has the player rested for [`RESTS`](Self::RESTS) looks.
    poor: bool,
    /// So many looks the player has wanted nothing, with something in the buffer.
    rests: u32,
}

/// A time from a full buffer on in which cellular paths helped, until it is full again.
#[derive(Debug, Clone, Copy)]
struct Dip {
    /// The lowest buffer, in seconds.
    low: f64,
    /// What cellular paths had received when they began to help.
    before: u64,
}

impl Guard {
    /// What is kept free in any case: so much of the buffer, and this at most, in seconds.
    const NEAR: f64 = 0.5;
    const MOST_NEAR: f64 = 4.0;
    /// When so many seconds were added by experience, it is all of the buffer.
    const ALL: f64 = 4.0;
    /// A player that rests so many looks has no room for more.
    const RESTS: u32 = 3;
    /// A buffer below this nearly ran dry, in seconds.
    const DRY: f64 = 0.5;
    /// What that adds, and the most it can come to, in seconds.
    const LESSON: f64 = 2.0;
    const MOST: f64 = 6.0;
    /// This part of what was left of the buffer in a dip is not kept free any more.
    const UNUSED: f64 = 0.5;
    /// So much is kept free whatever was learned, in seconds: a retransmission timeout, and the first windows. A
    /// buffer below this is low.
    const LEAST: f64 = 2.0;

    fn new(margin: f64) -> Self {
        Self { margin, more: 0.0, buffer: 0.0, full: false, dip: None, poor: true, rests: 0 }
    }

    /// [`LEAST`](Self::LEAST), where the margin is no less.
    const fn least(&self) -> f64 {
        Self::LEAST.min(self.margin)
    }

    /// What is kept free where the preferred paths bring nothing.
    const fn far(&self) -> f64 {
        self.margin + self.more
    }

    /// What is kept free in any case, and what is with preferred paths that bring this part of what the video
    /// needs.
    fn seconds(&self, buffer: f64, part: f64) -> [f64; 2] {
        let more = self.more.max(0.0);
        let part_near = (Self::NEAR + (1.0 - Self::NEAR) * more / Self::ALL).min(1.0);
        let near = (Self::MOST_NEAR + more).min(part_near * buffer);
        let far = self.far().max(near);
        [near, near + (far - near) * (1.0 - part.min(1.0))]
    }

    /// Looks whether the buffer nearly ran dry, and what was left of it once it is full again. Cellular paths have
    /// received so much, and help or do not.
    fn learn(&mut self, app: &AppState, cellular: u64, helping: bool) {
        let Some(buffer) = app.buffer.map(Duration::as_secs_f64) else { return };
        let falls_below = |level| !app.done && buffer < level && self.buffer >= level;
        let runs_dry = falls_below(Self::DRY);
        if runs_dry {
            self.more = (self.more + Self::LESSON).min(Self::MOST);
        }
        if runs_dry || falls_below(self.least()) {
            self.poor = true;
        }
        let rests = buffer > 0.0 && app.missing.is_none_or(|missing| missing.get() == 0);
        self.rests = if rests { self.rests.saturating_add(1) } else { 0 };
        if buffer >= self.far() || self.rests >= Self::RESTS {
            self.poor = false;
        }
        self.buffer = buffer;
        if helping && self.full {
            self.full = false;
            self.dip = Some(Dip { low: buffer, before: cellular });
        }
        if let Some(dip) = &mut self.dip {
            dip.low = dip.low.min(buffer);
        }
        if !helping && !app.done && buffer >= self.margin {
            self.full = true;
            // A help that brought nothing is no experience with cellular paths.
            if let Some(dip) = self.dip.take().filter(|dip| cellular > dip.before) {
                self.more = (self.more - Self::UNUSED * dip.low).max(self.least() - self.margin);
            }
        }
    }
}

/// What paths have received between two looks.
#[derive(Debug, Clone, Default)]
struct Counter {
    /// The last look at which something was waited for: when, and what had been received.
    seen: Option<(Instant, u64)>,
}

impl Counter {
    /// Bytes and seconds since the last look, if something was waited for all the time.
    fn look(&mut self, now: Instant, bytes: u64, waits: bool) -> Option<(f64, f64)> {
        let since = self.seen.map(|(last, before)| (bytes.saturating_sub(before) as f64, now.since(last)));
        // Two looks at once, where a path has come or gone, say nothing of a rate.
        if since.is_some_and(|(_, span)| span < Qoe::INTERVAL / 2) {
            return None;
        }
        self.seen = waits.then_some((now, bytes));
        since.map(|(bytes, span)| (bytes, span.as_secs_f64()))
    }
}

/// What the preferred paths bring.
#[derive(Debug, Clone, Default)]
struct Preferred {
    counter: Counter,
    /// In bytes a second: shortly, and longer. Unknown at first.
    rates: Option<[f64; 2]>,
}

impl Preferred {
    /// Time constants of the two averages, in seconds: one follows a link that weakens at once, the other does not
    /// trust one that has just become better.
    const AVERAGES: [f64; 2] = [0.5, 4.0];

    fn look(&mut self, now: Instant, bytes: u64, waits: bool) {
        let Some((bytes, seconds)) = self.counter.look(now, bytes, waits) else { return };
        let rate = bytes / seconds;
        let rates = self.rates.get_or_insert([rate; 2]);
        for (average, constant) in rates.iter_mut().zip(Self::AVERAGES) {
            *average += (rate - *average) * (seconds / (constant + seconds));
        }
    }
}

/// What cellular paths bring when they help.
#[derive(Debug, Clone, Default)]
struct Cellular {
    counter: Counter,
    /// This time: bytes, and seconds in which they were waited for.
    bytes: f64,
    seconds: f64,
    /// In bytes a second, from the moment on at which they began; unknown at first.
    rate: Option<f64>,
}

impl Cellular {
    /// After so many seconds what they bring says something.
    const ENOUGH: f64 = 0.4;

    fn look(&mut self, now: Instant, bytes: u64, waits: bool, helping: bool) {
        let since = self.counter.look(now, bytes, waits);
        if !helping {
            (self.bytes, self.seconds) = (0.0, 0.0);
        } else if let Some((bytes, seconds)) = since {
            self.bytes += bytes;
            self.seconds += seconds;
            if self.seconds >= Self::ENOUGH {
                self.rate = Some(self.bytes / self.seconds);
            }
        }
    }
}

impl Policy for Qoe {
    fn name(&self) -> &'static str {
        "qoe"
    }

    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        if !self.possible {
            return;
        }
        let app = state.app.unwrap_or_default();
        let waits = app.missing.is_some_and(|missing| missing.get() > 0);
        let bytes = |of: bool| {
            let paths = state.paths.iter().filter(|path| preferred(path.kind) == of);
            paths.fold(0_u64, |sum, path| sum.saturating_add(path.bytes_down))
        };
        self.preferred.look(now, bytes(true), waits);
        self.cellular.look(now, bytes(false), waits, self.helping.is_some());
        self.guard.learn(&app, bytes(false), self.helping.is_some());
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
        now: Instant,
    }

    impl Device {
        fn new() -> Self {
            let kinds = [Wifi, Lte];
            let paths = kinds.iter().map(|&kind| PathState::new(kind)).collect();
            let state = DeviceState { paths, app: None };
            Self { policy: Qoe::new(Qoe::MARGIN, &kinds), state, now: Instant::ZERO }
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

        /// True where LTE is in use after so many looks, in which Wi-Fi brings so much, and LTE so much while it is in
        /// use.
        fn looks(&mut self, count: u32, mbps: f64, lte_mbps: f64) -> bool {
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
                if !self.state.paths[1].backup {
                    self.state.paths[1].bytes_down += (lte_mbps * 12_500.0) as u64;
                }
            }
            !self.state.paths[1].backup
        }

        /// After a start over Wi-Fi of 16 Mbit/s and LTE of `lte_mbps`, with a full buffer.
        fn playing(lte_mbps: f64) -> Self {
            let mut device = Self::new();
            device.tell(0.0, 2_000_000);
            assert!(device.looks(20, 16.0, lte_mbps));
            device.tell(20.0, 2_000_000);
            assert!(!device.looks(10, 16.0, lte_mbps));
            device
        }

        /// The buffer at which LTE begins to help while it drains, with 2 MB to come and Wi-Fi of `mbps`.
        fn helped_at(&mut self, mbps: f64) -> Option<f64> {
            (0..200).map(|tenth| 20.0 - f64::from(tenth) * 0.1).find(|&buffer| {
                self.tell(buffer, 2_000_000);
                self.looks(1, mbps, 0.0)
            })
        }
    }

    #[test]
    fn without_a_word_of_the_application_every_path_is_used() {
        assert!(Device::new().looks(50, 1.0, 1.0));
    }

    #[test]
    fn before_the_first_picture_and_in_a_stall_every_path_is_used() {
        let mut device = Device::new();
        device.tell(0.0, 1_000_000);
        assert!(device.looks(50, 100.0, 1.0));
    }

    #[test]
    fn wifi_that_meets_the_deadline_carries_the_segment_alone() {
        let mut device = Device::playing(0.0);
        // Three megabytes at 16 Mbit/s take a second and a half. Of a small buffer half is kept free.
        device.tell(3.1, 3_000_000);
        assert!(!device.looks(5, 16.0, 0.0));
        device.tell(2.9, 3_000_000);
        assert!(device.looks(5, 16.0, 0.0));
        // To stop, it has to be there in 0.8 of the time.
        device.tell(3.6, 3_000_000);
        assert!(device.looks(10, 16.0, 0.0));
        device.tell(3.9, 3_000_000);
        assert!(!device.looks(2, 16.0, 0.0));
    }

    #[test]
    fn the_buffer_is_used_as_long_as_both_together_would_make_it() {
        // 2 MB over Wi-Fi of 1 Mbit/s and LTE of 32 Mbit/s, half of which is believed, take 0.9 s; 7.5 s are kept free.
        let fast = Device::playing(32.0).helped_at(1.0).unwrap();
        assert!((8.0..9.5).contains(&fast), "{fast}");
        // With LTE of 4 Mbit/s they take 5.3 s; and LTE that has brought nothing is no help to wait for.
        let slow = Device::playing(4.0).helped_at(1.0).unwrap();
        assert!((12.0..14.0).contains(&slow), "{slow}");
        let unknown = Device::playing(0.0).helped_at(1.0).unwrap();
        assert!(unknown > 15.0, "{unknown}");
        // Wi-Fi that brings what the video needs is waited for longest.
        let near = Device::playing(32.0).helped_at(8.0).unwrap();
        assert!(near < fast - 0.5, "{near}");
    }

    #[test]
    fn a_small_buffer_is_filled_over_every_path() {
        let mut device = Device::new();
        device.tell(0.0, 1_000_000);
        assert!(device.looks(20, 16.0, 16.0));
        device.tell(7.9, 100_000);
        assert!(device.looks(50, 16.0, 16.0), "Wi-Fi meets the deadline, and may be weak before the next");
        device.tell(8.1, 100_000);
        assert!(!device.looks(5, 16.0, 0.0));
        device.tell(3.0, 100_000);
        assert!(!device.looks(5, 16.0, 0.0), "it has been full enough");
        // Until it is low.
        device.tell(1.9, 100_000);
        assert!(device.looks(5, 16.0, 16.0));
        device.tell(3.0, 100_000);
        assert!(device.looks(5, 16.0, 16.0));
        // A player that has no room for more rests.
        device.tell(1.8, 0);
        assert!(!device.looks(5, 16.0, 0.0));
        device.tell(1.8, 100_000);
        assert!(!device.looks(5, 16.0, 0.0));
    }

    #[test]
    fn little_that_is_left_of_a_segment_is_no_reason_to_wait_for_weak_wifi() {
        let mut device = Device::playing(32.0);
        device.tell(6.0, 2_000_000);
        assert!(device.looks(20, 1.0, 32.0));
        // Wi-Fi of 1 Mbit/s takes a second for it, of six.
        device.tell(6.0, 125_000);
        assert!(device.looks(5, 1.0, 32.0));
        device.tell(6.0, 0);
        assert!(!device.looks(1, 1.0, 32.0));
        device.tell(6.0, 125_000);
        assert!(device.looks(1, 1.0, 32.0));
    }

    #[test]
    fn who_ran_dry_twice_keeps_the_whole_buffer_free() {
        let mut device = Device::playing(32.0);
        for _ in 0..2 {
            device.tell(7.0, 2_000_000);
            assert!(!device.looks(50, 16.0, 0.0));
            device.tell(0.3, 2_000_000);
            assert!(device.looks(5, 16.0, 32.0));
            device.tell(4.5, 0);
            assert!(!device.looks(5, 16.0, 0.0));
        }
        device.tell(7.0, 2_000_000);
        assert!(device.looks(5, 16.0, 32.0));
    }

    #[test]
    fn a_buffer_that_nearly_ran_dry_is_a_lesson() {
        let mut device = Device::playing(32.0);
        let before = device.helped_at(1.0).unwrap();
        for _ in 0..2 {
            device.tell(0.4, 2_000_000);
            device.looks(3, 1.0, 32.0);
            device.tell(20.0, 2_000_000);
            assert!(!device.looks(10, 16.0, 32.0));
        }
        let after = device.helped_at(1.0).unwrap();
        assert!((3.0..5.0).contains(&(after - before)), "{before}, {after}");
    }

    #[test]
    fn what_was_left_of_the_buffer_in_a_dip_is_not_kept_free_again() {
        let mut device = Device::playing(32.0);
        let before = device.helped_at(1.0).unwrap();
        // It helps over and over in a dip; 5 s are left at worst.
        let dip = |device: &mut Device, lte_mbps| {
            for buffer in [7.0, 5.0, 7.0, 5.0] {
                device.tell(buffer, 20_000_000);
                assert!(device.looks(5, 1.0, lte_mbps));
                device.tell(buffer, 0);
                assert!(!device.looks(1, 1.0, lte_mbps));
            }
            device.tell(20.0, 2_000_000);
            assert!(!device.looks(20, 16.0, lte_mbps));
        };
        dip(&mut device, 32.0);
        assert_eq!(device.policy.guard.more, -2.5, "half of it, once");
        let after = device.helped_at(1.0).unwrap();
        assert!((1.5..3.0).contains(&(before - after)), "{before}, {after}");
        for _ in 0..5 {
            dip(&mut device, 32.0);
        }
        assert_eq!(device.policy.guard.more, Guard::LEAST - 8.0, "some is kept free always");
        // LTE that brought nothing has not shown that less will do.
        let mut device = Device::playing(32.0);
        dip(&mut device, 0.0);
        assert_eq!(device.policy.guard.more, 0.0);
    }

    #[test]
    fn a_buffer_that_never_held_the_margin_says_nothing_of_it() {
        let mut device = Device::new();
        device.tell(0.0, 2_000_000);
        assert!(device.looks(20, 16.0, 32.0));
        for _ in 0..5 {
            device.tell(7.5, 2_000_000);
            device.looks(20, 16.0, 32.0);
            device.tell(5.0, 4_000_000);
            assert!(device.looks(20, 1.0, 32.0));
        }
        assert_eq!(device.policy.guard.more, 0.0);
    }

    #[test]
    fn wifi_that_weakens_with_a_full_buffer_is_waited_for() {
        let mut device = Device::playing(32.0);
        assert!(!device.looks(50, 1.0, 0.0));
    }

    #[test]
    fn a_player_that_has_all_needs_no_path() {
        let mut device = Device::new();
        device.tell(0.0, 1_000_000);
        assert!(device.looks(5, 1.0, 1.0));
        let app = device.state.app.as_mut().unwrap();
        (app.done, app.missing) = (true, Some(Bytes::ZERO));
        assert!(!device.looks(5, 1.0, 1.0));
    }

    #[test]
    fn where_wifi_is_gone_lte_is_used() {
        let mut device = Device::new();
        device.tell(30.0, 0);
        assert!(!device.looks(10, 16.0, 0.0));
        device.state.paths[0].up = false;
        assert!(device.looks(1, 0.0, 0.0));
    }

    proptest! {
        /// Whatever the counters and the player say: nothing but the cellular path's priority is touched, and
        /// with a dry buffer, or one that will be dry before all paths together have brought the segment, it is in use.
        #[test]
        fn a_player_in_need_has_every_path(
            looks in proptest::collection::vec((0.0..30.0_f64, 0_u64..5_000_000, 0.0..100.0_f64, 0.0..100.0_f64), 1..60)
        ) {
            let mut device = Device::new();
            for (buffer, missing, mbps, lte_mbps) in looks {
                device.tell(buffer, missing);
                let used = device.looks(1, mbps, lte_mbps);
                let dry = device.state.app.unwrap().buffer.unwrap().is_zero();
                let rate = device.policy.preferred.rates.map_or(0.0, |[short, long]| short.min(long));
                let both = rate + device.policy.cellular.rate.unwrap_or(0.0);
                if dry || missing as f64 > both * buffer {
                    prop_assert!(used, "{missing} bytes at {both} B/s, {buffer} s");
                }
            }
        }

        /// Asked again at the same moment, it asks for nothing more.
        #[test]
        fn actions_are_asked_for_once(buffer in 0.0..30.0_f64, missing in 0_u64..5_000_000) {
            let mut device = Device::new();
            device.tell(buffer, missing);
            device.looks(3, 5.0, 5.0);
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
