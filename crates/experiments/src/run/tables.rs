//! The tables of a run.

use super::{Captured, Kernel, Programs, Reaction};
use crate::describe;
use crate::display::{decimals, megabytes, time_unit};
use report::{Cell, Column, Row, Table, Tone};
use sim::{ConnectionOutcome, EnergyOutcome, Experiment, Outcome, PathOutcome};
use units::Duration;

/// Device, paths, energy, connections, and then those that not every run has.
pub(super) fn tables(experiment: &Experiment, outcome: &Outcome) -> Vec<Table> {
    let mut all =
        vec![device(experiment, outcome), paths(outcome), energy(experiment, outcome), connections(outcome)];
    all.extend(crate::video::table(outcome));
    all.extend(middleboxes(outcome));
    all.extend(background(outcome));
    all
}

/// The same where nothing is known of connections but how many there were.
pub(super) fn of_programs(experiment: &Experiment, outcome: &Outcome, programs: &Programs) -> Vec<Table> {
    let mut all = vec![
        device(experiment, outcome),
        paths(outcome),
        delays(outcome, programs),
        energy(experiment, outcome),
    ];
    all.extend(middleboxes(outcome));
    all.extend(background(outcome));
    all.push(multipath(programs));
    all
}

/// How long packets were under way.
fn delays(outcome: &Outcome, programs: &Programs) -> Table {
    let mut table = Table::new("Delay of a packet, means").column(Column::text("path"));
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
    let [asked, agreed, joined] = programs.multipath;
    Table::new("Multipath TCP of the device")
        .column(Column::number("connections that asked").key("asked"))
        .column(Column::number("got it").key("agreed"))
        .column(Column::number("subflows that joined").key("joined"))
        .row(Row::new([count(asked), count(agreed), count(joined)]))
}

fn device(experiment: &Experiment, outcome: &Outcome) -> Table {
    let device = &outcome.device;
    let lifespan = device.lifespan_s.unwrap_or(f64::NAN);
    let (unit, seconds) = time_unit([lifespan]);
    let lifespan = lifespan / seconds;
    let efficiency = device.efficiency_mbit_per_j.unwrap_or(f64::NAN);
    let number = |value: f64| Cell::number(value, decimals([value]));
    let table = Table::new("Device")
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
        ]));
    describe::idle_policy(experiment).into_iter().fold(table, Table::note)
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
    // What happens on few paths has a column only where it happened.
    let rare: [(&str, Count); 3] = [
        ("marked", |path| path.marked_packets),
        ("damaged", |path| path.damaged_packets),
        ("doubled", |path| path.doubled_packets),
    ];
    let rare = || rare.iter().filter(|(_, of)| outcome.paths.iter().any(|path| of(path) > 0));
    for (name, _) in rare() {
        table = table.column(Column::number(*name).unit("packets"));
    }
    table = table.column(Column::number("sent again").unit("segments"));
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

/// What the middleboxes did, where there are any.
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

/// The datagrams beside the connections, where there are any.
fn background(outcome: &Outcome) -> Option<Table> {
    let all = &outcome.background;
    let mut table = Table::new("Background")
        .column(Column::text("path"))
        .column(Column::text("direction"))
        .column(Column::number("offered").unit("packets").key("offered_packets"))
        .column(Column::number("delivered").unit("packets").key("delivered_packets"))
        .column(Column::number("delivered").unit("MB").key("delivered_mb"))
        .column(Column::number("mean delay").unit("ms"))
        .column(Column::number("longest delay").unit("ms"));
    let sizes = decimals(all.iter().map(|flow| megabytes(flow.delivered_bytes)));
    for flow in all {
        table = table.row(Row::new([
            Cell::text(&*flow.path),
            Cell::text(flow.direction),
            count(flow.offered_packets),
            count(flow.delivered_packets),
            Cell::number(megabytes(flow.delivered_bytes), sizes),
            Cell::number(flow.mean_delay_s.unwrap_or(f64::NAN) * 1e3, 1),
            Cell::number(flow.longest_delay_s * 1e3, 1),
        ]));
    }
    (!all.is_empty()).then_some(table)
}

/// The energy by path and by part.
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
    // Where a device draws nothing extra, a row of zeros would only ask what it means.
    if outcome.device.joint_energy_j > 0.0 {
        let joules = Cell::number(outcome.device.joint_energy_j, digits);
        table = table.row(Row::new([Cell::text("both at once"), Cell::empty(), joules]));
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

/// Idle, promotion, active, data, tail.
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

fn count(number: u64) -> Cell {
    Cell::number(number as f64, 0)
}

/// How soon paths fell silent that the policy wanted no more, where there were any.
pub(super) fn reactions(kernel: &Kernel) -> Option<Table> {
    let mut table = Table::new("Reaction, from the decision to the last payload; medians")
        .column(Column::text("path"))
        .column(Column::number("decisions"))
        .column(Column::number("order").unit("ms").key("order_ms"))
        .column(Column::number("link").unit("ms").key("link_ms"))
        .column(Column::number("sender").unit("ms").key("sender_ms"))
        .column(Column::number("reaction").unit("ms").key("took_ms"))
        .column(Column::number("longest").unit("ms").key("longest_ms"))
        .column(Column::number("given before").unit("kB").key("given_kb"))
        .column(Column::number("takes").unit("ms").key("given_needs_ms"))
        .column(Column::number("unexplained").unit("ms").key("unexplained_ms"));
    let mut names: Vec<&str> = kernel.reactions.iter().map(|reaction| &*reaction.path).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        let of = |figure: fn(&Reaction) -> f64| {
            let reactions = kernel.reactions.iter().filter(|reaction| reaction.path == *name);
            let mut all: Vec<f64> = reactions.map(|reaction| figure(reaction) * 1e3).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        let median = |figure| of(figure).get(of(figure).len() / 2).copied().unwrap_or(f64::NAN);
        let took = of(|reaction| reaction.took.as_secs_f64());
        let row = Row::new([Cell::text(*name), count(took.len() as u64)]);
        let cells = [
            median(|reaction| reaction.order.as_secs_f64()),
            median(|reaction| reaction.link.as_secs_f64()),
            median(|reaction| reaction.sender.as_secs_f64()),
            median(|reaction| reaction.took.as_secs_f64()),
            took.last().copied().unwrap_or(f64::NAN),
            median(|reaction| reaction.given.get() as f64 * 1e-6),
            median(|reaction| reaction.needed.as_secs_f64()),
            median(|reaction| reaction.sender.as_secs_f64() - reaction.needed.as_secs_f64()),
        ];
        table = table.row(cells.map(|ms| Cell::number(ms, 0)).into_iter().fold(row, Row::cell));
    }
    (!names.is_empty()).then(|| {
        table.note("order and link: one round trip, with what waited in the link's queue").note(
            "sender: what it had given to the path before it heard, which a priority does not take back",
        )
    })
}

/// Whether the capture and the kernel's counters agree, where there is a capture.
pub(super) fn captured(kernel: &Kernel) -> Option<Table> {
    let table = Table::new("The capture beside the kernel's counters")
        .column(Column::text("path"))
        .column(Column::text("subflow from").key("client"))
        .column(Column::number("received: capture").unit("bytes").key("received_captured"))
        .column(Column::number("kernel").unit("bytes").key("received_counted"))
        .column(Column::number("acknowledged: capture").unit("bytes").key("acknowledged_captured"))
        .column(Column::number("kernel").unit("bytes").key("acknowledged_counted"));
    let row = |one: &Captured| {
        let cells =
            one.received.into_iter().chain(one.acknowledged).map(|bytes| (count(bytes), one.agrees()));
        let cells = cells.map(|(cell, agrees)| if agrees { cell } else { cell.tone(Tone::Bad) });
        cells.fold(Row::new([Cell::text(&*one.path), Cell::text(&*one.client)]), Row::cell)
    };
    let table = kernel.captured.iter().map(row).fold(table, Table::row);
    let differ = kernel.captured.iter().filter(|one| !one.agrees()).count();
    let table = match differ {
        0 => table.note("they agree to the byte"),
        1 => table.note("one subflow differs: the kernel drops what it has no room for"),
        n => table.note(format!("{n} subflows differ: the kernel drops what it has no room for")),
    };
    (!kernel.captured.is_empty()).then_some(table)
}

/// The kernel that ran it.
pub(super) fn kernel(kernel: &Kernel) -> Table {
    let [median, p99, longest] = kernel.lateness.map(|late| Cell::number(late.as_secs_f64() * 1e3, 3));
    let table = Table::new("Kernel")
        .column(Column::text("Linux"))
        .column(Column::number("packets late: median").unit("ms").key("late_median_ms"))
        .column(Column::number("99 %").unit("ms").key("late_p99_ms"))
        .column(Column::number("longest").unit("ms").key("late_longest_ms"))
        .column(Column::number("MP_PRIO heard").key("priorities_heard"))
        .row(Row::new([Cell::text(&*kernel.release), median, p99, longest, count(kernel.priorities_heard)]));
    kernel.notes.iter().fold(table, |table, note| table.note(&**note))
}

/// Every number of the outcome with its owner: `device`, `path.NAME`, `connection.N`.
pub(super) fn long(outcome: &Outcome) -> Table {
    let mut table = Table::default()
        .column(Column::text("owner"))
        .column(Column::text("quantity"))
        .column(Column::number("value"));
    let mut add = |owner: &str, value: serde_json::Value, skip: &[&str]| {
        let serde_json::Value::Object(object) = value else { return };
        for (name, value) in object.iter().filter(|(name, _)| !skip.contains(&name.as_str())) {
            let cell = match value {
                serde_json::Value::Number(number) => Cell::number(number.as_f64().unwrap_or(f64::NAN), 6),
                serde_json::Value::String(text) => Cell::text(&**text),
                serde_json::Value::Bool(flag) => Cell::text(if *flag { "true" } else { "false" }),
                _ => Cell::empty(),
            };
            table.rows.push(Row::new([Cell::text(owner), Cell::text(&**name), cell]));
        }
    };
    add("device", json(&outcome.device), &[]);
    for path in &outcome.paths {
        let owner = format!("path.{}", path.name);
        add(&owner, json(path), &["name", "energy", "also"]);
        add(&owner, json(&path.energy), &["radio"]);
        for energy in &path.also {
            add(&format!("{owner}.{}", energy.radio), json(energy), &["radio"]);
        }
    }
    for (i, connection) in outcome.connections.iter().enumerate() {
        let owner = format!("connection.{}", i + 1);
        add(&owner, json(connection), &["video"]);
        if let Some(session) = &connection.video {
            let whole = session.to_json();
            add(&format!("{owner}.video"), whole["kpis"].clone(), &["mok"]);
            add(&format!("{owner}.video"), whole["kpis"]["mok"].clone(), &[]);
        }
    }
    table
}

fn json(value: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or_default()
}
