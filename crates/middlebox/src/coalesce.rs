//! Segment coalescing, as by receive offload (LRO, GRO) or by a TCP proxy.

use crate::payload::EditablePayload;
use crate::transit::TransitSegment;
use units::{Duration, Instant};
use wire::{Ecn, Flags};

/// Segments held back for coalescing: at most one for each direction of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Coalescer<P> {
    held: Vec<Held<P>>,
}

#[derive(Debug, Clone)]
struct Held<P> {
    until: Instant,
    transit: TransitSegment<P>,
}

impl<P: EditablePayload> Coalescer<P> {
    pub(crate) fn new() -> Self {
        Self { held: Vec::new() }
    }

    /// Accepts a segment and passes the segments that leave at once to `out`. A merged segment has
    /// at most `max_bytes` of payload and the options of its first segment. It leaves at most
    /// `hold` after the first one arrived. Returns true if the segment was merged into a held one.
    pub(crate) fn push(
        &mut self,
        now: Instant,
        (max_bytes, hold): (u32, Duration),
        transit: TransitSegment<P>,
        mut out: impl FnMut(TransitSegment<P>),
    ) -> bool {
        let index = self.held.iter().position(|held| held.transit.same_stream(&transit));
        if let Some(i) = index
            && let Some(payload) = merge_payloads(&self.held[i].transit, &transit, max_bytes)
        {
            let is_complete = payload.len() >= max_bytes as usize || transit.segment.flags.has(Flags::FIN);
            let held = &mut self.held[i].transit.segment;
            held.payload = payload;
            held.flags = held.flags.with(transit.segment.flags);
            held.ack = transit.segment.ack;
            held.window = transit.segment.window;
            if transit.segment.ecn == Ecn::Ce {
                // As for fragments that are put together (RFC 3168, section 5.3).
                held.ecn = Ecn::Ce;
            }
            if is_complete {
                out(self.held.remove(i).transit);
            }
            return true;
        }
        // The held segment leaves before the new one, to keep the order of the stream.
        if let Some(i) = index {
            out(self.held.remove(i).transit);
        }
        let has_room = transit.segment.payload.len() < max_bytes as usize;
        if can_be_held(&transit) && has_room && !hold.is_zero() {
            self.held.push(Held { until: now + hold, transit });
        } else {
            out(transit);
        }
        false
    }

    /// Passes the held segment of the same direction and connection to `out`.
    pub(crate) fn flush(&mut self, transit: &TransitSegment<P>, mut out: impl FnMut(TransitSegment<P>)) {
        if let Some(i) = self.held.iter().position(|held| held.transit.same_stream(transit)) {
            out(self.held.remove(i).transit);
        }
    }

    /// Passes the segments with an expired hold time to `out`, oldest first.
    pub(crate) fn release(&mut self, now: Instant, mut out: impl FnMut(TransitSegment<P>)) {
        while let Some(i) = self.held.iter().position(|held| held.until <= now) {
            out(self.held.remove(i).transit);
        }
    }

    /// Earliest time at which a held segment leaves.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.held.iter().map(|held| held.until).min()
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }
}

/// True if a segment has payload and neither starts nor ends the connection.
fn can_be_held<P: EditablePayload>(transit: &TransitSegment<P>) -> bool {
    let flags = transit.segment.flags;
    let excluded = Flags::SYN.with(Flags::RST).with(Flags::FIN).bits();
    flags.bits() & excluded == 0 && !transit.segment.payload.is_empty()
}

/// Returns the joined payload; `None` if the second segment does not continue the first, exceeds
/// `max_bytes` together with it, has no payload, or has SYN or RST.
fn merge_payloads<P: EditablePayload>(
    first: &TransitSegment<P>,
    second: &TransitSegment<P>,
    max_bytes: u32,
) -> Option<P> {
    let (first, second) = (&first.segment, &second.segment);
    let excluded = Flags::SYN.with(Flags::RST).bits();
    let len = first.payload.len();
    let continues = second.seq == first.seq.wrapping_add(len as u32);
    let fits = len + second.payload.len() <= max_bytes as usize;
    (continues && fits && !second.payload.is_empty() && second.flags.bits() & excluded == 0)
        .then(|| first.payload.merged(&second.payload))?
}
