//! One direction of a link.

use crate::codel::{CodelQueue, DequeueOutcome, never_mark};
use crate::config::{LinkConfig, QueueLimit};
use crate::loss::Transmission;
use crate::propagation::{Propagation, PropagationConfig};
use crate::sent::Sent;
use crate::server::Server;
use crate::stats::LinkStats;
use std::collections::VecDeque;
use tracing::debug;
use units::{Duration, Instant, Seed};

/// One direction of a link: a queue, a rate, a propagation delay and losses.
///
/// Items are held by value. The end of transmission and the arrival of a packet are computed when
/// it is pushed, because later packets cannot change them. Each packet is therefore one event, its
/// arrival. CoDel decides when a packet departs from its queue to be transmitted; with CoDel this
/// departure is a second event.
///
/// Contract: time never decreases from call to call. After [`push`](Self::push) and
/// [`poll`](Self::poll), [`next`](Self::next) returns the time of the next poll. Poll until
/// `None`. With CoDel, `next` may be a departure at which no packet arrives.
///
/// # Example
///
/// ```
/// use tandem_link::{Delay, Link, LinkConfig, Rate};
/// use units::{Duration, Instant, Seed};
///
/// let config = LinkConfig {
///     rate: Rate::Fixed("2Mbps".parse()?),
///     delay: Delay::Fixed(Duration::from_millis(5)),
///     ..LinkConfig::default()
/// };
/// let mut link = Link::new(&config, Seed::new(1));
/// link.push(Instant::ZERO, 1500, "a packet");
/// assert_eq!(link.next(), Some(Instant::from_millis(11)));
/// assert_eq!(link.poll(Instant::from_millis(11)), Some("a packet"));
/// # Ok::<(), units::UnitError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Link<T> {
    limit: QueueLimit,
    server: Server,
    /// End of the last transmission that has been computed.
    busy_until: Instant,
    /// End of transmission and size of each packet that is queued or in transmission.
    waiting: VecDeque<(Instant, u32)>,
    waiting_bytes: u64,
    /// Queued packets with CoDel; `waiting` then contains only the packet in transmission.
    codel_queue: Option<Box<CodelQueue<T>>>,
    propagation: Propagation<T>,
    stats: LinkStats,
}

impl<T: Clone> Link<T> {
    /// Creates a link that is idle at time zero. Random numbers come from the streams `loss`,
    /// `delay`, `corrupt`, `duplicate` and `late` (extra delay by reordering) of `seed`.
    pub fn new(config: &LinkConfig, seed: Seed) -> Self {
        Self::with_marking(config, seed, never_mark)
    }

    /// Creates a link with ECN marking by CoDel: `mark` marks a packet and returns true, or
    /// returns false if the packet is not ECN-capable.
    pub fn with_marking(config: &LinkConfig, seed: Seed, mark: fn(&mut T) -> bool) -> Self {
        let propagation = PropagationConfig {
            delay: config.delay,
            reorder: config.reorder,
            loss: &config.loss,
            outages: &config.outages,
            impairments: &config.impairments,
        };
        Self {
            limit: config.queue,
            server: Server::new(&config.rate),
            busy_until: Instant::ZERO,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            codel_queue: config.codel.map(|codel| Box::new(CodelQueue::new(codel, mark))),
            propagation: Propagation::new(&propagation, seed),
            stats: LinkStats::default(),
        }
    }

    /// Records the packets pushed from here on for [`take_sent`](Self::take_sent). `payload` returns
    /// the payload of a packet, in bytes.
    pub fn record_sent(&mut self, payload: fn(&T) -> u32) {
        self.propagation.record_sent(payload);
    }

    /// Takes the next recorded packet if its transmission has begun by `now`, also if it is lost
    /// later. A packet that the queue drops is never sent.
    #[inline]
    pub fn take_sent(&mut self, now: Instant) -> Option<Sent> {
        self.propagation.take_sent(now)
    }

    /// Enqueues a packet of `size` bytes on the wire (below 2 GB). Returns false if the queue is
    /// full: the packet is then dropped.
    #[inline]
    pub fn push(&mut self, now: Instant, size: u32, item: T) -> bool {
        self.push_with(now, size, || item)
    }

    /// Like [`push`](Self::push), but constructs the packet in place. Without CoDel, `make` is not
    /// called for a packet that is dropped; nor, if packets are not recorded, for a lost or corrupted
    /// one.
    #[inline]
    pub fn push_with(&mut self, now: Instant, size: u32, make: impl FnOnce() -> T) -> bool {
        self.stats.pushed += 1;
        if self.codel_queue.is_some() {
            return self.push_codel_queue(now, size, make);
        }
        self.remove_transmitted(now);
        let full = match self.limit {
            QueueLimit::Packets(max) => self.waiting.len() >= max as usize,
            QueueLimit::Bytes(max) => self.waiting_bytes + u64::from(size) > max.get(),
            QueueLimit::Time(max) => self.busy_until.since(now) > max,
            QueueLimit::Unlimited => false,
        };
        if full {
            self.stats.dropped_full += 1;
            debug!(parent: self.propagation.log(), size, queued = self.waiting.len(), "packet dropped: queue full");
            return false;
        }
        let service = self.server.serve(now.max(self.busy_until), size);
        self.busy_until = service.end;
        self.waiting.push_back((service.end, size));
        self.waiting_bytes += u64::from(size);
        let packet = Transmission { begin: service.begin, end: service.end, size };
        self.propagation.send(packet, service.latency, make, &mut self.stats);
        true
    }

    /// Returns the next packet that arrives at or before `now`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        if self.codel_queue.is_some() {
            self.serve(now);
        }
        self.propagation.deliver(now, &mut self.stats)
    }

    /// Returns size and item of the next packet of [`poll`](Self::poll), without moving it.
    #[inline]
    pub fn peek(&mut self, now: Instant) -> Option<(u32, &T)> {
        if self.codel_queue.is_some() {
            self.serve(now);
        }
        self.propagation.peek(now)
    }

    /// Delivers the packet that [`peek`](Self::peek) returned.
    #[inline]
    pub fn pop(&mut self) {
        self.propagation.pop(&mut self.stats);
    }

    /// Returns the time of the next arrival or, with CoDel, of the next departure from the queue.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        let departure = if self.codel_queue.is_some() { self.next_departure() } else { Instant::MAX };
        Some(self.propagation.next().min(departure)).filter(|&at| at < Instant::MAX)
    }

    /// Returns true if pushing another packet does not change [`next`](Self::next).
    #[inline]
    pub fn push_preserves_next(&self) -> bool {
        self.propagation.preserves_next() && self.codel_queue.is_none()
    }

    /// Returns the bytes of queued packets, including the packet in transmission.
    pub fn queued_bytes(&mut self, now: Instant) -> u64 {
        self.settle(now);
        self.waiting_bytes + self.codel_queue.as_ref().map_or(0, |queue| queue.bytes())
    }

    /// Returns the number of queued packets, including the packet in transmission.
    pub fn queued_packets(&mut self, now: Instant) -> usize {
        self.settle(now);
        self.waiting.len() + self.codel_queue.as_ref().map_or(0, |queue| queue.len())
    }

    /// Returns the queueing delay of a packet pushed now. With CoDel it includes only the packet
    /// in transmission, because CoDel may drop the others.
    pub fn queueing_delay(&self, now: Instant) -> Duration {
        self.busy_until.since(now)
    }

    /// Returns the number of packets that are queued, in transmission or propagating.
    pub fn in_flight(&self) -> usize {
        self.propagation.len() + self.codel_queue.as_ref().map_or(0, |queue| queue.len())
    }

    /// Returns the packet counters.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// Advances the queue to `now`.
    fn settle(&mut self, now: Instant) {
        if self.codel_queue.is_some() {
            self.serve(now);
        }
        self.remove_transmitted(now);
    }

    #[cold]
    #[inline(never)]
    fn push_codel_queue(&mut self, now: Instant, size: u32, make: impl FnOnce() -> T) -> bool {
        let item = make();
        self.settle(now);
        let sending = self.waiting.front().map(|&(_, size)| size);
        let Some(queue) = &mut self.codel_queue else { return false };
        let accepted = queue.push(now, (size, item), self.limit, sending);
        if accepted {
            if queue.len() == 1 {
                queue.set_next_departure(self.server.service_start(now.max(self.busy_until)));
            }
            // An idle link transmits immediately.
            self.serve(now);
        } else {
            self.stats.dropped_full += 1;
            debug!(parent: self.propagation.log(), size, "packet dropped: queue full");
        }
        accepted
    }

    /// Returns the next departure from the CoDel queue; [`Instant::MAX`] if it is empty or absent.
    fn next_departure(&self) -> Instant {
        self.codel_queue.as_ref().map_or(Instant::MAX, |queue| queue.next_departure())
    }

    /// Transmits the packets that depart from the CoDel queue by `now`.
    fn serve(&mut self, now: Instant) {
        let Some(queue) = &mut self.codel_queue else { return };
        while queue.next_departure() <= now && queue.next_departure() < Instant::MAX {
            let mut outcome = DequeueOutcome::default();
            let at = queue.next_departure();
            if let Some((size, item)) = queue.dequeue(at, &mut outcome) {
                let service = self.server.serve(at, size);
                self.busy_until = service.end;
                self.waiting.push_back((service.end, size));
                self.waiting_bytes += u64::from(size);
                let packet = Transmission { begin: service.begin, end: service.end, size };
                self.propagation.send(packet, service.latency, || item, &mut self.stats);
            }
            if outcome.dropped > 0 || outcome.marked {
                let (log, DequeueOutcome { dropped, marked, .. }) = (self.propagation.log(), outcome);
                debug!(parent: log, dropped, marked, "CoDel dropped or marked packets");
            }
            self.stats.dropped_early += outcome.dropped;
            self.stats.marked += u64::from(outcome.marked);
            queue.set_next_departure(self.server.service_start(at.max(self.busy_until)));
        }
    }

    #[inline]
    fn remove_transmitted(&mut self, now: Instant) {
        while let Some(&(end, size)) = self.waiting.front() {
            if end > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delay, Loss, Rate, RatePiece, Trace};
    use std::sync::Arc;
    use units::{Bitrate, Bytes, Duration, Probability};

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn mbps(mbps: u64) -> Rate {
        Rate::Fixed(Bitrate::from_bps(mbps * 1_000_000))
    }

    fn link(config: &LinkConfig) -> Link<u32> {
        Link::new(config, Seed::new(1))
    }

    /// Returns all arrivals with their times.
    fn drain(link: &mut Link<u32>) -> Vec<(Instant, u32)> {
        let mut all = Vec::new();
        while let Some(at) = link.next() {
            assert_eq!(link.poll(at - Duration::from_nanos(1)), None);
            while let Some(item) = link.poll(at) {
                all.push((at, item));
            }
        }
        all
    }

    #[test]
    fn packets_arrive_after_queue_service_and_delay() {
        // 1500 bytes take 6 ms at 2 Mbps.
        let delay = Delay::Fixed(Duration::from_millis(5));
        let mut link = link(&LinkConfig { rate: mbps(2), delay, ..LinkConfig::default() });
        assert!(link.push(ms(0), 1500, 1) && link.push(ms(1), 1500, 2) && link.push(ms(20), 750, 3));
        assert_eq!(drain(&mut link), [(ms(11), 1), (ms(17), 2), (ms(28), 3)]);
        assert_eq!(link.next(), None);
        let expected = LinkStats { pushed: 3, delivered: 3, bytes_delivered: 3750, ..LinkStats::default() };
        assert_eq!(link.stats(), expected);
    }

    #[test]
    fn queue_shrinks_at_the_end_of_transmission_rather_than_at_arrival() {
        let delay = Delay::Fixed(Duration::from_secs(1));
        let mut link = link(&LinkConfig { rate: mbps(2), delay, ..LinkConfig::default() });
        link.push(ms(0), 1500, 1);
        link.push(ms(0), 750, 2);
        assert_eq!((link.queued_packets(ms(5)), link.queued_bytes(ms(5))), (2, 2250));
        assert_eq!((link.queued_packets(ms(6)), link.queued_bytes(ms(6))), (1, 750));
        assert_eq!((link.queued_packets(ms(9)), link.in_flight()), (0, 2));
    }

    #[test]
    fn push_leaves_next_unchanged_if_push_preserves_next() {
        let far = Duration::from_millis(50);
        let delay = Delay::Uniform { min: Duration::ZERO, max: far };
        let reorder = Some(crate::Reorder { probability: Probability::new(0.2).unwrap(), extra_delay: far });
        let plain = LinkConfig { rate: mbps(100), delay, ..LinkConfig::default() };
        let reordering = LinkConfig { reorder: true, ..plain.clone() };
        let impaired =
            LinkConfig { impairments: crate::Impairments { reorder, ..Default::default() }, ..plain.clone() };
        let codel_queue = LinkConfig { codel: Some(crate::Codel::default()), ..plain.clone() };
        let mut usually_preserved = Vec::new();
        for config in [plain, reordering, impaired, codel_queue] {
            let mut link = link(&config);
            let mut preserved = 0;
            for i in 0..1000 {
                let now = ms(u64::from(i) * 3);
                while link.poll(now).is_some() {}
                let before = link.next();
                let preserves = link.push_preserves_next();
                link.push(now, 1500, i);
                preserved += u32::from(preserves);
                assert!(!preserves || link.next() == before, "{config:?}, packet {i}");
            }
            usually_preserved.push(preserved > 500);
        }
        assert_eq!(usually_preserved, [true, false, false, false]);
    }

    #[test]
    fn full_queue_drops_new_packets() {
        let accepted = |queue| {
            let mut link = link(&LinkConfig { rate: mbps(2), queue, ..LinkConfig::default() });
            (0..10).map(|i| u32::from(link.push(ms(0), 1500, i))).sum::<u32>()
        };
        assert_eq!(accepted(QueueLimit::Packets(3)), 3);
        assert_eq!(accepted(QueueLimit::Packets(0)), 0);
        assert_eq!(accepted(QueueLimit::Bytes(Bytes::new(4500))), 3);
        assert_eq!(accepted(QueueLimit::Bytes(Bytes::new(4499))), 2);
        // 6 ms each: three packets wait for 0, 6 and 12 ms.
        assert_eq!(accepted(QueueLimit::Time(Duration::from_millis(12))), 3);
        assert_eq!(accepted(QueueLimit::Time(Duration::from_millis(11))), 2);
        assert_eq!(accepted(QueueLimit::Unlimited), 10);
    }

    #[test]
    fn end_of_transmission_frees_queue_space_at_once() {
        let queue = QueueLimit::Packets(1);
        let mut link = link(&LinkConfig { rate: mbps(2), queue, ..LinkConfig::default() });
        assert!(link.push(ms(0), 1500, 1));
        assert!(!link.push(Instant::from_nanos(5_999_999), 1500, 2));
        assert!(link.push(ms(6), 1500, 3));
        assert_eq!(link.stats().dropped_full, 1);
    }

    #[test]
    fn lost_packet_occupies_queue_and_link() {
        let loss = Loss::Uniform(Probability::ALWAYS);
        let mut link = link(&LinkConfig { rate: mbps(2), loss, ..LinkConfig::default() });
        assert!(link.push(ms(0), 1500, 1));
        assert_eq!((link.next(), link.queued_packets(ms(5)), link.stats().lost), (None, 1, 1));
    }

    #[test]
    fn packets_transmitted_during_an_outage_are_lost() {
        let outages = vec![(ms(10), ms(20))];
        let mut link = link(&LinkConfig { rate: mbps(2), outages, ..LinkConfig::default() });
        // Transmitted at 0-6, 6-12, 12-18, 18-24 and 24-30 ms.
        for i in 0..5 {
            link.push(ms(0), 1500, i);
        }
        assert_eq!(drain(&mut link), [(ms(6), 0), (ms(30), 4)]);
        assert_eq!(link.stats().lost, 3);
    }

    #[test]
    fn outages_losses_and_corruption_leave_later_delays_unchanged() {
        let d = Duration::from_millis;
        let delay = Delay::Uniform { min: d(10), max: d(50) };
        let plain = LinkConfig { rate: mbps(100), delay, reorder: true, ..LinkConfig::default() };
        let half = Probability::new(0.5).unwrap();
        let outage = LinkConfig { outages: vec![(ms(100), ms(500))], ..plain.clone() };
        let lossy = LinkConfig { loss: Loss::Uniform(half), ..plain.clone() };
        let impairments = crate::Impairments { corrupt: half, duplicate: half, ..Default::default() };
        let impaired = LinkConfig { impairments, ..plain.clone() };
        let arrivals = |config: &LinkConfig| {
            let mut link = link(config);
            (0..1000).for_each(|i| assert!(link.push(ms(u64::from(i)), 1500, i)));
            drain(&mut link)
        };
        let all = arrivals(&plain);
        assert_eq!(all.len(), 1000);
        for config in [outage, lossy, impaired] {
            let some = arrivals(&config);
            assert!(some.len() > 300 && some.iter().all(|arrival| all.contains(arrival)), "{config:?}");
        }
    }

    #[test]
    fn packet_is_sent_when_its_transmission_begins() {
        let loss = Loss::Uniform(Probability::ALWAYS);
        let queue = QueueLimit::Packets(2);
        let mut link = link(&LinkConfig { rate: mbps(2), loss, queue, ..LinkConfig::default() });
        link.record_sent(|&item| item);
        // 6 ms each; the third one is dropped.
        for payload in 1..=3 {
            link.push(ms(1), 1500, payload);
        }
        let sent = |at, payload| Some(crate::Sent { at, size: 1500, payload });
        assert_eq!((link.take_sent(ms(1)), link.take_sent(ms(6))), (sent(ms(1), 1), None));
        assert_eq!((link.take_sent(ms(7)), link.take_sent(ms(99))), (sent(ms(7), 2), None));
    }

    #[test]
    fn packets_overtake_only_with_reorder() {
        let delay = Delay::Uniform { min: Duration::ZERO, max: Duration::from_millis(50) };
        for reorder in [false, true] {
            let mut link = link(&LinkConfig { rate: mbps(100), delay, reorder, ..LinkConfig::default() });
            let mut arrived = Vec::new();
            for i in 0..1000 {
                let now = ms(u64::from(i));
                while let Some(item) = link.poll(now) {
                    arrived.push(item);
                }
                link.push(now, 1500, i);
            }
            arrived.extend(drain(&mut link).into_iter().map(|(_, item)| item));
            assert_eq!(arrived.len(), 1000);
            assert_eq!(arrived.is_sorted(), !reorder);
        }
    }

    #[test]
    fn delays_have_their_configured_means() {
        let mean = |delay| {
            let mut link =
                link(&LinkConfig { rate: mbps(1_000_000), delay, reorder: true, ..LinkConfig::default() });
            let mut sum = 0.0;
            for i in 0..20_000 {
                let now = Instant::from_secs(i);
                link.push(now, 0, 0);
                sum += link.next().unwrap().since(now).as_secs_f64() * 1e3;
                link.poll(Instant::from_secs(i + 1));
            }
            sum / 20_000.0
        };
        let d = Duration::from_millis;
        assert!((mean(Delay::Uniform { min: d(10), max: d(30) }) - 20.0).abs() < 0.2);
        assert!((mean(Delay::Uniform { min: d(10), max: d(5) }) - 10.0).abs() < 1e-9);
        assert!((mean(Delay::Normal { mean: d(50), sd: d(5) }) - 50.0).abs() < 0.2);
        // Half of the draws become zero: the mean in ms is sd / sqrt(2 pi).
        assert!((mean(Delay::Normal { mean: d(0), sd: d(10) }) - 3.99).abs() < 0.2);
    }

    #[test]
    fn trace_latency_adds_to_the_delay() {
        let piece = |latency| RatePiece {
            duration: Duration::from_millis(10),
            rate: Bitrate::from_bps(12_000_000),
            latency: Duration::from_millis(latency),
        };
        let trace = Trace::from_rates(&[piece(20), piece(0)]).unwrap();
        let rate = Rate::Trace(Arc::new(trace));
        let delay = Delay::Fixed(Duration::from_millis(1));
        let mut link = link(&LinkConfig { rate, delay, ..LinkConfig::default() });
        link.push(ms(0), 1500, 1);
        link.push(ms(15), 1500, 2);
        link.push(ms(35), 1500, 3);
        // The second packet does not overtake the first one.
        assert_eq!(drain(&mut link), [(ms(22), 1), (ms(22), 2), (ms(37), 3)]);
    }

    #[test]
    fn link_of_rate_zero_delivers_no_packets() {
        let mut link = link(&LinkConfig { rate: mbps(0), ..LinkConfig::default() });
        for i in 0..200 {
            link.push(ms(u64::from(i)), 1500, i);
        }
        assert_eq!((link.next(), link.poll(Instant::from_secs(1_000_000))), (None, None));
        // The default queue holds 100 packets.
        assert_eq!((link.in_flight(), link.stats().dropped_full), (100, 100));
    }
}
