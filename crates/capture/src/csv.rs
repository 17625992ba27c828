//! CSV of all counters, and of the time series.

use crate::summary::{StreamSeries, Summary};
use report::{Cell, Column, Row, Table};
use std::fmt::Write as _;

impl Summary {
    /// One row per direction of each subflow, with all counters.
    pub fn long_table(&self) -> Table {
        let words = ["connection", "subflow", "path", "client", "server", "direction"];
        let numbers = [
            "segments",
            "data_segments",
            "wire_bytes",
            "payload_bytes",
            "new_bytes",
            "reinjected_bytes",
            "reinjected_segments",
            "retransmitted_bytes",
            "retransmitted_segments",
            "late_segments",
            "repeated_bytes",
            "unmapped_bytes",
            "in_order_bytes",
            "acknowledged_bytes",
        ];
        let mut table =
            words.into_iter().fold(Table::new(""), |table, word| table.column(Column::text(word)));
        table = numbers.into_iter().fold(table, |table, word| table.column(Column::number(word)));
        for connection in &self.connections {
            for subflow in &connection.subflows {
                for (direction, carried) in [("up", &subflow.up), ("down", &subflow.down)] {
                    let words = [
                        connection.number.to_string(),
                        subflow.number.to_string(),
                        subflow.path.clone(),
                        subflow.client.to_string(),
                        subflow.server.to_string(),
                        direction.to_owned(),
                    ];
                    let numbers = [
                        carried.segments,
                        carried.data_segments,
                        carried.wire_bytes,
                        carried.payload_bytes,
                        carried.new_bytes,
                        carried.reinjected_bytes,
                        carried.reinjected_segments,
                        carried.retransmitted_bytes,
                        carried.retransmitted_segments,
                        carried.late_segments,
                        carried.repeated_bytes,
                        carried.unmapped_bytes,
                    ];
                    let known = [carried.in_order_bytes, carried.acknowledged_bytes];
                    let cells = words.into_iter().map(Cell::text);
                    let numbers = numbers.into_iter().map(|number| Cell::number(number as f64, 0));
                    let known =
                        known.map(|bytes| Cell::number(bytes.map_or(f64::NAN, |bytes| bytes as f64), 0));
                    table = table.row(Row::new(cells.chain(numbers).chain(known)));
                }
            }
        }
        table
    }

    /// Content of `series.csv`: the first column is the end of each interval in seconds; the
    /// others are bytes per interval, and the progress of the data.
    pub fn series_csv(&self) -> String {
        let mut out = String::from("time_s");
        for stream in &self.series.streams {
            for quantity in
                ["payload_bytes", "new_bytes", "reinjected_bytes", "retransmitted_bytes", "data_bytes"]
            {
                let _ = write!(out, ",{}.{quantity}", quoted(&name(stream)));
            }
        }
        out.push('\n');
        let rows = self.series.streams.iter().map(|stream| stream.bins.len()).max().unwrap_or(0);
        for row in 0..rows {
            let _ = write!(out, "{}", self.series.interval_s * (row + 1) as f64);
            for stream in &self.series.streams {
                let bin = stream.bins.get(row).copied().unwrap_or_default();
                let _ = write!(out, ",{},{},{},{},", bin.payload, bin.new, bin.reinjected, bin.retransmitted);
                if bin.data > 0 {
                    let _ = write!(out, "{}", bin.data);
                }
            }
            out.push('\n');
        }
        out
    }
}

fn name(stream: &StreamSeries) -> String {
    format!("connection{}.{}.{}", stream.connection, stream.path, stream.direction)
}

/// Quotes a field: names from a file may contain any character.
fn quoted(name: &str) -> String {
    name.chars().map(|sign| if matches!(sign, ',' | '"' | '\n' | '\r') { '_' } else { sign }).collect()
}
