//! Describes an experiment in words, and the sources of its power figures.

use abr::Video;
use link::{CellKind, Delay, Loss, QueueLimit, Rate};
use radio::{Origin, Profile};
use report::{Badge, Cell, Column, Row, Table, Tone, literal};
use serde_json::{Value, json};
use sim::{BackgroundSpec, CellSpec, Experiment, Hop, PathSpec, Protocol};
use std::fmt::Write as _;
use traffic::{Direction, Kind, TrafficConfig, Vbr};
use units::{Duration, Instant};

/// Names and values of the experiment's parameters for a page. Values have inline markup.
pub fn facts(experiment: &Experiment) -> Vec<(String, String)> {
    let device = &experiment.device;
    let mut facts = vec![
        ("Seed".to_owned(), experiment.seed.get().to_string()),
        ("Simulated".to_owned(), spaced(&experiment.duration.to_string())),
        ("Device".to_owned(), format!("{}, battery {}", literal(&device.name), battery(device.battery))),
        ("Policy".to_owned(), format!("`{}`", device.policy)),
        ("Transport".to_owned(), transport(experiment)),
    ];
    for path in &experiment.paths {
        facts.push((format!("Path {}", path.name), path_text(experiment, path)));
    }
    facts.extend(experiment.cells.iter().map(cell));
    for (i, config) in experiment.traffic.iter().enumerate() {
        facts.push((format!("Connection {}", i + 1), traffic(experiment, config)));
    }
    for spec in &experiment.background {
        facts.push(("Background".to_owned(), background(experiment, spec)));
    }
    facts
}

/// Name and parameters of a cell.
pub(crate) fn cell(cell: &CellSpec) -> (String, String) {
    let kind = match cell.config.kind {
        CellKind::Wifi => "Wi-Fi",
        CellKind::Lte => "LTE",
    };
    let others: u32 = cell.config.others.iter().map(|load| load.count).sum();
    let text = format!("{kind}, {}, {others} other stations", spaced(&cell.config.rate.to_string()));
    (format!("Cell {}", cell.name), text)
}

/// The distinct power profiles of an experiment, its paths' own profiles first.
pub fn profiles(experiment: &Experiment) -> Vec<&Profile> {
    let own = experiment.paths.iter().map(|path| &*path.profile);
    let also = experiment.paths.iter().flat_map(|path| path.also_measure.iter().map(|p| &**p));
    let mut all: Vec<&Profile> = Vec::new();
    for profile in own.chain(also) {
        if !all.iter().any(|other| other.name == profile.name) {
            all.push(profile);
        }
    }
    all
}

/// Sources of the profiles' power figures, and the origin of each group of figures.
pub fn sources(profiles: &[&Profile]) -> Table {
    let mut table = Table::new("Sources of the power figures").column(Column::text("profile"));
    for group in ["rate", "active", "promotion", "inactivity", "tail", "idle"] {
        table = table.column(Column::text(group));
    }
    let origin = |origin: Origin| {
        let cell = Cell::text(origin.as_str());
        match origin {
            Origin::Read | Origin::Known => cell,
            Origin::Fit | Origin::Assumed => cell.tone(Tone::Quiet),
        }
    };
    for profile in profiles {
        let o = &profile.origins;
        let mut row = Row::new([
            Cell::text(&*profile.name),
            origin(o.rate),
            origin(o.active),
            profile.promotion.as_ref().map_or_else(Cell::empty, |_| origin(o.promotion)),
            origin(o.inactivity),
            if profile.tail.is_empty() { Cell::empty() } else { origin(o.tail) },
            origin(o.idle),
        ]);
        if has_fit(profile) {
            row = row.badge(fitted());
        }
        table = table.row(row);
    }
    table = table.note(
        "*read*: in the named source. *known*: from the literature, not verified there. *fit*: derived from \
         measurements. *assumed*: chosen without a source.",
    );
    for profile in profiles {
        let source =
            if profile.source.is_empty() { "no source given" } else { profile.source.trim_end_matches('.') };
        let mut note = format!("**{}**: {}.", literal(&profile.name), literal(source));
        if !profile.note.is_empty() {
            let _ = write!(note, " {}", literal(&profile.note));
        }
        table = table.note(note);
    }
    table
}

/// Origin of each group of a profile's figures as JSON.
pub fn origins(profile: &Profile) -> Value {
    let o = &profile.origins;
    json!({
        "rate": o.rate.as_str(),
        "active": o.active.as_str(),
        "promotion": o.promotion.as_str(),
        "inactivity": o.inactivity.as_str(),
        "tail": o.tail.as_str(),
        "idle": o.idle.as_str(),
    })
}

/// Whether any group of the profile's figures is a fit.
pub fn has_fit(profile: &Profile) -> bool {
    let o = &profile.origins;
    [o.rate, o.active, o.promotion, o.inactivity, o.tail, o.idle].contains(&Origin::Fit)
}

/// Badge of a row with fitted figures.
pub fn fitted() -> Badge {
    Badge::new("fitted")
}

/// Capacity in Wh, as batteries are sold, or in joules below 1 Wh, as papers give it.
fn battery(energy: units::Energy) -> String {
    match energy.as_joules() {
        joules if joules >= 3600.0 => format!("{} Wh", trimmed(joules / 3600.0)),
        joules => format!("{} J", trimmed(joules)),
    }
}

fn transport(experiment: &Experiment) -> String {
    let config = &experiment.transport.config;
    let protocol = match experiment.transport.protocol {
        Protocol::Mptcp => format!("Multipath TCP, scheduler `{}`", config.scheduler),
        Protocol::Tcp { path } => {
            format!("TCP over {}", experiment.paths.get(path).map_or("no path", |p| p.name.as_str()))
        }
    };
    format!("{protocol}, congestion control `{}`", config.congestion)
}

fn path_text(experiment: &Experiment, path: &PathSpec) -> String {
    let mut text = format!("`{}`", path.profile.name);
    let _ = write!(text, "; down {}; up {}", hop(experiment, &path.down), hop(experiment, &path.up));
    if path.backup {
        text.push_str("; backup");
    }
    if path.join_at > Instant::ZERO {
        let _ = write!(text, "; up from {}", seconds(path.join_at));
    }
    if let Some(leave) = path.leave_at {
        let _ = write!(text, "; down from {}", seconds(leave));
    }
    if let Some(plan) = path.allowance {
        let _ = write!(text, "; allowance {}", spaced(&plan.allowance.to_string()));
        if let Some(period) = plan.period {
            let _ = write!(text, " for {}", spaced(&period.to_string()));
        }
    }
    text
}

fn rate_text(rate: &Rate) -> String {
    match rate {
        Rate::Fixed(rate) => spaced(&rate.to_string()),
        Rate::Steps(steps) => format!("{} rate steps", steps.len()),
        Rate::Trace(trace) => {
            let (mean, period) = (trace.mean_rate().as_mbps(), trace.period().as_secs_f64());
            format!("a trace of {period:.0} s, mean {mean:.1} Mbps")
        }
    }
}

fn hop(experiment: &Experiment, hop: &Hop) -> String {
    let (mut text, queue, delay, loss, outages) = match hop {
        Hop::Link(link) => (rate_text(&link.rate), link.queue, link.delay, &link.loss, link.outages.len()),
        Hop::Cell { cell, station } => {
            let name = experiment.cells.get(*cell).map_or("?", |c| c.name.as_str());
            (
                format!("cell {}", literal(name)),
                station.queue,
                station.delay,
                &station.loss,
                station.outages.len(),
            )
        }
    };
    text.push_str(&delay_text(delay));
    let _ = write!(text, ", queue {}", queue_text(queue));
    match loss {
        Loss::None => {}
        Loss::Uniform(p) => {
            let _ = write!(text, ", loss {} %", trimmed(100.0 * p.get()));
        }
        Loss::Model(model) => {
            let _ = write!(text, ", loss {} % {}", trimmed(100.0 * model.mean()), model.pattern());
        }
    }
    match outages {
        0 => {}
        1 => text.push_str(", 1 outage"),
        n => {
            let _ = write!(text, ", {n} outages");
        }
    }
    text
}

/// The delay after a comma; empty without a delay.
fn delay_text(delay: Delay) -> String {
    match delay {
        Delay::Fixed(Duration::ZERO) => String::new(),
        Delay::Fixed(delay) => format!(", {}", spaced(&delay.to_string())),
        Delay::Uniform { min, max } => {
            format!(", {} to {}", spaced(&min.to_string()), spaced(&max.to_string()))
        }
        Delay::Normal { mean, sd } => {
            format!(", {} ± {}", spaced(&mean.to_string()), spaced(&sd.to_string()))
        }
        Delay::Measured { min, mean, max, .. } => {
            let [min, mean, max] = [min, mean, max].map(|delay| spaced(&delay.to_string()));
            format!(", {min} to {max}, {mean} on average")
        }
    }
}

fn queue_text(queue: QueueLimit) -> String {
    match queue {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => spaced(&bytes.to_string()),
        QueueLimit::Time(time) => spaced(&time.to_string()),
        QueueLimit::Unlimited => "unlimited".to_owned(),
    }
}

fn traffic(experiment: &Experiment, config: &TrafficConfig) -> String {
    let mut text = match &config.kind {
        Kind::Bulk => "bulk".to_owned(),
        Kind::Cbr { rate, packet } => {
            format!("{} in packets of {}", spaced(&rate.to_string()), spaced(&packet.to_string()))
        }
        Kind::OnOff { rate, on, off, exponential, .. } => {
            let periods = if *exponential { "exponential periods" } else { "periods" };
            let (on, off) = (spaced(&on.to_string()), spaced(&off.to_string()));
            format!("{} in {periods} of {on} on and {off} off", spaced(&rate.to_string()))
        }
        Kind::Vbr(vbr) => vbr_text(vbr),
        Kind::File { size } => format!("a file of {}", spaced(&size.to_string())),
        Kind::Video(video) => video_text(video),
    };
    text.push_str(match config.direction {
        Direction::Down => ", down",
        Direction::Up => ", up",
    });
    if config.start > Instant::ZERO {
        let _ = write!(text, ", from {}", seconds(config.start));
    }
    if let Some(stop) = config.stop {
        let _ = write!(text, ", until {}", seconds(stop));
    }
    if let Some(path) = config.tcp_path.and_then(|path| experiment.paths.get(path)) {
        let _ = write!(text, ", TCP over {}", path.name);
    }
    text
}

fn video_text(video: &Video) -> String {
    let rates = video.manifest.bitrates();
    let span = spaced(&video.manifest.duration().to_string());
    let buffer = spaced(&video.player.max_buffer.to_string());
    let rate = |rate: &units::Bitrate| spaced(&rate.to_string());
    match rates {
        [one] => format!("a video of {span} at {}, buffer {buffer}", rate(one)),
        [low, .., high] => format!(
            "a video of {span} in {} bitrates from {} to {}, rule {}, buffer {buffer}",
            rates.len(),
            rate(low),
            rate(high),
            video.player.rule
        ),
        [] => format!("a video of {span}"),
    }
}

fn vbr_text(vbr: &Vbr) -> String {
    let bursts = if vbr.bursts.is_some() { ", in bursts" } else { "" };
    format!("{} in packets of mixed sizes{bursts}", spaced(&vbr.mean_rate().to_string()))
}

fn background(experiment: &Experiment, spec: &BackgroundSpec) -> String {
    let direction = if spec.direction == Direction::Down { "down" } else { "up" };
    let path = experiment.paths.get(spec.path).map_or("", |path| path.name.as_str());
    format!("{} over UDP, {path} {direction}", vbr_text(&spec.packets))
}

fn seconds(time: Instant) -> String {
    format!("{} s", trimmed(time.as_secs_f64()))
}

/// A number with at most four decimals and without trailing zeros.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Separates number and unit: `20Mbps` becomes `20 Mbps`.
pub fn spaced(text: &str) -> String {
    match text.find(|c: char| c.is_ascii_alphabetic()) {
        Some(at) if at > 0 => format!("{} {}", &text[..at], &text[at..]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_separated_from_units_and_trimmed() {
        assert_eq!(spaced("20Mbps"), "20 Mbps");
        assert_eq!(spaced("0s"), "0 s");
        assert_eq!(spaced("none"), "none");
        assert_eq!(trimmed(0.05), "0.05");
        assert_eq!(trimmed(3.0), "3");
    }
}
