//! Comparison of event queues on the simulator's access pattern: the 4-ary heap in use, a timing
//! wheel and a calendar queue.
//!
//! All three have one slot per source, are first in, first out at equal times, and do not allocate
//! after construction. The pattern is links with an event every few microseconds, and timers that
//! are postponed far more often than they fire. `set_no_later` leaves a postponed timer in place.

mod calendar;
mod wheel;

use calendar::Calendar;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use tandem_sim::{EventQueue, Slot};
use units::{Duration, Instant, Rng, Seed};
use wheel::Wheel;

/// Operations of the simulator on a queue.
pub(crate) trait Queue {
    fn with_sources(sources: usize) -> Self;
    fn set(&mut self, source: usize, at: Option<Instant>);
    fn pop(&mut self) -> Option<(Instant, usize)>;
    fn set_no_later(&mut self, source: usize, at: Option<Instant>);
}

struct Heap {
    queue: EventQueue<usize>,
    slots: Vec<Slot>,
}

impl Queue for Heap {
    fn with_sources(sources: usize) -> Self {
        let mut queue = EventQueue::new();
        let slots = (0..sources).map(|source| queue.add(source)).collect();
        Self { queue, slots }
    }
    fn set(&mut self, source: usize, at: Option<Instant>) {
        self.queue.set(self.slots[source], at);
    }
    fn pop(&mut self) -> Option<(Instant, usize)> {
        self.queue.pop()
    }
    fn set_no_later(&mut self, source: usize, at: Option<Instant>) {
        self.queue.set_no_later(self.slots[source], at.unwrap_or(Instant::MAX));
    }
}

/// Links take the first numbers, timers the rest.
const LINKS: usize = 4;
const EVENTS: u64 = 200_000;

fn drive<Q: Queue>(timers: usize, postpone_in_place: bool) -> u64 {
    let mut rng: Rng = Seed::new(1).rng("queues");
    let mut queue = Q::with_sources(LINKS + timers);
    for link in 0..LINKS {
        queue.set(link, Some(Instant::from_nanos(rng.below(20_000))));
    }
    let rto = |rng: &mut Rng| Duration::from_nanos(200_000_000 + rng.below(100_000_000));
    for timer in 0..timers {
        let at = Instant::ZERO + rto(&mut rng);
        queue.set(LINKS + timer, Some(at));
    }
    let mut sum = 0;
    for _ in 0..EVENTS {
        let Some((now, source)) = queue.pop() else { break };
        sum ^= now.as_nanos() ^ source as u64;
        if source >= LINKS {
            let at = now + rto(&mut rng);
            queue.set(source, Some(at));
            continue;
        }
        // A packet arrives: a timer is postponed, and the link has another packet.
        let timer = LINKS + rng.below(timers as u64) as usize;
        let at = now + rto(&mut rng);
        if postpone_in_place {
            queue.set_no_later(timer, Some(at));
        } else {
            queue.set(timer, Some(at));
        }
        let next = now + Duration::from_nanos(1_000 + rng.below(20_000));
        queue.set(source, Some(next));
    }
    sum
}

fn queues(criterion: &mut Criterion) {
    for timers in [10, 1_000, 20_000] {
        assert_eq!(drive::<Heap>(timers, false), drive::<Wheel>(timers, false));
        assert_eq!(drive::<Heap>(timers, false), drive::<Calendar>(timers, false));
        for (name, in_place) in [("moved", false), ("left", true)] {
            let mut group = criterion.benchmark_group(format!("queues/{timers}-timers-{name}"));
            group.sample_size(10).throughput(Throughput::Elements(EVENTS));
            group.bench_function(BenchmarkId::from_parameter("heap"), |bench| {
                bench.iter(|| black_box(drive::<Heap>(timers, in_place)));
            });
            group.bench_function(BenchmarkId::from_parameter("wheel"), |bench| {
                bench.iter(|| black_box(drive::<Wheel>(timers, in_place)));
            });
            group.bench_function(BenchmarkId::from_parameter("calendar"), |bench| {
                bench.iter(|| black_box(drive::<Calendar>(timers, in_place)));
            });
            group.finish();
        }
    }
}

criterion_group!(benches, queues);
criterion_main!(benches);
