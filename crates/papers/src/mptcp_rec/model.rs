//! The paper's network as an experiment, and the grid over losses and buffers that it does not
//! give.
//!
//! The constants here fix parameters that the paper leaves open; [`CHOICES`] lists them in the
//! report.

use super::background::Background;
use super::paper::{DURATION_S, PATHS, PaperPath};
use link::{Delay, GilbertElliott, LinkConfig, Loss, QueueLimit, Rate};
use policy::PolicyConfig;
use radio::Profile;
use sim::{Device, Experiment, Hop, PathSpec, Protocol, Transport};
use std::sync::Arc;
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Duration, Energy, Instant, Power, Probability, Seed};

/// Receive buffers, in KB of 1024 bytes.
pub const BUFFERS_KB: [u64; 6] = [64, 128, 256, 300, 384, 512];
/// Smallest buffer that can show the printed peak offset of 300,000 bytes, in KB.
pub const PRINTED_BUFFER_KB: u64 = 300;
/// Largest of the constrained buffers that the paper's claim is about, in KB.
pub const SMALL_BUFFER_KB: u64 = 128;
/// Mean length of a loss burst, in packets. The paper does not give it; four packets of 1500 bytes
/// take 4.4 ms on the Wi-Fi link.
pub const BURST_PACKETS: f64 = 4.0;
/// Length of a drop-tail queue, in packets: the default of ns-2.
pub const QUEUE_PACKETS: u32 = 50;
/// Average loss of the points where every scheme runs.
const COMMON_AVERAGE: f64 = 0.02;

/// Distribution of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossKind {
    /// Independent losses: "distributed loss".
    Uniform,
    /// Bursts by Gilbert's two-state model, which loses every packet in the bad state.
    Gilbert,
    /// Half of the average loss by each of the two models on the same link.
    Both,
}

impl LossKind {
    /// Name in results.
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
    /// Receive buffer of the device, in KB of 1024 bytes.
    pub buffer_kb: u64,
    /// Distribution of losses on every link towards the device.
    pub loss: LossKind,
    /// Mean share of lost packets, from 0 to below 1.
    pub average: f64,
    /// Protocols of the background traffic.
    pub background: Background,
}

/// Average losses of each kind, in percent: from the residual loss after link-layer retransmission
/// to a barely usable link. Uniform and burst losses have the same averages and can be compared.
/// The combination of both is one reading of "two loss models for each wireless link".
const AVERAGES: [(LossKind, &[f64]); 3] = [
    (LossKind::Uniform, &[0.5, 1.0, 2.0, 4.0]),
    (LossKind::Gilbert, &[0.5, 1.0, 2.0, 4.0]),
    (LossKind::Both, &[1.0, 2.0, 4.0]),
];

/// The whole grid: each buffer with each loss and this background, and each buffer at the common
/// loss with the other background.
pub fn grid(background: Background) -> Vec<GridPoint> {
    let losses = || {
        let averages = AVERAGES.iter();
        averages.flat_map(|&(loss, percents)| percents.iter().map(move |&percent| (loss, percent / 100.0)))
    };
    let whole = BUFFERS_KB.into_iter().flat_map(|buffer_kb| {
        losses().map(move |(loss, average)| GridPoint { buffer_kb, loss, average, background })
    });
    let other = BUFFERS_KB.into_iter().map(|buffer_kb| GridPoint {
        buffer_kb,
        loss: LossKind::Both,
        average: COMMON_AVERAGE,
        background: background.other(),
    });
    whole.chain(other).collect()
}

impl GridPoint {
    /// Whether every scheme runs at this point of a grid with this background: each buffer with
    /// both loss models on one link.
    pub fn is_common(&self, background: Background) -> bool {
        self.loss == LossKind::Both
            && libm::fabs(self.average - COMMON_AVERAGE) < 1e-9
            && self.background == background
    }

    /// Whether the buffer is one of the constrained buffers of the paper's claim.
    pub fn is_small(&self) -> bool {
        self.buffer_kb <= SMALL_BUFFER_KB
    }

    /// Name of the loss in tables, such as `uniform 2 %`, with a background over TCP.
    pub fn loss_name(&self) -> String {
        let loss = format!("{} {} %", self.loss.name(), self.average * 100.0);
        match self.background {
            Background::Datagrams => loss,
            Background::Tcp => loss + ", TCP background",
        }
    }

    fn link_loss(&self) -> Loss {
        let share = |p: f64| Probability::new(p).unwrap_or_default();
        // The Gilbert model is in its bad state for the share p / (p + r) of the time.
        let gilbert = |average: f64, loss_good: f64| {
            let r = 1.0 / BURST_PACKETS;
            Loss::from(GilbertElliott {
                p: share(r * average / (1.0 - average)),
                r: share(r),
                loss_good: share(loss_good),
                loss_bad: Probability::ALWAYS,
            })
        };
        match self.loss {
            LossKind::Uniform => Loss::Uniform(share(self.average)),
            LossKind::Gilbert => gilbert(self.average, 0.0),
            LossKind::Both => gilbert(self.average / 2.0, self.average / 2.0),
        }
    }
}

/// Choices of parameters that the paper does not give, in sentences with inline markup.
pub const CHOICES: [&str; 9] = [
    "**Receive buffer**: the paper does not give it. Its peak offset of 300,000 needs a buffer of at least 300 KB, so \
     buffers of 300 to 512 KB come first. In the ns-2 patch that the paper extends, three subflows with the window of \
     its sample script (100 packets) and ns-2’s packets of 1000 bytes also have at most 300,000 bytes in flight.",
    "**Loss**: the loss values of Table 1 are not available. The grid has losses of 0.5 to 4 %, either independent \
     (uniform) or in bursts of 4 packets (Gilbert), and 1 to 4 % with half of it from each model on the same link. All \
     three links have the same loss. Only packets to the device are lost: ns-2 attaches a loss model to one direction, \
     and a burst counted in packets would last for minutes on a return path that carries one packet per timeout.",
    "**Propagation delay**: “20–50 ms” is taken as the range over networks of this technology. Each run draws a delay \
     for each path from a uniform distribution. Both directions, and all schemes and losses with the same seed, have \
     the same delay.",
    "**Queues**: drop-tail, 50 packets, before each link: the default of ns-2.",
    "**Background**: a Poisson process of the paper’s three packet sizes towards the device. Its rate is drawn every \
     second from a uniform distribution between 0 and half of the link’s rate. Datagrams keep to these rates, as the \
     paper states of the sum. In the paper 90 % of the bytes are TCP’s, which backs off: a group of points, or the whole \
     grid with `--background tcp`, has that.",
    "**Application**: one download that always has data to send, for the whole 120 s.",
    "**Standard MPTCP**: all three paths, LIA, `min-rtt` (and `round-robin` for comparison), segments for an MTU of \
     1500 bytes, a send buffer that never limits the connection.",
    "**Energy**: `huang2012.3g` on path A and `huang2012.wifi` on path B. No comparable WiMAX profile exists; path C \
     uses `huang2012.lte`, the other OFDMA radio of that time.",
    "**QoE**: PSNR from throughput, second by second (Eq. (2) of Chen et al. 2013), of a stream of 4 Mbit/s.",
];

/// The experiment of one run. Both ends use `config`; the receive buffer is the point's.
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
        traffic: [vec![TrafficConfig::new(Kind::Bulk)], point.background.connections()].concat(),
        background: point.background.datagrams(),
        capture: false,
    }
}

/// Duration of a run in the paper.
pub const fn paper_duration() -> Duration {
    Duration::from_secs(DURATION_S)
}

fn rate(path: &PaperPath) -> Bitrate {
    Bitrate::from_bps(u64::from(path.rate_kbps) * 1000)
}

/// One-way propagation delay of a path in a run. It depends on the seed and the path's name only.
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
        profile: Arc::new(Profile::named(radio).expect("the profile is built in")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grid_has_every_buffer_with_every_loss_once() {
        for background in [Background::Datagrams, Background::Tcp] {
            let grid = grid(background);
            assert_eq!(grid.len(), BUFFERS_KB.len() * 12);
            for (i, point) in grid.iter().enumerate() {
                assert!(!grid[..i].contains(point), "{point:?}");
            }
            let common = |background| grid.iter().filter(|point| point.is_common(background)).count();
            assert_eq!([common(background), common(background.other())], [BUFFERS_KB.len(); 2]);
        }
    }

    #[test]
    fn link_loss_has_the_average_of_its_point() {
        for point in grid(Background::Datagrams) {
            let average = point.link_loss().mean();
            // With both models, some packets are lost by both: the average is slightly lower.
            assert!((average / point.average - 1.0).abs() < 0.021, "{point:?}: {average}");
        }
    }

    #[test]
    fn path_delay_depends_on_the_seed_only_and_is_in_the_papers_range() {
        for path in &PATHS {
            let drawn: Vec<Duration> = (1..=30).map(|seed| propagation(path, Seed::new(seed))).collect();
            let (low, high) = path.delay_ms;
            let range = Duration::from_millis(u64::from(low))..=Duration::from_millis(u64::from(high));
            assert!(drawn.iter().all(|delay| range.contains(delay)), "{drawn:?}");
            assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let of = |buffer_kb, average| {
            let point =
                GridPoint { buffer_kb, loss: LossKind::Uniform, average, background: Background::Datagrams };
            let experiment = experiment(&point, &mptcp::Config::default(), 7, paper_duration());
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
