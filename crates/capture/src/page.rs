//! Report of a capture.

use crate::series::Bin;
use crate::summary::{StreamSeries, Summary};
use report::{Axis, Bars, Estimate, Line, Lines, Page, Panel, Section, Timeline, literal};

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 200;

impl Summary {
    /// Report on the file `name`.
    pub fn page(&self, file: &str) -> Page {
        let mut tables = self.cut_tables(MAX_ROWS).into_iter();
        let mut result = Section::new("Result");
        if let Some(capture) = tables.next() {
            result = result.table(capture);
        }
        let mut payload = Section::new("Payload by subflow");
        let mut more = Section::new("Signals and other flows");
        for table in tables {
            match table.title.as_str() {
                "Connections" | "Subflows" | "Round trips" => result = result.table(table),
                "Payload by subflow" => payload = payload.table(table),
                _ => more = more.table(table),
            }
        }
        if let Some(split) = self.split() {
            payload = payload.chart(split);
        }
        let mut page = Page::new(format!("Capture {file}")).lead(self.lead()).section(result);
        if !self.connections.is_empty() {
            page = page.section(payload);
        }
        if !self.series.streams.is_empty() {
            let mut time = Section::new("Over time").chart(self.rates());
            for (number, direction) in self.directions() {
                time = time.chart(self.progress(number, direction));
            }
            page = page.section(time);
        }
        if !more.blocks.is_empty() {
            page = page.section(more);
        }
        page.footer(format!("Made by `tandem` {}. The same capture gives the same page.", self.tandem))
    }

    fn lead(&self) -> String {
        let mut totals: Vec<(&str, u64)> = Vec::new();
        for subflow in self.connections.iter().flat_map(|one| &one.subflows) {
            let bytes = subflow.up.new_bytes + subflow.down.new_bytes;
            match totals.iter_mut().find(|(path, _)| *path == subflow.path) {
                Some((_, sum)) => *sum += bytes,
                None => totals.push((&subflow.path, bytes)),
            }
        }
        totals.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
        let all: u64 = totals.iter().map(|(_, bytes)| bytes).sum();
        let connections = match self.connections.len() {
            0 => return "There is no connection of Multipath TCP in this capture.".to_owned(),
            1 => "One connection of Multipath TCP".to_owned(),
            some => format!("{some} connections of Multipath TCP"),
        };
        let shares: Vec<String> = totals
            .iter()
            .take(4)
            .map(|(path, bytes)| {
                format!("{:.0} % over {}", 100.0 * *bytes as f64 / all.max(1) as f64, literal(path))
            })
            .collect();
        format!(
            "{connections} carried **{:.2} MB** of data in {:.1} s: {}.",
            all as f64 / 1e6,
            self.duration_s,
            shares.join(", ")
        )
    }

    /// Chart of bytes per path: new, reinjected, retransmitted.
    fn split(&self) -> Option<Bars> {
        let mut paths: Vec<(&str, [f64; 3])> = Vec::new();
        for subflow in self.connections.iter().flat_map(|one| &one.subflows) {
            let sums = [&subflow.up, &subflow.down].map(|carried| {
                [carried.new_bytes, carried.reinjected_bytes, carried.retransmitted_bytes]
                    .map(|n| n as f64 / 1e6)
            });
            let at = paths.iter().position(|(path, _)| *path == subflow.path).unwrap_or_else(|| {
                paths.push((&subflow.path, [0.0; 3]));
                paths.len() - 1
            });
            for sum in sums {
                for (total, more) in paths[at].1.iter_mut().zip(sum) {
                    *total += more;
                }
            }
        }
        // More bars are unreadable.
        if paths.is_empty() || paths.len() > 12 {
            return None;
        }
        let bars = Bars::new("Payload by path", Axis::new("payload").unit("MB"))
            .key("split")
            .groups(paths.iter().map(|(path, _)| *path))
            .decimals(2);
        let series = ["new", "reinjected", "retransmitted"].into_iter().enumerate();
        Some(series.fold(bars, |bars, (i, name)| {
            bars.series(name, paths.iter().map(|(_, sums)| Estimate::exact(sums[i])))
        }))
    }

    /// Connections and directions that have a series.
    fn directions(&self) -> Vec<(usize, &'static str)> {
        let mut found: Vec<(usize, &'static str)> = Vec::new();
        for stream in &self.series.streams {
            let one = (stream.connection, stream.direction);
            if !found.contains(&one) {
                found.push(one);
            }
        }
        found.truncate(8);
        found
    }

    fn rates(&self) -> Timeline {
        let mut chart = Timeline::new("Rates of the paths").key("rates");
        let interval = self.series.interval_s;
        for direction in ["down", "up"] {
            let mut panel = Panel::new(Axis::new(format!("payload {direction}")).unit("Mbit/s").from(0.0));
            for stream in self.series.streams.iter().filter(|stream| stream.direction == direction) {
                let rates = stream.bins.iter().map(|bin| bin.payload as f64 * 8e-6 / interval).collect();
                panel = panel.line(Line::sampled(self.name(stream), interval, interval, rates));
            }
            if !panel.lines.is_empty() {
                chart = chart.panel(panel);
            }
        }
        let mut repeated = Panel::new(Axis::new("reinjected and retransmitted").unit("Mbit/s").from(0.0));
        for stream in &self.series.streams {
            let twice = |bin: &Bin| (bin.reinjected + bin.retransmitted) as f64 * 8e-6 / interval;
            if stream.bins.iter().any(|bin| twice(bin) > 0.0) {
                let rates = stream.bins.iter().map(twice).collect();
                repeated = repeated.line(Line::sampled(self.name(stream), interval, interval, rates));
            }
        }
        if !repeated.lines.is_empty() {
            chart = chart.panel(repeated);
        }
        chart.caption(format!("Means over {} ms, of payload as often as it passed.", interval * 1e3))
    }

    /// Chart of the data's progress per path.
    fn progress(&self, connection: usize, direction: &str) -> Lines {
        let interval = self.series.interval_s;
        let title = format!("Connection {connection}, {direction}: data sequence numbers");
        let mut chart =
            Lines::new(title, Axis::seconds(), Axis::new("data since the beginning").unit("MB").from(0.0))
                .key(format!("progress:{connection}-{direction}"));
        let of = |stream: &&StreamSeries| stream.connection == connection && stream.direction == direction;
        for stream in self.series.streams.iter().filter(of) {
            let points = stream.bins.iter().enumerate().filter(|(_, bin)| bin.data > 0);
            let (x, y) = points.map(|(i, bin)| (interval * (i + 1) as f64, bin.data as f64 / 1e6)).unzip();
            chart = chart.line(Line::new(self.name(stream), x, y).dots());
        }
        chart.caption(
            "Furthest data of each path within an interval. Paths that carry data of the same time are close \
             to one another; a path far below is late.",
        )
    }

    fn name(&self, stream: &StreamSeries) -> String {
        if self.connections.len() == 1 {
            self.series.path(stream)
        } else {
            format!("{}: {}", stream.connection, self.series.path(stream))
        }
    }
}
