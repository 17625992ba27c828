//! What holds for every video, rule and buffer, whatever the network does.

use proptest::prelude::*;
use tandem_abr::{Manifest, Player, PlayerConfig, Rule, Session};
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
    (prop::sample::select(Rule::ALL.to_vec()), seconds(), seconds(), seconds(), any::<bool>()).prop_map(
        |(rule, max_buffer, startup, resume, abandon)| PlayerConfig {
            rule,
            max_buffer,
            startup,
            resume,
            abandon,
        },
    )
}

/// Plays over a network that brings the steps' bytes after the steps' times, round and round, until the
/// end or for so many steps. Where it is `curious`, it looks at the player in between, too.
fn play(
    manifest: &Manifest,
    config: PlayerConfig,
    steps: &[(u64, u64)],
    most: usize,
    curious: bool,
) -> Session {
    let start = Instant::from_millis(777);
    let mut player = Player::new(manifest.clone(), config, start);
    let (mut now, mut taken, mut asked) = (start, 0, 0);
    while player.ended().is_none() && taken < most {
        if let Some(request) = player.poll_request(now) {
            assert_eq!(request.segment, asked, "each once and in order");
            assert_eq!(manifest.size(request.segment, request.level), Some(request.size));
            asked += 1;
            let mut level = request.level;
            loop {
                let (nanos, bytes) = steps[taken % steps.len()];
                taken += 1;
                if curious {
                    assert_eq!(player.next(), None);
                }
                now += Duration::from_nanos(nanos);
                if player.receive(now, Bytes::new(bytes)) || taken >= most {
                    break;
                }
                if let Some(instead) = player.poll_request(now) {
                    assert!(config.abandon && instead.level < level, "only downwards");
                    assert_eq!(instead.segment, request.segment);
                    level = instead.level;
                }
                if curious {
                    let between = now + Duration::from_nanos(steps[taken % steps.len()].0 / 2);
                    assert_eq!(player.poll_request(between), None);
                }
            }
        } else if player.ended().is_none() {
            let next = player.next().expect("a player that waits for nothing would wait for ever");
            assert!(next >= now, "the past is over");
            if curious {
                assert_eq!(player.poll_request(now + next.since(now) / 3), None);
            }
            now = next;
            taken += 1;
        }
        let room = config.max_buffer.max(manifest.segment_duration());
        assert!(player.buffer(now) <= room);
    }
    player.finish(now)
}

fn check(session: &Session, manifest: &Manifest) {
    let stalled = session.stalls.iter().fold(Duration::ZERO, |sum, stall| sum + stall.length());
    assert_eq!(session.initial.length + stalled + session.played, session.end.since(session.start));
    assert!(session.abandoned.iter().all(|vain| vain.asked <= vain.at && vain.at <= session.end));
    for (at, segment) in session.segments.iter().enumerate() {
        assert_eq!(segment.segment, at);
        assert!(segment.asked <= segment.first_byte && segment.first_byte <= segment.arrived);
        assert!(segment.buffer >= manifest.segment_duration(), "with the one that came");
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
    assert!((1.4844 - 1e-9..=3.3148 + 1e-9).contains(&kpis.mos));
    assert!(kpis.linear.is_finite());
    assert!(kpis.mean_bitrate <= manifest.bitrate(manifest.highest()));
}

proptest! {
    #[test]
    fn time_adds_up_whatever_the_network_does(
        manifest in manifest(),
        config in config(),
        steps in prop::collection::vec((0_u64..3_000_000_000, 0_u64..3_000_000), 1..30),
        most in 1_usize..3_000,
    ) {
        check(&play(&manifest, config, &steps, most, false), &manifest);
    }

    #[test]
    fn a_network_that_brings_something_brings_the_end(
        manifest in manifest(),
        config in config(),
        steps in prop::collection::vec((0_u64..3_000_000_000, 1_000_u64..3_000_000), 1..30),
    ) {
        let session = play(&manifest, config, &steps, usize::MAX, false);
        check(&session, &manifest);
        prop_assert!(session.complete);
    }

    #[test]
    fn how_often_the_player_is_looked_at_changes_nothing(
        manifest in manifest(),
        config in config(),
        steps in prop::collection::vec((1_u64..3_000_000_000, 1_000_u64..3_000_000), 1..30),
    ) {
        prop_assert_eq!(
            play(&manifest, config, &steps, usize::MAX, true),
            play(&manifest, config, &steps, usize::MAX, false)
        );
    }

    #[test]
    fn any_text_is_a_manifest_or_an_error(text in "[\\[\\]{}:,\"0-9a-z_. -]{0,80}") {
        if let Err(error) = Manifest::from_json("any", &text) {
            prop_assert!(error.to_string().starts_with("any:"));
        }
    }
}
