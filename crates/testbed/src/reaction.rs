//! How soon a path falls silent once it has been marked as backup, and what that time goes to.
//!
//! Each part is measured where packets pass, in the emulator: when MP_PRIO reached the server, when the last payload
//! left it, and when that arrived. What the server sends over the path in between it had given to the path's subflow
//! before: a priority takes none of it back. Where that takes longer than the path needs for so many bytes, something
//! else holds them back. (It was Nagle's algorithm, RFC 9293, section 3.7.4, which keeps a last segment that is not
//! full until all before it is acknowledged: 50 of 60 ms, until the servers here set `TCP_NODELAY` as web servers do.)

use emulator::Network;
use units::{Bitrate, Bytes, Duration, Instant};

/// A path on which no payload has come for so long is silent.
const SILENCE: Duration = Duration::from_millis(100);
/// A path that carried nothing lately has nothing to stop.
const RECENT: Duration = Duration::from_millis(100);

/// What came of one decision to use a path no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaction {
    /// The path.
    pub path: usize,
    /// When it was decided.
    pub at: Instant,
    /// How long after that the last payload arrived: the sum of the three that follow.
    pub took: Duration,
    /// From the decision until the server heard of it.
    pub order: Duration,
    /// From then until the last payload left the server.
    pub sender: Duration,
    /// From then until it arrived: the link's queue and its delay.
    pub link: Duration,
    /// What left the server meanwhile with payload, headers and all.
    pub given: Bytes,
    /// How long the path takes for that, at the rate at which it carried before the decision.
    pub needed: Duration,
}

/// A decision whose effect is still to be seen.
#[derive(Debug, Clone, Copy)]
struct Decided {
    path: usize,
    at: Instant,
    rate: Bitrate,
}

/// All decisions.
#[derive(Debug, Default)]
pub(crate) struct Reactions {
    waiting: Vec<Decided>,
    pub(crate) seen: Vec<Reaction>,
}

impl Reactions {
    /// The device is about to mark `path`, which carries `rate`, as backup, or as regular again.
    pub(crate) fn decided(
        &mut self,
        network: &mut Network,
        now: Instant,
        path: usize,
        backup: bool,
        rate: Bitrate,
    ) {
        self.waiting.retain(|decided| decided.path != path);
        let carries = now.since(network.paths()[path].last_payload_down) < RECENT;
        if backup && carries {
            network.follow_priority(path);
            self.waiting.push(Decided { path, at: now, rate });
        }
    }

    /// Looks which paths have fallen silent. Where the server has not heard of it, none has.
    pub(crate) fn look(&mut self, network: &Network, now: Instant) {
        let seen = &mut self.seen;
        self.waiting.retain(|&Decided { path, at, rate }| {
            let counts = &network.paths()[path];
            let followed = counts.priority.and_then(|followed| Some((followed.heard?, followed.sent_since)));
            let Some((heard, given)) = followed else { return true };
            let last = counts.last_payload_down.max(at);
            if now.since(last.max(heard)) <= SILENCE {
                return true;
            }
            let heard = heard.min(last);
            let sent = counts.last_payload_sent.clamp(heard, last);
            let given = Bytes::new(given);
            seen.push(Reaction {
                path,
                at,
                took: last.since(at),
                order: heard.since(at),
                sender: sent.since(heard),
                link: last.since(sent),
                given,
                needed: if rate.as_bps() == 0 { Duration::ZERO } else { rate.time_for(given) },
            });
            false
        });
    }
}
