//! The policy `when-needed` on a small model of two paths, and on arbitrary counters.

mod demand;
mod model;

use model::{MBPS, Model, STEPS_PER_SECOND};
use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, DeviceState, PathState, Policy, PolicyConfig, WhenNeeded};
use units::{Bitrate, Duration, Instant};

fn policy(text: &str) -> Box<dyn Policy> {
    text.parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte])
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
    let needed = 20.0 * 2.0 * STEPS_PER_SECOND * MBPS;
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
    assert!(model.lte <= 0.8 * 3.0 * STEPS_PER_SECOND * MBPS, "{}", model.lte / MBPS);
}

/// Both paths together carry little more than the demand, so an error of the queue adds up.
#[test]
fn queue_is_exact_in_a_long_shortage() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(60.0, 5.0, 3.0, 2.4);
    assert!(model.max_lateness < 0.5, "{} s late", model.max_lateness);
}

/// Wi-Fi is left the queue that it carries in half of the deadline.
#[test]
fn lte_becomes_backup_before_the_queue_is_empty() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(5.0, 5.0, 4.0, 6.0);
    let missing = 5.0 * 1.0 * STEPS_PER_SECOND * MBPS;
    let kept = 0.125 * 4.0 * STEPS_PER_SECOND * MBPS;
    assert!(model.lte <= missing - kept, "{} of {missing}", model.lte);
    assert!(model.max_lateness < 0.5, "{} s late", model.max_lateness);
}

#[test]
fn silent_path_is_reset_after_a_quarter_of_a_second() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(30.0, 5.0, 0.0, 40.0);
    assert_eq!(model.switches[0], (10.2, true), "Wi-Fi needs 0.33 s for the data of 0.2 s");
    assert!(model.max_lateness <= 0.5, "{}", model.max_lateness);
    // The subflow over Wi-Fi is closed soon after. LTE carries everything, marked as backup or not, and
    // Wi-Fi resumes as soon as it has capacity.
    assert_eq!(model.resets, [10.25]);
    assert_eq!(model.switches.len(), 2, "{:?}", model.switches);
    assert!(model.backlog == 0.0);
    let lte = model.lte;
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.lte, lte);
}

/// The sender leaves LTE unused, as Linux does while its averaged rate favours Wi-Fi. At the end of
/// the trial Wi-Fi has been silent for less than the deadline.
#[test]
fn silence_at_the_end_of_a_trial_is_no_false_alarm() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.7, 5.0, 2.6, 0.0);
    model.run(0.6, 5.0, 0.0, 0.0);
    assert_eq!(model.switches.len(), 1, "{:?}", model.switches);
    assert_eq!(model.resets.len(), 1, "{:?}", model.resets);
    assert!(model.resets[0] < 11.0, "{:?}", model.resets);
}

#[test]
fn interface_that_goes_down_is_replaced_at_once_and_used_again_after_the_hold() {
    let mut model = Model::new("when-needed");
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].up = false;
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].up = true;
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, [(5.0, true), (10.45, false)]);
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

    /// A change shows after 150 ms, and the next one comes no sooner.
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
            prop_assert!(minute <= 400, "{minute} switches in a minute");
        }
        let shortest = resets.windows(2).map(|pair: &[Instant]| pair[1].since(pair[0])).min();
        prop_assert!(shortest.is_none_or(|shortest| shortest >= Duration::from_millis(100)), "{shortest:?}");
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
