//! A middlebox of any kind: queue, counters and dispatch to the kind's module.

use crate::coalesce::Coalescer;
use crate::config::{ExpiryAction, MiddleboxConfig, MiddleboxKind, OptionAction};
use crate::corrupt::corrupt;
use crate::nat::{Nat, Verdict};
use crate::payload::EditablePayload;
use crate::rewrite_sequence::rewrite_sequence;
use crate::split::split;
use crate::stats::MiddleboxStats;
use crate::strip_options;
use crate::transit::TransitSegment;
use std::collections::VecDeque;
use units::{Duration, Instant, Rng, Seed};

/// A middlebox on a path.
#[derive(Debug, Clone)]
pub struct Middlebox<P> {
    config: MiddleboxConfig,
    rng: Rng,
    nat: Nat,
    coalescer: Coalescer<P>,
    /// Segments that can leave, and the time since which they can.
    ready: VecDeque<TransitSegment<P>>,
    ready_at: Instant,
    stats: MiddleboxStats,
}

impl<P: EditablePayload> Middlebox<P> {
    /// A middlebox in its initial state.
    pub fn new(config: &MiddleboxConfig, seed: Seed) -> Self {
        Self {
            config: *config,
            rng: seed.rng("middlebox"),
            nat: Nat::new(),
            coalescer: Coalescer::new(),
            ready: VecDeque::new(),
            ready_at: Instant::ZERO,
            stats: MiddleboxStats::default(),
        }
    }

    /// Accepts a segment.
    pub fn push(&mut self, now: Instant, mut transit: TransitSegment<P>) {
        self.stats.seen += 1;
        self.release(now);
        self.ready_at = now;
        if !self.config.is_active(now, transit.from_device) {
            self.coalescer.flush(&transit, |held| self.ready.push_back(held));
            self.ready.push_back(transit);
            return;
        }
        let segment = &mut transit.segment;
        match self.config.kind {
            MiddleboxKind::StripOptions { options, filter, action, chance } => {
                if strip_options::matches(segment, options, filter) && self.rng.chance(chance) {
                    if action == OptionAction::Drop {
                        self.stats.dropped += 1;
                        return;
                    }
                    options.strip(segment);
                    self.stats.changed += 1;
                }
            }
            MiddleboxKind::RewriteSequence { up, down, sack } => {
                let (own, peer) = if transit.from_device { (up, down) } else { (down, up) };
                rewrite_sequence(segment, own, peer, sack);
                self.stats.changed += u64::from(own != 0 || peer != 0);
            }
            MiddleboxKind::Split { mss } => return self.split(transit, mss),
            MiddleboxKind::Coalesce { max_bytes, hold } => {
                let merged =
                    self.coalescer.push(now, (max_bytes, hold), transit, |s| self.ready.push_back(s));
                self.stats.merged += u64::from(merged);
                return;
            }
            MiddleboxKind::Nat { idle, on_expiry } => return self.translate(now, idle, on_expiry, transit),
            MiddleboxKind::Corrupt { chance } => {
                self.stats.changed += u64::from(corrupt(segment, chance, &mut self.rng));
            }
        }
        self.ready.push_back(transit);
    }

    /// Returns the next segment that leaves at or before `now`.
    pub fn poll(&mut self, now: Instant) -> Option<TransitSegment<P>> {
        self.release(now);
        let transit = self.ready.pop_front()?;
        self.stats.passed += 1;
        Some(transit)
    }

    /// Time at which to call [`poll`](Self::poll) next, if no segment arrives before.
    pub fn next(&self) -> Option<Instant> {
        if self.ready.is_empty() { self.coalescer.next() } else { Some(self.ready_at) }
    }

    /// Number of segments that have not left yet.
    pub fn held(&self) -> usize {
        self.coalescer.len() + self.ready.len()
    }

    /// Counters.
    pub fn stats(&self) -> MiddleboxStats {
        self.stats
    }

    /// Configuration.
    pub fn config(&self) -> &MiddleboxConfig {
        &self.config
    }

    fn split(&mut self, transit: TransitSegment<P>, mss: u16) {
        let (from_device, flow) = (transit.from_device, transit.flow);
        let before = self.ready.len();
        split(transit.segment, mss, |segment| {
            self.ready.push_back(TransitSegment { from_device, flow, segment });
        });
        self.stats.added += (self.ready.len() - before) as u64 - 1;
    }

    fn translate(
        &mut self,
        now: Instant,
        idle: Duration,
        on_expiry: ExpiryAction,
        transit: TransitSegment<P>,
    ) {
        let ports = (transit.segment.source, transit.segment.destination);
        match self.nat.translate(now, (idle, on_expiry), transit) {
            Verdict::Pass(passed) => {
                let translated = (passed.segment.source, passed.segment.destination);
                self.stats.changed += u64::from(ports != translated);
                self.ready.push_back(passed);
            }
            Verdict::Drop => self.stats.dropped += 1,
            Verdict::Reply(reply) => {
                self.stats.dropped += 1;
                self.stats.answered += 1;
                self.ready.push_back(reply);
            }
        }
    }

    /// Moves segments with an expired hold time to the ready queue.
    fn release(&mut self, now: Instant) {
        if self.coalescer.len() > 0 {
            let (ready, ready_at) = (&mut self.ready, &mut self.ready_at);
            self.coalescer.release(now, |transit| {
                *ready_at = now;
                ready.push_back(transit);
            });
        }
    }
}
