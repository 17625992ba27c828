//! `allowance`: a path with a data allowance is used no faster than what is left lasts.
//!
//! - The **pace** is what is left of a path's allowance, less what it has saved up, over the time until the
//!   allowance is renewed. What the pace gives and the path does not carry is **saved**, without limit, for
//!   as long as the period lasts: unused data are worth nothing afterwards.
//! - A limited path is regular while it has saved something, and **backup** otherwise. It becomes regular
//!   once it has saved ten seconds of its pace, and no less than twice what it carries in the time that a
//!   change takes to be felt: less would be gone before the sender has heard of it. As a backup it still
//!   takes over where no other path can carry the data; what it carries then is owed to the pace.
//! - At the **cap** it is closed, or stays a backup, as the user has chosen ([`AtCap`]).
//!
//! Bytes that are under way when a path is closed still arrive and are counted, so it is closed ahead:
//! when what is left is less than `rate * (interval + rtt) + queued`. The rate is the highest of the recent
//! past, the round trip (`PathState::srtt`) counts 200 ms where it is not known, and `queued` is what the
//! sender is known to have put on the path. Near the cap, where a second at that rate would reach it, the
//! path is looked at every 20 ms, not every 100.
//!
//! **Bound.** A rate that does not rise never exceeds the cap. One that rises between two looks can: the
//! cap is exceeded by at most what the link carries in one look and one round trip above what was
//! reckoned with, that is by less than `(link rate - rate) * (interval + rtt)`. `backup` has no such bound
//! where no other path is up: it is the wish to stay connected.

use crate::{Action, DeviceState, PathState, Policy};
use units::{Duration, Instant};

/// What becomes of a path whose allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtCap {
    /// It is closed until the allowance is renewed: no byte more is paid for.
    #[default]
    Close,
    /// It is a backup: it carries data where nothing else can.
    Backup,
}

/// The policy `allowance`.
#[derive(Debug, Clone)]
pub struct Allowance {
    at_cap: AtCap,
    paths: Vec<Limited>,
    /// Some path is near its cap.
    near: bool,
}

/// A path with an allowance.
#[derive(Debug, Clone, Copy, Default)]
struct Limited {
    /// The last look: when, what was left, what the counters showed.
    seen: Option<(Instant, u64, u64)>,
    /// What the pace has given and the path has not carried; below zero if it has carried more.
    saved: f64,
    /// The highest rate of the recent past, in bytes a second.
    rate: f64,
    /// The highest rate ever.
    peak: f64,
    /// It has saved enough to be used.
    regular: bool,
    /// It was closed, when so much was left.
    closed: Option<u64>,
}

impl Allowance {
    /// How often the paths are looked at.
    pub const INTERVAL: Duration = Duration::from_millis(100);
    /// How often while one of them may be at its cap within a second.
    pub const FINE_INTERVAL: Duration = Duration::from_millis(20);
    /// The pace of this time is saved before a path is used, so that it is not used for crumbs.
    const SAVED: f64 = 10.0;
    /// A rate is remembered for so long, in seconds.
    const MEMORY: f64 = 2.0;
    /// A round trip that is not known, in seconds.
    const ROUND_TRIP: f64 = 0.2;

    /// For any device: which of its paths are limited, their states say.
    pub fn new(at_cap: AtCap) -> Self {
        Self { at_cap, paths: Vec::new(), near: false }
    }

    /// The sooner a path is looked at again, the less has to be kept back.
    fn next_look(&self) -> Duration {
        if self.near { Self::FINE_INTERVAL } else { Self::INTERVAL }
    }
}

impl Limited {
    /// Takes the counters to account.
    fn account(&mut self, now: Instant, path: &PathState, left: u64) {
        let carried = path.bytes_down.saturating_add(path.bytes_up);
        let (last, left_before, carried_before) =
            self.seen.replace((now, left, carried)).unwrap_or((now, left, carried));
        let span = now.since(last).as_secs_f64();
        let grown = carried.saturating_sub(carried_before) as f64;
        if left > left_before {
            // Renewed: what was saved, and what was owed, is of the past.
            self.saved = 0.0;
        } else {
            self.saved -= grown;
        }
        if span > 0.0 {
            self.rate = (grown / span).max(self.rate * (1.0 - (span / Allowance::MEMORY).min(1.0)));
            self.peak = self.peak.max(self.rate);
        }
        let pace = self.pace(last, path, left);
        self.saved = (self.saved + pace * span).min(left as f64);
        if path.allowance_until.is_none_or(|until| until <= now) {
            // There is no time to spread it over.
            self.saved = left as f64;
        }
    }

    /// Bytes a second that last until the allowance is renewed.
    fn pace(&self, now: Instant, path: &PathState, left: u64) -> f64 {
        let rest = path.allowance_until.map_or(0.0, |until| until.since(now).as_secs_f64());
        if rest > 0.0 { (left as f64 - self.saved).max(0.0) / rest } else { 0.0 }
    }

    /// What comes before a change is felt that is made at the next look, in bytes.
    fn ahead(&self, path: &PathState, interval: Duration) -> f64 {
        let round_trip = path.srtt.map_or(Allowance::ROUND_TRIP, Duration::as_secs_f64);
        self.rate * (interval.as_secs_f64() + round_trip) + path.queued as f64
    }
}

impl Policy for Allowance {
    fn name(&self) -> &'static str {
        "allowance"
    }

    fn observe(&mut self, now: Instant, state: &DeviceState, actions: &mut Vec<Action>) {
        self.paths.resize(state.paths.len(), Limited::default());
        let interval = self.next_look();
        self.near = false;
        for (i, (limited, path)) in self.paths.iter_mut().zip(&state.paths).enumerate() {
            let Some(left) = path.allowance_left.map(units::Bytes::get) else { continue };
            limited.account(now, path, left);
            let ahead = limited.ahead(path, interval);
            if let Some(closed) = limited.closed {
                if left <= closed {
                    continue;
                }
                limited.closed = None;
                limited.regular = false;
                actions.push(Action::Open { path: i });
            }
            let used_up = left == 0 || (left as f64) < ahead;
            if used_up && self.at_cap == AtCap::Close {
                limited.closed = Some(left);
                actions.push(Action::Close { path: i });
                continue;
            }
            self.near |= path.up && (left as f64) < limited.peak + ahead;
            let enough = (limited.pace(now, path, left) * Self::SAVED).max(2.0 * ahead).max(1.0);
            let least = if limited.regular { ahead } else { enough };
            limited.regular = !used_up && limited.saved >= least.min(left as f64);
            let backup = !limited.regular;
            if path.backup != backup {
                actions.push(Action::SetBackup { path: i, backup });
            }
        }
    }

    fn interval(&self) -> Option<Duration> {
        Some(self.next_look())
    }
}
