//! Media players on this device that report their buffers (CMCD).

use cmcd::{Object, State};
use policy::AppState;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// A player is forgotten after this time without a report, plus the duration of its last request.
/// By then it has ended or is paused.
const SILENCE: Duration = Duration::from_secs(5);
/// Maximum number of players; the longest silent ones are dropped.
const MOST: usize = 64;

/// Key of a report: session and object type. Video and audio have separate buffers.
type Name = (String, Option<Object>);

/// Recent reports of players.
#[derive(Debug, Clone, Default)]
pub struct Players {
    heard: BTreeMap<Name, (Instant, State)>,
}

/// Current state of a player.
#[derive(Debug, Clone, PartialEq)]
pub struct Player<'a> {
    /// CMCD session; empty when not reported.
    pub session: &'a str,
    /// Requested object type.
    pub object: Option<Object>,
    /// Last report.
    pub state: &'a State,
    /// Time since the last report.
    pub silent: Duration,
    /// Estimated buffer level now.
    pub buffer: Option<Duration>,
}

impl Players {
    /// Records a report. Returns false and ignores it when it has no buffer state.
    pub fn hear(&mut self, now: Instant, state: State) -> bool {
        if !state.is_of_a_buffer() {
            return false;
        }
        let name = (state.session.clone().unwrap_or_default(), state.object);
        self.heard.insert(name, (now, state));
        while self.heard.len() > MOST {
            let oldest = self.heard.iter().min_by_key(|(_, (at, _))| *at).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.heard.remove(&name));
        }
        true
    }

    /// Drops players without recent reports.
    pub fn forget(&mut self, now: Instant) {
        self.heard.retain(|_, (at, state)| now.since(*at) < SILENCE + state.duration.unwrap_or_default());
    }

    /// Known players, ordered by session.
    pub fn now(&self, now: Instant) -> impl Iterator<Item = Player<'_>> {
        self.heard.iter().map(move |((session, object), (at, state))| {
            let silent = now.since(*at);
            Player { session, object: *object, state, silent, buffer: state.buffer_after(silent) }
        })
    }

    /// Application state for a policy, from the unfinished player with the least buffer. A player
    /// with unknown buffer comes first. `None` without players.
    pub fn app(&self, now: Instant) -> Option<AppState> {
        let player = self.now(now).min_by_key(|player| (player.state.done, player.buffer))?;
        let state = player.state;
        Some(AppState {
            buffer: player.buffer,
            deadline: player.buffer.filter(|_| !state.urgent).map(|buffer| now + buffer),
            missing: state.missing_or_whole(),
            bitrate: state.bitrate,
            done: state.done,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Bitrate, Bytes};

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn says(text: &str) -> State {
        let mut state = State::default();
        state.read(text);
        state
    }

    #[test]
    fn what_a_player_said_grows_older() {
        let mut players = Players::default();
        assert_eq!(players.app(at(0)), None);
        assert!(players.hear(at(1_000), says("sid=\"a\",ot=v,bl=8000,br=4000,d=2000,tandem-missing=700")));
        let app = players.app(at(3_500)).unwrap();
        assert_eq!(app.buffer, Some(Duration::from_millis(5_500)));
        assert_eq!(app.deadline, Some(at(9_000)));
        assert_eq!(app.missing, Some(Bytes::new(700)));
        assert_eq!(app.bitrate, Some(Bitrate::from_mbps(4.0)));
        assert!(!app.done);
        // 5 s of silence, and 2 s of segment duration.
        players.forget(at(7_999));
        assert!(players.app(at(7_999)).is_some());
        players.forget(at(8_000));
        assert_eq!(players.app(at(8_000)), None);
    }

    #[test]
    fn what_is_not_said_stays_unknown() {
        let mut players = Players::default();
        assert!(!players.hear(at(0), says("sid=\"a\",ot=m")), "a manifest");
        assert!(!players.hear(at(0), says("sid=\"a\",br=4000,ot=i,bl=7000")), "what a decoder needs");
        assert!(!players.hear(at(0), says("sid=\"a\",br=4000")));
        assert!(players.hear(at(0), says("bl=4000")));
        let app = players.app(at(0)).unwrap();
        assert_eq!((app.missing, app.bitrate), (None, None));
        // A missing size is estimated as rate times duration, if both are known.
        players.hear(at(0), says("bl=4000,br=8000,d=4000"));
        assert_eq!(players.app(at(0)).unwrap().missing, Some(Bytes::new(4_000_000)));
    }

    #[test]
    fn the_player_in_need_counts() {
        let mut players = Players::default();
        players.hear(at(0), says("sid=\"a\",ot=v,bl=9000"));
        players.hear(at(0), says("sid=\"a\",ot=a,bl=3000"));
        players.hear(at(0), says("sid=\"b\",ot=v,bl=6000"));
        let buffer = |players: &Players| players.app(at(1_000)).unwrap().buffer;
        assert_eq!(buffer(&players), Some(Duration::from_secs(2)), "the sound");
        players.hear(at(0), says("sid=\"b\",ot=v,su"));
        assert_eq!(buffer(&players), Some(Duration::ZERO));
        assert_eq!(players.app(at(0)).unwrap().deadline, None, "it is over");
        players.hear(at(0), says("sid=\"b\",ot=v,bl=100,tandem-done"));
        assert_eq!(buffer(&players), Some(Duration::from_secs(2)), "who has all needs nothing");
        assert_eq!(players.now(at(0)).count(), 3);
    }

    #[test]
    fn no_more_are_known_than_are_bounded() {
        let mut players = Players::default();
        for nth in 0..200 {
            players.hear(at(nth), says(&format!("sid=\"{nth}\",bl=1000")));
        }
        assert_eq!(players.now(at(200)).count(), MOST);
        assert!(players.now(at(200)).any(|player| player.session == "199"));
    }
}
