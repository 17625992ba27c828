//! Propagation stage: packets after transmission, which are lost, impaired or delivered later.

use crate::config::{Delay, Impairments};
use crate::impairments::{ImpairmentModel, PacketImpairments};
use crate::loss::{ActiveLoss, Loss, Outages, Transmission};
use crate::scaled_beta::ScaledBeta;
use crate::sent::{Sent, SentLog};
use crate::stats::LinkStats;
use std::collections::VecDeque;
use tracing::{Span, debug};
use units::{Duration, Instant, Rng, Seed};

/// Settings that links and stations of a cell have in common.
pub(crate) struct PropagationConfig<'a> {
    pub(crate) delay: Delay,
    pub(crate) reorder: bool,
    pub(crate) loss: &'a Loss,
    pub(crate) outages: &'a [(Instant, Instant)],
    pub(crate) impairments: &'a Impairments,
}

/// Packets between transmission and arrival.
#[derive(Debug, Clone)]
pub(crate) struct Propagation<T> {
    delay: Delay,
    reorder: bool,
    rng: Rng,
    /// Present delay, and the end of its validity, of [`Delay::Measured`].
    measured: (Duration, Instant),
    loss: ActiveLoss,
    outages: Outages,
    impairments: Option<Box<ImpairmentModel>>,
    /// Delay of every packet, if it is fixed and no packet is lost, impaired or reordered.
    constant_delay: Option<Duration>,
    /// Latest arrival so far. Without reordering, no later packet arrives before it.
    latest_arrival: Instant,
    /// Packets for [`take_sent`](Self::take_sent).
    sent: Option<Box<SentLog<T>>>,
    /// In order of arrival.
    in_flight: VecDeque<InFlight<T>>,
    /// Span of the log entries: that in which the link was created.
    log: Span,
}

/// A packet in flight.
#[derive(Debug, Clone)]
struct InFlight<T> {
    arrival: Instant,
    item: T,
    size: u32,
}

impl<T: Clone> Propagation<T> {
    pub(crate) fn new(config: &PropagationConfig<'_>, seed: Seed) -> Self {
        let loss = ActiveLoss::new(config.loss, seed);
        let impairments = ImpairmentModel::new(config.impairments, seed);
        let is_lossless = matches!(loss, ActiveLoss::None) && config.outages.is_empty();
        let constant_delay = match config.delay {
            Delay::Fixed(delay) if is_lossless && impairments.is_none() && !config.reorder => Some(delay),
            _ => None,
        };
        Self {
            delay: config.delay,
            reorder: config.reorder,
            rng: seed.rng("delay"),
            measured: (Duration::ZERO, Instant::ZERO),
            loss,
            outages: Outages::new(config.outages),
            impairments,
            constant_delay,
            latest_arrival: Instant::ZERO,
            sent: None,
            in_flight: VecDeque::new(),
            log: Span::current(),
        }
    }

    /// Records the packets from here on for [`take_sent`](Self::take_sent). `payload` returns the
    /// payload of a packet, in bytes.
    pub(crate) fn record_sent(&mut self, payload: fn(&T) -> u32) {
        self.sent = Some(Box::new(SentLog::new(payload)));
    }

    /// Takes the next recorded packet if its transmission has begun by `now`.
    #[inline]
    pub(crate) fn take_sent(&mut self, now: Instant) -> Option<Sent> {
        self.sent.as_mut()?.take(now)
    }

    /// Accepts a transmitted packet. `latency` is extra delay of this packet from a trace.
    #[inline]
    pub(crate) fn send(
        &mut self,
        packet: Transmission,
        latency: Duration,
        make: impl FnOnce() -> T,
        stats: &mut LinkStats,
    ) {
        match &mut self.sent {
            None => self.forward(packet, latency, make, stats),
            Some(sent) => {
                let item = make();
                sent.push(&packet, &item);
                self.forward(packet, latency, || item, stats);
            }
        }
    }

    #[inline]
    fn forward(
        &mut self,
        packet: Transmission,
        latency: Duration,
        make: impl FnOnce() -> T,
        stats: &mut LinkStats,
    ) {
        match self.constant_delay {
            Some(delay) => {
                let arrival = (packet.end + latency + delay).max(self.latest_arrival);
                self.latest_arrival = arrival;
                self.in_flight.push_back(InFlight { arrival, item: make(), size: packet.size });
            }
            None => self.send_by_models(packet, latency, make, stats),
        }
    }

    /// Applies the models of loss, impairments and delay to a packet.
    #[inline(never)]
    fn send_by_models(
        &mut self,
        packet: Transmission,
        latency: Duration,
        make: impl FnOnce() -> T,
        stats: &mut LinkStats,
    ) {
        // Every packet draws from every stream, so that an outage, a loss or a corruption leaves later
        // draws unchanged.
        let is_lost = self.loss.is_lost(&packet);
        let impairments = self.impairments.as_mut().map(|model| model.draw());
        let mut arrival = packet.end + latency + self.draw_delay(packet.end);
        let in_outage = self.outages.overlap(&packet);
        if in_outage || is_lost {
            stats.lost += 1;
            debug!(parent: &self.log, size = packet.size, in_outage, "packet lost");
            return;
        }
        if let Some(impairments) = impairments {
            self.send_impaired(packet.size, arrival, impairments, make, stats);
            return;
        }
        if arrival < self.latest_arrival {
            if self.reorder {
                self.insert(arrival, packet.size, make());
                return;
            }
            arrival = self.latest_arrival;
        }
        self.latest_arrival = arrival;
        self.in_flight.push_back(InFlight { arrival, item: make(), size: packet.size });
    }

    #[cold]
    #[inline(never)]
    fn send_impaired(
        &mut self,
        size: u32,
        arrival: Instant,
        impairments: PacketImpairments,
        make: impl FnOnce() -> T,
        stats: &mut LinkStats,
    ) {
        if impairments.corrupted {
            stats.corrupted += 1;
            debug!(parent: &self.log, size, "packet corrupted");
            return;
        }
        let item = make();
        let [extra_delay, duplicate_extra_delay] = impairments.extra_delay;
        if impairments.duplicated {
            stats.duplicated += 1;
            self.propagate(arrival, extra_delay, size, item.clone());
            self.propagate(arrival, duplicate_extra_delay, size, item);
        } else {
            self.propagate(arrival, extra_delay, size, item);
        }
    }

    /// Schedules the arrival of a packet. A packet with extra delay does not delay later packets.
    fn propagate(&mut self, mut arrival: Instant, extra_delay: Option<Duration>, size: u32, item: T) {
        if !self.reorder {
            arrival = arrival.max(self.latest_arrival);
        }
        match extra_delay {
            Some(extra_delay) => arrival += extra_delay,
            None => self.latest_arrival = self.latest_arrival.max(arrival),
        }
        self.insert(arrival, size, item);
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, arrival: Instant, size: u32, item: T) {
        let index = self.in_flight.partition_point(|packet| packet.arrival <= arrival);
        self.in_flight.insert(index, InFlight { arrival, item, size });
    }

    /// Returns the span of the log entries.
    pub(crate) fn log(&self) -> &Span {
        &self.log
    }

    /// Returns the next arrival time; [`Instant::MAX`] without packets in flight.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.in_flight.front().map_or(Instant::MAX, |packet| packet.arrival)
    }

    /// Delivers the next packet that has arrived by `now`.
    #[inline]
    pub(crate) fn deliver(&mut self, now: Instant, stats: &mut LinkStats) -> Option<T> {
        self.peek(now)?;
        let packet = self.in_flight.pop_front()?;
        stats.delivered += 1;
        stats.bytes_delivered += u64::from(packet.size);
        Some(packet.item)
    }

    /// Returns size and item of the packet that [`deliver`](Self::deliver) would return.
    #[inline]
    pub(crate) fn peek(&self, now: Instant) -> Option<(u32, &T)> {
        let packet = self.in_flight.front().filter(|packet| packet.arrival <= now)?;
        Some((packet.size, &packet.item))
    }

    /// Delivers the first packet without returning it.
    #[inline]
    pub(crate) fn pop(&mut self, stats: &mut LinkStats) {
        if let Some(packet) = self.in_flight.pop_front() {
            stats.delivered += 1;
            stats.bytes_delivered += u64::from(packet.size);
        }
    }

    /// Returns true if a packet transmitted now arrives after one already in flight.
    #[inline]
    pub(crate) fn preserves_next(&self) -> bool {
        !self.in_flight.is_empty() && !self.reorder && self.impairments.is_none()
    }

    /// Returns the number of packets in flight.
    pub(crate) fn len(&self) -> usize {
        self.in_flight.len()
    }

    fn draw_delay(&mut self, now: Instant) -> Duration {
        match self.delay {
            Delay::Fixed(delay) => delay,
            Delay::Uniform { min, max } => {
                min + Duration::from_nanos(self.rng.below(max.saturating_sub(min).as_nanos()))
            }
            Delay::Normal { mean, sd } => {
                let nanos = mean.as_nanos() as f64 + self.rng.normal() * sd.as_nanos() as f64;
                // The cast saturates: negative values become zero.
                Duration::from_nanos(nanos as u64)
            }
            Delay::Measured { min, mean, max, sd, every } => {
                if self.measured.1 <= now {
                    let beta = ScaledBeta::new(min, mean, max, sd);
                    self.measured = (beta.draw(&mut self.rng), now + every);
                }
                self.measured.0
            }
        }
    }
}
