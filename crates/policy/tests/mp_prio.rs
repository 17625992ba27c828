//! The actuator `mp-prio` holds the share on a small model of two paths.

use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, Actuator, DeviceState, Emtcp, NoPolicy, PathState, Policy, PolicyFactory};
use units::{Duration, Instant};

/// A sender with a live source, in steps of 10 ms: Wi-Fi first, the rest over LTE while it is
/// regular. Data queued for LTE still arrives after LTE was closed.
struct Model {
    /// Rates of the source, of Wi-Fi and of LTE, in bytes per second.
    offered: f64,
    wifi: f64,
    lte: f64,
    /// Capacities of the send buffer and of LTE's queue, in bytes.
    buffer: f64,
    window: f64,
    /// Time until a change of priority takes effect.
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
        let (mut requested, mut regular, mut since) = (true, true, Instant::ZERO);
        let mut state = DeviceState::new(vec![PathState::new(Wifi), PathState::new(Lte)]);
        let step = STEP.as_secs_f64();
        let mut now = Instant::ZERO;
        while now < Instant::from_secs(seconds) {
            if now.as_millis().is_multiple_of(100) {
                state.paths[0].bytes_down = run.wifi as u64;
                state.paths[1].bytes_down = run.lte as u64;
                state.paths[1].queued = if queue_known { queue as u64 } else { 0 };
                state.paths[1].backup = !requested;
                let mut actions = Vec::new();
                policy.observe(now, &state, &mut actions);
                for action in actions {
                    let Action::SetBackup { path: 1, backup } = action else { panic!("{action:?}") };
                    if run.switches > 0 {
                        run.shortest = run.shortest.min(now.since(since));
                    }
                    (requested, since) = (!backup, now);
                    run.switches += 1;
                }
            }
            if now.since(since) >= self.lag {
                regular = requested;
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
fn plain_mptcp_gives_lte_more_than_its_share() {
    let part = paper().run(&mut *NoPolicy.build(&[Wifi, Lte]), 150, true).lte_part();
    assert!((part - 0.55).abs() < 0.01, "{part}");
}

#[test]
fn share_is_held_over_150_seconds() {
    for share in [0.0, 0.12, 0.24, 0.5, 0.76, 1.0] {
        let run = paper().run(&mut *mp_prio(share), 150, true);
        let wanted = if share == 0.0 { 0.55 } else { (1.0 - share) / 2.0 };
        assert!((run.lte_part() - wanted).abs() < 0.01, "share {share}: {} for {wanted}", run.lte_part());
        assert!(run.switches < 400, "share {share}: {} switches", run.switches);
    }
}

#[test]
fn share_that_wifi_exceeds_by_itself_leaves_lte_open() {
    // Wi-Fi carries 1.5 of 2 Mbit/s: LTE's quarter is below its share of 0.38.
    let model = Model { wifi: 1.5 * 125e3, ..paper() };
    let run = model.run(&mut *mp_prio(0.24), 60, true);
    assert!((run.lte_part() - 0.25).abs() < 0.01);
    assert_eq!(run.switches, 0);
}

#[test]
fn no_state_is_shorter_than_the_minimum_times() {
    let run = paper().run(&mut *mp_prio(0.4), 150, false);
    assert!(run.switches > 50, "{}", run.switches);
    assert!(run.shortest >= Duration::from_millis(200), "{}", run.shortest);
}

/// Much data arrives after a closing, and the slow path carries little meanwhile: the credit must
/// still reach the threshold of opening.
#[test]
fn gate_beside_a_slow_path_opens_again() {
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
    fn share_is_held_on_any_pair_of_paths_that_can_hold_it(
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
        // The loop pays back in full, so its error is at most one opening of the path: the data of
        // the minimum open time, an interval, the lag and the queue.
        let opening = model.lte * (0.3 + model.lag.as_secs_f64()) + model.window;
        let waiting = model.buffer + model.window + model.offered * (0.3 + model.lag.as_secs_f64());
        let tolerance = 0.01 + opening.min(waiting) / (run.wifi + run.lte);
        let wanted = (1.0 - share) / 2.0;
        prop_assert!((run.lte_part() - wanted).abs() < tolerance, "{} for {}", run.lte_part(), wanted);
    }
}
