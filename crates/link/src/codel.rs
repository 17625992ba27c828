//! Controlled delay: a queue that drops, or marks, by how long packets wait (RFC 8289).

use crate::config::{Codel, QueueLimit};
use std::collections::VecDeque;
use units::{Duration, Instant};

/// A queue whose packets are looked at when they leave it.
///
/// Whether CoDel drops a packet depends on what waits behind it when its turn comes, so that with it
/// a departure is not known when the packet comes: the queue holds packets, and each costs an event.
#[derive(Debug, Clone)]
pub(crate) struct ManagedQueue<T> {
    config: Codel,
    mark: fn(&mut T) -> bool,
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
    /// The largest packet so far: as little as this behind a packet is no queue.
    largest: u32,
    /// When the first packet can leave.
    turn: Instant,
    control: Control,
}

#[derive(Debug, Clone)]
struct Waiting<T> {
    since: Instant,
    size: u32,
    item: T,
}

/// What became of the packets whose turn it was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) dropped: u64,
    pub(crate) marked: bool,
}

/// Only ever marks what its owner can mark: nothing.
pub(crate) fn never<T>(_item: &mut T) -> bool {
    false
}

impl<T> ManagedQueue<T> {
    pub(crate) fn new(config: Codel, mark: fn(&mut T) -> bool) -> Self {
        Self {
            config,
            mark,
            waiting: VecDeque::new(),
            bytes: 0,
            largest: 0,
            turn: Instant::MAX,
            control: Control::default(),
        }
    }

    /// False where `sending` bytes on the link and what waits leave no room for it.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        (size, item): (u32, T),
        limit: QueueLimit,
        sending: Option<u32>,
    ) -> bool {
        let bytes = self.bytes + u64::from(sending.unwrap_or(0));
        let full = match limit {
            QueueLimit::Packets(most) => self.waiting.len() + usize::from(sending.is_some()) >= most as usize,
            QueueLimit::Bytes(most) => bytes + u64::from(size) > most.get(),
            QueueLimit::Time(longest) => self.waiting.front().is_some_and(|w| now.since(w.since) > longest),
            QueueLimit::Unlimited => false,
        };
        if full {
            return false;
        }
        self.largest = self.largest.max(size);
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

    /// When the first packet can leave; [`Instant::MAX`] where none waits.
    pub(crate) fn turn(&self) -> Instant {
        if self.waiting.is_empty() { Instant::MAX } else { self.turn }
    }

    pub(crate) fn set_turn(&mut self, turn: Instant) {
        self.turn = turn;
    }

    /// The packet that is sent from `now` on, after those that CoDel dropped before it.
    pub(crate) fn take(&mut self, now: Instant, taken: &mut Taken) -> Option<(u32, T)> {
        let Some((mut packet, mut bad)) = self.head(now) else {
            self.control.dropping = false;
            return None;
        };
        if self.control.dropping {
            self.control.dropping = bad;
            while self.control.dropping && now >= self.control.next {
                self.control.count = self.control.count.saturating_add(1);
                let marked = self.mark(&mut packet.1);
                if marked {
                    taken.marked = true;
                    self.control.next = self.law(self.control.next);
                    break;
                }
                taken.dropped += 1;
                let Some(next) = self.head(now) else {
                    self.control.dropping = false;
                    return None;
                };
                (packet, bad) = next;
                self.control.dropping = bad;
                if bad {
                    self.control.next = self.law(self.control.next);
                }
            }
        } else if bad {
            self.control.dropping = true;
            let marked = self.mark(&mut packet.1);
            taken.marked = marked;
            let next = if marked {
                Some(packet)
            } else {
                taken.dropped += 1;
                self.head(now).map(|(packet, _)| packet)
            };
            // Dropped not long ago: go on about where that left off.
            let since = self.control.count - self.control.count_before;
            let recent = now.since(self.control.next) < self.config.interval * 16;
            self.control.count = if since > 1 && recent { since } else { 1 };
            self.control.count_before = self.control.count;
            self.control.next = self.law(now);
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

    /// Takes the first packet off, and says whether packets have waited too long for an interval.
    fn head(&mut self, now: Instant) -> Option<((u32, T), bool)> {
        let Some(Waiting { since, size, item }) = self.waiting.pop_front() else {
            self.control.first_above = None;
            return None;
        };
        self.bytes -= u64::from(size);
        let short = now.since(since) < self.config.target || self.bytes <= u64::from(self.largest);
        let bad = if short {
            self.control.first_above = None;
            false
        } else {
            let at = *self.control.first_above.get_or_insert(now + self.config.interval);
            now >= at
        };
        Some(((size, item), bad))
    }

    /// The next drop comes sooner the more there have been: the throughput of a TCP goes with the
    /// inverse of the square root of its loss (RFC 8289, section 3.3).
    fn law(&self, from: Instant) -> Instant {
        let nanos = self.config.interval.as_nanos() as f64 / libm::sqrt(f64::from(self.control.count.max(1)));
        from + Duration::from_nanos(nanos as u64)
    }
}

/// The state of RFC 8289, section 5.3.
#[derive(Debug, Clone, Copy, Default)]
struct Control {
    /// When packets will have waited too long for an interval, if they go on so.
    first_above: Option<Instant>,
    next: Instant,
    count: u32,
    /// What `count` was when it last began to drop.
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

    /// Feeds a packet of 1500 bytes every `gap` from zero on, and gives for each that arrives when it
    /// was pushed and when it arrived.
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
    fn a_link_that_keeps_up_drops_nothing_and_delays_nothing() {
        // 1 ms a packet.
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
    fn a_short_burst_passes_and_a_standing_queue_is_drained_at_ever_shorter_intervals() {
        // 30 packets at once wait up to 30 ms, for less than an interval.
        let mut link = Link::new(&config(12), Seed::new(1));
        for _ in 0..30 {
            link.push(ms(0), 1500, ms(0));
        }
        assert_eq!(feed(&mut link, Duration::from_secs(1), ms(1)).len(), 31);
        assert_eq!(link.stats().dropped_early, 0);

        // 10 % too much for ever.
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
        // The wait grows by a tenth of a packet's time each: 5 ms after 55 ms, an interval more makes 155.
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
    fn what_can_be_marked_is_marked_and_not_dropped() {
        let codel = Some(Codel { ecn: true, ..Codel::default() });
        let config = LinkConfig { codel, ..config(12) };
        let gap = Duration::from_nanos(909_091);
        let mut marked = 0;
        let mut link = Link::with_marking(&config, Seed::new(1), |_| true);
        let arrived = feed(&mut link, gap, Instant::from_secs(1));
        marked += link.stats().marked;
        assert!(marked > 10 && link.stats().dropped_early == 0, "{:?}", link.stats());
        assert_eq!(arrived.len() as u64, link.stats().pushed - link.stats().dropped_full);
        // Without the option, or with packets that cannot, they are dropped.
        let mut deaf = Link::with_marking(&config, Seed::new(1), |_| false);
        feed(&mut deaf, gap, Instant::from_secs(1));
        assert!(deaf.stats().marked == 0 && deaf.stats().dropped_early > 10);
    }

    #[test]
    fn the_time_of_a_dropped_packet_is_used_by_the_next() {
        let mut link = Link::new(&config(12), Seed::new(1));
        let arrived = feed(&mut link, Duration::from_nanos(700_000), Instant::from_secs(2));
        assert!(link.stats().dropped_early > 10);
        // Busy from the beginning to the end: a packet each millisecond.
        assert!(arrived.iter().enumerate().all(|(i, &(_, at))| at == ms(i as u64 + 1)));
    }

    #[test]
    fn on_a_trace_the_wait_for_an_opportunity_counts() {
        // An opportunity each 20 ms: each packet waits longer than the target, but for the last in the
        // queue, behind which there is nothing.
        let trace = Trace::from_opportunities(vec![20]).unwrap();
        let config = LinkConfig { rate: Rate::Trace(Arc::new(trace)), ..config(1) };
        let mut alone = Link::new(&config, Seed::new(1));
        assert_eq!(feed(&mut alone, Duration::from_millis(20), Instant::from_secs(2)).len(), 100);
        let mut link = Link::new(&config, Seed::new(1));
        let arrived = feed(&mut link, Duration::from_millis(15), Instant::from_secs(2));
        assert!(link.stats().dropped_early > 5 && arrived.iter().all(|(_, at)| at.as_millis() % 20 == 0));
    }

    #[test]
    fn impairments_happen_as_often_as_they_are_told_to() {
        let p = |p| Probability::new(p).unwrap();
        let reorder = Some(Reorder { probability: p(0.1), extra_delay: Duration::from_millis(5) });
        let impairments = Impairments { corrupt: p(0.2), duplicate: p(0.3), reorder };
        let config = LinkConfig { codel: None, impairments, ..config(12) };
        let mut link = Link::new(&config, Seed::new(1));
        let arrived = feed(&mut link, Duration::from_millis(2), Instant::from_secs(200));
        let stats = link.stats();
        let near = |count: u64, expected: f64| (count as f64 / expected - 1.0).abs() < 0.03;
        assert!(near(stats.corrupted, 20_000.0), "{stats:?}");
        // What is damaged is not doubled.
        assert!(near(stats.duplicated, 80_000.0 * 0.3), "{stats:?}");
        let late =
            arrived.iter().filter(|(pushed, at)| at.since(*pushed) == Duration::from_millis(6)).count();
        assert!(near(late as u64, stats.delivered as f64 * 0.1), "{late} of {stats:?}");
        assert!(arrived.is_sorted_by_key(|(_, at)| *at) && !arrived.is_sorted());
    }
}
