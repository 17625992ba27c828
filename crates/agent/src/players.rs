//! Media players on this device that report their buffers (CMCD).

use cmcd::{Object, State};
use policy::AppState;
use std::collections::BTreeMap;
use units::{Duration, Instant};

/// A player is forgotten after this time without a report, plus the duration of its last request.
/// By then it has ended or is paused.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of players; the longest silent ones are dropped.
pub const MAX_PLAYERS: usize = 64;

/// Key of a report: session and object type. Video and audio have separate buffers.
type ReportKey = (String, Option<Object>);

/// Recent reports of players.
#[derive(Debug, Clone, Default)]
pub struct Players {
    reports: BTreeMap<ReportKey, (Instant, State)>,
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
    pub fn record(&mut self, now: Instant, state: State) -> bool {
        if !state.is_of_a_buffer() {
            return false;
        }
        let name = (state.session.clone().unwrap_or_default(), state.object);
        self.reports.insert(name, (now, state));
        while self.reports.len() > MAX_PLAYERS {
            let oldest = self.reports.iter().min_by_key(|(_, (at, _))| *at).map(|(name, _)| name.clone());
            oldest.and_then(|name| self.reports.remove(&name));
        }
        true
    }

    /// Drops players without recent reports.
    pub fn expire(&mut self, now: Instant) {
        self.reports
            .retain(|_, (at, state)| now.since(*at) < REPORT_TIMEOUT + state.duration.unwrap_or_default());
    }

    /// Known players, ordered by session.
    pub fn current(&self, now: Instant) -> impl Iterator<Item = Player<'_>> {
        self.reports.iter().map(move |((session, object), (at, state))| {
            let silent = now.since(*at);
            Player { session, object: *object, state, silent, buffer: state.buffer_after(silent) }
        })
    }

    /// Application state for a policy, from the unfinished player with the least buffer. A player
    /// with unknown buffer comes first. `None` without players.
    pub fn app_state(&self, now: Instant) -> Option<AppState> {
        let player = self.current(now).min_by_key(|player| (player.state.done, player.buffer))?;
        let state = player.state;
        Some(AppState {
            buffer: player.buffer,
            deadline: player.buffer.filter(|_| !state.urgent).map(|buffer| now + buffer),
            missing: state.missing_or_whole(),
            bitrate: state.bitrate,
            stalled: None,
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

    fn report(text: &str) -> State {
        let mut state = State::default();
        state.read(text);
        state
    }

    #[test]
    fn buffer_drains_since_last_report() {
        let mut players = Players::default();
        assert_eq!(players.app_state(at(0)), None);
        assert!(
            players.record(at(1_000), report("sid=\"a\",ot=v,bl=8000,br=4000,d=2000,tandem-missing=700"))
        );
        let app = players.app_state(at(3_500)).unwrap();
        assert_eq!(app.buffer, Some(Duration::from_millis(5_500)));
        assert_eq!(app.deadline, Some(at(9_000)));
        assert_eq!(app.missing, Some(Bytes::new(700)));
        assert_eq!(app.bitrate, Some(Bitrate::from_mbps(4.0)));
        assert!(!app.done);
        // 5 s of silence, and 2 s of segment duration.
        players.expire(at(7_999));
        assert!(players.app_state(at(7_999)).is_some());
        players.expire(at(8_000));
        assert_eq!(players.app_state(at(8_000)), None);
    }

    #[test]
    fn unreported_values_stay_unknown() {
        let mut players = Players::default();
        assert!(!players.record(at(0), report("sid=\"a\",ot=m")), "a manifest");
        assert!(!players.record(at(0), report("sid=\"a\",br=4000,ot=i,bl=7000")), "an init segment");
        assert!(!players.record(at(0), report("sid=\"a\",br=4000")));
        assert!(players.record(at(0), report("bl=4000")));
        let app = players.app_state(at(0)).unwrap();
        assert_eq!((app.missing, app.bitrate), (None, None));
        // A missing size is estimated as rate times duration, if both are known.
        players.record(at(0), report("bl=4000,br=8000,d=4000"));
        assert_eq!(players.app_state(at(0)).unwrap().missing, Some(Bytes::new(4_000_000)));
    }

    #[test]
    fn neediest_player_counts() {
        let mut players = Players::default();
        players.record(at(0), report("sid=\"a\",ot=v,bl=9000"));
        players.record(at(0), report("sid=\"a\",ot=a,bl=3000"));
        players.record(at(0), report("sid=\"b\",ot=v,bl=6000"));
        let buffer = |players: &Players| players.app_state(at(1_000)).unwrap().buffer;
        assert_eq!(buffer(&players), Some(Duration::from_secs(2)), "the audio buffer");
        players.record(at(0), report("sid=\"b\",ot=v,su"));
        assert_eq!(buffer(&players), Some(Duration::ZERO));
        assert_eq!(players.app_state(at(0)).unwrap().deadline, None, "the buffer is empty");
        players.record(at(0), report("sid=\"b\",ot=v,bl=100,tandem-done"));
        assert_eq!(buffer(&players), Some(Duration::from_secs(2)), "a finished player needs nothing");
        assert_eq!(players.current(at(0)).count(), 3);
    }

    #[test]
    fn number_of_players_is_bounded() {
        let mut players = Players::default();
        for nth in 0..200 {
            players.record(at(nth), report(&format!("sid=\"{nth}\",bl=1000")));
        }
        assert_eq!(players.current(at(200)).count(), MAX_PLAYERS);
        assert!(players.current(at(200)).any(|player| player.session == "199"));
    }
}
