//! Background stations of a cell.

use super::MAX_LOAD_STATIONS;
use crate::config::Load;
use crate::stats::LoadStats;
use core::cmp::Reverse;
use std::collections::BinaryHeap;
use units::{Bitrate, Bytes, Duration, Instant, Rng, Seed};

#[derive(Debug, Clone)]
pub(super) struct Loads {
    kinds: Vec<Kind>,
    stations: Vec<LoadStation>,
    /// Next packet generation of each station.
    due: BinaryHeap<Reverse<(Instant, usize)>>,
    rng: Rng,
    stats: LoadStats,
}

#[derive(Debug, Clone)]
struct Kind {
    interval: Duration,
    jitter: u64,
    packet: u32,
    queue: u32,
    stop: Instant,
    /// Rate of the medium while such a station transmits; the cell's if `None`.
    link_rate: Option<Bitrate>,
}

#[derive(Debug, Clone)]
struct LoadStation {
    kind: usize,
    queued: u32,
    /// Generation time of the next packet, without jitter.
    nominal: Instant,
}

impl Loads {
    pub(super) fn new(loads: &[Load], seed: Seed) -> Self {
        let mut all = Self {
            kinds: Vec::with_capacity(loads.len()),
            stations: Vec::new(),
            due: BinaryHeap::new(),
            rng: seed.rng("load"),
            stats: LoadStats::default(),
        };
        for load in loads {
            let packet = u32::try_from(load.packet.get()).unwrap_or(u32::MAX);
            if packet == 0 || load.rate == Bitrate::ZERO {
                continue;
            }
            // No medium carries more than one packet per microsecond. The bound limits simulation
            // time.
            let interval = load.rate.time_for(Bytes::new(u64::from(packet))).max(Duration::from_micros(1));
            let kind = all.kinds.len();
            all.kinds.push(Kind {
                interval,
                jitter: load.jitter.as_nanos(),
                packet,
                queue: load.queue,
                stop: load.stop.unwrap_or(Instant::MAX),
                link_rate: load.link_rate,
            });
            for _ in 0..load.count.min(MAX_LOAD_STATIONS.saturating_sub(all.stations.len() as u32)) {
                let phase = Duration::from_nanos(all.rng.below(interval.as_nanos()));
                let station = all.stations.len();
                all.stations.push(LoadStation { kind, queued: 0, nominal: load.start + phase });
                let due = all.due_time(station);
                if due < Instant::MAX {
                    all.due.push(Reverse((due, station)));
                }
            }
        }
        all
    }

    /// Returns the number of stations.
    pub(super) fn len(&self) -> usize {
        self.stations.len()
    }

    /// Returns the time of the next packet; [`Instant::MAX`] if there is none.
    pub(super) fn next(&self) -> Instant {
        self.due.peek().map_or(Instant::MAX, |&Reverse((at, _))| at)
    }

    /// Generates the next packet. Returns its station if the queue of the station was empty.
    pub(super) fn generate_next(&mut self) -> Option<usize> {
        let Reverse((_, station)) = *self.due.peek()?;
        let kind = self.stations[station].kind;
        self.stations[station].nominal += self.kinds[kind].interval;
        let due = self.due_time(station);
        if due < Instant::MAX {
            if let Some(mut top) = self.due.peek_mut() {
                top.0.0 = due;
            }
        } else {
            self.due.pop();
        }
        self.stats.offered += 1;
        let LoadStation { kind, queued, .. } = &mut self.stations[station];
        if *queued >= self.kinds[*kind].queue {
            self.stats.dropped_full += 1;
            return None;
        }
        *queued += 1;
        (*queued == 1).then_some(station)
    }

    /// Returns the packet size of a station.
    pub(super) fn size(&self, station: usize) -> u32 {
        self.kinds[self.stations[station].kind].packet
    }

    /// Returns the rate of the medium while a station transmits, if it is not that of the cell.
    pub(super) fn link_rate(&self, station: usize) -> Option<Bitrate> {
        self.kinds[self.stations[station].kind].link_rate
    }

    /// Transmits a packet of a station. Returns false if it was the last in its queue.
    pub(super) fn send(&mut self, station: usize) -> bool {
        let LoadStation { kind, queued, .. } = &mut self.stations[station];
        *queued = queued.saturating_sub(1);
        self.stats.sent += 1;
        self.stats.bytes_sent += u64::from(self.kinds[*kind].packet);
        *queued > 0
    }

    pub(super) fn stats(&self) -> LoadStats {
        self.stats
    }

    /// Returns the next generation time with jitter; [`Instant::MAX`] if the station has stopped.
    fn due_time(&mut self, station: usize) -> Instant {
        let LoadStation { kind, nominal, .. } = self.stations[station];
        let Kind { jitter, stop, .. } = self.kinds[kind];
        if nominal >= stop { Instant::MAX } else { nominal + Duration::from_nanos(self.rng.below(jitter)) }
    }
}
