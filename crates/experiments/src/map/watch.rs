//! The demand of a point, as `best-known` sees it while it looks.

use super::Point;
use crate::stats::median;
use policy::{
    Action, BestKnown, Demand, DemandMeter, DeviceState, InterfaceKind, Policy, PolicyConfig, PolicyFactory,
};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Bitrate, Duration, Instant, Seed};

/// The median demand of a run; `None` if it ended before the demand was known.
pub(super) fn demand(point: &Point) -> Option<Demand> {
    let watch = Watch::default();
    let mut experiment = point.scenario().with_seed(Seed::new(1));
    experiment.device.policy = PolicyConfig::from(watch.clone());
    sim::run(&experiment);
    let seen = watch.seen.lock().unwrap_or_else(PoisonError::into_inner);
    let median_of = |value: fn(&Demand) -> f64| median(&seen.iter().map(value).collect::<Vec<_>>());
    Some(Demand {
        activity: median_of(|demand| demand.activity),
        rate: Bitrate::from_bps(median_of(|demand| demand.rate.as_bps() as f64) as u64),
        costly_share: median_of(|demand| demand.costly_share),
        is_video: seen.last()?.is_video,
    })
}

/// Plain Multipath TCP that keeps each demand on which `best-known` could have acted.
#[derive(Debug, Clone, Default)]
struct Watch {
    seen: Arc<Mutex<Vec<Demand>>>,
}

impl PolicyFactory for Watch {
    fn name(&self) -> &'static str {
        "watch"
    }
    fn build(&self, _kinds: &[InterfaceKind]) -> Box<dyn Policy> {
        let seen = Arc::clone(&self.seen);
        Box::new(Watching { meter: DemandMeter::new(), seen })
    }
}

#[derive(Debug)]
struct Watching {
    meter: DemandMeter,
    seen: Arc<Mutex<Vec<Demand>>>,
}

impl Policy for Watching {
    fn observe(&mut self, now: Instant, state: &DeviceState, _actions: &mut Vec<Action>) {
        self.meter.sample(now, state);
        if self.meter.seen() >= BestKnown::default().look {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(self.meter.demand());
        }
    }
    fn interval(&self) -> Option<Duration> {
        Some(DemandMeter::INTERVAL)
    }
}
