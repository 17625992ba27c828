//! What must hold all the time, held against all that an end says and sends.

use super::{CLIENT, Pair, SERVER, lies};
use std::collections::BTreeMap;
use tandem_mptcp::{Endpoint, Event, Mode, PathId};
use units::{Duration, Instant};
use wire::{Flags, Payload, Segment, Span};

/// A subflow: its path and the ports of both ends, the lower first.
type Key = (PathId, u16, u16);

/// What an end has said and sent so far, against which all else is held.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The end of the stream that it takes, as told in all its windows: counted from the DATA_ACK, and as
    /// far as a peer may understand it.
    edge: u64,
    furthest: u64,
    /// The first acknowledgement on its first subflow.
    start: Option<(Key, u32)>,
    data_ack: Option<u32>,
    acknowledged: u64,
    /// Window scale offered, and whether the peer's has come: both, or there is none.
    scales: BTreeMap<Key, u8>,
    scaled: BTreeMap<Key, bool>,
    /// Sequence number after the last byte sent.
    sent: BTreeMap<Key, u32>,
    /// When new data was last sent beyond the window.
    beyond_at: BTreeMap<Key, Instant>,
    /// The last acknowledgement.
    acks: BTreeMap<Key, u32>,
    /// DSN of the stream's first byte.
    first_dsn: Option<u64>,
    data_fin: Option<u64>,
    events_seen: usize,
    over: bool,
}

fn key(path: PathId, segment: &Segment<Span>) -> Key {
    (path, segment.source.min(segment.destination), segment.source.max(segment.destination))
}

/// After the last close (RFC 9293, section 3.6.1: twice the longest life of a segment).
const TIME_WAIT: Duration = Duration::from_secs(60);

impl Pair {
    /// A peer that puts data where it does not belong gets it where it put it, and one that says that it
    /// has what it has not goes without.
    pub(super) fn is_garbled(&self, end: usize) -> bool {
        self.liar.as_ref().is_some_and(|liar| {
            let own = if liar.end == end { lies::DATA_ACK | lies::ACK } else { 0 };
            liar.lies & (lies::GARBLES | own) != 0
        })
    }

    /// Looks at both ends after they have done what they can do now.
    pub(super) fn look(&mut self) {
        for end in [CLIENT, SERVER] {
            let acknowledged = self.ends[end].acknowledged();
            assert!(acknowledged >= self.watch[end].acknowledged, "an acknowledgement was taken back");
            self.watch[end].acknowledged = acknowledged;
            // It walks all that is in flight.
            let seldom = if self.written.iter().any(|&w| w > 2_000_000) { 16_384 } else { 16 };
            if self.calls.is_multiple_of(seldom) {
                assert_eq!(self.ends[end].check(), Ok(()));
            }
            self.look_at_events(end);
            self.look_at_timers(end);
        }
    }

    fn look_at_events(&mut self, end: usize) {
        let new = self.watch[end].events_seen..self.events[end].len();
        self.watch[end].events_seen = new.end;
        for i in new {
            let event = &self.events[end][i].1;
            assert!(!self.watch[end].over, "after the end: {event:?}");
            self.watch[end].over |= matches!(event, Event::Closed | Event::Failed(_));
            if *event == Event::PeerClosed && self.liar.is_none() {
                let here = self.read[end] + self.ends[end].unread();
                assert_eq!(here, self.written[1 - end], "the peer closed, and not all has come");
            }
        }
    }

    /// Where something is owed there is a timer, and where nothing can happen there is none.
    fn look_at_timers(&self, end: usize) {
        let endpoint = &self.ends[end];
        let timer = endpoint.poll_timeout();
        if endpoint.is_closed() {
            assert!(timer.is_none_or(|at| at <= self.now + TIME_WAIT), "a timer at {timer:?} after the end");
            let failed = matches!(self.events[end].last(), Some((_, Event::Failed(_))));
            let waits =
                self.events[end].iter().any(|(_, event)| matches!(event, Event::SubflowDown(_, None)));
            assert!(!failed || waits || timer.is_none(), "a timer at {timer:?} after a failure");
        } else if timer.is_none() && self.is_up(end) {
            assert!(endpoint.acknowledged() == endpoint.written(), "data is owed and no timer runs");
        }
    }

    /// It has a subflow that could carry data.
    pub fn is_up(&self, end: usize) -> bool {
        let up = |path: u8| self.ends[end].subflow(PathId(path)).is_some_and(|s| s.up);
        (0..self.paths.len() as u8).any(up)
    }

    /// Holds a segment against what both ends have said.
    pub(super) fn watch(&mut self, from: usize, path: PathId, segment: &Segment<Span>) {
        assert!(segment.options_len() <= 40, "options fit: {segment:?}");
        if segment.flags.has(Flags::RST) {
            return;
        }
        if self.watch[from].over {
            assert!(segment.payload.is_empty(), "data after the end: {segment:?}");
            assert!(!segment.flags.has(Flags::SYN), "a SYN after the end: {segment:?}");
        }
        let key = key(path, segment);
        if segment.flags.has(Flags::SYN) {
            if let Some(scale) = segment.window_scale {
                self.watch[from].scales.insert(key, scale);
            }
            // It has no DATA_ACK that its window could start from.
            let watch = &mut self.watch[from];
            watch.edge = watch.edge.max(u64::from(segment.window));
            watch.furthest = watch.furthest.max(watch.edge);
            if segment.flags.has(Flags::ACK) {
                watch.start.get_or_insert((key, segment.ack));
            }
            return;
        }
        self.watch_acks(from, key, segment);
        self.watch_mapping(from, segment);
        self.watch_data(from, key, segment);
    }

    /// What comes to an end may settle what it says from then on.
    pub(super) fn watch_arrival(&mut self, to: usize, path: PathId, segment: &Segment<Span>) {
        if segment.flags.has(Flags::SYN) {
            self.watch[to].scaled.entry(key(path, segment)).or_insert(segment.window_scale.is_some());
        }
    }

    fn watch_acks(&mut self, from: usize, key: Key, segment: &Segment<Span>) {
        let in_order = self.read[from] + self.ends[from].unread();
        let watch = &self.watch[from];
        let both = watch.scaled.get(&key).copied().unwrap_or_default();
        let shift = if both { watch.scales.get(&key).copied().unwrap_or(0) } else { 0 };
        let edge = in_order + (u64::from(segment.window) << shift);
        let watch = &mut self.watch[from];
        // A peer that has fallen back counts from the subflow's acknowledgement (RFC 8684, section 3.7).
        let (first, start) = *watch.start.get_or_insert((key, segment.ack));
        let on_subflow = if first == key { u64::from(segment.ack.wrapping_sub(start)) } else { 0 };
        let furthest = edge.max(on_subflow + (u64::from(segment.window) << shift));
        // A DATA_FIN takes a byte of the window; a subflow without a scale can say no more than it can.
        assert!(
            furthest + 1 >= watch.edge || segment.window == u16::MAX,
            "the window was taken back: {segment:?}"
        );
        watch.edge = watch.edge.max(edge);
        watch.furthest = watch.furthest.max(furthest);
        if let Some(ack) = segment.dss.and_then(|dss| dss.data_ack) {
            let before = watch.data_ack.replace(ack as u32).unwrap_or(ack as u32);
            assert!((ack as u32).wrapping_sub(before) as i32 >= 0, "DATA_ACK went back");
        }
        let before = watch.acks.insert(key, segment.ack).unwrap_or(segment.ack);
        assert!(segment.ack.wrapping_sub(before) as i32 >= 0, "a subflow's acknowledgement went back");
    }

    /// The place of data in the stream, and its end, are the same whenever they are told.
    fn watch_mapping(&mut self, from: usize, segment: &Segment<Span>) {
        let written = self.ends[from].written();
        let Some(dss) = segment.dss else { return };
        let Some(map) = dss.mapping else { return };
        let watch = &mut self.watch[from];
        let len = segment.payload.len() as u64;
        if map.len == 0 {
            // The infinite mapping of a fallback.
            return;
        }
        assert!(!dss.dsn_is_short, "DSNs have eight bytes here");
        if len > 0 {
            let first = map.dsn.wrapping_sub(segment.payload.offset);
            assert_eq!(*watch.first_dsn.get_or_insert(first), first, "the data moved: {segment:?}");
            assert_eq!(u64::from(map.len), len + u64::from(dss.data_fin), "it maps other data: {segment:?}");
        }
        if dss.data_fin {
            let fin = map.dsn.wrapping_add(u64::from(map.len) - 1);
            assert_eq!(*watch.data_fin.get_or_insert(fin), fin, "the end of the data moved: {segment:?}");
            if let Some(first) = watch.first_dsn {
                assert_eq!(fin.wrapping_sub(first), written, "no end of the data: {segment:?}");
            }
        }
    }

    fn watch_data(&mut self, from: usize, key: Key, segment: &Segment<Span>) {
        let len = segment.payload.len() as u64;
        if len == 0 {
            return;
        }
        let end = segment.payload.offset + len;
        let edge = self.watch[1 - from].furthest;
        assert!(self.liar.is_some() || end <= edge, "beyond the window of {edge}: {segment:?}");
        let end = segment.seq.wrapping_add(len as u32);
        let before = self.watch[from].sent.get(&key).copied();
        if before.is_none_or(|before| end.wrapping_sub(before) as i32 > 0) {
            self.watch[from].sent.insert(key, end);
            let info = self.ends[from].subflow(key.0).expect("it sent a segment");
            // A tail loss probe goes whatever the window, which may have shrunk since (RFC 8985, section
            // 7.3): one segment, and never two at a time.
            if info.pipe > info.cwnd.max(len) {
                let before = self.watch[from].beyond_at.insert(key, self.now);
                let probe = self.probes[from] && before.is_none_or(|before| before < self.now);
                assert!(probe, "more in the network than the window: {info:?}");
            }
        }
    }

    /// It has fallen back, or never spoke MPTCP.
    pub fn is_tcp(end: &Endpoint<Span>) -> bool {
        end.mode() == Mode::Tcp
    }
}
