//! Wi-Fi cell: one frame at a time.

use super::load::Loads;
use super::ready::Ready;
use super::station::Station;
use crate::config::{CellConfig, CellStation, Sender};
use units::{Bitrate, Bytes, Duration, Instant, Rng, Seed};

#[derive(Debug, Clone)]
pub(super) struct Wifi<T> {
    pub(super) stations: Vec<Station<T>>,
    pub(super) loads: Loads,
    rate: Bitrate,
    overhead: Duration,
    /// Senders with a frame: clients, background stations after them, and the access point under
    /// the index of its first downlink.
    senders: Ready,
    access_point: AccessPoint,
    /// End of the current frame. If a station has data, the medium is assigned then.
    free_at: Instant,
    /// Airtime of all frames so far, the current one to its end.
    airtime: Duration,
    rng: Rng,
}

/// The downlinks of the access point.
#[derive(Debug, Clone)]
struct AccessPoint {
    /// Index of the first.
    first: Option<usize>,
    /// Whether each attached station is one.
    downlinks: Vec<bool>,
    /// Those with a frame.
    ready: Ready,
}

impl<T: Clone> Wifi<T> {
    pub(super) fn new(config: &CellConfig, stations: &[CellStation], seed: Seed) -> Self {
        let loads = Loads::new(&config.others, seed);
        let downlinks: Vec<bool> = stations.iter().map(|s| s.sender == Sender::AccessPoint).collect();
        Self {
            senders: Ready::new(stations.len(), loads.len()),
            access_point: AccessPoint {
                first: downlinks.iter().position(|&down| down),
                downlinks,
                ready: Ready::new(stations.len(), 0),
            },
            stations: (0..).zip(stations).map(|(i, s)| Station::new(s, config, config.overhead, i)).collect(),
            loads,
            rate: config.rate,
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
                self.contend(station);
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
        if self.senders.any_attached() { self.free_at } else { Instant::MAX }
    }

    /// Processes due decisions and packet generations in order.
    fn run(&mut self, due: impl Fn(Instant) -> bool) {
        loop {
            let idle = self.senders.members().is_empty();
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
                self.senders.insert(self.stations.len() + load);
            }
        }
    }

    /// Lets an attached station with a frame take part in the next decision.
    fn contend(&mut self, station: usize) {
        match self.access_point.first.filter(|_| self.access_point.downlinks[station]) {
            Some(first) => {
                self.access_point.ready.insert(station);
                self.senders.insert(first);
            }
            None => self.senders.insert(station),
        }
    }

    /// Takes an attached or background station without a further frame out of the next decisions.
    fn withdraw(&mut self, station: usize) {
        if self.access_point.downlinks.get(station) != Some(&true) {
            return self.senders.remove(station);
        }
        self.access_point.ready.remove(station);
        if let Some(first) = self.access_point.first.filter(|_| self.access_point.ready.members().is_empty())
        {
            self.senders.remove(first);
        }
    }

    fn decide(&mut self, now: Instant) {
        let Some(mut sender) = pick(&mut self.rng, self.senders.members()) else { return };
        if Some(sender) == self.access_point.first {
            let Some(downlink) = pick(&mut self.rng, self.access_point.ready.members()) else { return };
            sender = downlink;
        }
        let attached = self.stations.len();
        let (rate, size) = if let Some(station) = self.stations.get(sender) {
            (station.rate, station.head().unwrap_or(0))
        } else {
            let load = sender - attached;
            (self.loads.link_rate(load).unwrap_or(self.rate), self.loads.size(load))
        };
        let end = now + self.overhead + rate.time_for(Bytes::new(u64::from(size)));
        let more = if let Some(station) = self.stations.get_mut(sender) {
            station.send(now, end);
            station.head().is_some()
        } else {
            self.loads.send(sender - attached)
        };
        if !more {
            self.withdraw(sender);
        }
        self.airtime += end.since(now);
        self.free_at = end;
    }
}

/// Picks one of these with equal probability.
fn pick(rng: &mut Rng, members: &[usize]) -> Option<usize> {
    let index = if members.len() > 1 { rng.below(members.len() as u64) as usize } else { 0 };
    members.get(index).copied()
}
