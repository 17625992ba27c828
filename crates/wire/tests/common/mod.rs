//! Strategies for segments, shared by several tests.

use core::net::IpAddr;
use proptest::option::of;
use proptest::prelude::*;
use tandem_wire::{
    Blocks, Dss, Flags, Mapping, MptcpSignal, Payload, RecOption, Report, SackBlocks, Segment, Span,
    TimestampOption, tcp,
};

pub(crate) fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b))),
        any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b))),
    ]
}

pub(crate) fn dss() -> impl Strategy<Value = Dss> {
    let number = || (any::<u64>(), any::<bool>());
    let mapping = (number(), any::<u32>(), any::<u16>(), of(any::<u16>()));
    let truncate = |(number, short)| (if short { number & 0xffff_ffff } else { number }, short);
    (of(number()), of(mapping), any::<bool>()).prop_map(move |(ack, mapping, data_fin)| {
        let (ack, mapping) =
            (ack.map(truncate), mapping.map(|(dsn, ssn, len, sum)| (truncate(dsn), ssn, len, sum)));
        Dss {
            data_ack: ack.map(|ack| ack.0),
            ack_is_short: ack.is_some_and(|ack| ack.1),
            mapping: mapping.map(|((dsn, _), ssn, len, checksum)| Mapping { dsn, ssn, len, checksum }),
            dsn_is_short: mapping.is_some_and(|mapping| mapping.0.1),
            data_fin,
        }
    })
}

fn capable() -> impl Strategy<Value = MptcpSignal> {
    let keys =
        prop_oneof![
            Just((None, None, None)),
            any::<u64>().prop_map(|key| (Some(key), None, None)),
            (any::<u64>(), any::<u64>(), of(any::<(u16, Option<u16>)>()))
                .prop_map(|(sender, receiver, data)| (Some(sender), Some(receiver), data)),
        ];
    (0u8..16, any::<[bool; 4]>(), keys).prop_map(
        |(version, [checksum, deny_join, hmac_sha256, extension], (sender_key, receiver_key, data))| {
            MptcpSignal::Capable {
                version,
                checksum,
                deny_join,
                hmac_sha256,
                extension,
                sender_key,
                receiver_key,
                data,
            }
        },
    )
}

pub(crate) fn signal() -> impl Strategy<Value = MptcpSignal> {
    let address =
        prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)];
    prop_oneof![
        capable(),
        any::<(bool, u8, u32, u32)>().prop_map(|(backup, address_id, token, nonce)| {
            MptcpSignal::JoinSyn { backup, address_id, token, nonce }
        }),
        any::<(bool, u8, u64, u32)>().prop_map(|(backup, address_id, hmac, nonce)| {
            MptcpSignal::JoinSynAck { backup, address_id, hmac, nonce }
        }),
        any::<[u8; 20]>().prop_map(|hmac| MptcpSignal::JoinAck { hmac }),
        (any::<u8>(), address, of(any::<u16>()), of(any::<u64>())).prop_map(
            |(address_id, address, port, hmac)| MptcpSignal::AddAddress { address_id, address, port, hmac }
        ),
        prop::collection::vec(any::<u8>(), 1..=8).prop_map(|list| {
            let mut ids = [0; 8];
            ids[..list.len()].copy_from_slice(&list);
            MptcpSignal::RemoveAddress { ids, count: list.len() as u8 }
        }),
        any::<(bool, Option<u8>)>()
            .prop_map(|(backup, address_id)| MptcpSignal::Priority { backup, address_id }),
        any::<u64>().prop_map(|dsn| MptcpSignal::Fail { dsn }),
        any::<u64>().prop_map(|key| MptcpSignal::FastClose { key }),
        any::<(bool, u8)>().prop_map(|(transient, reason)| MptcpSignal::Reset { transient, reason }),
    ]
}

pub(crate) fn rec_option() -> impl Strategy<Value = RecOption> {
    let blocks = prop::collection::vec(any::<(u32, u32)>(), 0..=Blocks::MAX);
    prop_oneof![
        any::<u8>().prop_map(|version| RecOption::Offer { version }),
        (any::<(u8, u32, u32)>(), blocks).prop_map(|((path, clock, rate), list)| {
            let mut blocks = Blocks::default();
            for (from, len) in list {
                assert!(blocks.push(from, len));
            }
            RecOption::Report(Report { path, clock, rate, blocks })
        }),
    ]
}

/// Segments with any options, which may be too long, and up to 99 bytes of payload.
pub(crate) fn any_segment() -> impl Strategy<Value = Segment<Span>> {
    let header = any::<(u16, u16, u32, u32, u8, u16)>();
    let options = (
        of(any::<u16>()),
        of(0u8..=14),
        any::<bool>(),
        of(any::<(u32, u32)>()),
        prop::collection::vec(any::<(u32, u32)>(), 0..=4),
        of(dss()),
        of(signal()),
        of(rec_option()),
    );
    (header, options, any::<u64>(), 0u32..100).prop_map(|(header, options, offset, len)| {
        let mut segment =
            Segment::new((header.0, header.1), header.2, header.3, Flags::from_bits(header.4), header.5);
        segment.mss = options.0;
        segment.window_scale = options.1;
        segment.sack_permitted = options.2;
        segment.timestamps = options.3.map(|(value, echo)| TimestampOption { value, echo });
        let mut sack = SackBlocks::default();
        for (left, right) in options.4 {
            assert!(sack.push(left, right));
        }
        segment.sack = sack;
        segment.dss = options.5;
        segment.signal = options.6;
        segment.rec = options.7;
        segment.payload = Span::new(offset, len);
        segment
    })
}

/// Segments with options removed until they fit.
pub(crate) fn segment() -> impl Strategy<Value = Segment<Span>> {
    (any_segment(), any::<u8>()).prop_map(|(mut segment, first)| {
        for drop in (0..7).map(|step| (first % 7 + step) % 7) {
            if segment.options_len() <= tcp::MAX_OPTIONS_LEN {
                break;
            }
            match drop {
                0 => segment.mss = None,
                1 => segment.timestamps = None,
                2 => segment.sack = SackBlocks::default(),
                3 => segment.dss = None,
                4 => segment.signal = None,
                5 => segment.rec = None,
                _ => segment.window_scale = None,
            }
        }
        segment
    })
}

/// The same segment with another payload.
pub(crate) fn carrying<P: Payload>(segment: &Segment<impl Payload>, payload: P) -> Segment<P> {
    Segment {
        source: segment.source,
        destination: segment.destination,
        seq: segment.seq,
        ack: segment.ack,
        flags: segment.flags,
        ecn: segment.ecn,
        window: segment.window,
        mss: segment.mss,
        window_scale: segment.window_scale,
        sack_permitted: segment.sack_permitted,
        timestamps: segment.timestamps,
        sack: segment.sack,
        dss: segment.dss,
        signal: segment.signal,
        rec: segment.rec,
        payload,
    }
}
