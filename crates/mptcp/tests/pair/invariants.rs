//! Invariants of both ends, checked against every segment and event.

use super::{CLIENT, Pair, SERVER, lies};
use std::collections::BTreeMap;
use tandem_mptcp::{Config, Endpoint, Event, Mode, PathId};
use units::{Duration, Instant};
use wire::{Flags, Payload, Segment, Span};

/// A subflow: its path and the ports of both ends, the lower first.
type Key = (PathId, u16, u16);

/// Segments and events of one end so far.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Right edge of the receive window: counted from the DATA_ACK, and as far as a peer may read
    /// it.
    edge: u64,
    furthest: u64,
    /// The first acknowledgement on its first subflow.
    start: Option<(Key, u32)>,
    data_ack: Option<u32>,
    acknowledged: u64,
    /// Window scale offered, and whether the peer offered one: without both, windows are not
    /// scaled.
    scales: BTreeMap<Key, u8>,
    scaled: BTreeMap<Key, bool>,
    /// Sequence number after the last byte sent.
    sent: BTreeMap<Key, u32>,
    /// When new data was last sent beyond the congestion window.
    beyond_at: BTreeMap<Key, Instant>,
    /// The last acknowledgement.
    acks: BTreeMap<Key, u32>,
    /// DSN and length of each mapping as first sent, by its subflow sequence number.
    mappings: BTreeMap<(Key, u32), (u64, u16)>,
    /// DSN of the stream's first byte.
    first_dsn: Option<u64>,
    data_fin: Option<u64>,
    events_seen: usize,
    ended: bool,
    /// Largest window offered, and how far it would reach from the highest DATA_ACK.
    largest_window: u64,
    reach: u64,
    /// The end may count an old window from a new DATA_ACK, as Linux does.
    overruns: bool,
}

impl History {
    pub(super) fn new(config: &Config) -> Self {
        Self { overruns: config.overruns_window, ..Self::default() }
    }
}

fn key(path: PathId, segment: &Segment<Span>) -> Key {
    (path, segment.source.min(segment.destination), segment.source.max(segment.destination))
}

/// Length of TIME-WAIT (RFC 9293, section 3.6.1: 2 MSL).
const TIME_WAIT: Duration = Duration::from_secs(60);

impl Pair {
    /// `end` may read data at a wrong offset: the liar sends false mappings, or it is `end` itself
    /// and acknowledges data that it does not have.
    pub(super) fn may_misplace_data(&self, end: usize) -> bool {
        self.liar.as_ref().is_some_and(|liar| {
            let own = if liar.end == end { lies::DATA_ACK | lies::ACK } else { 0 };
            liar.lies & (lies::MISPLACE_DATA | own) != 0
        })
    }

    /// Checks both ends when neither has anything to do.
    pub(super) fn check_ends(&mut self) {
        for end in [CLIENT, SERVER] {
            let acknowledged = self.ends[end].acknowledged();
            assert!(acknowledged >= self.history[end].acknowledged, "acknowledged() went back");
            self.history[end].acknowledged = acknowledged;
            // The check walks all segments in flight, so it runs less often on long transfers.
            let interval = if self.written.iter().any(|&w| w > 2_000_000) { 16_384 } else { 16 };
            if self.calls.is_multiple_of(interval) {
                assert_eq!(self.ends[end].check(), Ok(()));
            }
            self.check_events(end);
            self.check_timers(end);
        }
    }

    fn check_events(&mut self, end: usize) {
        let new = self.history[end].events_seen..self.events[end].len();
        self.history[end].events_seen = new.end;
        for i in new {
            let event = &self.events[end][i].1;
            assert!(!self.history[end].ended, "event after the end: {event:?}");
            self.history[end].ended |= matches!(event, Event::Closed | Event::Failed(_));
            if *event == Event::PeerClosed && self.liar.is_none() {
                let here = self.read[end] + self.ends[end].unread();
                assert_eq!(here, self.written[1 - end], "PeerClosed before all data");
            }
        }
    }

    /// A timer runs while data is unacknowledged, and none after the end except TIME-WAIT.
    fn check_timers(&self, end: usize) {
        let endpoint = &self.ends[end];
        let timer = endpoint.poll_timeout();
        if endpoint.is_closed() {
            assert!(timer.is_none_or(|at| at <= self.now + TIME_WAIT), "a timer at {timer:?} after the end");
            let failed = matches!(self.events[end].last(), Some((_, Event::Failed(_))));
            let waits =
                self.events[end].iter().any(|(_, event)| matches!(event, Event::SubflowDown(_, None)));
            assert!(!failed || waits || timer.is_none(), "a timer at {timer:?} after a failure");
        } else if timer.is_none() && self.is_up(end) {
            assert!(endpoint.acknowledged() == endpoint.written(), "unacknowledged data without a timer");
        }
    }

    /// `end` has an established subflow.
    pub fn is_up(&self, end: usize) -> bool {
        let up = |path: u8| self.ends[end].subflow(PathId(path)).is_some_and(|s| s.up);
        (0..self.paths.len() as u8).any(up)
    }

    /// Checks a segment against the history of both ends.
    pub(super) fn check_sent(&mut self, from: usize, path: PathId, segment: &Segment<Span>) {
        assert!(segment.options_len() <= 40, "options too long: {segment:?}");
        if segment.flags.has(Flags::RST) {
            return;
        }
        if self.history[from].ended {
            assert!(segment.payload.is_empty(), "data after the end: {segment:?}");
            assert!(!segment.flags.has(Flags::SYN), "a SYN after the end: {segment:?}");
        }
        let key = key(path, segment);
        if segment.flags.has(Flags::SYN) {
            if let Some(scale) = segment.window_scale {
                self.history[from].scales.insert(key, scale);
            }
            // The window of a SYN starts at the first byte: there is no DATA_ACK.
            let history = &mut self.history[from];
            history.edge = history.edge.max(u64::from(segment.window));
            history.furthest = history.furthest.max(history.edge);
            if segment.flags.has(Flags::ACK) {
                history.start.get_or_insert((key, segment.ack));
            }
            return;
        }
        self.check_acks(from, key, segment);
        self.check_mapping(from, key, segment);
        self.check_data(from, key, segment);
    }

    /// Notes whether the peer offered a window scale. A reset offers nothing, also if it has the flag
    /// SYN.
    pub(super) fn note_arrival(&mut self, to: usize, path: PathId, segment: &Segment<Span>) {
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::RST) {
            self.history[to].scaled.entry(key(path, segment)).or_insert(segment.window_scale.is_some());
        }
    }

    fn check_acks(&mut self, from: usize, key: Key, segment: &Segment<Span>) {
        let in_order = self.read[from] + self.ends[from].unread();
        let history = &self.history[from];
        let both = history.scaled.get(&key).copied().unwrap_or_default();
        let shift = if both { history.scales.get(&key).copied().unwrap_or(0) } else { 0 };
        let window = u64::from(segment.window) << shift;
        let edge = in_order + window;
        let history = &mut self.history[from];
        // A peer that has fallen back counts from the subflow's acknowledgement (RFC 8684, section
        // 3.7).
        let (first, start) = *history.start.get_or_insert((key, segment.ack));
        let on_subflow = if first == key { u64::from(segment.ack.wrapping_sub(start)) } else { 0 };
        let furthest = edge.max(on_subflow + window);
        // A DATA_FIN takes a byte of the window, a full buffer rounds it down, and a 16-bit window can
        // be too small for the edge.
        let rounding = (1 << shift) - 1;
        assert!(
            furthest + 1 + rounding >= history.edge || segment.window == u16::MAX,
            "the window edge moved back: {segment:?}"
        );
        history.edge = history.edge.max(edge);
        history.furthest = history.furthest.max(furthest);
        history.largest_window = history.largest_window.max(window);
        history.reach = history.reach.max(in_order.max(on_subflow) + history.largest_window);
        if let Some(ack) = segment.dss.and_then(|dss| dss.data_ack) {
            let before = history.data_ack.replace(ack as u32).unwrap_or(ack as u32);
            assert!((ack as u32).wrapping_sub(before) as i32 >= 0, "DATA_ACK moved back");
        }
        let before = history.acks.insert(key, segment.ack).unwrap_or(segment.ack);
        assert!(segment.ack.wrapping_sub(before) as i32 >= 0, "subflow acknowledgement moved back");
    }

    /// Mappings place each byte at the same DSN every time, and DATA_FIN is always at the same DSN.
    fn check_mapping(&mut self, from: usize, key: Key, segment: &Segment<Span>) {
        let written = self.ends[from].written();
        let Some(dss) = segment.dss else { return };
        let Some(map) = dss.mapping else { return };
        let history = &mut self.history[from];
        let len = segment.payload.len() as u64;
        if map.len == 0 {
            // The infinite mapping of a fallback.
            return;
        }
        assert!(!dss.dsn_is_short, "DSNs are sent with 64 bits");
        if len > 0 {
            let sent = u64::from(map.len) - u64::from(dss.data_fin);
            let acknowledged = sent.checked_sub(len);
            let cut = acknowledged.unwrap_or_else(|| panic!("mapping shorter than its payload: {segment:?}"));
            if cut > 0 {
                // RFC 8684, section 3.3.1: a retransmission keeps its mapping. MP_CAPABLE has that of the
                // first data.
                let first_sent = history.mappings.get(&(key, map.ssn));
                let is_same = first_sent.map_or(map.ssn == 1, |first| *first == (map.dsn, map.len));
                assert!(is_same, "another mapping than {first_sent:?}, first sent: {segment:?}");
            } else {
                history.mappings.insert((key, map.ssn), (map.dsn, map.len));
            }
            let first = map.dsn.wrapping_add(cut).wrapping_sub(segment.payload.offset);
            assert_eq!(
                *history.first_dsn.get_or_insert(first),
                first,
                "data mapped to another DSN: {segment:?}"
            );
        }
        if dss.data_fin {
            let fin = map.dsn.wrapping_add(u64::from(map.len) - 1);
            assert_eq!(*history.data_fin.get_or_insert(fin), fin, "DATA_FIN at another DSN: {segment:?}");
            if let Some(first) = history.first_dsn {
                assert_eq!(
                    fin.wrapping_sub(first),
                    written,
                    "DATA_FIN before the end of the data: {segment:?}"
                );
            }
        }
    }

    fn check_data(&mut self, from: usize, key: Key, segment: &Segment<Span>) {
        let len = segment.payload.len() as u64;
        if len == 0 {
            return;
        }
        let end = segment.payload.offset + len;
        let peer = &self.history[1 - from];
        let edge = if self.history[from].overruns { peer.furthest.max(peer.reach) } else { peer.furthest };
        assert!(self.liar.is_some() || end <= edge, "data beyond the window edge {edge}: {segment:?}");
        let end = segment.seq.wrapping_add(len as u32);
        let before = self.history[from].sent.get(&key).copied();
        if before.is_none_or(|before| end.wrapping_sub(before) as i32 > 0) {
            self.history[from].sent.insert(key, end);
            let info = self.ends[from].subflow(key.0).expect("the subflow sent a segment");
            // A tail loss probe ignores the window, but only one segment at a time may (RFC 8985,
            // section 7.3).
            if info.pipe > info.cwnd.max(len) {
                let before = self.history[from].beyond_at.insert(key, self.now);
                let probe = self.probes[from] && before.is_none_or(|before| before < self.now);
                assert!(probe, "pipe exceeds the congestion window: {info:?}");
            }
        }
    }

    /// The connection is plain TCP.
    pub fn is_tcp(end: &Endpoint<Span>) -> bool {
        end.mode() == Mode::Tcp
    }
}
