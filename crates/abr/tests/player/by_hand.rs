//! Sessions of four segments of 2 s, at 1 or 4 Mbit/s, with hand-computed times.

use tandem_abr::{
    Abandoned, BUFFER, Encoding, Manifest, Player, PlayerConfig, Request, Session, Stall, THROUGHPUT, Wait,
};
use units::{Bitrate, Bytes, Duration, Instant};

fn manifest() -> Manifest {
    let row = vec![Bytes::new(250_000), Bytes::new(1_000_000)];
    let rates = [1.0, 4.0].map(Bitrate::from_mbps).to_vec();
    Manifest::new(Duration::from_secs(2), rates, vec![row; 4]).expect("a manifest")
}

/// BBA-0 with a buffer of 6 s: the reservoir is 1.5 s, the cushion ends at 3.6 s.
fn player() -> Player {
    let config = PlayerConfig { max_buffer: Duration::from_secs(6), ..PlayerConfig::new(BUFFER) };
    Player::new(manifest(), config, ms(10_000))
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn span(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Requests a segment at one time and receives it at another.
fn fetch(player: &mut Player, asked: u64, arrived: u64) -> Request {
    let request = player.poll_request(ms(asked)).expect("the buffer has room");
    assert_eq!(player.poll_request(ms(asked)), None, "one at a time");
    assert_eq!(player.next(), None);
    assert!(player.receive(ms(arrived), request.size));
    request
}

/// An initial wait of 1 s, a stall from 13 to 14 s, a higher level, and the end at 20 s.
fn whole() -> Session {
    let mut player = player();
    assert_eq!(player.next(), Some(ms(10_000)));
    fetch(&mut player, 10_000, 11_000);
    assert_eq!(player.buffer(ms(12_500)), span(500));
    fetch(&mut player, 11_000, 14_000);
    fetch(&mut player, 14_000, 14_200);
    let last = fetch(&mut player, 14_200, 15_200);
    assert_eq!(last, Request { segment: 3, level: 1, size: Bytes::new(1_000_000) });
    assert_eq!(player.next(), Some(ms(20_000)));
    assert_eq!(player.poll_request(ms(20_000)), None);
    assert_eq!((player.ended(), player.next()), (Some(ms(20_000)), None));
    player.finish(ms(90_000))
}

#[test]
fn complete_session_has_the_expected_record() {
    let session = whole();
    assert_eq!((session.start, session.end, session.complete), (ms(10_000), ms(20_000), true));
    assert_eq!(session.initial, Wait { length: span(1_000), open: false });
    let stall = Stall { start: ms(13_000), end: ms(14_000), position: span(2_000), open: false };
    assert_eq!(session.stalls, [stall]);
    assert_eq!(session.played, span(8_000));
    let buffers: Vec<u64> = session.segments.iter().map(|segment| segment.buffer.as_millis()).collect();
    assert_eq!(buffers, [2_000, 2_000, 3_800, 4_800]);

    let kpis = session.kpis();
    assert_eq!((kpis.initial, kpis.mean_stall, kpis.stalled), (span(1_000), span(1_000), span(1_000)));
    assert_eq!(kpis.stall_frequency, 0.125);
    assert_eq!((kpis.mean_bitrate, kpis.switches), (Bitrate::from_mbps(1.75), 1));
    // Levels 1, 2, 1: 4.23 - 0.0672 - 2 * 0.742 - 0.106.
    assert!((kpis.mos.unwrap() - 2.5728).abs() < 1e-9, "{kpis:?}");
    // 1 + 1 + 1 + 4, minus 4.3 for the stall and 3 for the change of level.
    assert!((kpis.linear.unwrap() - -0.3).abs() < 1e-9, "{kpis:?}");
}

#[test]
fn record_exports_to_json_and_p1203() {
    let session = whole();
    let json = session.to_json();
    assert_eq!(json["kpis"]["stalls"], 1);
    assert_eq!(json["kpis"]["mean_bitrate_kbps"], 1750.0);
    assert_eq!(json["duration_s"], 10.0);
    assert_eq!(json["stalls"].to_string(), r#"[{"start_s":3.0,"end_s":4.0,"position_s":2.0,"open":false}]"#);
    assert_eq!(json["switches"].to_string(), r#"[{"segment":3,"from_level":0,"to_level":1}]"#);
    assert_eq!(
        json["segments"][2].to_string(),
        r#"{"segment":2,"level":0,"bitrate_kbps":1000.0,"size_bytes":250000,"asked_s":4.0,"first_byte_s":4.2,"arrived_s":4.2,"buffer_s":3.8}"#
    );
    let encoding =
        |level| Encoding { codec: "h264".into(), fps: 30.0, pixels: [(640, 360), (1920, 1080)][level] };
    let p1203 = session.p1203(encoding).to_json();
    assert_eq!(p1203["I23"]["stalling"].to_string(), "[[0.0,1.0],[2.0,1.0]]");
    assert_eq!(
        p1203["I13"]["segments"][3].to_string(),
        r#"{"bitrate":4000.0,"codec":"h264","duration":2.0,"fps":30.0,"resolution":"1920x1080","start":6.0}"#
    );
}

#[test]
fn session_without_a_picture_has_no_scores() {
    let mut player = player();
    player.poll_request(ms(10_000)).unwrap();
    let session = player.finish(ms(15_000));
    assert_eq!(session.initial, Wait { length: span(5_000), open: true });
    assert_eq!((session.kpis().mos, session.state()), (None, "left"));
    let json = session.to_json();
    assert_eq!((&json["kpis"]["mok"]["mos"], &json["state"]), (&serde_json::Value::Null, &"left".into()));
    assert!(json["kpis"]["linear"].is_null());
    assert_eq!(whole().to_json()["state"], "finished");
}

#[test]
fn open_stall_is_closed_and_marked_at_the_end() {
    let mut player = player();
    fetch(&mut player, 10_000, 11_000);
    player.poll_request(ms(11_000)).unwrap();
    assert!(!player.stalled(ms(13_000)) && player.stalled(ms(13_001)));
    // Seen before and after a call that notices the stall.
    assert_eq!([13_000, 13_500].map(|at| player.stalled_time(ms(at))), [span(0), span(500)]);
    assert!(!player.receive(ms(14_000), Bytes::new(249_999)), "one byte is missing");
    assert_eq!(player.stalled_time(ms(14_500)), span(1_500));
    let session = player.finish(ms(15_000));
    let stall = Stall { start: ms(13_000), end: ms(15_000), position: span(2_000), open: true };
    assert_eq!((session.stalls.as_slice(), session.complete), ([stall].as_slice(), false));
    assert_eq!((session.segments.len(), session.played), (1, span(2_000)));
}

#[test]
fn segment_that_arrives_as_the_buffer_empties_is_in_time() {
    let mut player = player();
    fetch(&mut player, 10_000, 11_000);
    fetch(&mut player, 11_000, 13_000);
    assert_eq!(player.finish(ms(13_500)).stalls, []);
}

#[test]
fn session_without_a_picture_is_an_open_wait() {
    let mut player = player();
    player.poll_request(ms(10_000)).unwrap();
    let session = player.finish(ms(17_000));
    assert_eq!(session.initial, Wait { length: span(7_000), open: true });
    assert_eq!((session.played, session.end), (Duration::ZERO, ms(17_000)));
    let kpis = session.kpis();
    assert_eq!((kpis.levels.initial, kpis.mean_bitrate, kpis.linear), (3, Bitrate::ZERO, None));
}

#[test]
fn session_may_end_within_a_segment() {
    let mut player = player();
    fetch(&mut player, 10_000, 11_000);
    fetch(&mut player, 11_000, 11_100);
    fetch(&mut player, 11_100, 11_200);
    // 1 s of the second segment is left in the buffer, so the third was not shown.
    let session = player.finish(ms(14_000));
    let shown: Vec<u64> = session.shown().map(|(_, span)| span.as_millis()).collect();
    assert_eq!((session.segments.len(), shown), (3, vec![2_000, 1_000]));
}

#[test]
fn segment_is_requested_only_once_it_fits() {
    let mut player = player();
    fetch(&mut player, 10_000, 10_100);
    fetch(&mut player, 10_100, 10_200);
    let third = fetch(&mut player, 10_200, 10_300);
    assert_eq!(third.level, 1, "the buffer held 3.9 s");
    // The buffer holds 5.8 s; a segment fits at 4 s.
    assert_eq!((player.next(), player.poll_request(ms(12_099))), (Some(ms(12_100)), None));
    assert_eq!(player.next(), Some(ms(12_100)));
    assert!(player.poll_request(ms(12_100)).is_some());
}

#[test]
fn startup_and_resume_levels_are_respected() {
    let config = PlayerConfig {
        max_buffer: Duration::from_secs(6),
        startup: span(3_000),
        resume: span(4_000),
        ..PlayerConfig::new(THROUGHPUT)
    };
    let mut player = Player::new(manifest(), config, Instant::ZERO);
    fetch(&mut player, 0, 1_000);
    fetch(&mut player, 1_000, 2_000);
    // Playback from second 2 to 6. At second 7 the buffer has 2 s, too little to resume; at second
    // 9 all segments have arrived.
    fetch(&mut player, 2_000, 7_000);
    fetch(&mut player, 7_000, 9_000);
    let session = player.finish(ms(60_000));
    assert_eq!(session.initial.length, span(2_000));
    let stall = Stall { start: ms(6_000), end: ms(9_000), position: span(4_000), open: false };
    assert_eq!((session.stalls.as_slice(), session.end), ([stall].as_slice(), ms(13_000)));
}

#[test]
fn slow_download_is_replaced_by_a_lower_level() {
    let play = |abandon| {
        let config = PlayerConfig { abandon, ..PlayerConfig::new(THROUGHPUT) };
        let mut player = Player::new(manifest(), config, Instant::ZERO);
        // 20 Mbit/s, so the next level is 4 Mbit/s: 8 Mbit, of which 0.4 arrive in half a second.
        fetch(&mut player, 0, 100);
        let second = player.poll_request(ms(100)).unwrap();
        assert_eq!((second.segment, second.level), (1, 1));
        assert!(!player.receive(ms(200), Bytes::ZERO));
        assert!(!player.receive(ms(700), Bytes::new(50_000)));
        let replacement = player.poll_request(ms(700));
        assert_eq!(player.poll_request(ms(700)), None, "once");
        (replacement, player)
    };
    assert_eq!(play(false).0, None);
    let (replacement, mut player) = play(true);
    assert_eq!(replacement, Some(Request { segment: 1, level: 0, size: Bytes::new(250_000) }));
    assert!(!player.receive(ms(900), Bytes::new(200_000)), "bytes of the replaced download do not count");
    assert!(player.receive(ms(1_000), Bytes::new(50_000)));
    let session = player.finish(ms(1_000));
    let replaced = Abandoned { segment: 1, level: 1, got: Bytes::new(50_000), asked: ms(100), at: ms(700) };
    assert_eq!(session.abandoned, [replaced]);
    assert_eq!((session.segments[1].asked, session.segments[1].level), (ms(700), 0));
}

#[test]
fn response_may_correct_the_size_and_segments_may_differ_in_duration() {
    let estimate = vec![Bytes::new(250_000)];
    let lengths = [2_000, 2_000, 500].map(span).to_vec();
    let manifest =
        Manifest::uneven(lengths, vec![Bitrate::from_mbps(1.0)], vec![estimate; 3]).expect("a manifest");
    let config = PlayerConfig { max_buffer: span(4_000), ..PlayerConfig::new(THROUGHPUT) };
    let mut player = Player::new(manifest, config, ms(0));
    assert_eq!((player.started(), player.estimate()), (false, None));

    // Larger than in the manifest, by its header.
    player.poll_request(ms(0)).expect("the buffer has room");
    player.resize(Bytes::new(300_000));
    assert!(!player.receive(ms(400), Bytes::new(250_000)));
    assert!(player.receive(ms(1_000), Bytes::new(50_000)));
    assert_eq!((player.started(), player.level(), player.played(ms(1_600))), (true, Some(0), span(600)));
    // 50 kB in 0.6 s after the first byte.
    assert!((player.estimate().expect("a sample").throughput.as_mbps() - 0.4 / 0.6).abs() < 1e-6);

    // Smaller, known only at its end.
    player.poll_request(ms(1_000)).expect("the buffer has room");
    assert!(!player.receive(ms(1_500), Bytes::new(100_000)));
    player.resize(Bytes::new(1));
    assert!(player.receive(ms(2_000), Bytes::ZERO), "the received bytes are the whole segment");
    assert_eq!(player.buffer(ms(2_000)), span(3_000));

    // A segment of half a second fits at 3.5 of 4 s.
    assert_eq!(player.next(), Some(ms(2_000)));
    let last = player.poll_request(ms(2_000)).expect("the buffer has room");
    assert!(player.receive(ms(2_100), last.size));
    assert_eq!(player.next(), Some(ms(5_500)));
    let session = player.finish(ms(9_000));
    assert_eq!((session.complete, session.end, session.played), (true, ms(5_500), span(4_500)));
    let sizes: Vec<u64> = session.segments.iter().map(|segment| segment.size.get()).collect();
    assert_eq!(sizes, [300_000, 100_000, 250_000]);
    assert_eq!(
        session.segments.iter().map(|s| s.duration).collect::<Vec<_>>(),
        [span(2_000), span(2_000), span(500)]
    );
}
