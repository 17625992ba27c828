//! The policy `allowance` on a small model of a device with a limited LTE path.

use proptest::prelude::*;
use tandem_policy::InterfaceKind::{Lte, Wifi};
use tandem_policy::{Action, DataPlan, DeviceState, Ledger, PathState, Policy, PolicyConfig};
use units::{Bytes, Duration, Instant};

/// Wi-Fi without a limit, and LTE with an allowance.
struct Model {
    policy: Box<dyn Policy>,
    state: DeviceState,
    ledger: Ledger,
    now: Instant,
    open: bool,
    switches: usize,
    /// Bytes in flight over LTE with their times of arrival.
    in_flight: Vec<(Instant, u64)>,
    /// Round-trip time: a change reaches the sender, and a packet the device, after half of it.
    rtt: Duration,
    /// Whether the sender may use LTE: before a time, that time, and after it.
    sender_view: (bool, Instant, bool),
}

const STEP: Duration = Duration::from_millis(1);

impl Model {
    fn new(text: &str, allowance: u64, period: u64, rtt: Duration) -> Self {
        let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
        paths[1].srtt = Some(rtt);
        let plan = DataPlan { allowance: Bytes::new(allowance), period: Some(Duration::from_secs(period)) };
        Self {
            policy: text.parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte]),
            state: DeviceState::new(paths),
            ledger: Ledger::new(plan, Duration::ZERO),
            now: Instant::ZERO,
            open: true,
            switches: 0,
            in_flight: Vec::new(),
            rtt,
            sender_view: (true, Instant::ZERO, true),
        }
    }

    fn observe(&mut self) {
        let lte = &mut self.state.paths[1];
        let (left, until) = self.ledger.remaining(self.now, lte.bytes_down);
        (lte.allowance_left, lte.allowance_until) = (Some(left), Some(until));
        lte.queued = 0;
        let mut actions = Vec::new();
        self.policy.observe(self.now, &self.state, &mut actions);
        for action in actions {
            match action {
                Action::SetBackup { path: 1, backup } => {
                    assert_ne!(self.state.paths[1].backup, backup, "action changes nothing");
                    self.state.paths[1].backup = backup;
                }
                Action::Close { path: 1 } => self.open = false,
                Action::Open { path: 1 } => self.open = true,
                other => panic!("{other:?}"),
            }
            self.switches += 1;
        }
        self.state.paths[1].up = self.open;
        let mut repeated = Vec::new();
        self.policy.observe(self.now, &self.state, &mut repeated);
        assert_eq!(repeated, [], "second observation at the same time");
    }

    /// For `span`, LTE carries `rate` bytes per second while the sender may use it. With `failover`
    /// Wi-Fi is down, so that a backup carries too.
    fn run(&mut self, span: Duration, rate: f64, failover: bool) {
        let end = self.now + span;
        self.state.paths[0].up = !failover;
        let mut next = self.now;
        while self.now < end {
            if next <= self.now {
                self.observe();
                next = self.now + self.policy.interval().expect("allowance observes periodically");
            }
            let lte = &self.state.paths[1];
            let may = self.open && (failover || !lte.backup);
            // A change reaches the sender half a round trip later.
            if may != self.sender_view.2 {
                self.sender_view = (self.sender_view.2, self.now + self.rtt / 2, may);
            }
            let sends = if self.now >= self.sender_view.1 { self.sender_view.2 } else { self.sender_view.0 };
            if sends {
                let bytes = (rate * STEP.as_secs_f64()) as u64;
                self.in_flight.push((self.now + self.rtt / 2, bytes));
            }
            let now = self.now;
            let arrived: u64 =
                self.in_flight.iter().filter(|(at, _)| *at <= now).map(|(_, bytes)| bytes).sum();
            self.in_flight.retain(|(at, _)| *at > now);
            self.state.paths[1].bytes_down += arrived;
            self.now += STEP;
        }
    }

    fn carried(&self) -> u64 {
        self.state.paths[1].bytes_down + self.in_flight.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }
}

#[test]
fn allowance_is_spread_over_the_period() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    for tenth in 1..=9 {
        model.run(Duration::from_secs(10), 5e6, false);
        // One opening carries the data of an interval and a round trip, and saves as much before.
        let (due, opening) = (1e6 * f64::from(tenth), 5e6 * 0.4);
        let carried = model.carried() as f64;
        assert!((carried - due).abs() < opening, "{carried} of {due} after {tenth} tenths");
    }
    model.run(Duration::from_secs(10), 5e6, false);
    assert!((8_000_000..=10_000_000).contains(&model.carried()), "{}", model.carried());
}

#[test]
fn unused_allowance_may_be_used_later() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    model.run(Duration::from_secs(90), 0.0, false);
    assert_eq!(model.switches, 2, "backup at first, regular with savings");
    model.run(Duration::from_secs(5), 1e6, false);
    assert!(model.carried() >= 4_800_000, "{}", model.carried());
}

#[test]
fn unused_allowance_is_worthless_after_the_renewal() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    model.run(Duration::from_secs(100), 0.0, false);
    model.run(Duration::from_secs(50), 1e6, false);
    let carried = model.carried();
    assert!((3_000_000..=6_000_000).contains(&carried), "{carried} B in half of the second period");
}

#[test]
fn data_over_a_backup_is_charged_to_the_pace() {
    let mut model = Model::new("allowance", 10_000_000, 100, Duration::from_millis(50));
    model.run(Duration::from_secs(5), 1e6, true);
    assert!(model.carried() >= 4_500_000, "{}", model.carried());
    model.run(Duration::from_millis(100), 1e6, false);
    let before = model.carried();
    model.run(Duration::from_secs(30), 1e6, false);
    assert_eq!(model.carried(), before, "the pace of half the period is used up");
}

#[test]
fn path_is_closed_at_the_cap_until_the_renewal() {
    let mut model = Model::new("allowance", 2_000_000, 60, Duration::from_millis(50));
    model.run(Duration::from_secs(59), 1e6, true);
    assert!(!model.open);
    assert!((1_700_000..=2_003_000).contains(&model.carried()), "{}", model.carried());
    model.run(Duration::from_secs(3), 1e6, true);
    assert!(model.open || model.carried() > 3_500_000);
}

#[test]
fn path_stays_a_backup_at_the_cap_if_configured() {
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
fn paths_without_an_allowance_are_not_changed() {
    let mut policy = "allowance".parse::<PolicyConfig>().expect("a policy").build(&[Wifi, Lte]);
    let mut actions = Vec::new();
    let mut paths = vec![PathState::new(Wifi), PathState::new(Lte)];
    paths[0].backup = true;
    policy.observe(Instant::ZERO, &DeviceState::new(paths), &mut actions);
    assert_eq!(actions, []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn cap_is_exceeded_at_most_by_a_rise_between_observations(
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
        // An interval (100 ms, 20 ms near the cap), a round trip, and the model's own steps.
        let bound = highest * (0.1 + rtt.as_secs_f64() + 3.0 * STEP.as_secs_f64());
        let over = model.carried().saturating_sub(allowance);
        prop_assert!(over as f64 <= bound, "{over} over the cap, bound {bound}");
    }

    #[test]
    fn constant_rate_never_exceeds_the_cap(
        allowance in 1_000_000u64..20_000_000, rtt in 0u64..300, rate in 10e3..2e6f64, failover: bool,
    ) {
        // The rate has to be measured before the cap is reached.
        prop_assume!(rate * (0.2 + rtt as f64 * 1e-3) < allowance as f64 * 0.5);
        let mut model = Model::new("allowance", allowance, 600, Duration::from_millis(rtt));
        model.run(Duration::from_secs(60), rate, failover);
        // The model's own steps: one until the sender learns of a change, one of sending, one in
        // flight.
        let steps = (rate * 3.0 * STEP.as_secs_f64()) as u64;
        prop_assert!(model.carried() <= allowance + steps, "{} of {allowance}", model.carried());
    }
}
