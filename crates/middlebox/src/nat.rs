//! An address translator that forgets.

use crate::{Alter, Forgotten, Passing};
use units::{Duration, Instant};
use wire::{Flags, Segment};

/// The first port that is given in place of a forgotten one: the dynamic ports (RFC 6335) from the end.
const LAST_PORT: u16 = 65_535;

#[derive(Debug, Clone)]
pub(crate) struct Nat {
    mappings: Vec<Mapping>,
    next_port: u16,
}

#[derive(Debug, Clone, Copy)]
struct Mapping {
    flow: u32,
    device: u16,
    server: u16,
    /// What the server sees instead of `device`.
    external: u16,
    last: Instant,
}

/// What becomes of a segment.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict<P> {
    Pass(Passing<P>),
    Drop,
    /// Dropped, and this goes back.
    Answer(Passing<P>),
}

impl Nat {
    pub(crate) fn new() -> Self {
        Self { mappings: Vec::new(), next_port: LAST_PORT }
    }

    pub(crate) fn handle<P: Alter>(
        &mut self,
        now: Instant,
        (idle, forgotten): (Duration, Forgotten),
        mut passing: Passing<P>,
    ) -> Verdict<P> {
        let segment = &mut passing.segment;
        let flow = passing.flow;
        if !passing.from_device {
            let (server, external) = (segment.source, segment.destination);
            let known = self.mappings.iter_mut().find(|m| {
                m.flow == flow && m.server == server && m.external == external && now.since(m.last) <= idle
            });
            let Some(mapping) = known else { return Verdict::Drop };
            mapping.last = now;
            segment.destination = mapping.device;
            return Verdict::Pass(passing);
        }
        let (device, server) = (segment.source, segment.destination);
        let place =
            self.mappings.iter().position(|m| m.flow == flow && m.device == device && m.server == server);
        let alive = place.is_some_and(|i| now.since(self.mappings[i].last) <= idle);
        let starts = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if !alive && !starts {
            match forgotten {
                Forgotten::Renew | Forgotten::NewPort => {}
                Forgotten::Reset if !segment.flags.has(Flags::RST) => {
                    return Verdict::Answer(Passing { from_device: false, flow, segment: reset(segment) });
                }
                Forgotten::Reset | Forgotten::Drop => return Verdict::Drop,
            }
        }
        let i = place.unwrap_or_else(|| {
            self.mappings.push(Mapping { flow, device, server, external: device, last: now });
            self.mappings.len() - 1
        });
        if !alive && place.is_some() && forgotten == Forgotten::NewPort {
            self.mappings[i].external = self.next_port;
            // Ports below 1024 are nobody's to give.
            self.next_port = if self.next_port <= 1024 { LAST_PORT } else { self.next_port - 1 };
        }
        let mapping = &mut self.mappings[i];
        mapping.last = now;
        segment.source = mapping.external;
        Verdict::Pass(passing)
    }
}

/// What answers a segment of a connection that does not exist (RFC 9293, section 3.5.2).
fn reset<P: Alter>(segment: &Segment<P>) -> Segment<P> {
    let (source, destination) = (segment.destination, segment.source);
    if segment.flags.has(Flags::ACK) {
        return Segment::new(source, destination, segment.ack, 0, Flags::RST, 0);
    }
    let ends = u32::from(segment.flags.has(Flags::FIN)) + u32::from(segment.flags.has(Flags::SYN));
    let ack = segment.seq.wrapping_add(segment.payload.len() as u32 + ends);
    Segment::new(source, destination, 0, ack, Flags::RST.with(Flags::ACK), 0)
}
