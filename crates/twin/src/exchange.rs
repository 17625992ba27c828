//! One exchange: a client that follows its script and records the server's answers.

use crate::act::{Act, Opening};
use crate::answer::{Answer, JoinAnswer};
use crate::keys::{join_hmac, token_and_idsn};
use crate::outcome::{End, Outcome};
use crate::packet::{PORT, encode, segment};
use crate::serving::AnsweredJoin;
use bytes::Bytes;
use units::{Rng, Seed};
use wire::{Dss, Flags, MptcpSignal, Segment};

/// Largest payload of a segment.
const MAX_PAYLOAD: u64 = 400;

/// Hostile peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// Clients, which attack a server.
    Clients,
    /// Servers, which attack a client that has connected to them.
    Servers,
}

/// A peer with the script that a seed gives.
#[derive(Debug)]
pub struct Exchange {
    /// Whether the peer is a client or a server.
    pub peers: Peers,
    /// How a client opens the connection.
    pub opening: Opening,
    /// How a server answers the SYN.
    pub answer: Answer,
    /// The acts after it, in their order.
    pub acts: Vec<Act>,
    /// Whether the client closes in the end: DATA_FIN, then FIN.
    pub closes: bool,
    pub(crate) rng: Rng,
    /// Ports of the first subflow and of joins.
    pub(crate) ports: [u16; 2],
    /// Port of the host under attack; a client of its own has another for each connection.
    pub(crate) peer_port: u16,
    /// Whether client and server require checksums.
    pub(crate) checksum: bool,
    pub(crate) key: u64,
    pub(crate) isn: u32,
    /// Next sequence number, and next data sequence number.
    pub(crate) seq: u32,
    pub(crate) dsn: u64,
    /// The server's key, its next sequence number, and its next data sequence number.
    pub(crate) server_key: Option<u64>,
    pub(crate) server_seq: Option<u32>,
    pub(crate) server_dsn: u64,
    /// Answers to joins, for the next round.
    pub(crate) replies: Vec<Vec<u8>>,
    /// Join of the host under attack to the announced address, and the answer to it.
    pub(crate) answered: Option<AnsweredJoin>,
    pub(crate) join_answer: Option<JoinAnswer>,
    pub(crate) joins: Vec<Join>,
    pub(crate) last: Vec<Vec<u8>>,
    round: usize,
    pub(crate) outcome: Outcome,
}

/// An MP_JOIN under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join {
    pub(crate) port: u16,
    pub(crate) seq: u32,
    pub(crate) nonce: u32,
    pub(crate) is_proper: bool,
}

impl Exchange {
    /// The exchange `number` of a seed. `ports` are those of the first subflow and of the first join.
    pub fn new(peers: Peers, seed: Seed, number: u64, ports: [u16; 2], checksum: bool) -> Self {
        let is_client = peers == Peers::Clients;
        let stream = if is_client { "exchange" } else { "server exchange" };
        let mut rng = seed.rng(&format!("{stream} {number}"));
        let (mut opening, mut answer) = (Opening::Proper, Answer::Proper);
        if is_client {
            opening = Opening::draw(&mut rng);
        } else {
            answer = Answer::draw(&mut rng);
        }
        let draw = |rng: &mut Rng| if is_client { Act::draw(rng) } else { Act::draw_of_server(rng) };
        let acts = (0..3 + rng.below(6)).map(|_| draw(&mut rng)).collect();
        let closes = rng.below(2) == 0;
        let (key, isn) = (rng.bits(), rng.bits() as u32);
        Self {
            peers,
            opening,
            answer,
            acts,
            closes,
            rng,
            ports,
            peer_port: if is_client { PORT } else { 0 },
            checksum,
            key,
            isn,
            seq: isn,
            dsn: token_and_idsn(key).1.wrapping_add(1),
            server_key: None,
            server_seq: None,
            server_dsn: 0,
            replies: Vec::new(),
            answered: None,
            join_answer: None,
            joins: Vec::new(),
            last: Vec::new(),
            round: 0,
            outcome: Outcome::default(),
        }
    }

    /// An exchange with this script.
    #[cfg(test)]
    pub(crate) fn scripted(opening: Opening, acts: &[Act], closes: bool) -> Self {
        Self {
            opening,
            acts: acts.to_vec(),
            closes,
            ..Self::new(Peers::Clients, Seed::new(1), 0, [1024, 20_000], false)
        }
    }

    /// Rounds of the longest exchange: handshake, eight acts, closing, and acknowledgements.
    pub(crate) const ROUNDS: usize = 15;

    /// The packets of the next round.
    pub(crate) fn next_round(&mut self) -> Vec<Vec<u8>> {
        let mut packets = std::mem::take(&mut self.replies);
        let round = self.round;
        self.round += 1;
        if self.outcome.reset {
            return packets;
        }
        let script = self.acts.len() + 2;
        let more = match round {
            0 if self.peers == Peers::Clients => vec![self.syn()],
            _ if self.server_seq.is_none() => Vec::new(),
            1 if self.peers == Peers::Clients => self.third_ack(),
            1 => self.syn_ack(),
            _ if round < script => self.act(self.acts[round - 2]),
            _ if round == script && self.closes && self.uses_mptcp() => vec![self.data_fin()],
            _ if round == script + 1 && self.closes => vec![self.fin()],
            _ => vec![encode(&self.acknowledgement())],
        };
        if round >= 2 {
            self.last.clone_from(&more);
        }
        packets.extend(more);
        packets
    }

    /// Whether the client takes the connection for one of Multipath TCP.
    pub(crate) fn uses_mptcp(&self) -> bool {
        self.server_key.is_some() && self.opening != Opening::SilentThirdAck
    }

    /// Counts a packet that cannot be decoded.
    pub(crate) fn take_invalid(&mut self) {
        self.outcome.invalid += 1;
    }

    /// Reads an answer of the server.
    pub(crate) fn take(&mut self, to_announced: bool, answer: &Segment<Bytes>) {
        if to_announced {
            self.take_own_join(answer);
            return;
        }
        if self.peers == Peers::Servers {
            self.take_handshake(answer);
        }
        if answer.destination != self.ports[0] {
            self.take_join(answer);
            return;
        }
        if answer.flags.has(Flags::RST) {
            self.outcome.reset = true;
        }
        if answer.flags.has(Flags::SYN_ACK) && self.server_seq.is_none() {
            self.server_seq = Some(answer.seq.wrapping_add(1));
            self.seq = self.isn.wrapping_add(1);
            if let Some(MptcpSignal::Capable { sender_key: Some(key), .. }) = answer.signal {
                self.server_key = Some(key);
                self.server_dsn = token_and_idsn(key).1.wrapping_add(1);
                self.outcome.offers_mptcp = true;
            }
        }
        if answer.flags.has(Flags::ACK) && !answer.flags.has(Flags::RST) {
            let acknowledged = answer.ack.wrapping_sub(self.isn);
            self.outcome.acknowledged = self.outcome.acknowledged.max(acknowledged);
        }
        self.take_signal(answer);
        if answer.flags.has(Flags::FIN) {
            self.outcome.fin = true;
            self.server_seq = Some(answer.seq.wrapping_add(answer.payload.len() as u32 + 1));
        }
    }

    fn take_signal(&mut self, answer: &Segment<Bytes>) {
        match answer.signal {
            Some(MptcpSignal::Fail { .. }) => self.outcome.mp_fail = true,
            Some(MptcpSignal::FastClose { .. }) => self.outcome.fast_close = true,
            _ => {}
        }
        let Some(dss) = answer.dss else { return };
        if let Some(ack) = dss.data_ack {
            let relative = (ack as u32).wrapping_sub(token_and_idsn(self.key).1 as u32);
            // A DATA_ACK of nothing tells as little as none.
            let relative = relative.saturating_sub(1);
            self.outcome.data_acknowledged = self.outcome.data_acknowledged.max(relative);
        }
        if dss.data_fin
            && let Some(mapping) = dss.mapping
        {
            let end = mapping.dsn as u32;
            self.server_dsn =
                self.server_dsn & !0xffff_ffff | u64::from(end.wrapping_add(mapping.len.into()));
        }
    }

    fn take_join(&mut self, answer: &Segment<Bytes>) {
        let Some(join) = self.joins.iter().find(|join| join.port == answer.destination).copied() else {
            return;
        };
        if answer.flags.has(Flags::RST) {
            self.outcome.joins[1] += 1;
        }
        if let (Some(MptcpSignal::JoinSynAck { nonce, .. }), Some(server_key)) =
            (answer.signal, self.server_key)
        {
            self.outcome.joins[0] += 1;
            let mut hmac = [0; 20];
            hmac.copy_from_slice(&join_hmac([self.key, server_key], [join.nonce, nonce])[..20]);
            if !join.is_proper {
                hmac[7] ^= 1;
            }
            let numbers = [join.seq, answer.seq.wrapping_add(1)];
            let mut ack = segment((join.port, self.peer_port), numbers, Flags::ACK);
            ack.signal = Some(MptcpSignal::JoinAck { hmac });
            self.replies.push(encode(&ack));
        }
    }

    /// Ports of the first subflow: the own one, and that of the host under attack.
    pub(crate) fn ends(&self) -> (u16, u16) {
        (self.ports[0], self.peer_port)
    }

    /// An ACK of all that the server has sent.
    pub(crate) fn acknowledgement(&self) -> Segment<Bytes> {
        let mut ack = segment(self.ends(), [self.seq, self.server_seq.unwrap_or(0)], Flags::ACK);
        ack.dss = self.uses_mptcp().then(|| self.data_ack());
        ack
    }

    pub(crate) fn data_ack(&self) -> Dss {
        Dss { data_ack: Some(self.server_dsn), ..Dss::default() }
    }

    /// Length of the next payload.
    pub(crate) fn draw_len(&mut self) -> u16 {
        // Even, so that it can be halved, and less than a segment.
        (2 + 2 * self.rng.below(MAX_PAYLOAD / 2)) as u16
    }

    /// The outcome so far, for the client and for the application.
    pub(crate) fn outcome(&self, (read, end): (&[u8], End)) -> Outcome {
        Outcome { read: read.to_vec(), end, ..self.outcome.clone() }
    }

    /// Number of acts that `rounds` rounds have played.
    pub(crate) fn acts_within(rounds: usize) -> usize {
        // The SYN and the third ACK come before.
        rounds.saturating_sub(2)
    }

    /// Names of the hostile opening and acts in the script, without repetitions.
    pub fn hostile(&self) -> Vec<String> {
        let opening = match self.peers {
            Peers::Clients => (self.opening != Opening::Proper).then(|| format!("{:?}", self.opening)),
            Peers::Servers => (self.answer != Answer::Proper).then(|| format!("{:?}", self.answer)),
        };
        let acts = self.acts.iter().filter(|act| **act != Act::Data).map(|act| format!("{act:?}"));
        let mut all: Vec<String> = opening.into_iter().chain(acts).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The script in one line.
    pub fn script(&self) -> String {
        let checksum = if self.checksum { "checksums, " } else { "" };
        let end = if self.closes { ", close" } else { "" };
        let opening = match self.peers {
            Peers::Clients => format!("{:?}", self.opening),
            Peers::Servers => format!("{:?}", self.answer),
        };
        format!("{checksum}{opening}, {:?}{end}", self.acts)
    }
}
