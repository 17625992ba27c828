//! Network address translator (NAT) with idle timeout: a home gateway or carrier-grade NAT.

use crate::config::ExpiryAction;
use crate::payload::EditablePayload;
use crate::transit::TransitSegment;
use units::{Duration, Instant};
use wire::{Flags, Segment};

/// First port given in place of an expired one; further ports count down from here (dynamic ports,
/// RFC 6335).
const LAST_PORT: u16 = 65_535;
/// Lowest port to be given: the system ports end at 1023.
const FIRST_PORT: u16 = 1024;

#[derive(Debug, Clone)]
pub(crate) struct Nat {
    mappings: Vec<Mapping>,
    next_port: u16,
}

#[derive(Debug, Clone, Copy)]
struct Mapping {
    flow: u32,
    device_port: u16,
    server_port: u16,
    /// The device's port as the server sees it.
    external_port: u16,
    last_used: Instant,
}

/// Result for a segment.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict<P> {
    Pass(TransitSegment<P>),
    Drop,
    /// The segment is dropped, and this reply is sent back.
    Reply(TransitSegment<P>),
}

impl Nat {
    pub(crate) fn new() -> Self {
        Self { mappings: Vec::new(), next_port: LAST_PORT }
    }

    /// Translates a segment. Mappings expire after `idle` without traffic.
    pub(crate) fn translate<P: EditablePayload>(
        &mut self,
        now: Instant,
        (idle, on_expiry): (Duration, ExpiryAction),
        transit: TransitSegment<P>,
    ) -> Verdict<P> {
        if transit.from_device {
            self.translate_up(now, idle, on_expiry, transit)
        } else {
            self.translate_down(now, idle, transit)
        }
    }

    fn translate_down<P: EditablePayload>(
        &mut self,
        now: Instant,
        idle: Duration,
        mut transit: TransitSegment<P>,
    ) -> Verdict<P> {
        let segment = &mut transit.segment;
        let mapping = self.mappings.iter_mut().find(|m| {
            m.flow == transit.flow
                && m.server_port == segment.source
                && m.external_port == segment.destination
                && now.since(m.last_used) <= idle
        });
        let Some(mapping) = mapping else { return Verdict::Drop };
        mapping.last_used = now;
        segment.destination = mapping.device_port;
        Verdict::Pass(transit)
    }

    fn translate_up<P: EditablePayload>(
        &mut self,
        now: Instant,
        idle: Duration,
        on_expiry: ExpiryAction,
        mut transit: TransitSegment<P>,
    ) -> Verdict<P> {
        let flow = transit.flow;
        let segment = &mut transit.segment;
        let (device_port, server_port) = (segment.source, segment.destination);
        let index = self
            .mappings
            .iter()
            .position(|m| m.flow == flow && m.device_port == device_port && m.server_port == server_port);
        let is_live = index.is_some_and(|i| now.since(self.mappings[i].last_used) <= idle);
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if !is_live && !opens {
            match on_expiry {
                ExpiryAction::Renew | ExpiryAction::NewPort => {}
                ExpiryAction::Reset if !segment.flags.has(Flags::RST) => {
                    let segment = reset_reply(segment);
                    return Verdict::Reply(TransitSegment { from_device: false, flow, segment });
                }
                ExpiryAction::Reset | ExpiryAction::Drop => return Verdict::Drop,
            }
        }
        let i = index.unwrap_or_else(|| {
            let external_port = device_port;
            self.mappings.push(Mapping { flow, device_port, server_port, external_port, last_used: now });
            self.mappings.len() - 1
        });
        if !is_live && index.is_some() && on_expiry == ExpiryAction::NewPort {
            self.mappings[i].external_port = self.take_port();
        }
        let mapping = &mut self.mappings[i];
        mapping.last_used = now;
        segment.source = mapping.external_port;
        Verdict::Pass(transit)
    }

    fn take_port(&mut self) -> u16 {
        let port = self.next_port;
        self.next_port = if port <= FIRST_PORT { LAST_PORT } else { port - 1 };
        port
    }
}

/// The RST that answers a segment of a connection that does not exist (RFC 9293, section 3.5.2).
fn reset_reply<P: EditablePayload>(segment: &Segment<P>) -> Segment<P> {
    let (source, destination) = (segment.destination, segment.source);
    if segment.flags.has(Flags::ACK) {
        return Segment::new((source, destination), segment.ack, 0, Flags::RST, 0);
    }
    let syn_and_fin = u32::from(segment.flags.has(Flags::FIN)) + u32::from(segment.flags.has(Flags::SYN));
    let ack = segment.seq.wrapping_add(segment.payload.len() as u32 + syn_and_fin);
    Segment::new((source, destination), 0, ack, Flags::RST.with(Flags::ACK), 0)
}
