//! The policy `allowance` against a small model of a path, and against any traffic.

use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, DataPlan, DeviceState, Ledger, PathState, Policy, PolicyConfig};
use units::{Bytes, Duration, Instant};

/// Wi-Fi without a limit, and LTE with one, which carries what is asked of it while it may.
struct Model {
    policy: Box<dyn Policy>,
    state: DeviceState,
    ledger: Ledger,
    now: Instant,
    open: bool,
    switches: usize,
    /// Sent over LTE and not there yet: when it will be, and bytes.
    under_way: Vec<(Instant, u64)>,
    /// A sender is told of a change, and what it has sent arrives, after half of this each.
    rtt: Duration,
    /// The sender's view of LTE, and from when on.
    heard: (bool, Instant, bool),
}

const STEP: Duration = Duration::from_millis(1);

impl Model {
    fn new(text: &str, allowance: u64, period: u64, rtt: Duration) -> Self {
        let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        paths[1].srtt = Some(rtt);
        let plan = DataPlan { allowance: Bytes::new(allowance), period: Some(Duration::from_secs(period)) };
        Self {
            policy: text.parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte]),
            state: DeviceState { paths, app: None },
            ledger: Ledger::new(plan, Duration::ZERO),
            now: Instant::ZERO,
            open: true,
            switches: 0,
            under_way: Vec::new(),
            rtt,
            heard: (true, Instant::ZERO, true),
        }
    }

    fn look(&mut self) {
        let lte = &mut self.state.paths[1];
        let (left, until) = self.ledger.look(self.now, lte.bytes_down);
        (lte.allowance_left, lte.allowance_until) = (Some(left), Some(until));
        lte.queued = 0;
        let mut actions = Vec::new();
        self.policy.observe(self.now, &self.state, &mut actions);
        for action in actions {
            match action {
                Action::SetBackup { path: 1, backup } => {
                    assert_ne!(self.state.paths[1].backup, backup, "it asks for what is so");
                    self.state.paths[1].backup = backup;
                }
                Action::Close { path: 1 } => self.open = false,
                Action::Open { path: 1 } => self.open = true,
                other => panic!("{other:?}"),
            }
            self.switches += 1;
        }
        self.state.paths[1].up = self.open;
        let mut again = Vec::new();
        self.policy.observe(self.now, &self.state, &mut again);
        assert_eq!(again, [], "asked twice, it has nothing to add");
    }

    /// For `span`, LTE carries `rate` bytes a second while the sender may use it. `failover`: Wi-Fi is away,
    /// so that a backup carries too.
    fn run(&mut self, span: Duration, rate: f64, failover: bool) {
        let end = self.now + span;
        self.state.paths[0].up = !failover;
        let mut next = self.now;
        while self.now < end {
            if next <= self.now {
                self.look();
                next = self.now + self.policy.interval().expect("it looks again and again");
            }
            let lte = &self.state.paths[1];
            let may = self.open && (failover || !lte.backup);
            // What is decided now is heard half a round trip later.
            if may != self.heard.2 {
                self.heard = (self.heard.2, self.now + self.rtt / 2, may);
            }
            let sends = if self.now >= self.heard.1 { self.heard.2 } else { self.heard.0 };
            if sends {
                let bytes = (rate * STEP.as_secs_f64()) as u64;
                self.under_way.push((self.now + self.rtt / 2, bytes));
            }
            let now = self.now;
            let arrived: u64 =
                self.under_way.iter().filter(|(at, _)| *at <= now).map(|(_, bytes)| bytes).sum();
            self.under_way.retain(|(at, _)| *at > now);
            self.state.paths[1].bytes_down += arrived;
            self.now += STEP;
        }
    }

    fn carried(&self) -> u64 {
        self.state.paths[1].bytes_down + self.under_way.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }
}

#[test]
fn what_is_left_is_spread_over_the_period() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    for tenth in 1..=9 {
        model.run(Duration::from_secs(10), 5e6, false);
        // One opening takes what comes in a look and a round trip, and saves as much beforehand.
        let (due, opening) = (1e6 * f64::from(tenth), 5e6 * 0.4);
        let carried = model.carried() as f64;
        assert!((carried - due).abs() < opening, "{carried} of {due} after {tenth} tenths");
    }
    model.run(Duration::from_secs(10), 5e6, false);
    assert!((8_000_000..=10_000_000).contains(&model.carried()), "{}", model.carried());
}

#[test]
fn what_nobody_wanted_may_be_used_later() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    model.run(Duration::from_secs(90), 0.0, false);
    assert_eq!(model.switches, 2, "backup at first, and regular when something has been saved");
    model.run(Duration::from_secs(5), 1e6, false);
    assert!(model.carried() >= 4_800_000, "{}", model.carried());
}

#[test]
fn a_backup_may_go_beyond_the_pace_and_the_pace_makes_up_for_it() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    model.run(Duration::from_secs(5), 1e6, true);
    assert!(model.carried() >= 4_500_000, "{}", model.carried());
    model.run(Duration::from_millis(100), 1e6, false);
    let before = model.carried();
    model.run(Duration::from_secs(30), 1e6, false);
    assert_eq!(model.carried(), before, "it has used up the pace of half the time");
}

#[test]
fn at_the_cap_it_is_closed_and_opened_when_there_is_more() {
    let mut model = Model::new("allowance", 2_000_000, 60, Duration::from_millis(50));
    model.run(Duration::from_secs(59), 1e6, true);
    assert!(!model.open);
    assert!((1_700_000..=2_003_000).contains(&model.carried()), "{}", model.carried());
    model.run(Duration::from_secs(3), 1e6, true);
    assert!(model.open || model.carried() > 3_500_000);
}

#[test]
fn who_wishes_to_stay_connected_is_at_the_cap() {
    let mut model = Model::new("allowance:backup", 2_000_000, 60, Duration::from_millis(50));
    model.run(Duration::from_secs(30), 1e6, true);
    assert!(model.open && model.state.paths[1].backup);
    assert!(model.carried() > 20_000_000);
    model.run(Duration::from_millis(100), 1e6, false);
    let before = model.carried();
    model.run(Duration::from_secs(28), 1e6, false);
    assert_eq!(model.carried(), before);
}

#[test]
fn paths_without_a_limit_are_left_alone() {
    let mut policy = "allowance".parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte]);
    let mut actions = Vec::new();
    let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
    paths[0].backup = true;
    policy.observe(Instant::ZERO, &DeviceState { paths, app: None }, &mut actions);
    assert_eq!(actions, []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_cap_is_exceeded_by_no_more_than_a_rise_between_two_looks(
        allowance in 100_000u64..20_000_000,
        rtt in 0u64..300,
        spells in prop::collection::vec((10u64..3000, 0.0..10e6f64, any::<bool>()), 1..40),
    ) {
        let rtt = Duration::from_millis(rtt);
        let mut model = Model::new("allowance", allowance, 3600, rtt);
        let mut highest: f64 = 0.0;
        for (millis, rate, failover) in spells {
            model.run(Duration::from_millis(millis), rate, failover);
            highest = highest.max(rate);
        }
        // A look (100 ms, or 20 near the cap), a round trip, and the model's own steps.
        let bound = highest * (0.1 + rtt.as_secs_f64() + 3.0 * STEP.as_secs_f64());
        let over = model.carried().saturating_sub(allowance);
        prop_assert!(over as f64 <= bound, "{over} over, {bound} at most");
    }

    #[test]
    fn a_steady_rate_never_exceeds_the_cap(
        allowance in 1_000_000u64..20_000_000, rtt in 0u64..300, rate in 10e3..2e6f64, failover: bool,
    ) {
        // Long enough to have been seen before the cap.
        prop_assume!(rate * (0.2 + rtt as f64 * 1e-3) < allowance as f64 * 0.5);
        let mut model = Model::new("allowance", allowance, 600, Duration::from_millis(rtt));
        model.run(Duration::from_secs(60), rate, failover);
        // To what the model's steps add: one until a change is heard, one of sending, one on the way.
        let steps = (rate * 3.0 * STEP.as_secs_f64()) as u64;
        prop_assert!(model.carried() <= allowance + steps, "{} of {allowance}", model.carried());
    }
}
