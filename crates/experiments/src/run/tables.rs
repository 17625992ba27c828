//! Tables of a run.

use super::Programs;
use crate::describe;
use crate::display::{decimals, megabytes, time_unit};
use report::{Cell, Column, Row, Table, Tone};
use serde_json::Value;
use sim::{ConnectionOutcome, EnergyOutcome, Experiment, Outcome, PathOutcome};
use units::Duration;

/// Device, paths, energy, connections, and the tables that only some runs have.
pub(super) fn tables(experiment: &Experiment, outcome: &Outcome) -> Vec<Table> {
    let mut all = vec![device(outcome), paths(outcome), energy(experiment, outcome), connections(outcome)];
    all.extend(crate::delay::table(outcome));
    all.extend(crate::delay::blocking_table(outcome));
    all.extend(crate::video::table(outcome));
    all.extend(middleboxes(outcome));
    all.extend(background(outcome));
    all
}

/// Tables of a run with user programs, for which per-connection results are not available.
pub(super) fn with_programs(experiment: &Experiment, outcome: &Outcome, programs: &Programs) -> Vec<Table> {
    let mut all =
        vec![device(outcome), paths(outcome), delays(outcome, programs), energy(experiment, outcome)];
    all.extend(middleboxes(outcome));
    all.extend(background(outcome));
    all.push(multipath(programs));
    all
}

/// One-way delays of packets.
fn delays(outcome: &Outcome, programs: &Programs) -> Table {
    let mut table = Table::new("Mean one-way delay of packets").column(Column::text("path"));
    for (name, key) in [("down", "down_ms"), ("up", "up_ms")] {
        let queued = format!("queued {name}");
        table = table
            .column(Column::number(name).unit("ms").key(key))
            .column(Column::number(queued).unit("ms").key(format!("queued_{key}")));
    }
    for (path, delays) in outcome.paths.iter().zip(&programs.delays) {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let cells = delays.iter().flat_map(|delay| {
            [delay.map_or(f64::NAN, |(all, _)| ms(all)), delay.map_or(f64::NAN, |(_, queued)| ms(queued))]
        });
        let row = Row::new([Cell::text(&*path.name)]);
        table = table.row(cells.map(|ms| Cell::number(ms, 1)).fold(row, Row::cell));
    }
    table
}

fn multipath(programs: &Programs) -> Table {
    let [requested, accepted, joined] = programs.multipath;
    Table::new("Multipath TCP of the device")
        .column(Column::number("connections requesting it").key("asked"))
        .column(Column::number("accepted").key("agreed"))
        .column(Column::number("joined subflows").key("joined"))
        .row(Row::new([count(requested), count(accepted), count(joined)]))
}

fn device(outcome: &Outcome) -> Table {
    let device = &outcome.device;
    let lifespan = device.lifespan_s.unwrap_or(f64::NAN);
    let (unit, seconds) = time_unit([lifespan]);
    let lifespan = lifespan / seconds;
    let efficiency = device.efficiency_mbit_per_j.unwrap_or(f64::NAN);
    let number = |value: f64| Cell::number(value, decimals([value]));
    Table::new("Device")
        .column(Column::text("device"))
        .column(Column::text("policy"))
        .column(Column::number("energy").unit("J"))
        .column(Column::number("mean power").unit("W"))
        .column(Column::number("battery lasts").unit(unit))
        .column(Column::number("battery left").unit("%"))
        .column(Column::number("efficiency").unit("Mbit/J"))
        .row(Row::new([
            Cell::text(&*device.name),
            Cell::text(&*device.policy),
            number(device.energy_j),
            number(device.energy_rate_w),
            number(lifespan),
            Cell::number(100.0 * device.battery_left, 1),
            number(efficiency),
        ]))
}

fn paths(outcome: &Outcome) -> Table {
    let rates = decimals(outcome.paths.iter().flat_map(|p| [p.rate_down_mbps, p.rate_up_mbps]));
    let sizes = decimals(
        outcome.paths.iter().flat_map(|p| [p.payload_down_bytes, p.payload_up_bytes]).map(megabytes),
    );
    let mut table = Table::new("Paths")
        .column(Column::text("path"))
        .column(Column::number("down").unit("Mbit/s").key("down_mbps"))
        .column(Column::number("up").unit("Mbit/s").key("up_mbps"))
        .column(Column::number("down").unit("MB").key("down_mb"))
        .column(Column::number("up").unit("MB").key("up_mb"))
        .column(Column::number("dropped").unit("packets"))
        .column(Column::number("lost").unit("packets"));
    type Count = fn(&PathOutcome) -> u64;
    // Rare events have a column only if they occurred.
    let rare: [(&str, Count); 3] = [
        ("marked", |path| path.marked_packets),
        ("damaged", |path| path.damaged_packets),
        ("duplicated", |path| path.doubled_packets),
    ];
    let rare = || rare.iter().filter(|(_, of)| outcome.paths.iter().any(|path| of(path) > 0));
    for (name, _) in rare() {
        let key = if *name == "duplicated" { "doubled" } else { name };
        table = table.column(Column::number(*name).unit("packets").key(key));
    }
    table = table.column(Column::number("retransmitted").unit("segments").key("sent_again"));
    for path in &outcome.paths {
        let row = Row::new([
            Cell::text(&*path.name),
            Cell::number(path.rate_down_mbps, rates),
            Cell::number(path.rate_up_mbps, rates),
            Cell::number(megabytes(path.payload_down_bytes), sizes),
            Cell::number(megabytes(path.payload_up_bytes), sizes),
            count(path.dropped_packets),
            count(path.lost_packets),
        ]);
        let row = rare().fold(row, |row, (_, of)| row.cell(count(of(path))));
        table = table.row(row.cell(count(path.retransmissions)));
    }
    table
}

/// Segments that the middleboxes processed; `None` without middleboxes.
fn middleboxes(outcome: &Outcome) -> Option<Table> {
    let mut table =
        Table::new("Middleboxes, segments").column(Column::text("path")).column(Column::text("box"));
    for what in ["seen", "changed", "added", "merged", "dropped", "reset"] {
        table = table.column(Column::number(what));
    }
    let all = outcome.paths.iter().flat_map(|path| path.middleboxes.iter().map(move |each| (path, each)));
    let mut any = false;
    for (path, each) in all {
        any = true;
        let counts = [each.seen, each.changed, each.added, each.merged, each.dropped, each.answered];
        let row = Row::new([Cell::text(&*path.name), Cell::text(each.kind)]);
        table = table.row(counts.into_iter().map(count).fold(row, Row::cell));
    }
    any.then_some(table)
}

/// Background datagrams; `None` without background traffic.
fn background(outcome: &Outcome) -> Option<Table> {
    let all = &outcome.background;
    let mut table = Table::new("Background traffic")
        .column(Column::text("path"))
        .column(Column::text("direction"))
        .column(Column::number("offered").unit("packets").key("offered_packets"))
        .column(Column::number("delivered").unit("packets").key("delivered_packets"))
        .column(Column::number("delivered").unit("MB").key("delivered_mb"))
        .column(Column::number("mean delay").unit("ms"))
        .column(Column::number("p95").unit("ms").key("p95_delay_ms"))
        .column(Column::number("p99").unit("ms").key("p99_delay_ms"))
        .column(Column::number("longest delay").unit("ms"))
        .column(Column::number("jitter").unit("ms"));
    let ms = |seconds: Option<f64>| Cell::number(seconds.unwrap_or(f64::NAN) * 1e3, 1);
    let sizes = decimals(all.iter().map(|flow| megabytes(flow.delivered_bytes)));
    for flow in all {
        table = table.row(Row::new([
            Cell::text(&*flow.path),
            Cell::text(flow.direction),
            count(flow.offered_packets),
            count(flow.delivered_packets),
            Cell::number(megabytes(flow.delivered_bytes), sizes),
            ms(flow.mean_delay_s),
            ms(flow.delay.p95_s),
            ms(flow.delay.p99_s),
            ms(Some(flow.longest_delay_s)),
            ms(flow.jitter.mean_s),
        ]));
    }
    (!all.is_empty()).then_some(table)
}

/// Energy by path and component.
pub(super) fn energy(experiment: &Experiment, outcome: &Outcome) -> Table {
    let all = || outcome.paths.iter().flat_map(|path| std::iter::once(&path.energy).chain(&path.also));
    let digits = decimals(all().map(|e| e.total_j).chain([outcome.device.energy_j]));
    let mut table = Table::new("Energy, J").column(Column::text("path")).column(Column::text("radio"));
    for part in ["total", "idle", "promotion", "active", "data", "tail"] {
        table = table.column(Column::number(part));
    }
    let profiles = describe::profiles(experiment);
    let row = |first: Cell, energy: &EnergyOutcome| {
        let parts = parts(energy).map(|joules| Cell::number(joules, digits));
        let row = Row::new([first, Cell::text(&*energy.radio)]).cell(Cell::number(energy.total_j, digits));
        let row = parts.into_iter().fold(row, Row::cell);
        match profiles.iter().find(|profile| profile.name == energy.radio) {
            Some(profile) if describe::has_fit(profile) => row.badge(describe::fitted()),
            _ => row,
        }
    };
    for path in &outcome.paths {
        table = table.row(row(Cell::text(&*path.name), &path.energy));
    }
    // Omit the row of the joint power if the device has none.
    if outcome.device.joint_energy_j > 0.0 {
        let joules = Cell::number(outcome.device.joint_energy_j, digits);
        table = table.row(Row::new([Cell::text("both active"), Cell::empty(), joules]));
    }
    let others: Vec<_> = outcome.paths.iter().filter(|path| !path.also.is_empty()).collect();
    if !others.is_empty() {
        table = table.row(Row::heading("The same traffic under other profiles"));
        for path in others {
            for energy in &path.also {
                table = table.row(row(Cell::text(&*path.name).tone(Tone::Quiet), energy));
            }
        }
    }
    table
}

/// Energy of the components idle, promotion, active, data and tail.
pub(super) fn parts(energy: &EnergyOutcome) -> [f64; 5] {
    [energy.idle_j, energy.promotion_j, energy.active_j, energy.data_j, energy.tail_j]
}

fn connections(outcome: &Outcome) -> Table {
    let all = &outcome.connections;
    let rates = decimals(all.iter().map(|c| c.goodput_mbps));
    let sizes = decimals(all.iter().map(|c| megabytes(c.delivered_bytes)));
    let times = decimals(all.iter().filter_map(|c| c.completed_s));
    let gap = |c: &ConnectionOutcome| c.peak_out_of_order_bytes.map_or(f64::NAN, |bytes| bytes as f64 * 1e-3);
    let gaps = decimals(all.iter().map(gap).filter(|gap| gap.is_finite())).min(1);
    let dropped = all.iter().any(|c| c.dropped_bytes > 0);
    let mut table = Table::new("Connections")
        .column(Column::number("#"))
        .column(Column::text("traffic"))
        .column(Column::text("over"))
        .column(Column::number("delivered").unit("MB"))
        .column(Column::number("goodput").unit("Mbit/s"))
        .column(Column::number("completed").unit("s"))
        .column(Column::number("peak out of order").unit("kB"));
    if dropped {
        table = table.column(Column::number("dropped at source").unit("MB"));
    }
    for (i, connection) in all.iter().enumerate() {
        let completed = match connection.completed_s {
            Some(seconds) => Cell::number(seconds, times),
            None if connection.failed => Cell::text("failed").tone(Tone::Bad),
            None => Cell::number(f64::NAN, 0),
        };
        let mut row = Row::new([
            count(i as u64 + 1),
            Cell::text(format!("{} {}", connection.kind, connection.direction)),
            Cell::text(connection.protocol),
            Cell::number(megabytes(connection.delivered_bytes), sizes),
            Cell::number(connection.goodput_mbps, rates),
            completed,
            Cell::number(gap(connection), gaps),
        ]);
        if dropped {
            row = row.cell(Cell::number(megabytes(connection.dropped_bytes), sizes));
        }
        table = table.row(row);
    }
    table
}

pub(super) fn count(number: u64) -> Cell {
    Cell::number(number as f64, 0)
}

/// A row for each measured quantity, with its owner.
pub(super) fn long(outcome: &Outcome) -> Table {
    let mut table = Table::default()
        .column(Column::text("owner"))
        .column(Column::text("quantity"))
        .column(Column::number("value"));
    for Scalar { owner, quantity, value } in scalars(outcome) {
        let cell = match value {
            Value::Number(number) => Cell::number(number.as_f64().unwrap_or(f64::NAN), 6),
            Value::String(text) => Cell::text(text),
            Value::Bool(flag) => Cell::text(if flag { "true" } else { "false" }),
            _ => Cell::empty(),
        };
        table.rows.push(Row::new([Cell::text(owner), Cell::text(quantity), cell]));
    }
    table
}

/// A quantity of an outcome that is one number, text or truth value.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// Device, path, connection or a part of them: `device`, `path.wifi`, `connection.1.delay`.
    pub owner: String,
    /// Name with its unit, as in `result.json`.
    pub quantity: String,
    /// A number, a text, a truth value, or null for a quantity that the run does not have.
    pub value: Value,
}

/// All quantities of a run, in a fixed order.
pub fn scalars(outcome: &Outcome) -> Vec<Scalar> {
    let mut all = Vec::new();
    let mut add = |owner: &str, object: Value, skip: &[&str]| {
        let Value::Object(object) = object else { return };
        let kept = object.into_iter().filter(|(name, value)| {
            !skip.contains(&name.as_str()) && !value.is_array() && !value.is_object()
        });
        all.extend(kept.map(|(quantity, value)| Scalar { owner: owner.to_owned(), quantity, value }));
    };
    add("device", json(&outcome.device), &[]);
    for path in &outcome.paths {
        let owner = format!("path.{}", path.name);
        add(&owner, json(path), &["name"]);
        add(&owner, json(&path.energy), &["radio"]);
        for energy in &path.also {
            add(&format!("{owner}.{}", energy.radio), json(energy), &["radio"]);
        }
    }
    for (i, connection) in outcome.connections.iter().enumerate() {
        let owner = format!("connection.{}", i + 1);
        let object = json(connection);
        for part in ["", "delay", "jitter", "head_of_line"] {
            let (owner, value) = match part {
                "" => (owner.clone(), object.clone()),
                part => (format!("{owner}.{part}"), object[part].clone()),
            };
            add(&owner, value, &["delay", "jitter", "head_of_line", "video", "waited_for"]);
        }
        if let Some(session) = &connection.video {
            let whole = session.to_json();
            add(&format!("{owner}.video"), whole["kpis"].clone(), &["mok"]);
            add(&format!("{owner}.video"), whole["kpis"]["mok"].clone(), &[]);
        }
    }
    all
}

fn json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
