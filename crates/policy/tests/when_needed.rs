//! The policy `when-needed` on a small model of two paths, and on arbitrary counters.

use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, DeviceState, PathState, Policy, PolicyConfig, WhenNeeded};
use units::{Bitrate, Duration, Instant};

/// Bytes per interval of 100 ms at 1 Mbit/s.
const MBPS: f64 = 12_500.0;

fn policy(text: &str) -> Box<dyn Policy> {
    text.parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte])
}

/// A sender with a send buffer, in intervals of 100 ms: Wi-Fi first, the rest over LTE while it is
/// regular. A closed subflow over Wi-Fi is set up again once Wi-Fi has capacity.
struct Model {
    policy: Box<dyn Policy>,
    state: DeviceState,
    now: Instant,
    backlog: f64,
    /// A subflow over Wi-Fi exists.
    joined: bool,
    /// Times at which Wi-Fi was reset.
    resets: Vec<f64>,
    /// Times at which LTE became regular (true) or backup.
    switches: Vec<(f64, bool)>,
    lte: f64,
    max_lateness: f64,
}

impl Model {
    fn new(text: &str) -> Self {
        Self::with(text.parse::<PolicyConfig>().expect("a policy"))
    }

    fn with(config: impl Into<PolicyConfig>) -> Self {
        let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        paths[1].backup = true;
        Self {
            policy: config.into().build(&[Wifi, Lte]),
            state: DeviceState::new(paths),
            now: Instant::ZERO,
            backlog: 0.0,
            joined: true,
            resets: Vec::new(),
            switches: Vec::new(),
            lte: 0.0,
            max_lateness: 0.0,
        }
    }

    /// One observation, then 100 ms in which the application writes `demand` and the paths carry up
    /// to `wifi` and `lte`, all in Mbit/s.
    fn step(&mut self, demand: f64, wifi: f64, lte: f64) {
        let mut actions = Vec::new();
        self.policy.observe(self.now, &self.state, &mut actions);
        for action in actions {
            match action {
                Action::SetBackup { path: 1, backup } => {
                    self.state.paths[1].backup = backup;
                    self.switches.push((self.now.as_secs_f64(), !backup));
                }
                Action::Close { path: 0 } => {
                    assert!(self.state.paths[0].up, "Wi-Fi is open");
                    (self.state.paths[0].up, self.joined) = (false, false);
                    self.resets.push(self.now.as_secs_f64());
                }
                Action::Open { path: 0 } => self.state.paths[0].up = true,
                _ => panic!("{action:?}"),
            }
        }
        self.backlog += demand * MBPS;
        self.joined = self.state.paths[0].up && (self.joined || wifi > 0.0);
        let over_wifi = if self.joined { self.backlog.min(wifi * MBPS) } else { 0.0 };
        let regular = !self.state.paths[1].backup || !self.joined;
        let over_lte = if regular { (self.backlog - over_wifi).min(lte * MBPS) } else { 0.0 };
        self.backlog -= over_wifi + over_lte;
        self.lte += over_lte;
        self.state.paths[0].bytes_down += over_wifi as u64;
        self.state.paths[1].bytes_down += over_lte as u64;
        if demand > 0.0 {
            self.max_lateness = self.max_lateness.max(self.backlog / (demand * MBPS * 10.0));
        }
        self.now += Duration::from_millis(100);
    }

    fn run(&mut self, seconds: f64, demand: f64, wifi: f64, lte: f64) {
        for _ in 0..(seconds * 10.0).round() as u64 {
            self.step(demand, wifi, lte);
        }
    }
}

#[test]
fn lte_is_unused_while_wifi_suffices() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(10.0, 5.0, 6.0, 40.0);
    model.run(10.0, 1.0, 6.0, 40.0);
    assert!(model.switches.iter().all(|&(at, _)| at > 20.0), "{:?}", model.switches);
    assert_eq!(model.lte, 0.0);
}

#[test]
fn lte_carries_only_the_shortage_of_wifi() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(20.0, 5.0, 3.0, 40.0);
    let needed = 20.0 * 2.0 * 10.0 * MBPS;
    assert!((0.9..=1.0).contains(&(model.lte / needed)), "{} of {needed}", model.lte);
    assert!(model.max_lateness < 0.5, "{}", model.max_lateness);
    model.run(20.0, 5.0, 40.0, 40.0);
    assert!(model.lte <= 1.01 * needed);
    let (last, on) = model.switches[model.switches.len() - 1];
    assert!(!on && last < 30.5, "{:?}", model.switches);
}

/// A path is silent after its backlog drained over the other one; the paid backlog ends the
/// shortage.
#[test]
fn lte_becomes_backup_once_the_backlog_is_paid() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.8, 5.0, 2.0, 40.0);
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches.len(), 4, "{:?}", model.switches);
    // The shortage of 0.8 s at 3 Mbit/s.
    assert!(model.lte <= 0.8 * 3.0 * 10.0 * MBPS, "{}", model.lte / MBPS);
}

/// After a timeout no segment may be timed (Karn's algorithm), and the last value stays.
#[test]
fn round_trip_time_that_is_not_measured_again_shows_no_queue() {
    let mut model = Model::new("when-needed");
    model.state.paths[0].srtt = Some(Duration::from_millis(20));
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].srtt = Some(Duration::from_millis(3182));
    model.run(30.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, []);
}

/// After the shortage the data in Wi-Fi's queue arrives faster than the demand, although LTE
/// carried it too.
#[test]
fn draining_backlog_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(2.0, 5.0, 0.5, 40.0);
    while !model.state.paths[1].backup {
        model.run(0.1, 5.0, 40.0, 40.0);
    }
    for _ in 0..6 {
        model.state.paths[0].bytes_down += (8.0 * MBPS) as u64;
        model.run(0.1, 5.0, 40.0, 40.0);
    }
    let switches = model.switches.len();
    model.run(20.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches.len(), switches, "{:?}", model.switches);
}

#[test]
fn duplicate_data_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.6, 5.0, 0.0, 14.0);
    assert_eq!(model.resets.len(), 1);
    // Because of the reset, two megabytes arrive a second time.
    model.backlog += 2e6;
    model.run(1.9, 5.0, 0.0, 14.0);
    let alarms = model.switches.len();
    model.run(20.0, 5.0, 7.0, 40.0);
    assert_eq!(model.switches[alarms..].iter().filter(|(_, on)| *on).count(), 0, "{:?}", model.switches);
}

/// The queue of a recovered path drains slowly, with data that others have carried before.
#[test]
fn late_stuck_data_does_not_raise_the_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(4.0, 5.0, 0.0, 40.0);
    assert_eq!(model.resets.len(), 1);
    for _ in 0..15 {
        model.state.paths[0].bytes_down += (3.0 * MBPS) as u64;
        model.run(0.1, 5.0, 0.0, 40.0);
    }
    let before = model.switches.len();
    model.run(20.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches[before..].iter().filter(|(_, on)| *on).count(), 0, "{:?}", model.switches);
}

/// While LTE is regular, a higher demand shows in the total rate.
#[test]
fn demand_that_rises_during_a_shortage_is_learned() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(5.0, 5.0, 3.0, 40.0);
    model.run(30.0, 10.0, 3.0, 40.0);
    assert!(model.max_lateness < 1.0, "{} s late", model.max_lateness);
}

#[test]
fn silent_path_is_reset_after_a_quarter_of_a_second() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(30.0, 5.0, 0.0, 40.0);
    assert_eq!(model.switches[0], (10.2, true), "Wi-Fi needs 0.33 s for the data of 0.2 s");
    assert!(model.max_lateness <= 0.5, "{}", model.max_lateness);
    // The subflow over Wi-Fi is closed then. LTE carries everything, marked as backup or not, and
    // Wi-Fi resumes as soon as it has capacity.
    assert_eq!(model.resets, [10.3]);
    assert_eq!(model.switches.len(), 2, "{:?}", model.switches);
    assert!(model.backlog == 0.0);
    let lte = model.lte;
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.lte, lte);
}

#[test]
fn interface_that_goes_down_is_replaced_at_once_and_used_again_after_the_hold() {
    let mut model = Model::new("when-needed");
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].up = false;
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].up = true;
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, [(5.0, true), (10.4, false)]);
}

#[test]
fn pausing_application_raises_few_alarms() {
    let mut model = Model::new("when-needed");
    for _ in 0..20 {
        model.run(2.0, 5.0, 40.0, 40.0);
        model.run(1.0, 0.0, 40.0, 40.0);
    }
    let alarms: Vec<f64> = model.switches.iter().filter(|(_, on)| *on).map(|(at, _)| *at).collect();
    assert!(alarms.len() < 20, "some pauses are shorter than the deadline: {alarms:?}");
    let carried = model.state.paths[0].bytes_down as f64;
    assert!(model.lte < 0.02 * carried, "{} of {carried}", model.lte);
}

#[test]
fn lower_demand_is_learned_after_one_alarm() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(60.0, 2.0, 40.0, 40.0);
    assert_eq!(model.switches.len(), 2, "{:?}", model.switches);
}

#[test]
fn standing_queue_shows_a_demand_that_was_never_met() {
    let mut model = Model::new("when-needed");
    let seen = |model: &mut Model, milliseconds| {
        model.state.paths[0].srtt = Some(Duration::from_millis(milliseconds));
    };
    seen(&mut model, 20);
    model.run(1.0, 5.0, 3.0, 40.0);
    for milliseconds in 150..154 {
        seen(&mut model, milliseconds);
        model.run(0.1, 5.0, 3.0, 40.0);
    }
    assert_eq!(model.switches, [(1.2, true)]);
    // Without round-trip times the policy cannot see it.
    let mut without = Model::new("when-needed");
    without.run(30.0, 5.0, 3.0, 40.0);
    assert_eq!(without.switches, []);
}

#[test]
fn demand_is_limited_to_enough() {
    // A download takes any rate: 40 Mbit/s, then 20.
    let mut model = Model::new("when-needed");
    model.run(5.0, 1000.0, 40.0, 40.0);
    model.run(5.0, 1000.0, 20.0, 40.0);
    assert!(!model.switches.is_empty());
    let mut model = Model::new("when-needed:enough=10Mbps");
    model.run(5.0, 1000.0, 40.0, 40.0);
    model.run(5.0, 1000.0, 20.0, 40.0);
    assert_eq!(model.switches, []);
    model.run(1.0, 1000.0, 5.0, 40.0);
    assert_eq!(model.switches.len(), 2, "the backlog is paid at once: {:?}", model.switches);
}

#[test]
fn flapping_interface_changes_the_priority_at_most_twice_each_time() {
    let mut model = Model::new("when-needed");
    model.run(5.0, 5.0, 40.0, 40.0);
    for _ in 0..100 {
        model.state.paths[0].up = false;
        model.run(0.1, 5.0, 4.9, 40.0);
        model.state.paths[0].up = true;
        model.run(0.6, 5.0, 4.9, 40.0);
    }
    assert!(model.switches.len() <= 200, "{} in 70 s", model.switches.len());
}

#[test]
fn extreme_parameters_do_no_harm() {
    let with = |span, slack, enough| WhenNeeded {
        deadline: span,
        hold: span,
        memory: span,
        queueing: span,
        slack,
        enough,
    };
    let shortest = with(Duration::ZERO, 0.0, Some(Bitrate::ZERO));
    let longest = with(Duration::from_secs(9_000_000_000), 1.0, None);
    for parameters in [shortest, longest] {
        let mut model = Model::with(parameters);
        model.run(5.0, 5.0, 40.0, 40.0);
        model.state.paths[0].up = false;
        model.run(5.0, 5.0, 0.0, 40.0);
        assert!(!model.state.paths[1].backup, "{parameters:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Five changes of priority per second at most: a change shows after 200 ms.
    #[test]
    fn priority_changes_are_limited_for_any_counters(
        looks in prop::collection::vec((1u64..300, 0u64..2_000_000, 0u64..2_000_000, 0u64..2000, prop::bool::weighted(0.9)), 1..900),
    ) {
        let mut policy = policy("when-needed");
        let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        paths[1].backup = true;
        let mut state = DeviceState::new(paths);
        let (mut now, mut actions, mut switches) = (Instant::ZERO, Vec::new(), Vec::new());
        let (mut open, mut resets) = (true, Vec::new());
        for (millis, wifi, lte, srtt, up) in looks {
            now += Duration::from_millis(millis);
            state.paths[0].bytes_down += wifi;
            state.paths[1].bytes_down += lte;
            state.paths[0].srtt = Some(Duration::from_millis(srtt));
            state.paths[0].up = up && open;
            actions.clear();
            policy.observe(now, &state, &mut actions);
            for action in &actions {
                match *action {
                    Action::SetBackup { path: 1, backup } => {
                        prop_assert!(state.paths[1].backup != backup, "action changes nothing");
                        state.paths[1].backup = backup;
                        switches.push(now);
                    }
                    Action::Close { path: 0 } => {
                        prop_assert!(up && open, "action changes nothing");
                        open = false;
                        resets.push(now);
                    }
                    Action::Open { path: 0 } => {
                        prop_assert!(!open, "action changes nothing");
                        open = true;
                    }
                    _ => panic!("{action:?}"),
                }
            }
            state.paths[0].up = up && open;
            actions.clear();
            policy.observe(now, &state, &mut actions);
            prop_assert!(actions.is_empty(), "second observation at the same time: {actions:?}");
        }
        for (i, first) in switches.iter().enumerate() {
            let minute = switches[i..].iter().filter(|at| at.since(*first) < Duration::from_secs(60)).count();
            prop_assert!(minute <= 300, "{minute} switches in a minute");
        }
        let shortest = resets.windows(2).map(|pair: &[Instant]| pair[1].since(pair[0])).min();
        prop_assert!(shortest.is_none_or(|shortest| shortest >= Duration::from_millis(50)), "{shortest:?}");
    }

    /// The lateness of a constant stream stays limited.
    #[test]
    fn stream_that_both_paths_can_carry_is_carried(
        demand in 0.5..20.0f64,
        wifi in prop::collection::vec(0.0..40.0f64, 1..40),
    ) {
        let mut model = Model::new("when-needed");
        model.run(5.0, demand, 40.0, 60.0);
        for rate in wifi {
            model.run(1.0, demand, rate, 60.0);
        }
        // The policy cannot see a shortage within its tolerance, and its demand decays.
        prop_assert!(model.max_lateness < 3.0, "{} s late", model.max_lateness);
        model.run(20.0, demand, 40.0, 60.0);
        prop_assert!(model.state.paths[1].backup, "LTE is backup once Wi-Fi suffices");
    }
}
