//! The meter against calculations by hand, and against numerical integration.

use proptest::prelude::*;
use tandem_radio::{Direction, Idle, InterfaceKind, Meter, Profile, Pulse, Stage, State, profiles};
use units::{Duration, Energy, Instant, Power};

const DOWN: Direction = Direction::Down;
const UP: Direction = Direction::Up;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn us(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

fn meter(name: &str) -> Meter {
    Meter::new(Profile::named(name).expect("it is built in")).with_timeline()
}

fn assert_joules(meter: &Meter, expected: f64) {
    let actual = meter.energy().as_joules();
    assert!((actual - expected).abs() < 1e-9, "{actual} J is not {expected} J");
}

#[test]
fn idle_interface_draws_paging_power() {
    let mut lte = meter("huang2012.lte");
    lte.advance(ms(12_800));
    assert_joules(&lte, 10.0 * 0.043 * 0.594);
    lte.advance(ms(12_820));
    assert_joules(&lte, (10.0 * 0.043 + 0.020) * 0.594);
    assert_eq!(lte.power(), Power::from_milliwatts(594.0));
    lte.advance(ms(12_850));
    assert_joules(&lte, 11.0 * 0.043 * 0.594);
    assert_eq!(lte.power(), Power::ZERO);
    assert_eq!(lte.state(), State::Idle);
    assert_eq!(lte.timeline(), [(Instant::ZERO, State::Idle)]);
}

#[test]
fn single_lte_packet_costs_promotion_and_tail() {
    let mut lte = meter("huang2012.lte");
    lte.on_packet(ms(2_000), DOWN, 1500);
    // Idle again 0.2601 + 11.576 s later: the tail counts from the end of the promotion here.
    lte.advance(us(2_000_000 + 260_100 + 11_576_000 + 1_290_000));
    let before = 2.0 * 0.043 * 0.594;
    let promotion = 0.2601 * 1.2107;
    let data = 0.012 * 0.05197;
    let active = 0.100 * 1.28804;
    let tail = 11.476 * 1.060;
    let after = (0.043 + 0.010) * 0.594;
    assert_joules(&lte, before + promotion + data + active + tail + after);
    let parts = lte.breakdown();
    assert!((parts.promotion.as_joules() - promotion).abs() < 1e-12);
    assert!((parts.data.as_joules() - data).abs() < 1e-12);
    assert!((parts.active.as_joules() - active).abs() < 1e-12);
    assert!((parts.tail.as_joules() - tail).abs() < 1e-12);
    assert!((parts.idle.as_joules() - before - after).abs() < 1e-12);
    assert_eq!(
        lte.timeline(),
        [
            (Instant::ZERO, State::Idle),
            (ms(2_000), State::Promotion),
            (us(2_260_100), State::Active),
            (us(2_360_100), State::Tail(0)),
            (us(13_836_100), State::Idle),
        ]
    );
}

#[test]
fn steady_stream_draws_base_and_rate_power() {
    // 1 Mbit/s down and 0.1 Mbit/s up for 10 s: 125 packets a second.
    let mut lte = meter("huang2012.lte");
    lte.on_packet(Instant::ZERO, DOWN, 0);
    for step in 0..1250 {
        let now = us(260_100 + step * 8_000);
        lte.on_packet(now, DOWN, 1000);
        lte.on_packet(now, UP, 100);
    }
    lte.advance(us(260_100 + 10_000_000));
    assert_joules(&lte, 0.2601 * 1.2107 + 10.0 * (1.28804 + 0.05197 + 0.1 * 0.43839));
    assert_eq!(lte.state(), State::Active);
    assert_eq!(lte.time_in(State::Active), Duration::from_secs(10));
    assert_eq!((lte.bytes(DOWN), lte.bytes(UP)), (1_250_000, 125_000));
}

#[test]
fn data_energy_is_independent_of_the_rate() {
    let run = |gap_micros: u64| {
        let mut wifi = meter("huang2012.wifi");
        for step in 0..500 {
            wifi.on_packet(us(step * gap_micros), UP, 1500);
        }
        wifi.breakdown().data
    };
    assert_eq!(run(10), run(90_000));
    assert!((run(10).as_joules() - 6.0 * 0.28317).abs() < 1e-9);
}

#[test]
fn three_g_tail_goes_through_dch_and_fach() {
    let mut three_g = meter("huang2012.3g");
    three_g.on_packet(Instant::ZERO, UP, 1250);
    let active_from = 582_060;
    let fach_from = active_from + 8_088_000;
    // A packet in FACH: active at once, without a promotion.
    three_g.on_packet(us(fach_from + 400_000), UP, 1250);
    three_g.advance(us(fach_from + 400_000 + 8_088_000 + 824_000));
    assert_eq!(three_g.state(), State::Idle);
    let promotion = 0.58206 * 0.6594;
    let active = 2.0 * 0.1 * 0.81788;
    let dch = 2.0 * 7.988 * 0.8039;
    let fach = (0.400 + 0.824) * 0.6013;
    let data = 0.02 * 0.86898;
    assert_joules(&three_g, promotion + active + dch + fach + data);
    let names: Vec<_> =
        three_g.timeline().iter().map(|(_, state)| three_g.profile().state_name(*state)).collect();
    assert_eq!(names, ["promotion", "active", "DCH", "FACH", "active", "DCH", "FACH", "idle"]);
    assert_eq!(three_g.state_name(), "idle");
}

#[test]
fn tail_has_drx_pulses() {
    let mut lte = meter("aro.lte");
    lte.on_packet(Instant::ZERO, DOWN, 0);
    lte.advance(ms(260 + 100 + 20 + 10_000));
    let short = 0.002 * 1.68 + 0.018 * 1.06;
    let long = 250.0 * (0.002 * 1.68 + 0.038 * 1.06);
    assert_joules(&lte, 0.26 * 1.21 + 0.1 * 1.2 + short + long);
    // A new tail restarts its pulses.
    let mut lte = meter("aro.lte");
    lte.on_packet(Instant::ZERO, DOWN, 0);
    lte.on_packet(ms(260 + 120 + 41), DOWN, 0);
    lte.advance(ms(260 + 120 + 41 + 120 + 1));
    let first = short + 0.041 * 1.06 + (0.002 + 0.001) * 0.62;
    let second = short + 0.001 * 1.68;
    assert_joules(&lte, 0.26 * 1.21 + 2.0 * 0.1 * 1.2 + first + second);
}

#[test]
fn packet_during_promotion_does_not_restart_it() {
    let mut lte = meter("aro.lte");
    lte.on_packet(ms(1_000), UP, 100);
    assert_eq!(lte.state(), State::Promotion);
    assert_eq!(lte.next_change(), Some(ms(1_260)));
    lte.on_packet(ms(1_250), UP, 100);
    assert_eq!(lte.next_change(), Some(ms(1_260)));
    lte.advance(ms(1_300));
    assert_eq!(lte.state(), State::Active);
    assert_eq!(lte.next_change(), Some(ms(1_360)), "inactivity runs from the end of the promotion");
    assert_eq!(lte.time_in(State::Promotion), Duration::from_millis(260));
}

#[test]
fn packet_at_the_end_of_the_inactivity_time_keeps_it_active() {
    let run = |told_before: bool| {
        let mut wifi = meter("huang2012.wifi");
        wifi.on_packet(Instant::ZERO, UP, 100);
        let end = us(79_100 + 100_000);
        if told_before {
            wifi.advance(end);
            assert_eq!(wifi.state(), State::Tail(0));
        }
        wifi.on_packet(end, UP, 100);
        assert_eq!(wifi.state(), State::Active);
        wifi.advance(us(79_100 + 200_000 + 1));
        assert_eq!(
            wifi.timeline(),
            [(Instant::ZERO, State::Promotion), (us(79_100), State::Active), (us(279_100), State::Tail(0))]
        );
        assert_eq!(wifi.active_spans().collect::<Vec<_>>(), [(us(79_100), us(279_100))]);
        wifi.energy()
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn packet_at_the_end_of_the_inactivity_time_promotes_an_interface_without_a_tail() {
    let profile = Profile {
        active: Power::from_milliwatts(100.0),
        inactivity: Duration::from_millis(100),
        promotion: Some(Stage {
            name: "promotion".to_owned(),
            power: Power::from_milliwatts(1000.0),
            duration: Duration::from_millis(10),
            pulse: None,
        }),
        ..Profile::silent("no tail", InterfaceKind::Other)
    };
    for told_before in [false, true] {
        let mut meter = Meter::new(profile.clone());
        meter.on_packet(Instant::ZERO, UP, 100);
        if told_before {
            meter.advance(ms(110));
        }
        meter.on_packet(ms(110), UP, 100);
        meter.advance(ms(1000));
        assert_joules(&meter, 2.0 * (0.010 * 1.0 + 0.100 * 0.1));
    }
}

#[test]
fn endless_inactivity_time_never_ends() {
    let mut profile = Profile::silent("on", InterfaceKind::Other);
    profile.active = Power::from_watts(2.0);
    profile.inactivity = Duration::MAX;
    let mut meter = Meter::new(profile);
    meter.on_packet(ms(500), UP, 1);
    assert_eq!(meter.next_change(), None);
    meter.advance(Instant::from_secs(1_000_000));
    meter.on_packet(Instant::from_secs(1_000_000), UP, 1);
    assert_eq!(meter.state(), State::Active);
    assert_joules(&meter, 2.0 * 999_999.5);
}

#[test]
fn zero_inactivity_leaves_data_and_tail_energy() {
    let mut profile = Profile::silent("instant", InterfaceKind::Other);
    profile.active = Power::from_watts(5.0);
    profile.up_per_mbps = Power::from_watts(1.0);
    profile.tail = vec![Stage {
        name: "tail".into(),
        power: Power::from_watts(1.0),
        duration: Duration::from_secs(1),
        pulse: None,
    }];
    let mut meter = Meter::new(profile).with_timeline();
    for step in 0..5 {
        meter.on_packet(ms(500 * step), UP, 125_000);
    }
    meter.advance(ms(10_000));
    assert_joules(&meter, 5.0 + 3.0);
    assert_eq!(meter.timeline(), [(Instant::ZERO, State::Tail(0)), (ms(3_000), State::Idle)]);
    assert_eq!(meter.active_spans().count(), 0);
}

#[test]
fn invalid_input_neither_panics_nor_reverses_time() {
    let mut profile = Profile::silent("odd", InterfaceKind::Other);
    // A period of zero, and a pulse longer than its period.
    let pulse = |width, period| {
        Some(Pulse {
            power: Power::from_watts(1.0),
            width: Duration::from_secs(width),
            period: Duration::from_secs(period),
        })
    };
    profile.idle = Idle { power: Power::ZERO, pulse: pulse(1, 0) };
    profile.promotion =
        Some(Stage { name: "p".into(), power: Power::ZERO, duration: Duration::ZERO, pulse: pulse(1, 0) });
    profile.tail = vec![Stage {
        name: "t".into(),
        power: Power::ZERO,
        duration: Duration::from_secs(4),
        pulse: pulse(3, 2),
    }];
    assert!(profile.problem().is_some());
    let mut meter = Meter::new(profile);
    meter.on_packet(ms(5_000), UP, u32::MAX);
    meter.on_packet(ms(4_000), DOWN, 1);
    assert_eq!(meter.now(), ms(5_000));
    meter.advance(ms(1_000));
    assert_eq!(meter.now(), ms(5_000));
    assert_eq!(meter.state(), State::Tail(0));
    assert_eq!(meter.time_in(State::Tail(usize::MAX)), Duration::ZERO);
    meter.advance(Instant::MAX);
    meter.on_packet(Instant::MAX, UP, 1);
    meter.advance(Instant::MAX);
    assert_joules(&meter, 4.0);
}

/// All times are multiples of 0.1 ms, so that a sum over such steps is an exact integral.
const TICK: u64 = 100_000;

fn ticks(range: core::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(|n| Duration::from_nanos(n * TICK))
}

fn power() -> impl Strategy<Value = Power> {
    (0..3_000_u32).prop_map(|mw| Power::from_milliwatts(mw as f64))
}

fn pulse() -> impl Strategy<Value = Option<Pulse>> {
    proptest::option::of((power(), ticks(0..40), ticks(40..400)).prop_map(|(power, width, period)| Pulse {
        power,
        width,
        period,
    }))
}

fn stage() -> impl Strategy<Value = Stage> {
    (power(), ticks(0..2_000), pulse()).prop_map(|(power, duration, pulse)| Stage {
        name: "s".into(),
        power,
        duration,
        pulse,
    })
}

prop_compose! {
    fn profile()(
        rates in (power(), power()),
        active in power(),
        inactivity in ticks(0..1_000),
        promotion in proptest::option::of(stage()),
        tail in proptest::collection::vec(stage(), 0..4),
        idle in (power(), pulse()),
    ) -> Profile {
        Profile {
            up_per_mbps: rates.0,
            down_per_mbps: rates.1,
            active,
            inactivity,
            promotion,
            tail,
            idle: Idle { power: idle.0, pulse: idle.1 },
            ..Profile::silent("random", InterfaceKind::Other)
        }
    }
}

/// Packets as (ticks since the previous packet, up, bytes).
fn packets() -> impl Strategy<Value = Vec<(u64, bool, u32)>> {
    let gap = prop_oneof![8 => 0..50_u64, 1 => 50..3_000_u64];
    proptest::collection::vec((gap, any::<bool>(), 0..3_000_u32), 0..40)
}

fn direction(up: bool) -> Direction {
    if up { UP } else { DOWN }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn energy_is_independent_of_the_number_of_reads(
        profile in profile(), packets in packets(), step in 1..777_u64,
    ) {
        let mut once = Meter::new(profile.clone()).with_timeline();
        let mut often = Meter::new(profile).with_timeline();
        let mut at = 0;
        let mut last = Energy::ZERO;
        for (gap, up, bytes) in packets.into_iter().chain([(10_000, true, 0)]) {
            let from = at;
            at += gap;
            for between in (from..at).step_by(step as usize) {
                often.advance(Instant::from_nanos(between * TICK + between % 7));
                let energy = often.energy();
                prop_assert!(energy >= last, "{energy} after {last}");
                last = energy;
            }
            once.on_packet(Instant::from_nanos(at * TICK), direction(up), bytes);
            often.on_packet(Instant::from_nanos(at * TICK), direction(up), bytes);
        }
        prop_assert_eq!(once.energy(), often.energy());
        prop_assert_eq!(once.breakdown(), often.breakdown());
        prop_assert_eq!(once.timeline(), often.timeline());
        prop_assert_eq!(once.active_spans().collect::<Vec<_>>(), often.active_spans().collect::<Vec<_>>());
    }

    #[test]
    fn times_in_states_add_up_to_the_total(
        profile in profile(), packets in packets(), rest in 0..10_000_u64,
    ) {
        let stages = profile.tail.len();
        let mut meter = Meter::new(profile).with_timeline();
        let mut at = 0;
        for (gap, up, bytes) in packets {
            at += gap * TICK + gap % 13;
            meter.on_packet(Instant::from_nanos(at), direction(up), bytes);
        }
        at += rest * TICK;
        meter.advance(Instant::from_nanos(at));
        let states = [State::Idle, State::Promotion, State::Active].into_iter();
        let total: u64 =
            states.chain((0..stages).map(State::Tail)).map(|s| meter.time_in(s).as_nanos()).sum();
        prop_assert_eq!(total, at);
        let active: u64 = meter.active_spans().map(|(from, to)| (to - from).as_nanos()).sum();
        prop_assert_eq!(active, meter.time_in(State::Active).as_nanos());
        for pair in meter.timeline().windows(2) {
            prop_assert!(pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1);
        }
    }

    #[test]
    fn energy_equals_the_integral_of_power(profile in profile(), packets in packets()) {
        let mut meter = Meter::new(profile.clone());
        let mut sum = 0.0;
        let mut bits = [0.0, 0.0];
        let mut at = 0;
        for (gap, up, bytes) in packets.into_iter().chain([(5_000, true, 0)]) {
            for _ in 0..gap {
                meter.advance(Instant::from_nanos(at * TICK));
                sum += meter.power().as_watts() * TICK as f64 * 1e-9;
                at += 1;
            }
            meter.on_packet(Instant::from_nanos(at * TICK), direction(up), bytes);
            bits[usize::from(up)] += bytes as f64 * 8e-6;
        }
        let data = bits[1] * profile.up_per_mbps.as_watts() + bits[0] * profile.down_per_mbps.as_watts();
        let energy = meter.energy().as_joules();
        prop_assert!((energy - sum - data).abs() < 1e-9 * (1.0 + energy), "{energy} {sum} {data}");
    }
}

#[test]
fn built_in_profiles_match_the_integral_of_power() {
    for profile in profiles() {
        let mut meter = Meter::new(profile.clone());
        let tick = 20_000; // 0.02 ms divides every time in the profiles
        let mut sum = 0.0;
        for step in 0..1_500_000_u64 {
            let now = Instant::from_nanos(step * tick);
            meter.advance(now);
            if matches!(step, 100_000 | 100_500 | 103_000 | 700_000) {
                meter.on_packet(now, DOWN, 0);
            }
            sum += meter.power().as_watts() * tick as f64 * 1e-9;
        }
        meter.advance(Instant::from_nanos(1_500_000 * tick));
        let energy = meter.energy().as_joules();
        assert!((energy - sum).abs() < 1e-7, "{}: {energy} {sum}", profile.name);
    }
}
