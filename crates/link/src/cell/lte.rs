//! LTE cell: TTIs assigned by proportional fairness.

use super::load::Loads;
use super::ready::Ready;
use super::station::Station;
use crate::config::{CellConfig, CellStation, Fading, rate_at, snr_from_db};
use crate::server::work;
use units::{Bitrate, Duration, Instant, Seed};

/// Length of a TTI, in nanoseconds.
const TTI_NANOS: u64 = 1_000_000;

#[derive(Debug, Clone)]
pub(super) struct Lte<T> {
    pub(super) stations: Vec<Station<T>>,
    pub(super) loads: Loads,
    users: Vec<User>,
    /// Indices of attached stations come before those of background stations.
    ready: Ready,
    /// The next TTI to schedule.
    next_tti: u64,
    fairness: Fairness,
    fading: Option<BlockFading>,
    /// Time of all TTIs so far in which a user transmitted.
    used_nanos: u64,
    /// The last TTI in which a user transmitted, and the time used in it.
    last_tti: (u64, u64),
}

#[derive(Debug, Clone)]
struct User {
    /// Rate of the mean channel.
    rate: Bitrate,
    channel: Channel,
    /// Seed of the fading.
    seed: Seed,
    /// Rate with the fading of `block`, in bps.
    faded: u64,
    block: u64,
    /// Remaining work of a partly transmitted packet, in bps times nanoseconds; zero if there is
    /// none.
    partial: u64,
    /// Mean throughput, on the growing scale of [`Fairness`].
    mean: f64,
}

/// What the fading changes.
#[derive(Debug, Clone, Copy)]
enum Channel {
    /// A linear SNR, from which the rate follows.
    Snr(f64),
    /// The SNR of the cell's users.
    OfCell,
    /// A given rate.
    LinkRate,
}

impl<T: Clone> Lte<T> {
    pub(super) fn new(config: &CellConfig, attached: &[CellStation], seed: Seed) -> Self {
        let loads = Loads::new(&config.others, seed);
        let stations: Vec<Station<T>> =
            (0..).zip(attached).map(|(i, s)| Station::new(s, config, Duration::ZERO, i)).collect();
        let user = |rate: Bitrate, channel, seed: Seed| User {
            rate,
            channel,
            seed: seed.derive("fading"),
            faded: rate.as_bps(),
            block: u64::MAX,
            partial: 0,
            mean: 0.0,
        };
        let attached = attached.iter().zip(&stations).map(|(station, state)| {
            let channel = match (station.config.link_rate, station.config.snr_db) {
                (Some(_), _) => Channel::LinkRate,
                (None, Some(db)) => Channel::Snr(snr_from_db(db)),
                (None, None) => Channel::OfCell,
            };
            user(state.rate, channel, station.seed)
        });
        let others = (0..loads.len()).map(|i| {
            let seed = seed.derive(&format!("other {i}"));
            match loads.link_rate(i) {
                Some(rate) => user(rate, Channel::LinkRate, seed),
                None => user(config.rate, Channel::OfCell, seed),
            }
        });
        let users = attached.chain(others).collect();
        Self {
            ready: Ready::new(stations.len(), loads.len()),
            stations,
            loads,
            users,
            next_tti: 0,
            fairness: Fairness::new(config.pf_window.as_nanos() as f64 / TTI_NANOS as f64),
            fading: config.fading.map(|fading| BlockFading::new(fading, config.rate)),
            used_nanos: 0,
            last_tti: (0, 0),
        }
    }

    pub(super) fn push(&mut self, now: Instant, station: usize, size: u32, item: T) -> bool {
        if station >= self.stations.len() {
            return false;
        }
        // Leave the TTI that begins now: this packet may use it.
        self.run(|begin| begin < now);
        let accepted = self.stations[station].push(now, size, item);
        if accepted {
            self.next_tti = self.next_tti.max(now.as_nanos().div_ceil(TTI_NANOS));
            self.ready.insert(station);
        }
        accepted
    }

    /// Schedules all TTIs that have begun by `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        self.run(|begin| begin <= now);
    }

    /// Schedules all TTIs that have begun before `now`, and returns the time used by then. The
    /// users of a TTI have its beginning.
    pub(super) fn busy_time(&mut self, now: Instant) -> Duration {
        self.run(|begin| begin < now);
        let (begin, used) = self.last_tti;
        Duration::from_nanos(self.used_nanos - used + used.min(now.since(start(begin)).as_nanos()))
    }

    /// Returns the next TTI for which an attached user competes; [`Instant::MAX`] if none has
    /// data.
    pub(super) fn next_decision(&self) -> Instant {
        if self.ready.any_attached() { start(self.next_tti) } else { Instant::MAX }
    }

    /// Processes due decisions and packet generations in order.
    fn run(&mut self, due: impl Fn(Instant) -> bool) {
        loop {
            let idle = self.ready.members().is_empty();
            let decision = if idle { Instant::MAX } else { start(self.next_tti) };
            let generation = self.loads.next();
            let next = decision.min(generation);
            if next == Instant::MAX || !due(next) {
                return;
            }
            if generation > decision {
                self.schedule_tti(self.next_tti);
                self.next_tti += 1;
            } else if let Some(load) = self.loads.generate_next() {
                // Later only if the cell was idle.
                self.next_tti = self.next_tti.max(generation.as_nanos().div_ceil(TTI_NANOS));
                self.ready.insert(self.stations.len() + load);
            }
        }
    }

    /// Assigns a TTI to the users with data, in order of their metric.
    fn schedule_tti(&mut self, tti: u64) {
        self.fairness.advance(tti, &mut self.users);
        let mut left = TTI_NANOS;
        while left > 0 {
            let Some(user) = self.select_user(tti) else { break };
            let before = left;
            left = self.serve(user, tti, left);
            let sent = self.users[user].faded as f64 * (before - left) as f64;
            self.users[user].mean += sent * self.fairness.scale;
        }
        if left < TTI_NANOS {
            self.used_nanos += TTI_NANOS - left;
            self.last_tti = (tti, TTI_NANOS - left);
        }
    }

    /// Returns the user with data and the largest ratio of rate to mean throughput. Ties go to the
    /// lowest index. Returns `None` if all rates are zero.
    fn select_user(&mut self, tti: u64) -> Option<usize> {
        let mut best = None;
        let mut largest = 0.0;
        let alone = self.ready.members().len() == 1;
        for &index in self.ready.members() {
            let user = &mut self.users[index];
            if let Some(fading) = &self.fading {
                fading.apply(user, tti);
            }
            if alone {
                return (user.faded > 0).then_some(index);
            }
            let metric = user.faded as f64 / user.mean.max(1e-200);
            if metric > largest || (metric == largest && best.is_some_and(|other| index < other)) {
                (best, largest) = (Some(index), metric);
            }
        }
        best
    }

    /// Transmits packets of a user for at most `left` nanoseconds. Returns the unused nanoseconds.
    fn serve(&mut self, index: usize, tti: u64, mut left: u64) -> u64 {
        let (begin, end) = (start(tti), start(tti + 1));
        let attached = self.stations.len();
        let rate = self.users[index].faded;
        loop {
            let size = match self.stations.get(index) {
                Some(station) => station.head(),
                None => Some(self.loads.size(index - attached)),
            };
            let Some(size) = size else { break };
            let user = &mut self.users[index];
            let need = if user.partial > 0 { user.partial } else { work(size) };
            let time = need.div_ceil(rate);
            if time > left {
                user.partial = need - rate * left;
                return 0;
            }
            user.partial = 0;
            left -= time;
            let more = if let Some(station) = self.stations.get_mut(index) {
                station.send(begin, end);
                station.head().is_some()
            } else {
                self.loads.send(index - attached)
            };
            if !more {
                break;
            }
        }
        self.ready.remove(index);
        left
    }
}

fn start(tti: u64) -> Instant {
    Instant::from_nanos(tti.saturating_mul(TTI_NANOS))
}

/// The exponential averages of all users.
///
/// Every mean decays by `1 - 1/window` in each TTI. Only ratios matter, so the weight of new data
/// grows instead. Users without data then need no update.
#[derive(Debug, Clone)]
struct Fairness {
    growth: f64,
    scale: f64,
    tti: u64,
}

impl Fairness {
    /// Creates averages over a window in TTIs.
    fn new(window: f64) -> Self {
        Self { growth: 1.0 / (1.0 - 1.0 / window.max(2.0)), scale: 1.0, tti: 0 }
    }

    fn advance(&mut self, tti: u64, users: &mut [User]) {
        let passed = tti.saturating_sub(self.tti);
        self.tti = tti;
        self.scale *= if passed == 1 { self.growth } else { libm::pow(self.growth, passed as f64) };
        // Rescale long before a double overflows.
        if self.scale > 1e100 {
            let shrink = if self.scale.is_finite() { 1.0 / self.scale } else { 0.0 };
            for user in users {
                user.mean *= shrink;
            }
            self.scale = 1.0;
        }
    }
}

/// Block fading. The gain depends only on block and seed of the user, so that different policies
/// with the same seed see the same channel.
#[derive(Debug, Clone)]
struct BlockFading {
    /// Coherence time in nanoseconds.
    block: u64,
    /// SNR of the cell's users.
    snr: f64,
    /// Rate of the best channel.
    peak: Bitrate,
}

impl BlockFading {
    fn new(fading: Fading, peak: Bitrate) -> Self {
        Self { block: fading.coherence.as_nanos().max(1), snr: snr_from_db(fading.snr_db), peak }
    }

    fn apply(&self, user: &mut User, tti: u64) {
        let block = start(tti).as_nanos() / self.block;
        if user.block != block {
            user.block = block;
            let gain = Seed::new(user.seed.get() ^ block).rng("fading").exponential(1.0);
            user.faded = match user.channel {
                Channel::Snr(snr) => rate_at(self.peak, snr * gain).as_bps(),
                Channel::OfCell => rate_at(self.peak, self.snr * gain).as_bps(),
                Channel::LinkRate => {
                    let factor = libm::log1p(self.snr * gain) / libm::log1p(self.snr);
                    ((user.rate.as_bps() as f64 * factor) as u64).min(self.peak.as_bps())
                }
            };
        }
    }
}
