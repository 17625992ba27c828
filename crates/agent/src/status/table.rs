//! Status as text tables.

use super::{Connections, Interface, PlayerStatus, Status};
use report::{Cell, Column, Row, Table};

/// Tables of interfaces, players (if any) and connections (if listed).
pub fn tables(status: &Status) -> Vec<Table> {
    let mut tables = vec![interfaces(status)];
    if !status.players.is_empty() {
        tables.push(players(&status.players));
    }
    tables.extend(status.connections.as_ref().map(connections));
    tables
}

/// Columns of the tables with their meaning, table by table.
const EXPLANATIONS: [(&str, &[[&str; 2]]); 3] = [
    (
        "interfaces",
        &[
            ["interface", "name of a managed interface"],
            ["kind", "its technology: lte, 3g, 5g and satellite are costly, all others are preferred"],
            ["link", "up; down: no link or no address; absent; closed: by the policy or an allowance"],
            ["use", "regular, or backup: used only while no regular interface works (MP_PRIO)"],
            ["down, up", "rates of the interface, all programs and protocols, averaged over 0.5 s"],
            ["total", "bytes in both directions since the agent manages the interface"],
            ["share", "part of this interface in the total of all managed interfaces"],
            ["radio", "present power state of its power profile, such as active, tail or idle"],
            ["energy", "estimate by the power profile since the agent manages the interface; not measured"],
            ["allowance", "bytes used of the data allowance in the present period"],
        ],
    ),
    (
        "players",
        &[
            ["session", "session of a video player (CMCD `sid`)"],
            ["object", "v video, a audio, av both; urgent: playback waits for the data"],
            ["buffer", "estimate of the playback time in the player's buffer now"],
            ["bitrate", "bitrate of the requested segment"],
            ["missing", "bytes of the segment that have not arrived"],
            ["reported", "time since the last report"],
        ],
    ),
    (
        "connections",
        &[
            ["connection", "remote end of a Multipath TCP connection"],
            ["over", "interface of a subflow; all: the connection with its closed subflows"],
            ["use", "regular or backup; for a connection its token, as in `ss -M`"],
            ["RTT", "smoothed round-trip time by the kernel, from data that this machine sent"],
            ["down, up", "bytes received and sent"],
        ],
    ),
];

/// Explains every column of the tables that [`tables`] returns.
pub fn explanations(status: &Status) -> Vec<Table> {
    let shown = |name: &str| match name {
        "players" => !status.players.is_empty(),
        "connections" => status.connections.is_some(),
        _ => true,
    };
    let explain = |(name, columns): &(&str, &[[&str; 2]])| {
        let table = Table::new(format!("columns of {name}"))
            .column(Column::text("column"))
            .column(Column::text("meaning"));
        let row = |[column, meaning]: &[&str; 2]| Row::new([Cell::text(*column), Cell::text(*meaning)]);
        columns.iter().fold(table, |table, column| table.row(row(column)))
    };
    EXPLANATIONS.iter().filter(|(name, _)| shown(name)).map(explain).collect()
}

fn interfaces(status: &Status) -> Table {
    let dry = if status.dry_run { " (dry run)" } else { "" };
    let mut table = Table::new(format!("{}{dry}, running for {}", status.policy, span(status.running_s)))
        .column(Column::text("interface"))
        .column(Column::text("kind"))
        .column(Column::text("link"))
        .column(Column::text("use"))
        .column(Column::number("down").unit("Mbit/s"))
        .column(Column::number("up").unit("Mbit/s"))
        .column(Column::number("total").unit("MB"))
        .column(Column::number("share").unit("%"));
    let has_energy = status.interfaces.iter().any(|one| one.energy.is_some());
    if has_energy {
        table = table.column(Column::text("radio")).column(Column::number("energy").unit("J"));
    }
    table = table.column(Column::text("allowance"));
    for one in &status.interfaces {
        let mut row = Row::new([
            Cell::text(&*one.name),
            Cell::text(&*one.kind),
            Cell::text(&*one.link),
            Cell::text(if one.link != "up" {
                "–"
            } else if one.backup {
                "backup"
            } else {
                "regular"
            }),
            Cell::number(one.down_mbps, 2),
            Cell::number(one.up_mbps, 2),
            Cell::number((one.down_bytes + one.up_bytes) as f64 / 1e6, 1),
            Cell::number(one.share.map_or(f64::NAN, |share| share * 100.0), 1),
        ]);
        if has_energy {
            let energy = one.energy.as_ref();
            row = row
                .cell(Cell::text(energy.map_or("–", |energy| &*energy.power_state)))
                .cell(Cell::number(energy.map_or(f64::NAN, |energy| energy.joules), 1));
        }
        table = table.row(row.cell(Cell::text(allowance(one))));
    }
    for remark in &status.remarks {
        table = table.note(remark.clone());
    }
    table
}

fn allowance(one: &Interface) -> String {
    let Some(allowance) = &one.allowance else { return "–".to_owned() };
    let state = match &*allowance.at_cap {
        _ if !allowance.is_up => "",
        _ if allowance.used_bytes >= allowance.data_bytes => ", used up",
        "backup" => ", backup ahead of the limit",
        _ => ", closed ahead of the limit",
    };
    format!("{} of {} per {}{state}", size(allowance.used_bytes), size(allowance.data_bytes), allowance.per)
}

fn players(players: &[PlayerStatus]) -> Table {
    let mut table = Table::new("players")
        .column(Column::text("session"))
        .column(Column::text("object"))
        .column(Column::number("buffer").unit("s"))
        .column(Column::number("bitrate").unit("Mbit/s"))
        .column(Column::number("missing").unit("MB"))
        .column(Column::number("reported").unit("s ago"));
    for one in players {
        let object = one.object.as_deref().unwrap_or("–");
        table = table.row(Row::new([
            Cell::text(&*one.session),
            Cell::text(if one.urgent { format!("{object}, urgent") } else { object.to_owned() }),
            Cell::number(one.buffer_s.unwrap_or(f64::NAN), 1),
            Cell::number(one.bitrate_kbps.map_or(f64::NAN, |kbps| kbps / 1e3), 2),
            Cell::number(one.missing_bytes.map_or(f64::NAN, |bytes| bytes as f64 / 1e6), 2),
            Cell::number(one.silent_s, 1),
        ]));
    }
    table
}

fn connections(connections: &Connections) -> Table {
    let title = format!("{} connections, {} subflows", connections.count, connections.subflows);
    let mut table = Table::new(title)
        .column(Column::text("connection"))
        .column(Column::text("over"))
        .column(Column::text("use"))
        .column(Column::number("RTT").unit("ms"))
        .column(Column::number("down").unit("MB"))
        .column(Column::number("up").unit("MB"));
    let mb = |bytes: u64| Cell::number(bytes as f64 / 1e6, 2);
    for one in &connections.most {
        table = table.row(Row::new([
            Cell::text(&*one.remote),
            Cell::text("all"),
            Cell::text(format!("{:08x}", one.token)),
            Cell::number(f64::NAN, 1),
            mb(one.down_bytes),
            mb(one.up_bytes),
        ]));
        for subflow in &one.subflows {
            table = table.row(Row::new([
                Cell::text(""),
                Cell::text(&*subflow.interface),
                Cell::text(if subflow.backup { "backup" } else { "regular" }),
                Cell::number(subflow.rtt_ms, 1),
                mb(subflow.down_bytes),
                mb(subflow.up_bytes),
            ]));
        }
        if one.ended_bytes > 0 && !one.subflows.is_empty() {
            let note = format!("{} by closed subflows", size(one.ended_bytes));
            table = table.row(Row::new([Cell::text(""), Cell::text(note)]));
        }
    }
    if (connections.most.len() as u64) < connections.count {
        table = table.note(format!("the {} connections with the most bytes", connections.most.len()));
    }
    table
}

/// Size with three significant digits.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let bytes = bytes as f64;
    match units.into_iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => {
            let value = bytes / unit;
            let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
            format!("{value:.decimals$} {name}")
        }
        None => format!("{bytes} B"),
    }
}

fn span(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
