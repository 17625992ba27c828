//! A station with a queue and a propagation stage.

use crate::config::{CellConfig, CellStation, QueueLimit};
use crate::loss::Transmission;
use crate::propagation::{Propagation, PropagationConfig};
use crate::sent::Sent;
use crate::stats::LinkStats;
use std::collections::VecDeque;
use tracing::{debug, info_span};
use units::{Bitrate, Bytes, Duration, Instant};

#[derive(Debug, Clone)]
pub(super) struct Station<T> {
    limit: QueueLimit,
    /// Rate of the medium while this station transmits.
    pub(super) rate: Bitrate,
    /// Time on the medium of each packet, beside that of its bytes.
    overhead: Duration,
    queue: VecDeque<(u32, T)>,
    queue_bytes: u64,
    /// End, packets and bytes of the current transmission.
    transmitting: (Instant, usize, u64),
    propagation: Propagation<T>,
    stats: LinkStats,
}

impl<T: Clone> Station<T> {
    /// Creates station `index` of a cell.
    pub(super) fn new(station: &CellStation, cell: &CellConfig, overhead: Duration, index: usize) -> Self {
        let config = &station.config;
        let propagation = PropagationConfig {
            delay: config.delay,
            reorder: config.reorder,
            loss: &config.loss,
            outages: &config.outages,
            impairments: &config.impairments,
        };
        Self {
            limit: config.queue,
            rate: config.rate(cell),
            overhead,
            queue: VecDeque::new(),
            queue_bytes: 0,
            transmitting: (Instant::ZERO, 0, 0),
            propagation: info_span!("station", index)
                .in_scope(|| Propagation::new(&propagation, station.seed)),
            stats: LinkStats::default(),
        }
    }

    pub(super) fn record_sent(&mut self, payload: fn(&T) -> u32) {
        self.propagation.record_sent(payload);
    }

    pub(super) fn take_sent(&mut self, now: Instant) -> Option<Sent> {
        self.propagation.take_sent(now)
    }

    /// Enqueues a packet. Returns false if the queue is full.
    pub(super) fn push(&mut self, now: Instant, size: u32, item: T) -> bool {
        self.stats.pushed += 1;
        let bytes = self.queued_bytes(now);
        let packets = self.queued_packets(now);
        let full = match self.limit {
            QueueLimit::Packets(max) => packets >= max as usize,
            QueueLimit::Bytes(max) => bytes + u64::from(size) > max.get(),
            QueueLimit::Time(max) => packets > 0 && self.airtime(packets, bytes) > max,
            QueueLimit::Unlimited => false,
        };
        if full {
            self.stats.dropped_full += 1;
            debug!(parent: self.propagation.log(), size, queued = bytes, "packet dropped: queue full");
            return false;
        }
        self.queue_bytes += u64::from(size);
        self.queue.push_back((size, item));
        true
    }

    /// Transmission time of queued packets if the station had the medium to itself.
    fn airtime(&self, packets: usize, bytes: u64) -> Duration {
        self.rate.time_for(Bytes::new(bytes)) + self.overhead * packets as u64
    }

    /// Returns the size of the next packet to transmit.
    pub(super) fn head(&self) -> Option<u32> {
        self.queue.front().map(|&(size, _)| size)
    }

    /// Transmits the first packet over `[begin, end)`.
    pub(super) fn send(&mut self, begin: Instant, end: Instant) {
        let Some((size, item)) = self.queue.pop_front() else { return };
        self.queue_bytes -= u64::from(size);
        if self.transmitting.0 < end {
            self.transmitting = (end, 0, 0);
        }
        self.transmitting.1 += 1;
        self.transmitting.2 += u64::from(size);
        self.propagation.send(Transmission { begin, end, size }, Duration::ZERO, || item, &mut self.stats);
    }

    pub(super) fn next_arrival(&self) -> Instant {
        self.propagation.next()
    }

    pub(super) fn arrive(&mut self, now: Instant) -> Option<T> {
        self.propagation.deliver(now, &mut self.stats)
    }

    pub(super) fn queued_bytes(&self, now: Instant) -> u64 {
        self.queue_bytes + if now < self.transmitting.0 { self.transmitting.2 } else { 0 }
    }

    pub(super) fn queued_packets(&self, now: Instant) -> usize {
        self.queue.len() + if now < self.transmitting.0 { self.transmitting.1 } else { 0 }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.queue.len() + self.propagation.len()
    }

    pub(super) fn stats(&self) -> LinkStats {
        self.stats
    }
}
