//! Segments merged into larger ones.

use crate::{Alter, Passing};
use units::{Duration, Instant};
use wire::Flags;

/// What is held back in the hope of more: one segment for each direction of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Coalescer<P> {
    held: Vec<Held<P>>,
}

#[derive(Debug, Clone)]
struct Held<P> {
    until: Instant,
    passing: Passing<P>,
}

impl<P: Alter> Coalescer<P> {
    pub(crate) fn new() -> Self {
        Self { held: Vec::new() }
    }

    /// Takes a segment, and gives to `out` what leaves at once. True if it became part of another.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        (most, hold): (u32, Duration),
        passing: Passing<P>,
        mut out: impl FnMut(Passing<P>),
    ) -> bool {
        let place = self.held.iter().position(|held| held.passing.alike(&passing));
        if let Some(i) = place
            && let Some(both) = merge(&self.held[i].passing, &passing, most)
        {
            let full = both.len() >= most as usize || passing.segment.flags.has(Flags::FIN);
            let held = &mut self.held[i].passing.segment;
            held.payload = both;
            held.flags = held.flags.with(passing.segment.flags);
            held.ack = passing.segment.ack;
            held.window = passing.segment.window;
            if full {
                out(self.held.remove(i).passing);
            }
            return true;
        }
        // Whatever comes after a held segment leaves after it.
        if let Some(i) = place {
            out(self.held.remove(i).passing);
        }
        if mergeable(&passing) && passing.segment.payload.len() < most as usize && !hold.is_zero() {
            self.held.push(Held { until: now + hold, passing });
        } else {
            out(passing);
        }
        false
    }

    /// Gives to `out` what is held of this connection's direction.
    pub(crate) fn flush(&mut self, passing: &Passing<P>, mut out: impl FnMut(Passing<P>)) {
        if let Some(i) = self.held.iter().position(|held| held.passing.alike(passing)) {
            out(self.held.remove(i).passing);
        }
    }

    /// Gives to `out` what has been held long enough, the first held first.
    pub(crate) fn release(&mut self, now: Instant, mut out: impl FnMut(Passing<P>)) {
        while let Some(i) = self.held.iter().position(|held| held.until <= now) {
            out(self.held.remove(i).passing);
        }
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.until).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }
}

/// It carries payload and nothing but that begins or ends with it.
fn mergeable<P: Alter>(passing: &Passing<P>) -> bool {
    let flags = passing.segment.flags;
    let special = Flags::SYN.with(Flags::RST).with(Flags::FIN).bits();
    flags.bits() & special == 0 && !passing.segment.payload.is_empty()
}

/// The payload of both, where the second follows on the first.
fn merge<P: Alter>(first: &Passing<P>, second: &Passing<P>, most: u32) -> Option<P> {
    let (first, second) = (&first.segment, &second.segment);
    let special = Flags::SYN.with(Flags::RST).bits();
    let len = first.payload.len();
    let follows = second.seq == first.seq.wrapping_add(len as u32);
    let fits = len + second.payload.len() <= most as usize;
    (follows && fits && !second.payload.is_empty() && second.flags.bits() & special == 0)
        .then(|| first.payload.merged(&second.payload))?
}
