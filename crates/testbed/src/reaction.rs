//! Reaction time: from the decision to mark a path as backup until the path carries no payload.
//!
//! The emulator records when MP_PRIO reached the server, when the last payload left the server,
//! and when that payload arrived. In between the server sends the bytes that it had already
//! committed to the path's subflow: a priority change does not recall them. A sender that takes
//! longer than the path needs for those bytes is delayed by something else, such as Nagle's
//! algorithm.

use emulator::Network;
use units::{Bitrate, Bytes, Duration, Instant};

/// A path without payload for this long is silent.
const SILENCE: Duration = Duration::from_millis(100);
/// A path without payload for this long was already silent at the decision.
const RECENT: Duration = Duration::from_millis(100);

/// Measured reaction to one decision against a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaction {
    /// Index of the path.
    pub path: usize,
    /// Time of the decision.
    pub decided_at: Instant,
    /// From the decision to the last payload: sum of `signalling`, `sender` and `link`.
    pub total: Duration,
    /// From the decision until the server received the signal.
    pub signalling: Duration,
    /// From the signal until the last payload left the server.
    pub sender: Duration,
    /// From then until the payload arrived: the link's queue and delay.
    pub link: Duration,
    /// Bytes of payload packets, with headers, that the server sent after the signal.
    pub committed: Bytes,
    /// Transmission time of the bytes in `committed`, at the path's rate before the decision.
    pub committed_time: Duration,
}

/// Decision to mark a path as backup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision {
    pub(crate) path: usize,
    pub(crate) at: Instant,
    /// Rate that the path carried before.
    pub(crate) rate: Bitrate,
}

/// Measures the reaction to each decision.
#[derive(Debug, Default)]
pub(crate) struct ReactionMeter {
    pending: Vec<Decision>,
    pub(crate) measured: Vec<Reaction>,
}

impl ReactionMeter {
    /// Starts a measurement. Call before the device signals the decision.
    pub(crate) fn start(&mut self, network: &mut Network, decision: Decision) {
        self.cancel(decision.path);
        let last_payload = network.paths()[decision.path].last_payload_down;
        if decision.at.since(last_payload) < RECENT {
            network.track_priority(decision.path);
            self.pending.push(decision);
        }
    }

    /// Cancels the measurement of a path, which becomes regular again.
    pub(crate) fn cancel(&mut self, path: usize) {
        self.pending.retain(|decision| decision.path != path);
    }

    /// Completes the measurements of paths that have become silent since the server received the
    /// signal.
    pub(crate) fn poll(&mut self, network: &Network, now: Instant) {
        let measured = &mut self.measured;
        self.pending.retain(|&Decision { path, at, rate }| {
            let counts = &network.paths()[path];
            let followed =
                counts.priority.and_then(|followed| Some((followed.received_at?, followed.sent_since)));
            let Some((heard, committed)) = followed else { return true };
            let last = counts.last_payload_down.max(at);
            if now.since(last.max(heard)) <= SILENCE {
                return true;
            }
            let heard = heard.min(last);
            let sent = counts.last_payload_sent.clamp(heard, last);
            let committed = Bytes::new(committed);
            let is_idle = rate.as_bps() == 0;
            measured.push(Reaction {
                path,
                decided_at: at,
                total: last.since(at),
                signalling: heard.since(at),
                sender: sent.since(heard),
                link: last.since(sent),
                committed,
                committed_time: if is_idle { Duration::ZERO } else { rate.time_for(committed) },
            });
            false
        });
    }
}
