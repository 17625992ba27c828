//! Connections and subflows, as the player sees them on the wire.

use core::net::IpAddr;
use mptcp::{Endpoint, Failure};
use std::collections::BTreeMap;
use units::Instant;
use wire::{Flags, MptcpSignal, Segment, Span};

/// Distance between the initial sequence numbers of the peer's subflows.
const ISN_STEP: u32 = 0x1357_0000;
/// Random number of the peer's joins.
const PEER_NONCE: u32 = 0x5eed_0000;
/// First port of the peer's subflows.
const PEER_PORT: u16 = 40_000;

/// A segment that the endpoint sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) connection: usize,
    pub(super) flow: usize,
    pub(super) segment: Segment<Span>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) end: Endpoint<Span>,
    /// Subflows; the index is that of the path.
    pub(super) flows: Vec<Flow>,
    pub(super) local_key: Option<u64>,
    pub(super) remote_key: Option<u64>,
    /// A subflow was established.
    pub(super) up: bool,
    pub(super) failure: Option<Failure>,
    pub(super) peer_closed: bool,
    /// `accept` has returned it; true for a client.
    pub(super) accepted: bool,
    /// Identifier of the last announced address.
    pub(super) announced: Option<u8>,
}

/// A subflow.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) local: IpAddr,
    pub(super) remote: IpAddr,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
    /// Initial sequence number of the endpoint, once sent.
    pub(super) local_isn: u32,
    pub(super) remote_isn: u32,
    pub(super) local_nonce: u32,
    pub(super) remote_nonce: u32,
    /// Timestamps of the endpoint, by the script's timestamps for them.
    pub(super) clocks: BTreeMap<u32, u32>,
    pub(super) last_clock: u32,
    /// The peer has sent a FIN.
    pub(super) peer_fin: bool,
}

impl Flow {
    pub(super) fn new(number: u8, local: IpAddr, remote: IpAddr) -> Self {
        let number = u32::from(number);
        Self {
            local,
            remote,
            local_port: 443,
            remote_port: PEER_PORT + number as u16,
            local_isn: 0,
            remote_isn: ISN_STEP.wrapping_mul(number + 1),
            local_nonce: 0,
            remote_nonce: PEER_NONCE + number,
            clocks: BTreeMap::new(),
            last_clock: 0,
            peer_fin: false,
        }
    }

    /// The endpoint's timestamp that the script writes as `clock`.
    pub(super) fn clock(&self, clock: u32) -> u32 {
        self.clocks.get(&clock).copied().unwrap_or(self.last_clock)
    }
}

impl Connection {
    pub(super) fn new(end: Endpoint<Span>, first: Flow, accepted: bool) -> Self {
        Self {
            end,
            flows: vec![first],
            local_key: None,
            remote_key: None,
            up: false,
            failure: None,
            peer_closed: false,
            accepted,
            announced: None,
        }
    }

    /// Both keys, the local one first.
    pub(super) fn keys(&self) -> Option<(u64, u64)> {
        Some((self.local_key?, self.remote_key?))
    }

    /// Keeps the numbers of a segment of the endpoint that later packets refer to.
    pub(super) fn record(&mut self, flow: usize, segment: &Segment<Span>) {
        let Some(flow) = self.flows.get_mut(flow) else { return };
        if segment.flags.has(Flags::SYN) {
            flow.local_isn = segment.seq;
            (flow.local_port, flow.remote_port) = (segment.source, segment.destination);
        }
        if let Some(clock) = segment.timestamps {
            flow.last_clock = clock.value;
        }
        match segment.signal {
            Some(MptcpSignal::Capable { sender_key: Some(key), .. }) => self.local_key = Some(key),
            Some(MptcpSignal::JoinSyn { nonce, .. } | MptcpSignal::JoinSynAck { nonce, .. }) => {
                flow.local_nonce = nonce;
            }
            Some(MptcpSignal::AddAddress { address_id, hmac: Some(_), .. }) => {
                self.announced = Some(address_id);
            }
            _ => {}
        }
    }
}
