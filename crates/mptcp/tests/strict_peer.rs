//! A peer that sends and expects exactly what RFC 8684 and RFC 9293 ask for, as Linux does.

use crate::pair::{CLIENT, Pair, PathModel, SERVER};
use tandem_mptcp::{Config, Endpoint, Event, Mode, PathId};
use units::{Instant, Seed};
use wire::{Flags, MptcpSignal, Segment, Span};

fn pair() -> Pair {
    Pair::new(1, Config::default(), vec![PathModel::clean(5)]).keep_trace()
}

/// A change of the version, flag H and flag B of MP_CAPABLE.
type Change = fn(&mut u8, &mut bool, &mut bool);

const CHANGES: [Change; 3] =
    [|version, _, _| *version = 0, |_, hmac, _| *hmac = false, |_, _, extension| *extension = true];

/// Mode of both ends if MP_CAPABLE from `end` is changed in all segments but the SYN.
fn modes_with(end: usize, change: Change) -> [Mode; 2] {
    let mut pair = pair();
    pair.tamper = Some(Box::new(move |from, _, segment| {
        if let Some(MptcpSignal::Capable { version, hmac_sha256, extension, sender_key: Some(_), .. }) =
            &mut segment.signal
            && from == end
        {
            change(version, hmac_sha256, extension);
        }
        true
    }));
    pair.connect();
    pair.run_until(Instant::from_secs(2));
    [pair.ends[CLIENT].mode(), pair.ends[SERVER].mode()]
}

#[test]
fn answer_with_another_version_or_flags_falls_back() {
    for change in CHANGES {
        assert_eq!(modes_with(SERVER, change)[CLIENT], Mode::Tcp);
    }
}

#[test]
fn third_ack_with_another_version_or_flags_falls_back() {
    for change in CHANGES {
        assert_eq!(modes_with(CLIENT, change)[SERVER], Mode::Tcp);
    }
    assert_eq!(modes_with(CLIENT, |_, _, _| {}), [Mode::Mptcp; 2]);
}

#[test]
fn reset_for_no_subflow_has_the_numbers_of_rfc_9293() {
    let reset_for = |flags: Flags| {
        let mut server = Endpoint::<Span>::server(Config::default(), Seed::new(1));
        let mut segment = Segment::new((1, 2), 100, 200, flags, 0);
        segment.payload = Span::new(0, 10);
        server.handle_segment(Instant::ZERO, PathId(0), segment);
        let (_, reset) = server.poll_transmit(Instant::ZERO).expect("a reset");
        (reset.flags, reset.seq, reset.ack)
    };
    assert_eq!(reset_for(Flags::ACK), (Flags::RST, 200, 0));
    assert_eq!(reset_for(Flags::FIN), (Flags::RST.with(Flags::ACK), 0, 111));
}

/// A forged segment of the client with a sequence number amid 10,000 bytes that the server has
/// received, and what the server does with 10,000 more.
fn forge(config: Config, forge: fn(&mut Segment<Span>)) -> Pair {
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[CLIENT] = 10_000;
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let last = pair.trace.iter().rfind(|s| s.from == CLIENT && s.segment.payload.len > 0);
    let mut segment = last.expect("data of the client").segment.clone();
    (segment.payload, segment.timestamps, segment.dss) = (Span::default(), None, None);
    segment.seq -= 1000;
    forge(&mut segment);
    pair.ends[SERVER].handle_segment(pair.now, PathId(0), segment);
    pair.to_write[CLIENT] = 10_000;
    pair.close_when_done = [true, true];
    pair.settle();
    pair.run_until(Instant::from_secs(5));
    pair
}

#[test]
fn fin_amid_received_data_is_ignored() {
    for (config, mode) in
        [(Config::default(), Mode::Mptcp), (Config { mptcp: false, ..Config::default() }, Mode::Tcp)]
    {
        let pair = forge(config, |segment| segment.flags = Flags::FIN.with(Flags::ACK));
        assert_eq!((pair.read[SERVER], pair.ends[SERVER].mode()), (20_000, mode), "{:?}", pair.events);
        assert!(pair.saw(CLIENT, &Event::Closed) && pair.saw(SERVER, &Event::Closed));
    }
}

#[test]
fn signal_before_the_window_does_not_end_a_subflow() {
    let pair = forge(Config::default(), |segment| {
        segment.signal = Some(MptcpSignal::RemoveAddress { ids: [0; 8], count: 1 });
    });
    assert_eq!((pair.read[SERVER], pair.ends[SERVER].mode()), (20_000, Mode::Mptcp), "{:?}", pair.events);
    let pair = forge(Config::default(), |segment| {
        let mapping = Some(wire::Mapping { dsn: 0, ssn: 1, len: 0, checksum: None });
        segment.dss = Some(wire::Dss { mapping, ..wire::Dss::default() });
    });
    assert_eq!((pair.read[SERVER], pair.ends[SERVER].mode()), (20_000, Mode::Mptcp), "{:?}", pair.events);
}

#[test]
fn forged_segment_from_before_the_last_window_changes_nothing() {
    let config = Config { recv_buffer: 100_000, paws: true, challenge_acks: true, ..Config::default() };
    let mut pair = Pair::new(1, config, vec![PathModel::clean(5)]).keep_trace();
    pair.to_write[CLIENT] = 300_000;
    pair.connect();
    pair.run_until(Instant::from_secs(5));
    let mut forged = last_of_client(&pair);
    forged.seq = forged.seq.wrapping_sub(200_000);
    (forged.payload, forged.dss) = (Span::default(), None);
    forged.signal = Some(MptcpSignal::Priority { backup: true, address_id: None });
    forged.timestamps.as_mut().expect("timestamps are on").value += 1_000_000;
    let now = pair.now;
    pair.ends[SERVER].handle_segment(now, PathId(0), forged);
    let answers: Vec<_> = core::iter::from_fn(|| pair.ends[SERVER].poll_transmit(now)).collect();
    assert_eq!(answers.len(), 1, "it is challenged");
    // A timestamp from the future would make PAWS drop all that follows.
    pair.to_write[CLIENT] = 10_000;
    pair.settle();
    pair.run_until(Instant::from_secs(10));
    assert_eq!(pair.read[SERVER], 310_000);
    assert!(!pair.saw(SERVER, &Event::Priority(PathId(0), true)));
}

#[test]
fn client_that_closes_before_it_is_answered_sends_a_data_fin() {
    let mut pair = pair();
    pair.tamper = Some(Box::new(|from, _, segment| from == CLIENT || segment.flags.has(Flags::SYN)));
    pair.connect();
    pair.ends[CLIENT].close();
    pair.settle();
    pair.run_until(Instant::from_millis(100));
    let fin = |s: &&crate::pair::Seen| s.segment.dss.is_some_and(|dss| dss.data_fin);
    let fin = pair.trace.iter().find(fin).expect("a DATA_FIN");
    assert_eq!((fin.from, fin.at, fin.segment.signal), (CLIENT, Instant::from_millis(10), None));
    assert!(pair.saw(SERVER, &Event::PeerClosed), "{:?}", pair.events[SERVER]);
}

#[test]
fn last_subflow_stays_open_until_both_streams_have_ended() {
    let mut pair = pair();
    pair.connect();
    pair.ends[CLIENT].close();
    pair.settle();
    pair.run_until(Instant::from_secs(1));
    assert!(pair.saw(SERVER, &Event::PeerClosed));
    let mut fin = pair.trace.iter().rfind(|s| s.from == CLIENT).expect("a segment").segment.clone();
    fin.flags = Flags::FIN.with(Flags::ACK);
    if let Some(dss) = &mut fin.dss {
        (dss.mapping, dss.data_fin) = (None, false);
    }
    let server = &mut pair.ends[SERVER];
    server.handle_segment(pair.now, PathId(0), fin);
    assert_eq!(server.write(&Span::new(0, 100)), 100);
    server.close();
    let sent: Vec<_> = std::iter::from_fn(|| server.poll_transmit(pair.now)).collect();
    assert!(sent.iter().any(|(_, segment)| segment.payload.len == 100), "{sent:?}");
    assert!(sent.iter().any(|(_, segment)| segment.dss.is_some_and(|dss| dss.data_fin)), "{sent:?}");
    assert!(sent.iter().all(|(_, segment)| !segment.flags.has(Flags::FIN)), "{sent:?}");
}

#[test]
fn announcement_before_any_dss_is_echoed() {
    let mut pair = pair();
    pair.tamper = Some(Box::new(|from, _, segment| {
        segment.dss = None;
        from == CLIENT || segment.flags.has(Flags::SYN) || segment.signal.is_some()
    }));
    pair.connect();
    pair.run_until(Instant::from_millis(30));
    assert!(!pair.saw(CLIENT, &Event::Connected(Mode::Mptcp)), "no DSS has arrived");
    pair.ends[SERVER].announce(7, [192, 0, 2, 7].into(), None);
    pair.settle();
    pair.run_until(Instant::from_millis(45));
    let echo = |s: &crate::pair::Seen| {
        let signal = s.segment.signal;
        s.from == CLIENT && matches!(signal, Some(MptcpSignal::AddAddress { hmac: None, .. }))
    };
    assert!(pair.trace.iter().any(echo));
}

/// The last segment of the client, at the server's next sequence number.
fn last_of_client(pair: &Pair) -> Segment<Span> {
    pair.trace.iter().rfind(|s| s.from == CLIENT).expect("a segment").segment.clone()
}

#[test]
fn priority_with_an_address_identifier_is_ignored() {
    for (address_id, expected) in [(None, true), (Some(0), false)] {
        let mut pair = pair();
        pair.connect();
        pair.run_until(Instant::from_secs(1));
        let mut segment = last_of_client(&pair);
        segment.signal = Some(MptcpSignal::Priority { backup: true, address_id });
        pair.ends[SERVER].handle_segment(pair.now, PathId(0), segment);
        pair.settle();
        assert_eq!(pair.saw(SERVER, &Event::Priority(PathId(0), true)), expected);
    }
}

#[test]
fn fast_close_in_a_reset_needs_the_exact_sequence_number() {
    let mut pair = Pair::new(1, Config::linux(), vec![PathModel::clean(5)]).keep_trace();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let key = pair.trace.iter().find_map(|s| match s.segment.signal {
        Some(MptcpSignal::Capable { sender_key, .. }) if s.from == SERVER => sender_key,
        _ => None,
    });
    let mut reset = last_of_client(&pair);
    reset.flags = Flags::RST.with(Flags::ACK);
    reset.signal = key.map(|key| MptcpSignal::FastClose { key });
    let server = &mut pair.ends[SERVER];
    reset.seq = reset.seq.wrapping_add(1);
    server.handle_segment(pair.now, PathId(0), reset.clone());
    let challenge = server.poll_transmit(pair.now).expect("a challenge").1;
    assert!(challenge.flags == Flags::ACK && !server.is_closed());
    reset.seq = reset.seq.wrapping_sub(1);
    server.handle_segment(pair.now, PathId(0), reset);
    assert!(server.is_closed());
}

#[test]
fn reset_after_the_end_has_no_reason() {
    let mut pair = pair();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let key = pair.trace.iter().find_map(|s| match s.segment.signal {
        Some(MptcpSignal::Capable { sender_key, .. }) if s.from == SERVER => sender_key,
        _ => None,
    });
    let data = last_of_client(&pair);
    let mut close = data.clone();
    close.signal = key.map(|key| MptcpSignal::FastClose { key });
    let server = &mut pair.ends[SERVER];
    server.handle_segment(pair.now, PathId(0), close);
    let first = server.poll_transmit(pair.now).expect("a reset").1;
    assert_eq!(first.signal, Some(MptcpSignal::Reset { transient: false, reason: 0 }));
    server.handle_segment(pair.now, PathId(0), data);
    let second = server.poll_transmit(pair.now).expect("a reset").1;
    assert_eq!((second.flags, second.signal), (Flags::RST, None));
}

#[test]
fn long_signal_displaces_the_data_ack_and_not_the_timestamps() {
    let mut pair = pair();
    pair.connect();
    pair.run_until(Instant::from_secs(1));
    let before = pair.trace.len();
    pair.ends[SERVER].announce(7, "2001:db8::7".parse().expect("an address"), Some(8443));
    pair.settle();
    pair.run_until(Instant::from_secs(2));
    let mut sent = pair.trace[before..].iter().filter(|s| s.from == CLIENT).map(|s| &s.segment);
    let echo = sent.next().expect("an echo");
    assert!(matches!(echo.signal, Some(MptcpSignal::AddAddress { hmac: None, .. })));
    assert!(echo.timestamps.is_some() && echo.dss.is_none());
    assert!(sent.any(|segment| segment.dss.is_some_and(|dss| dss.data_ack.is_some())));
}
