//! A packet as it lies in a link: few bytes for what nearly all packets are.
//!
//! A link with a long delay holds thousands of packets, each written when it is sent and read when it
//! arrives, with all others in between: what they take of the memory near the processor the
//! connections lack. So a packet is packed where it enters a medium and unpacked where it leaves.

use wire::{Dss, Ecn, Flags, Mapping, Payload, SackBlocks, Segment, Span, TimestampOption};

/// Whose packet it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label {
    /// Number of the connection, or beyond them of a flow of datagrams.
    pub(crate) connection: u16,
    pub(crate) path: u8,
    /// To the device, or from it.
    pub(crate) down: bool,
}

/// A packet under way.
#[derive(Debug, Clone)]
pub(crate) enum Packet {
    Plain(Plain),
    /// Anything else: a handshake, blocks of SACK, a signal.
    Other(Label, Box<Segment<Span>>),
}

/// Data or an acknowledgement, with the options that nearly all of them have. An acknowledgement's blocks
/// of SACK lie where data says what it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain {
    payload: Span,
    /// The mapping's, where there is one. Its length is that of the payload.
    dsn: u64,
    ssn: u32,
    data_ack: u32,
    /// The two timestamps lie apart: side by side they are read together, and that has to wait where they were
    /// written one by one just before.
    clock: u32,
    seq: u32,
    ack: u32,
    echo: u32,
    source: u16,
    destination: u16,
    window: u16,
    flags: Flags,
    ecn: Ecn,
    /// Which of the options it has: [`CLOCK`], [`DSS`] and so on; from [`BLOCK`] on, how many blocks.
    has: u8,
    label: Label,
}

const CLOCK: u8 = 1;
const DSS: u8 = 2;
const DATA_ACK: u8 = 4;
const MAPPING: u8 = 8;
const BLOCK: u8 = 16;
/// So many blocks have room: as many as there are beside a clock (RFC 2018, section 3).
const MOST_BLOCKS: usize = 3;

impl Packet {
    #[inline]
    pub(crate) fn pack(label: Label, segment: &Segment<Span>) -> Self {
        if Plain::is_usual(segment) {
            Self::Plain(Plain::of(label, segment))
        } else {
            Self::pack_unusual(label, segment)
        }
    }

    /// The same, written over this one: what is made elsewhere is copied, and has to be waited for.
    #[inline]
    pub(crate) fn pack_over(&mut self, label: Label, segment: &Segment<Span>) {
        match self {
            Self::Plain(plain) if Plain::is_usual(segment) => plain.fill(label, segment),
            _ => *self = Self::pack_unusual(label, segment),
        }
    }

    /// One that nobody should look at.
    pub(crate) fn blank() -> Self {
        Self::Plain(Plain::of(
            Label { connection: 0, path: 0, down: false },
            &Segment::new(0, 0, 0, 0, Flags::default(), 0),
        ))
    }

    #[inline(never)]
    fn pack_unusual(label: Label, segment: &Segment<Span>) -> Self {
        match Plain::with_blocks(label, segment) {
            Some(plain) => Self::Plain(plain),
            None => Self::Other(label, Box::new(segment.clone())),
        }
    }

    /// Gives it away, and leaves one that nobody should look at.
    #[inline]
    pub(crate) fn take(&mut self) -> Self {
        match self {
            Self::Plain(plain) => Self::Plain(*plain),
            Self::Other(..) => core::mem::replace(self, Self::blank()),
        }
    }

    #[inline]
    pub(crate) fn label(&self) -> Label {
        match self {
            Self::Plain(plain) => plain.label,
            Self::Other(label, _) => *label,
        }
    }

    /// Writes its segment over `segment`, whatever that was.
    #[inline]
    pub(crate) fn unpack_into(&self, segment: &mut Segment<Span>) -> Label {
        match self {
            Self::Plain(plain) => {
                plain.write(segment);
                plain.label
            }
            Self::Other(label, whole) => {
                segment.clone_from(whole);
                *label
            }
        }
    }

    /// Marks it, where its transport understands marks (RFC 3168, section 5).
    pub(crate) fn mark(&mut self) -> bool {
        let ecn = match self {
            Self::Plain(plain) => &mut plain.ecn,
            Self::Other(_, segment) => &mut segment.ecn,
        };
        let can = *ecn != Ecn::NotEct;
        if can {
            *ecn = Ecn::Ce;
        }
        can
    }
}

impl Plain {
    /// Whether there is room for all that the segment has, but for blocks of SACK.
    #[inline]
    fn fits(segment: &Segment<Span>) -> bool {
        let rare = segment.mss.is_some()
            || segment.window_scale.is_some()
            || segment.sack_permitted
            || segment.signal.is_some()
            || segment.rec.is_some();
        let dss_fits = segment.dss.as_ref().is_none_or(|dss| {
            let ack_fits = dss.data_ack.is_none_or(|ack| u32::try_from(ack).is_ok());
            let usual = dss.ack_is_short == dss.data_ack.is_some() && !dss.dsn_is_short && !dss.data_fin;
            let own = |map: Mapping| u32::from(map.len) == segment.payload.len && map.checksum.is_none();
            ack_fits && usual && dss.mapping.is_none_or(own)
        });
        !rare && dss_fits
    }

    #[inline]
    fn is_usual(segment: &Segment<Span>) -> bool {
        segment.sack.is_empty() && Self::fits(segment)
    }

    /// Of a segment that [fits](Self::fits), all but its blocks of SACK.
    #[inline]
    fn of(label: Label, segment: &Segment<Span>) -> Self {
        let mut plain = Self {
            payload: Span::empty(),
            dsn: 0,
            ssn: 0,
            data_ack: 0,
            seq: 0,
            ack: 0,
            clock: 0,
            echo: 0,
            source: 0,
            destination: 0,
            window: 0,
            flags: Flags::default(),
            ecn: Ecn::NotEct,
            has: 0,
            label,
        };
        plain.fill(label, segment);
        plain
    }

    /// The same, written over this one. What it does not have stays as it was.
    #[inline]
    fn fill(&mut self, label: Label, segment: &Segment<Span>) {
        let mut has = 0;
        if let Some(told) = segment.timestamps {
            has |= CLOCK;
            (self.clock, self.echo) = (told.value, told.echo);
        }
        if let Some(dss) = &segment.dss {
            has |= DSS;
            if let Some(ack) = dss.data_ack {
                has |= DATA_ACK;
                self.data_ack = ack as u32;
            }
            if let Some(map) = dss.mapping {
                has |= MAPPING;
                (self.dsn, self.ssn) = (map.dsn, map.ssn);
            }
        }
        self.payload = segment.payload;
        self.seq = segment.seq;
        self.ack = segment.ack;
        self.source = segment.source;
        self.destination = segment.destination;
        self.window = segment.window;
        self.flags = segment.flags;
        self.ecn = segment.ecn;
        self.has = has;
        self.label = label;
    }

    /// With its blocks of SACK. `None` for a segment with anything that there is no room for.
    fn with_blocks(label: Label, segment: &Segment<Span>) -> Option<Self> {
        let blocks = segment.sack.as_slice();
        if !Self::fits(segment) || blocks.len() > MOST_BLOCKS {
            return None;
        }
        let mut plain = Self::of(label, segment);
        if plain.has & MAPPING != 0 || plain.payload != Span::empty() {
            return None;
        }
        let block = |i| blocks.get(i).copied().unwrap_or((0, 0));
        let joined = |(left, right)| u64::from(left) << 32 | u64::from(right);
        plain.dsn = joined(block(0));
        plain.payload.offset = joined(block(1));
        (plain.payload.len, plain.ssn) = block(2);
        plain.has |= BLOCK * blocks.len() as u8;
        Some(plain)
    }

    /// The blocks that [`with_blocks`](Self::with_blocks) kept.
    #[inline(never)]
    fn write_blocks(&self, sack: &mut SackBlocks) {
        let parts = |joined: u64| ((joined >> 32) as u32, joined as u32);
        let blocks = [parts(self.dsn), parts(self.payload.offset), (self.payload.len, self.ssn)];
        for &(left, right) in &blocks[..usize::from(self.has / BLOCK).min(MOST_BLOCKS)] {
            sack.push(left, right);
        }
    }

    #[inline]
    fn write(&self, segment: &mut Segment<Span>) {
        segment.source = self.source;
        segment.destination = self.destination;
        segment.seq = self.seq;
        segment.ack = self.ack;
        segment.flags = self.flags;
        segment.ecn = self.ecn;
        segment.window = self.window;
        segment.clear_options();
        if self.has & CLOCK != 0 {
            segment.timestamps = Some(TimestampOption { value: self.clock, echo: self.echo });
        }
        if self.has & DSS != 0 {
            let has_ack = self.has & DATA_ACK != 0;
            let mapping =
                Mapping { dsn: self.dsn, ssn: self.ssn, len: self.payload.len as u16, checksum: None };
            segment.dss = Some(Dss {
                data_ack: has_ack.then_some(u64::from(self.data_ack)),
                ack_is_short: has_ack,
                mapping: (self.has & MAPPING != 0).then_some(mapping),
                dsn_is_short: false,
                data_fin: false,
            });
        }
        if self.has < BLOCK {
            segment.payload = self.payload;
        } else {
            segment.payload = Span::empty();
            self.write_blocks(&mut segment.sack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{MptcpSignal, RecOption};

    const LABEL: Label = Label { connection: 513, path: 3, down: true };

    fn data() -> Segment<Span> {
        let mut segment = Segment::new(1, 2, 3, 4, Flags::ACK.with(Flags::PSH), 5);
        segment.payload = Span::new(1 << 40, 1424);
        segment.timestamps = Some(TimestampOption { value: 6, echo: 7 });
        let mapping = Mapping { dsn: u64::MAX - 8, ssn: 9, len: 1424, checksum: None };
        let data_ack = Some(u64::from(u32::MAX));
        segment.dss = Some(Dss { data_ack, ack_is_short: true, mapping: Some(mapping), ..Dss::default() });
        segment
    }

    /// An acknowledgement with so many blocks of SACK.
    fn sack(blocks: u32) -> Segment<Span> {
        let mut segment = data();
        segment.payload = Span::empty();
        segment.dss.as_mut().unwrap().mapping = None;
        for i in 0..blocks {
            assert!(segment.sack.push(u32::MAX - 9 * i, 5 * i));
        }
        segment
    }

    /// What differs from plain data in one thing each, and whether that has room.
    fn others() -> Vec<(bool, Segment<Span>)> {
        type Change = (bool, fn(&mut Segment<Span>));
        let changes: [Change; 20] = [
            (true, |_| {}),
            (true, |s| s.timestamps = None),
            (true, |s| s.dss = None),
            (true, |s| s.dss = Some(Dss::default())),
            (true, |s| s.dss.as_mut().unwrap().mapping = None),
            (true, |s| s.payload = s.payload.corrupted()),
            (true, |s| s.ecn = Ecn::Ect0),
            (true, |s| {
                let dss = s.dss.as_mut().unwrap();
                (dss.data_ack, dss.ack_is_short) = (None, false);
            }),
            (false, |s| s.dss.as_mut().unwrap().data_ack = None),
            (false, |s| s.dss.as_mut().unwrap().ack_is_short = false),
            (false, |s| s.dss.as_mut().unwrap().data_ack = Some(1 << 32)),
            (false, |s| s.dss.as_mut().unwrap().dsn_is_short = true),
            (false, |s| s.dss.as_mut().unwrap().data_fin = true),
            (false, |s| s.dss.as_mut().unwrap().mapping.as_mut().unwrap().len += 1),
            (false, |s| s.dss.as_mut().unwrap().mapping.as_mut().unwrap().checksum = Some(0)),
            (false, |s| s.mss = Some(1460)),
            (false, |s| (s.window_scale, s.sack_permitted) = (Some(0), true)),
            (false, |s| assert!(s.sack.push(1, 2))),
            (false, |s| s.signal = Some(MptcpSignal::Fail { dsn: 1 })),
            (false, |s| s.rec = Some(RecOption::Offer { version: 1 })),
        ];
        changes
            .iter()
            .map(|&(fits, change)| {
                let mut segment = data();
                change(&mut segment);
                (fits, segment)
            })
            .chain((0..=4).map(|blocks| (blocks <= 3, sack(blocks))))
            .collect()
    }

    #[test]
    fn what_goes_in_comes_out_over_whatever_was_there() {
        for (fits, segment) in others() {
            for (_, mut before) in others() {
                let packet = Packet::pack(LABEL, &segment);
                assert_eq!(matches!(packet, Packet::Plain(_)), fits, "{segment:?}");
                let mut over = Packet::pack(Label { connection: 1, path: 0, down: false }, &before);
                over.pack_over(LABEL, &segment);
                for packet in [packet, over] {
                    assert_eq!(packet.unpack_into(&mut before), LABEL);
                    assert_eq!(before, segment);
                }
            }
        }
    }

    #[test]
    fn a_mark_is_for_those_that_understand_it() {
        for (_, mut segment) in others() {
            for ecn in [Ecn::NotEct, Ecn::Ect0] {
                segment.ecn = ecn;
                let mut packet = Packet::pack(LABEL, &segment);
                assert_eq!(packet.mark(), ecn != Ecn::NotEct);
                let mut marked = data();
                packet.unpack_into(&mut marked);
                assert_eq!(marked.ecn, if ecn == Ecn::NotEct { Ecn::NotEct } else { Ecn::Ce });
            }
        }
    }

    #[test]
    fn it_takes_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }
}
