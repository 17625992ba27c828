//! What is read off a run.

use qoe::PsnrSeries;
use sim::{DeliveryOutcome, Outcome, SegmentCounts, WorkOutcome};
use units::Bitrate;

/// The stream whose PSNR is told needs so much, in Mbit/s: video of 1080 lines, which is within reach
/// of good schemes at some points of the grid and not at others.
pub(super) const STREAM_MBPS: f64 = 4.0;
/// PSNR is at most so much, in dB: within a hundredth of the rate counts as exact.
const PSNR_CLAMP_DB: f64 = 40.0;

/// The figures of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Delivered in order to the application, in Mbit/s.
    pub goodput_mbps: f64,
    /// Mean end-to-end delay from first sending to delivery, in milliseconds; NaN where nothing came.
    pub delay_ms: f64,
    /// 95 % quantile of the same.
    pub delay_p95_ms: f64,
    /// Mean difference of the delays of two pieces delivered one after the other, in milliseconds.
    pub jitter_ms: f64,
    /// The largest distance in the stream of two segments that arrived one after the other, in bytes.
    pub peak_out_of_order: f64,
    /// 95 % quantile of these distances, in bytes.
    pub out_of_order_p95: f64,
    /// Drawn by all radios for a delivered megabyte, in joules.
    pub joules_per_mb: f64,
    /// Mean PSNR over seconds of a stream of 4 Mbit/s, in dB.
    pub psnr_db: f64,
    /// Payload received over paths A, B and C, in Mbit/s.
    pub path_mbps: [f64; 3],
    /// Of the server and of the device.
    pub work: [Work; 2],
}

/// What an end did for a delivered megabyte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Segments that it made and read.
    pub segments: f64,
    /// Options that it wrote and read.
    pub options: f64,
    /// Of which experimental ones of MPTCP.
    pub experimental: f64,
}

/// A quantity that schemes are compared by.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its name for programs, with the unit.
    pub key: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Digits after the point.
    pub decimals: usize,
    /// More of it is better.
    pub more_is_better: bool,
    /// How much the paper has MPTCP-rec change it, in percent of standard MPTCP's; `None` where it prints
    /// no figure.
    pub paper_percent: Option<f64>,
    /// Its value.
    pub of: fn(&Run) -> f64,
}

impl Figure {
    /// Fig. 8.
    pub const GOODPUT: Self = Self {
        key: "goodput_mbps",
        title: "goodput",
        unit: "Mbit/s",
        decimals: 2,
        more_is_better: true,
        paper_percent: Some(super::paper::THROUGHPUT_GAIN * 100.0),
        of: |run| run.goodput_mbps,
    };
    /// Fig. 9.
    pub const DELAY: Self = Self {
        key: "delay_ms",
        title: "delay",
        unit: "ms",
        decimals: 0,
        more_is_better: false,
        paper_percent: Some(-super::paper::DELAY_REDUCTION * 100.0),
        of: |run| run.delay_ms,
    };
    /// Fig. 10.
    pub const JITTER: Self = Self {
        key: "jitter_ms",
        title: "jitter",
        unit: "ms",
        decimals: 1,
        more_is_better: false,
        paper_percent: None,
        of: |run| run.jitter_ms,
    };
    /// Fig. 7.
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
    /// Of Fig. 7, but for the largest.
    pub const OFFSETS: Self = Self {
        key: "out_of_order_p95",
        title: "95 % of out-of-order offsets",
        unit: "bytes",
        decimals: 0,
        more_is_better: false,
        paper_percent: None,
        of: |run| run.out_of_order_p95,
    };
    /// Not in the paper.
    pub const ENERGY: Self = Self {
        key: "joules_per_mb",
        title: "energy",
        unit: "J/MB",
        decimals: 2,
        more_is_better: false,
        paper_percent: None,
        of: |run| run.joules_per_mb,
    };
    /// Not in the paper.
    pub const PSNR: Self = Self {
        key: "psnr_db",
        title: "PSNR",
        unit: "dB",
        decimals: 1,
        more_is_better: true,
        paper_percent: None,
        of: |run| run.psnr_db,
    };
    /// Those that the grid is summed up by.
    pub const HEADLINE: [Self; 5] = [Self::GOODPUT, Self::DELAY, Self::JITTER, Self::PEAK, Self::OFFSETS];
    /// Those that the paper has figures of.
    pub const PAPER: [Self; 4] = [Self::GOODPUT, Self::DELAY, Self::JITTER, Self::PEAK];
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::GOODPUT, Self::DELAY, Self::JITTER, Self::PEAK, Self::OFFSETS, Self::ENERGY, Self::PSNR];
}

impl Run {
    /// The figures of an outcome that was recorded ([`sim::run_recorded`]).
    pub fn read(outcome: &Outcome) -> Self {
        let delivered_mb = outcome.connections[0].delivered_bytes as f64 * 1e-6;
        let delivery = &outcome.deliveries[0];
        let ms = |seconds: Option<f64>| seconds.map_or(f64::NAN, |s| s * 1e3);
        let goodput = outcome.series.column("connection1.goodput_mbps").expect("it is recorded");
        let stream = Bitrate::from_mbps(STREAM_MBPS);
        let mut psnr = PsnrSeries::new(stream, stream, PSNR_CLAMP_DB);
        // What comes beyond the stream's rate is not shown: it has all that it needs.
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
