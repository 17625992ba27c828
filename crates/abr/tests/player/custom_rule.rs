//! A rule from outside the crate, plugged in by value.

use tandem_abr::{AbrRule, Choice, Manifest, Player, PlayerConfig, Rule, RuleFactory, View};
use units::{Bitrate, Bytes, Duration, Instant};

/// Always the same level.
#[derive(Debug, Clone)]
struct Fixed {
    level: usize,
}

impl RuleFactory for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn build(&self, _manifest: &Manifest, _max_buffer: Duration) -> Box<dyn AbrRule> {
        Box::new(self.clone())
    }
}

impl AbrRule for Fixed {
    fn choose(&mut self, _view: &View<'_>) -> Choice {
        Choice::now(self.level)
    }
}

#[test]
fn player_follows_a_rule_of_another_crate() {
    let row = vec![Bytes::new(250_000), Bytes::new(1_000_000)];
    let rates = [1.0, 4.0].map(Bitrate::from_mbps).to_vec();
    let manifest = Manifest::new(Duration::from_secs(2), rates, vec![row; 3]).expect("a manifest");
    let config = PlayerConfig::new(Fixed { level: 1 });
    assert_eq!(config.rule, Rule::from(Fixed { level: 1 }));
    let mut player = Player::new(manifest, config, Instant::ZERO);
    for segment in 0..3 {
        let now = Instant::from_secs(segment);
        let request = player.poll_request(now).expect("the buffer has room");
        assert_eq!(request.level, 1);
        assert!(player.receive(now, request.size));
    }
    let session = player.finish(Instant::from_secs(6));
    assert_eq!((session.complete, session.rule.name()), (true, "fixed"));
}
