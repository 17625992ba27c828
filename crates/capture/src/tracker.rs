//! Assigns segments to flows and flows to connections, and counts.

use crate::data::{Asked, Data};
use crate::event::{self, Event, Options};
use crate::flow::{Flow, How, Membership, Placed, Point, SubflowStream};
use crate::frame::{self, End, Other, Tcp};
use crate::reader::Frame;
use crate::seen::Before;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use units::Instant;
use wire::tcp::TcpOption;
use wire::{Dss, Flags, MptcpSignal, RecOption, TimestampOption};

/// Maximum number of TCP connections.
pub(crate) const MOST_FLOWS: usize = 50_000;
/// Maximum number of MPTCP subflows.
pub(crate) const MOST_SUBFLOWS: usize = 2000;
/// Maximum number of events.
pub(crate) const MOST_EVENTS: usize = 2000;
/// Flows of the latest packets, found without a search.
const CACHED: usize = 16;
/// Maximum distance of data that assigns a subflow without a beginning to a connection.
const NEAR: u64 = 1 << 28;
/// The same for 32-bit numbers, which would match by chance more often.
const NEAR_SHORT: u64 = 1 << 22;

/// Number of connections, latest first, that are tried for a subflow without a beginning.
const MOST_CANDIDATES: usize = 256;

type Key = (End, End);

/// A connection of Multipath TCP. Side 0 opened it.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Data of each side.
    pub(crate) data: [Data; 2],
    pub(crate) tokens: [Option<u32>; 2],
    /// Indices of flows.
    pub(crate) subflows: Vec<usize>,
    /// True if either side asked for checksums.
    pub(crate) checksums: bool,
    pub(crate) fell_back: bool,
}

/// Omissions, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Left {
    pub(crate) link: u64,
    pub(crate) protocol: u64,
    pub(crate) fragment: u64,
    pub(crate) cut: u64,
    pub(crate) malformed: u64,
    /// Segments of flows beyond the limit.
    pub(crate) flows: u64,
    /// Subflows beyond the limit; they count as plain TCP.
    pub(crate) subflows: u64,
    /// Events beyond the limit.
    pub(crate) events: u64,
}

/// State of the analysis.
#[derive(Debug)]
pub(crate) struct Tracker {
    pub(crate) begin: Option<Instant>,
    pub(crate) end: Instant,
    pub(crate) packets: u64,
    pub(crate) segments: u64,
    pub(crate) flows: Vec<Flow>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) events: Vec<Event>,
    pub(crate) options: Options,
    pub(crate) left: Left,
    subflows: usize,
    keys: BTreeMap<Key, usize>,
    cache: [Option<(Key, usize)>; CACHED],
    tokens: BTreeMap<u32, (usize, usize)>,
}

/// Relevant options of a segment.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    stamps: Option<TimestampOption>,
    dss: Option<Dss>,
    signal: Option<MptcpSignal>,
    rec: Option<RecOption>,
    mptcp: bool,
}

/// A segment of a subflow, with the result at subflow level.
#[derive(Debug, Clone, Copy)]
struct Passing<'a> {
    tcp: &'a Tcp<'a>,
    seen: Seen,
    /// Payload, with its length.
    payload: Option<(Placed, u32)>,
}

impl Tracker {
    pub(crate) fn new() -> Self {
        Self {
            begin: None,
            end: Instant::ZERO,
            packets: 0,
            segments: 0,
            flows: Vec::new(),
            connections: Vec::new(),
            events: Vec::new(),
            options: Options::default(),
            left: Left::default(),
            subflows: 0,
            keys: BTreeMap::new(),
            cache: [None; CACHED],
            tokens: BTreeMap::new(),
        }
    }

    /// Processes the next frame.
    pub(crate) fn frame(&mut self, frame: &Frame<'_>) {
        self.packets += 1;
        let now = frame.at.unwrap_or(self.end);
        if self.begin.is_none() {
            self.begin = Some(now);
        }
        self.end = self.end.max(now);
        match frame::tcp(frame) {
            Ok(tcp) => {
                self.segments += 1;
                self.segment(now, frame.interface as u32, &tcp);
            }
            Err(Other::Link) => self.left.link += 1,
            Err(Other::Protocol) => self.left.protocol += 1,
            Err(Other::Fragment) => self.left.fragment += 1,
            Err(Other::Cut) => self.left.cut += 1,
            Err(Other::Malformed) => self.left.malformed += 1,
        }
    }

    fn segment(&mut self, now: Instant, interface: u32, tcp: &Tcp<'_>) {
        let d = usize::from(tcp.source > tcp.destination);
        let ends = if d == 0 { [tcp.source, tcp.destination] } else { [tcp.destination, tcp.source] };
        let flags = tcp.header.flags();
        let (seq, is_syn) = (tcp.header.seq(), flags.has(Flags::SYN));
        let Some(index) = self.flow(now, ends, d, flags, seq) else {
            self.left.flows += 1;
            return;
        };
        let flow = &mut self.flows[index];
        let point = Point { interface, index: tcp.index, direction: tcp.direction };
        if !flow.streams[d].point.get_or_insert(point).is(point) {
            flow.elsewhere += 1;
            return;
        }
        flow.last = flow.last.max(now);
        let seen = options(tcp, &mut self.options);

        // Handshake and end, as in plain TCP.
        if is_syn {
            flow.streams[d].begins(seq);
            if flags.has(Flags::ACK) {
                flow.opener = 1 - d;
                flow.handshake.answer.get_or_insert(now);
            } else {
                flow.opener = d;
                flow.handshake.syn.get_or_insert(now);
                flow.handshake.syns += 1;
            }
        } else if d == flow.opener
            && flags.has(Flags::ACK)
            && flow.handshake.answer.is_some()
            && flow.handshake.ack.is_none()
        {
            flow.handshake.ack = Some(now);
        }
        flow.closed |= flags.has(Flags::FIN);
        flow.reset |= flags.has(Flags::RST);
        let stream = &mut flow.streams[d];
        stream.segments += 1;
        stream.wire += u64::from(tcp.wire_len);

        if flags.has(Flags::ACK) {
            flow.streams[1 - d].acknowledge(tcp.header.ack());
        }
        if seen.mptcp {
            self.belongs(index, d, flags, &seen);
        }
        let flow = &mut self.flows[index];
        let len = if is_syn { 0 } else { tcp.payload_len };
        let payload = (len > 0).then(|| (flow.streams[d].place(seq, len), len));
        if let Some(membership) = flow.membership {
            self.on_subflow(now, index, d, membership, &Passing { tcp, seen, payload });
        }
    }

    /// Flow of a segment; `None` beyond the limit.
    fn flow(&mut self, now: Instant, ends: [End; 2], d: usize, flags: Flags, seq: u32) -> Option<usize> {
        let key = (ends[0], ends[1]);
        let slot = usize::from(ends[0].port ^ ends[1].port) % CACHED;
        let known = match self.cache[slot] {
            Some((cached, index)) if cached == key => Some(index),
            _ => self.keys.get(&key).copied(),
        };
        let opens = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        let index = match known {
            // The ports are reused by a new connection.
            Some(index)
                if opens && self.flows[index].streams[d].initial != Some(seq) && {
                    let flow = &self.flows[index];
                    flow.streams[d].initial.is_some() || flow.streams[d].segments > 0
                } =>
            {
                None
            }
            known => known,
        };
        let index = if let Some(index) = index {
            index
        } else {
            if self.flows.len() >= MOST_FLOWS {
                return None;
            }
            // Without a SYN, the lower port is taken as the server's.
            let opener = match flags.has(Flags::SYN) {
                true if opens => d,
                true => 1 - d,
                false => usize::from(ends[1].port > ends[0].port),
            };
            self.flows.push(Flow::new(ends, opener, now));
            self.keys.insert(key, self.flows.len() - 1);
            self.flows.len() - 1
        };
        self.cache[slot] = Some((key, index));
        Some(index)
    }

    /// Assigns the flow by the options of its handshake.
    fn belongs(&mut self, index: usize, d: usize, flags: Flags, seen: &Seen) {
        let flow = &mut self.flows[index];
        match seen.signal {
            Some(MptcpSignal::Capable { version, sender_key, receiver_key, checksum, .. }) => {
                flow.offered = true;
                // An MP_CAPABLE answer of another version or without a key is not valid (RFC 8684,
                // section 3.1).
                if let Some(sender) = sender_key
                    && version == 1
                {
                    let opener = flow.opener;
                    if flow.membership.is_none() {
                        if self.subflows >= MOST_SUBFLOWS {
                            self.left.subflows += 1;
                            return;
                        }
                        let connection = self.connection();
                        self.join(index, connection, opener, How::Capable);
                    }
                    if let Some(membership) = self.flows[index].membership {
                        let side = membership.side ^ d;
                        let connection = membership.connection as usize;
                        self.connections[connection].checksums |= checksum;
                        self.key(connection, side, sender);
                        if let Some(receiver) = receiver_key {
                            self.key(connection, 1 - side, receiver);
                        }
                    }
                }
            }
            Some(MptcpSignal::JoinSyn { token, backup, .. }) if flags.has(Flags::SYN) => {
                flow.backup = backup;
                match self.tokens.get(&token) {
                    // The token identifies the receiving side.
                    Some(&(connection, side)) => self.join(index, connection, side ^ (1 - d), How::Token),
                    None => flow.token = Some(token),
                }
            }
            Some(MptcpSignal::JoinSynAck { backup, .. }) => flow.backup |= backup,
            _ => {}
        }
        if let Some(dss) = seen.dss
            && self.flows[index].membership.is_none()
        {
            self.adopt(index, d, &dss);
        }
    }

    /// Assigns a subflow of an unknown connection by its data.
    fn adopt(&mut self, index: usize, d: usize, dss: &Dss) {
        let flow = &self.flows[index];
        // After a handshake without Multipath TCP, both ends ignore these options.
        let Some((dsn, short, from)) = dss
            .mapping
            .map(|mapping| (mapping.dsn, dss.dsn_is_short, d))
            .or_else(|| dss.data_ack.map(|ack| (ack, dss.ack_is_short, 1 - d)))
        else {
            return;
        };
        let token = flow.token;
        let by_token = token.and_then(|token| self.tokens.get(&token)).copied();
        let (connection, side0, how) = if let Some((connection, side)) = by_token {
            (connection, side ^ (1 - flow.opener), How::Token)
        } else {
            let addresses = flow.ends.map(|end| end.address);
            let fits = |connection: &Connection| {
                let shared = || {
                    connection.subflows.iter().any(|&other| {
                        self.flows[other].ends.iter().any(|end| addresses.contains(&end.address))
                    })
                };
                (0..2)
                    .filter_map(|side| {
                        let (distance, exact) = connection.data[side].distance(dsn, short)?;
                        let near = if exact { distance < NEAR } else { distance < NEAR_SHORT && shared() };
                        near.then_some((!exact, distance, side))
                    })
                    .min()
                    .map(|(.., side)| side)
            };
            // A connection with a known handshake is not joined to another.
            let opened = flow.handshake.syn.is_some() && token.is_none();
            let found = self.connections.iter().enumerate().rev().filter(|_| !opened);
            let found = found.take(MOST_CANDIDATES).find_map(|(i, one)| Some((i, fits(one)?)));
            match found {
                // The data belong to `side`; `from` is the sending end.
                Some((connection, side)) => (connection, side ^ from, How::Data),
                None if self.subflows >= MOST_SUBFLOWS => {
                    self.left.subflows += 1;
                    return;
                }
                None => {
                    // The token belongs to the side that received the join, usually the server.
                    let opener = flow.opener;
                    (self.connection(), opener, How::Alone)
                }
            }
        };
        self.join(index, connection, side0, how);
        if let Some(token) = token
            && by_token.is_none()
            && let Some(membership) = self.flows[index].membership
        {
            let asked = membership.side ^ (1 - self.flows[index].opener);
            self.connections[connection].tokens[asked].get_or_insert(token);
            self.tokens.entry(token).or_insert((connection, asked));
        }
    }

    fn connection(&mut self) -> usize {
        self.connections.push(Connection {
            data: [Data::new(), Data::new()],
            tokens: [None; 2],
            subflows: Vec::new(),
            checksums: false,
            fell_back: false,
        });
        self.connections.len() - 1
    }

    /// Makes a flow a subflow; `side` is the one of its `ends[0]`.
    fn join(&mut self, index: usize, connection: usize, side: usize, how: How) {
        if self.flows[index].membership.is_some() {
            return;
        }
        if self.subflows >= MOST_SUBFLOWS {
            self.left.subflows += 1;
            return;
        }
        self.subflows += 1;
        let subflows = &mut self.connections[connection].subflows;
        let number = subflows.len() as u16;
        subflows.push(index);
        let flow = &mut self.flows[index];
        flow.membership = Some(Membership { connection: connection as u32, number, side, how });
        for stream in &mut flow.streams {
            stream.subflow = Some(Box::default());
        }
    }

    /// Records a side's key: its token, and the start of its data (RFC 8684, section 3.1).
    fn key(&mut self, connection: usize, side: usize, key: u64) {
        if self.connections[connection].tokens[side].is_some()
            && !self.connections[connection].data[side].is_untouched()
        {
            return;
        }
        let digest: [u8; 32] = Sha256::digest(key.to_be_bytes()).into();
        let token = digest.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let initial = digest.last_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        self.connections[connection].tokens[side] = Some(token);
        self.connections[connection].data[side].begins_after(initial);
        self.tokens.insert(token, (connection, side));
    }

    fn on_subflow(
        &mut self,
        now: Instant,
        index: usize,
        d: usize,
        membership: Membership,
        passing: &Passing<'_>,
    ) {
        let Passing { tcp, seen, payload } = passing;
        let payload = *payload;
        let connection = &mut self.connections[membership.connection as usize];
        let flow = &mut self.flows[index];
        let side = membership.side ^ d;
        let (seq, flags) = (tcp.header.seq(), tcp.header.flags());
        let len = payload.map_or(0, |(_, len)| len);

        // Round trips from here to the sender of this segment, and to the other end.
        let stamps = seen.stamps;
        if flags.has(Flags::ACK) {
            let ack = flow.streams[1 - d].position(tcp.header.ack());
            if let Some(other) = &mut flow.streams[1 - d].subflow {
                if let Some(stamps) = stamps {
                    other.rtt.echoed(now, stamps.echo);
                }
                other.rtt.acknowledged(now, ack);
            }
        }
        if let Some(subflow) = &mut flow.streams[d].subflow {
            if let Some(stamps) = stamps
                && !flags.has(Flags::RST)
            {
                subflow.rtt.stamped(now, stamps.value);
            }
            match payload {
                Some((placed, _)) if placed.again > 0 => subflow.rtt.sent_again(),
                Some((placed, len)) => subflow.rtt.sent(now, placed.from + u64::from(len)),
                None => {}
            }
        }

        if let Some(dss) = seen.dss {
            if let Some(mapping) = &dss.mapping {
                flow.streams[d].map(mapping, dss.dsn_is_short, seq, len);
                connection.fell_back |= mapping.len == 0;
            }
            if dss.data_fin {
                connection.data[side].finished.get_or_insert(now);
            }
            if let Some(ack) = dss.data_ack {
                connection.data[1 - side].acknowledged(ack, dss.ack_is_short);
            }
        } else if let Some(MptcpSignal::Capable { data: Some((data_len, _)), .. }) = seen.signal
            && let Some(initial) = connection.data[side].initial
        {
            // The first data are mapped here (RFC 8684, section 3.1).
            let mapping =
                wire::Mapping { dsn: initial.wrapping_add(1), ssn: 1, len: data_len, checksum: None };
            flow.streams[d].map(&mapping, false, seq, len);
        }
        if let Some(RecOption::Report(report)) = seen.rec {
            let rate = report.rate;
            let asked = connection.data[1 - side].reports.entry(report.path).or_insert(Asked {
                count: 0,
                last: rate,
                least: rate,
                most: rate,
                blocks: 0,
            });
            asked.count += 1;
            asked.last = rate;
            asked.least = asked.least.min(rate);
            asked.most = asked.most.max(rate);
            asked.blocks += report.blocks.as_slice().len() as u64;
        }
        let begin = self.begin.unwrap_or(now);
        let since = Instant::ZERO + now.since(begin);
        for told in [
            seen.signal.and_then(|signal| event::told(&TcpOption::Signal(signal))),
            seen.rec.and_then(|option| event::told(&TcpOption::Rec(option))),
        ]
        .into_iter()
        .flatten()
        {
            if self.events.len() == MOST_EVENTS {
                self.left.events += 1;
                continue;
            }
            self.events.push(Event {
                at_s: since.as_secs_f64(),
                connection: membership.connection as usize + 1,
                subflow: usize::from(membership.number) + 1,
                from: ["client", "server"][side],
                option: told.0,
                detail: told.1,
            });
        }

        let Some((placed, len)) = payload else { return };
        let mut tally = Tally::default();
        let (mut at, end) = (placed.from, placed.from + u64::from(len));
        while at < end {
            let piece = flow.streams[d].piece(at, end - at);
            at += piece.len;
            let data = &mut connection.data[side];
            let Some(position) = piece.dsn.and_then(|(dsn, short)| data.position(dsn, short)) else {
                tally.unmapped += piece.len;
                continue;
            };
            data.carried(
                now,
                position,
                position + piece.len,
                membership.number,
                |len, before| match before {
                    Before::New => tally.new += len,
                    Before::Had(owner) if owner == membership.number => tally.repeated += len,
                    Before::Had(_) | Before::Forgotten => tally.elsewhere += len,
                },
            );
            tally.data = tally.data.max(data.progress(position + piece.len));
        }
        // Payload that this subflow retransmits counts as its own, regardless of the first
        // carrier.
        let reinjected = tally.elsewhere.saturating_sub(placed.again.saturating_sub(tally.repeated));
        if let Some(subflow) = &mut flow.streams[d].subflow {
            subflow.count(since, u64::from(len), &tally, reinjected, placed.again);
        }
    }
}

/// Earlier state of a segment's bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    new: u64,
    elsewhere: u64,
    repeated: u64,
    unmapped: u64,
    data: u64,
}

impl SubflowStream {
    fn count(&mut self, since: Instant, len: u64, tally: &Tally, reinjected: u64, again: u64) {
        self.new += tally.new;
        self.reinjected += reinjected;
        self.reinjected_segments += u64::from(reinjected > 0);
        // The same data at other sequence numbers of one subflow: no regular sender does this.
        self.repeated += (tally.repeated + tally.elsewhere).saturating_sub(again + reinjected);
        self.unmapped += tally.unmapped;
        let bin = self.series.bin(since);
        bin.payload += len;
        bin.new += tally.new;
        bin.reinjected += reinjected;
        bin.retransmitted += again;
        bin.data = bin.data.max(tally.data);
    }
}

fn options(tcp: &Tcp<'_>, counts: &mut Options) -> Seen {
    let mut seen = Seen::default();
    for option in tcp.header.options() {
        let Ok(option) = option else {
            counts.malformed += 1;
            break;
        };
        counts.count(&option);
        seen.mptcp |= event::is_mptcp(&option);
        match option {
            TcpOption::Timestamps(stamps) => seen.stamps = Some(stamps),
            TcpOption::Dss(dss) => _ = seen.dss.get_or_insert(dss),
            TcpOption::Signal(signal) => _ = seen.signal.get_or_insert(signal),
            TcpOption::Rec(option) => _ = seen.rec.get_or_insert(option),
            _ => {}
        }
    }
    seen
}
