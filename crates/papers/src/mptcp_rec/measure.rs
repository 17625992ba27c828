//! Metrics of one run.

use qoe::PsnrSeries;
use sim::{DeliveryOutcome, Outcome, SegmentCounts, WorkOutcome};
use units::Bitrate;

/// Rate of the video stream whose PSNR is computed, in Mbit/s: 1080p video. Good schemes reach it
/// at some points of the grid only.
pub(super) const STREAM_MBPS: f64 = 4.0;
/// Maximum PSNR, in dB. It corresponds to a rate one hundredth below the stream's.
const PSNR_CLAMP_DB: f64 = 40.0;

/// The metrics of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Goodput of the application, in Mbit/s.
    pub goodput_mbps: f64,
    /// Mean delay from first transmission to delivery in order, in milliseconds; NaN without data.
    pub delay_ms: f64,
    /// 95th percentile of that delay, in milliseconds.
    pub delay_p95_ms: f64,
    /// Mean difference between the delays of consecutive deliveries, in milliseconds.
    pub jitter_ms: f64,
    /// Largest distance in sequence space between two consecutive arrivals, in bytes.
    pub peak_out_of_order: f64,
    /// 95th percentile of that distance, in bytes.
    pub out_of_order_p95: f64,
    /// Energy of all radios per delivered megabyte, in joules.
    pub joules_per_mb: f64,
    /// Mean PSNR, second by second, of a stream of 4 Mbit/s, in dB.
    pub psnr_db: f64,
    /// Payload received over paths A, B and C, in Mbit/s.
    pub path_mbps: [f64; 3],
    /// Protocol work of the server and of the device.
    pub work: [Work; 2],
}

/// Protocol work of one end per delivered megabyte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Segments sent and received.
    pub segments: f64,
    /// Options sent and received.
    pub options: f64,
    /// Experimental MPTCP options among them.
    pub experimental: f64,
}

/// A metric by which schemes are compared.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Key in JSON and CSV, with the unit.
    pub key: &'static str,
    /// Name in tables and charts.
    pub title: &'static str,
    /// Unit of the values.
    pub unit: &'static str,
    /// Number of decimals in tables.
    pub decimals: usize,
    /// Whether larger values are better.
    pub more_is_better: bool,
    /// Change from standard MPTCP to MPTCP-rec in the paper, in percent; `None` if it prints none.
    pub paper_percent: Option<f64>,
    /// Reads the value from a run.
    pub of: fn(&Run) -> f64,
}

impl Metric {
    /// Goodput (Fig. 8).
    pub const GOODPUT: Self = Self {
        key: "goodput_mbps",
        title: "goodput",
        unit: "Mbit/s",
        decimals: 2,
        more_is_better: true,
        paper_percent: Some(super::paper::THROUGHPUT_GAIN * 100.0),
        of: |run| run.goodput_mbps,
    };
    /// End-to-end delay (Fig. 9).
    pub const DELAY: Self = Self {
        key: "delay_ms",
        title: "delay",
        unit: "ms",
        decimals: 0,
        more_is_better: false,
        paper_percent: Some(-super::paper::DELAY_REDUCTION * 100.0),
        of: |run| run.delay_ms,
    };
    /// Jitter (Fig. 10).
    pub const JITTER: Self = Self {
        key: "jitter_ms",
        title: "jitter",
        unit: "ms",
        decimals: 1,
        more_is_better: false,
        paper_percent: None,
        of: |run| run.jitter_ms,
    };
    /// Peak out-of-order offset (Fig. 7).
    pub const PEAK: Self = Self {
        key: "peak_out_of_order",
        title: "peak out-of-order offset",
        unit: "bytes",
        decimals: 0,
        more_is_better: false,
        paper_percent: Some(
            (super::paper::PEAK_OUT_OF_ORDER.1 / super::paper::PEAK_OUT_OF_ORDER.0 - 1.0) * 100.0,
        ),
        of: |run| run.peak_out_of_order,
    };
    /// 95th percentile of the out-of-order offsets of Fig. 7.
    pub const OFFSETS: Self = Self {
        key: "out_of_order_p95",
        title: "out-of-order offset, p95",
        unit: "bytes",
        decimals: 0,
        more_is_better: false,
        paper_percent: None,
        of: |run| run.out_of_order_p95,
    };
    /// Energy per megabyte (not in the paper).
    pub const ENERGY: Self = Self {
        key: "joules_per_mb",
        title: "energy",
        unit: "J/MB",
        decimals: 2,
        more_is_better: false,
        paper_percent: None,
        of: |run| run.joules_per_mb,
    };
    /// PSNR of a video stream (not in the paper).
    pub const PSNR: Self = Self {
        key: "psnr_db",
        title: "PSNR",
        unit: "dB",
        decimals: 1,
        more_is_better: true,
        paper_percent: None,
        of: |run| run.psnr_db,
    };
    /// Metrics of the summary over the grid.
    pub const HEADLINE: [Self; 5] = [Self::GOODPUT, Self::DELAY, Self::JITTER, Self::PEAK, Self::OFFSETS];
    /// Metrics that the paper shows.
    pub const PAPER: [Self; 4] = [Self::GOODPUT, Self::DELAY, Self::JITTER, Self::PEAK];
    /// All metrics.
    pub const ALL: [Self; 7] =
        [Self::GOODPUT, Self::DELAY, Self::JITTER, Self::PEAK, Self::OFFSETS, Self::ENERGY, Self::PSNR];
}

impl Run {
    /// Reads the metrics of an outcome of [`sim::run_recorded`].
    pub fn read(outcome: &Outcome) -> Self {
        let delivered_mb = outcome.connections[0].delivered_bytes as f64 * 1e-6;
        let delivery = &outcome.deliveries[0];
        let ms = |seconds: Option<f64>| seconds.map_or(f64::NAN, |s| s * 1e3);
        let goodput =
            outcome.series.column("connection1.goodput_mbps").expect("the model samples every second");
        let stream = Bitrate::from_mbps(STREAM_MBPS);
        let mut psnr = PsnrSeries::new(stream, stream, PSNR_CLAMP_DB);
        // The stream uses no more than its own rate.
        psnr.extend(goodput.values.iter().map(|&mbps| Bitrate::from_mbps(mbps.min(STREAM_MBPS))));
        let mut path_mbps = [0.0; 3];
        for (rate, path) in path_mbps.iter_mut().zip(&outcome.paths) {
            *rate = path.rate_down_mbps;
        }
        Self {
            goodput_mbps: outcome.connections[0].goodput_mbps,
            delay_ms: ms(delivery.delay.mean_s),
            delay_p95_ms: ms(delivery.delay.p95_s),
            jitter_ms: ms(delivery.delay.jitter_s),
            peak_out_of_order: delivery.offsets.peak_bytes as f64,
            out_of_order_p95: delivery.offsets.p95_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            joules_per_mb: outcome.device.energy_j / delivered_mb,
            psnr_db: psnr.mean().unwrap_or(f64::NAN),
            path_mbps,
            work: works(delivery).map(|work| Work::of(work, delivered_mb)),
        }
    }
}

fn works(delivery: &DeliveryOutcome) -> [&WorkOutcome; 2] {
    [&delivery.sender, &delivery.receiver]
}

impl Work {
    fn of(work: &WorkOutcome, delivered_mb: f64) -> Self {
        let both =
            |of: fn(&SegmentCounts) -> u64| (of(&work.sent) + of(&work.received)) as f64 / delivered_mb;
        Self {
            segments: both(|counts| counts.segments),
            options: both(|counts| counts.options.total()),
            experimental: both(|counts| counts.options.experimental),
        }
    }
}
