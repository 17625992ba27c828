//! Time series of a run: rows at a fixed interval, by column.

use crate::experiment::Experiment;
use abr::Sight;
use traffic::Kind;

/// Name and unit of each column of a path. Columns of paths come first, then those of connections,
/// then those of the device.
const PATH_COLUMNS: [(&str, &str); 8] = [
    ("rate_down_mbps", "Mbit/s"),
    ("rate_up_mbps", "Mbit/s"),
    ("cwnd_kb", "kB"),
    ("srtt_ms", "ms"),
    ("queue_kb", "kB"),
    ("power_w", "W"),
    ("energy_j", "J"),
    ("backup", ""),
];
const CONNECTION_COLUMNS: [(&str, &str); 3] =
    [("goodput_mbps", "Mbit/s"), ("out_of_order_kb", "kB"), ("unsent_kb", "kB")];
/// Further columns of a connection that carries no video.
const DELAY_COLUMNS: [(&str, &str); 1] = [("delay_ms", "ms")];
/// Further columns of a connection that carries video.
const VIDEO_COLUMNS: [(&str, &str); 3] = [("buffer_s", "s"), ("bitrate_mbps", "Mbit/s"), ("waiting", "")];
const DEVICE_COLUMNS: [(&str, &str); 2] = [("power_w", "W"), ("energy_j", "J")];

/// Rows at a fixed interval, stored by column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Seconds between rows; the first row is at one interval.
    pub interval_s: f64,
    /// The columns, all of the same length.
    pub columns: Vec<SeriesColumn>,
}

/// One column of a [`Series`]. Columns are equal if their values have the same bits, so that a gap
/// equals a gap.
#[derive(Debug, Clone)]
pub struct SeriesColumn {
    /// `owner.quantity_unit`, such as `wifi.rate_down_mbps`.
    pub name: String,
    /// Unit for an axis label.
    pub unit: &'static str,
    /// One value for each row; NaN where there is none.
    pub values: Vec<f64>,
}

impl PartialEq for SeriesColumn {
    fn eq(&self, other: &Self) -> bool {
        let bits = |column: &Self| column.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        self.name == other.name && self.unit == other.unit && bits(self) == bits(other)
    }
}

impl Series {
    /// The columns of an experiment without rows; no columns if the experiment records no series.
    pub fn new(experiment: &Experiment) -> Self {
        let mut columns = Vec::new();
        let mut add = |owner: &str, kinds: &[(&str, &'static str)]| {
            for (name, unit) in kinds {
                columns.push(SeriesColumn { name: format!("{owner}.{name}"), unit, values: Vec::new() });
            }
        };
        if !experiment.sample.is_zero() {
            experiment.paths.iter().for_each(|path| add(&path.name, &PATH_COLUMNS));
            for (i, traffic) in experiment.traffic.iter().enumerate() {
                let owner = format!("connection{}", i + 1);
                add(&owner, &CONNECTION_COLUMNS);
                let is_video = matches!(traffic.kind, Kind::Video(_));
                add(&owner, if is_video { &VIDEO_COLUMNS[..] } else { &DELAY_COLUMNS });
            }
            add("device", &DEVICE_COLUMNS);
        }
        Self { interval_s: experiment.sample.as_secs_f64(), columns }
    }

    /// Values of a video's columns: buffer, bitrate, and 1 while the player waits.
    pub fn video(sight: &Sight) -> [f64; 3] {
        let waiting = f64::from(u8::from(sight.waiting));
        [sight.buffer.as_secs_f64(), sight.bitrate.as_mbps(), waiting]
    }

    /// Value of the delay column: mean delay of the messages read since the row with the totals
    /// `last` ([`DelayRecorder::totals`](crate::DelayRecorder::totals)), in milliseconds; NaN without messages.
    pub fn delay(totals: (u64, u128), last: (u64, u128)) -> f64 {
        match totals.0 - last.0 {
            0 => f64::NAN,
            count => (totals.1 - last.1) as f64 * 1e-6 / count as f64,
        }
    }

    /// Adds a row: a value for each column, in their order.
    pub fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.values.push(value);
        }
    }

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&SeriesColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }
}
