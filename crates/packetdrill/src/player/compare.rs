//! Field by field comparison of an expected packet with a segment of the endpoint.

use super::Player;
use super::expect::Match;
use super::flow::{Connection, Sent};
use crate::crypto;
use crate::options::{DssOption, Key, Options, Signal};
use crate::script::Packet;
use crate::verdict::Concession;
use core::fmt::Debug;
use mptcp::Mode;
use wire::{Dss, Flags, MptcpSignal};

/// Error unless both are equal.
#[expect(clippy::needless_pass_by_value, reason = "most values are small")]
fn same<T: PartialEq + Debug>(field: &str, expected: T, got: T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{field} {got:?}, expected {expected:?}")) }
}

impl Player {
    /// Compares all fields that the script names. An error names the first that differs.
    pub(super) fn compare(&self, packet: &Packet, options: &Options, sent: &Sent) -> Result<Match, String> {
        let connection = &self.connections[sent.connection];
        let (flow, segment) = (&connection.flows[sent.flow], &sent.segment);
        for (name, ip) in [(&packet.ends.0, flow.local), (&packet.ends.1, flow.remote)] {
            if let Some(bound) = name.as_ref().and_then(|name| self.addresses.get(name)) {
                same("address", *bound, ip)?;
            }
        }
        same("flags", packet.flags, segment.flags)?;
        same("seq", packet.seq, segment.seq.wrapping_sub(flow.local_isn))?;
        same("length", packet.len, segment.payload.len)?;
        if let Some(ack) = packet.ack.filter(|_| packet.flags.has(Flags::ACK)) {
            same("ack", ack, segment.ack.wrapping_sub(flow.remote_isn))?;
        }
        if let Some(window) = packet.window {
            same("win", window, segment.window)?;
        }
        same("mss", options.mss, segment.mss)?;
        same("sackOK", options.sack_permitted, segment.sack_permitted)?;
        same("wscale", options.window_scale, segment.window_scale)?;
        same("TS", options.timestamps.is_some(), segment.timestamps.is_some())?;
        let blocks = segment.sack.as_slice().iter();
        let relative = |edge: u32| edge.wrapping_sub(flow.remote_isn);
        let blocks = blocks.map(|&(left, right)| (relative(left), relative(right))).collect::<Vec<_>>();
        same("sack", &options.sack, &blocks)?;
        let mut found = Match::default();
        let optional = options.signal.is_some() || flow.peer_fin;
        compare_dss(connection, options.dss, segment.dss, optional, &mut found)?;
        match (&options.signal, segment.signal) {
            (None, None) => {}
            (Some(expected), Some(got)) => self.compare_signal(expected, got, sent, &mut found)?,
            (expected, got) => return Err(format!("option {got:?}, expected {expected:?}")),
        }
        Ok(found)
    }

    fn compare_signal(
        &self,
        expected: &Signal,
        got: MptcpSignal,
        sent: &Sent,
        found: &mut Match,
    ) -> Result<(), String> {
        let connection = &self.connections[sent.connection];
        let flow = &connection.flows[sent.flow];
        let keys = connection.keys().unwrap_or_default();
        let join_hmac = crypto::join_hmac(keys, (flow.local_nonce, flow.remote_nonce));
        match (expected, got) {
            (
                Signal::Capable { version, flags, keys, data },
                MptcpSignal::Capable {
                    version: own_version,
                    checksum,
                    deny_join,
                    hmac_sha256,
                    extension,
                    sender_key,
                    receiver_key,
                    data: own_data,
                },
            ) => {
                let bits = [(checksum, 0x80), (extension, 0x40), (deny_join, 0x20), (hmac_sha256, 0x01)];
                let own_flags = bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum::<u8>();
                same("MP_CAPABLE version", *version, own_version)?;
                same("MP_CAPABLE flags", *flags, own_flags)?;
                same("MP_CAPABLE length", *data, own_data.map(|(len, _)| len))?;
                let own: Vec<u64> = [sender_key, receiver_key].into_iter().flatten().collect();
                same("number of keys", keys.len(), own.len())?;
                keys.iter().zip(own).try_for_each(|(key, own)| self.compare_key(key, own, found))
            }
            (
                Signal::JoinSyn { backup, id, token },
                MptcpSignal::JoinSyn { backup: own_backup, address_id, token: own_token, .. },
            ) => {
                same("backup", *backup, own_backup)?;
                same("address_id", id.unwrap_or(address_id), address_id)?;
                let token = match token {
                    Ok(token) => *token,
                    Err(key) => {
                        let known = key.name.as_ref().and_then(|name| self.keys.get(name)).copied();
                        crypto::token(key.number.or(known).unwrap_or(0))
                    }
                };
                same("token", token, own_token)
            }
            (Signal::JoinSynAck { backup, .. }, MptcpSignal::JoinSynAck { backup: own_backup, hmac, .. }) => {
                same("backup", *backup, own_backup)?;
                same("HMAC", crypto::number(&join_hmac), hmac)
            }
            (Signal::JoinAck, MptcpSignal::JoinAck { hmac }) => same("HMAC", &join_hmac[..20], &hmac[..]),
            (
                Signal::AddAddress { id, name, address, port, echo },
                MptcpSignal::AddAddress { address_id, address: own, port: own_port, hmac },
            ) => {
                same("address_id", id.unwrap_or(address_id), address_id)?;
                let bound = name.as_ref().and_then(|name| self.addresses.get(name)).copied();
                same("address", address.or(bound).unwrap_or(own), own)?;
                same("port", *port, own_port)?;
                same("echo", *echo, hmac.is_none())?;
                let valid = crypto::address_hmac(keys, address_id, own, own_port);
                same("HMAC", valid, hmac.unwrap_or(valid))?;
                found.addresses.extend(name.clone().map(|name| (name, own)));
                Ok(())
            }
            (Signal::RemoveAddress { ids }, MptcpSignal::RemoveAddress { ids: own, count }) => {
                same("address_id", &ids[..], own.get(..usize::from(count)).unwrap_or(&[]))
            }
            (Signal::Priority { backup, .. }, MptcpSignal::Priority { backup: own, .. }) => {
                same("backup", *backup, own)
            }
            (Signal::FastClose { key }, MptcpSignal::FastClose { key: own }) => {
                same("key", key.number.unwrap_or(keys.1), own)
            }
            (Signal::Reset { reason }, MptcpSignal::Reset { reason: own, .. }) => {
                same("reset reason", *reason, own)
            }
            (expected, got) => Err(format!("option {got:?}, expected {expected:?}")),
        }
    }

    fn compare_key(&self, key: &Key, own: u64, found: &mut Match) -> Result<(), String> {
        let known = key.name.as_ref().and_then(|name| self.keys.get(name)).copied();
        same("key", key.number.or(known).unwrap_or(own), own)?;
        found.keys.extend(key.name.clone().map(|name| (name, own)));
        Ok(())
    }
}

/// Compares the DSS. With `optional` the endpoint may add a DATA_ACK.
fn compare_dss(
    connection: &Connection,
    expected: Option<DssOption>,
    got: Option<Dss>,
    optional: bool,
    found: &mut Match,
) -> Result<(), String> {
    let (expected, got) = match (expected, got) {
        (None, None) => return Ok(()),
        (None, Some(dss)) if optional && dss.mapping.is_none() && !dss.data_fin => {
            found.concessions.push(Concession::ExtraDataAck);
            return Ok(());
        }
        (None, Some(dss)) if connection.end.mode() == Mode::Tcp && dss.data_ack.is_none() => {
            found.concessions.push(Concession::InfiniteMapping);
            return Ok(());
        }
        (Some(expected), Some(got)) => (expected, got),
        (expected, got) => {
            let name = |present: bool| if present { "a DSS" } else { "no DSS" };
            return Err(format!("{}, expected {}", name(got.is_some()), name(expected.is_some())));
        }
    };
    let (local, remote) = connection.keys().unwrap_or_default();
    let relative = |number: u64, short: bool, key: u64| {
        let number = number.wrapping_sub(crypto::initial_dsn(key));
        if short { number & 0xffff_ffff } else { number }
    };
    if let Some(ack) = expected.ack {
        let Some(own) = got.data_ack else { return Err("no DATA_ACK".to_owned()) };
        if ack.short != got.ack_is_short {
            found.concessions.push(Concession::DataAckLength);
        }
        let short = ack.short || got.ack_is_short;
        same("dack", ack.number, relative(own, short, remote))?;
    }
    same("DATA_FIN", expected.fin, got.data_fin)?;
    same("mapping", expected.dsn.is_some(), got.mapping.is_some())?;
    if let (Some(dsn), Some(map)) = (expected.dsn, got.mapping) {
        same("4-byte DSN", dsn.short, got.dsn_is_short)?;
        same("dsn", dsn.number, relative(map.dsn, dsn.short, local))?;
        same("ssn", expected.ssn.unwrap_or(map.ssn), map.ssn)?;
        same("dll", expected.len.unwrap_or(map.len), map.len)?;
        same("checksum", None, map.checksum)?;
    }
    Ok(())
}
