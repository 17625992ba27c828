//! One TCP connection, possibly a subflow: its handshake, and the counters of each direction.

use crate::frame::{End, Tcp};
use crate::rtt::Rtt;
use crate::seen::{Before, Seen};
use crate::series::Series;
use std::collections::VecDeque;
use units::Instant;
use wire::pcapng::Direction;
use wire::{Flags, Mapping};

/// Maximum number of remembered mappings per direction.
const MAX_MAPS: usize = 64;

/// Place at which a packet was seen: interface by name and kernel index, and direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) interface: u32,
    pub(crate) index: Option<u32>,
    pub(crate) direction: Option<Direction>,
}

impl Point {
    /// True for the same place; a packet without a direction matches both.
    pub(crate) fn is(self, other: Self) -> bool {
        let directions = self.direction.zip(other.direction);
        (self.interface, self.index) == (other.interface, other.index)
            && directions.is_none_or(|(one, other)| one == other)
    }
}

/// A TCP connection. Direction 0 is from `ends[0]` to `ends[1]`.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) ends: [End; 2],
    /// End that sent the SYN; a guess without one.
    pub(crate) opener: usize,
    pub(crate) first: Instant,
    pub(crate) last: Instant,
    pub(crate) handshake: Handshake,
    pub(crate) streams: [Stream; 2],
    /// Segments seen at another place too, counted once.
    pub(crate) elsewhere: u64,
    pub(crate) offered: bool,
    /// Token in its SYN, if the connection was unknown then.
    pub(crate) token: Option<u32>,
    pub(crate) backup: bool,
    pub(crate) closed: bool,
    pub(crate) reset: bool,
    /// Membership in a connection, for a subflow.
    pub(crate) membership: Option<Membership>,
}

/// Membership of a subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) connection: u32,
    /// Number in the connection, from 0.
    pub(crate) number: u16,
    /// Side of the connection of `ends[0]`.
    pub(crate) side: usize,
    pub(crate) evidence: Evidence,
}

/// Evidence for a subflow's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// First subflow.
    Capable,
    /// Token of MP_JOIN.
    Token,
    /// Matching data; the beginning is missing.
    Data,
    /// The beginnings of subflow and connection are missing.
    None,
}

/// Times of a handshake's segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Handshake {
    pub(crate) syn: Option<Instant>,
    pub(crate) answer: Option<Instant>,
    pub(crate) ack: Option<Instant>,
    /// SYNs sent; more than one after a late or lost answer.
    pub(crate) syns: u32,
}

/// Counters of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    pub(crate) point: Option<Point>,
    pub(crate) segments: u64,
    pub(crate) data_segments: u64,
    pub(crate) payload: u64,
    pub(crate) wire: u64,
    pub(crate) retransmitted_segments: u64,
    pub(crate) retransmitted: u64,
    pub(crate) late_segments: u64,
    pub(crate) initial: Option<u32>,
    /// Position of the first byte, if the SYN was seen.
    first: Option<u64>,
    /// Furthest acknowledged position.
    acknowledged: Option<u64>,
    highest: Option<u64>,
    seen: Seen,
    pub(crate) subflow: Option<Box<SubflowStream>>,
}

/// Additional counters of a subflow's direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubflowStream {
    pub(crate) new: u64,
    pub(crate) reinjected: u64,
    pub(crate) reinjected_segments: u64,
    pub(crate) repeated: u64,
    pub(crate) unmapped: u64,
    pub(crate) series: Series,
    pub(crate) rtt: Rtt,
    maps: VecDeque<Map>,
    /// Initial sequence number inferred from mappings, without a SYN.
    guess: Option<u32>,
}

/// A mapping in positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Map {
    from: u64,
    len: u64,
    dsn: u64,
    short: bool,
}

/// A piece of payload with its data sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) len: u64,
    /// DSN of its first byte, and whether only the lower half is known; `None` without a mapping.
    pub(crate) dsn: Option<(u64, bool)>,
}

/// Result of a segment's payload at subflow level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Placed {
    /// Position of its first byte.
    pub(crate) from: u64,
    /// Bytes that the subflow carried before.
    pub(crate) retransmitted: u64,
}

impl Flow {
    /// Records the SYN, ACK, FIN and RST of a segment, as in plain TCP.
    pub(crate) fn on_handshake_and_end(&mut self, now: Instant, direction: usize, tcp: &Tcp<'_>) {
        let flags = tcp.header.flags();
        if flags.has(Flags::SYN) {
            self.streams[direction].on_syn(tcp.header.seq());
            if flags.has(Flags::ACK) {
                self.opener = 1 - direction;
                self.handshake.answer.get_or_insert(now);
            } else {
                self.opener = direction;
                self.handshake.syn.get_or_insert(now);
                self.handshake.syns += 1;
            }
        } else if direction == self.opener
            && flags.has(Flags::ACK)
            && self.handshake.answer.is_some()
            && self.handshake.ack.is_none()
        {
            self.handshake.ack = Some(now);
        }
        self.closed |= flags.has(Flags::FIN);
        self.reset |= flags.has(Flags::RST);
    }

    /// True if the segment has data, or acknowledges data, beyond all earlier segments.
    pub(crate) fn is_progress(&mut self, direction: usize, tcp: &Tcp<'_>) -> bool {
        let header = &tcp.header;
        let len = if header.flags().has(Flags::SYN) { 0 } else { u64::from(tcp.payload_len) };
        let stream = &mut self.streams[direction];
        let has_data = len > 0 && Some(stream.position(header.seq()) + len) > stream.highest;
        let opposite = &mut self.streams[1 - direction];
        let acknowledges =
            header.flags().has(Flags::ACK) && Some(opposite.position(header.ack())) > opposite.acknowledged;
        has_data || acknowledges
    }

    pub(crate) fn new(ends: [End; 2], opener: usize, now: Instant) -> Self {
        Self {
            ends,
            opener,
            first: now,
            last: now,
            handshake: Handshake::default(),
            streams: [Stream::new(), Stream::new()],
            elsewhere: 0,
            offered: false,
            token: None,
            backup: false,
            closed: false,
            reset: false,
            membership: None,
        }
    }
}

impl Stream {
    fn new() -> Self {
        Self {
            point: None,
            segments: 0,
            data_segments: 0,
            payload: 0,
            wire: 0,
            retransmitted_segments: 0,
            retransmitted: 0,
            late_segments: 0,
            initial: None,
            first: None,
            acknowledged: None,
            highest: None,
            seen: Seen::new(),
            subflow: None,
        }
    }
    /// Position of a sequence number: the one nearest to the furthest seen.
    pub(crate) fn position(&mut self, seq: u32) -> u64 {
        // High enough that nearby numbers are above zero.
        let highest = *self.highest.get_or_insert((1 << 33) + u64::from(seq));
        highest.wrapping_add_signed(i64::from(seq.wrapping_sub(highest as u32).cast_signed()))
    }
    /// Records the SYN's sequence number.
    pub(crate) fn on_syn(&mut self, seq: u32) {
        self.initial = Some(seq);
        let position = self.position(seq.wrapping_add(1));
        self.highest = self.highest.map(|highest| highest.max(position));
        self.first.get_or_insert(position);
    }
    /// Counts a segment's payload. Ranges beyond the limit of this direction come from `spare_ranges`.
    pub(crate) fn place(&mut self, seq: u32, len: u32, spare_ranges: &mut usize) -> Placed {
        let from = self.position(seq);
        let len = u64::from(len);
        self.data_segments += 1;
        self.payload += len;
        let mut retransmitted = 0;
        self.seen.reserve(spare_ranges);
        self.seen.insert(from, from + len, 0, |from, to, before| {
            if before != Before::New {
                retransmitted += to - from;
            }
        });
        if retransmitted > 0 {
            self.retransmitted_segments += 1;
            self.retransmitted += retransmitted;
        } else if self.highest.is_some_and(|highest| from < highest) {
            self.late_segments += 1;
        }
        self.highest = self.highest.map(|highest| highest.max(from + len));
        Placed { from, retransmitted }
    }
    /// Records a mapping in a segment with `len` bytes of payload from `seq`.
    pub(crate) fn map(&mut self, mapping: &Mapping, short: bool, seq: u32, len: u32) {
        let data_len = u64::from(mapping.len);
        // Length zero is the infinite mapping of a fallback; it counts from the segment's number.
        let endless = mapping.len == 0;
        let initial = if let Some(initial) = self.initial {
            initial
        } else {
            let Some(subflow) = &mut self.subflow else { return };
            if len == 0 {
                return;
            }
            // The segment may lie anywhere in its mapping: the true initial number is the lowest
            // candidate.
            let latest = seq.wrapping_sub(mapping.ssn);
            let guess = subflow.guess.get_or_insert(latest);
            let lower = latest.wrapping_sub(*guess).cast_signed();
            if lower < 0 && lower > -(1 << 17) {
                *guess = latest;
            }
            *guess
        };
        let from = self.position(initial.wrapping_add(mapping.ssn));
        let map = Map { from, len: if endless { u64::MAX } else { data_len }, dsn: mapping.dsn, short };
        let Some(subflow) = &mut self.subflow else { return };
        if subflow.maps.back() == Some(&map) {
            return;
        }
        if subflow.maps.len() == MAX_MAPS {
            subflow.maps.pop_front();
        }
        subflow.maps.push_back(map);
    }
    /// Next piece of `len` bytes of payload from a position, by the latest mapping that covers it.
    pub(crate) fn piece(&self, from: u64, len: u64) -> Piece {
        let Some(subflow) = &self.subflow else { return Piece { len, dsn: None } };
        let mut bound = len;
        for map in subflow.maps.iter().rev() {
            if map.from <= from {
                let skipped = from - map.from;
                if skipped < map.len {
                    let dsn = map.dsn.wrapping_add(skipped);
                    return Piece { len: bound.min(map.len - skipped), dsn: Some((dsn, map.short)) };
                }
            } else {
                bound = bound.min(map.from - from);
            }
        }
        Piece { len: bound, dsn: None }
    }
    /// Records an acknowledgement.
    pub(crate) fn acknowledge(&mut self, ack: u32) {
        let position = self.position(ack);
        self.acknowledged = self.acknowledged.max(Some(position));
    }
    /// Bytes before the first gap; `None` without the beginning.
    pub(crate) fn in_order(&self) -> Option<u64> {
        self.first.map(|first| self.seen.contiguous(first) - first)
    }
    /// Acknowledged bytes without the FIN; `None` without the beginning.
    pub(crate) fn acknowledged(&self) -> Option<u64> {
        let first = self.first?;
        // Zero before the first acknowledgement.
        Some(self.acknowledged.min(self.highest).map_or(0, |at| at.saturating_sub(first)))
    }
    /// Bytes of forgotten gaps.
    pub(crate) fn forgotten(&self) -> u64 {
        self.seen.forgotten()
    }
}
