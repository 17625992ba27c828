//! Reads profiles from TOML.

use super::format::PROFILE;
use crate::{Idle, InterfaceKind, Origin, Origins, Profile, Pulse, Stage};
use core::ops::Range;
use core::str::FromStr;
use quantities::Quantities as _;
use schema::{Diagnostic, Fields, Node, Problems, Value};
use std::sync::Arc;
use units::{Duration, Power};

/// A value of [`PROFILE_SHAPE`](super::PROFILE_SHAPE).
#[derive(Debug)]
pub enum ProfileValue<'a> {
    /// A built-in profile.
    BuiltIn(Arc<Profile>),
    /// The path of a file with a profile, and its position.
    File(&'a str, Range<usize>),
    /// The keys of a profile, for [`Profile::from_fields`].
    Inline(&'a Fields),
}

impl<'a> ProfileValue<'a> {
    /// The profile that a value gives; `None` if it has a problem that was reported.
    pub fn of(node: &'a Node) -> Option<Self> {
        match &node.value {
            Value::Custom(_) => node.custom().map(Self::BuiltIn),
            Value::Table(fields) if fields.table.key("file").is_some() => {
                fields.text("file").map(|path| Self::File(path, fields.span("file")))
            }
            Value::Table(fields) => Some(Self::Inline(fields)),
            _ => None,
        }
    }
}

pub(crate) fn from_toml(name: &str, text: &str) -> Result<Profile, Vec<Diagnostic>> {
    schema::read(name, text, &PROFILE, |fields, problems| from_fields(fields, name, problems))
}

/// The profile with these keys. Values that have problems are taken as zero.
pub(crate) fn from_fields(fields: &Fields, default_name: &str, problems: &mut Problems<'_>) -> Profile {
    let name = fields.text("name").unwrap_or(default_name);
    if fields.given("name") && name.trim().is_empty() {
        problems
            .add(fields.span("name"), "`name` is empty")
            .expected("a name such as `\"mine.lte\"`")
            .hint("without `name` the profile is called after its path or file");
    }
    let tail = fields.list("tail").iter().filter_map(Node::fields);
    Profile {
        name: name.to_owned(),
        kind: word(fields, "kind").unwrap_or(InterfaceKind::Other),
        source: fields.text("source").unwrap_or_default().to_owned(),
        note: fields.text("note").unwrap_or_default().to_owned(),
        up_per_mbps: power(fields, "up_per_mbps"),
        down_per_mbps: power(fields, "down_per_mbps"),
        active: power(fields, "active"),
        promotion: fields.fields("promotion").map(|stage| read_promotion(stage, problems)),
        inactivity: time_or_endless(fields, "inactivity"),
        tail: tail.map(|stage| read_stage(stage, "tail", problems)).collect(),
        idle: fields.fields("idle").map_or_else(Idle::default, |idle| Idle {
            power: power(idle, "power"),
            pulse: read_pulse(idle, problems),
        }),
        origins: read_origins(fields),
    }
}

fn read_origins(fields: &Fields) -> Origins {
    let Some(groups) = fields.fields("origin") else {
        return Origins::all(word(fields, "origin").unwrap_or(Origin::Assumed));
    };
    let group = |key| word(groups, key).unwrap_or(Origin::Assumed);
    Origins {
        rate: group("rate"),
        active: group("active"),
        promotion: group("promotion"),
        inactivity: group("inactivity"),
        tail: group("tail"),
        idle: group("idle"),
    }
}

fn read_promotion(fields: &Fields, problems: &mut Problems<'_>) -> Stage {
    let stage = read_stage(fields, "promotion", problems);
    if stage.duration == Duration::MAX {
        problems
            .add(fields.span("duration"), "an endless promotion never becomes active")
            .expected("a time such as `\"260ms\"`");
    }
    stage
}

fn read_stage(fields: &Fields, default_name: &str, problems: &mut Problems<'_>) -> Stage {
    Stage {
        name: fields.text("name").unwrap_or(default_name).to_owned(),
        power: power(fields, "power"),
        duration: time_or_endless(fields, "duration"),
        pulse: read_pulse(fields, problems),
    }
}

fn read_pulse(fields: &Fields, problems: &mut Problems<'_>) -> Option<Pulse> {
    let fields = fields.fields("pulse")?;
    let pulse = Pulse {
        power: power(fields, "power"),
        width: fields.time("width").unwrap_or_default(),
        period: fields.time("period").unwrap_or(Duration::MAX),
    };
    if pulse.width > pulse.period {
        problems
            .add(
                fields.span("width"),
                format!("`width` is {}, longer than `period` of {}", pulse.width, pulse.period),
            )
            .expected(format!("at most {}", pulse.period))
            .hint("a pulse lasts for a part of its period");
    }
    Some(pulse)
}

fn power(fields: &Fields, key: &str) -> Power {
    fields.power(key).unwrap_or_default()
}

/// A time, or [`Duration::MAX`] for the word "endless".
fn time_or_endless(fields: &Fields, key: &str) -> Duration {
    match fields.text(key) {
        Some(_) => Duration::MAX,
        None => fields.time(key).unwrap_or_default(),
    }
}

fn word<T: FromStr>(fields: &Fields, key: &str) -> Option<T> {
    fields.text(key).and_then(|text| text.parse().ok())
}
