//! Profiles as TOML: round trips, and the problems that the reader reports.

use proptest::prelude::*;
use schema::Diagnostic;
use tandem_radio::{Idle, InterfaceKind, Origin, Origins, Profile, Pulse, Stage, profiles};
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

fn problems(text: &str) -> Vec<Diagnostic> {
    Profile::from_toml("mine.toml", text).expect_err("the text has a problem")
}

/// The problems of the good text with one replacement, a line for each.
fn problems_with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    shown(&problems(&GOOD.replacen(from, to, 1)))
}

fn shown(problems: &[Diagnostic]) -> String {
    let lines = problems.iter().map(|problem| {
        let hint = problem.hint.as_deref().unwrap_or_default();
        let Diagnostic { file, line, column, message, .. } = problem;
        format!("{file}:{line}:{column}: {message} ({hint})")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_built_in_profile_reads_back_from_its_toml() {
    for profile in profiles() {
        let text = profile.to_toml();
        assert_eq!(Profile::from_toml("other name", &text), Ok(profile), "{text}");
    }
}

#[test]
fn reader_returns_the_written_values() {
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
fn unknown_key_gets_the_most_similar_key_as_hint() {
    assert_eq!(
        problems_with("inactivity", "inactvity"),
        "mine.toml:5:1: unknown key `inactvity` in a radio profile (did you mean `inactivity`?)"
    );
    assert_eq!(
        problems_with("width", "widht"),
        "mine.toml:6:52: unknown key `widht` in a pulse (did you mean `width`?)"
    );
    assert_eq!(
        problems_with("name = \"long DRX\"", "colour = \"red\""),
        "mine.toml:13:1: unknown key `colour` in a stage (remove it: it has no effect)"
    );
}

#[test]
fn quantity_without_unit_is_refused() {
    assert_eq!(
        problems_with("\"1288.04mW\"", "\"1288.04\""),
        "mine.toml:4:10: `1288.04` has no unit (`active = \"1288.04mW\"`)"
    );
    assert_eq!(
        problems_with("\"1288.04mW\"", "1288.04"),
        "mine.toml:4:10: `1288.04` has no unit (add the unit, in quotes: `active = \"1288.04mW\"`)"
    );
    assert_eq!(
        problems_with("\"11s\"", "\"11mW\""),
        "mine.toml:15:12: `mW` is not a unit of a time (for example `duration = \"11.5s\"`)"
    );
    assert_eq!(
        problems_with("\"1060mW\"", "\"-1W\""),
        "mine.toml:14:9: `-1W` is negative (for example `power = \"1060mW\"`)"
    );
    let [problem] = &problems(&GOOD.replace("\"11s\"", "\"11\""))[..] else { panic!("one problem") };
    assert_eq!(
        problem.expected.as_deref(),
        Some("`endless`, or a time such as `\"5ms\"`; units: ns, us, ms, s, min, h")
    );
}

#[test]
fn missing_key_is_reported_with_an_example() {
    assert_eq!(
        problems_with("kind = \"lte\"\n", ""),
        "mine.toml:1:1: a radio profile needs `kind` (add `kind = \"lte\"`: Technology of the interface. \
         For policies, cellular and satellite links are costly.)"
    );
    assert_eq!(
        problems_with("duration = \"260.1ms\"\n", ""),
        "mine.toml:8:1: a stage needs `duration` (add `duration = \"11.5s\"`: Length of the state if no \
         packet ends it.)"
    );
}

#[test]
fn every_problem_is_reported_at_once() {
    let messages: Vec<String> = problems("").into_iter().map(|problem| problem.message).collect();
    let keys = ["kind", "up_per_mbps", "down_per_mbps", "active", "inactivity"];
    assert_eq!(messages, keys.map(|key| format!("a radio profile needs `{key}`")));
}

#[test]
fn impossible_value_is_refused() {
    assert_eq!(
        problems_with("\"lte\"", "\"wimax\""),
        "mine.toml:1:8: `kind` cannot be `wimax` (for example `kind = \"lte\"`)"
    );
    assert_eq!(
        problems_with("\"43ms\"", "\"2s\""),
        "mine.toml:6:60: `width` is 2s, longer than `period` of 1.28s (a pulse lasts for a part of its period)"
    );
    assert_eq!(
        problems_with("\"1.28s\"", "\"0s\""),
        "mine.toml:6:77: `period` is zero (for example `period = \"1.28s\"`)"
    );
    assert_eq!(
        problems_with("\"260.1ms\"", "\"endless\""),
        "mine.toml:10:12: an endless promotion never becomes active ()"
    );
    assert_eq!(
        problems_with("[[tail]]", "[tail]"),
        "mine.toml:12:1: `tail` is a table (use double brackets: `[[tail]]`, once for each)"
    );
    assert_eq!(
        shown(&problems(&format!("name = \" \"\n{GOOD}"))),
        "mine.toml:1:8: `name` is empty (without `name` the profile is called after its path or file)"
    );
}

#[test]
fn toml_error_is_located_in_characters() {
    let found = problems("kind = \"lte\"\nnote = \"é\" oops\n");
    assert_eq!((found[0].line, found[0].column), (2, 12));
    assert!(found[0].message.starts_with("TOML: "), "{}", found[0].message);
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

fn finite_stage() -> impl Strategy<Value = Stage> {
    (stage(), time()).prop_map(|(stage, duration)| Stage { duration, ..stage })
}

prop_compose! {
    fn profile()(
        texts in (".*[a-z]", ".*", "(?s).*"),
        kind in proptest::sample::select(InterfaceKind::ALL.to_vec()),
        origins in proptest::array::uniform6(proptest::sample::select(Origin::ALL.to_vec())),
        powers in (power(), power(), power(), power()),
        inactivity in prop_oneof![9 => time(), 1 => Just(Duration::MAX)],
        promotion in proptest::option::of(finite_stage()),
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
    fn any_profile_reads_back_exactly(profile in profile()) {
        let text = profile.to_toml();
        prop_assert_eq!(Profile::from_toml("p", &text), Ok(profile), "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).*", cut in 0..400_usize, put in "[\"{}\\[\\]=,a-z0-9\n é]{0,4}") {
        let _ = Profile::from_toml("p", &text);
        let at = (0..=cut.min(GOOD.len())).rev().find(|&i| GOOD.is_char_boundary(i)).unwrap();
        let mut mangled = GOOD.to_owned();
        mangled.insert_str(at, &put);
        if let Err(found) = Profile::from_toml("p", &mangled) {
            prop_assert!(!found.is_empty());
            for problem in &found {
                prop_assert!(problem.line >= 1 && problem.column >= 1 && problem.span.end <= mangled.len());
                let _ = problem.to_string();
            }
        }
    }
}
