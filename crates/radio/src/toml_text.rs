//! Profiles as TOML: reading with errors that point, and writing.

use crate::error::{Problem, ProfileError};
use crate::{Idle, InterfaceKind, Origin, Origins, Profile, Pulse, Stage};
use core::ops::Range;
use core::str::FromStr;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use units::{Duration, Power, UnitError};

type Value<'t> = Spanned<DeValue<'t>>;

const TOP: &[&str] = &[
    "name",
    "kind",
    "source",
    "note",
    "origin",
    "up_per_mbps",
    "down_per_mbps",
    "active",
    "promotion",
    "inactivity",
    "tail",
    "idle",
];
const STAGE: &[&str] = &["name", "power", "duration", "pulse"];
const IDLE: &[&str] = &["power", "pulse"];
const PULSE: &[&str] = &["power", "width", "period"];
const ORIGIN: &[&str] = &["rate", "active", "promotion", "inactivity", "tail", "idle"];

const A_POWER: &str = "a power such as \"1060mW\"";
const A_TIME: &str = "a time such as \"100ms\"";
const ENDLESS: &str = "endless";
const A_TIME_OR_ENDLESS: &str = "a time such as \"100ms\", or \"endless\"";

pub(crate) fn read(name: &str, text: &str) -> Result<Profile, ProfileError> {
    read_document(name, text).map_err(|(span, problem)| {
        let start = floor_char_boundary(text, span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        ProfileError {
            name: name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span: start..span.end.clamp(start, text.len()),
            problem: Box::new(problem),
        }
    })
}

pub(crate) fn write(profile: &Profile) -> String {
    let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let pulse = |pulse: &Option<Pulse>| {
        pulse.as_ref().map_or(String::new(), |p| {
            let (power, width, period) = (power_text(p.power), time_text(p.width), time_text(p.period));
            format!(", pulse = {{ power = \"{power}\", width = \"{width}\", period = \"{period}\" }}")
        })
    };
    let stage = |stage: &Stage| {
        let (name, power, duration) =
            (quote(&stage.name), power_text(stage.power), time_text(stage.duration));
        format!("{{ name = {name}, power = \"{power}\", duration = \"{duration}\"{} }}", pulse(&stage.pulse))
    };
    let origins = &profile.origins;
    let mut lines = vec![
        format!("name = {}", quote(&profile.name)),
        format!("kind = \"{}\"", profile.kind),
        format!("source = {}", quote(&profile.source)),
        format!("note = {}", quote(&profile.note)),
        format!(
            "origin = {{ rate = \"{}\", active = \"{}\", promotion = \"{}\", inactivity = \"{}\", tail = \"{}\", idle = \"{}\" }}",
            origins.rate, origins.active, origins.promotion, origins.inactivity, origins.tail, origins.idle
        ),
        format!("up_per_mbps = \"{}\"", power_text(profile.up_per_mbps)),
        format!("down_per_mbps = \"{}\"", power_text(profile.down_per_mbps)),
        format!("active = \"{}\"", power_text(profile.active)),
        format!("inactivity = \"{}\"", time_text(profile.inactivity)),
    ];
    lines.extend(profile.promotion.as_ref().map(|promotion| format!("promotion = {}", stage(promotion))));
    if !profile.tail.is_empty() {
        let stages: Vec<_> = profile.tail.iter().map(|one| format!("    {},\n", stage(one))).collect();
        lines.push(format!("tail = [\n{}]", stages.concat()));
    }
    lines.push(format!(
        "idle = {{ power = \"{}\"{} }}\n",
        power_text(profile.idle.power),
        pulse(&profile.idle.pulse)
    ));
    lines.join("\n")
}

/// The shorter of milliwatts and watts that reads back to the same power.
fn power_text(power: Power) -> String {
    let milliwatts = format!("{}mW", (power.as_watts() * 1e9).round() / 1e6);
    if milliwatts.parse() == Ok(power) { milliwatts } else { format!("{}W", power.as_watts()) }
}

fn time_text(span: Duration) -> String {
    if span == Duration::MAX { ENDLESS.to_owned() } else { span.to_string() }
}

type Wrong = (Range<usize>, Problem);

fn read_document(name: &str, text: &str) -> Result<Profile, Wrong> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().to_owned();
        (error.span().unwrap_or(0..0), Problem::Syntax { message })
    })?;
    // What is missing from the document is missing from its end.
    let top = Table::new(document.get_ref(), String::new(), text.len()..text.len(), TOP)?;
    let mut profile = Profile::silent(name, InterfaceKind::Other);
    if let Some(value) = top.get("name") {
        profile.name = top.text("name", value, "a name such as \"mine.lte\"")?.into_owned();
        if profile.name.trim().is_empty() {
            let expected = "a name such as \"mine.lte\"".to_owned();
            return Err((
                value.span(),
                Problem::Value { key: "name".into(), expected, found: "empty".into() },
            ));
        }
    }
    let kind = top.need("kind", "\"lte\"")?;
    profile.kind = top.word("kind", kind, &InterfaceKind::ALL.map(InterfaceKind::as_str))?;
    if let Some(value) = top.get("source") {
        profile.source = top.text("source", value, "a text")?.into_owned();
    }
    if let Some(value) = top.get("note") {
        profile.note = top.text("note", value, "a text")?.into_owned();
    }
    if let Some(value) = top.get("origin") {
        profile.origins = read_origins(&top, value)?;
    }
    profile.up_per_mbps = top.power("up_per_mbps", "\"438.39mW\"")?;
    profile.down_per_mbps = top.power("down_per_mbps", "\"51.97mW\"")?;
    profile.active = top.power("active", "\"1288mW\"")?;
    profile.inactivity = top.time_or_endless("inactivity", "\"100ms\"")?;
    if let Some(value) = top.get("promotion") {
        let table = top.table(
            "promotion",
            value,
            "a table such as { power = \"1.2W\", duration = \"260ms\" }",
            STAGE,
        )?;
        profile.promotion = Some(read_stage(&table, "promotion")?);
    }
    if let Some(value) = top.get("tail") {
        let expected = "a list of stages such as [{ power = \"1W\", duration = \"11s\" }]";
        let DeValue::Array(stages) = value.get_ref() else {
            return Err(wrong_type("tail".into(), value, expected));
        };
        for (index, stage) in stages.iter().enumerate() {
            let table = top.table(&format!("tail[{index}]"), stage, expected, STAGE)?;
            profile.tail.push(read_stage(&table, "tail")?);
        }
    }
    if let Some(value) = top.get("idle") {
        let table = top.table("idle", value, "a table such as { power = \"10mW\" }", IDLE)?;
        profile.idle = Idle { power: table.power("power", "\"10mW\"")?, pulse: read_pulse(&table)? };
    }
    Ok(profile)
}

/// One word for all groups, or a table of groups; groups that it leaves out are assumed.
fn read_origins(top: &Table<'_, '_>, value: &Value<'_>) -> Result<Origins, Wrong> {
    let words = Origin::ALL.map(Origin::as_str);
    if matches!(value.get_ref(), DeValue::String(_)) {
        return top.word("origin", value, &words).map(Origins::all);
    }
    let table = top.table("origin", value, "a word such as \"read\", or a table of them", ORIGIN)?;
    let group = |key| table.get(key).map_or(Ok(Origin::Assumed), |value| table.word(key, value, &words));
    Ok(Origins {
        rate: group("rate")?,
        active: group("active")?,
        promotion: group("promotion")?,
        inactivity: group("inactivity")?,
        tail: group("tail")?,
        idle: group("idle")?,
    })
}

fn read_stage(table: &Table<'_, '_>, default_name: &str) -> Result<Stage, Wrong> {
    let name = match table.get("name") {
        Some(value) => table.text("name", value, "a name such as \"long DRX\"")?.into_owned(),
        None => default_name.to_owned(),
    };
    Ok(Stage {
        name,
        power: table.power("power", "\"1060mW\"")?,
        duration: table.time_or_endless("duration", "\"11.5s\"")?,
        pulse: read_pulse(table)?,
    })
}

fn read_pulse(table: &Table<'_, '_>) -> Result<Option<Pulse>, Wrong> {
    let Some(value) = table.get("pulse") else { return Ok(None) };
    let expected = "a table such as { power = \"594mW\", width = \"43ms\", period = \"1.28s\" }";
    let inner = table.table("pulse", value, expected, PULSE)?;
    let pulse = Pulse {
        power: inner.power("power", "\"594mW\"")?,
        width: inner.time("width", "\"43ms\"")?,
        period: inner.time("period", "\"1.28s\"")?,
    };
    let complain = |key: &str, expected: String, found: Duration| {
        let span = inner.get(key).map_or(inner.end.clone(), Spanned::span);
        Err((span, Problem::Value { key: inner.path(key), expected, found: found.to_string() }))
    };
    if pulse.period.is_zero() {
        return complain("period", "more than no time".into(), pulse.period);
    }
    if pulse.width > pulse.period {
        return complain("width", format!("at most the period, {}", pulse.period), pulse.width);
    }
    Ok(Some(pulse))
}

/// A table whose keys are known, with its place in the document.
struct Table<'a, 't> {
    entries: &'a DeTable<'t>,
    prefix: String,
    /// Where to point when a key is missing.
    end: Range<usize>,
}

impl<'a, 't> Table<'a, 't> {
    fn new(
        table: &'a DeTable<'t>,
        prefix: String,
        end: Range<usize>,
        known: &'static [&'static str],
    ) -> Result<Self, Wrong> {
        let this = Self { entries: table, prefix, end };
        let unknown = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
        // The first in the text, not the first in the alphabet.
        match unknown.min_by_key(|key| key.span().start) {
            None => Ok(this),
            Some(key) => Err((
                key.span(),
                Problem::UnknownKey {
                    key: this.path(key.get_ref()),
                    nearest: nearest(key.get_ref(), known),
                    known,
                },
            )),
        }
    }

    fn path(&self, key: &str) -> String {
        if self.prefix.is_empty() { key.to_owned() } else { format!("{}.{key}", self.prefix) }
    }

    fn get(&self, key: &str) -> Option<&'a Value<'t>> {
        self.entries.get(key)
    }

    fn need(&self, key: &str, example: &'static str) -> Result<&'a Value<'t>, Wrong> {
        let missing = || (self.end.clone(), Problem::MissingKey { key: self.path(key), example });
        self.get(key).ok_or_else(missing)
    }

    fn text(&self, key: &str, value: &'a Value<'t>, expected: &'static str) -> Result<Cow<'a, str>, Wrong> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Cow::Borrowed(text)),
            _ => Err(wrong_type(self.path(key), value, expected)),
        }
    }

    fn word<W: FromStr>(&self, key: &str, value: &Value<'_>, words: &[&str]) -> Result<W, Wrong> {
        let DeValue::String(text) = value.get_ref() else {
            return Err(wrong_type(self.path(key), value, "a word in quotes"));
        };
        text.parse().map_err(|_| {
            let expected = format!("one of {}", words.join(", "));
            (value.span(), Problem::Value { key: self.path(key), expected, found: format!("`{text}`") })
        })
    }

    fn quantity<Q: FromStr<Err = UnitError>>(
        &self,
        key: &str,
        example: &'static str,
        expected: &'static str,
    ) -> Result<Q, Wrong> {
        let value = self.need(key, example)?;
        let text = self.text(key, value, expected)?;
        text.parse()
            .map_err(|error| (value.span(), Problem::Quantity { key: self.path(key), expected, error }))
    }

    fn power(&self, key: &str, example: &'static str) -> Result<Power, Wrong> {
        self.quantity(key, example, A_POWER)
    }

    fn time(&self, key: &str, example: &'static str) -> Result<Duration, Wrong> {
        self.quantity(key, example, A_TIME)
    }

    fn time_or_endless(&self, key: &str, example: &'static str) -> Result<Duration, Wrong> {
        match self.get(key).map(Spanned::get_ref) {
            Some(DeValue::String(text)) if text == ENDLESS => Ok(Duration::MAX),
            _ => self.quantity(key, example, A_TIME_OR_ENDLESS),
        }
    }

    fn table(
        &self,
        key: &str,
        value: &'a Value<'t>,
        expected: &'static str,
        known: &'static [&'static str],
    ) -> Result<Self, Wrong> {
        match value.get_ref() {
            DeValue::Table(table) => Self::new(table, self.path(key), value.span(), known),
            _ => Err(wrong_type(self.path(key), value, expected)),
        }
    }
}

fn wrong_type(key: String, value: &Value<'_>, expected: &'static str) -> Wrong {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a bare number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    (value.span(), Problem::Type { key, expected, found })
}

/// The known key that is most like `key`, unless none is like it at all.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    known
        .iter()
        .copied()
        .map(|word| (strsim::levenshtein(key, word), word))
        .filter(|(edits, word)| *edits <= word.len().max(key.chars().count()) / 2)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, word)| word)
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}
