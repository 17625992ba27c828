//! Results of a capture as plain numbers, in the form of `result.json`.

use crate::event::{Event, Options};
use crate::flow::{Evidence, Flow, Membership, Stream};
use crate::frame::End;
use crate::reader::Ended;
use crate::series::{Bin, Series};
use crate::sketch::Quantiles;
use crate::tracker::{Connection, MAX_EVENTS, MAX_FLOWS, MAX_SUBFLOWS, Tracker};
use core::net::SocketAddr;
use serde::{Serialize, Serializer};
use units::{Duration, Instant};
use wire::pcapng::Direction;

/// Maximum number of listed TCP connections, those with the most bytes first.
const MAX_PLAIN: usize = 1000;
/// Maximum number of subflow directions with a series, those with the most bytes first.
const MAX_SERIES: usize = 32;

/// Results of a capture. Times are seconds since its first packet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `capture`.
    pub kind: &'static str,
    /// Version of this program.
    pub tandem: &'static str,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// Bytes read.
    pub file_bytes: u64,
    /// Names of the interfaces; empty for unnamed ones.
    pub interfaces: Vec<String>,
    /// `whole`, `cut` (within a record) or `damaged`.
    pub ended: &'static str,
    /// Time from the first packet to the last.
    pub duration_s: f64,
    /// Packets of all kinds.
    pub packets: u64,
    /// Part of them: TCP segments with a complete header.
    pub segments: u64,
    /// Connections of Multipath TCP, in order of their first segment.
    pub connections: Vec<ConnectionSummary>,
    /// Requests of MPTCP-rec's receivers.
    pub mptcp_rec: Vec<RateRequestSummary>,
    /// Other signals, up to a limit.
    pub events: Vec<Event>,
    /// Number of segments with each option.
    #[serde(serialize_with = "counts")]
    pub options: Options,
    /// Connections of plain TCP, those with the most bytes first.
    pub tcp: Vec<PlainSummary>,
    /// Omissions and anomalies, as sentences.
    pub notes: Vec<String>,
    /// Time series.
    #[serde(skip)]
    pub series: SeriesSet,
}

impl Summary {
    /// TCP payload that an interface delivered to clients, over subflows and plain TCP: bytes,
    /// each as often as it passed. Plain TCP counts listed connections only.
    pub fn payload_down_bytes(&self, interface: &str) -> u64 {
        let subflows = self.connections.iter().flat_map(|connection| &connection.subflows);
        let subflows = subflows.filter(|one| one.interface == interface).map(|one| one.down.payload_bytes);
        let plain = self.tcp.iter().filter(|one| one.interface == interface).map(|one| one.down_bytes);
        subflows.chain(plain).sum()
    }
}

/// A connection of Multipath TCP.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionSummary {
    /// Number, from 1.
    pub number: usize,
    /// `handshake`: the keys were seen; `missing`: it began before the capture.
    pub beginning: &'static str,
    /// Tokens of client and server in hexadecimal, if their keys were seen.
    pub tokens: [Option<String>; 2],
    /// True if it uses data checksums.
    pub checksums: bool,
    /// True if it has fallen back to TCP.
    pub fell_back: bool,
    /// Time of the first segment.
    pub from_s: f64,
    /// Time of the last segment.
    pub to_s: f64,
    /// Client to server.
    pub up: DataSummary,
    /// Server to client.
    pub down: DataSummary,
    /// Subflows in order of appearance.
    pub subflows: Vec<SubflowSummary>,
}

/// One direction of a connection at data level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DataSummary {
    /// Bytes of the stream, each counted once.
    pub bytes: u64,
    /// Maximum of bytes beyond a gap.
    pub peak_out_of_order_bytes: u64,
    /// Time of that maximum.
    pub peak_at_s: Option<f64>,
    /// Place of the capture for this data: near the `receiver`, whose reordering the figures then
    /// show, near the `sender`, or `between`; `null` if unknown.
    pub seen_near: Option<&'static str>,
    /// Bytes missing before the furthest ones.
    pub missing_bytes: u64,
    /// Time of the DATA_FIN.
    pub finished_s: Option<f64>,
}

/// A subflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubflowSummary {
    /// Number within its connection, from 1.
    pub number: usize,
    /// Name in tables: the interface's, if it belongs to this subflow only, otherwise the client's
    /// address.
    pub path: String,
    /// Interface that saw it.
    pub interface: String,
    /// Address and port of the client.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// `client` or `server`.
    pub opened_by: &'static str,
    /// `mp_capable`: the first subflow; `token`: joined by MP_JOIN; `data`: the beginning is
    /// missing, the data match; `alone`: the beginning is missing, no match.
    pub joined_by: &'static str,
    /// True if opened as a backup.
    pub backup: bool,
    /// Time of the first segment.
    pub from_s: f64,
    /// Time of the last segment.
    pub to_s: f64,
    /// `fin`, `rst`, or `null`.
    pub closed: Option<&'static str>,
    /// Handshake, if its beginning was seen.
    pub handshake: Option<HandshakeSummary>,
    /// Round-trip time.
    pub rtt: Option<RttSummary>,
    /// Segments that the file contains twice, from several interfaces or both directions of one;
    /// they count once.
    pub seen_elsewhere: u64,
    /// Client to server.
    pub up: Carried,
    /// Server to client.
    pub down: Carried,
}

/// Durations of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HandshakeSummary {
    /// SYNs sent.
    pub syns: u32,
    /// From the first SYN to the SYN/ACK.
    pub answer_ms: Option<f64>,
    /// From the first SYN to the third segment: a round trip at any place of capture.
    pub total_ms: Option<f64>,
}

/// Round-trip times from the place of capture to one end and back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RttSummary {
    /// End: `client` or `server`.
    pub to: &'static str,
    /// `timestamps` (RFC 7323), or `data`: from data to its acknowledgement.
    pub by: &'static str,
    /// Number of samples.
    pub samples: u64,
    /// Minimum.
    pub min_ms: f64,
    /// Median, within 1.6 %.
    pub median_ms: f64,
    /// 95th percentile, within 1.6 %.
    pub p95_ms: f64,
}

/// Counters of one direction of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Carried {
    /// Segments of any kind.
    pub segments: u64,
    /// Part of them with payload.
    pub data_segments: u64,
    /// Bytes with IP headers.
    pub wire_bytes: u64,
    /// Payload, each byte as often as it passed.
    pub payload_bytes: u64,
    /// Payload that no subflow had carried before.
    pub new_bytes: u64,
    /// Its share of the new payload of all subflows, from 0 to 1.
    pub share: Option<f64>,
    /// Payload that another subflow had carried before, and this one had not.
    pub reinjected_bytes: u64,
    /// Segments with reinjected payload.
    pub reinjected_segments: u64,
    /// Payload with sequence numbers that this subflow had carried before.
    pub retransmitted_bytes: u64,
    /// Segments with retransmitted payload.
    pub retransmitted_segments: u64,
    /// Segments that fill a gap: retransmitted after a loss before the capture, or reordered.
    pub late_segments: u64,
    /// Payload with data that this subflow had carried at another sequence number.
    pub repeated_bytes: u64,
    /// Payload without a mapping.
    pub unmapped_bytes: u64,
    /// Payload up to the first gap; `None` without the subflow's beginning. Linux's
    /// `tcpi_bytes_received` at the other end.
    pub in_order_bytes: Option<u64>,
    /// Payload acknowledged by the other end; `None` likewise. One less than `tcpi_bytes_acked`,
    /// which counts the SYN.
    pub acknowledged_bytes: Option<u64>,
}

/// Requests of a receiver for one path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateRequestSummary {
    /// Number of the connection.
    pub connection: usize,
    /// Sender of the reports: `client` or `server`.
    pub from: &'static str,
    /// Path of the reports.
    pub path: u8,
    /// Number of reports.
    pub reports: u64,
    /// Blocks of received data in them.
    pub blocks: u64,
    /// Rates, in bytes per second.
    pub last_rate: u32,
    /// Minimum.
    pub least_rate: u32,
    /// Maximum.
    pub most_rate: u32,
}

/// A connection of plain TCP.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlainSummary {
    /// Interface that saw it.
    pub interface: String,
    /// Address and port of the client; without a SYN, the end with the higher port.
    pub client: SocketAddr,
    /// Address and port of the server.
    pub server: SocketAddr,
    /// True if it offered Multipath TCP, or joined with it, without success.
    pub offered: bool,
    /// Time of the first segment.
    pub from_s: f64,
    /// Time of the last segment.
    pub to_s: f64,
    /// Segments of both directions.
    pub segments: u64,
    /// Payload, client to server.
    pub up_bytes: u64,
    /// Payload, server to client.
    pub down_bytes: u64,
    /// Segments with payload carried before.
    pub retransmitted_segments: u64,
}

/// Time series of subflows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SeriesSet {
    /// Width of a bin in seconds.
    pub interval_s: f64,
    /// Directions with the most bytes, ordered by connection and subflow.
    pub streams: Vec<StreamSeries>,
}

/// One direction of a subflow over time.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamSeries {
    /// Number of the connection.
    pub connection: usize,
    /// Number of the subflow.
    pub subflow: usize,
    /// Path.
    pub path: String,
    /// `up` or `down`.
    pub direction: &'static str,
    /// One bin per interval.
    pub bins: Vec<Bin>,
}

impl Summary {
    /// Content of `result.json`; docs/reference/output.md describes it.
    pub fn to_json(&self) -> serde_json::Value {
        // Numbers, texts and lists always serialise.
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn counts<S: Serializer>(options: &Options, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(options.counts())
}

/// Facts about the file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) format: &'static str,
    pub(crate) bytes: u64,
    pub(crate) interfaces: Vec<String>,
    pub(crate) ended: Ended,
    pub(crate) unknown_interface: u64,
}

pub(crate) fn summary(tracker: &Tracker, file: File) -> Summary {
    let begin = tracker.begin.unwrap_or(Instant::ZERO);
    let context = Context { tracker, interfaces: &file.interfaces, begin };
    let connections: Vec<ConnectionSummary> =
        tracker.connections.iter().enumerate().map(|(i, one)| context.connection(i + 1, one)).collect();
    let mut mptcp_rec = Vec::new();
    for (i, one) in tracker.connections.iter().enumerate() {
        for (sender, data) in one.data.iter().enumerate() {
            mptcp_rec.extend(data.rate_requests.iter().map(|(&path, requests)| RateRequestSummary {
                connection: i + 1,
                from: ["server", "client"][sender],
                path,
                reports: requests.count,
                blocks: requests.blocks,
                last_rate: requests.last,
                least_rate: requests.least,
                most_rate: requests.most,
            }));
        }
    }
    let mut tcp: Vec<PlainSummary> = tracker
        .flows
        .iter()
        .filter(|flow| flow.membership.is_none())
        .map(|flow| context.plain(flow))
        .collect();
    tcp.sort_by_key(|flow| core::cmp::Reverse(flow.up_bytes + flow.down_bytes));
    let mut notes = notes(tracker, &file, tcp.len());
    tcp.truncate(MAX_PLAIN);
    let series = series(tracker, &connections, &mut notes);
    let duration_s = context.since_begin(tracker.end);
    Summary {
        kind: "capture",
        tandem: env!("CARGO_PKG_VERSION"),
        format: file.format,
        file_bytes: file.bytes,
        interfaces: file.interfaces,
        ended: match file.ended {
            Ended::Whole => "whole",
            Ended::Cut { .. } => "cut",
            Ended::Damaged { .. } => "damaged",
        },
        duration_s,
        packets: tracker.packets,
        segments: tracker.segments,
        connections,
        mptcp_rec,
        events: tracker.events.clone(),
        options: tracker.options,
        tcp,
        notes,
        series,
    }
}

/// Source of all summaries: the analysis, and facts about its capture.
#[derive(Debug, Clone, Copy)]
struct Context<'a> {
    tracker: &'a Tracker,
    /// Names of the interfaces.
    interfaces: &'a [String],
    begin: Instant,
}

impl Context<'_> {
    /// Seconds since the beginning of the capture.
    fn since_begin(&self, at: Instant) -> f64 {
        at.since(self.begin).as_secs_f64()
    }

    fn connection(&self, number: usize, one: &Connection) -> ConnectionSummary {
        let members: Vec<(&Flow, Membership)> = one
            .subflows
            .iter()
            .filter_map(|&index| self.tracker.flows.get(index))
            .filter_map(|flow| Some((flow, flow.membership?)))
            .collect();
        let new = [0, 1].map(|side: usize| one.data[side].new_bytes);
        let mut subflows: Vec<SubflowSummary> =
            members.iter().map(|(flow, membership)| self.subflow(flow, *membership, new)).collect();
        name_paths(&mut subflows);
        let known = one.data.iter().any(crate::data::Data::knows_beginning);
        let from = subflows.iter().map(|subflow| subflow.from_s).reduce(f64::min);
        let to = subflows.iter().map(|subflow| subflow.to_s).reduce(f64::max);
        ConnectionSummary {
            number,
            beginning: if known { "handshake" } else { "missing" },
            tokens: one.tokens.map(|token| token.map(|token| format!("{token:08x}"))),
            checksums: one.checksums,
            fell_back: one.fell_back,
            from_s: from.unwrap_or(0.0),
            to_s: to.unwrap_or(0.0),
            up: self.data(one, &members, 0),
            down: self.data(one, &members, 1),
            subflows,
        }
    }

    /// Summary of the data that `side` sent.
    fn data(&self, one: &Connection, members: &[(&Flow, Membership)], side: usize) -> DataSummary {
        let data = &one.data[side];
        // Of several subflows, the place that saw most of the data.
        let most = members.iter().max_by_key(|(flow, m)| flow.streams[m.side ^ side].payload);
        DataSummary {
            bytes: data.new_bytes,
            peak_out_of_order_bytes: data.peak_beyond,
            peak_at_s: data.peak_at.map(|at| self.since_begin(at)),
            seen_near: most.and_then(|(flow, m)| near(flow, *m)).map(|near| match near {
                Near::Side(at) if at == side => "sender",
                Near::Side(_) => "receiver",
                Near::Between => "between",
            }),
            missing_bytes: data.missing(),
            finished_s: data.finished.map(|at| self.since_begin(at)),
        }
    }

    /// Summary of a subflow in a connection with `new` bytes of data from each side. Its path is
    /// not named yet.
    fn subflow(&self, flow: &Flow, membership: Membership, new: [u64; 2]) -> SubflowSummary {
        // Index of the client's end.
        let client = membership.side;
        SubflowSummary {
            number: usize::from(membership.number) + 1,
            path: String::new(),
            interface: interface(flow, self.interfaces),
            client: socket(flow.ends[client]),
            server: socket(flow.ends[1 - client]),
            opened_by: if flow.opener == client { "client" } else { "server" },
            joined_by: match membership.evidence {
                Evidence::Capable => "mp_capable",
                Evidence::Token => "token",
                Evidence::Data => "data",
                Evidence::None => "alone",
            },
            backup: flow.backup,
            from_s: self.since_begin(flow.first),
            to_s: self.since_begin(flow.last),
            closed: if flow.reset { Some("rst") } else { flow.closed.then_some("fin") },
            handshake: flow.handshake.syn.map(|syn| {
                let after = |at: Option<Instant>| at.map(|at| millis(at.since(syn)));
                HandshakeSummary {
                    syns: flow.handshake.syns,
                    answer_ms: after(flow.handshake.answer),
                    total_ms: after(flow.handshake.ack),
                }
            }),
            rtt: rtt(flow, membership),
            seen_elsewhere: flow.elsewhere,
            up: carried(&flow.streams[client], new[0]),
            down: carried(&flow.streams[1 - client], new[1]),
        }
    }

    fn plain(&self, flow: &Flow) -> PlainSummary {
        let client = flow.opener;
        let [up, down] = [&flow.streams[client], &flow.streams[1 - client]];
        PlainSummary {
            interface: interface(flow, self.interfaces),
            client: socket(flow.ends[client]),
            server: socket(flow.ends[1 - client]),
            offered: flow.offered || flow.token.is_some(),
            from_s: self.since_begin(flow.first),
            to_s: self.since_begin(flow.last),
            segments: up.segments + down.segments,
            up_bytes: up.payload,
            down_bytes: down.payload,
            retransmitted_segments: up.retransmitted_segments + down.retransmitted_segments,
        }
    }
}

/// Names each path by its interface if no other subflow uses it, else by the client's address, and
/// by its port too if several subflows have the same name.
fn name_paths(subflows: &mut [SubflowSummary]) {
    let interfaces: Vec<String> = subflows.iter().map(|subflow| subflow.interface.clone()).collect();
    for (subflow, interface) in subflows.iter_mut().zip(&interfaces) {
        let is_alone = interfaces.iter().filter(|other| *other == interface).count() == 1;
        subflow.path = if is_alone && !interface.is_empty() {
            interface.clone()
        } else {
            subflow.client.ip().to_string()
        };
    }
    let paths: Vec<String> = subflows.iter().map(|subflow| subflow.path.clone()).collect();
    for subflow in subflows {
        if paths.iter().filter(|other| **other == subflow.path).count() > 1 {
            subflow.path = subflow.client.to_string();
        }
    }
}

/// Counters of one direction of a subflow; its side sent `new` bytes of data on all subflows.
fn carried(stream: &Stream, new: u64) -> Carried {
    let subflow = stream.subflow.as_deref().cloned().unwrap_or_default();
    Carried {
        segments: stream.segments,
        data_segments: stream.data_segments,
        wire_bytes: stream.wire,
        payload_bytes: stream.payload,
        new_bytes: subflow.new,
        share: (new > 0).then(|| subflow.new as f64 / new as f64),
        reinjected_bytes: subflow.reinjected,
        reinjected_segments: subflow.reinjected_segments,
        retransmitted_bytes: stream.retransmitted,
        retransmitted_segments: stream.retransmitted_segments,
        late_segments: stream.late_segments,
        repeated_bytes: subflow.repeated,
        unmapped_bytes: subflow.unmapped,
        in_order_bytes: stream.in_order(),
        acknowledged_bytes: stream.acknowledged(),
    }
}

/// Round trips from timestamps if both ends use them, to the far end if it is known.
fn rtt(flow: &Flow, membership: Membership) -> Option<RttSummary> {
    // Segments of the client measure the way to the server.
    let ways = [("server", membership.side), ("client", 1 - membership.side)];
    let far = match near(flow, membership) {
        Some(Near::Side(0)) => Some("server"),
        Some(Near::Side(_)) => Some("client"),
        _ => None,
    };
    let of = |by: &'static str| {
        let found = ways.into_iter().filter_map(|(to, d)| {
            let rtt = &flow.streams.get(d)?.subflow.as_ref()?.rtt;
            let sketch = if by == "timestamps" { &rtt.by_stamps } else { &rtt.by_data };
            Some((to, sketch.quantiles()?))
        });
        found.max_by_key(|(to, found)| (Some(*to) == far, found.median)).map(
            |(to, Quantiles { count, least, median, p95 })| RttSummary {
                to,
                by,
                samples: count,
                min_ms: millis(least),
                median_ms: millis(median),
                p95_ms: millis(p95),
            },
        )
    };
    of("timestamps").or_else(|| of("data"))
}

/// Place of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Near {
    /// Near this side of the connection.
    Side(usize),
    Between,
}

/// By the packets' directions if the file has them, else by the handshake: the near end answers at
/// once.
fn near(flow: &Flow, membership: Membership) -> Option<Near> {
    for (d, stream) in flow.streams.iter().enumerate() {
        match stream.point.and_then(|point| point.direction) {
            Some(Direction::Outbound) => return Some(Near::Side(membership.side ^ d)),
            Some(Direction::Inbound) => return Some(Near::Side(membership.side ^ (1 - d))),
            None => {}
        }
    }
    let handshake = flow.handshake;
    let (syn, answer, ack) = (handshake.syn?, handshake.answer?, handshake.ack?);
    if handshake.syns > 1 {
        return None;
    }
    let (there, here) = (answer.since(syn), ack.since(answer));
    let opener = membership.side ^ flow.opener;
    let times = |a: Duration, b: Duration| a.as_nanos() / 4 > b.as_nanos();
    Some(if times(there, here) {
        Near::Side(opener)
    } else if times(here, there) {
        Near::Side(1 - opener)
    } else {
        Near::Between
    })
}

fn interface(flow: &Flow, names: &[String]) -> String {
    let Some(point) = flow.streams.iter().find_map(|stream| stream.point) else { return String::new() };
    match (names.get(point.interface as usize), point.index) {
        (Some(name), _) if !name.is_empty() && name != "any" => name.clone(),
        (_, Some(index)) => format!("interface {index}"),
        (name, None) => name.cloned().unwrap_or_default(),
    }
}

fn series(tracker: &Tracker, connections: &[ConnectionSummary], notes: &mut Vec<String>) -> SeriesSet {
    let mut streams: Vec<(u64, usize, usize, usize, &Series)> = Vec::new();
    for (c, one) in tracker.connections.iter().enumerate() {
        for (s, flow) in one.subflows.iter().filter_map(|&index| tracker.flows.get(index)).enumerate() {
            let Some(membership) = flow.membership else { continue };
            for side in [0, 1] {
                let stream = &flow.streams[membership.side ^ side];
                if let Some(subflow) = &stream.subflow
                    && stream.payload > 0
                {
                    streams.push((stream.payload, c, s, side, &subflow.series));
                }
            }
        }
    }
    streams.sort_by_key(|(payload, c, s, side, _)| (core::cmp::Reverse(*payload), *c, *s, *side));
    if streams.len() > MAX_SERIES {
        let left = streams.len() - MAX_SERIES;
        notes.push(format!(
            "the series and charts have the {MAX_SERIES} busiest directions; {left} are left out"
        ));
        streams.truncate(MAX_SERIES);
    }
    streams.sort_by_key(|(_, c, s, side, _)| (*c, *s, *side));
    let doublings = streams.iter().map(|(.., series)| series.doublings()).max().unwrap_or(0);
    let streams = streams
        .into_iter()
        .filter_map(|(_, c, s, side, series)| {
            Some(StreamSeries {
                connection: c + 1,
                subflow: s + 1,
                path: connections.get(c)?.subflows.get(s)?.path.clone(),
                direction: ["up", "down"][side],
                bins: series.at(doublings),
            })
        })
        .collect();
    SeriesSet { interval_s: Series::width_ns(doublings) as f64 / 1e9, streams }
}

fn notes(tracker: &Tracker, file: &File, plain: usize) -> Vec<String> {
    let mut notes = Vec::new();
    match &file.ended {
        Ended::Whole => {}
        Ended::Cut { offset } => {
            notes.push(format!(
                "the file ends in the middle of the record at byte {offset}, which is left out"
            ));
        }
        Ended::Damaged { offset, what } => {
            notes.push(format!("the file is damaged at byte {offset} ({what}); the rest is left out"));
        }
    }
    let omitted = &tracker.omitted;
    let forgotten: u64 =
        tracker.connections.iter().flat_map(|one| &one.data).map(crate::data::Data::forgotten).sum::<u64>()
            + tracker
                .flows
                .iter()
                .flat_map(|flow| &flow.streams)
                .map(crate::flow::Stream::forgotten)
                .sum::<u64>();
    let elsewhere: u64 = tracker.flows.iter().map(|flow| flow.elsewhere).sum();
    let counts = [
        (
            file.unknown_interface,
            "packets of interfaces that the file does not describe, left out".to_owned(),
        ),
        (omitted.link, "packets of link types that cannot be read, left out".to_owned()),
        (omitted.fragment, "fragments of IP packets, left out".to_owned()),
        (omitted.cut, "packets cut within their headers, left out".to_owned()),
        (omitted.malformed, "packets with impossible lengths, left out".to_owned()),
        (tracker.options.malformed, "segments with options that cannot be read".to_owned()),
        (elsewhere, "segments seen on a second interface, counted once".to_owned()),
        (omitted.flows, format!("segments of flows beyond the first {MAX_FLOWS}, left out")),
        (
            omitted.subflows,
            format!("segments of subflows beyond the first {MAX_SUBFLOWS}, counted as plain TCP"),
        ),
        (omitted.events, format!("events beyond the first {MAX_EVENTS}, left out")),
        (forgotten, "bytes in gaps older than the latest ranges: they count as seen".to_owned()),
        (
            plain.saturating_sub(MAX_PLAIN) as u64,
            "flows of plain TCP, those with the least bytes, not listed".to_owned(),
        ),
    ];
    notes.extend(
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
    );
    notes
}

fn socket(end: End) -> SocketAddr {
    SocketAddr::new(end.ip(), end.port)
}

fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
