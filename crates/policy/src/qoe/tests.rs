use super::*;
use crate::PathState;
use InterfaceKind::{Lte, Wifi};
use proptest::prelude::*;
use units::{Bitrate, Bytes};

/// A player with so much in its buffer and so much to come, on a device whose Wi-Fi brings `mbps`.
struct Device {
    policy: QoePolicy,
    state: DeviceState,
    now: Instant,
}

impl Device {
    fn new() -> Self {
        let kinds = [Wifi, Lte];
        let paths = kinds.iter().map(|&kind| PathState::new(kind)).collect();
        let state = DeviceState { paths, app: None };
        Self { policy: QoePolicy::new(Qoe::DEFAULT_MARGIN, &kinds), state, now: Instant::ZERO }
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
            self.now += INTERVAL;
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
    assert_eq!(device.policy.reserve.learned, -2.5, "half of it, once");
    let after = device.helped_at(1.0).unwrap();
    assert!((1.5..3.0).contains(&(before - after)), "{before}, {after}");
    for _ in 0..5 {
        dip(&mut device, 32.0);
    }
    assert_eq!(device.policy.reserve.learned, Reserve::MIN_MARGIN_S - 8.0, "some is kept free always");
    // LTE that brought nothing has not shown that less will do.
    let mut device = Device::playing(32.0);
    dip(&mut device, 0.0);
    assert_eq!(device.policy.reserve.learned, 0.0);
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
    assert_eq!(device.policy.reserve.learned, 0.0);
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
            let rate = device.policy.preferred.averages().map_or(0.0, |[short, long]| short.min(long));
            let both = rate + device.policy.cellular.rate().unwrap_or(0.0);
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
