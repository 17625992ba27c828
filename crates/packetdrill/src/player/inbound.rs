//! Packets of the peer: subflows are found or created, variables replaced.

use super::flow::{Connection, Flow};
use super::{Player, Stop, differs, does_not_apply};
use crate::crypto;
use crate::options::{DssOption, Key, Options, Signal};
use crate::script::Packet;
use crate::verdict::Concession;
use core::net::IpAddr;
use mptcp::{Endpoint, PathId};
use units::Seed;
use wire::{Dss, Flags, Mapping, MptcpSignal, Segment, Span, TimestampOption};

/// Seed of the endpoints.
pub(super) const SEED: u64 = 8684;

impl Player {
    pub(super) fn inject(&mut self, packet: &Packet) -> Result<(), Stop> {
        let options = Options::read(&packet.options).map_err(Stop::DoesNotApply)?;
        let opens = packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::ACK);
        let (index, number) =
            if opens { self.accept_flow(packet, &options)? } else { self.find_flow(packet)? };
        self.current = Some((index, number));
        let segment = self.segment((index, number), packet, &options)?;
        let now = self.now;
        let connection = &mut self.connections[index];
        connection.flows[number].peer_fin |= packet.flags.has(Flags::FIN);
        connection.end.handle_segment(now, PathId(number as u8), segment);
        self.drain()
    }

    /// Subflow of a SYN: the first of a connection, or a further one.
    fn accept_flow(&mut self, packet: &Packet, options: &Options) -> Result<(usize, usize), Stop> {
        let remote = self.address(packet.ends.0.as_deref(), true);
        let local = self.address(packet.ends.1.as_deref(), false);
        if let Some(Signal::JoinSyn { token, .. }) = &options.signal {
            let token = match token {
                Ok(number) => *number,
                Err(key) => crypto::token(self.key(key)?),
            };
            let owner = self.connections.iter().position(|c| c.local_key.is_some() && c.end.token() == token);
            let Some(index) = owner else {
                return does_not_apply("a join for no connection, which the host answers");
            };
            let flows = &mut self.connections[index].flows;
            let Ok(number) = u8::try_from(flows.len()) else { return differs("more than 255 subflows") };
            flows.push(Flow::new(number, local, remote));
            return Ok((index, usize::from(number)));
        }
        let Some(listener) = self.sockets.values().find(|socket| socket.listens) else {
            return does_not_apply("a SYN without a listening socket, which the host answers");
        };
        let index = self.connections.len();
        let seed = Seed::new(SEED + index as u64);
        let end = Endpoint::server(self.config(listener.mptcp), seed);
        self.connections.push(Connection::new(end, Flow::new(0, local, remote), false));
        Ok((index, 0))
    }

    /// Address of a name in a SYN, which sets it if it has none.
    fn address(&mut self, name: Option<&str>, remote: bool) -> IpAddr {
        let number = name.and_then(final_digit).unwrap_or(0);
        let default = if remote { self.host.remote(number) } else { self.host.local(number) };
        name.map_or(default, |name| *self.addresses.entry(name.to_owned()).or_insert(default))
    }

    /// The last subflow between the packet's addresses, or the current one without addresses.
    fn find_flow(&mut self, packet: &Packet) -> Result<(usize, usize), Stop> {
        let (remote, local) = (packet.ends.0.as_deref(), packet.ends.1.as_deref());
        if remote.is_none() && local.is_none() {
            return self.current.map_or_else(|| does_not_apply("a packet for no connection"), Ok);
        }
        let bound = |name: Option<&str>| name.and_then(|name| self.addresses.get(name)).copied();
        let (remote_ip, local_ip) = (bound(remote), bound(local));
        for (index, connection) in self.connections.iter().enumerate().rev() {
            let fits = |flow: &Flow| {
                remote_ip.is_none_or(|ip| ip == flow.remote) && local_ip.is_none_or(|ip| ip == flow.local)
            };
            let Some(number) = connection.flows.iter().rposition(fits) else { continue };
            let flow = &connection.flows[number];
            for (name, ip) in [(remote, flow.remote), (local, flow.local)] {
                if let Some(name) = name {
                    self.addresses.insert(name.to_owned(), ip);
                }
            }
            return Ok((index, number));
        }
        differs("no subflow has the addresses of this packet")
    }

    fn segment(
        &mut self,
        at: (usize, usize),
        packet: &Packet,
        options: &Options,
    ) -> Result<Segment<Span>, Stop> {
        let signal = match &options.signal {
            Some(signal) => Some(self.signal(at, signal)?),
            None => None,
        };
        let dss = match options.dss {
            Some(dss) => Some(self.dss(at.0, packet, dss)?),
            None => None,
        };
        let flow = &self.connections[at.0].flows[at.1];
        let has_ack = packet.flags.has(Flags::ACK);
        let ack = if has_ack { flow.local_isn.wrapping_add(packet.ack.unwrap_or(0)) } else { 0 };
        let seq = flow.remote_isn.wrapping_add(packet.seq);
        let ports = (flow.remote_port, flow.local_port);
        let mut segment = Segment::new(ports, seq, ack, packet.flags, packet.window.unwrap_or(0));
        segment.mss = options.mss;
        segment.window_scale = options.window_scale;
        segment.sack_permitted = options.sack_permitted;
        segment.timestamps = options.timestamps.map(|(value, echo)| {
            let echo = if has_ack { flow.clock(echo) } else { 0 };
            TimestampOption { value, echo }
        });
        for &(left, right) in &options.sack {
            segment.sack.push(flow.local_isn.wrapping_add(left), flow.local_isn.wrapping_add(right));
        }
        (segment.dss, segment.signal) = (dss, signal);
        segment.payload = Span::new(u64::from(packet.seq), packet.len);
        Ok(segment)
    }

    fn dss(&mut self, index: usize, packet: &Packet, dss: DssOption) -> Result<Dss, Stop> {
        let Some((local, remote)) = self.connections[index].keys() else {
            return does_not_apply("a DSS before the keys are known");
        };
        let ack = dss.ack.map(|ack| crypto::initial_dsn(local).wrapping_add(ack.number));
        let ack_is_short = dss.ack.is_some_and(|ack| ack.short);
        let dsn_is_short = dss.dsn.is_some_and(|dsn| dsn.short);
        let shorten = |number: u64, short: bool| if short { number & 0xffff_ffff } else { number };
        let mut mapping = dss.dsn.map(|dsn| Mapping {
            dsn: shorten(crypto::initial_dsn(remote).wrapping_add(dsn.number), dsn_is_short),
            ssn: dss.ssn.unwrap_or(0),
            len: dss.len.unwrap_or(0),
            checksum: None,
        });
        if packet.len == 0 && mapping.take_if(|mapping| mapping.len == 0).is_some() {
            self.concessions.insert(Concession::EmptyMapping);
        }
        let data_ack = ack.map(|ack| shorten(ack, ack_is_short));
        Ok(Dss { data_ack, ack_is_short, mapping, dsn_is_short, data_fin: dss.fin })
    }

    /// Value of a key, which sets its variable.
    pub(super) fn key(&mut self, key: &Key) -> Result<u64, Stop> {
        let known = key.name.as_ref().and_then(|name| self.keys.get(name)).copied();
        let Some(number) = key.number.or(known) else {
            return does_not_apply(format!("the key {} has no value", key.name.as_deref().unwrap_or("?")));
        };
        if let Some(name) = &key.name {
            self.keys.insert(name.clone(), number);
        }
        Ok(number)
    }

    fn signal(&mut self, (index, number): (usize, usize), signal: &Signal) -> Result<MptcpSignal, Stop> {
        if let Signal::Capable { keys, .. } = signal {
            let numbers = keys.iter().map(|key| self.key(key)).collect::<Result<Vec<_>, _>>()?;
            if let Some(&first) = numbers.first() {
                self.connections[index].remote_key.get_or_insert(first);
            }
        }
        let connection = &self.connections[index];
        let flow = &connection.flows[number];
        let (local, remote) = connection.keys().unwrap_or_default();
        let hmac = crypto::join_hmac((remote, local), (flow.remote_nonce, flow.local_nonce));
        let nonce = flow.remote_nonce;
        let announced = connection.announced;
        Ok(match signal {
            Signal::Capable { version, flags, keys, data } => {
                let keys = keys.iter().map(|key| self.key(key)).collect::<Result<Vec<_>, _>>()?;
                MptcpSignal::Capable {
                    version: *version,
                    checksum: flags & 0x80 != 0,
                    extension: flags & 0x40 != 0,
                    deny_join: flags & 0x20 != 0,
                    hmac_sha256: flags & 0x01 != 0,
                    sender_key: keys.first().copied(),
                    receiver_key: keys.get(1).copied(),
                    data: data.map(|len| (len, None)),
                }
            }
            Signal::JoinSyn { backup, id, token } => {
                let token = match token {
                    Ok(token) => *token,
                    Err(key) => crypto::token(self.key(key)?),
                };
                MptcpSignal::JoinSyn { backup: *backup, address_id: id.unwrap_or(0), token, nonce }
            }
            Signal::JoinSynAck { backup, id } => {
                let hmac = crypto::number(&hmac);
                MptcpSignal::JoinSynAck { backup: *backup, address_id: id.unwrap_or(0), hmac, nonce }
            }
            Signal::JoinAck => {
                let mut half = [0; 20];
                half.copy_from_slice(&hmac[..20]);
                MptcpSignal::JoinAck { hmac: half }
            }
            Signal::AddAddress { id, name, address, port, echo } => {
                let default = if *echo { announced } else { None };
                let id = id.or(default).unwrap_or(1);
                let known = name.as_ref().and_then(|name| self.addresses.get(name)).copied();
                let number = name.as_deref().and_then(final_digit).unwrap_or(0);
                let ip = address.or(known).unwrap_or_else(|| self.host.remote(number));
                if let Some(name) = name {
                    self.addresses.insert(name.clone(), ip);
                }
                let hmac = (!echo).then(|| crypto::address_hmac((remote, local), id, ip, *port));
                MptcpSignal::AddAddress { address_id: id, address: ip, port: *port, hmac }
            }
            Signal::RemoveAddress { ids } => {
                let mut all = [0; 8];
                let count = ids.len().min(all.len());
                all[..count].copy_from_slice(&ids[..count]);
                MptcpSignal::RemoveAddress { ids: all, count: count as u8 }
            }
            Signal::Priority { backup, id } => MptcpSignal::Priority { backup: *backup, address_id: *id },
            Signal::FastClose { key } => MptcpSignal::FastClose { key: key.number.unwrap_or(local) },
            Signal::Reset { reason } => MptcpSignal::Reset { transient: false, reason: *reason },
        })
    }
}

/// Number at the end of an address's name.
fn final_digit(name: &str) -> Option<u8> {
    name.chars().last()?.to_digit(10).map(|digit| digit as u8)
}
