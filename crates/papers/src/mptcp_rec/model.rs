//! The paper's network as an experiment, and the grid of what it does not say.
//!
//! What the paper leaves open is decided here, in constants with a reason each; [`CHOICES`] tells a reader
//! of the report.

use super::paper::{DURATION_S, MOST_BACKGROUND, PATHS, PaperPath};
use link::{Delay, LinkConfig, Loss, QueueLimit, Rate};
use policy::PolicyConfig;
use radio::Profile;
use sim::{BackgroundSpec, Device, Experiment, Hop, PathSpec, Protocol, Transport};
use std::sync::Arc;
use traffic::{Direction, Kind, Mix, TrafficConfig, Vbr};
use units::{Bitrate, Duration, Energy, Instant, Power, Probability, Seed};

/// Receive buffers, in KB of 1024 bytes. 64 is the default of the MPTCP of ns-2; the paper's point are small ones.
pub const BUFFERS_KB: [u64; 4] = [64, 128, 256, 512];
/// Buffers that the paper's claim is about: constrained ones.
pub const SMALL_KB: u64 = 128;
/// Packets lost in a row in the mean, where losses come in bursts: the length of a fade is not in the
/// paper. Four packets of 1500 bytes are 4.4 ms on the Wi-Fi link.
pub const BURST_PACKETS: f64 = 4.0;
/// How many packets a queue holds: drop-tail and 50, which is what ns-2 has where a script says nothing.
pub const QUEUE_PACKETS: u32 = 50;
/// How long a rate of the background holds before another is drawn.
pub const BACKGROUND_HOLDS: Duration = Duration::from_secs(1);

/// How losses come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Each packet by itself: "distributed loss".
    Uniform,
    /// In bursts: Gilbert's two states, all lost in the bad one.
    Gilbert,
    /// Half of the loss by each of the two, as where a link has both loss models.
    Both,
}

impl LossKind {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gilbert => "gilbert",
            Self::Both => "both",
        }
    }
}

/// A point of the grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GridPoint {
    /// Of the device, in KB of 1024 bytes.
    pub buffer_kb: u64,
    /// How losses come, on every link towards the device.
    pub loss: LossKind,
    /// Share of packets that a link loses in the mean, from 0 to below 1.
    pub average: f64,
}

/// Average losses of each kind, in percent: from what is left after a link layer's own repeats to what
/// is hardly usable. Bursts and single losses have the same averages, so that they can be held
/// against each other; both on one link, as the paper's words have it, stands in the middle.
const AVERAGES: [(LossKind, &[f64]); 3] = [
    (LossKind::Uniform, &[0.5, 1.0, 2.0, 4.0]),
    (LossKind::Gilbert, &[0.5, 1.0, 2.0, 4.0]),
    (LossKind::Both, &[2.0]),
];

/// The whole grid: each buffer with each loss.
pub fn grid() -> Vec<GridPoint> {
    let losses =
        || AVERAGES.iter().flat_map(|&(loss, percents)| percents.iter().map(move |&percent| (loss, percent)));
    let point = |buffer_kb, loss, percent: f64| GridPoint { buffer_kb, loss, average: percent / 100.0 };
    BUFFERS_KB
        .into_iter()
        .flat_map(|buffer| losses().map(move |(loss, percent)| point(buffer, loss, percent)))
        .collect()
}

impl GridPoint {
    /// One of the points at which every scheme runs: each buffer with both kinds of loss on one link.
    pub fn is_common(&self) -> bool {
        self.loss == LossKind::Both
    }

    /// One of the points with a buffer that the paper's claim is about.
    pub fn is_small(&self) -> bool {
        self.buffer_kb <= SMALL_KB
    }

    /// The loss in words.
    pub fn loss_name(&self) -> String {
        format!("{} {} %", self.loss.name(), self.average * 100.0)
    }

    fn link_loss(&self) -> Loss {
        let share = |p: f64| Probability::new(p).unwrap_or_default();
        // The share of time in the bad state is p / (p + r).
        let gilbert = |average: f64, loss_good: f64| {
            let r = 1.0 / BURST_PACKETS;
            Loss::GilbertElliott {
                p: share(r * average / (1.0 - average)),
                r: share(r),
                loss_good: share(loss_good),
                loss_bad: Probability::ALWAYS,
            }
        };
        match self.loss {
            LossKind::Uniform => Loss::Uniform(share(self.average)),
            LossKind::Gilbert => gilbert(self.average, 0.0),
            LossKind::Both => gilbert(self.average / 2.0, self.average / 2.0),
        }
    }
}

/// What had to be chosen because the paper does not say it, in sentences with inline markup.
pub const CHOICES: [&str; 8] = [
    "**Loss**: the values of Table 1 are lost. Shown is a grid: 0.5 to 4 %, each packet by itself (uniform), in \
     bursts of 4 packets (Gilbert), and 2 % half by each of the two on the same link; all three links alike. \
     Lost is what goes to the device, acknowledgements are not: ns-2 attaches a loss model to one direction, and a \
     burst that is counted in packets would last for minutes on a way back that carries one packet a timeout.",
    "**Propagation delay**: “20–50 ms” is read as the range of networks that the path stands for. A run draws each \
     path’s delay once, uniformly; it is the same either way, and the same for every scheme and loss with that seed.",
    "**Queues**: 50 packets, drop-tail, before each link: what ns-2 has where a script says nothing.",
    "**Background**: a Poisson process of the paper’s three packet sizes at a rate that is drawn anew each second, \
     uniformly between 0 and half of the link’s rate, towards the device. All of it is datagrams: the paper’s 90 % \
     over TCP would back off, but it is the sum that is said to vary between 0 and 50 %.",
    "**Application**: one download for the whole 120 s that always has more to send.",
    "**Standard MPTCP**: all three paths, LIA, `min-rtt` (and `round-robin` beside it), segments for an Ethernet of \
     1500 bytes, a send buffer that never binds.",
    "**Energy**: `huang2012.3g` on path A and `huang2012.wifi` on B. Nobody measured WiMAX like this: \
     `huang2012.lte` stands for it on C, the other OFDMA radio of its time.",
    "**QoE**: PSNR from throughput, second by second (Eq. (2) of Chen et al. 2013), of a stream that needs 4 Mbit/s.",
];

/// One run: `config` is both ends', but for the receive buffer.
pub fn experiment(point: &GridPoint, config: &mptcp::Config, seed: u64, duration: Duration) -> Experiment {
    let seed = Seed::new(seed);
    Experiment {
        seed,
        duration,
        sample: Duration::from_secs(1),
        device: Device {
            name: "device".into(),
            battery: Energy::from_joules(20_000.0),
            policy: PolicyConfig::default(),
            joint_power: Power::ZERO,
        },
        cells: Vec::new(),
        paths: PATHS.iter().map(|path| path_spec(path, point, seed)).collect(),
        transport: Transport {
            protocol: Protocol::Mptcp,
            config: mptcp::Config { recv_buffer: point.buffer_kb * 1024, ..config.clone() },
        },
        traffic: vec![TrafficConfig::new(Kind::Bulk)],
        background: PATHS.iter().enumerate().map(|(i, path)| background(i, path)).collect(),
        capture: false,
    }
}

/// Of a whole run.
pub const fn whole() -> Duration {
    Duration::from_secs(DURATION_S)
}

fn rate(path: &PaperPath) -> Bitrate {
    Bitrate::from_bps(u64::from(path.rate_kbps) * 1000)
}

/// A run's propagation delay of a path, one way: drawn from the seed and the path's name alone.
fn propagation(path: &PaperPath, seed: Seed) -> Duration {
    let (low, high) = path.delay_ms;
    let ms = seed.derive("propagation").rng(path.name).between(f64::from(low), f64::from(high));
    Duration::from_secs_f64(ms / 1000.0)
}

fn path_spec(path: &PaperPath, point: &GridPoint, seed: Seed) -> PathSpec {
    let link = |loss| {
        Hop::Link(LinkConfig {
            rate: Rate::Fixed(rate(path)),
            queue: QueueLimit::Packets(QUEUE_PACKETS),
            delay: Delay::Fixed(propagation(path, seed)),
            loss,
            ..LinkConfig::default()
        })
    };
    let radio = match path.name {
        "A" => "huang2012.3g",
        "B" => "huang2012.wifi",
        _ => "huang2012.lte",
    };
    PathSpec {
        name: path.name.into(),
        profile: Arc::new(Profile::named(radio).expect("it is built in")),
        down: link(point.link_loss()),
        up: link(Loss::None),
        middleboxes: Vec::new(),
        backup: false,
        join_at: Instant::ZERO,
        leave_at: None,
        allowance: None,
        also_measure: Vec::new(),
    }
}

fn background(index: usize, path: &PaperPath) -> BackgroundSpec {
    let high = Bitrate::from_bps((rate(path).as_bps() as f64 * MOST_BACKGROUND) as u64);
    BackgroundSpec {
        path: index,
        direction: Direction::Down,
        start: Instant::ZERO,
        stop: None,
        packets: Vbr {
            low: Bitrate::ZERO,
            high,
            every: BACKGROUND_HOLDS,
            // The paper's mix: half of 44 bytes, a quarter each of 576 and 1500.
            mix: Mix::TRIMODAL,
            bursts: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_buffer_with_every_loss_once() {
        let grid = grid();
        assert_eq!(grid.len(), BUFFERS_KB.len() * 9);
        for (i, point) in grid.iter().enumerate() {
            assert!(!grid[..i].contains(point), "{point:?}");
        }
        assert_eq!(grid.iter().filter(|point| point.is_common()).count(), BUFFERS_KB.len());
    }

    #[test]
    fn the_averages_of_all_kinds_are_alike() {
        for point in grid() {
            let average = match point.link_loss() {
                Loss::None => 0.0,
                Loss::Uniform(p) => p.get(),
                Loss::GilbertElliott { p, r, loss_good, loss_bad } => {
                    let bad = p.get() / (p.get() + r.get());
                    bad * loss_bad.get() + (1.0 - bad) * loss_good.get()
                }
            };
            // With both, a packet that one would have lost may have been lost by the other.
            assert!((average / point.average - 1.0).abs() < 0.011, "{point:?}: {average}");
        }
    }

    #[test]
    fn a_path_s_delay_is_the_run_s_and_lies_in_the_paper_s_range() {
        for path in &PATHS {
            let drawn: Vec<Duration> = (1..=30).map(|seed| propagation(path, Seed::new(seed))).collect();
            let (low, high) = path.delay_ms;
            let range = Duration::from_millis(u64::from(low))..=Duration::from_millis(u64::from(high));
            assert!(drawn.iter().all(|delay| range.contains(delay)), "{drawn:?}");
            assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let of = |buffer_kb, average| {
            let point = GridPoint { buffer_kb, loss: LossKind::Uniform, average };
            let experiment = experiment(&point, &mptcp::Config::default(), 7, whole());
            experiment
                .paths
                .iter()
                .map(|path| match &path.down {
                    Hop::Link(link) => link.delay,
                    Hop::Cell { .. } => Delay::Fixed(Duration::ZERO),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(of(64, 0.01), of(512, 0.04));
    }
}
