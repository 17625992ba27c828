//! The side of a hostile server: its answers to SYNs, and addresses that it announces.

use crate::answer::{Answer, JoinAnswer};
use crate::exchange::Exchange;
use crate::keys::{address_hmac, join_hmac, token_and_idsn};
use crate::packet::{ANNOUNCED, encode, encode_from, segment};
use bytes::Bytes;
use wire::{Flags, MptcpSignal, Segment};

/// Identifier of the announced address.
const ANNOUNCED_ID: u8 = 3;
/// ADD_ADDRs of a flood.
const FLOOD: u8 = 20;

/// A join of the client to the announced address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnsweredJoin {
    port: u16,
    /// Sequence number of the server after its SYN/ACK.
    seq: u32,
    /// Sequence number of the client after its SYN.
    peer_seq: u32,
    has_third_ack: bool,
}

impl Exchange {
    /// The answer to the client's SYN.
    pub(crate) fn syn_ack(&mut self) -> Vec<Vec<u8>> {
        let ack = self.server_seq.unwrap_or(0);
        if self.answer == Answer::Reset {
            return vec![encode(&segment(self.ends(), [0, ack], Flags::RST.with(Flags::ACK)))];
        }
        let mut answer = segment(self.ends(), [self.isn, ack], Flags::SYN_ACK);
        answer.mss = Some(1400);
        self.seq = self.isn.wrapping_add(1);
        let version = if let Answer::OtherVersion(version) = self.answer { version } else { 1 };
        answer.signal = match self.answer {
            Answer::PlainTcp => None,
            Answer::JoinInstead => {
                Some(MptcpSignal::JoinSynAck { backup: false, address_id: 0, hmac: self.key, nonce: 7 })
            }
            _ => Some(MptcpSignal::Capable {
                version,
                checksum: self.checksum,
                deny_join: self.answer == Answer::DenyJoin,
                hmac_sha256: self.answer != Answer::NoAlgorithm,
                extension: self.answer == Answer::Extension,
                sender_key: (self.answer != Answer::NoKey).then_some(self.key),
                receiver_key: (self.answer == Answer::TwoKeys).then_some(self.key ^ 5),
                data: None,
            }),
        };
        if self.answer == Answer::WrongAck {
            let mut wrong = answer.clone();
            wrong.ack = wrong.ack.wrapping_add(99);
            return vec![encode(&wrong), encode(&answer)];
        }
        vec![encode(&answer)]
    }

    /// Reads the client's SYN, and the keys of its third ACK.
    pub(crate) fn take_handshake(&mut self, segment: &Segment<Bytes>) {
        if segment.destination != self.ports[0] {
            return;
        }
        if segment.flags.has(Flags::SYN) && self.server_seq.is_none() {
            self.peer_port = segment.source;
            self.server_seq = Some(segment.seq.wrapping_add(1));
        }
        if let Some(MptcpSignal::Capable { sender_key: Some(key), receiver_key: Some(_), .. }) =
            segment.signal
            && self.server_key.is_none()
        {
            self.server_key = Some(key);
            self.server_dsn = token_and_idsn(key).1.wrapping_add(1);
            self.outcome.offers_mptcp = true;
        }
    }

    fn address_signal(&self, id: u8, address: std::net::Ipv4Addr, is_proper: bool) -> Vec<u8> {
        let keys = [self.key, self.server_key.unwrap_or(0)];
        let hmac = address_hmac(keys, id, address) ^ u64::from(!is_proper);
        let mut ack = self.acknowledgement();
        let (address, hmac) = (address.into(), Some(hmac));
        // Both options do not fit beside one with a checksum.
        ack.dss = None;
        ack.signal = Some(MptcpSignal::AddAddress { address_id: id, address, port: None, hmac });
        encode(&ack)
    }

    pub(crate) fn address_flood(&self) -> Vec<Vec<u8>> {
        let addresses = (0..FLOOD).map(|i| (10 + i, std::net::Ipv4Addr::new(10, 9, 1, i)));
        addresses.map(|(id, address)| self.address_signal(id, address, false)).collect()
    }

    /// Announces the second address, once.
    pub(crate) fn announce(&mut self, answer: JoinAnswer) -> Vec<Vec<u8>> {
        if self.join_answer.is_some() {
            return vec![encode(&self.acknowledgement())];
        }
        self.join_answer = Some(answer);
        vec![self.address_signal(ANNOUNCED_ID, ANNOUNCED, true)]
    }

    /// Reads a segment to the announced address.
    pub(crate) fn take_own_join(&mut self, received: &Segment<Bytes>) {
        let Some(answer) = self.join_answer else { return };
        let is_known = self.answered.is_some_and(|join| join.port == received.source);
        if received.flags.has(Flags::RST) {
            self.outcome.own_joins[1] += u32::from(is_known);
            return;
        }
        if received.flags.has(Flags::SYN) {
            if !is_known {
                self.outcome.own_joins[0] += 1;
                self.answer_join(answer, received);
            }
            return;
        }
        let Some(join) = self.answered.filter(|join| is_known && !join.has_third_ack) else { return };
        let ends = (self.ports[0], join.port);
        self.answered = Some(AnsweredJoin { has_third_ack: true, ..join });
        self.outcome.own_joins[2] += u32::from(matches!(received.signal, Some(MptcpSignal::JoinAck { .. })));
        let mut reply = segment(ends, [join.seq, join.peer_seq], Flags::ACK);
        match answer {
            JoinAnswer::Proper => reply.dss = Some(self.data_ack()),
            JoinAnswer::LateReset => {
                reply.flags = Flags::RST.with(Flags::ACK);
                reply.signal = Some(MptcpSignal::Reset { transient: true, reason: 2 });
            }
            _ => return,
        }
        self.replies.push(encode_from(ANNOUNCED, &reply));
    }

    fn answer_join(&mut self, answer: JoinAnswer, syn: &Segment<Bytes>) {
        let (isn, peer_seq) = (self.isn.wrapping_add(12_345), syn.seq.wrapping_add(1));
        let (seq, port) = (isn.wrapping_add(1), syn.source);
        self.answered = Some(AnsweredJoin { port, seq, peer_seq, has_third_ack: false });
        let ends = (self.ports[0], port);
        let mut reply = segment(ends, [isn, peer_seq], Flags::SYN_ACK);
        reply.mss = Some(1400);
        let mut reset = segment(ends, [0, peer_seq], Flags::RST.with(Flags::ACK));
        let nonces = |nonce| [self.isn, nonce];
        let hmac = match syn.signal {
            Some(MptcpSignal::JoinSyn { nonce, .. }) => {
                let full = join_hmac([self.key, self.server_key.unwrap_or(0)], nonces(nonce));
                let mut high = [0; 8];
                high.copy_from_slice(&full[..8]);
                u64::from_be_bytes(high)
            }
            _ => 0,
        };
        let join =
            |hmac| MptcpSignal::JoinSynAck { backup: false, address_id: ANNOUNCED_ID, hmac, nonce: self.isn };
        let reply = match answer {
            JoinAnswer::Silence => return,
            JoinAnswer::PlainReset => reset,
            JoinAnswer::Reset(reason, transient) => {
                reset.signal = Some(MptcpSignal::Reset { transient, reason });
                reset
            }
            JoinAnswer::NoOption => reply,
            JoinAnswer::Capable => {
                reply.signal = Some(self.valid_capable(None, None));
                reply
            }
            JoinAnswer::WrongHmac => {
                reply.signal = Some(join(hmac ^ 1));
                reply
            }
            JoinAnswer::Proper | JoinAnswer::LateReset | JoinAnswer::NoFourthAck => {
                reply.signal = Some(join(hmac));
                reply
            }
        };
        self.replies.push(encode_from(ANNOUNCED, &reply));
    }
}
