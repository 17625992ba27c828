//! Random experiments.

use super::{path, wifi_lte};
use link::{Delay, Loss, QueueLimit, Rate};
use policy::{Actuator, Emtcp, NoPolicy, WifiFirst};
use tandem_sim::{Experiment, Hop};
use traffic::{Direction, Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Instant, Power, Probability, Rng, Seed};

fn any_hop(rng: &mut Rng, hop: &mut Hop) {
    let Hop::Link(link) = hop else { return };
    link.rate = Rate::Fixed(Bitrate::from_mbps(rng.between(0.2, 20.0)));
    let low = Duration::from_millis(1 + rng.below(60));
    link.delay = match rng.below(2) {
        0 => Delay::Fixed(low),
        _ => Delay::Uniform { min: low, max: low * 2 },
    };
    link.reorder = rng.below(3) == 0;
    link.queue = [
        QueueLimit::Packets(20),
        QueueLimit::Bytes(Bytes::new(40_000)),
        QueueLimit::Time(Duration::from_millis(100)),
        QueueLimit::Unlimited,
    ][rng.below(4) as usize];
    if rng.below(2) == 0 {
        link.loss = Loss::Uniform(Probability::new(rng.between(0.0, 0.1)).expect("a probability"));
    }
    if rng.below(4) == 0 {
        link.outages.push((Instant::from_secs(2), Instant::from_secs(3 + rng.below(4))));
    }
}

fn any_traffic(rng: &mut Rng) -> TrafficConfig {
    let rate = Bitrate::from_mbps(rng.between(0.1, 3.0));
    let packet = Bytes::new(1 + rng.below(3000));
    let kind = match rng.below(4) {
        0 => Kind::Bulk,
        1 => Kind::Cbr { rate, packet },
        2 => Kind::OnOff {
            rate,
            packet,
            on: Duration::from_millis(500),
            off: Duration::from_secs(2),
            exponential: rng.below(2) == 0,
        },
        _ => Kind::File { size: Bytes::new(1 + rng.below(2_000_000)) },
    };
    let mut config = TrafficConfig::new(kind);
    config.start = Instant::from_millis(rng.below(3000));
    config.direction = if rng.below(4) == 0 { Direction::Up } else { Direction::Down };
    config
}

/// An experiment with random paths, traffic, policy and algorithms.
pub fn any_experiment(seed: u64) -> Experiment {
    let mut rng = Seed::new(seed).rng("experiment");
    let mut experiment = wifi_lte(Kind::Bulk, 4 + rng.below(8));
    experiment.seed = Seed::new(seed);
    let radios = radio::profiles();
    experiment.paths = (0..=rng.below(3))
        .map(|i| {
            let radio = &radios[rng.below(radios.len() as u64) as usize].name;
            let mut path = path(&format!("path{i}"), radio, 1.0, 10);
            any_hop(&mut rng, &mut path.down);
            any_hop(&mut rng, &mut path.up);
            path.backup = rng.below(5) == 0;
            path.join_at = Instant::from_millis([0, 0, 1500][rng.below(3) as usize]);
            path.leave_at = (i > 0 && rng.below(3) == 0).then(|| Instant::from_secs(3));
            path
        })
        .collect();
    experiment.device.joint_power = Power::from_milliwatts([0.0, 150.0][rng.below(2) as usize]);
    if experiment.paths.len() > 1 {
        experiment.device.policy = match rng.below(4) {
            0 => NoPolicy.into(),
            1 => WifiFirst.into(),
            2 => Emtcp { share: rng.unit(), actuator: Actuator::TableOne }.into(),
            _ => Emtcp { share: rng.unit(), actuator: Actuator::Ideal }.into(),
        };
        let kinds: Vec<_> = experiment.paths.iter().map(|path| path.profile.kind).collect();
        if experiment.device.policy.check(&kinds).is_err() {
            experiment.device.policy = NoPolicy.into();
        }
    }
    experiment.transport.config.scheduler =
        mptcp::SchedulerKind::ALL[rng.below(mptcp::SchedulerKind::ALL.len() as u64) as usize].into();
    experiment.transport.config.congestion =
        mptcp::CongestionKind::ALL[rng.below(mptcp::CongestionKind::ALL.len() as u64) as usize].into();
    experiment.traffic = (0..=rng.below(2)).map(|_| any_traffic(&mut rng)).collect();
    experiment
}
