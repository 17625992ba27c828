//! The actuator `mp-prio` against a small model of two paths: does it hold the share?

use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, Actuator, DeviceState, Emtcp, NoPolicy, PathState, Policy, PolicyFactory};
use units::{Duration, Instant};

/// A sender with a live source, in steps of 10 ms: Wi-Fi first, LTE takes the rest while it is
/// regular. What LTE was given arrives over its own link, so that it goes on for a while when closed.
struct Model {
    /// Of the source, of Wi-Fi and of LTE, in bytes a second.
    offered: f64,
    wifi: f64,
    lte: f64,
    /// Bytes that the send buffer and LTE's queue hold at most.
    buffer: f64,
    window: f64,
    /// Time that a change of priority takes.
    lag: Duration,
}

struct Run {
    wifi: f64,
    lte: f64,
    switches: usize,
    shortest: Duration,
}

impl Run {
    fn lte_part(&self) -> f64 {
        self.lte / (self.wifi + self.lte)
    }
}

const STEP: Duration = Duration::from_millis(10);

impl Model {
    fn run(&self, policy: &mut dyn Policy, seconds: u64, queue_known: bool) -> Run {
        let mut run = Run { wifi: 0.0, lte: 0.0, switches: 0, shortest: Duration::MAX };
        let (mut backlog, mut queue) = (0.0_f64, 0.0_f64);
        let (mut told, mut regular, mut since) = (true, true, Instant::ZERO);
        let mut state = DeviceState { paths: vec![PathState::new(Wifi), PathState::new(Lte)], app: None };
        let step = STEP.as_secs_f64();
        let mut now = Instant::ZERO;
        while now < Instant::from_secs(seconds) {
            if now.as_millis().is_multiple_of(100) {
                state.paths[0].bytes_down = run.wifi as u64;
                state.paths[1].bytes_down = run.lte as u64;
                state.paths[1].queued = if queue_known { queue as u64 } else { 0 };
                state.paths[1].backup = !told;
                let mut actions = Vec::new();
                policy.observe(now, &state, &mut actions);
                for action in actions {
                    let Action::SetBackup { path: 1, backup } = action else { panic!("{action:?}") };
                    if run.switches > 0 {
                        run.shortest = run.shortest.min(now.since(since));
                    }
                    (told, since) = (!backup, now);
                    run.switches += 1;
                }
            }
            if now.since(since) >= self.lag {
                regular = told;
            }
            backlog = (backlog + self.offered * step).min(self.buffer);
            let over_wifi = backlog.min(self.wifi * step);
            backlog -= over_wifi;
            run.wifi += over_wifi;
            if regular {
                let given = backlog.min(self.window - queue).max(0.0);
                backlog -= given;
                queue += given;
            }
            let over_lte = queue.min(self.lte * step);
            queue -= over_lte;
            run.lte += over_lte;
            now += STEP;
        }
        run
    }
}

fn mp_prio(share: f64) -> Box<dyn Policy> {
    Emtcp { share, actuator: Actuator::MpPrio }.build(&[Wifi, Lte])
}

fn paper() -> Model {
    Model {
        offered: 250e3,
        wifi: 0.9 * 125e3,
        lte: 1.5 * 125e3,
        buffer: 64e3,
        window: 40e3,
        lag: Duration::from_millis(100),
    }
}

#[test]
fn plain_mptcp_would_give_lte_more_than_its_part() {
    let part = paper().run(&mut *NoPolicy.build(&[Wifi, Lte]), 150, true).lte_part();
    assert!((part - 0.55).abs() < 0.01, "{part}");
}

#[test]
fn the_share_is_held_over_the_paper_s_150_seconds() {
    for share in [0.0, 0.12, 0.24, 0.5, 0.76, 1.0] {
        let run = paper().run(&mut *mp_prio(share), 150, true);
        let wanted = if share == 0.0 { 0.55 } else { (1.0 - share) / 2.0 };
        assert!((run.lte_part() - wanted).abs() < 0.01, "share {share}: {} for {wanted}", run.lte_part());
        assert!(run.switches < 400, "share {share}: {} switches", run.switches);
    }
}

#[test]
fn a_share_that_wifi_exceeds_by_itself_leaves_lte_open() {
    // Wi-Fi takes 1.5 of 2 Mbit/s: LTE's quarter is less than the 0.38 it may carry.
    let model = Model { wifi: 1.5 * 125e3, ..paper() };
    let run = model.run(&mut *mp_prio(0.24), 60, true);
    assert!((run.lte_part() - 0.25).abs() < 0.01);
    assert_eq!(run.switches, 0);
}

#[test]
fn no_state_is_shorter_than_the_sender_can_follow() {
    let run = paper().run(&mut *mp_prio(0.4), 150, false);
    assert!(run.switches > 50, "{}", run.switches);
    assert!(run.shortest >= Duration::from_millis(200), "{}", run.shortest);
}

/// Much comes after closing, and what the slow path carries meanwhile is little: the credit must still get to
/// where the gate opens.
#[test]
fn beside_a_slow_path_it_does_not_stay_closed_for_good() {
    let model = Model {
        wifi: 0.2 * 125e3,
        lte: 32.3 * 125e3,
        buffer: 465e3,
        window: 400e3,
        lag: Duration::from_millis(161),
        ..paper()
    };
    let run = model.run(&mut *mp_prio(0.374), 3000, true);
    assert!((run.lte_part() - 0.313).abs() < 0.005, "{}", run.lte_part());
    assert!(run.switches > 50, "{}", run.switches);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]
    #[test]
    fn the_share_is_held_on_any_pair_of_paths_that_can_hold_it(
        share in 0.05..1.0f64,
        wifi in 0.2..1.0f64, lte in 2.0..40.0f64,
        buffer in 20e3..500e3f64, lag in 0u64..300, queue_known: bool,
    ) {
        let model = Model {
            offered: 250e3,
            wifi: wifi * 125e3,
            lte: lte * 125e3,
            buffer,
            window: buffer.min(lte * 125e3 * 0.1),
            lag: Duration::from_millis(lag),
        };
        let run = model.run(&mut *mp_prio(share), 300, queue_known);
        // The loop pays back in full, so at any time it is off by one opening of the path at most:
        // what comes through in the least time open, a look late, with the lag and what is queued.
        let opening = model.lte * (0.3 + model.lag.as_secs_f64()) + model.window;
        let pent_up = model.buffer + model.window + model.offered * (0.3 + model.lag.as_secs_f64());
        let tolerance = 0.01 + opening.min(pent_up) / (run.wifi + run.lte);
        let wanted = (1.0 - share) / 2.0;
        prop_assert!((run.lte_part() - wanted).abs() < tolerance, "{} for {}", run.lte_part(), wanted);
    }
}
