//! Video over simulated connections: requests, responses, stalls and bitrates.

mod support;

use abr::{Manifest, PlayerConfig, Session, THROUGHPUT, Video};
use std::sync::Arc;
use support::{one_path, wifi_lte};
use tandem_sim::{Experiment, Outcome, Protocol, run, run_recorded};
use traffic::{Kind, TrafficConfig};
use units::{Bitrate, Bytes, Duration, Instant, Seed};

/// A video of 15 segments of 2 s at the given bitrates.
fn video(mbps: &[f64]) -> Video {
    let segment = Duration::from_secs(2);
    let rates: Vec<Bitrate> = mbps.iter().map(|&mbps| Bitrate::from_mbps(mbps)).collect();
    let row: Vec<Bytes> = rates.iter().map(|rate| rate.over(segment)).collect();
    let manifest = Manifest::new(segment, rates, vec![row; 15]).expect("a valid manifest");
    Video::new(manifest, PlayerConfig::new(THROUGHPUT))
}

fn kind(video: Video) -> Kind {
    Kind::Video(Arc::new(video))
}

fn session(outcome: &Outcome) -> &Session {
    outcome.connections[0].video.as_ref().expect("the connection carries video")
}

/// Sum of initial delay, stalls and playback.
fn total_time(session: &Session) -> Duration {
    let stalled = session.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length());
    session.initial.length + stalled + session.played
}

#[test]
fn every_requested_segment_is_delivered_with_its_headers() {
    for protocol in [Protocol::Mptcp, Protocol::Tcp { path: 1 }] {
        let mut experiment = wifi_lte(kind(video(&[1.0, 4.0])), 60);
        experiment.transport.protocol = protocol;
        let outcome = run(&experiment);
        let (session, connection) = (session(&outcome), &outcome.connections[0]);
        assert!(session.complete && session.segments.len() == 15);
        let bytes: u64 = session.segments.iter().map(|s| (s.size + Video::RESPONSE_HEADER).get()).sum();
        assert_eq!(connection.delivered_bytes, bytes);
        assert_eq!(connection.offered_bytes, bytes);
        let last = session.segments[14].arrived.since(session.start).as_secs_f64();
        assert_eq!(connection.completed_s, Some(last), "the connection closes after the last segment");
        let up: u64 = outcome.paths.iter().map(|path| path.payload_up_bytes).sum();
        assert!(up >= 15 * Video::REQUEST.get(), "{up} bytes of requests");
        assert_eq!(total_time(session), session.end.since(session.start));
    }
}

#[test]
fn initial_delay_and_stalls_follow_from_the_link_rate() {
    // A 4 Mbit/s video in segments of 1 MB over 3 Mbit/s takes less than 2.8 s for each segment
    // with headers. Each segment but the first stalls for 0.7 s. The initial delay is the
    // handshake, slow start and one segment.
    let outcome = run(&one_path(3.0, 10, kind(video(&[4.0])), 120));
    let session = session(&outcome);
    let kpis = session.kpis();
    assert!(session.complete);
    assert_eq!(session.stalls.len(), 14);
    // The link is idle for a round trip between two segments.
    let each = 8.0 / 3.0 * 1500.0 / 1448.0;
    let idle = kpis.mean_stall.as_secs_f64() - (each - 2.0);
    assert!((0.0..0.12).contains(&idle), "{kpis:?}");
    assert!((each..each + 0.3).contains(&kpis.initial.as_secs_f64()), "{kpis:?}");
    assert_eq!(kpis.levels.frequency, 3);
}

#[test]
fn server_delay_adds_to_the_time_to_first_byte() {
    let first_bytes = |wait: u64| {
        let video = Video { wait: Duration::from_millis(wait), ..video(&[1.0]) };
        let outcome = run(&one_path(20.0, 10, kind(video), 60));
        let gaps = session(&outcome).segments.iter().map(|s| 1e3 * s.first_byte.since(s.asked).as_secs_f64());
        gaps.collect::<Vec<_>>()
    };
    let (soon, late) = (first_bytes(0), first_bytes(100));
    assert_eq!((soon.len(), late.len()), (15, 15));
    for (soon, late) in soon.iter().zip(&late) {
        assert!((20.0..60.0).contains(soon), "time to first byte: {soon} ms");
        assert!((late - soon - 100.0).abs() < 5.0, "{late} ms, {soon} ms without delay");
    }
}

#[test]
fn a_leaving_viewer_sends_no_more_requests() {
    let mut video = video(&[1.0]);
    video.player.max_buffer = Duration::from_secs(10);
    let mut experiment = one_path(20.0, 10, kind(video), 60);
    experiment.traffic[0].start = Instant::from_secs(3);
    experiment.traffic[0].stop = Some(Instant::from_millis(14_500));
    let outcome = run(&experiment);
    let session = session(&outcome);
    assert!(!session.complete);
    assert_eq!((session.start, session.end), (Instant::from_secs(3), Instant::from_millis(14_500)));
    assert_eq!(total_time(session), session.end.since(session.start));
    assert!(session.segments.iter().all(|s| s.asked < session.end));
    // 11 s played and 10 s buffered, in segments of 2 s.
    assert_eq!(session.segments.len(), 10);
}

#[test]
fn a_second_path_raises_the_bitrate() {
    let rate = |experiment: &Experiment| session(&run(experiment)).kpis().mean_bitrate.as_mbps();
    let ladder = || kind(video(&[0.5, 1.0, 4.0, 12.0]));
    let mut both = wifi_lte(ladder(), 90);
    let with_lte = rate(&both);
    both.transport.protocol = Protocol::Tcp { path: 0 };
    assert!(with_lte > 2.0 * rate(&both), "{with_lte}");
}

#[test]
fn recording_and_sampling_do_not_change_the_session() {
    let mut experiment = wifi_lte(kind(video(&[0.5, 1.0, 4.0])), 60);
    for path in &mut experiment.paths {
        let tandem_sim::Hop::Link(link) = &mut path.down else { unreachable!() };
        link.loss = link::Loss::Uniform(units::Probability::new(0.01).expect("a probability"));
    }
    let first = run(&experiment);
    assert_eq!(first, run(&experiment));
    assert_eq!(session(&run_recorded(&experiment)), session(&first));
    experiment.sample = Duration::ZERO;
    assert_eq!(session(&run(&experiment)), session(&first));
    experiment.seed = Seed::new(2);
    assert_ne!(session(&run(&experiment)).segments, session(&first).segments);
}

#[test]
fn series_shows_the_playback_buffer() {
    let outcome = run(&one_path(3.0, 10, kind(video(&[4.0])), 60));
    let session = session(&outcome);
    let column = |name: &str| &outcome.series.column(name).expect("a recorded column").values;
    let (buffer, waiting) = (column("connection1.buffer_s"), column("connection1.waiting"));
    for (row, (&buffer, &waiting)) in buffer.iter().zip(waiting).enumerate() {
        let now = Instant::ZERO + Duration::from_millis(100) * (row as u64 + 1);
        let stalled = session.stalls.iter().any(|stall| stall.start < now && now < stall.end);
        let before = now < session.start + session.initial.length;
        if now < session.end && (stalled || before) {
            assert_eq!((buffer, waiting), (0.0, 1.0), "at {now}");
        }
    }
    assert!(buffer.iter().any(|&seconds| seconds > 1.0));
    assert!(column("connection1.bitrate_mbps").iter().all(|&mbps| mbps == 4.0));
}

#[test]
fn delay_of_a_segment_is_its_download_time() {
    let outcome = run(&wifi_lte(kind(video(&[1.0, 4.0])), 60));
    let downloads = session(&outcome).segments.iter().map(|one| one.arrived.since(one.asked));
    let connection = &outcome.connections[0];
    assert_eq!((connection.message, connection.delay.count), ("segment", 15));
    assert_eq!(connection.delay.max_s, downloads.max().map(Duration::as_secs_f64));
    assert!(connection.head_of_line.as_ref().unwrap().waited_share > 0.0);
}

#[test]
fn qoe_ignores_viewers_before_their_start_and_after_their_stop() {
    let mut video = video(&[0.5, 1.0]);
    video.player.max_buffer = Duration::from_secs(10);
    let mut experiment = wifi_lte(kind(video.clone()), 60);
    experiment.device.policy = "qoe".parse().expect("a policy");
    let lte_bytes = |experiment: &Experiment| run(experiment).paths[1].payload_down_bytes;
    let alone = lte_bytes(&experiment);
    let (start, stop) = (Instant::from_secs(90), Instant::from_millis(200));
    let later = TrafficConfig { start, ..TrafficConfig::new(kind(video.clone())) };
    let left = TrafficConfig { stop: Some(stop), ..TrafficConfig::new(kind(video)) };
    for other in [later, left] {
        experiment.traffic.truncate(1);
        experiment.traffic.push(other);
        let bytes = lte_bytes(&experiment);
        assert!(bytes < alone + 200_000, "{bytes} B over LTE, {alone} B without the other viewer");
    }
}

#[test]
fn viewer_waits_only_between_its_start_and_its_stop() {
    let mut experiment = one_path(3.0, 10, kind(video(&[4.0])), 6);
    experiment.traffic[0].start = Instant::from_secs(2);
    experiment.traffic[0].stop = Some(Instant::from_secs(4));
    let outcome = run(&experiment);
    let waiting = &outcome.series.column("connection1.waiting").expect("a recorded column").values;
    let rows: Vec<usize> = (0..waiting.len()).filter(|&row| waiting[row] > 0.0).collect();
    // The row at index 19 is that of 2 s; the first segment takes longer than 2 s.
    assert_eq!(rows, (19..39).collect::<Vec<_>>());
}
