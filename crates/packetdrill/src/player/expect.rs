//! Packets that the endpoint must send: which one is taken for a step, and when.

use super::flow::Sent;
use super::{Player, Stop, differs};
use crate::options::Options;
use crate::script::Packet;
use crate::verdict::Concession;
use core::net::IpAddr;
use units::Instant;
use wire::{Flags, MptcpSignal};

/// Consequences of a packet that fits.
#[derive(Debug, Default)]
pub(super) struct Match {
    pub(super) concessions: Vec<Concession>,
    pub(super) keys: Vec<(String, u64)>,
    pub(super) addresses: Vec<(String, IpAddr)>,
}

impl Player {
    /// Waits for the packet between two times, give or take the tolerance.
    pub(super) fn expect(&mut self, packet: &Packet, window: (Instant, Instant)) -> Result<(), Stop> {
        let options = Options::read(&packet.options).map_err(Stop::DoesNotApply)?;
        let mut window = window;
        let (on_time, repeats) = (window.1, self.last.as_ref() == Some(packet));
        if repeats && window.1 > self.previous {
            window.1 = window.1 + window.1.since(self.previous);
        }
        let latest = window.1 + self.tolerance;
        let mut reason = None;
        loop {
            while let Some(front) = self.sent.front() {
                let (candidate, count) = self.merged(front, packet.len);
                match self.compare(packet, &options, &candidate) {
                    Ok(found) => {
                        self.sent.drain(..count);
                        if count > 1 {
                            self.concessions.insert(Concession::SmallerSegments);
                        }
                        if candidate.at > on_time + self.tolerance {
                            self.concessions.insert(Concession::BackOff);
                        }
                        return self.take(packet, &options, &candidate, found, window);
                    }
                    Err(message) => {
                        let message = format!("{message} in {}", self.describe(&candidate));
                        let plain = is_plain_ack(&candidate) && !self.is_elsewhere(packet, &candidate);
                        if !plain && self.acknowledges(packet, &options, &candidate) {
                            self.concessions.insert(Concession::MergedAck);
                            return Ok(());
                        } else if is_plain_ack(&candidate) {
                            self.sent.pop_front();
                            self.concessions.insert(Concession::ExtraAck);
                            reason.get_or_insert(message);
                        } else if self.is_second_data_fin(packet, &options) {
                            return Ok(());
                        } else {
                            return differs(message);
                        }
                    }
                }
            }
            let Some(next) = self.next_timer().filter(|&next| next <= latest) else {
                if self.is_second_data_fin(packet, &options) {
                    return Ok(());
                }
                let none = || format!("no packet until {:.3} s", latest.as_secs_f64());
                return differs(reason.unwrap_or_else(none));
            };
            self.advance(next)?;
        }
    }

    /// Takes a packet that fits, if it came in time.
    fn take(
        &mut self,
        packet: &Packet,
        options: &Options,
        sent: &Sent,
        found: Match,
        (earliest, latest): (Instant, Instant),
    ) -> Result<(), Stop> {
        let early = sent.at + self.tolerance < earliest;
        if early || sent.at > latest + self.tolerance {
            let (at, from, to) = (sent.at.as_secs_f64(), earliest.as_secs_f64(), latest.as_secs_f64());
            return differs(format!("sent at {at:.3} s, expected from {from:.3} to {to:.3} s"));
        }
        self.concessions.extend(found.concessions);
        self.keys.extend(found.keys);
        self.addresses.extend(found.addresses);
        self.last = Some(packet.clone());
        if options.dss.is_some_and(|dss| dss.fin) {
            self.data_fin.clone_from(&self.last);
        }
        self.current = Some((sent.connection, sent.flow));
        self.previous = self.previous.max(sent.at);
        let flow = &mut self.connections[sent.connection].flows[sent.flow];
        if let (Some((clock, _)), Some(own)) = (options.timestamps, sent.segment.timestamps) {
            flow.clocks.insert(clock, own.value);
        }
        for (name, ip) in [(&packet.ends.0, flow.local), (&packet.ends.1, flow.remote)] {
            if let Some(name) = name {
                self.addresses.insert(name.clone(), ip);
            }
        }
        Ok(())
    }

    /// The script expects the DATA_FIN once more: with a new acknowledgement, or on another subflow.
    fn is_second_data_fin(&mut self, packet: &Packet, options: &Options) -> bool {
        let fin = packet.len == 0 && options.dss.is_some_and(|dss| dss.fin);
        let second = fin && self.data_fin.as_ref().is_some_and(|first| first != packet);
        if second {
            self.concessions.insert(Concession::DataFinOnce);
        }
        second
    }

    /// The first segment, or as many contiguous ones as have `len` bytes, and their number.
    fn merged(&self, front: &Sent, len: u32) -> (Sent, usize) {
        let mut all = front.clone();
        for (count, next) in self.sent.iter().enumerate().skip(1) {
            let (have, segment) = (all.segment.payload.len, &next.segment);
            let contiguous = (next.connection, next.flow) == (all.connection, all.flow)
                && segment.seq == all.segment.seq.wrapping_add(have)
                && have > 0
                && segment.payload.len > 0
                && segment.signal.is_none();
            if have >= len || !contiguous {
                break;
            }
            if let (Some(map), Some(more)) = (mapping(&mut all), segment.dss.and_then(|dss| dss.mapping)) {
                if map.dsn.wrapping_add(u64::from(map.len)) != more.dsn {
                    break;
                }
                map.len = map.len.saturating_add(more.len);
            }
            all.segment.payload.len += segment.payload.len;
            if all.segment.payload.len == len {
                return (all, count + 1);
            }
        }
        (front.clone(), 1)
    }

    /// The script expects the packet on another subflow.
    fn is_elsewhere(&self, packet: &Packet, sent: &Sent) -> bool {
        let flow = &self.connections[sent.connection].flows[sent.flow];
        [(&packet.ends.0, flow.local), (&packet.ends.1, flow.remote)].into_iter().any(|(name, ip)| {
            name.as_ref().and_then(|name| self.addresses.get(name)).is_some_and(|bound| *bound != ip)
        })
    }

    /// The script expects an acknowledgement, and this segment with more in it acknowledges the
    /// same.
    fn acknowledges(&self, packet: &Packet, options: &Options, sent: &Sent) -> bool {
        let plain = packet.flags == Flags::ACK && packet.len == 0 && options.signal.is_none();
        let Some(dss) = options.dss.filter(|dss| plain && dss.dsn.is_none()) else { return false };
        let (Some(ack), Some(expected)) = (packet.ack, dss.ack) else { return false };
        let connection = &self.connections[sent.connection];
        let (Some((_, remote)), Some(own)) = (connection.keys(), sent.segment.dss) else { return false };
        let flow = &connection.flows[sent.flow];
        let idsn = crate::crypto::initial_dsn(remote);
        let data_ack = own.data_ack.map(|ack| (ack as u32).wrapping_sub(idsn as u32));
        sent.segment.flags.has(Flags::ACK)
            && sent.segment.ack.wrapping_sub(flow.remote_isn) >= ack
            && data_ack.is_some_and(|data_ack| u64::from(data_ack) >= expected.number)
    }
}

fn mapping(sent: &mut Sent) -> Option<&mut wire::Mapping> {
    sent.segment.dss.as_mut().and_then(|dss| dss.mapping.as_mut())
}

/// An acknowledgement without data, mapping or news in MPTCP options.
fn is_plain_ack(sent: &Sent) -> bool {
    let segment = &sent.segment;
    let repeats_keys = matches!(
        segment.signal,
        None | Some(MptcpSignal::Capable { data: None, .. } | MptcpSignal::JoinAck { .. })
    );
    segment.flags == Flags::ACK
        && segment.payload.len == 0
        && repeats_keys
        && segment.dss.is_none_or(|dss| dss.mapping.is_none())
}
