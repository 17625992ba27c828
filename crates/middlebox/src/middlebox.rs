//! The box itself.

use crate::coalesce::Coalescer;
use crate::nat::{Nat, Verdict};
use crate::rewrite::rewrite;
use crate::split::split;
use crate::{Alter, Finding, Meddling, MiddleboxConfig, MiddleboxStats, On, Options};
use std::collections::VecDeque;
use units::{Instant, Rng, Seed};
use wire::{Flags, Payload, Segment};

/// A segment at a middlebox.
#[derive(Debug, Clone, PartialEq)]
pub struct Passing<P> {
    /// The device sent it; otherwise the server did, and it goes to the device.
    pub from_device: bool,
    /// Tells apart connections that may have the same ports: a number for each pair of addresses.
    pub flow: u32,
    /// The segment.
    pub segment: Segment<P>,
}

impl<P: Payload> Passing<P> {
    /// True if both belong to the same direction of the same connection.
    pub(crate) fn alike(&self, other: &Self) -> bool {
        let key = |p: &Self| (p.from_device, p.flow, p.segment.source, p.segment.destination);
        key(self) == key(other)
    }
}

/// A middlebox on a path.
#[derive(Debug, Clone)]
pub struct Middlebox<P> {
    config: MiddleboxConfig,
    rng: Rng,
    nat: Nat,
    held: Coalescer<P>,
    /// What leaves next, and since when it could.
    ready: VecDeque<Passing<P>>,
    ready_at: Instant,
    stats: MiddleboxStats,
}

impl<P: Alter> Middlebox<P> {
    /// A box that has seen nothing yet.
    pub fn new(config: &MiddleboxConfig, seed: Seed) -> Self {
        Self {
            config: *config,
            rng: seed.rng("middlebox"),
            nat: Nat::new(),
            held: Coalescer::new(),
            ready: VecDeque::new(),
            ready_at: Instant::ZERO,
            stats: MiddleboxStats::default(),
        }
    }

    /// Takes a segment.
    pub fn push(&mut self, now: Instant, mut passing: Passing<P>) {
        self.stats.seen += 1;
        self.release(now);
        self.ready_at = now;
        if !self.config.acts(now, passing.from_device) {
            self.held.flush(&passing, |held| self.ready.push_back(held));
            self.ready.push_back(passing);
            return;
        }
        let segment = &mut passing.segment;
        match self.config.meddling {
            Meddling::StripOptions { options, on, finding, chance } => {
                let syn = segment.flags.has(Flags::SYN);
                let looked_at = match on {
                    On::Syn => syn,
                    On::NotSyn => !syn,
                    On::Data => !segment.payload.is_empty(),
                    On::All => true,
                };
                if looked_at && options.any(Options::of(segment)) && self.rng.chance(chance) {
                    if finding == Finding::Drop {
                        self.stats.dropped += 1;
                        return;
                    }
                    options.strip(segment);
                    self.stats.changed += 1;
                }
            }
            Meddling::RewriteSequence { up, down, sack } => {
                let (own, peer) = if passing.from_device { (up, down) } else { (down, up) };
                rewrite(segment, own, peer, sack);
                self.stats.changed += u64::from(own != 0 || peer != 0);
            }
            Meddling::Split { mss } => {
                let (from_device, flow) = (passing.from_device, passing.flow);
                let before = self.ready.len();
                split(passing.segment, mss, |segment| {
                    self.ready.push_back(Passing { from_device, flow, segment });
                });
                self.stats.added += (self.ready.len() - before) as u64 - 1;
                return;
            }
            Meddling::Coalesce { most, hold } => {
                let merged = self.held.push(now, (most, hold), passing, |p| self.ready.push_back(p));
                self.stats.merged += u64::from(merged);
                return;
            }
            Meddling::ForgetNat { idle, forgotten } => {
                let ports = (segment.source, segment.destination);
                match self.nat.handle(now, (idle, forgotten), passing) {
                    Verdict::Pass(passed) => {
                        let after = (passed.segment.source, passed.segment.destination);
                        self.stats.changed += u64::from(ports != after);
                        self.ready.push_back(passed);
                    }
                    Verdict::Drop => self.stats.dropped += 1,
                    Verdict::Answer(answer) => {
                        self.stats.dropped += 1;
                        self.stats.answered += 1;
                        self.ready.push_back(answer);
                    }
                }
                return;
            }
            Meddling::Corrupt { chance } => {
                if !segment.payload.is_empty()
                    && self.rng.chance(chance)
                    && let Some(payload) = segment.payload.altered(self.rng.bits())
                {
                    segment.payload = payload;
                    self.stats.changed += 1;
                }
            }
        }
        self.ready.push_back(passing);
    }

    /// The next segment that leaves at or before `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Passing<P>> {
        self.release(now);
        let passing = self.ready.pop_front()?;
        self.stats.passed += 1;
        Some(passing)
    }

    /// When a segment leaves, if none comes before.
    pub fn next(&self) -> Option<Instant> {
        if self.ready.is_empty() { self.held.next() } else { Some(self.ready_at) }
    }

    /// Segments that will leave yet.
    pub fn held(&self) -> usize {
        self.held.len() + self.ready.len()
    }

    /// What the box has done so far.
    pub fn stats(&self) -> MiddleboxStats {
        self.stats
    }

    /// What it was told.
    pub fn config(&self) -> &MiddleboxConfig {
        &self.config
    }

    fn release(&mut self, now: Instant) {
        if self.held.len() > 0 {
            let (ready, ready_at) = (&mut self.ready, &mut self.ready_at);
            self.held.release(now, |passing| {
                *ready_at = now;
                ready.push_back(passing);
            });
        }
    }
}
