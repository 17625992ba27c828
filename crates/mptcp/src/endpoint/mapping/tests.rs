//! Tests of mappings and of the data that waits for them.

use crate::{Config, Endpoint, PathId};
use units::{Instant, Seed};
use wire::{Mapping, Payload, Segment, Span};

/// Exchanges segments without delay until none is left, and returns the bytes read. `short`
/// truncates data sequence numbers to 32 bits.
fn exchange(ends: &mut [Endpoint<Span>; 2], short: bool) -> u64 {
    let (mut read, mut quiet) = (0, false);
    while !quiet {
        quiet = true;
        for from in [0, 1] {
            while let Some((path, mut segment)) = ends[from].poll_transmit(Instant::ZERO) {
                quiet = false;
                if let Some(dss) = segment.dss.as_mut().filter(|_| short) {
                    dss.dsn_is_short = true;
                    if let Some(map) = &mut dss.mapping {
                        map.dsn &= 0xffff_ffff;
                    }
                }
                ends[1 - from].handle_segment(Instant::ZERO, path, &segment);
            }
        }
        while let Some(span) = ends[1].read(usize::MAX) {
            assert_eq!(span.offset, read);
            read += span.len() as u64;
            quiet = false;
        }
    }
    read
}

#[test]
fn data_sequence_numbers_wrap_at_32_and_64_bits() {
    for (idsn, checksum) in
        [(0x1_ffff_8000, false), (0x1_ffff_8000, true), (u64::MAX - 50_000, false), (u64::MAX - 9, true)]
    {
        for short in [false, true] {
            let config = Config { checksum, delayed_ack: units::Duration::ZERO, ..Config::default() };
            let mut ends =
                [Endpoint::client(config.clone(), Seed::new(1)), Endpoint::server(config, Seed::new(2))];
            ends[0].open(Instant::ZERO, PathId(0), false);
            exchange(&mut ends, short);
            ends[0].handshake.set_idsns(Some(idsn), None);
            ends[1].handshake.set_idsns(None, Some(idsn));
            assert_eq!(ends[0].write(&Span::new(0, 200_000)), 200_000);
            assert_eq!(exchange(&mut ends, short), 200_000, "{idsn:x} {short}");
            assert_eq!(ends[0].acknowledged(), 200_000);
        }
    }
}

/// A connected client, and the segments that carry the first 30,000 bytes of its server.
fn client_and_data(client: Config) -> (Endpoint<Span>, Vec<(PathId, Segment<Span>)>) {
    let mut ends = [
        Endpoint::server(Config { initial_window: 30, ..Config::default() }, Seed::new(2)),
        Endpoint::client(client, Seed::new(1)),
    ];
    ends[1].open(Instant::ZERO, PathId(0), false);
    exchange(&mut ends, false);
    let [mut server, client] = ends;
    server.widen_window(100_000);
    assert_eq!(server.write(&Span::new(0, 30_000)), 30_000);
    let segments: Vec<_> = core::iter::from_fn(|| server.poll_transmit(Instant::ZERO)).collect();
    (client, segments)
}

#[test]
fn data_beyond_a_gap_of_its_subflow_waits_there() {
    for subflow_order in [false, true] {
        let (mut client, segments) = client_and_data(Config { subflow_order, ..Config::default() });
        for (path, segment) in &segments[1..] {
            client.handle_segment(Instant::ZERO, *path, segment);
        }
        let len = segments[0].1.payload.len() as u64;
        let in_stream = if subflow_order { 0 } else { 30_000 - len };
        assert_eq!(client.data_receiver.out_of_order(), in_stream);
        assert_eq!((client.out_of_order(), client.unread()), (30_000 - len, 0));
        client.handle_segment(Instant::ZERO, segments[0].0, &segments[0].1);
        assert_eq!((client.out_of_order(), client.unread()), (0, 30_000));
    }
}

#[test]
fn data_beyond_the_window_is_dropped_after_its_subflow_has_acknowledged_it() {
    for overruns_window in [false, true] {
        let config = Config { overruns_window, recv_buffer: 10_000, ..Config::default() };
        let (mut client, segments) = client_and_data(config);
        // A gap at data level, but none in the subflow.
        let missing = segments[0].1.payload.len() as u64;
        client.subflows[0].receiver_mut().record(1, 1 + missing);
        for (path, segment) in &segments[1..] {
            client.handle_segment(Instant::ZERO, *path, segment);
        }
        assert!(client.out_of_order() + missing <= 10_000);
        let acknowledged = client.subflows[0].receiver().next_offset() - 1;
        assert_eq!(acknowledged == 30_000, overruns_window, "{acknowledged}");
        assert_eq!(client.check(), Ok(()));
    }
}

#[test]
fn data_in_order_beyond_the_window_is_taken_while_the_buffer_has_room() {
    let config = Config { overruns_window: true, recv_buffer: 10_000, ..Config::default() };
    let (mut client, segments) = client_and_data(config);
    for (path, segment) in &segments {
        client.handle_segment(Instant::ZERO, *path, segment);
    }
    let largest = segments.iter().map(|(_, s)| s.payload.len() as u64).max().unwrap_or(0);
    assert!((10_000..10_000 + largest).contains(&client.unread()), "{}", client.unread());
    assert_eq!(client.subflows[0].receiver().next_offset(), 1 + client.unread(), "no more is acknowledged");
}

#[test]
fn data_far_outside_the_window_is_not_acknowledged() {
    for distance in [1 << 50, u64::MAX - 100_000] {
        let (mut client, segments) = client_and_data(Config::default());
        let (path, segment) = &segments[0];
        let mut wrong = segment.clone();
        if let Some(map) = wrong.dss.as_mut().and_then(|dss| dss.mapping.as_mut()) {
            map.dsn = map.dsn.wrapping_add(distance);
        }
        client.handle_segment(Instant::ZERO, *path, &wrong);
        assert_eq!((client.subflows[0].receiver().next_offset(), client.unmapped()), (1, 0));
        client.handle_segment(Instant::ZERO, *path, segment);
        assert_eq!(client.unread(), segment.payload.len() as u64);
    }
}

#[test]
fn acknowledgement_without_data_scans_no_mappings() {
    let (mut client, segments) = client_and_data(Config { checksum: true, ..Config::default() });
    let (path, first) = segments[0].clone();
    let map = first.dss.and_then(|dss| dss.mapping).expect("a mapping");
    // One-byte segments under 1,024 mappings with one end, of which the last byte never arrives.
    for n in 0..2047 {
        let mut segment = first.clone();
        segment.seq = first.seq.wrapping_add(n);
        segment.payload = Span::new(u64::from(n), 1);
        if let Some(dss) = &mut segment.dss {
            let of_segment = Mapping {
                dsn: map.dsn.wrapping_add(u64::from(n)),
                ssn: map.ssn + n,
                len: 2048 - n as u16,
                ..map
            };
            dss.mapping = (n < 1024).then_some(of_segment);
        }
        client.handle_segment(Instant::ZERO, path, &segment);
    }
    let mappings = client.subflows[0].mappings();
    assert_eq!((client.unread(), mappings.unmapped_bytes(), mappings.len()), (0, 2047, 2047 + 1024));
    let scans = mappings.scans();
    assert!(scans > 0);
    let mut acknowledgement = first;
    acknowledgement.seq = acknowledgement.seq.wrapping_add(2047);
    acknowledgement.payload = Span::empty();
    if let Some(dss) = &mut acknowledgement.dss {
        dss.mapping = None;
    }
    for _ in 0..10 {
        client.handle_segment(Instant::ZERO, path, &acknowledgement);
    }
    assert_eq!(client.subflows[0].mappings().scans(), scans);
}
