//! Profiles as TOML: what is written reads back, and what is wrong is pointed at.

use proptest::prelude::*;
use tandem_radio::{
    Idle, InterfaceKind, Origin, Origins, Problem, Profile, ProfileError, Pulse, Stage, profiles,
};
use units::{Duration, Power};

const GOOD: &str = r#"kind = "lte"
up_per_mbps = "438.39mW"
down_per_mbps = "51.97mW"
active = "1288.04mW"
inactivity = "100ms"
idle = { power = "0mW", pulse = { power = "594mW", width = "43ms", period = "1.28s" } }

[promotion]
power = "1210.7mW"
duration = "260.1ms"

[[tail]]
name = "long DRX"
power = "1060mW"
duration = "11s"
"#;

fn error(text: &str) -> ProfileError {
    Profile::from_toml("mine.toml", text).expect_err("it is wrong on purpose")
}

/// The good text with one replacement.
fn error_with(from: &str, to: &str) -> ProfileError {
    assert!(GOOD.contains(from), "{from}");
    error(&GOOD.replacen(from, to, 1))
}

fn shown(error: &ProfileError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

#[test]
fn every_built_in_profile_reads_back_from_its_toml() {
    for profile in profiles() {
        let text = profile.to_toml();
        assert_eq!(Profile::from_toml("other name", &text), Ok(profile), "{text}");
    }
}

#[test]
fn what_a_user_writes_is_what_is_read() {
    let profile = Profile::from_toml("mine.lte", GOOD).unwrap();
    let built_in = Profile::named("huang2012.lte").unwrap();
    assert_eq!(profile.name, "mine.lte");
    assert_eq!(profile.kind, InterfaceKind::Lte);
    assert_eq!(profile.active, built_in.active);
    assert_eq!(profile.idle, built_in.idle);
    assert_eq!(profile.promotion, built_in.promotion);
    assert_eq!(profile.tail[0].name, "long DRX");
    assert_eq!(profile.tail_time(), Duration::from_millis(11_100));
    assert_eq!(profile.origins, Origins::all(Origin::Assumed));
    let text = format!("origin = {{ rate = \"fit\" }}\n{GOOD}");
    assert_eq!(Profile::from_toml("mine.lte", &text).unwrap().origins.rate, Origin::Fit);
    let text = format!("origin = \"read\"\nname = \"n\"\n{GOOD}");
    let profile = Profile::from_toml("mine.lte", &text).unwrap();
    assert_eq!((profile.name.as_str(), profile.origins), ("n", Origins::all(Origin::Read)));
}

#[test]
fn an_unknown_key_is_named_with_the_nearest_known_one() {
    assert_eq!(
        shown(&error_with("inactivity", "inactvity")),
        "mine.toml:5:1: unknown key `inactvity`\nhint: did you mean `inactivity`?"
    );
    assert_eq!(
        shown(&error_with("width", "widht")),
        "mine.toml:6:52: unknown key `idle.pulse.widht`\nhint: did you mean `width`?"
    );
    assert_eq!(
        shown(&error_with("name = \"long DRX\"", "colour = \"red\"")),
        "mine.toml:13:1: unknown key `tail[0].colour`\nhint: known here: name, power, duration, pulse"
    );
}

#[test]
fn a_quantity_without_its_unit_is_refused() {
    assert_eq!(
        shown(&error_with("\"1288.04mW\"", "\"1288.04\"")),
        "mine.toml:4:10: `active`: `1288.04` has no unit\nhint: write a power such as `1060mW`; units: uW, mW, W"
    );
    assert_eq!(
        shown(&error_with("\"1288.04mW\"", "1288.04")),
        "mine.toml:4:10: `active` is a bare number, not a power such as \"1060mW\"\nhint: write a power such as \"1060mW\""
    );
    assert_eq!(
        shown(&error_with("\"11s\"", "\"11mW\"")),
        "mine.toml:15:12: `tail[0].duration`: `mW` is not a unit of time\nhint: write a time such as `5ms`; units: ns, us, ms, s, min, h"
    );
    assert_eq!(
        shown(&error_with("\"1060mW\"", "\"-1W\"")),
        "mine.toml:14:9: `tail[0].power`: `-1W` is out of range for power\nhint: write a power such as \"1060mW\""
    );
}

#[test]
fn a_missing_key_is_named_with_an_example() {
    assert_eq!(
        shown(&error_with("kind = \"lte\"\n", "")),
        "mine.toml:15:1: `kind` is missing\nhint: add `kind = \"lte\"`"
    );
    assert_eq!(
        shown(&error_with("duration = \"260.1ms\"\n", "")),
        "mine.toml:8:1: `promotion.duration` is missing\nhint: add `promotion.duration = \"11.5s\"`"
    );
    assert!(matches!(*error("").problem, Problem::MissingKey { .. }));
}

#[test]
fn a_value_that_cannot_be_is_refused() {
    assert_eq!(
        shown(&error_with("\"lte\"", "\"wimax\"")),
        "mine.toml:1:8: `kind` is `wimax`: expected one of wifi, lte, 3g, 5g, bluetooth, other"
    );
    assert_eq!(
        shown(&error_with("\"43ms\"", "\"2s\"")),
        "mine.toml:6:60: `idle.pulse.width` is 2s: expected at most the period, 1.28s"
    );
    assert_eq!(
        shown(&error_with("\"1.28s\"", "\"0s\"")),
        "mine.toml:6:77: `idle.pulse.period` is 0s: expected more than no time"
    );
    assert_eq!(
        shown(&error_with("[[tail]]", "[tail]")),
        "mine.toml:12:1: `tail` is a table, not a list of stages such as [{ power = \"1W\", duration = \"11s\" }]\nhint: write a list of stages such as [{ power = \"1W\", duration = \"11s\" }]"
    );
}

#[test]
fn what_is_not_toml_is_pointed_at_in_characters() {
    let error = error("kind = \"lte\"\nnote = \"é\" oops\n");
    assert_eq!((error.line, error.column), (2, 12));
    assert!(matches!(*error.problem, Problem::Syntax { .. }));
}

fn power() -> impl Strategy<Value = Power> {
    prop_oneof![
        (0.0..5_000.0_f64).prop_map(Power::from_milliwatts),
        (0.0..20.0_f64).prop_map(Power::from_watts),
        (0..3_000_u32).prop_map(|mw| Power::from_milliwatts(mw as f64)),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..1_u64 << 50).prop_map(Duration::from_nanos),
        (0..1_000_u64).prop_map(Duration::from_millis)
    ]
}

fn pulse() -> impl Strategy<Value = Option<Pulse>> {
    proptest::option::of((power(), 0..1_000_u64, 1_000..9_999_u64).prop_map(|(power, width, period)| Pulse {
        power,
        width: Duration::from_nanos(width),
        period: Duration::from_micros(period),
    }))
}

fn stage() -> impl Strategy<Value = Stage> {
    (".*", power(), prop_oneof![9 => time(), 1 => Just(Duration::MAX)], pulse())
        .prop_map(|(name, power, duration, pulse)| Stage { name, power, duration, pulse })
}

prop_compose! {
    fn profile()(
        texts in (".*[a-z]", ".*", "(?s).*"),
        kind in proptest::sample::select(InterfaceKind::ALL.to_vec()),
        origins in proptest::array::uniform6(proptest::sample::select(Origin::ALL.to_vec())),
        powers in (power(), power(), power(), power()),
        inactivity in prop_oneof![9 => time(), 1 => Just(Duration::MAX)],
        promotion in proptest::option::of(stage()),
        tail in proptest::collection::vec(stage(), 0..4),
        idle_pulse in pulse(),
    ) -> Profile {
        let [rate, active, promo, inact, tails, idle] = origins;
        Profile {
            name: texts.0,
            kind,
            source: texts.1,
            note: texts.2,
            up_per_mbps: powers.0,
            down_per_mbps: powers.1,
            active: powers.2,
            promotion,
            inactivity,
            tail,
            idle: Idle { power: powers.3, pulse: idle_pulse },
            origins: Origins { rate, active, promotion: promo, inactivity: inact, tail: tails, idle },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_profile_reads_back_to_the_last_digit(profile in profile()) {
        let text = profile.to_toml();
        prop_assert_eq!(Profile::from_toml("p", &text), Ok(profile), "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(?s).*", cut in 0..400_usize, put in "[\"{}\\[\\]=,a-z0-9\n é]{0,4}") {
        let _ = Profile::from_toml("p", &text);
        let at = (0..=cut.min(GOOD.len())).rev().find(|&i| GOOD.is_char_boundary(i)).unwrap();
        let mut mangled = GOOD.to_owned();
        mangled.insert_str(at, &put);
        if let Err(error) = Profile::from_toml("p", &mangled) {
            prop_assert!(error.line >= 1 && error.column >= 1 && error.span.end <= mangled.len());
            let _ = shown(&error);
        }
    }
}
