//! A medium that several stations share.

mod load;
mod lte;
mod ready;
mod station;
mod wifi;

use crate::config::{CellConfig, CellKind, StationConfig};
use crate::stats::{LinkStats, LoadStats};
use lte::Lte;
use station::Station;
use units::{Instant, Seed};
use wifi::Wifi;

/// The most stations that one cell's loads may have; beyond it they are left out.
const MOST_LOADS: u32 = 10_000;

/// A Wi-Fi or LTE cell.
///
/// Stations that carry packets are attached in the order of the slice given to [`new`](Self::new),
/// and named by their index. The loads of the configuration begin by themselves; they are numbers,
/// caught up with when an attached station needs the medium, and never a pending event of their own.
///
/// **Wi-Fi**: one frame at a time is sent at the sender's rate (plus `overhead`). Whenever the medium
/// becomes free, it goes to one of the stations that have a frame, each as likely: what DCF's equal
/// chances come to in the long run. Collisions and backoff are not simulated but part of the rate.
///
/// **LTE**: at the start of each millisecond (TTI) the user with the largest ratio of instantaneous
/// rate to mean throughput sends (proportional fairness; Tse's rule as in Viswanath et al. 2002,
/// section II), and what it does not need of the TTI goes to the next. A packet may take several
/// TTIs; it leaves at the end of its last one, so that an idle cell takes one to two milliseconds.
///
/// Contract: as for [`Link`](crate::Link), time never goes back; after `push` and `poll`, ask `next`.
/// `next` may say now, or a time at which only the medium changes hands and nothing arrives.
#[derive(Debug, Clone)]
pub struct Cell<T> {
    medium: Medium<T>,
}

#[derive(Debug, Clone)]
enum Medium<T> {
    Wifi(Wifi<T>),
    Lte(Lte<T>),
}

impl<T: Clone> Cell<T> {
    /// A cell that is idle at time zero. Draws its randomness from streams of `seed`: `cell`, `load`
    /// and, for each station, its own `loss` and `delay`.
    pub fn new(config: &CellConfig, stations: &[StationConfig], seed: Seed) -> Self {
        let medium = match config.kind {
            CellKind::Wifi => Medium::Wifi(Wifi::new(config, stations, seed)),
            CellKind::Lte => Medium::Lte(Lte::new(config, stations, seed)),
        };
        Self { medium }
    }

    /// Gives a packet of `size` bytes on the medium (below 2 GB) to `station`. False where its queue
    /// is full, or where there is no such station.
    pub fn push(&mut self, now: Instant, station: usize, size: u32, item: T) -> bool {
        match &mut self.medium {
            Medium::Wifi(wifi) => wifi.push(now, station, size, item),
            Medium::Lte(lte) => lte.push(now, station, size, item),
        }
    }

    /// The next packet that arrives at or before `now`, and the station that it was given to.
    pub fn poll(&mut self, now: Instant) -> Option<(usize, T)> {
        match &mut self.medium {
            Medium::Wifi(wifi) => wifi.advance(now),
            Medium::Lte(lte) => lte.advance(now),
        }
        let stations = self.stations_mut();
        let (index, at) = earliest(stations)?;
        if at > now {
            return None;
        }
        stations[index].arrive(now).map(|item| (index, item))
    }

    /// When to poll next.
    pub fn next(&self) -> Option<Instant> {
        let (stations, decision) = match &self.medium {
            Medium::Wifi(wifi) => (&wifi.stations, wifi.next_decision()),
            Medium::Lte(lte) => (&lte.stations, lte.next_decision()),
        };
        let arrival = earliest(stations).map_or(Instant::MAX, |(_, at)| at);
        Some(arrival.min(decision)).filter(|&at| at < Instant::MAX)
    }

    /// Bytes at `station` that have not been sent yet, what is on the medium among them.
    pub fn queued_bytes(&self, now: Instant, station: usize) -> u64 {
        self.stations().get(station).map_or(0, |s| s.queued_bytes(now))
    }

    /// Packets at `station` that have not been sent yet, what is on the medium among them.
    pub fn queued_packets(&self, now: Instant, station: usize) -> usize {
        self.stations().get(station).map_or(0, |s| s.queued_packets(now))
    }

    /// Packets of `station` that are waiting or under way; some of those waiting may yet be lost.
    pub fn in_flight(&self, station: usize) -> usize {
        self.stations().get(station).map_or(0, Station::in_flight)
    }

    /// What `station` has done so far.
    pub fn stats(&self, station: usize) -> LinkStats {
        self.stations().get(station).map_or_else(LinkStats::default, Station::stats)
    }

    /// What the loads have done, as far as they have been caught up with.
    pub fn load_stats(&self) -> LoadStats {
        match &self.medium {
            Medium::Wifi(wifi) => wifi.loads.stats(),
            Medium::Lte(lte) => lte.loads.stats(),
        }
    }

    fn stations(&self) -> &[Station<T>] {
        match &self.medium {
            Medium::Wifi(wifi) => &wifi.stations,
            Medium::Lte(lte) => &lte.stations,
        }
    }

    fn stations_mut(&mut self) -> &mut [Station<T>] {
        match &mut self.medium {
            Medium::Wifi(wifi) => &mut wifi.stations,
            Medium::Lte(lte) => &mut lte.stations,
        }
    }
}

#[cfg(test)]
mod tests;

/// The station whose packet arrives first, and when; of several, the first.
fn earliest<T: Clone>(stations: &[Station<T>]) -> Option<(usize, Instant)> {
    stations.iter().map(Station::next_arrival).enumerate().min_by_key(|&(_, at)| at)
}
