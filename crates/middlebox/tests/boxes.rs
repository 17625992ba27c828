//! What each kind of box does, step by step.

use bytes::Bytes;
use tandem_middlebox::{
    Alter, Chain, Directions, Finding, Forgotten, Meddling, Middlebox, MiddleboxConfig, On, Options, Passing,
};
use units::{Duration, Instant, Probability, Seed};
use wire::{Dss, Flags, MptcpSignal, Payload, Segment, Span, TimestampOption};

const UP: bool = true;
const DOWN: bool = false;

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn middlebox<P: Alter>(meddling: Meddling) -> Middlebox<P> {
    Middlebox::new(&MiddleboxConfig::new(meddling), Seed::new(1))
}

fn segment<P: Payload>(from_device: bool, seq: u32, flags: Flags, payload: P) -> Passing<P> {
    let (source, destination) = if from_device { (5000, 80) } else { (80, 5000) };
    let mut segment = Segment::new(source, destination, seq, 77, flags, 10);
    segment.payload = payload;
    Passing { from_device, flow: 0, segment }
}

fn data(from_device: bool, seq: u32, len: u32) -> Passing<Span> {
    segment(from_device, seq, Flags::ACK, Span::new(u64::from(seq), len))
}

fn pass<P: Alter>(boxed: &mut Middlebox<P>, now: Instant, passing: Passing<P>) -> Vec<Passing<P>> {
    boxed.push(now, passing);
    core::iter::from_fn(|| boxed.poll(now)).collect()
}

#[test]
fn options_are_taken_out_where_they_are_looked_for() {
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
    for (on, stripped) in [
        (On::Syn, [true, false, false]),
        (On::NotSyn, [false, true, true]),
        (On::Data, [false, true, false]),
        (On::All, [true, true, true]),
    ] {
        let meddling = |finding| Meddling::StripOptions {
            options: Options::MPTCP,
            on,
            finding,
            chance: Probability::ALWAYS,
        };
        let mut strips = middlebox(meddling(Finding::Strip));
        let mut drops = middlebox(meddling(Finding::Drop));
        for (passing, stripped) in [syn(), data(), ack()].into_iter().zip(stripped) {
            let left = pass(&mut strips, ms(0), passing.clone());
            let without = left[0].segment.dss.is_none() && left[0].segment.signal.is_none();
            assert_eq!(without, stripped, "{on:?}");
            assert_eq!(left[0].segment.timestamps, passing.segment.timestamps);
            assert_eq!(pass(&mut drops, ms(0), passing).is_empty(), stripped, "{on:?}");
        }
    }
}

#[test]
fn each_option_is_its_own() {
    let mut whole = segment(UP, 1, Flags::SYN, Span::empty()).segment;
    whole.mss = Some(1);
    whole.window_scale = Some(1);
    whole.sack_permitted = true;
    whole.sack.push(1, 2);
    whole.timestamps = Some(TimestampOption { value: 1, echo: 2 });
    whole.dss = Some(Dss::default());
    whole.signal = Some(MptcpSignal::Reset { transient: false, reason: 6 });
    whole.rec = Some(wire::RecOption::Offer { version: 1 });
    let all = Options::of(&whole);
    let mut seen = Options::NONE;
    for (name, option) in Options::NAMES {
        assert!(!seen.any(option), "{name}");
        seen = seen.with(option);
        let mut left = whole.clone();
        option.strip(&mut left);
        assert!(!Options::of(&left).any(option), "{name}");
        assert_eq!(Options::of(&left).with(option), all.with(option), "{name}");
    }
    assert_eq!(seen, Options::ALL);
}

#[test]
fn a_box_minds_its_time_and_its_direction() {
    let meddling = Meddling::Split { mss: 60 };
    let config = MiddleboxConfig {
        directions: Directions::Down,
        from: ms(10),
        until: Some(ms(20)),
        ..MiddleboxConfig::new(meddling)
    };
    let mut boxed = Middlebox::new(&config, Seed::new(1));
    let mut pieces = |at, from_device| pass(&mut boxed, ms(at), data(from_device, 1, 100)).len();
    let told = [pieces(9, DOWN), pieces(10, DOWN), pieces(15, UP), pieces(19, DOWN), pieces(20, DOWN)];
    assert_eq!(told, [1, 2, 1, 2, 1]);
}

#[test]
fn what_follows_is_merged_and_leaves_with_the_first_s_options() {
    let hold = Duration::from_millis(5);
    let mut boxed = middlebox(Meddling::Coalesce { most: 250, hold });
    let mut first = data(DOWN, 1, 100);
    first.segment.dss = Some(Dss { data_ack: Some(1), ..Dss::default() });
    let mut second = data(DOWN, 101, 100);
    second.segment.dss = Some(Dss { data_ack: Some(2), ..Dss::default() });
    second.segment.ack = 99;
    assert!(pass(&mut boxed, ms(0), first.clone()).is_empty());
    assert_eq!(boxed.next(), Some(ms(5)));
    assert!(pass(&mut boxed, ms(4), second).is_empty());
    // The hold counts from the first.
    assert_eq!((boxed.next(), boxed.held()), (Some(ms(5)), 1));
    assert!(boxed.poll(ms(4)).is_none());
    let merged = boxed.poll(ms(5)).unwrap();
    assert_eq!(merged.segment.payload, Span::new(1, 200));
    assert_eq!((merged.segment.dss, merged.segment.ack), (first.segment.dss, 99));
    assert_eq!(boxed.stats().merged, 1);
}

#[test]
fn what_does_not_follow_or_fit_pushes_out_what_is_held() {
    let hold = Duration::from_millis(5);
    let mut boxed = middlebox(Meddling::Coalesce { most: 250, hold });
    let seqs = |all: Vec<Passing<Span>>| -> Vec<(u32, u32)> {
        all.iter().map(|p| (p.segment.seq, p.segment.payload.len)).collect()
    };
    pass(&mut boxed, ms(0), data(UP, 1, 100));
    // A gap.
    assert_eq!(seqs(pass(&mut boxed, ms(1), data(UP, 301, 100))), [(1, 100)]);
    // Another direction is none of its business.
    assert_eq!(seqs(pass(&mut boxed, ms(1), data(DOWN, 1, 100))), []);
    // Full.
    assert_eq!(seqs(pass(&mut boxed, ms(2), data(UP, 401, 150))), [(301, 250)]);
    // An acknowledgement leaves after what was held, and a FIN ends the wait.
    pass(&mut boxed, ms(3), data(UP, 551, 10));
    let ack = segment(UP, 561, Flags::ACK, Span::empty());
    assert_eq!(seqs(pass(&mut boxed, ms(3), ack)), [(551, 10), (561, 0)]);
    pass(&mut boxed, ms(4), data(UP, 561, 10));
    let fin = segment(UP, 571, Flags::ACK.with(Flags::FIN), Span::new(571, 10));
    let left = pass(&mut boxed, ms(4), fin);
    assert!(left[0].segment.flags.has(Flags::FIN));
    assert_eq!(seqs(left), [(561, 20)]);
}

#[test]
fn bytes_are_merged_by_a_copy_and_changed_in_one_place() {
    let hold = Duration::from_millis(5);
    let mut merges = middlebox(Meddling::Coalesce { most: 6, hold });
    let piece = |seq, text: &'static [u8]| segment(UP, seq, Flags::ACK, Bytes::from_static(text));
    pass(&mut merges, ms(0), piece(1, b"abc"));
    assert_eq!(pass(&mut merges, ms(1), piece(4, b"def"))[0].segment.payload, &b"abcdef"[..]);

    let mut changes = middlebox(Meddling::Corrupt { chance: Probability::ALWAYS });
    for _ in 0..100 {
        let left = pass(&mut changes, ms(0), piece(1, b"abcdef"));
        let payload = &left[0].segment.payload;
        let other = payload.iter().zip(b"abcdef").filter(|(a, b)| a != b).count();
        assert_eq!((payload.len(), other), (6, 1));
    }
    let empty = pass(&mut changes, ms(0), piece(1, b""));
    assert_eq!((empty[0].segment.payload.len(), changes.stats().changed), (0, 100));
}

#[test]
fn a_changed_span_says_so_and_its_sum_is_another() {
    let mut changes = middlebox(Meddling::Corrupt { chance: Probability::ALWAYS });
    let before = data(DOWN, 1, 100);
    let after = pass(&mut changes, ms(0), before.clone()).remove(0).segment;
    assert!(after.payload.is_corrupted() && after.payload.len == 100);
    assert_ne!(after.payload.ones_sum(), before.segment.payload.ones_sum());
}

fn nat(forgotten: Forgotten) -> Middlebox<Span> {
    let mut nat = middlebox(Meddling::ForgetNat { idle: Duration::from_secs(60), forgotten });
    assert_eq!(pass(&mut nat, ms(0), segment(UP, 1, Flags::SYN, Span::empty())).len(), 1);
    assert_eq!(pass(&mut nat, ms(30_000), data(DOWN, 1, 10)).len(), 1);
    // What passes keeps the mapping: 60 s after that it is still there.
    assert_eq!(pass(&mut nat, ms(90_000), data(UP, 2, 10)).len(), 1);
    assert!(pass(&mut nat, ms(150_001), data(DOWN, 11, 10)).is_empty());
    nat
}

#[test]
fn a_mapping_that_is_renewed_has_lost_only_what_came_meanwhile() {
    let mut nat = nat(Forgotten::Renew);
    assert_eq!(pass(&mut nat, ms(150_002), data(UP, 12, 10))[0].segment.source, 5000);
    assert_eq!(pass(&mut nat, ms(150_003), data(DOWN, 11, 10)).len(), 1);
}

#[test]
fn a_mapping_with_another_port_is_another_connection_to_the_server() {
    let mut nat = nat(Forgotten::NewPort);
    let left = pass(&mut nat, ms(150_002), data(UP, 12, 10));
    assert_eq!(left[0].segment.source, 65_535);
    // What still goes to the old port is nobody's.
    assert!(pass(&mut nat, ms(150_003), data(DOWN, 11, 10)).is_empty());
    let mut answer = segment(DOWN, 77, Flags::RST, Span::empty());
    answer.segment.destination = 65_535;
    assert_eq!(pass(&mut nat, ms(150_004), answer)[0].segment.destination, 5000);
}

#[test]
fn a_box_that_resets_answers_as_an_unknown_connection_would() {
    let mut nat = nat(Forgotten::Reset);
    let left = pass(&mut nat, ms(150_002), data(UP, 12, 10));
    let reset = &left[0].segment;
    assert!(!left[0].from_device && left.len() == 1);
    assert_eq!((reset.source, reset.destination, reset.seq, reset.flags), (80, 5000, 77, Flags::RST));
    assert!(pass(&mut nat, ms(150_002), segment(UP, 12, Flags::RST, Span::empty())).is_empty());
    // A new connection may begin.
    assert_eq!(pass(&mut nat, ms(150_003), segment(UP, 500, Flags::SYN, Span::empty())).len(), 1);
    let stats = nat.stats();
    assert_eq!((stats.dropped, stats.answered), (3, 1));
}

#[test]
fn a_box_that_drops_waits_for_a_syn() {
    let mut nat = nat(Forgotten::Drop);
    assert!(pass(&mut nat, ms(150_002), data(UP, 12, 10)).is_empty());
    assert!(pass(&mut nat, ms(150_003), data(UP, 12, 10)).is_empty());
    assert_eq!(pass(&mut nat, ms(150_004), segment(UP, 500, Flags::SYN, Span::empty())).len(), 1);
    assert_eq!(pass(&mut nat, ms(150_005), data(DOWN, 500, 10)).len(), 1);
}

#[test]
fn connections_with_the_same_ports_are_told_apart() {
    let mut nat: Middlebox<Span> =
        middlebox(Meddling::ForgetNat { idle: Duration::from_secs(60), forgotten: Forgotten::Drop });
    pass(&mut nat, ms(0), segment(UP, 1, Flags::SYN, Span::empty()));
    let other = Passing { flow: 1, ..data(DOWN, 1, 10) };
    assert!(pass(&mut nat, ms(1), other).is_empty());
}

#[test]
fn boxes_in_a_row_see_each_direction_from_its_own_end() {
    let hold = Duration::from_millis(5);
    let nat = Meddling::ForgetNat { idle: Duration::from_secs(60), forgotten: Forgotten::Reset };
    let configs =
        [Meddling::Split { mss: 50 }, Meddling::Coalesce { most: 1000, hold }, nat].map(MiddleboxConfig::new);
    let mut chain = Chain::new(&configs, Seed::new(1));
    let leave = |chain: &mut Chain<Span>, now| -> Vec<Passing<Span>> {
        core::iter::from_fn(|| chain.poll(now)).collect()
    };
    chain.push(ms(0), segment(UP, 0, Flags::SYN, Span::empty()));
    assert_eq!(leave(&mut chain, ms(0)).len(), 1);
    // Up: cut, then merged again.
    chain.push(ms(1), data(UP, 1, 100));
    assert_eq!((leave(&mut chain, ms(1)), chain.next()), (vec![], Some(ms(6))));
    assert_eq!(leave(&mut chain, ms(6)), [data(UP, 1, 100)]);
    // Down: held, then cut.
    chain.push(ms(7), data(DOWN, 1, 100));
    assert_eq!((leave(&mut chain, ms(7)), chain.next()), (vec![], Some(ms(12))));
    assert_eq!(leave(&mut chain, ms(12)), [data(DOWN, 1, 50), data(DOWN, 51, 50)]);
    // What the last box answers comes back through the others.
    chain.push(ms(100_000), segment(UP, 101, Flags::ACK, Span::empty()));
    let left = leave(&mut chain, ms(100_000));
    assert!(left.len() == 1 && !left[0].from_device && left[0].segment.flags.has(Flags::RST));
    assert_eq!((chain.next(), chain.stats().map(|(_, s)| s.answered).sum::<u64>()), (None, 1));
}
