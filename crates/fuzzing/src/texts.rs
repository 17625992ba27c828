//! Texts that people write: what is wrong is told, what is right is read the same again.

use crate::Dice;
use core::fmt::{Debug, Display};
use core::str::FromStr;
use link::{Trace, TraceFormat};
use mptcp::{CongestionKind, SchedulerKind};
use papers::emtcp::calibration::Calibration;
use policy::{Actuator, PolicyConfig};
use qoe::{Linear, Mok, PSNR_CLAMP_DB, PsnrSeries, Viewing};
use radio::{InterfaceKind, Origin, Profile};
use scenario::{Scenario, Setting};
use units::{Bitrate, Bytes, Duration, Energy, Power};

/// A link trace in each format, and as what it looks like.
pub fn trace(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let guesses = ["trace", "trace.csv", "trace.json"].map(|name| Trace::parse(name, text, None));
    let read = TraceFormat::ALL.into_iter().map(|format| Trace::parse("trace", text, Some(format)));
    for trace in read.chain(guesses).flatten() {
        assert!(trace.period() > Duration::ZERO, "a trace of no time");
        trace.mean_rate();
    }
}

/// A radio's power profile.
pub fn profile(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    match Profile::from_toml("fuzz", text) {
        Ok(profile) => {
            assert_eq!(profile.problem(), None, "it was read");
            let written = profile.to_toml();
            let again = Profile::from_toml("fuzz", &written).expect(&written);
            assert_eq!(again.to_toml(), written);
        }
        Err(problems) => assert!(!problems.is_empty(), "an error without a problem"),
    }
}

/// A scenario, whose files are other parts of the same text.
pub fn scenario(bytes: &[u8]) {
    let files = |path: &str| match path.len() % 3 {
        0 => Err("no such file".to_owned()),
        1 => Ok("1 2\n2 3\n".to_owned()),
        _ => Ok(String::from_utf8_lossy(bytes).into_owned()),
    };
    match Scenario::parse_bytes("fuzz.toml", bytes, &files) {
        Ok(scenario) => assert_eq!(Ok(&scenario), Scenario::parse_bytes("fuzz.toml", bytes, &files).as_ref()),
        Err(problems) => assert!(!problems.is_empty(), "wrong, and nothing to say about it"),
    }
}

/// A calibration.
pub fn calibration(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if let Ok(calibration) = Calibration::parse("fuzz.toml", text) {
        let written = calibration.to_toml();
        let again = Calibration::parse("fuzz.toml", &written).expect(&written);
        assert_eq!(again.to_toml(), written);
    }
}

/// Quantities with their units.
pub fn units(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    keeps(text, |bytes: Bytes| bytes.get() as f64, 0.0);
    keeps(text, |rate: Bitrate| rate.as_bps() as f64, 0.0);
    keeps(text, |time: Duration| time.as_nanos() as f64, 0.0);
    // Written with a millionth of a milliwatt.
    keeps(text, Power::as_watts, 1e-9);
    keeps(text, Energy::as_joules, 0.0);
}

/// What is read is read again from what is written, but for the last digit of a float.
fn keeps<T: FromStr + Display>(text: &str, size: impl Fn(T) -> f64, slack: f64)
where
    T::Err: Display,
{
    let read = |text: &str| text.parse::<T>();
    let Ok(value) = read(text) else { return };
    let written = value.to_string();
    let again = read(&written).unwrap_or_else(|error| panic!("{text} is written as {written}: {error}"));
    let (before, after) = (size(value), size(again));
    let close = (before - after).abs() <= slack + before.abs() * 4.0 * f64::EPSILON;
    assert!(close, "{text} is written as {written}: {before}, {after}");
}

/// Names, and policies with what is behind theirs.
pub fn names(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    settles::<TraceFormat>(text);
    settles::<InterfaceKind>(text);
    settles::<Origin>(text);
    settles::<SchedulerKind>(text);
    settles::<CongestionKind>(text);
    settles::<Actuator>(text);
    setting(text);
    match text.parse::<PolicyConfig>() {
        Ok(policy) => {
            _ = policy.check(&[InterfaceKind::Wifi, InterfaceKind::Lte]);
            settles::<PolicyConfig>(text);
        }
        Err(error) => assert!(!error.to_string().is_empty() || !error.hint().is_empty()),
    }
}

/// A key of a scenario and its values: what can be set leaves TOML, and says the same when set again.
fn setting(text: &str) {
    const SOURCE: &str = "a = 1\nb.c = [{ name = \"x\" }]\n[[d]]\nname = \"y\"\n";
    let Ok(alternatives) = Setting::alternatives(text) else { return };
    for setting in alternatives {
        match Setting::apply(core::slice::from_ref(&setting), SOURCE) {
            Ok(once) => {
                let twice = Setting::apply(core::slice::from_ref(&setting), &once);
                assert_eq!(twice.as_ref(), Ok(&once), "{setting}");
            }
            Err(error) => assert!(!error.to_string().is_empty() && !error.hint().is_empty()),
        }
    }
}

/// What a viewer saw, as anything may have measured it: scores stay on their scales.
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

/// What is read is written in one way, which is read as written.
fn settles<T: FromStr + Display + Debug + PartialEq>(text: &str)
where
    T::Err: Debug + Display,
{
    let Ok(value) = text.parse::<T>() else { return };
    let written = value.to_string();
    let again = written.parse::<T>().unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(again.to_string(), written, "{text}");
}
