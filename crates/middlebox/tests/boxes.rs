//! Behaviour of each kind of middlebox, segment by segment.

use bytes::Bytes;
use tandem_middlebox::{
    Chain, Directions, EditablePayload, ExpiryAction, Middlebox, MiddleboxConfig, MiddleboxKind,
    OptionAction, OptionSet, SegmentFilter, TransitSegment,
};
use units::{Duration, Instant, Probability, Seed};
use wire::{Dss, Ecn, Flags, MptcpSignal, Payload, Segment, Span, TimestampOption};

const UP: bool = true;
const DOWN: bool = false;

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn new_middlebox<P: EditablePayload>(kind: MiddleboxKind) -> Middlebox<P> {
    Middlebox::new(&MiddleboxConfig::new(kind), Seed::new(1))
}

fn segment<P: Payload>(from_device: bool, seq: u32, flags: Flags, payload: P) -> TransitSegment<P> {
    let (source, destination) = if from_device { (5000, 80) } else { (80, 5000) };
    let mut segment = Segment::new((source, destination), seq, 77, flags, 10);
    segment.payload = payload;
    TransitSegment { from_device, flow: 0, segment }
}

fn data(from_device: bool, seq: u32, len: u32) -> TransitSegment<Span> {
    segment(from_device, seq, Flags::ACK, Span::new(u64::from(seq), len))
}

fn pass<P: EditablePayload>(
    middlebox: &mut Middlebox<P>,
    now: Instant,
    transit: TransitSegment<P>,
) -> Vec<TransitSegment<P>> {
    middlebox.push(now, transit);
    core::iter::from_fn(|| middlebox.poll(now)).collect()
}

#[test]
fn options_are_stripped_from_selected_segments() {
    let capable = MptcpSignal::Fail { dsn: 3 };
    let syn = || {
        let mut syn = segment(UP, 1, Flags::SYN, Span::empty());
        syn.segment.signal = Some(capable);
        syn.segment.timestamps = Some(TimestampOption { value: 1, echo: 2 });
        syn
    };
    let data = || {
        let mut data = data(UP, 2, 100);
        data.segment.dss = Some(Dss::default());
        data
    };
    let ack = || {
        let mut ack = segment(DOWN, 2, Flags::ACK, Span::empty());
        ack.segment.dss = Some(Dss::default());
        ack
    };
    for (filter, is_selected) in [
        (SegmentFilter::Syn, [true, false, false]),
        (SegmentFilter::NotSyn, [false, true, true]),
        (SegmentFilter::Data, [false, true, false]),
        (SegmentFilter::All, [true, true, true]),
    ] {
        let kind = |action| MiddleboxKind::StripOptions {
            options: OptionSet::MPTCP,
            filter,
            action,
            chance: Probability::ALWAYS,
        };
        let mut strips = new_middlebox(kind(OptionAction::Strip));
        let mut drops = new_middlebox(kind(OptionAction::Drop));
        for (transit, is_selected) in [syn(), data(), ack()].into_iter().zip(is_selected) {
            let left = pass(&mut strips, ms(0), transit.clone());
            let is_stripped = left[0].segment.dss.is_none() && left[0].segment.signal.is_none();
            assert_eq!(is_stripped, is_selected, "{filter:?}");
            assert_eq!(left[0].segment.timestamps, transit.segment.timestamps);
            assert_eq!(pass(&mut drops, ms(0), transit).is_empty(), is_selected, "{filter:?}");
        }
    }
}

#[test]
fn stripping_one_option_keeps_the_others() {
    let mut whole = segment(UP, 1, Flags::SYN, Span::empty()).segment;
    whole.mss = Some(1);
    whole.window_scale = Some(1);
    whole.sack_permitted = true;
    whole.sack.push(1, 2);
    whole.timestamps = Some(TimestampOption { value: 1, echo: 2 });
    whole.dss = Some(Dss::default());
    whole.signal = Some(MptcpSignal::Reset { transient: false, reason: 6 });
    whole.rec = Some(wire::RecOption::Offer { version: 1 });
    let all = OptionSet::of(&whole);
    let mut seen = OptionSet::empty();
    for (name, option) in OptionSet::NAMES {
        assert!(!seen.intersects(option), "{name}");
        seen |= option;
        let mut left = whole.clone();
        option.strip(&mut left);
        assert!(!OptionSet::of(&left).intersects(option), "{name}");
        assert_eq!(OptionSet::of(&left) | option, all | option, "{name}");
    }
    assert_eq!(seen, OptionSet::ALL);
}

#[test]
fn middlebox_acts_in_its_period_and_direction_only() {
    let kind = MiddleboxKind::Split { mss: 60 };
    let config = MiddleboxConfig {
        directions: Directions::Down,
        from: ms(10),
        until: Some(ms(20)),
        ..MiddleboxConfig::new(kind)
    };
    let mut middlebox = Middlebox::new(&config, Seed::new(1));
    let mut pieces = |at, from_device| pass(&mut middlebox, ms(at), data(from_device, 1, 100)).len();
    let counts = [pieces(9, DOWN), pieces(10, DOWN), pieces(15, UP), pieces(19, DOWN), pieces(20, DOWN)];
    assert_eq!(counts, [1, 2, 1, 2, 1]);
}

#[test]
fn merged_segment_has_the_options_of_the_first() {
    let hold = Duration::from_millis(5);
    let mut middlebox = new_middlebox(MiddleboxKind::Coalesce { max_bytes: 250, hold });
    let mut first = data(DOWN, 1, 100);
    first.segment.dss = Some(Dss { data_ack: Some(1), ..Dss::default() });
    let mut second = data(DOWN, 101, 100);
    second.segment.dss = Some(Dss { data_ack: Some(2), ..Dss::default() });
    second.segment.ack = 99;
    assert!(pass(&mut middlebox, ms(0), first.clone()).is_empty());
    assert_eq!(middlebox.next(), Some(ms(5)));
    assert!(pass(&mut middlebox, ms(4), second).is_empty());
    // The hold time starts with the first segment.
    assert_eq!((middlebox.next(), middlebox.held()), (Some(ms(5)), 1));
    assert!(middlebox.poll(ms(4)).is_none());
    let merged = middlebox.poll(ms(5)).unwrap();
    assert_eq!(merged.segment.payload, Span::new(1, 200));
    assert_eq!((merged.segment.dss, merged.segment.ack), (first.segment.dss, 99));
    assert_eq!(middlebox.stats().merged, 1);
}

#[test]
fn merged_segment_keeps_a_mark_of_either_part() {
    for marked in [0, 1] {
        let hold = Duration::from_millis(5);
        let mut middlebox = new_middlebox(MiddleboxKind::Coalesce { max_bytes: 250, hold });
        for part in [0, 1] {
            let mut segment = data(DOWN, 1 + 100 * part, 100);
            segment.segment.ecn = if part == marked { Ecn::Ce } else { Ecn::Ect0 };
            assert!(pass(&mut middlebox, ms(0), segment).is_empty());
        }
        assert_eq!(middlebox.poll(ms(5)).unwrap().segment.ecn, Ecn::Ce);
    }
}

#[test]
fn held_segment_leaves_before_one_that_cannot_be_merged() {
    let hold = Duration::from_millis(5);
    let mut middlebox = new_middlebox(MiddleboxKind::Coalesce { max_bytes: 250, hold });
    let seqs = |all: Vec<TransitSegment<Span>>| -> Vec<(u32, u32)> {
        all.iter().map(|p| (p.segment.seq, p.segment.payload.len)).collect()
    };
    pass(&mut middlebox, ms(0), data(UP, 1, 100));
    // A gap in the sequence numbers.
    assert_eq!(seqs(pass(&mut middlebox, ms(1), data(UP, 301, 100))), [(1, 100)]);
    // The other direction is held separately.
    assert_eq!(seqs(pass(&mut middlebox, ms(1), data(DOWN, 1, 100))), []);
    // The merged segment is full.
    assert_eq!(seqs(pass(&mut middlebox, ms(2), data(UP, 401, 150))), [(301, 250)]);
    // An acknowledgement leaves after the held segment, and a FIN releases it.
    pass(&mut middlebox, ms(3), data(UP, 551, 10));
    let ack = segment(UP, 561, Flags::ACK, Span::empty());
    assert_eq!(seqs(pass(&mut middlebox, ms(3), ack)), [(551, 10), (561, 0)]);
    pass(&mut middlebox, ms(4), data(UP, 561, 10));
    let fin = segment(UP, 571, Flags::ACK.with(Flags::FIN), Span::new(571, 10));
    let left = pass(&mut middlebox, ms(4), fin);
    assert!(left[0].segment.flags.has(Flags::FIN));
    assert_eq!(seqs(left), [(561, 20)]);
}

#[test]
fn byte_payloads_are_merged_and_corrupted_in_one_byte() {
    let hold = Duration::from_millis(5);
    let mut merges = new_middlebox(MiddleboxKind::Coalesce { max_bytes: 6, hold });
    let piece = |seq, text: &'static [u8]| segment(UP, seq, Flags::ACK, Bytes::from_static(text));
    pass(&mut merges, ms(0), piece(1, b"abc"));
    assert_eq!(pass(&mut merges, ms(1), piece(4, b"def"))[0].segment.payload, &b"abcdef"[..]);

    let mut changes = new_middlebox(MiddleboxKind::Corrupt { chance: Probability::ALWAYS });
    for _ in 0..100 {
        let left = pass(&mut changes, ms(0), piece(1, b"abcdef"));
        let payload = &left[0].segment.payload;
        let changed = payload.iter().zip(b"abcdef").filter(|(a, b)| a != b).count();
        assert_eq!((payload.len(), changed), (6, 1));
    }
    let empty = pass(&mut changes, ms(0), piece(1, b""));
    assert_eq!((empty[0].segment.payload.len(), changes.stats().changed), (0, 100));
}

#[test]
fn a_corrupted_span_has_another_checksum() {
    let mut changes = new_middlebox(MiddleboxKind::Corrupt { chance: Probability::ALWAYS });
    let before = data(DOWN, 1, 100);
    let after = pass(&mut changes, ms(0), before.clone()).remove(0).segment;
    assert!(after.payload.is_corrupted() && after.payload.len == 100);
    assert_ne!(after.payload.ones_sum(), before.segment.payload.ones_sum());
}

fn nat(on_expiry: ExpiryAction) -> Middlebox<Span> {
    let mut nat = new_middlebox(MiddleboxKind::Nat { idle: Duration::from_secs(60), on_expiry });
    assert_eq!(pass(&mut nat, ms(0), segment(UP, 1, Flags::SYN, Span::empty())).len(), 1);
    assert_eq!(pass(&mut nat, ms(30_000), data(DOWN, 1, 10)).len(), 1);
    // Traffic refreshes the mapping: it lives for another 60 s.
    assert_eq!(pass(&mut nat, ms(90_000), data(UP, 2, 10)).len(), 1);
    assert!(pass(&mut nat, ms(150_001), data(DOWN, 11, 10)).is_empty());
    nat
}

#[test]
fn renewed_mapping_keeps_the_port() {
    let mut nat = nat(ExpiryAction::Renew);
    assert_eq!(pass(&mut nat, ms(150_002), data(UP, 12, 10))[0].segment.source, 5000);
    assert_eq!(pass(&mut nat, ms(150_003), data(DOWN, 11, 10)).len(), 1);
}

#[test]
fn expired_mapping_gets_a_new_port() {
    let mut nat = nat(ExpiryAction::NewPort);
    let left = pass(&mut nat, ms(150_002), data(UP, 12, 10));
    assert_eq!(left[0].segment.source, 65_535);
    // Segments to the old port are dropped.
    assert!(pass(&mut nat, ms(150_003), data(DOWN, 11, 10)).is_empty());
    let mut answer = segment(DOWN, 77, Flags::RST, Span::empty());
    answer.segment.destination = 65_535;
    assert_eq!(pass(&mut nat, ms(150_004), answer)[0].segment.destination, 5000);
}

#[test]
fn expired_mapping_is_answered_with_a_reset() {
    let mut nat = nat(ExpiryAction::Reset);
    let left = pass(&mut nat, ms(150_002), data(UP, 12, 10));
    let reset = &left[0].segment;
    assert!(!left[0].from_device && left.len() == 1);
    assert_eq!((reset.source, reset.destination, reset.seq, reset.flags), (80, 5000, 77, Flags::RST));
    assert!(pass(&mut nat, ms(150_002), segment(UP, 12, Flags::RST, Span::empty())).is_empty());
    // A new connection can be opened.
    assert_eq!(pass(&mut nat, ms(150_003), segment(UP, 500, Flags::SYN, Span::empty())).len(), 1);
    let stats = nat.stats();
    assert_eq!((stats.dropped, stats.answered), (3, 1));
}

#[test]
fn expired_mapping_drops_segments_until_a_syn() {
    let mut nat = nat(ExpiryAction::Drop);
    assert!(pass(&mut nat, ms(150_002), data(UP, 12, 10)).is_empty());
    assert!(pass(&mut nat, ms(150_003), data(UP, 12, 10)).is_empty());
    assert_eq!(pass(&mut nat, ms(150_004), segment(UP, 500, Flags::SYN, Span::empty())).len(), 1);
    assert_eq!(pass(&mut nat, ms(150_005), data(DOWN, 500, 10)).len(), 1);
}

#[test]
fn connections_with_equal_ports_have_separate_mappings() {
    let mut nat: Middlebox<Span> =
        new_middlebox(MiddleboxKind::Nat { idle: Duration::from_secs(60), on_expiry: ExpiryAction::Drop });
    pass(&mut nat, ms(0), segment(UP, 1, Flags::SYN, Span::empty()));
    let other = TransitSegment { flow: 1, ..data(DOWN, 1, 10) };
    assert!(pass(&mut nat, ms(1), other).is_empty());
}

#[test]
fn chain_passes_each_direction_through_all_middleboxes() {
    let hold = Duration::from_millis(5);
    let nat = MiddleboxKind::Nat { idle: Duration::from_secs(60), on_expiry: ExpiryAction::Reset };
    let configs = [MiddleboxKind::Split { mss: 50 }, MiddleboxKind::Coalesce { max_bytes: 1000, hold }, nat]
        .map(MiddleboxConfig::new);
    let mut chain = Chain::new(&configs, Seed::new(1));
    let leave = |chain: &mut Chain<Span>, now| -> Vec<TransitSegment<Span>> {
        core::iter::from_fn(|| chain.poll(now)).collect()
    };
    chain.push(ms(0), segment(UP, 0, Flags::SYN, Span::empty()));
    assert_eq!(leave(&mut chain, ms(0)).len(), 1);
    // Up: split, then merged again.
    chain.push(ms(1), data(UP, 1, 100));
    assert_eq!((leave(&mut chain, ms(1)), chain.next()), (vec![], Some(ms(6))));
    assert_eq!(leave(&mut chain, ms(6)), [data(UP, 1, 100)]);
    // Down: held, then split.
    chain.push(ms(7), data(DOWN, 1, 100));
    assert_eq!((leave(&mut chain, ms(7)), chain.next()), (vec![], Some(ms(12))));
    assert_eq!(leave(&mut chain, ms(12)), [data(DOWN, 1, 50), data(DOWN, 51, 50)]);
    // The reply of the last middlebox passes through the others.
    chain.push(ms(100_000), segment(UP, 101, Flags::ACK, Span::empty()));
    let left = leave(&mut chain, ms(100_000));
    assert!(left.len() == 1 && !left[0].from_device && left[0].segment.flags.has(Flags::RST));
    assert_eq!((chain.next(), chain.stats().map(|(_, s)| s.answered).sum::<u64>()), (None, 1));
}
