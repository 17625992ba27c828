//! Targets of text formats: errors have a message, and accepted values survive a round trip.

use crate::dice::Dice;
use core::fmt::{Debug, Display};
use core::str::FromStr;
use link::{Trace, TraceFormat, TraceReading, TraceText};
use mptcp::{CongestionKind, SchedulerKind};
use papers::emtcp::calibration::Calibration;
use policy::PolicyConfig;
use qoe::{EMOS_MAX, Linear, Mok, PSNR_CLAMP_DB, PsnrSeries, Viewing, emos};
use radio::{InterfaceKind, Origin, Profile};
use scenario::{Crowd, Scenario, Setting};
use units::{Bitrate, Bytes, Duration, Energy, Power, UnitError};

/// Fuzz target: link traces in each format and with automatic detection of the format, with chosen
/// columns, changed, and written in each format.
pub fn trace(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let formats = || [None].into_iter().chain(TraceFormat::REGISTRY.iter().map(Some));
    for name in ["trace", "trace.csv", "trace.json"] {
        for column in [None, Some("1"), Some("2"), Some("3"), Some("sum_bidir_reverse"), Some("rate")] {
            let input = TraceText::new(name, text).column(column);
            for (input, format) in
                [input, input.up()].into_iter().flat_map(|input| formats().map(move |f| (input, f)))
            {
                match TraceReading::of(&input, format) {
                    Ok(reading) => check_trace(&reading.trace),
                    Err(error) => assert!(!error.expected.is_empty() && !error.found.is_empty()),
                }
            }
        }
    }
}

/// Checks that changes keep the other properties, and that a written trace reads as the same capacity.
fn check_trace(trace: &Trace) {
    let period = trace.period();
    assert!(period > Duration::ZERO, "a trace without duration");
    let summary = trace.summary();
    assert!(summary.p5 <= summary.p95 && summary.length == period, "{summary:?}");
    let start = Duration::from_nanos(period.as_nanos() / 3);
    let bytes = |trace: &Trace| trace.mean_rate().as_bps() as f64 * trace.period().as_secs_f64() / 8.0;
    let later = trace.starting_at(start);
    assert_eq!((later.period(), later.mean_rate()), (period, trace.mean_rate()), "another start");
    if let Some(cut) = trace.cut(start, start) {
        assert!(bytes(&cut) <= bytes(trace) * 1.001 + 1500.0, "a cut carries more");
    }
    trace.scaled(0.5);
    // Limits of the formats: three years, and a file of a size that a fuzzer can write often.
    let is_short = period.as_secs_f64() < 5000.0 && period > Duration::from_millis(1) && bytes(trace) < 3e7;
    for format in TraceFormat::REGISTRY.iter().filter(|_| is_short) {
        let Some(Ok(text)) = format.write.map(|write| write(trace)) else { continue };
        let again = match Trace::parse("again", &text, Some(format)) {
            Ok(again) => again,
            Err(error) => panic!("{}: {error}: {text}", format.name),
        };
        let difference = again.period().as_nanos().abs_diff(period.as_nanos());
        assert!(difference <= 1_000_000, "{}: {period} is read as {}", format.name, again.period());
        let (before, after) = (bytes(trace), bytes(&again));
        let slack = 1500.0 + before * (1e-3 + 1e6 / period.as_nanos() as f64);
        assert!((before - after).abs() <= slack, "{}: {before} bytes are read as {after}", format.name);
    }
}

/// Fuzz target: power profile of a radio.
pub fn profile(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Profile::from_toml("fuzz", text) {
        Ok(profile) => {
            assert_eq!(profile.problem(), None, "an accepted profile has no problem");
            let written = profile.to_toml();
            let again = Profile::from_toml("fuzz", &written).expect(&written);
            assert_eq!(again.to_toml(), written);
        }
        Err(problems) => assert!(!problems.is_empty(), "an error without a problem"),
    }
}

/// Fuzz target: a map of best policies.
pub fn policy_map(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match policy::Map::from_toml("fuzz", text) {
        Ok(map) => {
            let written = map.to_toml();
            let again = policy::Map::from_toml("fuzz", &written).expect(&written);
            assert_eq!(again.to_toml(), written);
        }
        Err(problems) => assert!(!problems.is_empty(), "an error without a problem"),
    }
}

/// Most devices whose values are drawn.
const MAX_DRAWN_DEVICES: usize = 100;

/// Fuzz target: scenarios of one or several devices, with the files that they name.
pub fn scenario(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else {
        let nothing = |_: &str| Err("no such file".to_owned());
        assert!(Scenario::parse_bytes("fuzz.toml", bytes, &nothing).is_err());
        return;
    };
    let files = |path: &str| match path.len() % 3 {
        0 => Err("no such file".to_owned()),
        1 => Ok("1 2\n2 3\n".to_owned()),
        _ => Ok(text.to_owned()),
    };
    let one = Scenario::parse("fuzz.toml", text, &files);
    match Scenario::parse_any("fuzz.toml", text, &files) {
        Ok(scenario) => match &scenario.crowd {
            Some(crowd) => {
                assert!(one.is_err(), "several devices are not a scenario of one");
                check_devices(&scenario, crowd);
            }
            None => assert_eq!(Ok(&scenario), one.as_ref()),
        },
        Err(problems) => assert!(!problems.is_empty() && one.is_err(), "rejected without a message"),
    }
}

/// Checks that each device is drawn once, and in the same way again.
fn check_devices(scenario: &Scenario, crowd: &Crowd) {
    if crowd.count() > MAX_DRAWN_DEVICES {
        return;
    }
    let drawn = crowd.draw(scenario.experiment.seed);
    assert_eq!((drawn.devices.len(), crowd.device_names().count()), (crowd.count(), crowd.count()));
    assert_eq!(drawn.devices, crowd.draw(scenario.experiment.seed).devices);
}

/// Fuzz target: a calibration.
pub fn calibration(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(calibration) = Calibration::parse("fuzz.toml", text) {
        let written = calibration.to_toml();
        let again = Calibration::parse("fuzz.toml", &written).expect(&written);
        assert_eq!(again.to_toml(), written);
    }
}

/// Fuzz target: quantities with units.
pub fn units(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    check_quantity(text, |bytes: Bytes| bytes.get() as f64, 0.0);
    check_quantity(text, |rate: Bitrate| rate.as_bps() as f64, 0.0);
    check_quantity(text, |time: Duration| time.as_nanos() as f64, 0.0);
    // Powers are written with a resolution of 1e-9 W.
    check_quantity(text, Power::as_watts, 1e-9);
    check_quantity(text, Energy::as_joules, 0.0);
}

/// Checks that a parsed value survives a round trip through text, up to rounding.
fn check_quantity<T>(text: &str, size: impl Fn(T) -> f64, slack: f64)
where
    T: FromStr<Err = UnitError> + Display,
{
    let read = |text: &str| text.parse::<T>();
    let value = match read(text) {
        Ok(value) => value,
        Err(error) => return check_suggestion(&error, |text| read(text).err()),
    };
    let written = value.to_string();
    let again = read(&written).unwrap_or_else(|error| panic!("{text} is written as {written}: {error}"));
    let (before, after) = (size(value), size(again));
    let close = (before - after).abs() <= slack + before.abs() * 4.0 * f64::EPSILON;
    assert!(close, "{text} is written as {written}: {before}, {after}");
}

/// Checks that the suggestion for an unknown unit has a known one.
fn check_suggestion(error: &UnitError, read: impl Fn(&str) -> Option<UnitError>) {
    let Some(suggestion) = error.suggestion() else { return };
    let quantity = suggestion.split('`').nth(1).unwrap_or_default();
    let is_known = matches!(read(quantity), None | Some(UnitError::OutOfRange { .. }));
    assert!(is_known, "{error}: {suggestion}");
}

/// Fuzz target: names of formats and algorithms, policies with parameters, and settings.
pub fn names(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    check_name::<&TraceFormat>(text);
    check_name::<InterfaceKind>(text);
    check_name::<Origin>(text);
    check_name::<SchedulerKind>(text);
    check_name::<CongestionKind>(text);
    check_setting(text);
    match text.parse::<PolicyConfig>() {
        Ok(policy) => {
            _ = policy.check(&[InterfaceKind::Wifi, InterfaceKind::Lte]);
            check_name::<PolicyConfig>(text);
        }
        Err(error) => assert!(!error.to_string().is_empty() || !error.hint().is_empty()),
    }
}

/// Checks settings of scenario keys: the result is TOML, and applying a setting twice changes
/// nothing.
fn check_setting(text: &str) {
    const SOURCE: &str = "a = 1\nb.c = [{ name = \"x\" }]\n[[d]]\nname = \"y\"\n";
    let Ok(alternatives) = Setting::alternatives(text) else { return };
    for setting in alternatives {
        match Setting::apply(core::slice::from_ref(&setting), SOURCE) {
            Ok(once) => {
                let twice = Setting::apply(core::slice::from_ref(&setting), &once);
                assert_eq!(twice.as_ref(), Ok(&once), "{setting}");
                if let Some(spans) = setting.locate(&once) {
                    assert!(once.get(spans.value).is_some(), "{setting}");
                    assert!(
                        spans.parts.into_iter().flatten().all(|key| once.get(key).is_some()),
                        "{setting}"
                    );
                }
            }
            Err(error) => assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
        }
    }
}

/// Fuzz target: quality scores of random viewings stay on their scales.
pub fn score(bytes: &[u8]) {
    let mut dice = Dice::from_bytes(bytes);
    let time = |dice: &mut Dice<'_>| Duration::from_nanos(dice.bits() >> dice.below(64));
    let rate = |dice: &mut Dice<'_>| Bitrate::from_bps(dice.bits() >> dice.below(64));
    let viewing = Viewing {
        initial: time(&mut dice),
        stalls: dice.below(1 << 32) as u32,
        stalled: time(&mut dice),
        played: time(&mut dice),
    };
    let mos = Mok { level_zero: dice.below(2) == 0, ..Mok::default() }.mos(&viewing);
    assert!((1.0..=5.0).contains(&mos), "{mos} of {viewing:?}");
    let levels: Vec<usize> = (0..dice.below(9)).map(|_| dice.below(300) as usize).collect();
    let score = emos(&levels, dice.below(260) as usize, &viewing);
    assert!(score.is_none_or(|score| (0.0..=EMOS_MAX).contains(&score)), "{score:?} of {viewing:?}");
    let mut series = PsnrSeries::new(rate(&mut dice), rate(&mut dice), PSNR_CLAMP_DB);
    let mut chunks = Vec::new();
    while !dice.is_done() && chunks.len() < 64 {
        chunks.push(rate(&mut dice));
    }
    series.extend(chunks.iter().copied());
    assert!(series.values().iter().all(|db| db.abs() <= PSNR_CLAMP_DB), "{series:?}");
    assert_eq!(series.mean().is_some(), !chunks.is_empty());
    assert!(Linear::default().score(&chunks, viewing.stalled).is_finite());
}

/// Checks that a parsed name has a canonical form, which parses to itself.
fn check_name<T: FromStr + Display + Debug + PartialEq>(text: &str)
where
    T::Err: Debug + Display,
{
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    let again = written.parse::<T>().unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(again.to_string(), written, "{text}");
}
