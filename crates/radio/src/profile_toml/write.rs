//! Writes profiles as TOML that reads back to the same values.

use super::ENDLESS;
use crate::{Profile, Pulse, Stage};
use units::{Duration, Power};

pub(crate) fn to_toml(profile: &Profile) -> String {
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
    lines
        .extend(profile.promotion.as_ref().map(|promotion| format!("promotion = {}", stage_text(promotion))));
    if !profile.tail.is_empty() {
        let stages: Vec<_> =
            profile.tail.iter().map(|stage| format!("    {},\n", stage_text(stage))).collect();
        lines.push(format!("tail = [\n{}]", stages.concat()));
    }
    let idle = &profile.idle;
    lines.push(format!("idle = {{ power = \"{}\"{} }}\n", power_text(idle.power), pulse_text(idle.pulse)));
    lines.join("\n")
}

fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn stage_text(stage: &Stage) -> String {
    let (name, power, duration) = (quote(&stage.name), power_text(stage.power), time_text(stage.duration));
    let pulse = pulse_text(stage.pulse);
    format!("{{ name = {name}, power = \"{power}\", duration = \"{duration}\"{pulse} }}")
}

/// The key `pulse` with a comma before it; empty for no pulse.
fn pulse_text(pulse: Option<Pulse>) -> String {
    let Some(pulse) = pulse else { return String::new() };
    let (power, width, period) = (power_text(pulse.power), time_text(pulse.width), time_text(pulse.period));
    format!(", pulse = {{ power = \"{power}\", width = \"{width}\", period = \"{period}\" }}")
}

/// The power in mW where that reads back to the same value, otherwise in W.
fn power_text(power: Power) -> String {
    let milliwatts = format!("{}mW", (power.as_watts() * 1e9).round() / 1e6);
    if milliwatts.parse() == Ok(power) { milliwatts } else { format!("{}W", power.as_watts()) }
}

fn time_text(span: Duration) -> String {
    if span == Duration::MAX { ENDLESS.to_owned() } else { span.to_string() }
}
