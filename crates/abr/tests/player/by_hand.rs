//! Sessions of four segments of 2 s, at 1 or 4 Mbit/s, whose every time was worked out by hand.

use tandem_abr::{Abandoned, Encoding, Manifest, Player, PlayerConfig, Request, Rule, Session, Stall, Wait};
use units::{Bitrate, Bytes, Duration, Instant};

fn manifest() -> Manifest {
    let row = vec![Bytes::new(250_000), Bytes::new(1_000_000)];
    let rates = [1.0, 4.0].map(Bitrate::from_mbps).to_vec();
    Manifest::new(Duration::from_secs(2), rates, vec![row; 4]).expect("a manifest")
}

/// BBA-0 with room for 6 s: the reservoir is 1.5 s, the cushion ends at 3.6.
fn player() -> Player {
    let config = PlayerConfig { max_buffer: Duration::from_secs(6), ..PlayerConfig::new(Rule::Buffer) };
    Player::new(manifest(), config, ms(10_000))
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn span(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Asks at one time and has the whole answer at another.
fn fetch(player: &mut Player, asked: u64, arrived: u64) -> Request {
    let request = player.poll_request(ms(asked)).expect("there is room");
    assert_eq!(player.poll_request(ms(asked)), None, "one at a time");
    assert_eq!(player.next(), None);
    assert!(player.receive(ms(arrived), request.size));
    request
}

/// A start of 1 s, a stall from 13 to 14 s, a climb, the end at 20 s.
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
fn a_whole_session() {
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
    assert!((kpis.mos - 2.5728).abs() < 1e-9, "{kpis:?}");
    // 1 + 1 + 1 + 4, less 4.3 for the stall and 3 for the change.
    assert!((kpis.linear - -0.3).abs() < 1e-9, "{kpis:?}");
}

#[test]
fn a_record_is_written_as_json_and_as_the_input_of_p1203() {
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
fn a_stall_still_open_at_the_end_is_closed_and_marked() {
    let mut player = player();
    fetch(&mut player, 10_000, 11_000);
    player.poll_request(ms(11_000)).unwrap();
    assert!(!player.stalled(ms(13_000)) && player.stalled(ms(13_001)));
    assert!(!player.receive(ms(14_000), Bytes::new(249_999)), "a byte is missing");
    let session = player.finish(ms(15_000));
    let stall = Stall { start: ms(13_000), end: ms(15_000), position: span(2_000), open: true };
    assert_eq!((session.stalls.as_slice(), session.complete), ([stall].as_slice(), false));
    assert_eq!((session.segments.len(), session.played), (1, span(2_000)));
}

#[test]
fn a_segment_in_the_very_nanosecond_is_in_time() {
    let mut player = player();
    fetch(&mut player, 10_000, 11_000);
    fetch(&mut player, 11_000, 13_000);
    assert_eq!(player.finish(ms(13_500)).stalls, []);
}

#[test]
fn a_viewer_who_goes_before_the_first_picture_has_only_waited() {
    let mut player = player();
    player.poll_request(ms(10_000)).unwrap();
    let session = player.finish(ms(17_000));
    assert_eq!(session.initial, Wait { length: span(7_000), open: true });
    assert_eq!((session.played, session.end), (Duration::ZERO, ms(17_000)));
    let kpis = session.kpis();
    assert_eq!((kpis.levels.initial, kpis.mean_bitrate, kpis.linear), (3, Bitrate::ZERO, 0.0));
}

#[test]
fn a_viewer_who_goes_in_mid_segment_has_seen_a_part_of_it() {
    let mut player = player();
    fetch(&mut player, 10_000, 11_000);
    fetch(&mut player, 11_000, 11_100);
    fetch(&mut player, 11_100, 11_200);
    // 1 s of buffer is left of the second segment: nothing of the third was seen.
    let session = player.finish(ms(14_000));
    let shown: Vec<u64> = session.shown().map(|(_, span)| span.as_millis()).collect();
    assert_eq!((session.segments.len(), shown), (3, vec![2_000, 1_000]));
}

#[test]
fn nothing_is_asked_for_while_it_would_not_fit() {
    let mut player = player();
    fetch(&mut player, 10_000, 10_100);
    fetch(&mut player, 10_100, 10_200);
    let third = fetch(&mut player, 10_200, 10_300);
    assert_eq!(third.level, 1, "3.9 s were there");
    // 5.8 s are there and 4 may be.
    assert_eq!((player.next(), player.poll_request(ms(12_099))), (Some(ms(12_100)), None));
    assert_eq!(player.next(), Some(ms(12_100)));
    assert!(player.poll_request(ms(12_100)).is_some());
}

#[test]
fn a_start_and_a_stall_may_want_more_than_a_segment() {
    let config = PlayerConfig {
        max_buffer: Duration::from_secs(6),
        startup: span(3_000),
        resume: span(4_000),
        ..PlayerConfig::new(Rule::Throughput)
    };
    let mut player = Player::new(manifest(), config, Instant::ZERO);
    fetch(&mut player, 0, 1_000);
    fetch(&mut player, 1_000, 2_000);
    // 4 s from second 2 to 6; 2 s at second 7 do not do, but they do once there is no more to come.
    fetch(&mut player, 2_000, 7_000);
    fetch(&mut player, 7_000, 9_000);
    let session = player.finish(ms(60_000));
    assert_eq!(session.initial.length, span(2_000));
    let stall = Stall { start: ms(6_000), end: ms(9_000), position: span(4_000), open: false };
    assert_eq!((session.stalls.as_slice(), session.end), ([stall].as_slice(), ms(13_000)));
}

#[test]
fn a_download_that_turns_out_too_slow_is_given_up_for_a_smaller_one() {
    let play = |abandon| {
        let config = PlayerConfig { abandon, ..PlayerConfig::new(Rule::Throughput) };
        let mut player = Player::new(manifest(), config, Instant::ZERO);
        // 20 Mbit/s, so the next is at 4: 8 Mbit, of which 0.4 come in half a second.
        fetch(&mut player, 0, 100);
        let second = player.poll_request(ms(100)).unwrap();
        assert_eq!((second.segment, second.level), (1, 1));
        assert!(!player.receive(ms(200), Bytes::ZERO));
        assert!(!player.receive(ms(700), Bytes::new(50_000)));
        let instead = player.poll_request(ms(700));
        assert_eq!(player.poll_request(ms(700)), None, "once");
        (instead, player)
    };
    assert_eq!(play(false).0, None);
    let (instead, mut player) = play(true);
    assert_eq!(instead, Some(Request { segment: 1, level: 0, size: Bytes::new(250_000) }));
    assert!(!player.receive(ms(900), Bytes::new(200_000)), "what came of the other does not count");
    assert!(player.receive(ms(1_000), Bytes::new(50_000)));
    let session = player.finish(ms(1_000));
    let vain = Abandoned { segment: 1, level: 1, got: Bytes::new(50_000), asked: ms(100), at: ms(700) };
    assert_eq!(session.abandoned, [vain]);
    assert_eq!((session.segments[1].asked, session.segments[1].level), (ms(700), 0));
}

#[test]
fn a_size_that_only_the_answer_tells_and_a_last_segment_that_is_shorter() {
    let guess = vec![Bytes::new(250_000)];
    let lengths = [2_000, 2_000, 500].map(span).to_vec();
    let manifest =
        Manifest::uneven(lengths, vec![Bitrate::from_mbps(1.0)], vec![guess; 3]).expect("a manifest");
    let config = PlayerConfig { max_buffer: span(4_000), ..PlayerConfig::new(Rule::Throughput) };
    let mut player = Player::new(manifest, config, ms(0));
    assert_eq!((player.started(), player.estimate()), (false, None));

    // Larger than was guessed, as its header says.
    player.poll_request(ms(0)).expect("there is room");
    player.resize(Bytes::new(300_000));
    assert!(!player.receive(ms(400), Bytes::new(250_000)));
    assert!(player.receive(ms(1_000), Bytes::new(50_000)));
    assert_eq!((player.started(), player.level(), player.played(ms(1_600))), (true, Some(0), span(600)));
    // 50 kB in 0.6 s after the first of it.
    assert!((player.estimate().expect("a sample").throughput.as_mbps() - 0.4 / 0.6).abs() < 1e-6);

    // Smaller, which only its end says.
    player.poll_request(ms(1_000)).expect("there is room");
    assert!(!player.receive(ms(1_500), Bytes::new(100_000)));
    player.resize(Bytes::new(1));
    assert!(player.receive(ms(2_000), Bytes::ZERO), "what came already is all there is");
    assert_eq!(player.buffer(ms(2_000)), span(3_000));

    // Half a second fits where two would not: at 3.5 of 4 s.
    assert_eq!(player.next(), Some(ms(2_000)));
    let last = player.poll_request(ms(2_000)).expect("there is room");
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
