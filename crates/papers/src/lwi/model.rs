//! The paper's test bed as an experiment.

use super::calibration::Calibration;
use super::paper::{Access, Clip, DURATION_S, PROXY_TO_SERVER_MS, round_trip_ms};
use abr::{Manifest, PlayerConfig, THROUGHPUT, Video};
use link::{Delay, LinkConfig, QueueLimit, Rate};
use mptcp::SchedulerKind;
use policy::PolicyConfig;
use radio::Profile;
use sim::{Device, Experiment, Hop, PathSpec, Protocol, Transport};
use std::sync::Arc;
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Energy, Power, Seed};

/// A viewer who has waited so long gives up: no session of the paper's is near it.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// How long each segment plays. The paper does not say; YouTube's are some seconds long.
pub const SEGMENT: Duration = Duration::from_secs(2);
/// What the paper does not say of the way up, where only requests and acknowledgements go.
const UP: Bitrate = Bitrate::from_bps(5_000_000);
/// What may wait before a link, at its present rate; not said either. A queue of many packets behind a link that
/// turns bad holds up what comes over the other one: docs/background/lwi.md has the rows with other queues.
pub const QUEUE: QueueLimit = QueueLimit::Time(Duration::from_millis(100));

/// Over what, by which scheduler, under which policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Way {
    /// Over what.
    pub access: Access,
    /// By which scheduler; of one path alone it means nothing.
    pub scheduler: SchedulerKind,
    /// What the device does with its paths. The paper has none: it is its future work.
    pub policy: PolicyConfig,
}

impl Way {
    /// Table III's rows, then the other two schedulers that the paper speaks of.
    pub fn all() -> [Self; 5] {
        [
            Self::plain(Access::Wifi, SchedulerKind::MinRtt),
            Self::plain(Access::Lte, SchedulerKind::MinRtt),
            Self::plain(Access::Both, SchedulerKind::MinRtt),
            Self::plain(Access::Both, SchedulerKind::RoundRobin),
            Self::plain(Access::Both, SchedulerKind::Redundant),
        ]
    }

    /// Without a policy.
    pub fn plain(access: Access, scheduler: SchedulerKind) -> Self {
        Self { access, scheduler, policy: PolicyConfig::default() }
    }

    /// Both links under each of these policies, by the scheduler of the paper's row of both.
    pub fn under(policies: &[PolicyConfig]) -> impl Iterator<Item = Self> {
        let policies = policies.iter().filter(|policy| !policy.is_none());
        policies
            .map(|policy| Self { policy: policy.clone(), ..Self::plain(Access::Both, SchedulerKind::MinRtt) })
    }

    /// The row of Table III that is printed of it.
    pub fn printed(&self) -> Option<Access> {
        let is_of_the_paper =
            self.access != Access::Both || (self.scheduler == SchedulerKind::MinRtt && self.policy.is_none());
        is_of_the_paper.then_some(self.access)
    }

    /// Its name where there is one scheduler.
    pub fn title(&self) -> String {
        if self.policy.is_none() {
            return self.access.name().to_owned();
        }
        format!("{}, {}", self.access.name(), self.policy)
    }

    /// Its name in tables.
    pub fn name(&self) -> String {
        match (self.access, self.scheduler) {
            _ if !self.policy.is_none() => self.title(),
            (Access::Both, SchedulerKind::MinRtt) => format!("{}, lowest RTT", self.access.name()),
            (Access::Both, SchedulerKind::RoundRobin) => format!("{}, round robin", self.access.name()),
            (Access::Both, scheduler) => format!("{}, {scheduler}", self.access.name()),
            (access, _) => access.name().to_owned(),
        }
    }

    /// What tells it from other ways over both.
    pub fn split_name(&self) -> String {
        if self.policy.is_none() { self.scheduler.to_string() } else { self.policy.to_string() }
    }

    /// For programs.
    pub fn key(&self) -> String {
        match self.access {
            Access::Wifi => "wifi".to_owned(),
            Access::Lte => "lte".to_owned(),
            Access::Both if self.policy.is_none() => format!("both-{}", self.scheduler),
            Access::Both => format!("both-{}-{}", self.scheduler, self.policy),
        }
    }
}

/// A video of one quality, in segments of one size.
pub fn video(clip: Clip, calibration: &Calibration) -> Video {
    let count = DURATION_S / (SEGMENT.as_millis() / 1000);
    let size = Bytes::new(clip.bytes() / count);
    let manifest = Manifest::new(SEGMENT, vec![size.per(SEGMENT)], vec![vec![size]; count as usize])
        .expect("segments of some size");
    let player = PlayerConfig {
        max_buffer: calibration.buffer,
        startup: calibration.startup,
        resume: calibration.resume,
        abandon: false,
        // With one bitrate there is nothing to choose.
        ..PlayerConfig::new(THROUGHPUT)
    };
    // The proxy asks the server anew for each segment, over a connection that it keeps.
    let wait = Duration::from_secs_f64(PROXY_TO_SERVER_MS * 1e-3);
    Video { wait, ..Video::new(manifest, player) }
}

/// One run. The proxy is where the connection ends: it and the device speak Multipath TCP or TCP, and what it takes
/// from the server comes a round trip later. How much the server's own connection carries is no limit.
pub fn experiment(way: &Way, clip: Clip, calibration: &Calibration, seed: u64) -> Experiment {
    let seed = Seed::new(seed);
    let transport = mptcp::Config {
        scheduler: way.scheduler.into(),
        // As MPTCP 0.9 does: what blocks the window goes over another subflow, which is slowed down.
        opportunistic: true,
        penalise: true,
        ..mptcp::Config::linux()
    };
    Experiment {
        seed,
        duration: PATIENCE,
        sample: Duration::ZERO,
        device: Device {
            name: "workstation".into(),
            battery: Energy::from_joules(54_000.0),
            policy: way.policy.clone(),
            joint_power: Power::ZERO,
        },
        cells: Vec::new(),
        paths: vec![
            path("wifi", "huang2012.wifi", Access::Wifi, calibration, seed),
            path("lte", "huang2012.lte", Access::Lte, calibration, seed),
        ],
        transport: Transport {
            protocol: match way.access {
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

fn path(name: &str, profile: &str, access: Access, calibration: &Calibration, seed: Seed) -> PathSpec {
    // The printed mean. How far it is off at times is what a queue adds here.
    let delay = Delay::Fixed(Duration::from_secs_f64(round_trip_ms(access) * 0.5e-3));
    let rate = Rate::Steps(calibration.process(access).draw(PATIENCE, seed.derive(name)));
    let hop = |rate| Hop::Link(LinkConfig { rate, delay, queue: QUEUE, ..LinkConfig::default() });
    PathSpec {
        name: name.into(),
        profile: Arc::new(Profile::named(profile).expect("it is built in")),
        down: hop(rate),
        up: hop(Rate::Fixed(UP)),
        middleboxes: Vec::new(),
        backup: false,
        join_at: units::Instant::ZERO,
        leave_at: None,
        allowance: None,
        also_measure: Vec::new(),
    }
}
