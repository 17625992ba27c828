//! CoDel (RFC 8289): a queue that drops or marks packets by their queueing delay.

use crate::config::{Codel, QueueLimit};
use std::collections::VecDeque;
use units::{Duration, Instant};

/// A queue with CoDel at its head.
///
/// CoDel decides at departure, from the packets that are queued then. Departures are therefore
/// unknown when packets are pushed, and each departure is an event.
#[derive(Debug, Clone)]
pub(crate) struct CodelQueue<T> {
    config: Codel,
    mark: fn(&mut T) -> bool,
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
    /// Size of the largest packet so far. CoDel never drops while at most this much is queued.
    max_packet: u32,
    /// Earliest departure of the first packet.
    next_departure: Instant,
    control: Control,
}

#[derive(Debug, Clone)]
struct Waiting<T> {
    since: Instant,
    size: u32,
    item: T,
}

/// Packets that one departure dropped or marked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DequeueOutcome {
    pub(crate) dropped: u64,
    pub(crate) marked: bool,
}

/// Mark function for packets that are not ECN-capable.
pub(crate) fn never_mark<T>(_item: &mut T) -> bool {
    false
}

impl<T> CodelQueue<T> {
    pub(crate) fn new(config: Codel, mark: fn(&mut T) -> bool) -> Self {
        Self {
            config,
            mark,
            waiting: VecDeque::new(),
            bytes: 0,
            max_packet: 0,
            next_departure: Instant::MAX,
            control: Control::default(),
        }
    }

    /// Enqueues a packet. Returns false if the limit leaves no room beside the queued packets and
    /// the one of `sending` bytes in transmission.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        (size, item): (u32, T),
        limit: QueueLimit,
        sending: Option<u32>,
    ) -> bool {
        let bytes = self.bytes + u64::from(sending.unwrap_or(0));
        let full = match limit {
            QueueLimit::Packets(max) => self.waiting.len() + usize::from(sending.is_some()) >= max as usize,
            QueueLimit::Bytes(max) => bytes + u64::from(size) > max.get(),
            QueueLimit::Time(max) => self.waiting.front().is_some_and(|w| now.since(w.since) > max),
            QueueLimit::Unlimited => false,
        };
        if full {
            return false;
        }
        self.max_packet = self.max_packet.max(size);
        self.bytes += u64::from(size);
        self.waiting.push_back(Waiting { since: now, size, item });
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the earliest departure of the first packet; [`Instant::MAX`] if the queue is empty.
    pub(crate) fn next_departure(&self) -> Instant {
        if self.waiting.is_empty() { Instant::MAX } else { self.next_departure }
    }

    pub(crate) fn set_next_departure(&mut self, at: Instant) {
        self.next_departure = at;
    }

    /// Returns the packet that is transmitted from `now` on, after dropping packets before it
    /// (`deque` of RFC 8289, section 5.5).
    pub(crate) fn dequeue(&mut self, now: Instant, outcome: &mut DequeueOutcome) -> Option<(u32, T)> {
        let Some((mut packet, mut ok_to_drop)) = self.pop_head(now) else {
            self.control.dropping = false;
            return None;
        };
        if self.control.dropping {
            self.control.dropping = ok_to_drop;
            while self.control.dropping && now >= self.control.next {
                self.control.count = self.control.count.saturating_add(1);
                let marked = self.mark(&mut packet.1);
                if marked {
                    outcome.marked = true;
                    self.control.next = self.control_law(self.control.next);
                    break;
                }
                outcome.dropped += 1;
                let Some(next) = self.pop_head(now) else {
                    self.control.dropping = false;
                    return None;
                };
                (packet, ok_to_drop) = next;
                self.control.dropping = ok_to_drop;
                if ok_to_drop {
                    self.control.next = self.control_law(self.control.next);
                }
            }
        } else if ok_to_drop {
            self.control.dropping = true;
            let marked = self.mark(&mut packet.1);
            outcome.marked = marked;
            let next = if marked {
                Some(packet)
            } else {
                outcome.dropped += 1;
                self.pop_head(now).map(|(packet, _)| packet)
            };
            // Shortly after the last dropping state, resume near its drop rate.
            let since = self.control.count - self.control.count_before;
            let recent = now.since(self.control.next) < self.config.interval * 16;
            self.control.count = if since > 1 && recent { since } else { 1 };
            self.control.count_before = self.control.count;
            self.control.next = self.control_law(now);
            let Some(next) = next else {
                self.control.dropping = false;
                return None;
            };
            packet = next;
        }
        Some(packet)
    }

    fn mark(&self, item: &mut T) -> bool {
        self.config.ecn && (self.mark)(item)
    }

    /// Removes the first packet. Returns true with it if the delay has been above the target for
    /// an interval (`dodeque` of RFC 8289, section 5.6).
    fn pop_head(&mut self, now: Instant) -> Option<((u32, T), bool)> {
        let Some(Waiting { since, size, item }) = self.waiting.pop_front() else {
            self.control.first_above = None;
            return None;
        };
        self.bytes -= u64::from(size);
        let short = now.since(since) < self.config.target || self.bytes <= u64::from(self.max_packet);
        let ok_to_drop = if short {
            self.control.first_above = None;
            false
        } else {
            let at = *self.control.first_above.get_or_insert(now + self.config.interval);
            now >= at
        };
        Some(((size, item), ok_to_drop))
    }

    /// Returns the next drop time: drops accelerate with the square root of their count, because
    /// TCP throughput is inversely proportional to the square root of the loss rate (RFC 8289,
    /// section 3.3).
    fn control_law(&self, from: Instant) -> Instant {
        let nanos = self.config.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.control.count.max(1)));
        from + Duration::from_nanos(nanos as u64)
    }
}

/// State variables of RFC 8289, section 5.3.
#[derive(Debug, Clone, Copy, Default)]
struct Control {
    /// Time at which the delay will have been above the target for an interval.
    first_above: Option<Instant>,
    next: Instant,
    count: u32,
    /// `count` at the start of the last dropping state.
    count_before: u32,
    dropping: bool,
}

#[cfg(test)]
mod tests {
    use crate::{Codel, Impairments, Link, LinkConfig, QueueLimit, Rate, Reorder, Trace};
    use std::sync::Arc;
    use units::{Bitrate, Duration, Instant, Probability, Seed};

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn config(mbps: u64) -> LinkConfig {
        let rate = Rate::Fixed(Bitrate::from_bps(mbps * 1_000_000));
        let queue = QueueLimit::Packets(1000);
        LinkConfig { rate, queue, codel: Some(Codel::default()), ..LinkConfig::default() }
    }

    /// Pushes a packet of 1500 bytes every `gap` from zero on. Returns push and arrival time of
    /// each delivered packet.
    fn feed(link: &mut Link<Instant>, gap: Duration, until: Instant) -> Vec<(Instant, Instant)> {
        let (mut now, mut all) = (Instant::ZERO, Vec::new());
        let mut drain = |link: &mut Link<Instant>, until: Instant| {
            while let Some(at) = link.next().filter(|&at| at <= until) {
                while let Some(pushed) = link.poll(at) {
                    all.push((pushed, at));
                }
            }
        };
        while now < until {
            drain(link, now);
            link.push(now, 1500, now);
            now += gap;
        }
        drain(link, Instant::MAX);
        all
    }

    #[test]
    fn codel_has_no_effect_below_capacity() {
        // 1 ms per packet.
        let (mut with, mut without) = (
            Link::new(&config(12), Seed::new(1)),
            Link::new(&LinkConfig { codel: None, ..config(12) }, Seed::new(1)),
        );
        let gap = Duration::from_micros(1001);
        let arrived = feed(&mut with, gap, Instant::from_secs(2));
        assert_eq!(arrived, feed(&mut without, gap, Instant::from_secs(2)));
        assert_eq!(with.stats(), without.stats());
    }

    #[test]
    fn codel_passes_a_burst_and_drains_a_standing_queue_by_the_control_law() {
        // 30 packets at once wait up to 30 ms, for less than an interval.
        let mut link = Link::new(&config(12), Seed::new(1));
        for _ in 0..30 {
            link.push(ms(0), 1500, ms(0));
        }
        assert_eq!(feed(&mut link, Duration::from_secs(1), ms(1)).len(), 31);
        assert_eq!(link.stats().dropped_early, 0);

        // Permanent overload by 10 %.
        let mut link = Link::new(&config(12), Seed::new(1));
        let mut drops = Vec::new();
        let (gap, mut now) = (Duration::from_nanos(909_091), Instant::ZERO);
        while now < Instant::from_secs(3) {
            let before = link.stats().dropped_early;
            while link.next().is_some_and(|at| at <= now) {
                link.poll(now);
            }
            link.push(now, 1500, now);
            drops.resize(drops.len() + (link.stats().dropped_early - before) as usize, now);
            now += gap;
        }
        let first = drops.first().expect("a drop").since(Instant::ZERO).as_millis();
        // Each packet adds a tenth of its time to the wait: 5 ms are reached after 55 ms, and the
        // first drop follows an interval later.
        assert!((150..165).contains(&first), "{first}");
        let gaps: Vec<u64> = drops.windows(2).map(|pair| pair[1].since(pair[0]).as_millis()).collect();
        assert!((98..=102).contains(&gaps[0]), "{gaps:?}");
        // 100 ms over the square root of 2, 3, 4 ...
        for (i, &gap) in gaps.iter().take(9).enumerate() {
            let law = 100.0 / ((i + 1) as f64).sqrt();
            assert!((gap as f64 - law).abs() < 2.5, "{i}: {gap} instead of {law}");
        }
    }

    #[test]
    fn ecn_capable_packets_are_marked_rather_than_dropped() {
        let codel = Some(Codel { ecn: true, ..Codel::default() });
        let config = LinkConfig { codel, ..config(12) };
        let gap = Duration::from_nanos(909_091);
        let mut marked = 0;
        let mut link = Link::with_marking(&config, Seed::new(1), |_| true);
        let arrived = feed(&mut link, gap, Instant::from_secs(1));
        marked += link.stats().marked;
        assert!(marked > 10 && link.stats().dropped_early == 0, "{:?}", link.stats());
        assert_eq!(arrived.len() as u64, link.stats().pushed - link.stats().dropped_full);
        // Packets that are not ECN-capable are dropped.
        let mut incapable = Link::with_marking(&config, Seed::new(1), |_| false);
        feed(&mut incapable, gap, Instant::from_secs(1));
        assert!(incapable.stats().marked == 0 && incapable.stats().dropped_early > 10);
    }

    #[test]
    fn link_stays_busy_while_codel_drops() {
        let mut link = Link::new(&config(12), Seed::new(1));
        let arrived = feed(&mut link, Duration::from_nanos(700_000), Instant::from_secs(2));
        assert!(link.stats().dropped_early > 10);
        // The link is always busy: one packet arrives each millisecond.
        assert!(arrived.iter().enumerate().all(|(i, &(_, at))| at == ms(i as u64 + 1)));
    }

    #[test]
    fn waiting_for_a_trace_opportunity_counts_as_queueing_delay() {
        // One opportunity each 20 ms: every packet waits longer than the target. The last one in
        // the queue is never dropped.
        let trace = Trace::from_opportunities(vec![20]).unwrap();
        let config = LinkConfig { rate: Rate::Trace(Arc::new(trace)), ..config(1) };
        let mut alone = Link::new(&config, Seed::new(1));
        assert_eq!(feed(&mut alone, Duration::from_millis(20), Instant::from_secs(2)).len(), 100);
        let mut link = Link::new(&config, Seed::new(1));
        let arrived = feed(&mut link, Duration::from_millis(15), Instant::from_secs(2));
        assert!(link.stats().dropped_early > 5 && arrived.iter().all(|(_, at)| at.as_millis() % 20 == 0));
    }

    #[test]
    fn impairments_have_their_configured_probabilities() {
        let p = |p| Probability::new(p).unwrap();
        let reorder = Some(Reorder { probability: p(0.1), extra_delay: Duration::from_millis(5) });
        let impairments = Impairments { corrupt: p(0.2), duplicate: p(0.3), reorder };
        let config = LinkConfig { codel: None, impairments, ..config(12) };
        let mut link = Link::new(&config, Seed::new(1));
        let arrived = feed(&mut link, Duration::from_millis(2), Instant::from_secs(200));
        let stats = link.stats();
        let near = |count: u64, expected: f64| (count as f64 / expected - 1.0).abs() < 0.03;
        assert!(near(stats.corrupted, 20_000.0), "{stats:?}");
        // Corrupted packets are not duplicated.
        assert!(near(stats.duplicated, 80_000.0 * 0.3), "{stats:?}");
        let late =
            arrived.iter().filter(|(pushed, at)| at.since(*pushed) == Duration::from_millis(6)).count();
        assert!(near(late as u64, stats.delivered as f64 * 0.1), "{late} of {stats:?}");
        assert!(arrived.is_sorted_by_key(|(_, at)| *at) && !arrived.is_sorted());
    }
}
