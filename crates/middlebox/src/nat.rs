//! Network address translator (NAT) with idle timeout: a home gateway or carrier-grade NAT.

use crate::config::ExpiryAction;
use crate::payload::EditablePayload;
use crate::transit::TransitSegment;
use std::collections::{BTreeMap, BTreeSet};
use units::{Duration, Instant};
use wire::{Flags, Segment};

/// First port given in place of an expired one; further ports count down from here (dynamic ports,
/// RFC 6335).
const LAST_PORT: u16 = 65_535;
/// Lowest port to be given: the system ports end at 1023.
const FIRST_PORT: u16 = 1024;

/// Maximum number of mappings; the oldest gives way to a new one.
const MAX_MAPPINGS: usize = 65_536;

#[derive(Debug, Clone)]
pub(crate) struct Nat {
    /// Mappings by number, in the order of their creation.
    mappings: BTreeMap<u64, Mapping>,
    /// Numbers by [`Mapping::outgoing`].
    outgoing: BTreeMap<(u32, u16, u16), u64>,
    /// Values of [`Mapping::incoming`]: several mappings may have one external port.
    incoming: BTreeSet<(u32, u16, u16, u64)>,
    next_number: u64,
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

impl Mapping {
    fn is_live(&self, now: Instant, idle: Duration) -> bool {
        now.since(self.last_used) <= idle
    }

    /// Flow and ports of a segment of the device.
    fn outgoing(&self) -> (u32, u16, u16) {
        (self.flow, self.device_port, self.server_port)
    }

    /// Flow and ports of a segment of the server, and the number of the mapping.
    fn incoming(&self, number: u64) -> (u32, u16, u16, u64) {
        (self.flow, self.server_port, self.external_port, number)
    }
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
        Self {
            mappings: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            incoming: BTreeSet::new(),
            next_number: 0,
            next_port: LAST_PORT,
        }
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
        let (flow, server, external) = (transit.flow, segment.source, segment.destination);
        let mut numbers =
            self.incoming.range((flow, server, external, 0)..=(flow, server, external, u64::MAX));
        let live = numbers.find(|entry| self.mappings.get(&entry.3).is_some_and(|m| m.is_live(now, idle)));
        let Some(mapping) = live.and_then(|entry| self.mappings.get_mut(&entry.3)) else {
            return Verdict::Drop;
        };
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
        let number = self.outgoing.get(&(flow, device_port, server_port)).copied();
        let known = number.and_then(|number| self.mappings.get(&number));
        let is_live = known.is_some_and(|mapping| mapping.is_live(now, idle));
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
        let number = if let Some(number) = number {
            if !is_live && on_expiry == ExpiryAction::NewPort {
                self.change_port(number);
            }
            number
        } else {
            self.make_room(now, idle, on_expiry);
            self.add(Mapping { flow, device_port, server_port, external_port: device_port, last_used: now })
        };
        let Some(mapping) = self.mappings.get_mut(&number) else { return Verdict::Drop };
        mapping.last_used = now;
        segment.source = mapping.external_port;
        Verdict::Pass(transit)
    }

    fn add(&mut self, mapping: Mapping) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.outgoing.insert(mapping.outgoing(), number);
        self.incoming.insert(mapping.incoming(number));
        self.mappings.insert(number, mapping);
        number
    }

    fn change_port(&mut self, number: u64) {
        let port = self.take_port();
        if let Some(mapping) = self.mappings.get_mut(&number) {
            self.incoming.remove(&mapping.incoming(number));
            mapping.external_port = port;
            self.incoming.insert(mapping.incoming(number));
        }
    }

    /// Removes expired mappings up to the first live one, and at [`MAX_MAPPINGS`] also the oldest. With
    /// [`ExpiryAction::NewPort`] expired ones stay: their next segment gets a new port.
    fn make_room(&mut self, now: Instant, idle: Duration, on_expiry: ExpiryAction) {
        while let Some(oldest) = self.mappings.first_entry() {
            let (number, mapping) = (*oldest.key(), *oldest.get());
            let has_no_effect = on_expiry != ExpiryAction::NewPort && !mapping.is_live(now, idle);
            if !has_no_effect && self.mappings.len() < MAX_MAPPINGS {
                break;
            }
            self.mappings.remove(&number);
            self.outgoing.remove(&mapping.outgoing());
            self.incoming.remove(&mapping.incoming(number));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Span;

    /// Source port with which the server sees a segment of the device; `None` if it is not passed.
    fn external_port(
        nat: &mut Nat,
        now: Instant,
        action: ExpiryAction,
        flow: u32,
        flags: Flags,
    ) -> Option<u16> {
        let segment: Segment<Span> = Segment::new((5000, 80), 1, 1, flags, 10);
        let transit = TransitSegment { from_device: true, flow, segment };
        match nat.translate(now, (Duration::from_secs(60), action), transit) {
            Verdict::Pass(passed) => Some(passed.segment.source),
            _ => None,
        }
    }

    #[test]
    fn expired_mappings_are_removed_where_they_have_no_effect() {
        for action in [ExpiryAction::Drop, ExpiryAction::Reset, ExpiryAction::Renew, ExpiryAction::NewPort] {
            let mut nat = Nat::new();
            for flow in 0..10_000 {
                let now = Instant::from_secs(u64::from(flow));
                assert_eq!(external_port(&mut nat, now, action, flow, Flags::SYN), Some(5000));
            }
            let is_kept = action == ExpiryAction::NewPort;
            assert_eq!(nat.mappings.len() > 100, is_kept, "{action:?}");
            assert_eq!((nat.outgoing.len(), nat.incoming.len()), (nat.mappings.len(), nat.mappings.len()));
            let again = external_port(&mut nat, Instant::from_secs(10_000), action, 0, Flags::SYN);
            assert_eq!(again, Some(if is_kept { LAST_PORT } else { 5000 }));
        }
    }

    #[test]
    fn oldest_mapping_gives_way_to_a_new_one() {
        let (mut nat, action) = (Nat::new(), ExpiryAction::Drop);
        for flow in 0..=MAX_MAPPINGS as u32 {
            external_port(&mut nat, Instant::ZERO, action, flow, Flags::SYN);
        }
        let sizes = [nat.mappings.len(), nat.outgoing.len(), nat.incoming.len()];
        assert_eq!(sizes, [MAX_MAPPINGS; 3]);
        assert_eq!(external_port(&mut nat, Instant::ZERO, action, 0, Flags::ACK), None);
        assert_eq!(external_port(&mut nat, Instant::ZERO, action, 1, Flags::ACK), Some(5000));
    }
}
