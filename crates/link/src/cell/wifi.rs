//! Wi-Fi cell: one frame at a time.

use super::load::Loads;
use super::ready::Ready;
use super::station::Station;
use crate::config::{CellConfig, StationConfig};
use units::{Bitrate, Bytes, Duration, Instant, Rng, Seed};

#[derive(Debug, Clone)]
pub(super) struct Wifi<T> {
    pub(super) stations: Vec<Station<T>>,
    pub(super) loads: Loads,
    overhead: Duration,
    /// Indices of attached stations come before those of background stations.
    ready: Ready,
    /// End of the current frame. If a station has data, the medium is assigned then.
    free_at: Instant,
    /// Airtime of all frames so far, the current one to its end.
    airtime: Duration,
    rng: Rng,
}

impl<T: Clone> Wifi<T> {
    pub(super) fn new(config: &CellConfig, stations: &[StationConfig], seed: Seed) -> Self {
        let loads = Loads::new(&config.others, config.rate, seed);
        Self {
            ready: Ready::new(stations.len(), loads.len()),
            stations: (0..).zip(stations).map(|(i, s)| Station::new(s, config.rate, i, seed)).collect(),
            loads,
            overhead: config.overhead,
            free_at: Instant::ZERO,
            airtime: Duration::ZERO,
            rng: seed.rng("cell"),
        }
    }

    pub(super) fn push(&mut self, now: Instant, station: usize, size: u32, item: T) -> bool {
        if station >= self.stations.len() {
            return false;
        }
        // Leave a decision that is due now: this packet takes part in it.
        self.run(|decision| decision < now);
        let accepted = self.stations[station].push(now, size, item);
        if accepted {
            // A station out of reach would occupy the medium for ever.
            if self.stations[station].rate > Bitrate::ZERO {
                self.free_at = self.free_at.max(now);
                self.ready.insert(station);
            }
        }
        accepted
    }

    /// Assigns the medium up to `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        self.run(|decision| decision <= now);
    }

    /// Assigns the medium before `now`, and returns the airtime used by then.
    pub(super) fn busy_time(&mut self, now: Instant) -> Duration {
        self.run(|decision| decision < now);
        self.airtime.saturating_sub(self.free_at.since(now))
    }

    /// Returns the next time at which an attached station competes for the medium;
    /// [`Instant::MAX`] if none has data.
    pub(super) fn next_decision(&self) -> Instant {
        if self.ready.any_attached() { self.free_at } else { Instant::MAX }
    }

    /// Processes due decisions and packet generations in order.
    fn run(&mut self, due: impl Fn(Instant) -> bool) {
        loop {
            let idle = self.ready.members().is_empty();
            let decision = if idle { Instant::MAX } else { self.free_at };
            let generation = self.loads.next();
            let next = decision.min(generation);
            if next == Instant::MAX || !due(next) {
                return;
            }
            if generation > decision {
                self.decide(decision);
            } else if let Some(load) = self.loads.generate_next() {
                // Later only if the medium was idle.
                self.free_at = self.free_at.max(generation);
                self.ready.insert(self.stations.len() + load);
            }
        }
    }

    fn decide(&mut self, now: Instant) {
        let members = self.ready.members();
        let index = if members.len() > 1 { self.rng.below(members.len() as u64) as usize } else { 0 };
        let Some(&sender) = members.get(index) else { return };
        let attached = self.stations.len();
        let (rate, size) = match self.stations.get(sender) {
            Some(station) => (station.rate, station.head().unwrap_or(0)),
            None => self.loads.rate_and_size(sender - attached),
        };
        let end = now + self.overhead + rate.time_for(Bytes::new(u64::from(size)));
        let more = if let Some(station) = self.stations.get_mut(sender) {
            station.send(now, end);
            station.head().is_some()
        } else {
            self.loads.send(sender - attached)
        };
        if !more {
            self.ready.remove(sender);
        }
        self.airtime += end.since(now);
        self.free_at = end;
    }
}
