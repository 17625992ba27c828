//! A packet in a medium: the segment in a packed form of one cache line.
//!
//! A long link holds thousands of packets, and every byte of them evicts connection state from the
//! cache. Data segments and acknowledgements therefore travel as a [`PackedSegment`]; any other
//! segment is boxed.

use middlebox::TransitSegment;
use wire::{Dss, Ecn, Flags, Mapping, Payload, SackBlocks, Segment, Span, TimestampOption};

/// Owner and direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PacketLabel {
    /// Index of the connection; background flows are numbered after the connections.
    pub(crate) connection: u16,
    /// Index of the path, and [`TO_DEVICE`].
    path: u16,
}

/// Set in [`PacketLabel::path`] on the way to the device.
const TO_DEVICE: u16 = 1 << 15;

impl PacketLabel {
    /// Label of a packet on path number `path` of the network.
    pub(crate) const fn new(connection: usize, path: usize, down: bool) -> Self {
        let direction = if down { TO_DEVICE } else { 0 };
        Self { connection: connection as u16, path: path as u16 | direction }
    }

    /// Index of the path in the network.
    pub(crate) const fn path(self) -> usize {
        (self.path & !TO_DEVICE) as usize
    }

    /// True on the way to the device.
    pub(crate) const fn is_down(self) -> bool {
        self.path & TO_DEVICE != 0
    }

    /// The labelled segment as the input of a middlebox.
    pub(crate) fn passing(self, segment: &Segment<Span>) -> TransitSegment<Span> {
        TransitSegment {
            from_device: !self.is_down(),
            flow: u32::from(self.connection),
            segment: segment.clone(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Packet {
    Packed(PackedSegment),
    /// A segment that does not fit the packed form: a handshake, an MPTCP signal, a DATA_FIN.
    Boxed(PacketLabel, Box<Segment<Span>>),
}

/// Data segment or acknowledgement in packed form.
///
/// | Field | Data or plain ACK | ACK with SACK blocks |
/// | --- | --- | --- |
/// | `contents` | `HAS_*` bits | `HAS_*` bits, plus [`ONE_SACK_BLOCK`] per block |
/// | `dsn` | mapping's DSN | block 1, left edge in the upper 32 bits |
/// | `payload.offset` | payload offset | block 2, left edge in the upper 32 bits |
/// | `payload.len` | payload and mapping length | block 3, left edge |
/// | `ssn` | mapping's subflow sequence number | block 3, right edge |
/// | `data_ack` | lower 32 bits of the DATA_ACK | same |
/// | `ts_value`, `ts_echo` | timestamps option | same |
/// | the others | TCP header, ECN field, label | same |
///
/// Fields of an absent option are zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedSegment {
    payload: Span,
    dsn: u64,
    ssn: u32,
    data_ack: u32,
    // Apart from `ts_echo`: one 8-byte load of two fresh 4-byte stores defeats store forwarding.
    ts_value: u32,
    seq: u32,
    ack: u32,
    ts_echo: u32,
    source: u16,
    destination: u16,
    window: u16,
    flags: Flags,
    ecn: Ecn,
    contents: u8,
    label: PacketLabel,
}

const HAS_TIMESTAMPS: u8 = 1;
const HAS_DSS: u8 = 2;
const HAS_DATA_ACK: u8 = 4;
const HAS_MAPPING: u8 = 8;
/// The upper four bits of `contents` count SACK blocks.
const ONE_SACK_BLOCK: u8 = 16;
/// SACK blocks that fit a TCP header beside timestamps (RFC 2018, section 3).
const MAX_SACK_BLOCKS: usize = 3;

impl Packet {
    #[inline]
    pub(crate) fn pack(label: PacketLabel, segment: &Segment<Span>) -> Self {
        if PackedSegment::fits_without_sack(segment) {
            Self::Packed(PackedSegment::new(label, segment))
        } else {
            Self::pack_rare(label, segment)
        }
    }

    #[inline(never)]
    fn pack_rare(label: PacketLabel, segment: &Segment<Span>) -> Self {
        match PackedSegment::with_sack(label, segment) {
            Some(packed) => Self::Packed(packed),
            None => Self::Boxed(label, Box::new(segment.clone())),
        }
    }

    /// Overwrites `segment` with the packet's segment and returns its label.
    #[inline]
    pub(crate) fn unpack_into(&self, segment: &mut Segment<Span>) -> PacketLabel {
        match self {
            Self::Packed(packed) => {
                packed.write(segment);
                packed.label
            }
            Self::Boxed(label, boxed) => {
                segment.clone_from(boxed);
                *label
            }
        }
    }

    /// Payload of a segment of a connection, in bytes; 0 for a datagram of background traffic, which
    /// has no flags.
    pub(crate) fn payload_len(&self) -> u32 {
        match self {
            Self::Packed(packed) if packed.flags == Flags::default() => 0,
            // Blocks of SACK take the place of a payload.
            Self::Packed(packed) if packed.contents >= ONE_SACK_BLOCK => 0,
            Self::Packed(packed) => packed.payload.len,
            Self::Boxed(_, segment) => segment.payload.len,
        }
    }

    /// Sets the ECN field to CE. Returns false if the transport is not ECN-capable (RFC 3168,
    /// section 5).
    pub(crate) fn mark(&mut self) -> bool {
        let ecn = match self {
            Self::Packed(packed) => &mut packed.ecn,
            Self::Boxed(_, segment) => &mut segment.ecn,
        };
        let is_capable = *ecn != Ecn::NotEct;
        if is_capable {
            *ecn = Ecn::Ce;
        }
        is_capable
    }
}

impl PackedSegment {
    /// True if everything but the SACK blocks fits the packed form.
    #[inline]
    fn fits_except_sack(segment: &Segment<Span>) -> bool {
        let has_rare_option = segment.mss.is_some()
            || segment.window_scale.is_some()
            || segment.sack_permitted
            || segment.signal.is_some()
            || segment.rec.is_some();
        let dss_fits = segment.dss.as_ref().is_none_or(|dss| {
            let ack_fits = dss.data_ack.is_none_or(|ack| u32::try_from(ack).is_ok());
            let has_usual_form =
                dss.ack_is_short == dss.data_ack.is_some() && !dss.dsn_is_short && !dss.data_fin;
            let maps_payload =
                |map: Mapping| u32::from(map.len) == segment.payload.len && map.checksum.is_none();
            ack_fits && has_usual_form && dss.mapping.is_none_or(maps_payload)
        });
        !has_rare_option && dss_fits
    }

    #[inline]
    fn fits_without_sack(segment: &Segment<Span>) -> bool {
        segment.sack.is_empty() && Self::fits_except_sack(segment)
    }

    /// Packs all of a segment that [fits](Self::fits_except_sack) but its SACK blocks.
    #[inline]
    fn new(label: PacketLabel, segment: &Segment<Span>) -> Self {
        let timestamps = segment.timestamps.unwrap_or(TimestampOption { value: 0, echo: 0 });
        let dss = segment.dss.unwrap_or_default();
        let (dsn, ssn) = dss.mapping.map_or((0, 0), |map| (map.dsn, map.ssn));
        let bit = |is_present, bit| if is_present { bit } else { 0 };
        let contents = bit(segment.timestamps.is_some(), HAS_TIMESTAMPS)
            + bit(segment.dss.is_some(), HAS_DSS)
            + bit(dss.data_ack.is_some(), HAS_DATA_ACK)
            + bit(dss.mapping.is_some(), HAS_MAPPING);
        Self {
            payload: segment.payload,
            dsn,
            ssn,
            data_ack: dss.data_ack.unwrap_or(0) as u32,
            seq: segment.seq,
            ack: segment.ack,
            ts_value: timestamps.value,
            ts_echo: timestamps.echo,
            source: segment.source,
            destination: segment.destination,
            window: segment.window,
            flags: segment.flags,
            ecn: segment.ecn,
            contents,
            label,
        }
    }

    /// Packs a segment with its SACK blocks; `None` if it does not fit.
    fn with_sack(label: PacketLabel, segment: &Segment<Span>) -> Option<Self> {
        let blocks = segment.sack.as_slice();
        if !Self::fits_except_sack(segment) || blocks.len() > MAX_SACK_BLOCKS {
            return None;
        }
        let mut packed = Self::new(label, segment);
        if packed.contents & HAS_MAPPING != 0 || packed.payload != Span::empty() {
            return None;
        }
        let block = |i| blocks.get(i).copied().unwrap_or((0, 0));
        let join = |(left, right)| u64::from(left) << 32 | u64::from(right);
        packed.dsn = join(block(0));
        packed.payload.offset = join(block(1));
        (packed.payload.len, packed.ssn) = block(2);
        packed.contents |= ONE_SACK_BLOCK * blocks.len() as u8;
        Some(packed)
    }

    /// Unpacks the blocks packed by [`with_sack`](Self::with_sack).
    #[inline(never)]
    fn write_sack(&self, sack: &mut SackBlocks) {
        let split = |joined: u64| ((joined >> 32) as u32, joined as u32);
        let blocks = [split(self.dsn), split(self.payload.offset), (self.payload.len, self.ssn)];
        let count = usize::from(self.contents / ONE_SACK_BLOCK).min(MAX_SACK_BLOCKS);
        for &(left, right) in &blocks[..count] {
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
        if self.contents & HAS_TIMESTAMPS != 0 {
            segment.timestamps = Some(TimestampOption { value: self.ts_value, echo: self.ts_echo });
        }
        if self.contents & HAS_DSS != 0 {
            let has_ack = self.contents & HAS_DATA_ACK != 0;
            let mapping =
                Mapping { dsn: self.dsn, ssn: self.ssn, len: self.payload.len as u16, checksum: None };
            segment.dss = Some(Dss {
                data_ack: has_ack.then_some(u64::from(self.data_ack)),
                ack_is_short: has_ack,
                mapping: (self.contents & HAS_MAPPING != 0).then_some(mapping),
                dsn_is_short: false,
                data_fin: false,
            });
        }
        if self.contents < ONE_SACK_BLOCK {
            segment.payload = self.payload;
        } else {
            segment.payload = Span::empty();
            self.write_sack(&mut segment.sack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{MptcpSignal, RecOption};

    const LABEL: PacketLabel = PacketLabel::new(513, 3, true);

    fn data() -> Segment<Span> {
        let mut segment = Segment::new((1, 2), 3, 4, Flags::ACK.with(Flags::PSH), 5);
        segment.payload = Span::new(1 << 40, 1424);
        segment.timestamps = Some(TimestampOption { value: 6, echo: 7 });
        let mapping = Mapping { dsn: u64::MAX - 8, ssn: 9, len: 1424, checksum: None };
        let data_ack = Some(u64::from(u32::MAX));
        segment.dss = Some(Dss { data_ack, ack_is_short: true, mapping: Some(mapping), ..Dss::default() });
        segment
    }

    /// An acknowledgement with `blocks` SACK blocks.
    fn sack(blocks: u32) -> Segment<Span> {
        let mut segment = data();
        segment.payload = Span::empty();
        segment.dss.as_mut().unwrap().mapping = None;
        for i in 0..blocks {
            assert!(segment.sack.push(u32::MAX - 9 * i, 5 * i));
        }
        segment
    }

    /// Variants of a data segment and acknowledgements with SACK, each with whether it fits.
    fn variants() -> Vec<(bool, Segment<Span>)> {
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
    fn packing_round_trips_over_any_previous_content() {
        for (fits, segment) in variants() {
            for (_, mut previous) in variants() {
                let packet = Packet::pack(LABEL, &segment);
                assert_eq!(matches!(packet, Packet::Packed(_)), fits, "{segment:?}");
                assert_eq!(packet.unpack_into(&mut previous), LABEL);
                assert_eq!(previous, segment);
            }
        }
    }

    #[test]
    fn only_ecn_capable_packets_are_marked() {
        for (_, mut segment) in variants() {
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
    fn packet_fills_one_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }
}
