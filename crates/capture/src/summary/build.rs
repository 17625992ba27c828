//! The summary of an analysed capture.

use super::notes::{MAX_PLAIN, notes};
use super::place::{Near, near};
use super::{
    Carried, ConnectionSummary, DataSummary, File, HandshakeSummary, PlainSummary, RateRequestSummary,
    RttSummary, SeriesSet, StreamSeries, SubflowSummary, Summary,
};
use crate::data::Data;
use crate::flow::{Evidence, Flow, Membership, Stream};
use crate::frame::End;
use crate::reader::Ended;
use crate::series::Series;
use crate::sketch::Quantiles;
use crate::tracker::{Connection, Tracker};
use core::net::{IpAddr, SocketAddr};
use units::{Duration, Instant};

/// Maximum number of subflow directions with a series, those with the most bytes first.
const MAX_SERIES: usize = 32;

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
        let known = one.data.iter().any(Data::knows_beginning);
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

/// Names each path by its interface if this has one address of the client alone, else by the address.
fn name_paths(subflows: &mut [SubflowSummary]) {
    let places: Vec<(String, IpAddr)> =
        subflows.iter().map(|subflow| (subflow.interface.clone(), subflow.client.ip())).collect();
    for (subflow, (interface, address)) in subflows.iter_mut().zip(&places) {
        let is_own = places.iter().all(|(other, with)| (other == interface) == (with == address));
        subflow.path = if is_own && !interface.is_empty() { interface.clone() } else { address.to_string() };
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

/// Round trips from timestamps if both ends use them, to the far end if the place is known. The near
/// end answers at once.
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
        let found = found.filter(|(to, _)| far.is_none_or(|far| far == *to));
        found.max_by_key(|(_, found)| found.median).map(|(to, Quantiles { count, least, median, p95 })| {
            RttSummary {
                to,
                by,
                samples: count,
                min_ms: millis(least),
                median_ms: millis(median),
                p95_ms: millis(p95),
            }
        })
    };
    of("timestamps").or_else(|| of("data"))
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

fn socket(end: End) -> SocketAddr {
    SocketAddr::new(end.ip(), end.port)
}

fn millis(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
