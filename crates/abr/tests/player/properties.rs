//! Properties of every session, for any video, rule, buffer and network.

use proptest::prelude::*;
use tandem_abr::{Manifest, Player, PlayerConfig, RULES, Session};
use units::{Bitrate, Bytes, Duration, Instant};

/// A video of up to 40 segments in up to 6 bitrates.
fn manifest() -> impl Strategy<Value = Manifest> {
    (100_u64..10_000, 1_usize..=6, 1_usize..=40, 0.3_f64..3.0).prop_map(|(ms, levels, segments, vary)| {
        let rates: Vec<Bitrate> = (0..levels).map(|at| Bitrate::from_bps(200_000 << at)).collect();
        let segment = Duration::from_millis(ms);
        let sizes = (0..segments)
            .map(|index| {
                let factor = if index % 3 == 0 { vary } else { 1.0 };
                rates.iter().map(|rate| rate.over(segment.mul_f64(factor))).collect()
            })
            .collect();
        Manifest::new(segment, rates, sizes).expect("a manifest")
    })
}

fn config() -> impl Strategy<Value = PlayerConfig> {
    let seconds = || (0_u64..60_000).prop_map(Duration::from_millis);
    (prop::sample::select(RULES), seconds(), seconds(), seconds(), any::<bool>()).prop_map(
        |(rule, max_buffer, startup, resume, abandon)| PlayerConfig {
            rule: rule.into(),
            max_buffer,
            startup,
            resume,
            abandon,
        },
    )
}

/// Plays over a network that repeats `steps` of (nanoseconds, bytes), for at most `max_steps`. With
/// `extra_calls` it calls the player between the steps as well.
fn play(
    manifest: &Manifest,
    config: &PlayerConfig,
    steps: &[(u64, u64)],
    max_steps: usize,
    extra_calls: bool,
) -> Session {
    let start = Instant::from_millis(777);
    let mut player = Player::new(manifest.clone(), config.clone(), start);
    let (mut now, mut taken, mut asked) = (start, 0, 0);
    while player.ended().is_none() && taken < max_steps {
        if let Some(request) = player.poll_request(now) {
            assert_eq!(request.segment, asked, "each segment once and in order");
            assert_eq!(manifest.size(request.segment, request.level), Some(request.size));
            asked += 1;
            let mut level = request.level;
            loop {
                let (nanos, bytes) = steps[taken % steps.len()];
                taken += 1;
                if extra_calls {
                    assert_eq!(player.next(), None);
                }
                now += Duration::from_nanos(nanos);
                if player.receive(now, Bytes::new(bytes)) || taken >= max_steps {
                    break;
                }
                if let Some(replacement) = player.poll_request(now) {
                    assert!(config.abandon && replacement.level < level, "a replacement has a lower level");
                    assert_eq!(replacement.segment, request.segment);
                    level = replacement.level;
                }
                if extra_calls {
                    let between = now + Duration::from_nanos(steps[taken % steps.len()].0 / 2);
                    assert_eq!(player.poll_request(between), None);
                }
            }
        } else if player.ended().is_none() {
            let next = player.next().expect("a player without a pending event would never continue");
            assert!(next >= now, "the next event is not in the past");
            if extra_calls {
                assert_eq!(player.poll_request(now + next.since(now) / 3), None);
            }
            now = next;
            taken += 1;
        }
        let capacity = config.max_buffer.max(manifest.segment_duration());
        assert!(player.buffer(now) <= capacity);
    }
    let stalled = player.stalled_time(now);
    let session = player.finish(now);
    assert_eq!(stalled, session.kpis().stalled, "a present stall counts");
    session
}

fn check(session: &Session, manifest: &Manifest) {
    let stalled = session.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length());
    assert_eq!(session.initial.length + stalled + session.played, session.end.since(session.start));
    assert!(
        session.abandoned.iter().all(|replaced| replaced.asked <= replaced.at && replaced.at <= session.end)
    );
    for (at, segment) in session.segments.iter().enumerate() {
        assert_eq!(segment.segment, at);
        assert!(segment.asked <= segment.first_byte && segment.first_byte <= segment.arrived);
        assert!(segment.buffer >= manifest.segment_duration(), "includes the segment that arrived");
    }
    assert!(session.segments.windows(2).all(|pair| pair[0].arrived <= pair[1].asked));
    assert!(session.played <= manifest.segment_duration() * session.segments.len() as u64);
    assert!(session.stalls.iter().all(|stall| stall.start < stall.end));
    assert!(session.stalls.windows(2).all(|pair| pair[0].end <= pair[1].start && !pair[0].open));
    if session.complete {
        assert_eq!(session.played, manifest.duration());
        assert!(!session.initial.open && session.stalls.iter().all(|stall| !stall.open));
    }
    let kpis = session.kpis();
    assert_eq!(kpis.mos.is_none(), session.initial.open);
    assert!(kpis.mos.is_none_or(|mos| (1.4844 - 1e-9..=3.3148 + 1e-9).contains(&mos)));
    assert_eq!(kpis.linear.is_none(), session.initial.open);
    assert!(kpis.linear.is_none_or(f64::is_finite));
    assert!(kpis.mean_bitrate <= manifest.bitrate(manifest.highest()));
}

proptest! {
    #[test]
    fn waits_stalls_and_played_time_add_up(
        manifest in manifest(),
        config in config(),
        steps in prop::collection::vec((0_u64..3_000_000_000, 0_u64..3_000_000), 1..30),
        max_steps in 1_usize..3_000,
    ) {
        check(&play(&manifest, &config, &steps, max_steps, false), &manifest);
    }

    #[test]
    fn session_completes_on_any_network_that_delivers(
        manifest in manifest(),
        config in config(),
        steps in prop::collection::vec((0_u64..3_000_000_000, 1_000_u64..3_000_000), 1..30),
    ) {
        let session = play(&manifest, &config, &steps, usize::MAX, false);
        check(&session, &manifest);
        prop_assert!(session.complete);
    }

    #[test]
    fn extra_calls_do_not_change_the_session(
        manifest in manifest(),
        config in config(),
        steps in prop::collection::vec((1_u64..3_000_000_000, 1_000_u64..3_000_000), 1..30),
    ) {
        prop_assert_eq!(
            play(&manifest, &config, &steps, usize::MAX, true),
            play(&manifest, &config, &steps, usize::MAX, false)
        );
    }

    #[test]
    fn any_text_is_a_manifest_or_an_error(text in "[\\[\\]{}:,\"0-9a-z_. -]{0,80}") {
        if let Err(error) = Manifest::from_json("any", &text) {
            prop_assert!(error.to_string().starts_with("any:"));
        }
    }
}
