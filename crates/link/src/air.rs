//! What becomes of a packet once it has been sent: it is lost, or under way for a while.

use crate::config::{Delay, Impairments};
use crate::faults::{Fate, Faults};
use crate::loss::{LossModel, Outages};
use crate::stats::LinkStats;
use std::collections::VecDeque;
use units::{Duration, Instant, Rng, Seed};

/// How an [`Air`] is made: the part that a link and a cell's station have in common.
pub(crate) struct AirConfig<'a> {
    pub(crate) delay: Delay,
    pub(crate) reorder: bool,
    pub(crate) loss: crate::Loss,
    pub(crate) outages: &'a [(Instant, Instant)],
    pub(crate) impairments: &'a Impairments,
}

/// The packets under way.
#[derive(Debug, Clone)]
pub(crate) struct Air<T> {
    delay: Delay,
    reorder: bool,
    rng: Rng,
    loss: LossModel,
    outages: Outages,
    faults: Option<Box<Faults>>,
    /// The latest arrival so far: nothing arrives before it unless it may overtake.
    latest: Instant,
    /// In order of arrival.
    under_way: VecDeque<Flight<T>>,
}

/// The size lies behind the packet, so that with it all of the packet's memory is asked for.
#[derive(Debug, Clone)]
#[repr(C)]
struct Flight<T> {
    arrival: Instant,
    item: T,
    size: u32,
}

impl<T: Clone> Air<T> {
    pub(crate) fn new(config: &AirConfig<'_>, seed: Seed) -> Self {
        Self {
            delay: config.delay,
            reorder: config.reorder,
            rng: seed.rng("delay"),
            loss: LossModel::new(config.loss, seed),
            outages: Outages::new(config.outages),
            faults: Faults::new(config.impairments, seed),
            latest: Instant::ZERO,
            under_way: VecDeque::new(),
        }
    }

    /// Takes a packet that is sent over `[begin, end)`.
    #[inline]
    pub(crate) fn send(
        &mut self,
        (begin, end): (Instant, Instant),
        latency: Duration,
        (size, make): (u32, impl FnOnce() -> T),
        stats: &mut LinkStats,
    ) {
        // Both are asked of every packet, so that an outage leaves the draws of later packets alone.
        let lost = self.loss.loses();
        let fate = self.faults.as_mut().map(|faults| faults.draw());
        if self.outages.hit(begin, end) || lost {
            stats.lost += 1;
            return;
        }
        if let Some(fate) = fate {
            self.send_to_fate(&fate, end + latency, size, make, stats);
            return;
        }
        let mut arrival = end + latency + self.delay();
        if arrival < self.latest {
            if self.reorder {
                self.overtake(arrival, size, make);
                return;
            }
            arrival = self.latest;
        }
        self.latest = arrival;
        // Nearly every packet, made here and nowhere else, so that it is written where it will lie.
        self.under_way.push_back(Flight { arrival, item: make(), size });
    }

    #[cold]
    #[inline(never)]
    fn overtake(&mut self, arrival: Instant, size: u32, make: impl FnOnce() -> T) {
        let place = self.under_way.partition_point(|flight| flight.arrival <= arrival);
        self.under_way.insert(place, Flight { arrival, item: make(), size });
    }

    #[cold]
    #[inline(never)]
    fn send_to_fate(
        &mut self,
        fate: &Fate,
        sent: Instant,
        size: u32,
        make: impl FnOnce() -> T,
        stats: &mut LinkStats,
    ) {
        if fate.corrupted {
            stats.corrupted += 1;
            return;
        }
        let item = make();
        let [late, late_too] = fate.late;
        if fate.doubled {
            stats.duplicated += 1;
            self.fly(sent, late, size, item.clone());
            self.fly(sent, late_too, size, item);
        } else {
            self.fly(sent, late, size, item);
        }
    }

    /// Puts a packet among those under way; one that is late delays no other.
    fn fly(&mut self, sent: Instant, late: Option<Duration>, size: u32, item: T) {
        let mut arrival = sent + self.delay();
        if !self.reorder {
            arrival = arrival.max(self.latest);
        }
        match late {
            Some(by) => arrival += by,
            None => self.latest = self.latest.max(arrival),
        }
        let place = self.under_way.partition_point(|flight| flight.arrival <= arrival);
        self.under_way.insert(place, Flight { arrival, item, size });
    }

    /// When the next packet arrives; [`Instant::MAX`] where none does.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.under_way.front().map_or(Instant::MAX, |flight| flight.arrival)
    }

    /// The next packet that has arrived by `now`.
    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, stats: &mut LinkStats) -> Option<T> {
        self.front(now)?;
        let flight = self.under_way.pop_front()?;
        stats.delivered += 1;
        stats.bytes_delivered += u64::from(flight.size);
        Some(flight.item)
    }

    /// The same, left where it is.
    #[inline]
    pub(crate) fn front(&self, now: Instant) -> Option<(u32, &T)> {
        let flight = self.under_way.front().filter(|flight| flight.arrival <= now)?;
        Some((flight.size, &flight.item))
    }

    /// Takes the first packet off unseen.
    #[inline]
    pub(crate) fn discard_front(&mut self, stats: &mut LinkStats) {
        if let Some(flight) = self.under_way.pop_front() {
            stats.delivered += 1;
            stats.bytes_delivered += u64::from(flight.size);
        }
    }

    /// The packet under way with this place in the order of arrival.
    #[inline]
    pub(crate) fn coming(&self, place: usize) -> Option<(Instant, u32, &T)> {
        self.under_way.get(place).map(|flight| (flight.arrival, flight.size, &flight.item))
    }

    /// Takes so many packets off, the first to arrive, unseen.
    pub(crate) fn discard(&mut self, count: usize, stats: &mut LinkStats) {
        for flight in self.under_way.drain(..count.min(self.under_way.len())) {
            stats.delivered += 1;
            stats.bytes_delivered += u64::from(flight.size);
        }
    }

    /// A packet is under way for no less.
    pub(crate) fn least_delay(&self) -> Duration {
        match self.delay {
            Delay::Fixed(least) | Delay::Uniform { min: least, .. } => least,
            Delay::Normal { .. } => Duration::ZERO,
        }
    }

    /// No packet that is sent from `now` on arrives before.
    pub(crate) fn horizon(&self, now: Instant) -> Instant {
        let least = now + self.least_delay();
        if self.reorder || self.faults.is_some() { least } else { least.max(self.latest) }
    }

    /// Whether a packet that is sent now arrives after another.
    #[inline]
    pub(crate) fn is_in_order(&self) -> bool {
        !self.under_way.is_empty() && !self.reorder && self.faults.is_none()
    }

    /// How many packets are to arrive yet.
    pub(crate) fn len(&self) -> usize {
        self.under_way.len()
    }

    #[inline]
    fn delay(&mut self) -> Duration {
        match self.delay {
            Delay::Fixed(delay) => delay,
            Delay::Uniform { min, max } => {
                min + Duration::from_nanos(self.rng.below(max.saturating_sub(min).as_nanos()))
            }
            Delay::Normal { mean, sd } => {
                let nanos = mean.as_nanos() as f64 + self.rng.normal() * sd.as_nanos() as f64;
                // A cast of what is negative gives zero.
                Duration::from_nanos(nanos as u64)
            }
        }
    }
}
