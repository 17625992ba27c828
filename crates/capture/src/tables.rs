//! Printed tables.

use crate::summary::{Carried, ConnectionSummary, DataSummary, RttSummary, SubflowSummary, Summary};
use report::{Cell, Column, Row, Table, literal};

/// Maximum number of printed rows per table; the files have all.
const MAX_ROWS: usize = 40;

impl Summary {
    /// Tables of the file, its connections, subflows, shares, signals, options and plain TCP,
    /// without empty ones.
    pub fn tables(&self) -> Vec<Table> {
        self.cut_tables(MAX_ROWS)
    }

    pub(crate) fn cut_tables(&self, most: usize) -> Vec<Table> {
        let mut tables = vec![self.file()];
        if !self.connections.is_empty() {
            tables.extend([self.connections(most), self.subflows(most)]);
            tables.extend([self.carried(most), self.round_trips(most)]);
        }
        if !self.mptcp_rec.is_empty() {
            tables.push(self.rate_requests(most));
        }
        if !self.events.is_empty() {
            tables.push(self.signals(most));
        }
        if self.options.counts().next().is_some() {
            tables.push(self.options());
        }
        if !self.tcp.is_empty() {
            tables.push(self.plain(most));
        }
        tables
    }

    fn file(&self) -> Table {
        let table = Table::new("Capture")
            .column(Column::text("format"))
            .column(Column::number("file").unit("MB"))
            .column(Column::number("duration").unit("s"))
            .column(Column::number("packets"))
            .column(Column::number("TCP segments"))
            .column(Column::number("connections").unit("MPTCP"))
            .column(Column::number("others").unit("TCP"))
            .row(Row::new([
                Cell::text(self.format),
                Cell::number(self.file_bytes as f64 / 1e6, 3),
                Cell::number(self.duration_s, 3),
                count(self.packets),
                count(self.segments),
                count(self.connections.len() as u64),
                count(self.tcp.len() as u64),
            ]));
        self.notes.iter().fold(table, |table, note| table.note(literal(note)))
    }

    fn connections(&self, most: usize) -> Table {
        let mut table = Table::new("Connections")
            .column(Column::text("#"))
            .column(Column::text("data"))
            .column(Column::number("subflows"))
            .column(Column::number("from").unit("s"))
            .column(Column::number("to").unit("s"))
            .column(Column::number("bytes").unit("MB"))
            .column(Column::number("mean rate").unit("Mbit/s"))
            .column(Column::number("peak out of order").unit("kB"))
            .column(Column::text("seen near"));
        for one in self.connections.iter().take(most) {
            for (direction, data) in directions(one) {
                let seconds = one.to_s - one.from_s;
                let rate = if seconds > 0.0 { data.bytes as f64 * 8e-6 / seconds } else { f64::NAN };
                table = table.row(Row::new([
                    Cell::text(one.number.to_string()),
                    Cell::text(direction),
                    count(one.subflows.len() as u64),
                    Cell::number(one.from_s, 3),
                    Cell::number(one.to_s, 3),
                    Cell::number(data.bytes as f64 / 1e6, 3),
                    Cell::number(rate, 2),
                    Cell::number(data.peak_out_of_order_bytes as f64 / 1e3, 1),
                    Cell::text(data.seen_near.unwrap_or("–")),
                ]));
            }
            if one.beginning == "missing" {
                table = table.note(format!("connection {} had begun before the capture", one.number));
            }
            if one.fell_back {
                table = table.note(format!("connection {} fell back to TCP", one.number));
            }
        }
        table =
            table.note("up is from the client to the server; near the sender nothing is out of order yet");
        left_out(table, self.connections.len(), most)
    }

    fn subflows(&self, most: usize) -> Table {
        let mut table = Table::new("Subflows")
            .column(Column::text("#"))
            .column(Column::text("path"))
            .column(Column::text("client"))
            .column(Column::text("server"))
            .column(Column::text("joined by"))
            .column(Column::number("from").unit("s"))
            .column(Column::number("to").unit("s"))
            .column(Column::text("ended by"));
        for (one, subflow) in self.all().take(most) {
            table = table.row(Row::new([
                Cell::text(name(one, subflow)),
                Cell::text(&*subflow.path),
                Cell::text(subflow.client.to_string()),
                Cell::text(subflow.server.to_string()),
                Cell::text(match subflow.joined_by {
                    "mp_capable" => "MP_CAPABLE",
                    "token" => "MP_JOIN",
                    "data" => "data that fit",
                    _ => "nothing",
                }),
                Cell::number(subflow.from_s, 3),
                Cell::number(subflow.to_s, 3),
                Cell::text(subflow.closed.map_or_else(|| "–".to_owned(), str::to_uppercase)),
            ]));
        }
        left_out(table, self.all().count(), most)
    }

    fn round_trips(&self, most: usize) -> Table {
        let mut table = Table::new("Round trips")
            .column(Column::text("#"))
            .column(Column::text("path"))
            .column(Column::number("handshake").unit("ms"))
            .column(Column::number("RTT least").unit("ms"))
            .column(Column::number("median").unit("ms"))
            .column(Column::number("95 %").unit("ms"))
            .column(Column::number("samples"))
            .column(Column::text("by"))
            .column(Column::text("to"));
        for (one, subflow) in self.all().take(most) {
            let handshake = subflow.handshake.and_then(|handshake| handshake.total_ms);
            let rtt = |of: fn(&RttSummary) -> f64, decimals| {
                subflow.rtt.as_ref().map_or_else(none, |rtt| Cell::number(of(rtt), decimals))
            };
            table = table.row(Row::new([
                Cell::text(name(one, subflow)),
                Cell::text(&*subflow.path),
                handshake.map_or_else(none, |ms| Cell::number(ms, 1)),
                rtt(|rtt| rtt.min_ms, 1),
                rtt(|rtt| rtt.median_ms, 1),
                rtt(|rtt| rtt.p95_ms, 1),
                rtt(|rtt| rtt.samples as f64, 0),
                Cell::text(subflow.rtt.map_or("–", |rtt| rtt.by)),
                Cell::text(subflow.rtt.map_or("–", |rtt| rtt.to)),
            ]));
        }
        left_out(table, self.all().count(), most)
    }

    fn all(&self) -> impl Iterator<Item = (&ConnectionSummary, &SubflowSummary)> {
        self.connections.iter().flat_map(|one| one.subflows.iter().map(move |subflow| (one, subflow)))
    }

    fn carried(&self, most: usize) -> Table {
        let mut table = Table::new("Payload by subflow")
            .column(Column::text("#"))
            .column(Column::text("path"))
            .column(Column::text("data"))
            .column(Column::number("segments"))
            .column(Column::number("payload").unit("MB"))
            .column(Column::number("new").unit("MB"))
            .column(Column::number("share").unit("%"))
            .column(Column::number("reinjected").unit("kB"))
            .column(Column::number("retransmitted").unit("kB").key("sent_again"))
            .column(Column::number("retransmitted").unit("segments").key("sent_again_segments"))
            .column(Column::number("late").unit("segments"));
        let mut number = 0;
        let mut unmapped = 0;
        for one in &self.connections {
            for subflow in &one.subflows {
                for (direction, carried) in [("down", &subflow.down), ("up", &subflow.up)] {
                    unmapped += carried.unmapped_bytes;
                    if carried.payload_bytes == 0 {
                        continue;
                    }
                    number += 1;
                    if number <= most {
                        table = table.row(row(one, subflow, direction, carried));
                    }
                }
            }
        }
        if unmapped > 0 {
            table = table.note(format!("{unmapped} bytes of payload have no mapping that the capture shows"));
        }
        table = table.note(
            "reinjected: carried by another subflow before; retransmitted: by this subflow; late: fills a gap",
        );
        left_out(table, number, most)
    }

    fn rate_requests(&self, most: usize) -> Table {
        let mut table = Table::new("MPTCP-rec reports")
            .column(Column::text("connection"))
            .column(Column::text("from"))
            .column(Column::text("path"))
            .column(Column::number("reports"))
            .column(Column::number("blocks"))
            .column(Column::number("last rate").unit("Mbit/s"))
            .column(Column::number("least").unit("Mbit/s"))
            .column(Column::number("most").unit("Mbit/s"));
        let rate = |bytes: u32| Cell::number(f64::from(bytes) * 8e-6, 2);
        for requests in self.mptcp_rec.iter().take(most) {
            table = table.row(Row::new([
                Cell::text(requests.connection.to_string()),
                Cell::text(requests.from),
                Cell::text(requests.path.to_string()),
                count(requests.reports),
                count(requests.blocks),
                rate(requests.last_rate),
                rate(requests.least_rate),
                rate(requests.most_rate),
            ]));
        }
        left_out(table, self.mptcp_rec.len(), most)
    }

    fn signals(&self, most: usize) -> Table {
        let mut table = Table::new("Signals")
            .column(Column::number("at").unit("s"))
            .column(Column::text("#"))
            .column(Column::text("from"))
            .column(Column::text("option"))
            .column(Column::text("what"));
        for event in self.events.iter().take(most) {
            table = table.row(Row::new([
                Cell::number(event.at_s, 3),
                Cell::text(format!("{}.{}", event.connection, event.subflow)),
                Cell::text(event.from),
                Cell::text(event.option),
                Cell::text(&*event.detail),
            ]));
        }
        left_out(table, self.events.len(), most)
    }

    fn options(&self) -> Table {
        let table = Table::new("Options").column(Column::text("option")).column(Column::number("segments"));
        self.options
            .counts()
            .fold(table, |table, (name, n)| table.row(Row::new([Cell::text(name), count(n)])))
    }

    fn plain(&self, most: usize) -> Table {
        let mut table = Table::new("Plain TCP")
            .column(Column::text("client"))
            .column(Column::text("server"))
            .column(Column::text("offered"))
            .column(Column::number("from").unit("s"))
            .column(Column::number("to").unit("s"))
            .column(Column::number("segments"))
            .column(Column::number("up").unit("MB"))
            .column(Column::number("down").unit("MB"))
            .column(Column::number("retransmitted").unit("segments").key("sent_again"));
        for flow in self.tcp.iter().take(most) {
            table = table.row(Row::new([
                Cell::text(flow.client.to_string()),
                Cell::text(flow.server.to_string()),
                Cell::text(if flow.offered { "MPTCP" } else { "–" }),
                Cell::number(flow.from_s, 3),
                Cell::number(flow.to_s, 3),
                count(flow.segments),
                Cell::number(flow.up_bytes as f64 / 1e6, 3),
                Cell::number(flow.down_bytes as f64 / 1e6, 3),
                count(flow.retransmitted_segments),
            ]));
        }
        left_out(table, self.tcp.len(), most)
    }
}

/// Directions with data; both if neither has any.
fn directions(one: &ConnectionSummary) -> Vec<(&'static str, &DataSummary)> {
    let both = [("down", &one.down), ("up", &one.up)];
    let some: Vec<_> = both.into_iter().filter(|(_, data)| data.bytes > 0).collect();
    if some.is_empty() { vec![both[0]] } else { some }
}

fn row(one: &ConnectionSummary, subflow: &SubflowSummary, direction: &str, carried: &Carried) -> Row {
    Row::new([
        Cell::text(name(one, subflow)),
        Cell::text(&*subflow.path),
        Cell::text(direction),
        count(carried.data_segments),
        Cell::number(carried.payload_bytes as f64 / 1e6, 3),
        Cell::number(carried.new_bytes as f64 / 1e6, 3),
        carried.share.map_or_else(none, |share| Cell::number(share * 100.0, 1)),
        Cell::number(carried.reinjected_bytes as f64 / 1e3, 1),
        Cell::number(carried.retransmitted_bytes as f64 / 1e3, 1),
        count(carried.retransmitted_segments),
        count(carried.late_segments),
    ])
}

fn name(one: &ConnectionSummary, subflow: &SubflowSummary) -> String {
    format!("{}.{}", one.number, subflow.number)
}

fn count(number: u64) -> Cell {
    Cell::number(number as f64, 0)
}

fn none() -> Cell {
    Cell::number(f64::NAN, 0)
}

fn left_out(table: Table, all: usize, most: usize) -> Table {
    if all > most { table.note(format!("and {} more: `--format json` has all", all - most)) } else { table }
}
