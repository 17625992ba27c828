//! CSV of all counters, and of the time series.

use crate::series::Bin;
use crate::summary::{SeriesSet, StreamSeries, Summary};
use report::{Cell, Column, Row, Table};
use std::fmt::Write as _;
use std::iter;

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
        self.series.to_csv()
    }
}

/// A quantity of an interval.
type Quantity = fn(&Bin) -> Option<u64>;

/// Columns of a direction in the time series.
const COLUMNS: [(&str, Quantity); 5] = [
    ("payload_bytes", |bin| Some(bin.payload)),
    ("new_bytes", |bin| Some(bin.new)),
    ("reinjected_bytes", |bin| Some(bin.reinjected)),
    ("retransmitted_bytes", |bin| Some(bin.retransmitted)),
    ("data_bytes", |bin| Some(bin.data).filter(|&data| data > 0)),
];

impl SeriesSet {
    /// Names and values of the time series in bytes, all of the same length. `None` is progress that
    /// is unknown in an interval.
    pub fn columns(&self) -> impl Iterator<Item = (String, Vec<Option<u64>>)> + '_ {
        let rows = self.rows();
        self.streams.iter().flat_map(move |stream| {
            let name = self.name(stream);
            COLUMNS.iter().map(move |(quantity, value)| {
                let bins = stream.bins.iter().copied().chain(iter::repeat(Bin::default()));
                (format!("{name}.{quantity}"), bins.take(rows).map(|bin| value(&bin)).collect())
            })
        })
    }

    fn to_csv(&self) -> String {
        let columns: Vec<(String, Vec<Option<u64>>)> = self.columns().collect();
        let mut out = String::from("time_s");
        for (name, _) in &columns {
            let _ = write!(out, ",{}", plain(name));
        }
        out.push('\n');
        for row in 0..self.rows() {
            let micros = (self.interval_s * (row + 1) as f64 * 1e6).round();
            let _ = write!(out, "{}", micros / 1e6);
            for (_, values) in &columns {
                let _ = match values[row] {
                    Some(value) => write!(out, ",{value}"),
                    None => write!(out, ","),
                };
            }
            out.push('\n');
        }
        out
    }

    fn rows(&self) -> usize {
        self.streams.iter().map(|stream| stream.bins.len()).max().unwrap_or(0)
    }

    /// `connection1.wifi.down`.
    fn name(&self, stream: &StreamSeries) -> String {
        format!("connection{}.{}.{}", stream.connection, self.path(stream), stream.direction)
    }

    /// `wifi`. A later subflow of the connection over the same path has its number: `wifi-3`.
    pub(crate) fn path(&self, stream: &StreamSeries) -> String {
        let StreamSeries { connection, subflow, path, direction, .. } = stream;
        let is_same = |other: &&StreamSeries| {
            (other.connection, &other.path, other.direction) == (*connection, path, *direction)
        };
        match self.streams.iter().find(is_same) {
            Some(first) if first.subflow != *subflow => format!("{path}-{subflow}"),
            _ => path.clone(),
        }
    }
}

/// A name without separators and control characters: names from a file may contain any character.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || matches!(c, ',' | '"') { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_different_names_and_the_same_length() {
        let stream = |subflow, direction, bins| StreamSeries {
            connection: 1,
            subflow,
            path: "wifi".to_owned(),
            direction,
            bins,
        };
        let bin = Bin { payload: 5, data: 7, ..Bin::default() };
        let series = SeriesSet {
            interval_s: 0.5,
            streams: vec![
                stream(1, "up", vec![bin]),
                stream(1, "down", vec![]),
                stream(3, "down", vec![Bin::default(), bin]),
            ],
        };
        let columns: Vec<_> = series.columns().collect();
        let payload: Vec<_> = columns.iter().step_by(5).cloned().collect();
        assert_eq!(
            payload,
            [
                ("connection1.wifi.up.payload_bytes".to_owned(), vec![Some(5), Some(0)]),
                ("connection1.wifi.down.payload_bytes".to_owned(), vec![Some(0), Some(0)]),
                ("connection1.wifi-3.down.payload_bytes".to_owned(), vec![Some(0), Some(5)]),
            ]
        );
        assert_eq!(columns[14], ("connection1.wifi-3.down.data_bytes".to_owned(), vec![None, Some(7)]));
        let csv = series.to_csv();
        assert_eq!(csv.lines().nth(2), Some("1,0,0,0,0,,0,0,0,0,,5,0,0,0,7"));
    }

    #[test]
    fn times_have_at_most_six_decimals() {
        let bins = vec![Bin::default(); 51];
        let stream =
            StreamSeries { connection: 1, subflow: 1, path: "wifi".to_owned(), direction: "up", bins };
        let csv = SeriesSet { interval_s: 0.064, streams: vec![stream] }.to_csv();
        assert_eq!(csv.lines().last(), Some("3.264,0,0,0,0,"));
    }

    #[test]
    fn header_has_no_control_characters() {
        let stream = StreamSeries {
            connection: 1,
            subflow: 1,
            path: "a\u{1b}[2J,b\u{9b}\n".to_owned(),
            direction: "up",
            bins: vec![],
        };
        let csv = SeriesSet { interval_s: 0.5, streams: vec![stream] }.to_csv();
        assert!(csv.starts_with("time_s,connection1.a_[2J_b__.up.payload_bytes,"), "{csv:?}");
    }
}
