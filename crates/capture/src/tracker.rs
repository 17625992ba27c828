//! Assigns segments to flows and flows to connections, and counts.

use crate::data::{Data, RateRequests};
use crate::event::{self, Event, Options};
use crate::flow::{Evidence, Flow, Membership, Placed, Point, SubflowStream};
use crate::frame::{self, End, Skipped, Tcp};
use crate::reader::Frame;
use crate::seen::Before;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use units::Instant;
use wire::tcp::TcpOption;
use wire::{Dss, Flags, MptcpSignal, RecOption, TimestampOption};

/// Maximum number of TCP connections.
pub(crate) const MAX_FLOWS: usize = 50_000;
/// Maximum number of MPTCP subflows.
pub(crate) const MAX_SUBFLOWS: usize = 2000;
/// Maximum number of events.
pub(crate) const MAX_EVENTS: usize = 2000;
/// Number of ranges of out-of-order data that all sequences share beyond those of each.
const SHARED_RANGES: usize = 1 << 22;
/// Number of slots for flows of the latest packets, found without a search.
const FLOW_CACHE_SLOTS: usize = 16;
/// Maximum distance of data that assigns a subflow without a beginning to a connection.
const MAX_DATA_DISTANCE: u64 = 1 << 28;
/// The same for 32-bit numbers, which would match by chance more often.
const MAX_SHORT_DATA_DISTANCE: u64 = 1 << 22;

/// Maximum number of connections that are tried for a subflow without a beginning, latest first.
const MAX_CANDIDATES: usize = 256;

type Key = (End, End);

/// A connection of Multipath TCP. Side 0 opened it.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    /// Data of each side.
    pub(crate) data: [Data; 2],
    pub(crate) tokens: [Option<u32>; 2],
    /// Indices of flows.
    pub(crate) subflows: Vec<usize>,
    /// True if either side requires checksums.
    pub(crate) checksums: bool,
    pub(crate) fell_back: bool,
}

/// Counts of omitted parts of the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Omitted {
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
    pub(crate) omitted: Omitted,
    subflows: usize,
    spare_ranges: usize,
    keys: BTreeMap<Key, usize>,
    cache: [Option<(Key, usize)>; FLOW_CACHE_SLOTS],
    tokens: BTreeMap<u32, (usize, usize)>,
}

/// Relevant options of a segment.
#[derive(Debug, Clone, Copy, Default)]
struct SegmentOptions {
    stamps: Option<TimestampOption>,
    dss: Option<Dss>,
    signal: Option<MptcpSignal>,
    rec: Option<RecOption>,
    mptcp: bool,
}

/// A segment of a subflow, with the result at subflow level.
#[derive(Debug, Clone, Copy)]
struct SubflowSegment<'a> {
    now: Instant,
    /// Index of the flow.
    flow: usize,
    /// Direction in the flow.
    direction: usize,
    membership: Membership,
    tcp: &'a Tcp<'a>,
    options: SegmentOptions,
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
            omitted: Omitted::default(),
            subflows: 0,
            spare_ranges: SHARED_RANGES,
            keys: BTreeMap::new(),
            cache: [None; FLOW_CACHE_SLOTS],
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
            Err(Skipped::Link) => self.omitted.link += 1,
            Err(Skipped::Protocol) => self.omitted.protocol += 1,
            Err(Skipped::Fragment) => self.omitted.fragment += 1,
            Err(Skipped::Cut) => self.omitted.cut += 1,
            Err(Skipped::Malformed) => self.omitted.malformed += 1,
        }
    }

    fn segment(&mut self, now: Instant, interface: u32, tcp: &Tcp<'_>) {
        let direction = usize::from(tcp.source > tcp.destination);
        let flags = tcp.header.flags();
        let (seq, is_syn) = (tcp.header.seq(), flags.has(Flags::SYN));
        let Some(index) = self.flow(now, direction, tcp) else {
            self.omitted.flows += 1;
            return;
        };
        let flow = &mut self.flows[index];
        let point = Point { interface, index: tcp.index, direction: tcp.direction };
        if !flow.streams[direction].point.get_or_insert(point).is(point) {
            if !flow.is_progress(direction, tcp) {
                flow.elsewhere += 1;
                return;
            }
            // The stream now takes another route.
            flow.streams[direction].point = Some(point);
        }
        let options = options(tcp, &mut self.options);
        flow.last = flow.last.max(now);
        flow.on_handshake_and_end(now, direction, tcp);
        let stream = &mut flow.streams[direction];
        stream.segments += 1;
        stream.wire += u64::from(tcp.wire_len);

        if flags.has(Flags::ACK) {
            flow.streams[1 - direction].acknowledge(tcp.header.ack());
        }
        if options.mptcp {
            self.assign(index, direction, flags, &options);
        }
        let flow = &mut self.flows[index];
        let len = if is_syn { 0 } else { tcp.payload_len };
        let payload =
            (len > 0).then(|| (flow.streams[direction].place(seq, len, &mut self.spare_ranges), len));
        if let Some(membership) = flow.membership {
            let segment = SubflowSegment { now, flow: index, direction, membership, tcp, options, payload };
            self.on_subflow_segment(&segment);
        }
    }

    /// Flow of a segment; `None` beyond the limit.
    fn flow(&mut self, now: Instant, direction: usize, tcp: &Tcp<'_>) -> Option<usize> {
        let (flags, seq) = (tcp.header.flags(), tcp.header.seq());
        let key = if direction == 0 { (tcp.source, tcp.destination) } else { (tcp.destination, tcp.source) };
        let slot = usize::from(key.0.port ^ key.1.port) % FLOW_CACHE_SLOTS;
        let known = match self.cache[slot] {
            Some((cached, index)) if cached == key => Some(index),
            _ => self.keys.get(&key).copied(),
        };
        let opens = flags.has(Flags::SYN) && !flags.has(Flags::ACK);
        // A SYN with another number opens a new connection that reuses the ports.
        let is_reused = |index: usize| {
            let stream = &self.flows[index].streams[direction];
            opens && stream.initial != Some(seq) && (stream.initial.is_some() || stream.segments > 0)
        };
        let index = if let Some(index) = known.filter(|&index| !is_reused(index)) {
            index
        } else {
            if self.flows.len() >= MAX_FLOWS {
                // Later segments with these ports belong to the new connection.
                self.keys.remove(&key);
                self.cache[slot] = None;
                return None;
            }
            // Without a SYN, the lower port is taken as the server's.
            let opener = match flags.has(Flags::SYN) {
                true if opens => direction,
                true => 1 - direction,
                false => usize::from(key.1.port > key.0.port),
            };
            self.flows.push(Flow::new([key.0, key.1], opener, now));
            self.keys.insert(key, self.flows.len() - 1);
            self.flows.len() - 1
        };
        self.cache[slot] = Some((key, index));
        Some(index)
    }

    /// Assigns the flow by the options of its handshake.
    fn assign(&mut self, index: usize, direction: usize, flags: Flags, options: &SegmentOptions) {
        let flow = &mut self.flows[index];
        match options.signal {
            Some(MptcpSignal::Capable { version, sender_key, receiver_key, checksum, .. }) => {
                flow.offered = true;
                // An MP_CAPABLE answer of another version or without a key is not valid (RFC 8684,
                // section 3.1).
                if let Some(sender) = sender_key
                    && version == 1
                {
                    let Some(membership) = self.capable_membership(index) else { return };
                    let side = membership.side ^ direction;
                    let connection = membership.connection as usize;
                    self.connections[connection].checksums |= checksum;
                    self.record_key(connection, side, sender);
                    if let Some(receiver) = receiver_key {
                        self.record_key(connection, 1 - side, receiver);
                    }
                }
            }
            Some(MptcpSignal::JoinSyn { token, backup, .. }) if flags.has(Flags::SYN) => {
                flow.backup = backup;
                match self.tokens.get(&token) {
                    // The token identifies the receiving side.
                    Some(&(connection, side)) => {
                        self.join(index, connection, side ^ (1 - direction), Evidence::Token);
                    }
                    None => flow.token = Some(token),
                }
            }
            Some(MptcpSignal::JoinSynAck { backup, .. }) => flow.backup |= backup,
            _ => {}
        }
        if let Some(dss) = options.dss
            && self.flows[index].membership.is_none()
        {
            self.assign_by_data(index, direction, &dss);
        }
    }

    /// Membership of a flow with MP_CAPABLE: the first subflow of a connection, unless it is known.
    /// `None` beyond the limit.
    fn capable_membership(&mut self, index: usize) -> Option<Membership> {
        if self.flows[index].membership.is_none() {
            if self.subflows >= MAX_SUBFLOWS {
                self.omitted.subflows += 1;
                return None;
            }
            let (connection, opener) = (self.new_connection(), self.flows[index].opener);
            self.join(index, connection, opener, Evidence::Capable);
        }
        self.flows[index].membership
    }

    /// Assigns a subflow of an unknown connection by its data.
    fn assign_by_data(&mut self, index: usize, direction: usize, dss: &Dss) {
        let flow = &self.flows[index];
        // After a handshake without Multipath TCP, both ends ignore these options.
        let (dsn, short, from) = if let Some(mapping) = dss.mapping {
            (mapping.dsn, dss.dsn_is_short, direction)
        } else if let Some(ack) = dss.data_ack {
            (ack, dss.ack_is_short, 1 - direction)
        } else {
            return;
        };
        let token = flow.token;
        let by_token = token.and_then(|token| self.tokens.get(&token)).copied();
        let (connection, side0, evidence) = if let Some((connection, side)) = by_token {
            (connection, side ^ (1 - flow.opener), Evidence::Token)
        } else if let Some((connection, side)) = self.connection_of_data(flow, dsn, short) {
            // The data belong to `side`; `from` is the sending end.
            (connection, side ^ from, Evidence::Data)
        } else if self.subflows >= MAX_SUBFLOWS {
            self.omitted.subflows += 1;
            return;
        } else {
            // The token belongs to the side that received the join, usually the server.
            let opener = flow.opener;
            (self.new_connection(), opener, Evidence::None)
        };
        self.join(index, connection, side0, evidence);
        if let Some(token) = token
            && by_token.is_none()
            && let Some(membership) = self.flows[index].membership
        {
            let receiver = membership.side ^ (1 - self.flows[index].opener);
            self.connections[connection].tokens[receiver].get_or_insert(token);
            self.tokens.entry(token).or_insert((connection, receiver));
        }
    }

    /// Latest connection with data near `dsn`, and the side of that data.
    fn connection_of_data(&self, flow: &Flow, dsn: u64, short: bool) -> Option<(usize, usize)> {
        // A connection with a known handshake is not joined to another.
        if flow.handshake.syn.is_some() && flow.token.is_none() {
            return None;
        }
        let addresses = flow.ends.map(|end| end.address);
        let shares_address = |connection: &Connection| {
            let mut ends = connection.subflows.iter().flat_map(|&other| &self.flows[other].ends);
            ends.any(|end| addresses.contains(&end.address))
        };
        let side_of_data = |connection: &Connection| {
            let candidates = (0..2).filter_map(|side| {
                let (distance, exact) = connection.data[side].distance(dsn, short)?;
                let is_near = if exact {
                    distance < MAX_DATA_DISTANCE
                } else {
                    distance < MAX_SHORT_DATA_DISTANCE && shares_address(connection)
                };
                is_near.then_some((!exact, distance, side))
            });
            candidates.min().map(|(.., side)| side)
        };
        let mut latest = self.connections.iter().enumerate().rev().take(MAX_CANDIDATES);
        latest.find_map(|(i, connection)| Some((i, side_of_data(connection)?)))
    }

    fn new_connection(&mut self) -> usize {
        self.connections.push(Connection {
            data: [Data::new(), Data::new()],
            tokens: [None; 2],
            subflows: Vec::new(),
            checksums: false,
            fell_back: false,
        });
        self.connections.len() - 1
    }

    /// Makes a flow a subflow; `side` is the side of its `ends[0]`.
    fn join(&mut self, index: usize, connection: usize, side: usize, evidence: Evidence) {
        if self.flows[index].membership.is_some() {
            return;
        }
        if self.subflows >= MAX_SUBFLOWS {
            self.omitted.subflows += 1;
            return;
        }
        self.subflows += 1;
        let subflows = &mut self.connections[connection].subflows;
        let number = subflows.len() as u16;
        subflows.push(index);
        let flow = &mut self.flows[index];
        flow.membership = Some(Membership { connection: connection as u32, number, side, evidence });
        for stream in &mut flow.streams {
            stream.subflow = Some(Box::default());
        }
    }

    /// Records a side's key: its token, and the start of its data (RFC 8684, section 3.1).
    fn record_key(&mut self, connection: usize, side: usize, key: u64) {
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

    /// Measures and counts a segment of a subflow.
    fn on_subflow_segment(&mut self, segment: &SubflowSegment<'_>) {
        let connection = &mut self.connections[segment.membership.connection as usize];
        let flow = &mut self.flows[segment.flow];
        let since_begin = Instant::ZERO + segment.now.since(self.begin.unwrap_or(segment.now));
        segment.measure_rtt(flow);
        segment.record_dss(flow, connection);
        segment.record_rate_request(connection);
        connection.data[segment.side()].reserve(&mut self.spare_ranges);
        segment.count_payload(flow, connection, since_begin);
        self.push_events(segment, since_begin);
    }

    /// Records the signals in a segment as events.
    fn push_events(&mut self, segment: &SubflowSegment<'_>, since_begin: Instant) {
        if segment.options.signal.is_none() && segment.options.rec.is_none() {
            return;
        }
        // A segment may have several, such as MP_FASTCLOSE and MP_TCPRST.
        let options = segment.tcp.header.options().map_while(Result::ok);
        for (option, detail) in options.filter_map(|option| event::describe(&option)) {
            if self.events.len() == MAX_EVENTS {
                self.omitted.events += 1;
                continue;
            }
            self.events.push(Event {
                at_s: since_begin.as_secs_f64(),
                connection: segment.membership.connection as usize + 1,
                subflow: usize::from(segment.membership.number) + 1,
                from: ["client", "server"][segment.side()],
                option,
                detail,
            });
        }
    }
}

impl SubflowSegment<'_> {
    /// Side of the connection that sent the segment.
    fn side(&self) -> usize {
        self.membership.side ^ self.direction
    }

    fn payload_len(&self) -> u32 {
        self.payload.map_or(0, |(_, len)| len)
    }

    /// Measures round trips: from here to the sender of this segment, and to the other end.
    fn measure_rtt(&self, flow: &mut Flow) {
        let (now, flags, stamps) = (self.now, self.tcp.header.flags(), self.options.stamps);
        if flags.has(Flags::ACK) {
            let last_data =
                flow.streams[self.direction].subflow.as_ref().and_then(|subflow| subflow.rtt.last_data);
            let opposite = &mut flow.streams[1 - self.direction];
            let ack = opposite.position(self.tcp.header.ack());
            if let Some(subflow) = &mut opposite.subflow {
                if let Some(stamps) = stamps {
                    subflow.rtt.on_echo(now, stamps.echo, last_data);
                }
                subflow.rtt.on_ack(now, ack);
            }
        }
        if let Some(subflow) = &mut flow.streams[self.direction].subflow {
            if let Some(stamps) = stamps
                && !flags.has(Flags::RST)
            {
                let is_answered = self.payload.is_some() || flags.has(Flags::SYN) || flags.has(Flags::FIN);
                subflow.rtt.on_timestamp(now, stamps.value, is_answered);
            }
            if self.payload.is_some() {
                subflow.rtt.last_data = Some(now);
            }
            match self.payload {
                Some((placed, _)) if placed.retransmitted > 0 => subflow.rtt.on_retransmission(),
                Some((placed, len)) => subflow.rtt.on_data(now, placed.from + u64::from(len)),
                None => {}
            }
        }
    }

    /// Records the mapping, DATA_FIN and DATA_ACK of a segment.
    fn record_dss(&self, flow: &mut Flow, connection: &mut Connection) {
        let (side, seq, len) = (self.side(), self.tcp.header.seq(), self.payload_len());
        let stream = &mut flow.streams[self.direction];
        if let Some(dss) = self.options.dss {
            if let Some(mapping) = &dss.mapping {
                stream.map(mapping, dss.dsn_is_short, seq, len);
                connection.fell_back |= mapping.len == 0;
            }
            if dss.data_fin {
                connection.data[side].finished.get_or_insert(self.now);
            }
            if let Some(ack) = dss.data_ack {
                connection.data[1 - side].acknowledged(ack, dss.ack_is_short);
            }
        } else if let Some(MptcpSignal::Capable { data: Some((data_len, _)), .. }) = self.options.signal
            && let Some(initial) = connection.data[side].initial
        {
            // MP_CAPABLE maps the first data (RFC 8684, section 3.1).
            let mapping =
                wire::Mapping { dsn: initial.wrapping_add(1), ssn: 1, len: data_len, checksum: None };
            stream.map(&mapping, false, seq, len);
        }
    }

    /// Records the rate that an MPTCP-rec report requests of the other end.
    fn record_rate_request(&self, connection: &mut Connection) {
        let Some(RecOption::Report(report)) = self.options.rec else { return };
        let requests = &mut connection.data[1 - self.side()].rate_requests;
        let request = requests.entry(report.path).or_insert_with(|| RateRequests::new(report.rate));
        request.add(report.rate, report.blocks.as_slice().len() as u64);
    }

    /// Counts the payload of a segment by its earlier carriers.
    fn count_payload(&self, flow: &mut Flow, connection: &mut Connection, since_begin: Instant) {
        let Some((placed, len)) = self.payload else { return };
        let data = &mut connection.data[self.side()];
        let number = self.membership.number;
        let mut carriers = EarlierCarriers::default();
        let (mut at, end) = (placed.from, placed.from + u64::from(len));
        while at < end {
            let piece = flow.streams[self.direction].piece(at, end - at);
            at += piece.len;
            let Some(from) = piece.dsn.and_then(|(dsn, short)| data.position(dsn, short)) else {
                carriers.unmapped += piece.len;
                continue;
            };
            data.carried(self.now, from..from + piece.len, number, |len, before| match before {
                Before::New => carriers.none += len,
                Before::Owned(owner) if owner == number => carriers.same += len,
                Before::Owned(_) | Before::Ownerless => carriers.other += len,
            });
            carriers.progress = carriers.progress.max(data.progress(from + piece.len));
        }
        if let Some(subflow) = &mut flow.streams[self.direction].subflow {
            subflow.count(since_begin, u64::from(len), placed.retransmitted, &carriers);
        }
    }
}

/// Bytes of a segment by the subflow that carried their data before.
#[derive(Debug, Clone, Copy, Default)]
struct EarlierCarriers {
    /// No subflow: new data.
    none: u64,
    /// Another subflow.
    other: u64,
    /// This subflow.
    same: u64,
    /// Unknown, without a mapping.
    unmapped: u64,
    /// Furthest data of the segment, from the beginning of the data.
    progress: u64,
}

impl SubflowStream {
    fn count(&mut self, since_begin: Instant, len: u64, retransmitted: u64, carriers: &EarlierCarriers) {
        // Payload that this subflow retransmits counts as its own, regardless of the first carrier.
        let reinjected = carriers.other.saturating_sub(retransmitted.saturating_sub(carriers.same));
        self.new += carriers.none;
        self.reinjected += reinjected;
        self.reinjected_segments += u64::from(reinjected > 0);
        // The same data at other sequence numbers of one subflow: no regular sender does this.
        self.repeated += (carriers.same + carriers.other).saturating_sub(retransmitted + reinjected);
        self.unmapped += carriers.unmapped;
        let bin = self.series.bin(since_begin);
        bin.payload += len;
        bin.new += carriers.none;
        bin.reinjected += reinjected;
        bin.retransmitted += retransmitted;
        bin.data = bin.data.max(carriers.progress);
    }
}

fn options(tcp: &Tcp<'_>, counts: &mut Options) -> SegmentOptions {
    let mut seen = SegmentOptions::default();
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
