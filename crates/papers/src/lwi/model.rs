//! The paper's test bed as an experiment.

use super::calibration::Calibration;
use super::paper::{Access, Clip, DURATION_S, PROXY_TO_SERVER_MS, round_trip};
use super::process::Steps;
use abr::{Manifest, PlayerConfig, THROUGHPUT, Video};
use link::{Delay, LinkConfig, QueueLimit, Rate};
use mptcp::SchedulerKind;
use policy::PolicyConfig;
use radio::Profile;
use report::Badge;
use sim::{Device, Experiment, Hop, PathSpec, Protocol, Transport};
use std::sync::Arc;
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Energy, Power, Seed};

/// Time limit of a session. All sessions of the paper are far shorter.
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(300);
/// Duration of a segment. The paper does not give it; YouTube's segments take a few seconds.
pub const SEGMENT: Duration = Duration::from_secs(2);
/// Uplink rate, which carries requests and acknowledgements only. The paper does not give it.
const UPLINK_RATE: Bitrate = Bitrate::from_bps(5_000_000);
/// Queue of a link: what it transmits in this time, changes of its rate included. The paper does not
/// give it. A long queue before a link in its bad state delays the data of the other link;
/// docs/background/lwi.md shows results for other queues.
pub const QUEUE: QueueLimit = QueueLimit::Time(Duration::from_millis(100));

/// Time between changes of a link's delay: the interval of `ping`, with which Table II was measured.
const DELAY_INTERVAL: Duration = Duration::from_secs(1);

/// Access networks, scheduler and policy: one row of the tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Access networks.
    pub access: Access,
    /// Scheduler; without effect on a single path.
    pub scheduler: SchedulerKind,
    /// Policy of the device. Policies are future work in the paper.
    pub policy: PolicyConfig,
}

impl Setup {
    /// The rows of Table III, then the other two schedulers that the paper mentions.
    pub fn all() -> [Self; 5] {
        [
            Self::plain(Access::Wifi, SchedulerKind::MinRtt),
            Self::plain(Access::Lte, SchedulerKind::MinRtt),
            Self::plain(Access::Both, SchedulerKind::MinRtt),
            Self::plain(Access::Both, SchedulerKind::RoundRobin),
            Self::plain(Access::Both, SchedulerKind::Redundant),
        ]
    }

    /// A setup without a policy.
    pub fn plain(access: Access, scheduler: SchedulerKind) -> Self {
        Self { access, scheduler, policy: PolicyConfig::default() }
    }

    /// Both links with each of these policies and the scheduler of the paper's row with both links.
    pub fn with_policies(policies: &[PolicyConfig]) -> impl Iterator<Item = Self> {
        let policies = policies.iter().filter(|policy| !policy.is_none());
        policies
            .map(|policy| Self { policy: policy.clone(), ..Self::plain(Access::Both, SchedulerKind::MinRtt) })
    }

    /// The row of Table III with this setup, if the paper prints it.
    pub fn printed(&self) -> Option<Access> {
        let is_of_the_paper =
            self.access != Access::Both || (self.scheduler == SchedulerKind::MinRtt && self.policy.is_none());
        is_of_the_paper.then_some(self.access)
    }

    /// What of this row's results comes from a fit to the paper's.
    pub fn role(&self) -> &'static str {
        match (self.access, self.printed()) {
            (Access::Both, Some(_)) => "coupling fitted",
            (Access::Both, None) => "predicted",
            _ => "fitted",
        }
    }

    /// Badge of this row with its role.
    pub fn badge(&self) -> Badge {
        match self.role() {
            "predicted" => Badge::predicted(),
            role => Badge::new(role),
        }
    }

    /// Name in tables that have one scheduler only.
    pub fn title(&self) -> String {
        if self.policy.is_none() {
            return self.access.name().to_owned();
        }
        format!("{}, {}", self.access.name(), self.policy)
    }

    /// Name in tables.
    pub fn name(&self) -> String {
        match (self.access, self.scheduler) {
            _ if !self.policy.is_none() => self.title(),
            (Access::Both, SchedulerKind::MinRtt) => format!("{}, lowest RTT", self.access.name()),
            (Access::Both, SchedulerKind::RoundRobin) => format!("{}, round robin", self.access.name()),
            (Access::Both, scheduler) => format!("{}, {scheduler}", self.access.name()),
            (access, _) => access.name().to_owned(),
        }
    }

    /// Name among the setups with both links: the scheduler or the policy.
    pub fn variant_name(&self) -> String {
        if self.policy.is_none() { self.scheduler.to_string() } else { self.policy.to_string() }
    }

    /// Key in JSON and CSV.
    pub fn key(&self) -> String {
        match self.access {
            Access::Wifi => "wifi".to_owned(),
            Access::Lte => "lte".to_owned(),
            Access::Both if self.policy.is_none() => format!("both-{}", self.scheduler),
            Access::Both => format!("both-{}-{}", self.scheduler, self.policy),
        }
    }
}

/// A video with one bitrate in segments of equal size.
pub fn video(clip: Clip, calibration: &Calibration) -> Video {
    let count = DURATION_S / (SEGMENT.as_millis() / 1000);
    let size = Bytes::new(clip.bytes() / count);
    let manifest = Manifest::new(SEGMENT, vec![size.per(SEGMENT)], vec![vec![size]; count as usize])
        .expect("all segments have a size");
    let player = PlayerConfig {
        max_buffer: calibration.buffer,
        startup: calibration.startup,
        resume: calibration.resume,
        abandon: false,
        // This rule requests segments while the buffer has room; BOLA would wait.
        ..PlayerConfig::new(THROUGHPUT)
    };
    // The proxy requests each segment from the server over a persistent connection.
    let wait = Duration::from_secs_f64(PROXY_TO_SERVER_MS * 1e-3);
    Video { wait, ..Video::new(manifest, player) }
}

/// The experiment of one run. The proxy terminates the device's connection, which uses MPTCP or
/// TCP. Data from the server arrives there one round trip after the request; the rate of the
/// server's connection is not limited.
pub fn experiment(setup: &Setup, clip: Clip, calibration: &Calibration, seed: u64) -> Experiment {
    with_queue(setup, clip, calibration, QUEUE, seed)
}

/// The experiment with another queue before each link.
pub fn with_queue(
    setup: &Setup,
    clip: Clip,
    calibration: &Calibration,
    queue: QueueLimit,
    seed: u64,
) -> Experiment {
    let seed = Seed::new(seed);
    let [wifi, lte] = calibration.draw(SESSION_TIMEOUT, seed);
    let transport = mptcp::Config {
        scheduler: setup.scheduler.into(),
        // As MPTCP 0.9: opportunistic retransmission, penalisation of the blocking subflow, and no
        // retransmission timer of the connection.
        opportunistic: true,
        penalise: true,
        data_retransmission: false,
        // As when the links were fitted to the paper's figures.
        linux_curve: false,
        hystart: mptcp::HyStartMode::Rfc9406,
        recv_buffer: 6_291_456,
        autotune: Some(131_072),
        gradual_window: false,
        min_rto_margin: Duration::from_millis(1),
        ack_coalescing: Duration::ZERO,
        sack_compression: Duration::ZERO,
        ack_delay_in_rtt: false,
        count_out_of_order: false,
        subflow_order: false,
        overruns_window: false,
        avoid_silly_window: true,
        min_window_scale: 0,
        ..mptcp::Config::linux()
    };
    Experiment {
        seed,
        duration: SESSION_TIMEOUT,
        sample: Duration::ZERO,
        device: Device {
            name: "workstation".into(),
            battery: Energy::from_joules(54_000.0),
            policy: setup.policy.clone(),
            joint_power: Power::ZERO,
        },
        cells: Vec::new(),
        paths: vec![
            path("wifi", "huang2012.wifi", Access::Wifi, wifi, queue),
            path("lte", "huang2012.lte", Access::Lte, lte, queue),
        ],
        transport: Transport {
            protocol: match setup.access {
                Access::Wifi => Protocol::Tcp { path: 0 },
                Access::Lte => Protocol::Tcp { path: 1 },
                Access::Both => Protocol::Mptcp,
            },
            config: transport,
        },
        traffic: vec![TrafficConfig::new(Kind::Video(Arc::new(video(clip, calibration))))],
        background: Vec::new(),
        capture: false,
    }
}

fn path(name: &str, profile: &str, access: Access, rate: Steps, queue: QueueLimit) -> PathSpec {
    let hop = |rate, delay| Hop::Link(LinkConfig { rate, delay, queue, ..LinkConfig::default() });
    let [down, up] = delays(access);
    PathSpec {
        name: name.into(),
        profile: Arc::new(Profile::named(profile).expect("the profile is built in")),
        down: hop(Rate::Steps(rate), down),
        up: hop(Rate::Fixed(UPLINK_RATE), up),
        middleboxes: Vec::new(),
        backup: false,
        join_at: units::Instant::ZERO,
        leave_at: None,
        allowance: None,
        also_measure: Vec::new(),
    }
}

/// Propagation delays down and up, with the round trips of Table II together. All variation is on
/// the way down; queues add to it.
fn delays(access: Access) -> [Delay; 2] {
    let ms = |ms: f64| Duration::from_secs_f64(ms * 1e-3);
    let printed = round_trip(access);
    let up = printed.min / 2.0;
    let down = Delay::Measured {
        min: ms(printed.min - up),
        mean: ms(printed.avg - up),
        max: ms(printed.max - up),
        sd: ms(printed.mdev),
        every: DELAY_INTERVAL,
    };
    [down, Delay::Fixed(ms(up))]
}
