use super::*;
use proptest::prelude::*;

const UTC: &Zone = &Zone(TimeZone::UTC);
const DAY: i64 = 86_400;

pub(super) fn at(year: i16, month: i8, day: i8, hour: i64) -> i64 {
    UTC.midnight(Date::constant(year, month, day)) + hour * 3600
}

#[test]
fn dates_match_the_calendar() {
    // Values of `date -u -d @...`.
    assert_eq!(at(1970, 1, 1, 0), 0);
    assert_eq!(at(2000, 2, 29, 12), 951_825_600);
    assert_eq!(at(2024, 1, 1, 0), EARLIEST_VALID_TIME);
    assert_eq!(at(2026, 11, 1, 0), 1_793_491_200);
    assert_eq!(at(2100, 3, 1, 0), 4_107_542_400);
}

#[test]
fn periods_start_on_their_day() {
    let cases = [
        (Period::Day, at(2026, 11, 22, 3), at(2026, 11, 22, 0), at(2026, 11, 23, 0)),
        // 22 November 2026 is a Sunday.
        (Period::Week { from: 1 }, at(2026, 11, 22, 3), at(2026, 11, 16, 0), at(2026, 11, 23, 0)),
        (Period::Week { from: 7 }, at(2026, 11, 22, 3), at(2026, 11, 22, 0), at(2026, 11, 29, 0)),
        (Period::Month { from: 1 }, at(2026, 11, 22, 3), at(2026, 11, 1, 0), at(2026, 12, 1, 0)),
        (Period::Month { from: 23 }, at(2026, 11, 22, 3), at(2026, 10, 23, 0), at(2026, 11, 23, 0)),
        (Period::Month { from: 15 }, at(2026, 1, 3, 0), at(2025, 12, 15, 0), at(2026, 1, 15, 0)),
        // A month without that day uses its last day.
        (Period::Month { from: 31 }, at(2026, 3, 1, 0), at(2026, 2, 28, 0), at(2026, 3, 31, 0)),
        (Period::Month { from: 30 }, at(2028, 3, 5, 0), at(2028, 2, 29, 0), at(2028, 3, 30, 0)),
    ];
    for (period, now, start, next) in cases {
        assert_eq!((period.start(now, UTC), period.next(start, UTC)), (start, next), "{period:?}");
    }
    let zone: Zone = "+05:30".parse().unwrap();
    assert_eq!(Period::Day.start(at(2026, 11, 22, 20), &zone), at(2026, 11, 22, 18) + 1800);
    for wrong in ["", "1", "+1:00", "01:00", "+15:00", "+01:60", "+01", "+0a:00", "é1:00"] {
        assert_eq!(wrong.parse::<Zone>(), Err(()), "{wrong}");
    }
}

fn five_gb() -> Allowance {
    Allowance { data: Bytes::new(5_000_000_000), period: Period::Month { from: 1 }, at_cap: CapAction::Close }
}

#[test]
fn new_period_resets_usage_unless_clock_is_wrong() {
    let mut usage = Usage { used: 700, ..Usage::default() };
    let allowance = five_gb();
    assert!(!usage.advance(&allowance, at(2026, 11, 22, 0), UTC, |_| false));
    assert_eq!(usage.period, at(2026, 11, 1, 0));
    // Without a battery-backed clock, time starts in 1970 until it is set.
    assert!(!usage.advance(&allowance, 1_000, UTC, |_| false));
    assert!(!usage.advance(&allowance, at(2026, 11, 23, 0), UTC, |_| false));
    assert_eq!((usage.used, usage.period), (700, at(2026, 11, 1, 0)));
    assert!(usage.advance(&allowance, at(2026, 12, 1, 0), UTC, |_| false));
    assert_eq!((usage.used, usage.period), (0, at(2026, 12, 1, 0)));
    // The clock is set back across the boundary, to the usage of the earlier period.
    usage.used = 9;
    assert!(!usage.advance(&allowance, at(2026, 11, 30, 23), UTC, |_| false));
    assert_eq!((usage.used, usage.period), (700, at(2026, 11, 1, 0)));
    // The first period started before the clock was set.
    let mut early = Usage::default();
    assert!(!early.advance(&allowance, 5_000_000, UTC, |_| false));
    early.used = 40;
    assert!(!early.advance(&allowance, at(2026, 11, 22, 0), UTC, |_| false));
    assert_eq!(early.used, 40);
}

#[test]
fn changed_zone_or_first_day_keeps_the_usage_of_the_present_period() {
    let (now, november) = (at(2026, 11, 28, 12), at(2026, 11, 1, 0));
    let month = |from| Allowance { period: Period::Month { from }, ..five_gb() };
    for (from, zone) in [(1, "+01:00"), (1, "-05:00"), (1, "Asia/Tokyo"), (15, "+00:00"), (29, "+00:00")] {
        let zone: Zone = zone.parse().unwrap();
        let (allowance, before) = (month(from), OtherPeriod::default());
        let others = [(at(2026, 10, 1, 0), before)].into();
        let mut usage = Usage { used: 700, period: november, others, ..Usage::default() };
        // The clock is not set yet.
        usage.advance(&allowance, 1_000, &zone, |_| false);
        assert!(!usage.advance(&allowance, now, &zone, |_| false), "from {from}, {zone:?}");
        let start = allowance.period.start(now, &zone);
        assert_eq!((usage.used, usage.period, usage.others.len()), (700, start, 0), "from {from}, {zone:?}");
        assert!(usage.advance(&allowance, allowance.period.next(start, &zone), &zone, |_| false));
        assert_eq!(usage.used, 0, "from {from}, {zone:?}");
    }
    let mut usage = Usage { used: 700, period: at(2026, 8, 1, 0), ..Usage::default() };
    assert!(usage.advance(&month(15), now, UTC, |_| false));
    assert_eq!(usage.used, 0, "August is over by any calendar");
}

#[test]
fn month_that_was_limited_by_day_for_a_while_keeps_its_usage() {
    let month = five_gb();
    let day = Allowance { period: Period::Day, ..month };
    let mut usage = Usage { used: 100, period: at(2026, 10, 1, 0), ..Usage::default() };
    usage.advance(&month, at(2026, 11, 1, 0), UTC, |_| false);
    usage.used = 700;
    for (nth, bytes) in [(27, 20), (28, 3)] {
        usage.advance(&day, at(2026, 11, nth, 12), UTC, |_| false);
        assert_eq!(usage.used, 0);
        usage.used = bytes;
    }
    usage.advance(&month, at(2026, 11, 28, 13), UTC, |_| false);
    assert_eq!((usage.used, usage.period), (723, at(2026, 11, 1, 0)), "without October");
}

#[test]
fn zone_of_the_tz_database_has_daylight_saving_time() {
    let berlin: Zone = "Europe/Berlin".parse().unwrap();
    // Midnight is 23:00 UTC in winter and 22:00 UTC in summer.
    let month = Period::Month { from: 1 };
    assert_eq!(month.start(at(2026, 3, 10, 0), &berlin), at(2026, 2, 28, 23));
    assert_eq!(month.start(at(2026, 4, 10, 0), &berlin), at(2026, 3, 31, 22));
    // 29 March 2026 has 23 hours, 25 October has 25.
    let length = |day: i64| Period::Day.next(day, &berlin) - Period::Day.start(day, &berlin);
    assert_eq!(length(at(2026, 3, 28, 23)), 23 * 3600);
    assert_eq!(length(at(2026, 10, 24, 22)), 25 * 3600);
    assert_eq!("Europe/Berlinn".parse::<Zone>(), Err(()));
    assert_eq!("../../etc/passwd".parse::<Zone>(), Err(()));
}

#[test]
fn period_that_a_wrong_clock_began_is_merged_when_it_is_set_back() {
    let allowance = five_gb();
    let (november, year_later) = (at(2026, 11, 22, 0), at(2027, 11, 22, 0));
    let mut usage = Usage { used: 700, period: at(2026, 11, 1, 0), ..Usage::default() };
    assert!(usage.advance(&allowance, year_later, UTC, |_| true));
    assert_eq!(usage.used, 0);
    usage.used = 20;
    assert!(!usage.advance(&allowance, november, UTC, |_| false));
    assert_eq!((usage.used, usage.period), (720, at(2026, 11, 1, 0)));
    // An hour back over the start of December and ahead again.
    assert!(usage.advance(&allowance, at(2026, 12, 1, 0), UTC, |_| false));
    usage.used = 5;
    usage.advance(&allowance, at(2026, 11, 30, 23), UTC, |_| false);
    assert_eq!(usage.used, 720);
    usage.advance(&allowance, at(2026, 12, 1, 1), UTC, |_| false);
    assert_eq!(usage.used, 5);
}

/// Advances to `now` by a jump of the clock, then uses `bytes`.
pub(super) fn jump(usage: &mut Usage, now: i64, bytes: u64) -> u64 {
    usage.advance(&five_gb(), now, UTC, |_| true);
    usage.used += bytes;
    usage.used
}

#[test]
fn traffic_at_a_wrong_clock_moves_to_the_right_period_once() {
    let (october, november) = (at(2026, 10, 20, 0), at(2026, 11, 22, 0));
    // The machine is off at each midnight, so every period begins by a jump.
    let mut usage = Usage { used: 100, period: at(2026, 9, 1, 0), ..Usage::default() };
    assert_eq!(jump(&mut usage, october, 300), 300);
    assert_eq!(jump(&mut usage, november, 700), 700);
    // Set back to an unknown period and to a known one.
    assert_eq!(jump(&mut usage, at(2025, 6, 1, 0), 5), 705);
    assert_eq!(jump(&mut usage, november, 10), 715);
    jump(&mut usage, october, 5);
    assert_eq!(jump(&mut usage, november, 10), 730);
    // A battery that is empty: each boot shows another year until the clock is set.
    for (nth, year) in (2030..2040).chain([2030; 5]).enumerate() {
        jump(&mut usage, at(year, 1, 1, 0), 20);
        assert_eq!(jump(&mut usage, november, 1), 730 + 21 * (nth as u64 + 1), "{year}");
    }
    jump(&mut usage, at(2030, 1, 1, 0), 20);
    assert_eq!(jump(&mut usage, at(2026, 12, 3, 0), 2), 22, "December");
    assert_eq!(jump(&mut usage, at(2027, 1, 3, 0), 3), 3, "January");
    // The first period of all began in a wrong year.
    let mut usage = Usage::default();
    jump(&mut usage, at(2030, 1, 1, 0), 40);
    assert_eq!(jump(&mut usage, november, 1), 41);
    assert_eq!(jump(&mut usage, at(2026, 12, 3, 0), 2), 2, "December");
}

#[test]
fn period_that_began_by_a_jump_survives_two_wrong_clocks() {
    let (november, december, january) = (at(2026, 11, 22, 0), at(2026, 12, 5, 0), at(2027, 1, 9, 0));
    // The machine is off at midnight, so December begins by a jump.
    let mut usage = Usage { used: 100, period: at(2026, 11, 1, 0), ..Usage::default() };
    assert_eq!(jump(&mut usage, december, 700), 700);
    jump(&mut usage, january, 20);
    jump(&mut usage, november, 5);
    assert_eq!(jump(&mut usage, december, 3), 708, "wrong clocks of January and November");
}

#[test]
fn traffic_that_moved_to_the_right_period_does_not_count_in_the_wrong_one_too() {
    let allowance = five_gb();
    let (november, january) = (at(2026, 11, 22, 0), at(2027, 1, 20, 0));
    let mut usage = Usage { used: 100, period: at(2026, 11, 1, 0), ..Usage::default() };
    for _ in 0..2 {
        jump(&mut usage, january, 5_000);
        jump(&mut usage, november, 0);
    }
    assert_eq!(usage.used, 10_100);
    for start in [at(2026, 12, 1, 0), at(2027, 1, 1, 0)] {
        usage.advance(&allowance, start, UTC, |_| false);
        assert_eq!(usage.used, 0, "a period that the clock reaches second by second");
        usage.used = 7;
    }
    // The usage from before a jump into a period belongs to it.
    jump(&mut usage, at(2026, 12, 31, 0), 1);
    jump(&mut usage, january, 20);
    jump(&mut usage, at(2026, 12, 31, 0), 1);
    usage.advance(&allowance, at(2027, 1, 1, 0), UTC, |_| false);
    assert_eq!(usage.used, 8, "January and the traffic of the first wrong clock");
}

proptest! {
    #[test]
    fn period_contains_its_time(
        now in -4_000_000_000_i64..300_000_000_000, from in 1_u8..=31, kind in 0..3, zone in -14_i64..=14,
    ) {
        let period = match kind {
            0 => Period::Day,
            1 => Period::Week { from: from.min(7) },
            _ => Period::Month { from },
        };
        let zone = &Zone(TimeZone::fixed(jiff::tz::Offset::constant(zone as i8)));
        let now = now.clamp(60 * DAY, LATEST_TIME);
        let start = period.start(now, zone);
        let next = period.next(start, zone);
        prop_assert!(start <= now && now < next, "{start} {now} {next}");
        prop_assert_eq!(period.start(start, zone), start);
        prop_assert_eq!(period.start(next - 1, zone), start);
        prop_assert!((DAY..=31 * DAY).contains(&(next - start)));
    }
}
