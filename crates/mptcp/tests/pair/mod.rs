//! Two endpoints and a lossy network between them, in virtual time.
#![allow(dead_code, missing_docs, unreachable_pub)]

mod invariants;
pub mod lies;
mod middleboxes;

pub use lies::Liar;
pub use middleboxes::Chain;

use invariants::History;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use tandem_mptcp::{Config, Endpoint, Event, PathId};
use units::{Duration, Instant, Probability, Rng, Seed};
use wire::{Ecn, Payload, Segment, Span};

/// Behaviour of one path, in both directions.
#[derive(Debug, Clone)]
pub struct PathModel {
    pub delay: Duration,
    pub jitter: Duration,
    pub loss: Probability,
    pub duplicate: Probability,
    /// Probability of a CE mark on an ECN-capable packet.
    pub mark: Probability,
    /// Intervals in which every packet is lost.
    pub outages: Vec<(Instant, Instant)>,
}

impl PathModel {
    pub fn clean(delay_ms: u64) -> Self {
        Self {
            delay: Duration::from_millis(delay_ms),
            jitter: Duration::ZERO,
            loss: Probability::NEVER,
            duplicate: Probability::NEVER,
            mark: Probability::NEVER,
            outages: Vec::new(),
        }
    }
    pub fn lossy(delay_ms: u64, loss: f64) -> Self {
        Self { loss: Probability::new(loss).expect("a loss from 0 to 1"), ..Self::clean(delay_ms) }
    }
}

pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// A packet in the trace: when it was sent, by which end, over which path.
#[derive(Debug, Clone)]
pub struct Seen {
    pub at: Instant,
    pub from: usize,
    pub path: PathId,
    pub segment: Segment<Span>,
    pub lost: bool,
}

pub type Tamper = Box<dyn FnMut(usize, PathId, &mut Segment<Span>) -> bool>;

pub struct Pair {
    pub now: Instant,
    pub ends: [Endpoint<Span>; 2],
    pub paths: Vec<PathModel>,
    pub events: [Vec<(Instant, Event)>; 2],
    /// Bytes that each end still writes, has written and has read.
    pub to_write: [u64; 2],
    pub written: [u64; 2],
    pub read: [u64; 2],
    /// Bytes read that differ from those written.
    pub read_corrupted: [u64; 2],
    /// Interval and size of the application's reads; `None` reads everything at once.
    pub read_pace: [Option<(Duration, usize)>; 2],
    next_read: [Instant; 2],
    pub close_when_done: [bool; 2],
    pub trace: Vec<Seen>,
    /// Called for each segment, which it may change; false drops the segment.
    pub tamper: Option<Tamper>,
    /// Middleboxes of each path.
    pub boxes: Vec<Chain>,
    pub liar: Option<Liar>,
    /// Segments sent, and the limit at which the run counts as endless.
    pub sent: u64,
    pub budget: u64,
    rng: Rng,
    in_flight: BTreeMap<(Instant, u64), (usize, PathId, Segment<Span>)>,
    serial: u64,
    keep_trace: bool,
    opened: Vec<bool>,
    pub auto_join: bool,
    history: [History; 2],
    /// The end sends tail loss probes.
    probes: [bool; 2],
    calls: u64,
}

/// Sets whether every segment and event is printed.
pub fn set_verbose(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
}

static VERBOSE: AtomicBool = AtomicBool::new(false);

impl Pair {
    pub fn new(seed: u64, config: Config, paths: Vec<PathModel>) -> Self {
        Self::with(seed, config.clone(), config, paths)
    }

    pub fn with(seed: u64, client: Config, server: Config, paths: Vec<PathModel>) -> Self {
        let seed = Seed::new(seed);
        let opened = vec![false; paths.len()];
        let probes = [client.rack, server.rack];
        let history = [History::new(&client), History::new(&server)];
        let boxes = vec![Chain::new(); paths.len()];
        Self {
            now: Instant::ZERO,
            ends: [
                Endpoint::client(client, seed.derive("client")),
                Endpoint::server(server, seed.derive("server")),
            ],
            paths,
            events: [Vec::new(), Vec::new()],
            to_write: [0; 2],
            written: [0; 2],
            read: [0; 2],
            read_corrupted: [0; 2],
            read_pace: [None; 2],
            next_read: [Instant::ZERO; 2],
            close_when_done: [false; 2],
            trace: Vec::new(),
            tamper: None,
            boxes,
            liar: None,
            sent: 0,
            budget: u64::MAX,
            rng: seed.rng("network"),
            in_flight: BTreeMap::new(),
            serial: 0,
            keep_trace: false,
            opened,
            auto_join: true,
            history,
            probes,
            calls: 0,
        }
    }

    pub fn keep_trace(mut self) -> Self {
        self.keep_trace = true;
        self
    }

    pub fn connect(&mut self) {
        self.opened[0] = true;
        assert!(self.ends[CLIENT].open(self.now, PathId(0), false));
        self.settle();
    }

    fn run_applications(&mut self) {
        for end in [CLIENT, SERVER] {
            let limit = match self.read_pace[end] {
                None => usize::MAX,
                Some((every, max)) if self.now >= self.next_read[end] => {
                    self.next_read[end] = self.now + every;
                    max
                }
                Some(_) => 0,
            };
            let mut left = limit;
            while left > 0 {
                let Some(span) = self.ends[end].read(left) else { break };
                assert!(
                    self.may_misplace_data(end) || span.offset == self.read[end],
                    "{span:?} read at offset {}",
                    self.read[end]
                );
                self.read[end] += span.len() as u64;
                self.read_corrupted[end] += if span.is_corrupted() { span.len() as u64 } else { 0 };
                left = left.saturating_sub(span.len());
            }
            while self.to_write[end] > 0 {
                let len = self.to_write[end].min(50_000) as u32;
                let taken = self.ends[end].write(&Span::new(self.written[end], len)) as u64;
                if taken == 0 {
                    break;
                }
                self.written[end] += taken;
                self.to_write[end] -= taken;
            }
            if self.to_write[end] == 0 && self.close_when_done[end] {
                self.ends[end].close();
            }
        }
    }

    /// Runs both ends until neither has anything to do at this time.
    pub fn settle(&mut self) {
        loop {
            self.run_applications();
            let mut quiet = true;
            for end in [CLIENT, SERVER] {
                while let Some(event) = self.ends[end].poll_event() {
                    self.log(|| format!("{} {event:?}", ["client", "server"][end]));
                    self.events[end].push((self.now, event));
                    quiet = false;
                }
                if end == CLIENT && self.auto_join {
                    for path in 1..self.paths.len() {
                        if !self.opened[path] && self.ends[end].open(self.now, PathId(path as u8), false) {
                            self.opened[path] = true;
                        }
                    }
                }
                while let Some((path, segment)) = self.ends[end].poll_transmit(self.now) {
                    quiet = false;
                    self.send(end, path, segment);
                }
            }
            self.calls += 1;
            self.check_ends();
            if quiet {
                return;
            }
        }
    }

    fn log(&self, text: impl FnOnce() -> String) {
        if VERBOSE.load(Ordering::Relaxed) {
            println!("{} {}", self.now, text());
        }
    }

    fn send(&mut self, from: usize, path: PathId, mut segment: Segment<Span>) {
        self.sent += 1;
        assert!(self.sent < self.budget, "the connection sends without end");
        self.check_sent(from, path, &segment);
        let model = self.paths[path.index()].clone();
        let out = model.outages.iter().any(|&(a, b)| a <= self.now && self.now < b);
        let mut lost = out || self.rng.chance(model.loss);
        if let Some(tamper) = &mut self.tamper {
            lost |= !tamper(from, path, &mut segment);
        }
        if self.keep_trace {
            self.trace.push(Seen { at: self.now, from, path, segment: segment.clone(), lost });
        }
        self.log(|| {
            let arrow = if from == CLIENT { "->" } else { "<-" };
            format!("{arrow} {} {segment:?}{}", path.0, if lost { " LOST" } else { "" })
        });
        if lost {
            return;
        }
        let times = match &mut self.liar {
            Some(liar) if liar.end == from => liar.falsify(&mut segment),
            _ => 1,
        };
        for _ in 0..times {
            self.enter_path(from, path, segment.clone());
        }
    }

    /// Propagates a segment that has passed all middleboxes.
    fn propagate(&mut self, to: usize, path: PathId, segment: &Segment<Span>) {
        let model = &self.paths[path.index()];
        let (delay, jitter) = (model.delay, model.jitter);
        let (duplicate, mark) = (model.duplicate, model.mark);
        let copies = if self.rng.chance(duplicate) { 2 } else { 1 };
        for _ in 0..copies {
            let extra = Duration::from_secs_f64(self.rng.unit() * jitter.as_secs_f64());
            self.serial += 1;
            let mut segment = segment.clone();
            if segment.ecn != Ecn::NotEct && self.rng.chance(mark) {
                segment.ecn = Ecn::Ce;
            }
            self.in_flight.insert((self.now + delay + extra, self.serial), (to, path, segment));
        }
    }

    fn next_time(&self) -> Option<Instant> {
        let packet = self.in_flight.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(Endpoint::poll_timeout);
        let reads = [CLIENT, SERVER].into_iter().filter_map(|end| {
            (self.read_pace[end].is_some() && self.ends[end].unread() > 0).then_some(self.next_read[end])
        });
        packet.into_iter().chain(self.next_release()).chain(timers).chain(reads).min()
    }

    /// Runs until `end`, or until no event is left.
    pub fn run_until(&mut self, end: Instant) {
        self.settle();
        let mut rounds = 0;
        while let Some(at) = self.next_time().filter(|&at| at <= end) {
            assert!(at >= self.now, "a timer in the past: {at} before {}", self.now);
            rounds = if at > self.now { 0 } else { rounds + 1 };
            assert!(rounds < 1000, "a timer that stays due");
            self.now = at;
            self.release_held();
            while let Some((&key, _)) = self.in_flight.iter().next().filter(|((t, _), _)| *t <= at) {
                let (to, path, segment) = self.in_flight.remove(&key).expect("the key was just found");
                self.note_arrival(to, path, &segment);
                self.ends[to].handle_segment(self.now, path, segment);
                self.settle();
            }
            for endpoint in &mut self.ends {
                endpoint.handle_timeout(at);
            }
            self.settle();
        }
        self.now = self.now.max(end);
    }

    pub fn saw(&self, end: usize, event: &Event) -> bool {
        self.events[end].iter().any(|(_, seen)| seen == event)
    }

    /// Payload bytes that `from` sent on `path` in `[start, end)`.
    pub fn carried(&self, from: usize, path: u8, start: Instant, end: Instant) -> u64 {
        let counts = |s: &&Seen| s.from == from && s.path == PathId(path) && start <= s.at && s.at < end;
        self.trace.iter().filter(counts).map(|s| s.segment.payload.len() as u64).sum()
    }
}
