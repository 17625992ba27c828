//! One direction of a link.

use crate::codel::{ManagedQueue, Taken, never};
use crate::config::{LinkConfig, QueueLimit};
use crate::loss::Transmission;
use crate::propagation::{Propagation, PropagationConfig};
use crate::server::Server;
use crate::stats::LinkStats;
use std::collections::VecDeque;
use units::{Duration, Instant, Seed};

/// One direction of a link: a queue, a rate, a delay and losses.
///
/// Items are held by value. When a packet is pushed, its departure and its arrival are computed at
/// once, because nothing that comes later can change them; so a packet is one event, its arrival,
/// and the link has at most one pending event whatever is in flight. Only CoDel decides when a
/// packet's turn comes; with it a packet is two events.
///
/// Contract: time never goes back from call to call. After [`push`](Self::push) and
/// [`poll`](Self::poll), ask [`next`](Self::next) when to poll again, and then poll until `None`. With
/// CoDel `next` may be a time at which a packet leaves and none arrives.
#[derive(Debug, Clone)]
pub struct Link<T> {
    limit: QueueLimit,
    server: Server,
    /// When the last packet that was taken has left.
    busy_until: Instant,
    /// When each packet that has not left yet will leave, and its size.
    waiting: VecDeque<(Instant, u32)>,
    waiting_bytes: u64,
    /// With CoDel, what waits to be sent; `waiting` then has only what is being sent.
    managed: Option<Box<ManagedQueue<T>>>,
    propagation: Propagation<T>,
    stats: LinkStats,
}

impl<T: Clone> Link<T> {
    /// A link that is idle at time zero. Draws its randomness from streams `loss`, `delay`, `corrupt`,
    /// `duplicate` and `late` of `seed`.
    pub fn new(config: &LinkConfig, seed: Seed) -> Self {
        Self::with_marking(config, seed, never)
    }

    /// The same, of packets that can be marked: `mark` marks one and says true, or says that it cannot.
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
            managed: config.codel.map(|codel| Box::new(ManagedQueue::new(codel, mark))),
            propagation: Propagation::new(&propagation, seed),
            stats: LinkStats::default(),
        }
    }

    /// Takes a packet of `size` bytes on the wire (below 2 GB). False where the queue is full: the
    /// packet is dropped at once.
    #[inline]
    pub fn push(&mut self, now: Instant, size: u32, item: T) -> bool {
        self.push_with(now, size, || item)
    }

    /// The same with a packet that is made where it is kept, and only if there is room.
    #[inline]
    pub fn push_with(&mut self, now: Instant, size: u32, make: impl FnOnce() -> T) -> bool {
        self.stats.pushed += 1;
        if self.managed.is_some() {
            return self.push_managed(now, size, make);
        }
        self.forget_departed(now);
        let full = match self.limit {
            QueueLimit::Packets(most) => self.waiting.len() >= most as usize,
            QueueLimit::Bytes(most) => self.waiting_bytes + u64::from(size) > most.get(),
            QueueLimit::Time(longest) => self.busy_until.since(now) > longest,
            QueueLimit::Unlimited => false,
        };
        if full {
            self.stats.dropped_full += 1;
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

    /// The next packet that arrives at or before `now`.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<T> {
        if self.managed.is_some() {
            self.serve(now);
        }
        self.propagation.deliver(now, &mut self.stats)
    }

    /// The size of the packet that [`poll`](Self::poll) would give and the packet, left where it is: to
    /// look at without moving it.
    #[inline]
    pub fn peek(&mut self, now: Instant) -> Option<(u32, &T)> {
        if self.managed.is_some() {
            self.serve(now);
        }
        self.propagation.peek(now)
    }

    /// Forgets the packet that [`peek`](Self::peek) showed: it has arrived.
    #[inline]
    pub fn pop(&mut self) {
        self.propagation.pop(&mut self.stats);
    }

    /// How far ahead arrivals are known: whatever is pushed at a time arrives no earlier than this after it,
    /// and changes nothing about packets pushed before. Zero with CoDel, where it may.
    pub fn lookahead(&self) -> Duration {
        if self.managed.is_some() { Duration::ZERO } else { self.propagation.min_delay() }
    }

    /// Until when arrivals are known, if everything before `now` has been pushed: what is pushed from then on arrives no
    /// earlier. Behind a queue that is later than the [lookahead](Self::lookahead) says.
    pub fn horizon(&self, now: Instant) -> Instant {
        if self.managed.is_some() { now } else { self.propagation.horizon(now) }
    }

    /// The packet under way with this place in the order of arrival, from 0: when it arrives, its size, and
    /// the packet, left where it is. Sure before [`horizon`](Self::horizon).
    #[inline]
    pub fn arrival(&self, index: usize) -> Option<(Instant, u32, &T)> {
        self.propagation.arrival(index)
    }

    /// Forgets the first `count` packets under way: they have arrived.
    pub fn pop_many(&mut self, count: usize) {
        self.propagation.pop_many(count, &mut self.stats);
    }

    /// When the next packet arrives, or with CoDel leaves the queue.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        let turn = if self.managed.is_some() { self.next_turn() } else { Instant::MAX };
        Some(self.propagation.next().min(turn)).filter(|&at| at < Instant::MAX)
    }

    /// Whether another packet would leave [`next`](Self::next) as it is: it arrives after another.
    #[inline]
    pub fn push_preserves_next(&self) -> bool {
        self.propagation.preserves_next() && self.managed.is_none()
    }

    /// Bytes whose packets have not left yet, the packet that is being sent among them.
    pub fn queued_bytes(&mut self, now: Instant) -> u64 {
        self.settle(now);
        self.waiting_bytes + self.managed.as_ref().map_or(0, |queue| queue.bytes())
    }

    /// Packets that have not left yet, the one that is being sent among them.
    pub fn queued_packets(&mut self, now: Instant) -> usize {
        self.settle(now);
        self.waiting.len() + self.managed.as_ref().map_or(0, |queue| queue.len())
    }

    /// How long a packet that is pushed now waits before it is sent. With CoDel, only
    /// what is being sent counts: which of the others will be dropped is not known.
    pub fn wait(&self, now: Instant) -> Duration {
        self.busy_until.since(now)
    }

    /// Packets that will arrive yet, queued or under way.
    pub fn in_flight(&self) -> usize {
        self.propagation.len() + self.managed.as_ref().map_or(0, |queue| queue.len())
    }

    /// What the link has done so far.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// Brings the queue up to `now`.
    fn settle(&mut self, now: Instant) {
        if self.managed.is_some() {
            self.serve(now);
        }
        self.forget_departed(now);
    }

    #[cold]
    #[inline(never)]
    fn push_managed(&mut self, now: Instant, size: u32, make: impl FnOnce() -> T) -> bool {
        let item = make();
        self.settle(now);
        let sending = self.waiting.front().map(|&(_, size)| size);
        let Some(queue) = &mut self.managed else { return false };
        let taken = queue.push(now, (size, item), self.limit, sending);
        if taken {
            if queue.len() == 1 {
                queue.set_turn(self.server.begins(now.max(self.busy_until)));
            }
            // An idle link sends at once.
            self.serve(now);
        } else {
            self.stats.dropped_full += 1;
        }
        taken
    }

    /// When the first of a managed queue can leave it.
    fn next_turn(&self) -> Instant {
        self.managed.as_ref().map_or(Instant::MAX, |queue| queue.turn())
    }

    /// Sends whatever of a managed queue has had its turn by `now`.
    fn serve(&mut self, now: Instant) {
        let Some(queue) = &mut self.managed else { return };
        while queue.turn() <= now && queue.turn() < Instant::MAX {
            let mut taken = Taken::default();
            let at = queue.turn();
            if let Some((size, item)) = queue.take(at, &mut taken) {
                let service = self.server.serve(at, size);
                self.busy_until = service.end;
                self.waiting.push_back((service.end, size));
                self.waiting_bytes += u64::from(size);
                let packet = Transmission { begin: service.begin, end: service.end, size };
                self.propagation.send(packet, service.latency, || item, &mut self.stats);
            }
            self.stats.dropped_early += taken.dropped;
            self.stats.marked += u64::from(taken.marked);
            queue.set_turn(self.server.begins(at.max(self.busy_until)));
        }
    }

    #[inline]
    fn forget_departed(&mut self, now: Instant) {
        while let Some(&(departure, size)) = self.waiting.front() {
            if departure > now {
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

    /// Everything that arrives, with its time.
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
    fn the_queue_empties_as_packets_leave_and_not_as_they_arrive() {
        let delay = Delay::Fixed(Duration::from_secs(1));
        let mut link = link(&LinkConfig { rate: mbps(2), delay, ..LinkConfig::default() });
        link.push(ms(0), 1500, 1);
        link.push(ms(0), 750, 2);
        assert_eq!((link.queued_packets(ms(5)), link.queued_bytes(ms(5))), (2, 2250));
        assert_eq!((link.queued_packets(ms(6)), link.queued_bytes(ms(6))), (1, 750));
        assert_eq!((link.queued_packets(ms(9)), link.in_flight()), (0, 2));
    }

    #[test]
    fn where_the_next_arrival_is_said_to_stay_it_does() {
        let far = Duration::from_millis(50);
        let delay = Delay::Uniform { min: Duration::ZERO, max: far };
        let reorder = Some(crate::Reorder { probability: Probability::new(0.2).unwrap(), extra_delay: far });
        let plain = LinkConfig { rate: mbps(100), delay, ..LinkConfig::default() };
        let reordering = LinkConfig { reorder: true, ..plain.clone() };
        let impaired =
            LinkConfig { impairments: crate::Impairments { reorder, ..Default::default() }, ..plain.clone() };
        let managed = LinkConfig { codel: Some(crate::Codel::default()), ..plain.clone() };
        let mut kept = Vec::new();
        for config in [plain, reordering, impaired, managed] {
            let mut link = link(&config);
            let mut told = 0;
            for i in 0..1000 {
                let now = ms(u64::from(i) * 3);
                while link.poll(now).is_some() {}
                let before = link.next();
                let keeps = link.push_preserves_next();
                link.push(now, 1500, i);
                told += u32::from(keeps);
                assert!(!keeps || link.next() == before, "{config:?}, packet {i}");
            }
            kept.push(told > 500);
        }
        assert_eq!(kept, [true, false, false, false]);
    }

    #[test]
    fn what_is_pushed_changes_nothing_within_the_lookahead() {
        let [short, far] = [10, 50].map(Duration::from_millis);
        let chance = Probability::new(0.2).unwrap();
        let impairments = crate::Impairments {
            duplicate: chance,
            reorder: Some(crate::Reorder { probability: chance, extra_delay: far }),
            corrupt: chance,
        };
        let plain = LinkConfig { rate: mbps(5), delay: Delay::Fixed(short), ..LinkConfig::default() };
        let varying = LinkConfig { delay: Delay::Uniform { min: short, max: far }, ..plain.clone() };
        let reordering = LinkConfig { reorder: true, impairments, ..varying.clone() };
        for config in [plain, varying, reordering] {
            let mut link = link(&config);
            assert_eq!(link.lookahead(), short);
            let (mut told, mut arrived) = (Vec::new(), Vec::new());
            for i in 0..1000 {
                let now = ms(3 * i);
                let until = now + link.lookahead();
                let mut place = 0;
                while let Some((at, _, &item)) = link.arrival(place).filter(|&(at, ..)| at < until) {
                    if at >= ms(3 * i + 7) {
                        told.push((at, item));
                    }
                    place += 1;
                }
                let horizon = link.horizon(now);
                assert!(horizon >= until);
                let before_it = |link: &Link<u32>| -> Vec<(Instant, u32)> {
                    let coming = (0..).map_while(|place| link.arrival(place));
                    coming.take_while(|&(at, ..)| at < horizon).map(|(at, _, &item)| (at, item)).collect()
                };
                let known = before_it(&link);
                link.push(now, 1500, i as u32);
                assert_eq!(before_it(&link), known, "{config:?}, packet {i}");
                // What arrives before the next push, one by one and at once.
                let before = now + Duration::from_millis(3);
                let mut count = 0;
                while let Some((at, _, &item)) = link.arrival(count).filter(|&(at, ..)| at < before) {
                    arrived.push((at, item));
                    count += 1;
                }
                let delivered = link.stats().delivered;
                link.pop_many(count);
                assert_eq!(link.stats().delivered - delivered, count as u64);
            }
            let last = arrived.last().map_or(Instant::ZERO, |&(at, _)| at);
            told.retain(|&(at, _)| at <= last);
            let due: Vec<_> = arrived.iter().copied().filter(|&(at, _)| at >= ms(7)).collect();
            assert!(told.len() > 500, "{}", told.len());
            assert_eq!(told, due, "{config:?}");
        }
        let codel = LinkConfig { codel: Some(crate::Codel::default()), ..LinkConfig::default() };
        let normal = LinkConfig { delay: Delay::Normal { mean: far, sd: short }, ..LinkConfig::default() };
        assert_eq!([codel, normal].map(|config| link(&config).lookahead()), [Duration::ZERO; 2]);
    }

    #[test]
    fn a_full_queue_drops_at_the_tail() {
        let taken = |queue| {
            let mut link = link(&LinkConfig { rate: mbps(2), queue, ..LinkConfig::default() });
            (0..10).map(|i| u32::from(link.push(ms(0), 1500, i))).sum::<u32>()
        };
        assert_eq!(taken(QueueLimit::Packets(3)), 3);
        assert_eq!(taken(QueueLimit::Packets(0)), 0);
        assert_eq!(taken(QueueLimit::Bytes(Bytes::new(4500))), 3);
        assert_eq!(taken(QueueLimit::Bytes(Bytes::new(4499))), 2);
        // 6 ms each: those that wait 0, 6 and 12 ms.
        assert_eq!(taken(QueueLimit::Time(Duration::from_millis(12))), 3);
        assert_eq!(taken(QueueLimit::Time(Duration::from_millis(11))), 2);
        assert_eq!(taken(QueueLimit::Unlimited), 10);
    }

    #[test]
    fn a_place_is_free_again_the_moment_a_packet_has_left() {
        let queue = QueueLimit::Packets(1);
        let mut link = link(&LinkConfig { rate: mbps(2), queue, ..LinkConfig::default() });
        assert!(link.push(ms(0), 1500, 1));
        assert!(!link.push(Instant::from_nanos(5_999_999), 1500, 2));
        assert!(link.push(ms(6), 1500, 3));
        assert_eq!(link.stats().dropped_full, 1);
    }

    #[test]
    fn a_lost_packet_takes_its_time_and_its_place() {
        let loss = Loss::Uniform(Probability::ALWAYS);
        let mut link = link(&LinkConfig { rate: mbps(2), loss, ..LinkConfig::default() });
        assert!(link.push(ms(0), 1500, 1));
        assert_eq!((link.next(), link.queued_packets(ms(5)), link.stats().lost), (None, 1, 1));
    }

    #[test]
    fn what_is_sent_in_an_outage_is_lost() {
        let outages = vec![(ms(10), ms(20))];
        let mut link = link(&LinkConfig { rate: mbps(2), outages, ..LinkConfig::default() });
        // Sent over 0-6, 6-12, 12-18, 18-24, 24-30.
        for i in 0..5 {
            link.push(ms(0), 1500, i);
        }
        assert_eq!(drain(&mut link), [(ms(6), 0), (ms(30), 4)]);
        assert_eq!(link.stats().lost, 3);
    }

    #[test]
    fn packets_overtake_only_where_they_may() {
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
    fn delays_have_their_means() {
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
        // Half of the draws become zero: sd / sqrt(2 pi).
        assert!((mean(Delay::Normal { mean: d(0), sd: d(10) }) - 3.99).abs() < 0.2);
    }

    #[test]
    fn the_latency_of_a_trace_is_added_to_the_delay() {
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
        // The second does not overtake the first.
        assert_eq!(drain(&mut link), [(ms(22), 1), (ms(22), 2), (ms(37), 3)]);
    }

    #[test]
    fn a_link_without_a_rate_keeps_what_it_has() {
        let mut link = link(&LinkConfig { rate: mbps(0), ..LinkConfig::default() });
        for i in 0..200 {
            link.push(ms(u64::from(i)), 1500, i);
        }
        assert_eq!((link.next(), link.poll(Instant::from_secs(1_000_000))), (None, None));
        assert_eq!((link.in_flight(), link.stats().dropped_full), (100, 100));
    }
}
