//! How soon a path falls silent once it has been marked as backup.
//!
//! In captures of such runs, MP_PRIO is on the wire less than 2 ms after the look that decided: it waits for nothing to
//! ride on. What comes beyond a round trip, the path's queue and the sender's own is one segment: the last one is
//! not full, and Nagle's algorithm (RFC 9293, section 3.7.4) holds it back until all before it is acknowledged, for
//! nearly a round trip. With `TCP_NODELAY` at the server 12 ms are left of 61, over 20 and 50 Mbit/s.

use emulator::Network;
use units::{Duration, Time};

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
    pub at: Time,
    /// How long after that the last payload arrived.
    pub took: Duration,
    /// One round trip, and what waited in the path's queue then: no order of the device can be faster.
    pub least: Duration,
    /// How long the path needs for what the server had given to its subflows and they had not sent: a
    /// priority takes none of it back.
    pub given: Duration,
}

/// Decisions whose effect is still to be seen.
#[derive(Debug, Default)]
pub(crate) struct Reactions {
    waiting: Vec<Reaction>,
    pub(crate) seen: Vec<Reaction>,
}

impl Reactions {
    /// The device has marked `path` as backup, or as regular again. `round_trip` is that of the path
    /// without its queue, `given` as in [`Reaction`].
    pub(crate) fn decided(
        &mut self,
        network: &mut Network,
        now: Time,
        path: usize,
        backup: bool,
        round_trip: Duration,
        given: Duration,
    ) {
        self.waiting.retain(|reaction| reaction.path != path);
        let carries = now.since(network.paths()[path].last_payload_down) < RECENT;
        if backup && carries {
            let least = round_trip + network.wait_down(now, path);
            self.waiting.push(Reaction { path, at: now, took: Duration::ZERO, least, given });
        }
    }

    /// Looks which paths have fallen silent.
    pub(crate) fn look(&mut self, network: &Network, now: Time) {
        let seen = &mut self.seen;
        self.waiting.retain(|reaction| {
            let last = network.paths()[reaction.path].last_payload_down.max(reaction.at);
            let silent = now.since(last) > SILENCE;
            if silent {
                seen.push(Reaction { took: last.since(reaction.at), ..*reaction });
            }
            !silent
        });
    }
}
