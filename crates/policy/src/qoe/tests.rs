use super::*;
use crate::PathState;
use InterfaceKind::{Lte, Wifi};
use proptest::prelude::*;
use units::{Bitrate, Bytes};

/// A device with Wi-Fi and LTE, and a player that reports its state.
struct Device {
    policy: QoePolicy,
    state: DeviceState,
    now: Instant,
}

impl Device {
    fn new() -> Self {
        let kinds = [Wifi, Lte];
        let paths = kinds.iter().map(|&kind| PathState::new(kind)).collect();
        let state = DeviceState::new(paths);
        Self { policy: QoePolicy::new(Qoe::DEFAULT, &kinds), state, now: Instant::ZERO }
    }

    fn report(&mut self, buffer_s: f64, missing: u64) {
        self.state.app = Some(AppState {
            buffer: Some(Duration::from_secs_f64(buffer_s)),
            deadline: None,
            missing: Some(Bytes::new(missing)),
            bitrate: Some(Bitrate::from_mbps(8.0)),
            stalled: None,
            done: false,
        });
    }

    /// Observes `count` times, with Wi-Fi at `mbps`, and LTE at `lte_mbps` while it is regular.
    /// Returns whether LTE is regular afterwards.
    fn observe(&mut self, count: u32, mbps: f64, lte_mbps: f64) -> bool {
        for _ in 0..count {
            let mut actions = Vec::new();
            self.policy.observe(self.now, &self.state, &mut actions);
            for action in actions {
                let Action::SetBackup { path, backup } = action else { panic!("{action:?}") };
                assert_eq!(path, 1, "Wi-Fi stays regular");
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

    /// A device during playback with a full buffer, after a start over Wi-Fi at 16 Mbit/s and LTE
    /// at `lte_mbps`.
    fn playing(lte_mbps: f64) -> Self {
        let mut device = Self::new();
        device.report(0.0, 2_000_000);
        assert!(device.observe(20, 16.0, lte_mbps));
        device.report(20.0, 2_000_000);
        assert!(!device.observe(10, 16.0, lte_mbps));
        device
    }

    /// The buffer level at which LTE becomes regular while the buffer drains, with 2 MB missing and
    /// Wi-Fi at
    /// `mbps`.
    fn buffer_at_switch(&mut self, mbps: f64) -> Option<f64> {
        (0..200).map(|tenth| 20.0 - f64::from(tenth) * 0.1).find(|&buffer| {
            self.report(buffer, 2_000_000);
            self.observe(1, mbps, 0.0)
        })
    }
}

#[test]
fn every_path_is_regular_without_a_report() {
    assert!(Device::new().observe(50, 1.0, 1.0));
}

#[test]
fn every_path_is_regular_before_playback_and_in_a_stall() {
    let mut device = Device::new();
    device.report(0.0, 1_000_000);
    assert!(device.observe(50, 100.0, 1.0));
}

#[test]
fn wifi_that_meets_the_deadline_carries_the_segment_alone() {
    let mut device = Device::playing(0.0);
    // 3 MB at 16 Mbit/s take 1.5 s; the reserve is 3 s.
    device.report(4.6, 3_000_000);
    assert!(!device.observe(5, 16.0, 0.0));
    device.report(4.4, 3_000_000);
    assert!(device.observe(5, 16.0, 0.0));
    // LTE stops with one second more.
    device.report(5.4, 3_000_000);
    assert!(device.observe(10, 16.0, 0.0));
    device.report(5.6, 3_000_000);
    assert!(!device.observe(2, 16.0, 0.0));
}

#[test]
fn switch_waits_while_both_paths_together_meet_the_deadline() {
    // 2 MB over Wi-Fi at 1 Mbit/s and LTE at 32 Mbit/s take 0.5 s; the reserve is 7.4 s.
    let fast = Device::playing(32.0).buffer_at_switch(1.0).unwrap();
    assert!((7.5..9.0).contains(&fast), "{fast}");
    // With LTE at 4 Mbit/s they take 3.2 s. LTE that has carried nothing does not postpone the
    // switch.
    let slow = Device::playing(4.0).buffer_at_switch(1.0).unwrap();
    assert!((9.5..11.5).contains(&slow), "{slow}");
    let unknown = Device::playing(0.0).buffer_at_switch(1.0).unwrap();
    assert!(unknown > 15.0, "{unknown}");
    // Wi-Fi at the bitrate of the video postpones it longest.
    let near = Device::playing(32.0).buffer_at_switch(8.0).unwrap();
    assert!(near < fast - 2.0, "{near}");
}

#[test]
fn buffer_is_filled_over_every_path_at_the_start_and_after_a_stall() {
    let mut device = Device::new();
    device.report(0.0, 1_000_000);
    assert!(device.observe(20, 16.0, 16.0));
    device.report(7.9, 100_000);
    assert!(device.observe(50, 16.0, 16.0), "filling, although Wi-Fi meets the deadline");
    device.report(8.1, 100_000);
    assert!(!device.observe(5, 16.0, 0.0));
    device.report(5.0, 100_000);
    assert!(!device.observe(5, 16.0, 0.0), "the buffer has held the margin");
    device.report(0.0, 100_000);
    assert!(device.observe(5, 16.0, 16.0));
    device.report(5.0, 100_000);
    assert!(device.observe(5, 16.0, 16.0));
    // A player without requests has a full buffer.
    device.report(5.0, 0);
    assert!(!device.observe(5, 16.0, 0.0));
    device.report(5.0, 100_000);
    assert!(!device.observe(5, 16.0, 0.0));
}

#[test]
fn weak_wifi_does_not_finish_a_segment_alone() {
    let mut device = Device::playing(32.0);
    device.report(6.0, 2_000_000);
    assert!(device.observe(30, 1.0, 32.0));
    // Wi-Fi at 1 Mbit/s takes one second for it, of six.
    device.report(6.0, 125_000);
    assert!(device.observe(5, 1.0, 32.0));
    device.report(6.0, 0);
    assert!(!device.observe(1, 1.0, 32.0));
    device.report(6.0, 125_000);
    assert!(device.observe(1, 1.0, 32.0));
}

#[test]
fn longer_spans_keep_more_in_the_buffer() {
    let at = |text: &str| {
        let mut device = Device::playing(32.0);
        device.policy.parameters = match text {
            "margin" => Qoe { margin: Duration::from_secs(12), ..Qoe::DEFAULT },
            "rescue" => Qoe { rescue: Duration::from_secs(6), ..Qoe::DEFAULT },
            _ => Qoe::DEFAULT,
        };
        [1.0, 8.0].map(|mbps| device.buffer_at_switch(mbps).unwrap())
    };
    let ([weak, good], [weak_margin, _], [_, good_rescue]) = (at(""), at("margin"), at("rescue"));
    assert!((2.5..4.5).contains(&(weak_margin - weak)), "{weak}, {weak_margin}");
    assert!((2.0..3.5).contains(&(good_rescue - good)), "{good}, {good_rescue}");
}

#[test]
fn weak_wifi_with_a_full_buffer_does_not_start_lte() {
    let mut device = Device::playing(32.0);
    assert!(!device.observe(50, 1.0, 0.0));
}

#[test]
fn finished_player_needs_no_cellular_path() {
    let mut device = Device::new();
    device.report(0.0, 1_000_000);
    assert!(device.observe(5, 1.0, 1.0));
    let app = device.state.app.as_mut().unwrap();
    (app.done, app.missing) = (true, Some(Bytes::ZERO));
    assert!(!device.observe(5, 1.0, 1.0));
}

#[test]
fn lte_is_regular_while_wifi_is_down() {
    let mut device = Device::new();
    device.report(30.0, 0);
    assert!(!device.observe(10, 16.0, 0.0));
    device.state.paths[0].up = false;
    assert!(device.observe(1, 0.0, 0.0));
}

proptest! {
    /// The policy changes only the priority of LTE. LTE is regular if the buffer is empty, or will
    /// be before all paths together have carried the segment.
    #[test]
    fn player_that_would_stall_has_every_path(
        looks in proptest::collection::vec((0.0..30.0_f64, 0_u64..5_000_000, 0.0..100.0_f64, 0.0..100.0_f64), 1..60)
    ) {
        let mut device = Device::new();
        for (buffer, missing, mbps, lte_mbps) in looks {
            device.report(buffer, missing);
            let used = device.observe(1, mbps, lte_mbps);
            let dry = device.state.app.unwrap().buffer.unwrap().is_zero();
            let rate = |paths: &ReceiveRate| paths.mean().unwrap_or(0.0);
            let both = rate(&device.policy.preferred) + rate(&device.policy.cellular);
            if dry || missing as f64 > both * buffer {
                prop_assert!(used, "{missing} bytes at {both} B/s, {buffer} s");
            }
        }
    }

    /// A second observation at the same time gives no actions.
    #[test]
    fn actions_are_not_repeated(buffer in 0.0..30.0_f64, missing in 0_u64..5_000_000) {
        let mut device = Device::new();
        device.report(buffer, missing);
        device.observe(3, 5.0, 5.0);
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
