//! Shared media: Wi-Fi and LTE cells.

mod load;
mod lte;
mod ready;
mod station;
mod wifi;

use crate::config::{CellConfig, CellKind, CellStation};
use crate::sent::Sent;
use crate::stats::{LinkStats, LoadStats};
use lte::Lte;
use station::Station;
use units::{Duration, Instant, Seed};
use wifi::Wifi;

/// Maximum number of background stations of a cell; further ones are ignored.
pub const MAX_LOAD_STATIONS: u32 = 10_000;

/// A Wi-Fi or LTE cell.
///
/// Attached stations carry packets and are identified by their index in the slice passed to
/// [`new`](Self::new). Background stations generate only packet counts. They are simulated when an
/// attached station needs the medium and cause no events of their own.
///
/// **Wi-Fi**: one frame at a time is transmitted at the rate of its station, plus `overhead`. An
/// idle medium goes to a sender with data, with equal probability: the long-run behaviour of DCF.
/// The access point is one sender, whatever the number of its downlinks with data, and picks one
/// of them at random. Collisions and backoff are not simulated but part of the rate.
///
/// **LTE**: each TTI of 1 ms goes to the user with the largest ratio of instantaneous rate to mean
/// throughput (proportional fairness; Viswanath et al. 2002, section II). The next user gets the
/// rest of the TTI. A packet may need several TTIs and departs at the end of the last one. An idle
/// cell therefore delays a packet by one to two milliseconds.
///
/// Contract: as for [`Link`](crate::Link). `next` may return the current time, or a time at which
/// only the medium is assigned and no packet arrives.
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
    /// Creates a cell that is idle at time zero. Random numbers come from the streams `cell` and
    /// `load` of `seed`, and from the seed of each station.
    pub fn new(config: &CellConfig, stations: &[CellStation], seed: Seed) -> Self {
        let medium = match config.kind {
            CellKind::Wifi => Medium::Wifi(Wifi::new(config, stations, seed)),
            CellKind::Lte => Medium::Lte(Lte::new(config, stations, seed)),
        };
        Self { medium }
    }

    /// Records the packets of `station` from here on for [`take_sent`](Self::take_sent). `payload`
    /// returns the payload of a packet, in bytes.
    pub fn record_sent(&mut self, station: usize, payload: fn(&T) -> u32) {
        if let Some(station) = self.stations_mut().get_mut(station) {
            station.record_sent(payload);
        }
    }

    /// Takes the next recorded packet of `station` if its transmission has begun by `now`, also if it
    /// is lost later. In an LTE cell it begins with the last TTI that carries a part of it.
    pub fn take_sent(&mut self, now: Instant, station: usize) -> Option<Sent> {
        self.stations_mut().get_mut(station)?.take_sent(now)
    }

    /// Enqueues a packet of `size` bytes on the medium (below 2 GB) at `station`. Returns false if
    /// its queue is full or there is no such station.
    pub fn push(&mut self, now: Instant, station: usize, size: u32, item: T) -> bool {
        match &mut self.medium {
            Medium::Wifi(wifi) => wifi.push(now, station, size, item),
            Medium::Lte(lte) => lte.push(now, station, size, item),
        }
    }

    /// Returns the next packet that arrives at or before `now`, and its station.
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

    /// Returns the time of the next poll.
    pub fn next(&self) -> Option<Instant> {
        let (stations, decision) = match &self.medium {
            Medium::Wifi(wifi) => (&wifi.stations, wifi.next_decision()),
            Medium::Lte(lte) => (&lte.stations, lte.next_decision()),
        };
        let arrival = earliest(stations).map_or(Instant::MAX, |(_, at)| at);
        Some(arrival.min(decision)).filter(|&at| at < Instant::MAX)
    }

    /// Returns the bytes at `station` that have not departed, including the frame in transmission.
    pub fn queued_bytes(&self, now: Instant, station: usize) -> u64 {
        self.stations().get(station).map_or(0, |s| s.queued_bytes(now))
    }

    /// Returns the packets at `station` that have not departed, including the one in transmission.
    pub fn queued_packets(&self, now: Instant, station: usize) -> usize {
        self.stations().get(station).map_or(0, |s| s.queued_packets(now))
    }

    /// Returns the packets of `station` that are queued or in flight. Queued ones may still be
    /// lost.
    pub fn in_flight(&self, station: usize) -> usize {
        self.stations().get(station).map_or(0, Station::in_flight)
    }

    /// Returns the counters of `station`.
    pub fn stats(&self, station: usize) -> LinkStats {
        self.stations().get(station).map_or_else(LinkStats::default, Station::stats)
    }

    /// Returns the time before `now` in which the medium was in use: airtime of frames, or parts of
    /// TTIs. Background stations are simulated up to `now`.
    pub fn busy_time(&mut self, now: Instant) -> Duration {
        match &mut self.medium {
            Medium::Wifi(wifi) => wifi.busy_time(now),
            Medium::Lte(lte) => lte.busy_time(now),
        }
    }

    /// Returns the number of stations.
    pub fn station_count(&self) -> usize {
        self.stations().len()
    }

    /// Returns the counters of the background stations, as far as they have been simulated.
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

/// Returns station and time of the next arrival; ties go to the lowest index.
fn earliest<T: Clone>(stations: &[Station<T>]) -> Option<(usize, Instant)> {
    stations.iter().map(Station::next_arrival).enumerate().min_by_key(|&(_, at)| at)
}

#[cfg(test)]
mod tests;
