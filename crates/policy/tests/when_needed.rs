//! The policy `when-needed` against a small model of two paths, and against anything.

use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, DeviceState, PathState, Policy, PolicyConfig, WhenNeeded};
use units::{Bitrate, Duration, Instant};

/// Megabits a second as bytes a look.
const MBPS: f64 = 12_500.0;

fn policy(text: &str) -> Box<dyn Policy> {
    text.parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte])
}

/// A sender that keeps what it cannot send, in looks of 100 ms: Wi-Fi takes what it can, and LTE the rest
/// while it is regular. A subflow over Wi-Fi that was closed is set up again when Wi-Fi carries something.
struct Model {
    policy: Box<dyn Policy>,
    state: DeviceState,
    now: Instant,
    backlog: f64,
    /// There is a subflow over Wi-Fi.
    joined: bool,
    /// When Wi-Fi was given up.
    given_up: Vec<f64>,
    /// There is a subflow over LTE.
    lte_open: bool,
    /// When LTE was opened or closed, and which.
    openings: Vec<(f64, bool)>,
    /// When LTE was switched, and to what.
    switches: Vec<(f64, bool)>,
    lte: f64,
    most_late: f64,
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
            state: DeviceState { paths, app: None },
            now: Instant::ZERO,
            backlog: 0.0,
            joined: true,
            given_up: Vec::new(),
            lte_open: true,
            openings: Vec::new(),
            switches: Vec::new(),
            lte: 0.0,
            most_late: 0.0,
        }
    }

    /// One look, then 100 ms in which `demand` is written and the paths carry up to `wifi` and `lte`, all
    /// in Mbit/s.
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
                    assert!(self.state.paths[0].up, "it is open");
                    (self.state.paths[0].up, self.joined) = (false, false);
                    self.given_up.push(self.now.as_secs_f64());
                }
                Action::Open { path: 0 } => self.state.paths[0].up = true,
                Action::Open { path: 1 } | Action::Close { path: 1 } => {
                    let open = matches!(action, Action::Open { .. });
                    assert!(open != self.lte_open, "it asks for what is so");
                    self.lte_open = open;
                    self.openings.push((self.now.as_secs_f64(), open));
                }
                _ => panic!("{action:?}"),
            }
        }
        self.backlog += demand * MBPS;
        self.joined = self.state.paths[0].up && (self.joined || wifi > 0.0);
        let over_wifi = if self.joined { self.backlog.min(wifi * MBPS) } else { 0.0 };
        let regular = !self.state.paths[1].backup || !self.joined;
        let over_lte =
            if regular && self.lte_open { (self.backlog - over_wifi).min(lte * MBPS) } else { 0.0 };
        self.backlog -= over_wifi + over_lte;
        self.lte += over_lte;
        self.state.paths[0].bytes_down += over_wifi as u64;
        self.state.paths[1].bytes_down += over_lte as u64;
        if demand > 0.0 {
            self.most_late = self.most_late.max(self.backlog / (demand * MBPS * 10.0));
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
fn lte_rests_while_wifi_suffices() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(10.0, 5.0, 6.0, 40.0);
    model.run(10.0, 1.0, 6.0, 40.0);
    assert!(model.switches.iter().all(|&(at, _)| at > 20.0), "{:?}", model.switches);
    assert_eq!(model.lte, 0.0);
}

#[test]
fn lte_carries_what_wifi_cannot_and_no_more() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(20.0, 5.0, 3.0, 40.0);
    let needed = 20.0 * 2.0 * 10.0 * MBPS;
    assert!((0.9..=1.0).contains(&(model.lte / needed)), "{} of {needed}", model.lte);
    assert!(model.switches.len() < 40, "{:?}", model.switches);
    assert!(model.most_late < 0.5, "{}", model.most_late);
    model.run(20.0, 5.0, 40.0, 40.0);
    assert!(model.lte <= 1.01 * needed);
    let (last, on) = model.switches[model.switches.len() - 1];
    assert!(!on && last < 34.5, "{:?}", model.switches);
}

/// A path whose backlog has drained over the other one tells nothing by its silence; that the debt is paid does.
#[test]
fn lte_goes_off_when_the_debt_is_paid_and_not_after_a_hold() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.8, 5.0, 2.0, 40.0);
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, [(10.5, true), (10.7, false)]);
    // 0.5 s in which 3 Mbit/s came to lie, and 0.2 s of the shortage.
    assert!(model.lte <= 0.75 * 3.0 * 10.0 * MBPS, "{}", model.lte / MBPS);
}

/// After a timeout no segment may be timed for long (Karn's algorithm), and the last value stays.
#[test]
fn a_round_trip_that_is_not_measured_again_shows_no_queue() {
    let mut model = Model::new("when-needed");
    model.state.paths[0].srtt = Some(Duration::from_millis(20));
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].srtt = Some(Duration::from_millis(3182));
    model.run(30.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, []);
}

/// What lay in Wi-Fi's queue arrives after all when it is back, though LTE has carried it too: faster than anybody asks.
#[test]
fn a_backlog_that_drains_after_a_shortage_is_no_greater_demand() {
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
fn what_a_sender_sends_twice_is_no_greater_demand() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(0.6, 5.0, 0.0, 14.0);
    assert_eq!(model.given_up.len(), 1);
    // Since the subflow was given up, two megabytes that have arrived come once more.
    model.backlog += 2e6;
    model.run(1.9, 5.0, 0.0, 14.0);
    let alarms = model.switches.len();
    model.run(20.0, 5.0, 7.0, 40.0);
    assert_eq!(model.switches[alarms..].iter().filter(|(_, on)| *on).count(), 0, "{:?}", model.switches);
}

/// A queue that drains slowly when its path is back brings what others have carried long ago.
#[test]
fn what_was_stuck_is_no_greater_demand_when_it_comes_late() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(4.0, 5.0, 0.0, 40.0);
    assert_eq!(model.given_up.len(), 1);
    for _ in 0..15 {
        model.state.paths[0].bytes_down += (3.0 * MBPS) as u64;
        model.run(0.1, 5.0, 0.0, 40.0);
    }
    let before = model.switches.len();
    model.run(20.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches[before..].iter().filter(|(_, on)| *on).count(), 0, "{:?}", model.switches);
}

/// A stream over Wi-Fi that has been silent for three seconds, in which LTE carried 400 kB too much.
fn overdrawn(text: &str) -> Model {
    let mut model = Model::new(text);
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(1.0, 5.0, 0.0, 40.0);
    model.state.paths[1].bytes_down += 400_000;
    model.run(2.0, 5.0, 0.0, 40.0);
    model.run(10.0, 5.0, 40.0, 40.0);
    model
}

#[test]
fn a_path_that_has_carried_too_much_is_closed_until_a_second_is_owed() {
    let mut model = overdrawn("when-needed");
    let [(closed, false)] = model.openings[..] else { panic!("{:?}", model.openings) };
    assert!((18.0..19.0).contains(&closed), "five seconds after it was last used: {closed}");
    let lte = model.lte;
    model.run(0.9, 5.0, 0.0, 40.0);
    model.run(10.0, 5.0, 40.0, 40.0);
    assert_eq!((model.lte, model.openings.len()), (lte, 1), "a short shortage makes up for it");
    let (gone, given_up) = (model.now.as_secs_f64(), model.given_up.len());
    model.run(5.0, 5.0, 0.0, 40.0);
    let [_, (opened, true)] = model.openings[..] else { panic!("{:?}", model.openings) };
    assert!((1.0..1.2).contains(&(opened - gone)), "{opened}");
    // Only when the new subflow is there.
    assert!(model.given_up[given_up] >= opened + 0.2, "{:?}", model.given_up);
    assert!(model.most_late < 1.5, "{} s late", model.most_late);
}

#[test]
fn a_path_that_is_closed_is_opened_at_once_where_no_other_is_left() {
    let mut model = overdrawn("when-needed");
    model.state.paths[0].up = false;
    model.run(0.2, 5.0, 40.0, 40.0);
    assert!(model.lte_open && !model.state.paths[1].backup);
}

/// It may be all that a connection has, and what others could carry is not seen.
#[test]
fn a_path_is_not_closed_while_an_application_pauses() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(1.0, 5.0, 0.0, 40.0);
    model.state.paths[1].bytes_down += 400_000;
    model.run(2.0, 5.0, 0.0, 40.0);
    model.run(2.0, 5.0, 40.0, 40.0);
    model.run(60.0, 0.0, 40.0, 40.0);
    assert_eq!(model.openings, []);
}

#[test]
fn a_path_that_may_stand_by_for_ever_is_not_closed() {
    assert_eq!(overdrawn("when-needed:standby=1h").openings, []);
}

#[test]
fn a_path_that_has_carried_what_others_could_not_is_not_closed() {
    // In a silence too, of which nobody knows to a twentieth how much is missed.
    for (text, wifi, seconds) in [("when-needed", 3.0, 60.0), ("when-needed:hold=10s:silent=1h", 0.0, 9.5)] {
        let mut model = Model::new(text);
        model.run(10.0, 5.0, 40.0, 40.0);
        model.run(seconds, 5.0, wifi, 40.0);
        model.run(20.0, 5.0, 40.0, 40.0);
        assert_eq!(model.openings, [], "{text}");
    }
}

/// The other way round, what is asked for more while LTE helps is seen.
#[test]
fn a_demand_that_rises_within_a_shortage_is_learned() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(5.0, 5.0, 3.0, 40.0);
    model.run(30.0, 10.0, 3.0, 40.0);
    assert!(model.most_late < 1.0, "{} s late", model.most_late);
}

#[test]
fn a_path_that_dies_without_a_word_is_given_up_after_a_quarter_of_a_second() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(30.0, 5.0, 0.0, 40.0);
    assert_eq!(model.switches[0], (10.3, true), "the first look that is 250 ms behind");
    assert!(model.most_late <= 0.5, "{}", model.most_late);
    // Its subflow is closed then. LTE is all that is left, whatever it is marked as, and Wi-Fi is there at once when it
    // carries again.
    assert_eq!(model.given_up, [10.3]);
    assert_eq!(model.switches[1..], [(10.9, false)]);
    assert!(model.backlog == 0.0);
    let lte = model.lte;
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.lte, lte);
}

#[test]
fn a_path_that_goes_away_is_replaced_at_once_and_trusted_again_after_the_hold() {
    let mut model = Model::new("when-needed");
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].up = false;
    model.run(5.0, 5.0, 40.0, 40.0);
    model.state.paths[0].up = true;
    model.run(5.0, 5.0, 40.0, 40.0);
    assert_eq!(model.switches, [(5.0, true), (10.4, false)]);
}

#[test]
fn an_application_that_pauses_costs_ever_fewer_alarms() {
    let mut model = Model::new("when-needed");
    for _ in 0..20 {
        model.run(2.0, 5.0, 40.0, 40.0);
        model.run(1.0, 0.0, 40.0, 40.0);
    }
    let alarms: Vec<f64> = model.switches.iter().filter(|(_, on)| *on).map(|(at, _)| *at).collect();
    assert_eq!(alarms[..3], [2.3, 5.6, 11.2]);
    assert!(alarms[2..].windows(2).all(|pair| pair[1] - pair[0] > 8.0), "{alarms:?}");
    assert_eq!(model.lte, 0.0);
}

#[test]
fn an_application_that_wants_less_is_believed_after_one_alarm() {
    let mut model = Model::new("when-needed");
    model.run(10.0, 5.0, 40.0, 40.0);
    model.run(60.0, 2.0, 40.0, 40.0);
    assert_eq!(model.switches.len(), 2, "{:?}", model.switches);
}

#[test]
fn a_queue_shows_a_demand_that_was_never_met() {
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
    // Without round trips nothing shows it.
    let mut blind = Model::new("when-needed");
    blind.run(30.0, 5.0, 3.0, 40.0);
    assert_eq!(blind.switches, []);
}

#[test]
fn more_than_enough_is_not_asked_for() {
    // A download takes what there is: 40 Mbit/s, then 20.
    let mut model = Model::new("when-needed");
    model.run(5.0, 1000.0, 40.0, 40.0);
    model.run(5.0, 1000.0, 20.0, 40.0);
    assert!(!model.switches.is_empty());
    let mut model = Model::new("when-needed:enough=10Mbps");
    model.run(5.0, 1000.0, 40.0, 40.0);
    model.run(5.0, 1000.0, 20.0, 40.0);
    assert_eq!(model.switches, []);
    model.run(1.0, 1000.0, 5.0, 40.0);
    assert_eq!(model.switches, [(10.6, true), (10.8, false)], "what was owed is paid at once");
}

#[test]
fn an_interface_that_comes_and_goes_all_the_time_does_not_make_it_flap() {
    let mut model = Model::new("when-needed");
    model.run(5.0, 5.0, 40.0, 40.0);
    for _ in 0..100 {
        model.state.paths[0].up = false;
        model.run(0.1, 5.0, 4.9, 40.0);
        model.state.paths[0].up = true;
        model.run(0.6, 5.0, 4.9, 40.0);
    }
    assert!(model.switches.len() < 100, "{} in 70 s", model.switches.len());
}

#[test]
fn extreme_parameters_do_no_harm() {
    let with = |span, enough| WhenNeeded {
        late: span,
        hold: span,
        longest_hold: span,
        memory: span,
        queueing: span,
        silent: WhenNeeded::DEFAULT.silent,
        standby: span,
        enough,
    };
    let shortest = with(Duration::ZERO, Some(Bitrate::ZERO));
    let longest = with(Duration::from_secs(9_000_000_000), None);
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

    /// The fastest that anything can make it switch: on for half a second at least, and off for as long, or
    /// on for longer.
    #[test]
    fn whatever_comes_it_does_not_flap(
        looks in prop::collection::vec((1u64..300, 0u64..2_000_000, 0u64..2_000_000, 0u64..2000, prop::bool::weighted(0.9)), 1..900),
    ) {
        let mut policy = policy("when-needed");
        let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        paths[1].backup = true;
        let mut state = DeviceState { paths, app: None };
        let (mut now, mut actions, mut switches) = (Instant::ZERO, Vec::new(), Vec::new());
        let (mut open, mut given_up, mut lte_open) = (true, Vec::new(), true);
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
                        prop_assert!(state.paths[1].backup != backup, "it asks for what is so");
                        state.paths[1].backup = backup;
                        switches.push(now);
                    }
                    Action::Close { path: 0 } => {
                        prop_assert!(up && open, "it asks for what is so");
                        open = false;
                        given_up.push(now);
                    }
                    Action::Open { path: 0 } => {
                        prop_assert!(!open, "it asks for what is so");
                        open = true;
                    }
                    Action::Open { path: 1 } | Action::Close { path: 1 } => {
                        let opens = matches!(action, Action::Open { .. });
                        prop_assert!(opens != lte_open, "it asks for what is so");
                        lte_open = opens;
                    }
                    _ => panic!("{action:?}"),
                }
            }
            state.paths[0].up = up && open;
            actions.clear();
            policy.observe(now, &state, &mut actions);
            prop_assert!(lte_open || state.paths[1].backup, "what is regular is open");
            prop_assert!(actions.is_empty(), "asked twice, it has nothing to add: {actions:?}");
        }
        for (i, first) in switches.iter().enumerate() {
            let minute = switches[i..].iter().filter(|at| at.since(*first) < Duration::from_secs(60)).count();
            prop_assert!(minute <= 120, "{minute} switches in a minute");
        }
        let soonest = given_up.windows(2).map(|pair: &[Instant]| pair[1].since(pair[0])).min();
        prop_assert!(soonest.is_none_or(|soonest| soonest >= Duration::from_millis(300)), "{soonest:?}");
    }

    /// A steady stream is never behind for longer than the alarm takes, and what follows a switch.
    #[test]
    fn a_stream_that_both_paths_can_carry_is_carried(
        demand in 0.5..20.0f64,
        wifi in prop::collection::vec(0.0..40.0f64, 1..40),
    ) {
        let mut model = Model::new("when-needed");
        model.run(5.0, demand, 40.0, 60.0);
        for rate in wifi {
            model.run(1.0, demand, rate, 60.0);
        }
        // A shortage within the slack is not seen, and the demand is forgotten at a rate: see there.
        prop_assert!(model.most_late < 3.0, "{} s late", model.most_late);
        model.run(20.0, demand, 40.0, 60.0);
        prop_assert!(model.state.paths[1].backup, "LTE rests when Wi-Fi suffices");
    }
}
