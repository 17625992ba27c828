//! Packets of mixed sizes at a varying rate.

use core::ops::Range;
use units::{Bitrate, Duration, Instant, Rng, Seed};

/// Packet sizes, including IP headers, and their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix {
    /// Sizes in bytes and weights.
    parts: [(u16, u32); Self::MAX_SIZES],
    len: u8,
}

impl Mix {
    /// Maximum number of sizes.
    pub const MAX_SIZES: usize = 8;

    /// 7:4:1 of 40, 576 and 1500 bytes, common in router tests ("simple IMIX").
    pub const IMIX: Self = Self::of([(40, 7), (576, 4), (1500, 1)]);
    /// 50, 25 and 25 % of 44, 576 and 1500 bytes: the background of several studies of multipath
    /// transfer.
    pub const TRIMODAL: Self = Self::of([(44, 2), (576, 1), (1500, 1)]);

    /// The named mixes.
    pub const NAMES: [(&'static str, Self); 2] = [("imix", Self::IMIX), ("trimodal", Self::TRIMODAL)];

    const fn of(three: [(u16, u32); 3]) -> Self {
        let mut parts = [(0, 0); Self::MAX_SIZES];
        parts[0] = three[0];
        parts[1] = three[1];
        parts[2] = three[2];
        Self { parts, len: 3 }
    }

    /// A mix of sizes and weights; `None` for no size or more than [`MAX_SIZES`](Self::MAX_SIZES),
    /// a size below 40 bytes or weights of zero.
    pub fn new(sizes: &[(u16, u32)]) -> Option<Self> {
        let mut parts = [(0, 0); Self::MAX_SIZES];
        parts.get_mut(..sizes.len())?.copy_from_slice(sizes);
        let sum: u64 = sizes.iter().map(|&(_, weight)| u64::from(weight)).sum();
        (sum > 0 && sizes.iter().all(|&(size, _)| size >= 40))
            .then_some(Self { parts, len: sizes.len() as u8 })
    }

    fn parts(&self) -> &[(u16, u32)] {
        &self.parts[..usize::from(self.len)]
    }

    fn weights(&self) -> u64 {
        self.parts().iter().map(|&(_, weight)| u64::from(weight)).sum()
    }

    /// Mean size, in bytes.
    pub fn mean(&self) -> f64 {
        let bytes: u64 = self.parts().iter().map(|&(size, weight)| u64::from(size) * u64::from(weight)).sum();
        bytes as f64 / self.weights() as f64
    }

    fn draw(&self, rng: &mut Rng) -> u16 {
        let mut left = rng.below(self.weights());
        for &(size, weight) in self.parts() {
            match left.checked_sub(u64::from(weight)) {
                Some(rest) => left = rest,
                None => return size,
            }
        }
        self.parts[0].0
    }
}

/// Packets of mixed sizes, as a Poisson process with a rate that is redrawn periodically.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vbr {
    /// Lowest rate; rates are drawn uniformly from `low` to `high`.
    pub low: Bitrate,
    /// Highest rate.
    pub high: Bitrate,
    /// Time between draws of the rate.
    pub every: Duration,
    /// Packet sizes.
    pub mix: Mix,
    /// Bursts: no packets in off periods, and a rate higher by as much in on periods.
    pub bursts: Option<Bursts>,
}

/// On and off periods whose lengths are Pareto of shape 1.5: many such sources together are
/// self-similar (Willinger et al. 1997).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bursts {
    /// Mean length of an on period.
    pub on: Duration,
    /// Mean length of an off period.
    pub off: Duration,
}

impl Bursts {
    /// Share of the time in on periods.
    fn on_share(self) -> f64 {
        self.on.as_secs_f64() / (self.on.as_secs_f64() + self.off.as_secs_f64())
    }
}

/// Pareto shape: infinite variance, and a mean of three times the minimum.
const PARETO_SHAPE: f64 = 1.5;
/// Maximum length of a period, in multiples of its mean.
const MAX_PERIOD_RATIO: f64 = 1000.0;

impl Vbr {
    /// Mean offered rate.
    pub fn mean_rate(&self) -> Bitrate {
        Bitrate::from_bps(u64::midpoint(self.low.as_bps(), self.high.as_bps()))
    }

    /// Packets per second at the highest rate, within an on period.
    pub fn peak_packets_per_second(&self) -> f64 {
        let high = self.low.as_bps().max(self.high.as_bps());
        high as f64 / 8.0 / self.mix.mean() / self.bursts.map_or(1.0, Bursts::on_share)
    }
}

/// The packets of a [`Vbr`], one after the other. Draws from the streams `packets`, `rate` and
/// `bursts`.
#[derive(Debug, Clone)]
pub struct Packets {
    config: Vbr,
    sizes: Rng,
    rates: Rng,
    bursts: Rng,
    now: Instant,
    stop: Option<Instant>,
    /// Rate in on periods, in bytes per second, and the time until which it applies.
    rate: f64,
    rate_until: Instant,
    on: bool,
    phase_until: Instant,
    next: Option<(Instant, u16)>,
}

impl Packets {
    /// Packets from `span.start` to before `span.end`; without end for [`Instant::MAX`].
    pub fn new(config: Vbr, span: Range<Instant>, seed: Seed) -> Self {
        let mut packets = Self {
            config,
            sizes: seed.rng("packets"),
            rates: seed.rng("rate"),
            bursts: seed.rng("bursts"),
            now: span.start,
            stop: Some(span.end).filter(|&end| end < Instant::MAX),
            rate: 0.0,
            rate_until: span.start,
            // The first period is an on period.
            on: false,
            phase_until: if config.bursts.is_some() { span.start } else { Instant::MAX },
            next: None,
        };
        packets.on |= config.bursts.is_none();
        packets.advance();
        packets
    }

    /// Due time and size in bytes of the next packet; `None` after the last.
    pub fn due(&self) -> Option<(Instant, u16)> {
        self.next
    }

    /// Advances to the packet after it.
    pub fn advance(&mut self) {
        self.next = None;
        let max_bps = self.config.low.as_bps().max(self.config.high.as_bps());
        let never_on = self.config.bursts.is_some_and(|bursts| bursts.on.is_zero());
        if max_bps == 0 || never_on || self.config.every.is_zero() {
            return;
        }
        loop {
            if self.now >= self.stop.unwrap_or(Instant::MAX) {
                return;
            }
            self.redraw();
            let until = self.rate_until.min(self.phase_until);
            if self.on && self.rate > 0.0 {
                let gap = self.sizes.exponential(self.config.mix.mean() / self.rate);
                let at = self.now + Duration::from_secs_f64(gap);
                if at < until {
                    self.now = at;
                    if at < self.stop.unwrap_or(Instant::MAX) {
                        self.next = Some((at, self.config.mix.draw(&mut self.sizes)));
                    }
                    return;
                }
            }
            // The exponential distribution has no memory, so a new rate starts a new gap.
            self.now = until;
        }
    }

    /// Draws a new rate and a new period where the present ones have ended.
    fn redraw(&mut self) {
        if self.now >= self.rate_until {
            let Vbr { low, high, every, bursts, .. } = self.config;
            let bps = self.rates.between(low.as_bps() as f64, high.as_bps() as f64);
            self.rate = bps / 8.0 / bursts.map_or(1.0, Bursts::on_share);
            self.rate_until = self.now + every;
        }
        if let Some(Bursts { on, off }) = self.config.bursts
            && self.now >= self.phase_until
        {
            self.on = !self.on;
            let mean = if self.on { on } else { off }.as_secs_f64();
            let times = (PARETO_SHAPE - 1.0) / PARETO_SHAPE
                * libm::pow(1.0 - self.bursts.unit(), -1.0 / PARETO_SHAPE);
            // At least 1 ns, so that time advances.
            let length = Duration::from_secs_f64(mean * times.min(MAX_PERIOD_RATIO));
            self.phase_until = self.now + length.max(Duration::from_nanos(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vbr() -> Vbr {
        let mbps = |n: u64| Bitrate::from_bps(n * 1_000_000);
        Vbr { low: mbps(0), high: mbps(4), every: Duration::from_secs(1), mix: Mix::IMIX, bursts: None }
    }

    /// Times and sizes of all packets.
    fn all(config: Vbr, seconds: u64, seed: u64) -> Vec<(Instant, u16)> {
        let mut packets = Packets::new(config, Instant::ZERO..Instant::from_secs(seconds), Seed::new(seed));
        let mut all = Vec::new();
        while let Some(due) = packets.due() {
            all.push(due);
            packets.advance();
        }
        all
    }

    fn mbps(all: &[(Instant, u16)], seconds: f64) -> f64 {
        all.iter().map(|&(_, size)| f64::from(size) * 8e-6).sum::<f64>() / seconds
    }

    #[test]
    fn mixes_have_their_means_and_weights() {
        assert!((Mix::IMIX.mean() - (7.0 * 40.0 + 4.0 * 576.0 + 1500.0) / 12.0).abs() < 1e-9);
        assert!((Mix::TRIMODAL.mean() - 541.0).abs() < 1e-9);
        let all = all(vbr(), 200, 1);
        for (size, weight) in [(40, 7.0), (576, 4.0), (1500, 1.0)] {
            let share = all.iter().filter(|p| p.1 == size).count() as f64 / all.len() as f64;
            assert!((share - weight / 12.0).abs() < 0.01, "{size}: {share}");
        }
        assert_eq!(Mix::new(&[]), None);
        assert_eq!(Mix::new(&[(39, 1)]), None);
        assert_eq!(Mix::new(&[(1500, 0)]), None);
        assert_eq!(Mix::new(&[(1500, 1); 9]), None);
        assert!(Mix::new(&[(1500, 1); 8]).is_some());
    }

    #[test]
    fn rate_varies_from_low_to_high_around_its_mean() {
        let all = all(vbr(), 1000, 1);
        assert!((mbps(&all, 1000.0) - 2.0).abs() < 0.1);
        assert_eq!(vbr().mean_rate(), Bitrate::from_bps(2_000_000));
        let second = |s: u64| {
            let within = all.iter().filter(|(at, _)| at.as_millis() / 1000 == s).copied();
            mbps(&within.collect::<Vec<_>>(), 1.0)
        };
        let seconds: Vec<f64> = (0..200).map(second).collect();
        assert!(seconds.iter().any(|&rate| rate < 0.3) && seconds.iter().any(|&rate| rate > 3.6));
        assert!(all.is_sorted_by_key(|(at, _)| *at));
    }

    #[test]
    fn bursts_keep_the_mean_rate_and_leave_gaps() {
        let bursts = Some(Bursts { on: Duration::from_millis(200), off: Duration::from_millis(600) });
        let all = all(Vbr { bursts, ..vbr() }, 20_000, 1);
        let rate = mbps(&all, 20_000.0);
        assert!((rate - 2.0).abs() < 0.3, "{rate}");
        let silent: f64 = all
            .windows(2)
            .map(|pair| pair[1].0.since(pair[0].0).as_secs_f64())
            .filter(|&gap| gap > 0.1)
            .sum();
        assert!(silent > 0.4 * 20_000.0, "{silent}");
    }

    #[test]
    fn configuration_without_packets_has_none_due() {
        let zero = Bitrate::ZERO;
        assert!(all(Vbr { high: zero, ..vbr() }, 10, 1).is_empty());
        assert!(all(Vbr { every: Duration::ZERO, ..vbr() }, 10, 1).is_empty());
        let bursts = Some(Bursts { on: Duration::ZERO, off: Duration::ZERO });
        assert!(all(Vbr { bursts, ..vbr() }, 10, 1).is_empty());
        assert_eq!(all(vbr(), 10, 7), all(vbr(), 10, 7));
        assert_ne!(all(vbr(), 10, 7), all(vbr(), 10, 8));
    }
}
