//! Tables of a run with several devices.

use super::CrowdRun;
use super::measure::{Measure, Spread, measures};
use crate::display::decimals;
use report::{Cell, Column, Row, Table, literal};
use sim::CellPackets;

/// Distributions over all devices, then over each group if there are several.
pub(super) fn devices(run: &CrowdRun) -> Vec<Table> {
    let all: Vec<usize> = (0..run.crowd.devices.len()).collect();
    let idle = run.crowd.devices.iter().filter(|device| !super::measure::starts(device)).count();
    let mut first = table(run, &format!("All {} devices", all.len()), &all);
    if idle > 0 {
        first = first.note(format!("{idle} devices never start; they are not counted."));
    }
    let mut tables = vec![first];
    if run.groups.len() > 1 {
        tables.extend(run.groups.iter().map(|group| {
            let title = format!("{} {} with policy {}", group.members.len(), group.kind, group.policy);
            table(run, &title, &group.members)
        }));
    }
    // Devices of one run share their cells: an interval over them would tell nothing.
    if let Some(last) = tables.pop() {
        tables.push(last.note("One run: `tandem compare` with `--seeds` gives means with intervals."));
    }
    tables
}

fn table(run: &CrowdRun, title: &str, members: &[usize]) -> Table {
    let mut table = Table::new(title).column(Column::text("")).column(Column::text("unit"));
    for (name, key) in [
        ("devices", "devices"),
        ("mean", "mean"),
        ("5 %", "p5"),
        ("median", "p50"),
        ("95 %", "p95"),
        ("Jain", "jain"),
    ] {
        table = table.column(Column::number(name).key(key));
    }
    for measure in measures(&run.crowd) {
        let spread = Spread::of(&values(run, &measure, members));
        if spread.devices == 0 {
            continue;
        }
        let digits = decimals([spread.mean, spread.p95]).min(3);
        let jain = if measure.is_shared() { Cell::number(spread.jain, 3) } else { Cell::empty() };
        table = table.row(Row::new([
            Cell::text(&*measure.name),
            Cell::text(measure.unit),
            Cell::number(spread.devices as f64, 0),
            Cell::number(spread.mean, digits),
            Cell::number(spread.p5, digits),
            Cell::number(spread.p50, digits),
            Cell::number(spread.p95, digits),
            jain,
        ]));
        let open = unfinished(run, &measure, members);
        if let Some(noun) = measure.unfinished_noun().filter(|_| open > 0) {
            table = table.note(format!(
                "{}: {open} of {} devices had {noun} when the run ended, and count until then.",
                measure.name, spread.devices
            ));
        }
    }
    table
}

/// Number of devices whose value of a measure is a lower bound.
pub(super) fn unfinished(run: &CrowdRun, measure: &Measure, members: &[usize]) -> usize {
    let is_unfinished = |&&i: &&usize| measure.is_unfinished(&run.crowd.devices[i], &run.outcome.devices[i]);
    members.iter().filter(is_unfinished).count()
}

/// Values of a measure in these devices, without those that have none.
pub(super) fn values(run: &CrowdRun, measure: &Measure, members: &[usize]) -> Vec<f64> {
    let value = |&i: &usize| measure.of(&run.crowd.devices[i], &run.outcome.devices[i]);
    members.iter().filter_map(value).collect()
}

/// Load and packets of the cells; `None` without cells.
pub(super) fn cells(run: &CrowdRun) -> Option<Table> {
    let cells = &run.outcome.cells;
    let mut table = Table::new("Cells").column(Column::text("cell")).column(Column::text("kind"));
    table = table
        .column(Column::number("stations"))
        .column(Column::number("load").unit("%").key("load_percent"))
        .column(Column::number("rate").unit("Mbit/s").key("rate_mbps"));
    for name in ["entered", "dropped", "lost", "waiting"] {
        table = table.column(Column::number(name));
    }
    for cell in cells {
        let packets = &cell.packets;
        let counts = [packets.entered, packets.dropped, packets.lost + packets.damaged, packets.waiting];
        let row = Row::new([
            Cell::text(&*cell.name),
            Cell::text(cell.kind),
            Cell::number(cell.stations as f64, 0),
            Cell::number(100.0 * cell.load, 1),
            Cell::number(cell.rate_mbps, 2),
        ]);
        table = table.row(counts.iter().fold(row, |row, &count| row.cell(Cell::number(count as f64, 0))));
    }
    for (cell, backhaul) in cells.iter().filter_map(|cell| Some((cell, cell.backhaul?))) {
        let dropped = |packets: CellPackets| packets.dropped + packets.lost + packets.damaged;
        table = table.note(format!(
            "The backhaul of {} dropped or lost {} packets down and {} up.",
            literal(&cell.name),
            dropped(backhaul.down),
            dropped(backhaul.up)
        ));
    }
    (!cells.is_empty()).then(|| table.note(
        "Load: share of the time in which the medium is in use, by other stations too. Rate and packets: of the \
         devices and backhauls.",
    ))
}

/// A row for each device and measure.
pub(super) fn long(run: &CrowdRun) -> Table {
    let mut table = Table::default()
        .column(Column::text("device"))
        .column(Column::text("policy"))
        .column(Column::text("quantity"))
        .column(Column::number("value"));
    let measures = measures(&run.crowd);
    for (device, outcome) in run.crowd.devices.iter().zip(&run.outcome.devices) {
        for measure in &measures {
            let value = measure.of(device, outcome).map_or_else(Cell::empty, |value| Cell::number(value, 6));
            table = table.row(Row::new([
                Cell::text(&*outcome.device.name),
                Cell::text(&*outcome.device.policy),
                Cell::text(&*measure.key),
                value,
            ]));
        }
    }
    table
}
